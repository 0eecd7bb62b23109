"""An ONNX graph under construction, and NumPy expressions that add nodes to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from votron._util.frames import dense
from votron._util.text import rounded_bytes
from votron._util.types import Rows, RowsLike
from votron.errors import MissingPackageError, VotronError

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
"""Versions from 2022, which older runtimes read as well."""
LARGEST = (1 << 31) - (1 << 24)
"""Bytes of numbers that fit into a file: protocol buffers end at 2 GB."""

Proto: TypeAlias = Any
"""A message of onnx."""
Shape: TypeAlias = "list[int | str | None]"


class Graph:
    """Nodes, constants, inputs and outputs; each method returns the name of the value that it adds."""

    def __init__(self, outputs: tuple[str, ...]) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingPackageError('Exporting to ONNX needs onnx: pip install "votron[onnx]".') from None
        self._onnx: Any = onnx
        self._nodes: list[Proto] = []
        self._constants: list[Proto] = []
        self._inputs: list[Proto] = []
        self._outputs: list[Proto] = []
        self._reserved = outputs
        self._names = set(outputs)
        self._n_bytes = 0

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names for inputs."""
        for name in names:
            if name in self._reserved:
                raise VotronError(
                    f"The column {name!r} has the name of an output of the exported model: rename it before training."
                )
            self._names.add(name)

    def input(self, name: str, kind: str, width: int | None) -> str:
        """Add an input of doubles ("double") or of text ("string"), of shape (n, width), with a reserved name."""
        self._inputs.append(self._value(name, kind, ["n", width]))
        return name

    def output(self, name: str, kind: str, shape: Shape, value: str) -> None:
        """Make a value an output."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, kind, shape))

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        name = self._new(op)
        self._nodes.append(self._onnx.helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, given: RowsLike) -> str:
        """Add an array of numbers or of text, sparse ones with their zeros."""
        given = given if hasattr(given, "dtype") else np.asarray(given)
        self._n_bytes += int(np.prod(given.shape)) * given.dtype.itemsize
        if self._n_bytes > LARGEST:
            raise VotronError(
                f"The numbers of this model take more than {rounded_bytes(LARGEST)}, and an ONNX file ends at 2 GB: "
                "train on fewer examples or features."
            )
        name, values = self._new("constant"), dense(given)
        if values.dtype.kind in "OU":
            text = [str(value).encode() for value in values.reshape(-1)]
            made = self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, values.shape, text)
        else:
            made = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self._constants.append(made)
        return name

    def columns_of(self, rows: Rows) -> str:
        """Add a matrix with these rows as columns, which keeps its smaller types in the file."""
        name = self.constant(rows.T)
        return name if rows.dtype == np.float64 else self.double(name)

    def double(self, name: str) -> str:
        return self.node("Cast", name, to=self._onnx.TensorProto.DOUBLE)

    def whole(self, name: str) -> str:
        return self.node("Cast", name, to=self._onnx.TensorProto.INT64)

    def product(self, left: str, right: str, *summand: str) -> str:
        """Multiply matrices by Gemm: onnxruntime merges a MatMul with factors, which it then rounds to float32."""
        return self.node("Gemm", left, right, *summand)

    def squares(self, name: str) -> str:
        """Add up the squares of each row, as a column."""
        axes = self.constant(np.array([1], dtype=np.int64))
        return self.node("ReduceSum", self.node("Mul", name, name), axes, keepdims=1)

    def power(self, name: str, exponent: int) -> str:
        """Raise to a whole power by multiplications, as the kernels do."""
        result = ""
        while True:
            if exponent & 1:
                result = self.node("Mul", result, name) if result else name
            exponent >>= 1
            if not exponent:
                return result
            name = self.node("Mul", name, name)

    def model(self, version: str, description: str, properties: dict[str, str]) -> Proto:
        """Return the checked model."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "votron", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, producer_name="votron", producer_version=version, doc_string=description
        )
        model.ir_version = IR_VERSION
        helper.set_model_props(model, properties)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _value(self, name: str, kind: str, shape: Shape) -> Proto:
        return self._onnx.helper.make_tensor_value_info(name, getattr(self._onnx.TensorProto, kind.upper()), shape)

    def _new(self, stem: str) -> str:
        n = len(self._names)
        while (name := f"{stem}_{n}") in self._names:
            n += 1
        self._names.add(name)
        return name


Operand: TypeAlias = Any
"""An expression, an array or a number."""

_OPERATIONS: dict[object, str] = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.power: "Pow",
    np.negative: "Neg",
    np.absolute: "Abs",
    np.exp: "Exp",
    np.log: "Log",
    np.sqrt: "Sqrt",
    np.tanh: "Tanh",
    np.sin: "Sin",
    np.cos: "Cos",
    np.maximum: "Max",
    np.minimum: "Min",
    np.greater: "Greater",
    np.less: "Less",
    np.where: "Where",
}
"""The functions that a formula may call."""


class Expression(NDArrayOperatorsMixin):
    """A value of a graph: NumPy's operators and functions add nodes instead of computing."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Operand, **options: object) -> Expression:
        return self._node(function, inputs, options if method == "__call__" else {"method": method})

    def __array_function__(self, function: Any, types: object, args: Any, options: object) -> Expression:
        return self._node(function, args, options)

    def _node(self, function: Any, inputs: tuple[Operand, ...], options: object) -> Expression:
        if function not in _OPERATIONS or options:
            raise VotronError(f"numpy.{function.__name__} cannot be exported to ONNX: it has no node there.")
        first, *others = inputs
        if function is np.power and isinstance(first, Expression) and isinstance(others[0], int) and others[0] > 0:
            return Expression(self.graph, self.graph.power(first.name, others[0]))
        return Expression(self.graph, self.graph.node(_OPERATIONS[function], *map(self._named, inputs)))

    def _named(self, value: Operand) -> str:
        return value.name if isinstance(value, Expression) else self.graph.constant(np.asarray(value, dtype=np.float64))
