"""IDX files, the format of MNIST and its kin.

An IDX file is two zero bytes, a byte for the type of the numbers, a byte for the number of dimensions, each
dimension as a big-endian uint32, and then the numbers, big-endian too, the last dimension varying fastest.
Often the whole is compressed with gzip, which is recognised by its first bytes and not by the file's name.

A header is a claim: nothing is allocated before the size of the file makes the claim possible and there is
memory for it, and nothing is decompressed beyond it.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import exact_bytes
from votron.data._sources import Location, Source, check_expanded, check_memory, read_exactly
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter

__all__ = ["load_mnist_folder", "read_idx"]

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MnistArrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]
_MAX_DIMENSIONS = 64  # NumPy's
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_MAX_RATIO = 1032  # what DEFLATE can reach: 258 bytes from 2 bits
_CHUNK = 1 << 20
_MAX_SHOWN = 8


class Idx(Format):
    """Images, or other numbers, with their labels in a file beside them; or a folder with the four files of MNIST."""

    name = "idx"
    suffixes = (".idx",)
    magic = tuple(bytes([0, 0, code]) for code in _TYPES)
    options = ("part",)
    label_by = "file"
    sequential = True

    def is_folder(self, folder: Path, options: ReadOptions) -> bool:
        """Tell whether the images of the part are there."""
        return _images_in(folder, options.part) is not None

    def has_parts(self, source: Location) -> bool:
        """Tell whether it is a folder."""
        return source.is_folder

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a file."""
        return not source.is_folder

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield arrays of examples, or one of all of them."""
        if source.is_folder:
            images = _images_in(source.path, options.part)
            source, options = Source(os.fspath(images or ""), options.max_bytes), replace(options, label=None)
        if batch_bytes is not None:
            yield from _batches(source, options, batch_bytes)
            return
        X = _read_idx_source(source, options.max_bytes)
        if X.ndim < 2:
            raise DataError(f"The features in {source.name} must have two dimensions or more. Got {X.ndim} instead.")
        yield Part(X, *_labels(source, options))


def _images_in(folder: Path | None, part: str | None) -> Path | None:
    """Return the file with the images of a part, in a folder with the four files of MNIST."""
    stem = f"{'t10k' if part == 'test' else 'train'}-images-idx3-ubyte"
    paths = [] if folder is None else [folder / stem, folder / f"{stem}.gz"]
    return next((path for path in paths if path.is_file()), None)


def _labels(source: Source, options: ReadOptions) -> tuple[NDArray[Any] | None, str | None]:
    """Return the labels, all of them, and their file."""
    path = None if options.labels == "none" else _labels_file(source, options.label, options.labels)
    if path is None:
        return None, None
    return _read_idx_source(Source(os.fspath(path), options.max_bytes), options.max_bytes), os.fspath(path)


def _batches(source: Source, options: ReadOptions, batch_bytes: int) -> Iterator[Part]:
    dtype, shape = _read_header(io.BytesIO(source.head), source.location)
    y, path = _labels(source, options)
    if len(shape) < 2 or 0 in shape or (y is not None and y.shape != shape[:1]):
        got = "none" if y is None else " x ".join(map(str, y.shape))
        raise DataError(
            f"The IDX file {source.name} must have two dimensions or more, and a label for each of its examples. "
            f"Got {_shown_shape(shape)} numbers and {got} labels instead."
        )
    width = math.prod(shape[1:]) * dtype.itemsize
    _check_idx_claim(source, width, shape, options.max_bytes)
    n = max(1, batch_bytes // width)
    with source.open() as file:
        file.read(4 + 4 * len(shape))
        for begin in range(0, shape[0], n):
            rows = min(n, shape[0] - begin)
            X = _rows(file, rows, width, source).view(dtype).astype(dtype.newbyteorder("="), copy=False)
            yield Part(X.reshape(rows, *shape[1:]), None if y is None else y[begin : begin + rows], path)
            del X  # not to be in memory while the next are read
        if file.read(1):
            raise DataError(
                f"The IDX file {source.name} goes on after the {shape[0]} examples that its header promises."
            )


def _check_idx_claim(source: Source, width: int, shape: tuple[int, ...], max_bytes: int) -> None:
    """Refuse what cannot be before memory is taken for it."""
    promise = f"The header of the IDX file {source.name} promises {_shown_shape(shape)} numbers"
    if source.size is not None and source.size != 4 + 4 * len(shape) + shape[0] * width:
        raise DataError(f"{promise}, which does not fit its {source.size} bytes.")
    if width > max_bytes:
        limit = exact_bytes(max_bytes)
        raise DataError(f"{promise}, and an example alone has more than the {limit} of ", Parameter("max_bytes"), ".")
    check_memory(3 * width, source.name, remedy="its examples are too long: give it shorter ones")


def _rows(file: Any, n: int, width: int, source: Source) -> NDArray[np.uint8]:
    data = bytearray()
    while len(data) < n * width:  # a piece at a time: the header may promise more than there is
        piece = file.read(min(_CHUNK, n * width - len(data)))
        if not piece:
            raise DataError(f"The IDX file {source.name} ends before the examples that its header promises.")
        data += piece
    return np.frombuffer(data, dtype=np.uint8)


def _labels_file(source: Source, label: Any, labels: str) -> Path | None:
    """Return the file of labels: as told, or else the one with "labels" where the images have "images"."""
    if label is not None:
        return Path(os.path.expanduser(os.fspath(str(label) if isinstance(label, int) else label)))
    beside = []
    if source.path is not None and "images" in source.path.name:
        plain = source.path.name.replace("images", "labels").replace("idx3", "idx1").removesuffix(".gz")
        beside = [source.path.with_name(name) for name in (plain, f"{plain}.gz")]
    found = next((path for path in beside if path.is_file()), None)
    if found is None and labels == "required":
        looked = f"There is no {beside[0].name!r} beside it" if beside else "Its name does not say"
        raise DataError(
            f"Say which IDX file has the labels of {source.name}, with ", Parameter("label"), f". {looked}."
        )
    return found


# -- arrays -----------------------------------------------------------------------------------------------------------


def _read_idx_source(source: Source, max_bytes: int) -> NDArray[Any]:
    """Return the numbers of an IDX file, compressed in whatever way."""
    dtype, shape = _read_header(io.BytesIO(source.head), source.location)
    n_bytes = math.prod(shape) * dtype.itemsize
    size = source.size
    if size is None:
        check_expanded(n_bytes, max_bytes, f"The IDX file {source.name}")
    with source.open() as file:
        return _read_array(file, source.location, at_most=max_bytes if size is None else size)


def read_idx(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read an IDX file, plain or compressed with gzip.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    ndarray
        The numbers, in the shape and type that the file states and the byte order of this machine.

    Raises
    ------
    DataError
        If the file cannot be read, is not exactly what its header says, or needs more memory than is free.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels")
    ...     _ = path.write_bytes(bytes([0, 0, 0x08, 1, 0, 0, 0, 3]) + bytes([5, 0, 4]))
    ...     read_idx(path)
    array([5, 0, 4], dtype=uint8)
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            compressed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            if not compressed:
                return _read_array(file, name, at_most=size)
            with gzip.open(file) as expanded:
                return _read_array(expanded, name, at_most=size * _GZIP_MAX_RATIO)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = str(error).rstrip(".")
        raise DataError(f"The gzip compression of the IDX file {name!r} is damaged: {reason}.") from error
    except OSError as error:
        raise DataError(f"Cannot read the IDX file {name!r}: {error.strerror or error}.") from error


def _read_array(file: IO[bytes] | gzip.GzipFile, name: str, at_most: int) -> NDArray[Any]:
    """Read header and numbers; the whole file has `at_most` bytes."""
    dtype, shape = _read_header(file, name)
    n_bytes = math.prod(shape) * dtype.itemsize
    promise = (
        f"The header of the IDX file {name!r} promises {_shown_count(n_bytes)} bytes of data "
        f"({_shown_shape(shape)} numbers of type {dtype.name})"
    )
    if n_bytes > at_most:
        raise DataError(f"{promise}, but the file is too short for that.")
    check_memory(n_bytes * (1 if dtype.itemsize == 1 else 2), repr(name))  # twice for the byte order
    buffer = read_exactly(file, n_bytes, promise)
    try:
        array = buffer.view(dtype).reshape(shape)
    except ValueError as error:  # no numbers, and dimensions that overflow all the same
        raise DataError(f"{promise}, which is no shape that an array can have.") from error
    return array.astype(dtype.newbyteorder("="), copy=False)


def _shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape for a sentence; a damaged header may have dozens of dimensions."""
    shown = " x ".join(map(str, shape[:_MAX_SHOWN]))
    return shown if len(shape) <= _MAX_SHOWN else f"{shown} x ..."


def _shown_count(n: int) -> str:
    """Return a number for a sentence; a damaged header may multiply to hundreds of digits."""
    return str(n) if n < 10**20 else "more than 10^20"


def _read_header(file: IO[bytes] | gzip.GzipFile, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES:
        codes = ", ".join(f"{code:02x}" for code in _TYPES)
        raise DataError(
            f"{name!r} is not an IDX file: expected it to start with the bytes 00 00, a type (one of "
            f"{codes}) and the number of dimensions. Got {magic.hex(' ') or 'nothing'} instead."
        )
    n_dimensions = magic[3]
    if not 1 <= n_dimensions <= _MAX_DIMENSIONS:
        raise DataError(
            f"The IDX file {name!r} must have 1 to {_MAX_DIMENSIONS} dimensions. Got {n_dimensions} instead."
        )
    sizes = file.read(4 * n_dimensions)
    if len(sizes) < 4 * n_dimensions:
        raise DataError(f"The IDX file {name!r} ends within the header of its {n_dimensions} dimensions.")
    return np.dtype(_TYPES[magic[2]]), struct.unpack(f">{n_dimensions}I", sizes)


def load_mnist_folder(folder: str | os.PathLike[str] | None = None, name: str = "mnist") -> _MnistArrays:
    """Load images and labels from a folder with the four files of MNIST.

    The files are ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and
    ``t10k-labels-idx1-ubyte``, each of them plain or with ``.gz`` at the end. Other data sets come in
    the same form and under the same file names.

    Parameters
    ----------
    folder : str or path-like, optional
        The folder with the files, or with a sub-folder `name` that has them. By default the environment
        variable ``VOTRON_DATA`` says which.
    name : str, default="mnist"
        The sub-folder to look into; where there is none, the files are looked for in `folder` itself.

    Returns
    -------
    X_train, y_train, X_test, y_test : ndarray
        Images as uint8, one to a row, (60000, 784) and (10000, 784) for MNIST, and their labels as int64.

    Raises
    ------
    DataError
        If a file is missing or damaged, or the files do not belong together.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import load_mnist_folder
    >>> with tempfile.TemporaryDirectory() as folder:  # two images of 2 x 3 pixels, for both parts
    ...     for part in ("train", "t10k"):
    ...         images = bytes([0, 0, 0x08, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(12))
    ...         labels = bytes([0, 0, 0x08, 1, 0, 0, 0, 2]) + bytes([7, 4])
    ...         _ = pathlib.Path(folder, f"{part}-images-idx3-ubyte").write_bytes(images)
    ...         _ = pathlib.Path(folder, f"{part}-labels-idx1-ubyte").write_bytes(labels)
    ...     X_train, y_train, X_test, y_test = load_mnist_folder(folder)
    >>> X_train
    array([[ 0,  1,  2,  3,  4,  5],
           [ 6,  7,  8,  9, 10, 11]], dtype=uint8)
    >>> y_train
    array([7, 4])
    """
    return load_mnist_files(folder, name)[0]


def load_mnist_files(
    folder: str | os.PathLike[str] | None, name: str
) -> tuple[_MnistArrays, tuple[int, ...], tuple[int, ...]]:
    """Return what `load_mnist_folder` returns, and height and width of the images to train on and to test with."""
    given = os.fspath(folder) if folder is not None else ""
    given = given or os.environ.get("VOTRON_DATA", "")  # `make mnist` without a folder passes an empty one
    if not given:
        raise DataError(f"No folder with the files of {name!r}: say which, or set VOTRON_DATA to it.")
    root = Path(given).expanduser()
    base = root / name if (root / name).is_dir() else root
    X_train, y_train = _load_part(base, "train", name)
    X_test, y_test = _load_part(base, "t10k", name)
    shape, shape_of_tests = X_train.shape[1:], X_test.shape[1:]
    n_pixels, n_pixels_of_tests = math.prod(shape), math.prod(shape_of_tests)
    if n_pixels != n_pixels_of_tests:
        raise DataError(
            f"The images for training and for testing in '{base}' must be of one size. "
            f"Got {n_pixels} and {n_pixels_of_tests} pixels instead."
        )
    X_train, X_test = X_train.reshape(len(X_train), n_pixels), X_test.reshape(len(X_test), n_pixels)
    return (X_train, y_train, X_test, y_test), shape, shape_of_tests


def _load_part(base: Path, part: str, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    images = _load_ubyte(base, f"{part}-images-idx3-ubyte", 3, name)
    labels = _load_ubyte(base, f"{part}-labels-idx1-ubyte", 1, name)
    if len(images) != len(labels):
        raise DataError(
            f"The {part!r} files in '{base}' must have a label for each image. "
            f"Got {len(images)} images and {len(labels)} labels instead."
        )
    return images, labels.astype(np.int64)


def _load_ubyte(base: Path, stem: str, n_dimensions: int, name: str) -> NDArray[np.uint8]:
    for path in (base / stem, base / f"{stem}.gz"):
        if path.is_file():
            array = read_idx(path)
            if array.dtype != np.uint8 or array.ndim != n_dimensions:
                raise DataError(
                    f"The IDX file '{path}' must hold uint8 numbers in {n_dimensions} dimension(s). "
                    f"Got {array.dtype} in {array.ndim} instead."
                )
            return array
    raise DataError(
        f"No file '{stem}' or '{stem}.gz' in '{base}': give the folder with the files of {name!r}, or the "
        "folder above it, or set VOTRON_DATA to it."
    )
