"""IDX files, the format of MNIST and its kin.

An IDX file is two zero bytes, a byte for the type of the numbers, a byte for the number of dimensions, each dimension
as a big-endian uint32, and then the numbers, big-endian too, the last dimension varying fastest.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import joined
from votron._util.types import Array, Label
from votron.data._sources import Source, check_expanded, source_errors
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError

__all__ = ["load_mnist_folder", "read_idx"]

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_MnistArrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]


class Idx(Format):
    """Images, or other numbers, with their labels in a file beside them; or a folder with the four files of MNIST."""

    name = "idx"
    suffixes = (".idx",)
    magic = tuple(bytes([0, 0, code]) for code in _TYPES)
    options = ("part",)
    sequential = True

    def is_folder(self, folder: Path, options: ReadOptions) -> bool:
        """Tell whether the images of the part are there."""
        return _images_in(folder, options.part) is not None

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a file."""
        return not source.is_folder

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield arrays of examples, or one of all of them."""
        label = options.label
        if source.is_folder and source.path is not None:
            source, label = Source(os.fspath(_images_in(source.path, options.part) or ""), options.max_bytes), None
        elif options.part is not None:
            raise DataError(f"There is no part {options.part!r} of {source.name}: only image sets have parts.")
        labels_file = None if options.labels == "none" else _labels_file(source, label, options.labels)
        y = None if labels_file is None else _whole(Source(os.fspath(labels_file), options.max_bytes))
        with source.open() as file:
            dtype, shape = _read_header(file, source.name)
            if len(shape) < 2 or (y is not None and y.shape != shape[:1]):
                got = "no" if y is None else f"{len(y):,}"
                raise DataError(
                    f"The IDX file {source.name} must have two dimensions or more, and a label for each of its "
                    f"examples. Got {_shown(shape)} numbers and {got} labels instead."
                )
            width = math.prod(shape[1:]) * dtype.itemsize
            n = max(1, shape[0] if batch_bytes is None else batch_bytes // max(1, width))
            claimed = shape if batch_bytes is None or source.size is not None else shape[1:]
            _check_claim(source, math.prod(claimed) * dtype.itemsize, options.max_bytes)
            where = None if labels_file is None else os.fspath(labels_file)
            for begin in range(0, shape[0], n):
                X = _numbers(file, dtype, (min(n, shape[0] - begin), *shape[1:]), source.name)
                yield Part(X, None if y is None else y[begin : begin + n], where)
                del X  # not to be in memory while the next are read
            _check_end(file, source.name)


def _images_in(folder: Path, part: str | None) -> Path | None:
    """Return the file with the images of a part, in a folder with the four files of MNIST."""
    return mnist_files(folder).get(MNIST_FILES[2 if part == "test" else 0])


def _labels_file(source: Source, label: Label, labels: str) -> Path | None:
    """Return the file of labels: as given, or else the one with "labels" where the images have "images"."""
    if label is not None:
        return Path(os.path.expanduser(str(label)))
    beside = []
    if source.path is not None and "images" in source.path.name:
        plain = source.path.name.replace("images", "labels").replace("idx3", "idx1").removesuffix(".gz")
        beside = [source.path.with_name(name) for name in (plain, f"{plain}.gz")]
    found = next((path for path in beside if path.is_file()), None)
    if found is None and labels == "required":
        looked = f"There is no {beside[0].name!r} beside it" if beside else "Its name does not say"
        raise DataError(
            f"Say which IDX file has the labels of {source.name}, with label. {looked}.",
            parameter="label",
        )
    return found


# -- arrays -----------------------------------------------------------------------------------------------------------


def read_idx(path: str | os.PathLike[str]) -> Array:
    """Read an IDX file, plain or compressed.

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
        If the file cannot be read, or is not exactly what its header says.

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
    return _whole(Source(os.fspath(path)))


def _whole(source: Source) -> Array:
    with source_errors(source), source.open() as file:
        dtype, shape = _read_header(file, source.name)
        _check_claim(source, math.prod(shape) * dtype.itemsize, source.max_bytes)
        array = _numbers(file, dtype, shape, source.name)
        _check_end(file, source.name)
    return array


def _read_header(file: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES or not magic[3]:
        raise DataError(
            f"{name} is not an IDX file: expected it to start with the bytes 00 00, a type and the number of "
            f"dimensions. Got {magic.hex(' ') or 'nothing'} instead."
        )
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise DataError(f"The IDX file {name} ends within the header of its {magic[3]} dimensions.")
    return np.dtype(_TYPES[magic[2]]), tuple(np.frombuffer(sizes, dtype=">u4").tolist())


def _check_claim(source: Source, n_bytes: int, max_bytes: int) -> None:
    """Refuse a header that promises too much before memory is taken for it."""
    if source.size is None:
        check_expanded(n_bytes, source, max_bytes)
    elif n_bytes > source.size:
        raise DataError(f"The IDX file {source.name} ends before the numbers that its header promises.")


def _numbers(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Array:
    """Return so many of the numbers that are left of a file."""
    n_bytes = math.prod(shape) * dtype.itemsize
    data = file.read(n_bytes)
    if len(data) < n_bytes:
        raise DataError(f"The IDX file {name} ends before the numbers that its header promises.")
    try:
        return np.frombuffer(data, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))
    except ValueError:  # no numbers, and dimensions that overflow all the same
        raise DataError(f"The IDX file {name} has a shape that no array can have: {_shown(shape)}.") from None


def _check_end(file: IO[bytes], name: str) -> None:
    if file.read(1):
        raise DataError(f"The IDX file {name} goes on after the numbers that its header promises.")


def _shown(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape[:8])) + (" x ..." if len(shape) > 8 else "")


# -- the four files of MNIST ------------------------------------------------------------------------------------------


def load_mnist_folder(folder: str | os.PathLike[str] | None = None, name: str = "mnist") -> _MnistArrays:
    """Load images and labels from a folder with the four files of MNIST.

    The files are ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and
    ``t10k-labels-idx1-ubyte``, each of them plain or with ``.gz`` at the end.

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
    given = os.fspath(folder or os.environ.get("VOTRON_DATA", ""))  # `make mnist` without a folder passes an empty one
    if not given:
        raise DataError(f"No folder with the files of {name!r}: say which, or set VOTRON_DATA to it.")
    root = Path(given).expanduser()
    return load_mnist_files(root / name if (root / name).is_dir() else root)[0]


def mnist_files(folder: Path) -> dict[str, Path]:
    """Return those of the four files of MNIST that are in a folder, plain or with ``.gz`` at the end."""
    paths = {stem: (folder / stem, folder / f"{stem}.gz") for stem in MNIST_FILES}
    return {stem: path for stem, both in paths.items() for path in both if path.is_file()}


def load_mnist_files(folder: Path) -> tuple[_MnistArrays, tuple[int, ...]]:
    """Return what `load_mnist_folder` returns, and height and width of the images."""
    paths = mnist_files(folder)
    if missing := [stem for stem in MNIST_FILES if stem not in paths]:
        raise DataError(
            f"The folder '{folder}' has no {joined(map(repr, missing))}: it must have the files "
            f"{joined(map(repr, MNIST_FILES))}, each plain or with '.gz' at the end."
        )
    arrays = [read_idx(paths[stem]) for stem in MNIST_FILES]
    for array, path, n_dimensions in zip(arrays, paths.values(), (3, 1, 3, 1), strict=True):
        if array.dtype != np.uint8 or array.ndim != n_dimensions:
            raise DataError(
                f"The IDX file '{path}' must hold uint8 numbers in {n_dimensions} dimension(s). "
                f"Got {array.dtype} in {array.ndim} instead."
            )
    X, y, X_test, y_test = arrays
    if len(X) != len(y) or len(X_test) != len(y_test) or X.shape[1:] != X_test.shape[1:]:
        raise DataError(
            f"The files in '{folder}' must have images of one size and a label for each. Got {_shown(X.shape)} and "
            f"{_shown(X_test.shape)} pixels, and {len(y)} and {len(y_test)} labels instead."
        )
    flat = [images.reshape(len(images), -1) for images in (X, X_test)]
    return (flat[0], y.astype(np.int64), flat[1], y_test.astype(np.int64)), X.shape[1:]
