"""Images: in folders that are called after their classes, read by Pillow, and in sets as MNIST is published.

A set is IDX files, a folder with four of them, or a known set by its name. An IDX file is two zero bytes, a byte for
the type of the numbers, a byte for the number of dimensions, each dimension as a big-endian uint32, and then the
numbers, big-endian too, the last dimension varying fastest.

MNIST and Fashion-MNIST have the same file names, sizes and labels, so a set is known by the SHA-256 of its arrays.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from votron._util.files import write_bytes
from votron._util.text import exact_bytes, joined
from votron._util.types import Array
from votron.data._sources import Source
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError

__all__ = ["ImageSet", "load_image_set"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_IMAGES = {None: _FILES[0], "train": _FILES[0], "test": _FILES[2]}
KNOWN_SETS = ("digits", "mnist", "fashion")
"""Names that stand for sets of images, and for no file."""
_N_TEST_DIGITS, _N_TRAIN = 597, 60_000
"""Images of digits to test with, and of the other sets to train on."""
_DIGESTS = {
    "mnist": "91a9d5192603160c955628c71d4fad0165cfbd244b67322b3d354f552f9637a4",
    "fashion": "6c3b2f37fab2b032eeec35a777f2d2967b0b9e0e3fc8b14bfa4d532d637b3771",
}
_ON_OPENML = {"mnist": "mnist_784", "fashion": "Fashion-MNIST"}
_FOLDERS = {
    "mnist": ("mnist", "."),
    "fashion": ("fashion", "fashion-mnist", ".", "/usr/share/datasets/fashion-mnist"),  # the last is Debian's
}
"""Folders below VOTRON_DATA that may hold a set."""


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


# -- image sets --------------------------------------------------------------------------------------------------------


class Idx(Format):
    """Images with their labels in a file beside them, a folder with the four files of MNIST, or a known set."""

    name = "idx"
    suffixes = (".idx",)
    magic = tuple(bytes([0, 0, code]) for code in _TYPES)
    has_parts = True
    known = KNOWN_SETS

    def is_folder(self, folder: Path, options: ReadOptions) -> bool:
        return _IMAGES[options.part] in _files_in(folder)

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        if source.location in KNOWN_SETS:
            images = load_image_set(source.location)
            X, y = (images.X_test, images.y_test) if options.part == "test" else (images.X, images.y)
            yield Part(X.reshape(-1, *images.shape), y)
            return
        labels = None if options.label is None else os.path.expanduser(str(options.label))
        if source.is_folder and source.path is not None:
            source = Source(str(_files_in(source.path)[_IMAGES[options.part]]), options.max_bytes)
        elif options.part is not None:
            raise DataError(f"There is no part {options.part!r} of {source.name}: only image sets have parts.")
        labels = labels or _labels_beside(source)
        if options.labels == "none" or (labels is None and options.labels == "optional"):
            yield Part(_read_idx(source))
            return
        if labels is None:
            raise DataError(f"Say which IDX file has the labels of {source.name}, with label.", parameter="label")
        yield Part(*_labelled(source, Source(labels, options.max_bytes)), labels)


@dataclass(frozen=True, eq=False, repr=False)
class ImageSet:
    """Images to train on and to test with, one to a row, and their labels."""

    name: str
    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.int64]
    shape: tuple[int, int]
    """Height and width of an image."""
    source: str
    """Where they came from, in words."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the four arrays, shapes and numbers, on every machine the same."""
        sha = hashlib.sha256()
        for array, dtype in ((self.X, "u1"), (self.y, "<i8"), (self.X_test, "u1"), (self.y_test, "<i8")):
            sha.update(f"{array.shape}".encode())
            sha.update(array.astype(dtype, order="C", casting="safe", copy=False).data)
        return sha.hexdigest()


def load_image_set(which: str | os.PathLike[str], *, fetch: bool = True) -> ImageSet:
    """Load a set of images: a known one by its name, or any other from its folder.

    MNIST and Fashion-MNIST are looked for in the folder that the environment variable ``VOTRON_DATA`` names (there
    or in a sub-folder ``mnist``, ``fashion`` or ``fashion-mnist``), where Debian's package dataset-fashion-mnist puts
    them, and in ``votron`` in scikit-learn's data home. If none has it, it is fetched from OpenML and kept there, which
    takes half a minute and more than 1 GB of memory.

    Parameters
    ----------
    which : str or path-like
        ``"digits"`` (scikit-learn's), ``"mnist"``, ``"fashion"``, or a folder with four files called as those of MNIST,
        plain or with ``.gz`` at the end. A folder with one of the three names is meant by ``"./mnist"``.
    fetch : bool, default=True
        If false, the network is not used.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> load_image_set("digits").X.shape
    (1200, 64)
    """
    if which == "digits":
        return _digits()
    if isinstance(which, str) and which in _DIGESTS:
        return _known_set(which, fetch)
    folder = Path(os.path.expanduser(which))
    if not folder.is_dir():
        raise DataError(
            "The data must be 'digits', 'mnist', 'fashion' or a folder with the four IDX files of a set. "
            f"Got {which!r} instead."
        )
    name = folder.resolve().name
    found = _from_folder(folder, f"{name}-folder" if name in KNOWN_SETS else name)
    known = next((name for name, digest in _DIGESTS.items() if digest == found.digest), found.name)
    return replace(found, name=known)  # whatever their folders are called


def _digits() -> ImageSet:
    from sklearn.datasets import load_digits  # what `votron predict --help` does without
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X.astype(np.uint8), y.astype(np.int64), test_size=_N_TEST_DIGITS, random_state=0, stratify=y
    )
    return ImageSet("digits", X, y, X_test, y_test, (8, 8), "scikit-learn's load_digits")


def _from_folder(folder: Path, name: str) -> ImageSet:
    paths = _files_in(folder)
    if missing := [file for file in _FILES if file not in paths]:
        raise DataError(f"The folder '{folder}' has no {joined(map(repr, missing))}, plain or with '.gz' at the end.")
    sources = [Source(os.fspath(paths[file])) for file in _FILES]
    (X, y), (X_test, y_test) = _labelled(*sources[:2]), _labelled(*sources[2:])
    if X.ndim != 3 or X.shape[1:] != X_test.shape[1:] or not X.dtype == X_test.dtype == np.uint8:
        raise DataError(
            f"The files in '{folder}' must have images of one size, in uint8. Got {_shown(X)} and {_shown(X_test)} "
            "pixels instead."
        )
    rows = [images.reshape(len(images), -1) for images in (X, X_test)]
    source = f"the IDX files in '{folder}'"
    return ImageSet(name, rows[0], y.astype(np.int64), rows[1], y_test.astype(np.int64), X.shape[1:], source)


def _known_set(name: str, fetch: bool) -> ImageSet:
    """Return a set from VOTRON_DATA, Debian's package or the cache, where what is fetched from OpenML is kept."""
    root = Path(os.path.expanduser(os.environ.get("VOTRON_DATA") or os.devnull))
    cache = Path(os.path.expanduser(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")), "votron", name)
    found, why = _set_in([*(root / each for each in _FOLDERS[name]), cache], name), "fetching it is switched off"
    if found is None and fetch:
        try:
            _fetch(name, cache)
            found, why = _set_in([cache], name), "what OpenML gave is another set"
        except Exception as error:  # of the network, HTTP, gzip, ARFF, the cache: the user's way out is the same
            why = f"OpenML did not give it ({' '.join(str(error).split()).rstrip('.')})"
    if found is not None:
        return found
    raise DataError(
        f"{name!r} is not on this machine, and {why}: set VOTRON_DATA to a folder with its files "
        f"{joined(map(repr, _FILES))}, each plain or with '.gz' at the end."
    )


def _set_in(folders: list[Path], name: str) -> ImageSet | None:
    complete = (folder for folder in folders if len(_files_in(folder)) == len(_FILES))
    found = (_from_folder(folder, name) for folder in complete)
    return next((images for images in found if images.digest == _DIGESTS[name]), None)


def _fetch(name: str, folder: Path) -> None:
    """Write what OpenML has to the four files of a set."""
    from sklearn.datasets import fetch_openml

    how = {"version": 1, "return_X_y": True, "as_frame": False, "parser": "liac-arff"}
    # Its own cache is ten times as large as ours, and what it warns of, retries, ends well or in an error.
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings(action="ignore"):
        X, y = fetch_openml(_ON_OPENML[name], data_home=home, **how)
    X, y = X.astype(np.uint8).reshape(-1, 28, 28), y.astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    for file, array in zip(_FILES, (X[:_N_TRAIN], y[:_N_TRAIN], X[_N_TRAIN:], y[_N_TRAIN:]), strict=True):
        header = bytes([0, 0, 0x08, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
        write_bytes(folder / f"{file}.gz", gzip.compress(header + array.tobytes(), compresslevel=6))


def _files_in(folder: Path) -> dict[str, Path]:
    """Return those of the four files of MNIST that are in a folder, plain or with ``.gz`` at the end."""
    paths = {name: (folder / name, folder / f"{name}.gz") for name in _FILES}
    return {name: path for name, both in paths.items() for path in both if path.is_file()}


def _labels_beside(images: Source) -> str | None:
    """Return the file called as that of the images is, with "labels" where that has "images"."""
    path = images.path or Path()
    name = path.name.replace("images", "labels").replace("idx3", "idx1").removesuffix(".gz")
    beside = [path.with_name(each) for each in (name, f"{name}.gz") if "images" in path.name]
    return next((str(each) for each in beside if each.is_file()), None)


def _read_idx(source: Source) -> Array:
    data = source.read()
    known = len(data) > 3 and data[:2] == b"\0\0" and data[2] in _TYPES and 1 <= data[3] <= 8
    begin = 4 + 4 * data[3] if known else 0
    shape = np.frombuffer(data[4:begin], dtype=">u4").tolist() if 0 < begin < len(data) else [0]
    dtype = np.dtype(_TYPES[data[2]] if known else np.uint8)
    if not math.prod(shape) or len(data) - begin != math.prod(shape) * dtype.itemsize:
        raise DataError(
            f"{source.name} must be an IDX file: the bytes 00 00, a type, the number of dimensions, the dimensions, "
            f"and as many numbers as they say. Got {len(data)} bytes, which begin with {data[:12].hex(' ')}, instead."
        )
    return np.frombuffer(data, dtype=dtype, offset=begin).reshape(shape).astype(dtype.newbyteorder("="))


def _labelled(images: Source, labels: Source) -> tuple[Array, Array]:
    X, y = _read_idx(images), _read_idx(labels)
    if y.shape != X.shape[:1]:
        raise DataError(
            f"The IDX file {images.name} must have a label for each of its examples. Got {_shown(X)} numbers and "
            f"{_shown(y)} labels in {labels.name} instead."
        )
    return X, y


def _shown(array: Array) -> str:
    return " x ".join(map(str, array.shape))
