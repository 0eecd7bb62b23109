"""How loops are compiled, and the pieces of LLVM code that they share.

Code is written in LLVM's own vector types where accumulators must stay in registers, which no plain loop ensures.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit

I16, I32, I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)

compiled = njit(cache=True, nogil=True, boundscheck=False)


def broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector with the value in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    lanes = ir.VectorType(I32, vector.count)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * vector.count))
