"""Image sets that are known by name."""

from __future__ import annotations

from collections.abc import Iterator

from votron.data._sources import Location, Source
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions

KNOWN_SETS = ("digits", "mnist", "fashion")
"""Names that stand for sets of images, and for no file."""


class ImageSets(Format):
    """What `load_image_set` loads."""

    name = "image set"
    options = ("part",)
    label_by = "file"
    reads = "name"
    known = KNOWN_SETS

    def has_parts(self, source: Location) -> bool:
        """Return True."""
        return True

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the part that is asked for, as if it had been read from its IDX files."""
        from votron.data.image_sets import load_image_set

        images = load_image_set(source.location)
        X, y = (images.X_test, images.y_test) if options.part == "test" else (images.X, images.y)
        yield Part(X.reshape(-1, *images.shape), y, about={"format": "idx"})
