"""Data of users: read, described and written."""

from __future__ import annotations

from votron.data.examples import Examples
from votron.data.facts import describe_examples, scan_stream
from votron.data.files import open_batches, read_examples, write_examples
from votron.data.formats.images import ImageSet, load_image_set
from votron.data.options import ReadOptions

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
