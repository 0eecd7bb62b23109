"""Images in folders that are called after their classes."""

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
_MAX_PIXELS = 89_478_485  # what Pillow takes for a decompression bomb
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


class Images(Format):
    """A folder of images, in folders that are called after their classes."""

    name = "images"
    options = ("rgb", "resize")
    labels_at = "in the names of its folders"
    reads = "folder"

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield all images, in the order of their names, classes first; a row is an image."""
        folder = Path(os.path.expanduser(source.location))
        try:
            files, y = _files(folder, options.labels)
        except OSError as error:
            raise DataError(f"Cannot read the folder {source.name}: {error.strerror or error}.") from None
        X: NDArray[np.uint8] | None = None
        shape: tuple[int, ...] = ()
        for i, path in enumerate(files):
            pixels = _pixels(path, options.rgb, options.resize)
            if X is None:
                shape = pixels.shape
                if len(files) * pixels.size > options.max_bytes:
                    raise DataError(
                        f"The {len(files):,} images in '{folder}' have {pixels.size:,} numbers each, more than the "
                        f"{exact_bytes(options.max_bytes)} that max_bytes allows: make them smaller with resize.",
                        parameter="max_bytes",
                    )
                X = np.empty((len(files), pixels.size), dtype=np.uint8)
            if pixels.shape != shape:
                raise DataError(
                    f"All images must be of one size, or say which with resize. Got '{files[0]}' of {_size(shape)} and "
                    f"'{path}' of {_size(pixels.shape)} pixels instead."
                )
            X[i] = pixels.reshape(-1)
        names = tuple(path.relative_to(folder).as_posix() for path in files)
        pictures = None if X is None else X.reshape(-1, *shape)
        yield Part(pictures, y, "folder", about={"files": names})


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} x {shape[1]}"


def _files(folder: Path, labels: str) -> tuple[list[Path], Array | None]:
    """Return the files, and the names of the folders they are in; or those in the folder itself, without labels."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = [(path, one.name) for one in classes for path in _images(one)]
    loose = list(_images(folder))
    if found and loose:
        raise DataError(
            f"The images of '{folder}' must all be in folders of their classes, or none. Got '{loose[0]}' too."
        )
    if found:
        y = np.array([name for _, name in found], dtype=np.str_)
        return [path for path, _ in found], None if labels == "none" else _as_numbers(y)
    if not loose:
        kinds = ", ".join(ENDINGS[:6])
        raise DataError(f"There are no images ({kinds}, ...) in '{folder}', nor in folders in it.")
    if labels == "required":
        raise DataError(f"The images of '{folder}' must be in folders called after their classes, to have labels.")
    return loose, None


def _as_numbers(y: Array) -> Array:
    """Return the names of classes as int64 if all of them are such numbers as 0 and 10, not 007."""
    try:
        numbers = y.astype(np.int64)
    except (ValueError, OverflowError):
        return y
    return numbers if (numbers.astype(np.str_) == y).all() else y


def _images(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in ENDINGS and path.is_file() and not path.name.startswith("."):
            yield path


def _pixels(path: Path, rgb: bool, resize: tuple[int, int] | None) -> NDArray[np.uint8]:
    """Return an image as grey values, or as red, green and blue."""
    try:
        from PIL import Image
    except ImportError:
        raise DataError('Reading images needs pillow: pip install "votron[files]".') from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd but readable files; a bomb is measured below
            with Image.open(path, formats=_FORMATS) as image:
                if image.width * image.height > _MAX_PIXELS:
                    raise DataError(f"The image '{path}' has {image.width} x {image.height} pixels, which is too many.")
                if image.mode in _DEEP:
                    raise DataError(f"The image '{path}' must have 8 bits a channel. Got mode {image.mode!r} instead.")
                found = image.convert("RGB" if rgb else "L")
                if resize is not None:
                    found = found.resize((resize[1], resize[0]))
                return np.asarray(found, dtype=np.uint8)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # each format fails in its own way
        reason = str(error).replace(os.fspath(path), path.name)
        reason = " ".join(reason.split())[:120].rstrip(".") or type(error).__name__
        raise DataError(f"Cannot read the image '{path}': {reason}.") from None
