"""Images in folders that are called after their classes, read by Pillow."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from votron._util.text import exact_bytes
from votron._util.types import Array
from votron.data._sources import Source
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")


class Images(Format):
    """A folder of images, in folders that are called after their classes."""

    name = "images"
    reads = "folder"

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        folder = Path(os.path.expanduser(source.location))
        files = _files(folder)
        labelled = files[0].parent != folder
        if options.labels == "required" and not labelled:
            raise DataError(f"The images of '{folder}' must be in folders called after their classes, to have labels.")
        first = _pixels(files[0], options)
        if len(files) * first.size > options.max_bytes:
            raise DataError(
                f"The {len(files):,} images in '{folder}' have {first.size:,} numbers each, more than the "
                f"{exact_bytes(options.max_bytes)} that max_bytes allows: make them smaller with resize.",
                parameter="max_bytes",
            )
        X = np.empty((len(files), *first.shape), dtype=np.uint8)
        for i, path in enumerate(files):
            pixels = _pixels(path, options)
            if pixels.shape != first.shape:
                raise DataError(
                    f"All images must be of one size, or say which with resize. Got '{files[0]}' of {first.shape[:2]} "
                    f"and '{path}' of {pixels.shape[:2]} pixels instead."
                )
            X[i] = pixels
        y = _classes(files) if labelled and options.labels != "none" else None
        yield Part(X, y, "folder", about={"files": tuple(path.relative_to(folder).as_posix() for path in files)})


def _files(folder: Path) -> list[Path]:
    """Return the images in the folders of classes, or those in the folder itself."""
    found = sorted(path for pattern in ("[!.]*", "[!.]*/[!.]*") for path in folder.glob(pattern))
    images = [path for path in found if path.suffix.lower() in ENDINGS and path.is_file()]
    loose = [path for path in images if path.parent == folder]
    if not images:
        raise DataError(f"There are no images ({', '.join(ENDINGS[:6])}, ...) in '{folder}', nor in folders in it.")
    if loose and len(loose) < len(images):
        raise DataError(f"The images of '{folder}' must all be in folders of classes, or none. Got '{loose[0]}' too.")
    return images


def _classes(files: list[Path]) -> Array:
    """Return the names of the folders, as numbers if all of them are such as 0 and 10, not 007."""
    names = [path.parent.name for path in files]
    plain = all(name.isdecimal() and str(int(name)) == name for name in set(names))
    return np.array([int(name) for name in names] if plain else names)


def _pixels(path: Path, options: ReadOptions) -> NDArray[np.uint8]:
    """Return an image as grey values, or as red, green and blue."""
    try:
        from PIL import Image
    except ImportError:
        raise DataError('Reading images needs pillow: pip install "votron[files]".') from None
    try:
        with warnings.catch_warnings(action="ignore"):
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=_FORMATS) as image:
                if image.mode[0] in "IF":
                    raise ValueError(f"it must have 8 bits a channel, and its mode is {image.mode!r}")
                found = image.convert("RGB" if options.rgb else "L")
        return np.asarray(found.resize(options.resize[::-1]) if options.resize else found, dtype=np.uint8)
    except Exception as error:  # each format fails in its own way
        reason = " ".join(str(error).replace(os.fspath(path), path.name).split())[:120].rstrip(".")
        raise DataError(f"Cannot read the image '{path}': {reason or type(error).__name__}.") from None
