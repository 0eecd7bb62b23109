"""Data of users: read, described and written."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from votron.data.describing import describe_examples
    from votron.data.examples import Examples
    from votron.data.formats.idx import ImageSet, load_image_set
    from votron.data.options import ReadOptions
    from votron.data.reading import ExampleBatches, open_batches, read_examples
    from votron.data.streaming import StreamFacts, scan_stream
    from votron.data.writing import write_examples

_HOMES = {  # loaded when asked for: most need scikit-learn, and the names in votron.data.formats need nothing
    "ExampleBatches": "reading",
    "Examples": "examples",
    "ImageSet": "formats.idx",
    "ReadOptions": "options",
    "StreamFacts": "streaming",
    "describe_examples": "describing",
    "load_image_set": "formats.idx",
    "open_batches": "reading",
    "read_examples": "reading",
    "scan_stream": "streaming",
    "write_examples": "writing",
}

__all__ = [
    "ExampleBatches",
    "Examples",
    "ImageSet",
    "ReadOptions",
    "StreamFacts",
    "describe_examples",
    "load_image_set",
    "open_batches",
    "read_examples",
    "scan_stream",
    "write_examples",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'votron.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"votron.data.{_HOMES[name]}"), name)
