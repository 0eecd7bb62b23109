"""Kernels as nodes of a graph: from x·z, x·x and z·z to K(x, z)."""

from __future__ import annotations

import numpy as np

from votron.errors import VotronError
from votron.exporting._graph import Graph
from votron.kernels import (
    ComposedKernel,
    ConjunctionKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    NormalizedKernel,
    PolynomialKernel,
)
from votron.products import Floats


def values(graph: Graph, kernel: Kernel, dots: str, own: str, theirs: Floats) -> str:
    """Add K(x, z) of rows and support vectors.

    ``dots`` is the matrix of x·z, ``own`` the column of x·x, ``theirs`` are the z·z.
    """
    if isinstance(kernel, LinearKernel):
        return dots
    if isinstance(kernel, PolynomialKernel):
        return _power(graph, kernel, dots)
    if isinstance(kernel, ConjunctionKernel):
        return graph.node("Pow", graph.constant(np.float64(2.0)), dots)
    if isinstance(kernel, GaussianKernel):
        squares = graph.node("Add", own, graph.constant(theirs[None, :]))
        distance = graph.node("Sub", squares, graph.times(dots, 2.0))
        distance = graph.node("Max", distance, graph.constant(np.float64(0.0)))
        return graph.node("Exp", graph.times(distance, -kernel.gamma))
    if isinstance(kernel, NormalizedKernel):
        return _normalized(graph, kernel, dots, own, theirs)
    if isinstance(kernel, ComposedKernel):
        inner = values(graph, kernel.inner, dots, own, theirs)
        return values(graph, kernel.outer, inner, diagonal(graph, kernel.inner, own), kernel.inner.diagonal(theirs))
    raise _no_formula(kernel)


def check(kernel: Kernel) -> None:
    """Refuse what is no formula of dot products."""
    if isinstance(kernel, NormalizedKernel):
        check(kernel.base)
    elif isinstance(kernel, ComposedKernel):
        check(kernel.outer)
        check(kernel.inner)
    elif not isinstance(kernel, LinearKernel | PolynomialKernel | ConjunctionKernel | GaussianKernel):
        raise _no_formula(kernel)


def _no_formula(kernel: Kernel) -> VotronError:
    return VotronError(
        f"{kernel!r} cannot be exported to ONNX: it is no formula of dot products. Kernels that can be are linear, "
        "poly, rbf and conjunction, normalised or not, and one over another."
    )


def diagonal(graph: Graph, kernel: Kernel, own: str) -> str:
    """Add K(x, x) from the column of x·x."""
    if isinstance(kernel, GaussianKernel):
        return graph.node("Exp", graph.times(own, 0.0))
    if isinstance(kernel, NormalizedKernel):
        return _where_positive(graph, diagonal(graph, kernel.base, own), graph.constant(np.float64(1.0)))
    if isinstance(kernel, ComposedKernel):
        return diagonal(graph, kernel.outer, diagonal(graph, kernel.inner, own))
    return values(graph, kernel, own, own, np.empty(0))


def _power(graph: Graph, kernel: PolynomialKernel, dots: str) -> str:
    return graph.power(graph.plus(graph.times(dots, kernel.gamma), kernel.coef0), kernel.degree)


def _normalized(graph: Graph, kernel: NormalizedKernel, dots: str, own: str, theirs: Floats) -> str:
    lengths = graph.constant(np.sqrt(kernel.base.diagonal(theirs))[None, :])
    mine = graph.node("Sqrt", diagonal(graph, kernel.base, own))
    scale = graph.node("Mul", mine, lengths)
    return _where_positive(graph, scale, graph.node("Div", values(graph, kernel.base, dots, own, theirs), scale))


def _where_positive(graph: Graph, condition: str, value: str) -> str:
    """Choose the value where the condition is above 0, and 0 elsewhere."""
    zero = graph.constant(np.float64(0.0))
    return graph.node("Where", graph.node("Greater", condition, zero), value, zero)
