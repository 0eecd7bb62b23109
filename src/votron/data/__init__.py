"""Data of users: read, described and written."""

from __future__ import annotations

from votron.data.examples import Examples
from votron.data.facts import describe_examples, scan_stream
from votron.data.formats.idx import ImageSet, load_image_set
from votron.data.options import ReadOptions
from votron.data.reading import open_batches, read_examples
from votron.data.writing import write_examples

__all__ = [
    "Examples",
    "ImageSet",
    "ReadOptions",
    "describe_examples",
    "load_image_set",
    "open_batches",
    "read_examples",
    "scan_stream",
    "write_examples",
]
