"""Models for other runtimes: ONNX.

The graph computes in double precision, as Votron does, with operators that every ONNX runtime has: matrix products,
multiplications, an exponential. What predicts by one vector a class can be exported, linear or with a kernel; encoders
of tables and scalers before it go along.
"""

from votron.export._export import to_onnx, write_onnx

__all__ = ["to_onnx", "write_onnx"]
