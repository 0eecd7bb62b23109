"""Export of fitted models to ONNX, in double precision and with operators that every ONNX runtime has."""

from votron.export._export import to_onnx, write_onnx

__all__ = ["to_onnx", "write_onnx"]
