"""An ONNX graph in the making: nodes one after another, each named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from votron._util.frames import dense
from votron._util.text import rounded_bytes
from votron._util.types import Rows
from votron.errors import MissingPackageError, VotronError

OPSET = 17
ML_OPSET = 3
_IR = 8
"""Versions from 2022, which older runtimes take as well; nothing here needs newer ones."""
LARGEST = (1 << 31) - (1 << 24)
"""Bytes of numbers that fit into a file: protocol buffers end at 2 GB."""


Proto: TypeAlias = Any
"""A message of onnx, which is imported when it is needed."""


def import_onnx() -> Any:
    """Return the package onnx, or say how to get it."""
    try:
        import onnx
    except ImportError:
        raise MissingPackageError('Exporting to ONNX needs onnx: pip install "votron[onnx]".') from None
    return onnx


class Graph:
    """Nodes, constants and inputs; each method returns the name of what it adds."""

    def __init__(self, outputs: tuple[str, ...]) -> None:
        self._onnx = import_onnx()
        self._nodes: list[Proto] = []
        self._constants: list[Proto] = []
        self._inputs: list[Proto] = []
        self._outputs: list[Proto] = []
        self._reserved = outputs
        self._names = set(outputs)
        self._n_bytes = 0

    # -- adding -------------------------------------------------------------------------------------------------------

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names for inputs."""
        for name in names:
            if name in self._reserved:
                taken = " and ".join(map(repr, self._reserved))
                raise VotronError(
                    f"The columns of an exported model must not be named as its outputs are, {taken}: rename it. "
                    f"Got {name!r} instead."
                )
            self._names.add(name)

    def input(self, name: str, kind: str, width: int | None) -> str:
        """Add an input, whose name is reserved, of doubles ("double") or of text ("string"), of shape (n, width)."""
        self._inputs.append(self._value(name, kind, ["n", width]))
        return name

    def output(self, name: str, kind: str, shape: list[int | str | None], made: str) -> None:
        """Name what was made as an output."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [made], [name]))
        self._outputs.append(self._value(name, kind, shape))

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        """Add an operation."""
        name = self._new(op)
        self._nodes.append(self._onnx.helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, given: ArrayLike) -> str:
        """Add an array of numbers, or of text, as it is."""
        values = np.asarray(given)
        self._check_room(values.nbytes)
        self._n_bytes += values.nbytes
        name = self._new("constant")
        if values.dtype.kind in "OU":
            found = self._onnx.helper.make_tensor(
                name, self._onnx.TensorProto.STRING, values.shape, [str(v).encode() for v in values.reshape(-1)]
            )
        else:
            found = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self._constants.append(found)
        return name

    def columns_of(self, rows: Rows) -> str:
        """Add a matrix whose columns are these rows; of smaller types than double in the file, and double when run."""
        self._check_room(rows.shape[0] * rows.shape[1] * rows.dtype.itemsize)  # with the zeros of sparse rows
        name = self.constant(dense(rows).T)
        return name if rows.dtype == np.float64 else self.double(name)

    def _check_room(self, n_bytes: int) -> None:
        if self._n_bytes + n_bytes > LARGEST:
            raise VotronError(
                f"The numbers of this model take more than {rounded_bytes(LARGEST)}, and an ONNX file ends at 2 GB: "
                "train on fewer examples or features."
            )

    # -- common steps -------------------------------------------------------------------------------------------------

    def double(self, name: str) -> str:
        """Convert to double."""
        return self.node("Cast", name, to=self._onnx.TensorProto.DOUBLE)

    def whole(self, name: str) -> str:
        """Convert to whole numbers."""
        return self.node("Cast", name, to=self._onnx.TensorProto.INT64)

    def product(self, left: str, right: str, *summand: str) -> str:
        """Multiply matrices, and add.

        By Gemm: onnxruntime merges a MatMul with a factor before or behind it, which it then rounds to float32.
        """
        return self.node("Gemm", left, right, *summand)

    def squares(self, name: str) -> str:
        """Add up the squares of each row, as a column."""
        axes = self.constant(np.array([1], dtype=np.int64))
        return self.node("ReduceSum", self.node("Mul", name, name), axes, keepdims=1)

    def times(self, name: str, factor: float) -> str:
        """Multiply by a number."""
        return name if factor == 1 else self.node("Mul", name, self.constant(np.float64(factor)))

    def plus(self, name: str, summand: float) -> str:
        """Add a number."""
        return name if summand == 0 else self.node("Add", name, self.constant(np.float64(summand)))

    def power(self, name: str, exponent: int) -> str:
        """Raise to a whole power, by multiplications."""
        result = ""
        while True:
            if exponent & 1:
                result = self.node("Mul", result, name) if result else name
            exponent >>= 1
            if not exponent:
                return result
            name = self.node("Mul", name, name)

    def columns(self, name: str, numbers: ArrayLike) -> str:
        """Choose columns."""
        return self.node("Gather", name, self.constant(np.asarray(numbers, dtype=np.int64)), axis=1)

    # -- the whole ----------------------------------------------------------------------------------------------------

    def model(self, version: str, description: str, facts: dict[str, str]) -> Proto:
        """Return the checked model."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "votron", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, producer_name="votron", producer_version=version, doc_string=description
        )
        model.ir_version = _IR
        helper.set_model_props(model, facts)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _value(self, name: str, kind: str, shape: list[int | str | None]) -> Proto:
        return self._onnx.helper.make_tensor_value_info(name, getattr(self._onnx.TensorProto, kind.upper()), shape)

    def _new(self, stem: str) -> str:
        n = len(self._names)
        while (name := f"{stem}_{n}") in self._names:
            n += 1
        self._names.add(name)
        return name
