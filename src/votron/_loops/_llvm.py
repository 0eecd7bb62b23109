"""The compiling of loops, and the pieces of LLVM code that they share.

Code is written in LLVM's own vector types where accumulators must stay in registers, which no plain loop ensures.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)


@functools.cache
def target_features() -> frozenset[str]:
    """Return the features of the processor that numba compiles for, as LLVM calls them.

    It is this machine's, unless numba's settings (``NUMBA_CPU_NAME``, ``NUMBA_CPU_FEATURES``) name another. What was
    compiled for one target is never run for another: numba keeps them apart.
    """
    from numba.core.registry import cpu_target

    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(name[1:] for name in features.split(",") if name.startswith("+"))


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called, and keep what was compiled, if there is a place that can be written to.

    numba looks beside the source, in the user's cache and in ``NUMBA_CACHE_DIR``.
    """
    try:
        return njit(cache=True, nogil=True, boundscheck=False)(function)
    except RuntimeError:  # nowhere to keep it, as in a read-only installation without a home: every process compiles
        return njit(nogil=True, boundscheck=False)(function)


def broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector with the value in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    lanes = ir.VectorType(I32, vector.count)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * vector.count))


def accumulate(
    builder: Any, low: Any, high: Any, zeros: list[Any], add: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """Write ``sums = zeros; for k in [low, high): sums = add(k, sums)``, the sums in registers; return the sums.

    ``add`` writes the body of the loop. What is written next comes after the loop.
    """
    entry = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    k, sums = builder.phi(I64), [builder.phi(zero.type) for zero in zeros]
    k.add_incoming(low, entry)
    for total, zero in zip(sums, zeros, strict=True):
        total.add_incoming(zero, entry)
    builder.cbranch(builder.icmp_signed("<", k, high), body, done)

    builder.position_at_end(body)
    for total, more in zip(sums, add(k, sums), strict=True):
        total.add_incoming(more, builder.block)
    k.add_incoming(builder.add(k, I64(1)), builder.block)
    builder.branch(head)

    builder.position_at_end(done)
    return sums


def load_vector(builder: Any, vector: Any, data: Any, index: Any, align: int) -> Any:
    """Return the numbers from ``data[index]`` on as a vector."""
    return builder.load(builder.bitcast(builder.gep(data, [index]), vector.as_pointer()), align=align)


def store_vectors(builder: Any, vectors: list[Any], data: Any, index: Any, align: int) -> None:
    """Write vectors one after another, from ``data[index]`` on."""
    for t, vector in enumerate(vectors):
        address = builder.gep(data, [builder.add(index, I64(vector.type.count * t))])
        builder.store(vector, builder.bitcast(address, vector.type.as_pointer()), align=align)
