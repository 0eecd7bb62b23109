"""The old home of `open_batches`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.data.reading", "ExampleBatches", "open_batches", Batches="ExampleBatches")
