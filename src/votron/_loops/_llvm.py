"""The compiling of loops, and the pieces of LLVM code that they share.

Code is written in LLVM's own vector types where accumulators must stay in registers, which no plain loop ensures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.extending import intrinsic

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)

TARGET_FEATURES = frozenset(
    name[1:] for name in cpu_target.target_context.codegen().magic_tuple()[2].split(",") if name.startswith("+")
)
"""The features of the processor that numba compiles for: this machine's, unless ``NUMBA_CPU_FEATURES`` names others."""


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called."""
    try:
        return njit(nogil=True, boundscheck=False, cache=True)(function)
    except RuntimeError:  # nowhere to keep it: numba tries the source's folder, the user's cache, NUMBA_CACHE_DIR
        return njit(nogil=True, boundscheck=False)(function)


def broadcast(builder, value, vector):
    """Return a vector with the value in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    lanes = ir.VectorType(I32, vector.count)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * vector.count))


def accumulate(builder, low, high, zeros, add):
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


def load_vector(builder, vector, data, index, align):
    """Return the numbers from ``data[index]`` on as a vector."""
    return builder.load(builder.bitcast(builder.gep(data, [index]), vector.as_pointer()), align=align)


def store_vectors(builder, vectors, data, index, align):
    """Write vectors one after another, from ``data[index]`` on."""
    for t, vector in enumerate(vectors):
        address = builder.gep(data, [builder.add(index, I64(vector.type.count * t))])
        builder.store(vector, builder.bitcast(address, vector.type.as_pointer()), align=align)


@intrinsic
def call_row_loop(typingctx, address, row, n, parameters, first_parameter, theirs, their_first, own, own_first, spare):
    """Call the loop at an address, with the data of arrays from given places on."""
    i64 = types.int64
    if any(array.layout != "C" for array in (row, parameters, theirs, own, spare)):
        raise TypingError("A row loop takes contiguous arrays.")
    signature = types.void(i64, row, i64, parameters, i64, theirs, i64, own, i64, spare)

    def codegen(context, builder, signature, arguments):
        def data(k, first=None):
            address = context.make_array(signature.args[k])(context, builder, arguments[k]).data
            return address if first is None else builder.gep(address, [first])

        stride = context.make_array(signature.args[7])(context, builder, arguments[7]).strides
        stride = builder.sdiv(builder.extract_value(stride, 0), I64(8))
        numbers = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [numbers, I64, numbers, numbers, numbers, I64, numbers])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        theirs, own = data(5, arguments[6]), data(7, arguments[8])
        builder.call(function, [data(1), arguments[2], data(3, arguments[4]), theirs, own, stride, data(9)])
        return context.get_dummy_value()

    return signature, codegen
