"""Measurements. Run one with ``python -m benchmarks.speed --data FOLDER``, all with ``make bench``."""
