"""Numpy expressions that become nodes of a graph: a formula written for arrays is exported by evaluating it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from votron.errors import VotronError
from votron.export._graph import Graph

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
}
"""The functions that a formula may call beside ``np.where``."""


Operand: TypeAlias = Any
"""An expression, an array or a number."""


class Expression(NDArrayOperatorsMixin):
    """A value of a graph, on which numpy's operators and functions add nodes instead of computing."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Operand, **options: object) -> Expression:
        """Add the node of one of numpy's elementary functions."""
        if method != "__call__" or options or function not in _OPERATIONS:
            raise VotronError(f"numpy.{function.__name__} cannot be exported to ONNX: it has no node there.")
        if (shorter := self._shorter(function, inputs)) is not None:
            return Expression(self.graph, shorter)
        return Expression(self.graph, self.graph.node(_OPERATIONS[function], *map(self._named, inputs)))

    def __array_function__(self, function: Any, types: object, args: Any, options: object) -> Expression:
        """Add the node of ``np.where``, the one function that is no ufunc."""
        if function is not np.where or len(args) != 3 or options:
            raise VotronError(f"numpy.{function.__name__} cannot be exported to ONNX: it has no node there.")
        return Expression(self.graph, self.graph.node("Where", *map(self._named, args)))

    def _named(self, value: Operand) -> str:
        return value.name if isinstance(value, Expression) else self.graph.constant(np.asarray(value, dtype=np.float64))

    def _shorter(self, function: np.ufunc, inputs: tuple[Operand, ...]) -> str | None:
        """Return the value of a step that takes fewer nodes, or more exact ones, than its function."""
        first, second = (*inputs, None)[:2]
        if function is np.power and isinstance(first, Expression) and isinstance(second, int) and second > 0:
            return self.graph.power(first.name, second)
        if function in (np.multiply, np.add) and not (isinstance(first, Expression) and isinstance(second, Expression)):
            value, number = (first, second) if isinstance(first, Expression) else (second, first)
            if np.ndim(number) == 0:
                return (self.graph.times if function is np.multiply else self.graph.plus)(value.name, float(number))
        return None
