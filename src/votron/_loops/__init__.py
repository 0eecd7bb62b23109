"""The compiled loops: contiguous arrays, tuples of them and scalars in, arrays filled, nothing else.

The steps of a kernel (`RowLoop`) are with the kernel; loops here call them by their address.

Each engine's loops share one file because numba's cache of compiled code notices changes in a function's own file only:
a compiled function never calls one of another file. What they share is in ``_llvm``; after a change there, run
``make clean``.

No loop is compiled with fast-math: what a loop computes is what its source says, in that order.
"""
