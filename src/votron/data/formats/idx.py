"""IDX files: images, and their labels from the file beside them."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._sentences import exact_bytes
from votron.data._budget import check_expanded, check_memory
from votron.data._sources import Location, Source
from votron.data.formats.base import Format, Part
from votron.data.idx import TYPES, read_array, read_header, shown_shape
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter

_PIECE = 1 << 20


def read_idx_source(source: Source, max_bytes: int) -> NDArray[Any]:
    """Return the numbers of an IDX file, compressed in whatever way."""
    dtype, shape = read_header(io.BytesIO(source.head), source.location)
    n_bytes = math.prod(shape) * dtype.itemsize
    size = source.size
    if size is None:
        check_expanded(n_bytes, max_bytes, f"The IDX file {source.name}")
    with source.open() as file:
        return read_array(file, source.location, at_most=max_bytes if size is None else size)


class Idx(Format):
    """Images, or other numbers, with their labels in a file beside them; or a folder with the four files of MNIST."""

    name = "idx"
    suffixes = (".idx",)
    magic = tuple(bytes([0, 0, code]) for code in TYPES)
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
        X = read_idx_source(source, options.max_bytes)
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
    path = None if options.labels == "none" else labels_file(source, options.label, options.labels)
    if path is None:
        return None, None
    return read_idx_source(Source(os.fspath(path), options.max_bytes), options.max_bytes), os.fspath(path)


def _batches(source: Source, options: ReadOptions, batch_bytes: int) -> Iterator[Part]:
    dtype, shape = read_header(io.BytesIO(source.head), source.location)
    y, path = _labels(source, options)
    if len(shape) < 2 or 0 in shape or (y is not None and y.shape != shape[:1]):
        got = "none" if y is None else " x ".join(map(str, y.shape))
        raise DataError(
            f"The IDX file {source.name} must have two dimensions or more, and a label for each of its examples. "
            f"Got {shown_shape(shape)} numbers and {got} labels instead."
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
    promise = f"The header of the IDX file {source.name} promises {shown_shape(shape)} numbers"
    if source.size is not None and source.size != 4 + 4 * len(shape) + shape[0] * width:
        raise DataError(f"{promise}, which does not fit its {source.size} bytes.")
    if width > max_bytes:
        limit = exact_bytes(max_bytes)
        raise DataError(f"{promise}, and an example alone has more than the {limit} of ", Parameter("max_bytes"), ".")
    check_memory(3 * width, source.name, remedy="its examples are too long: give it shorter ones")


def _rows(file: Any, n: int, width: int, source: Source) -> NDArray[np.uint8]:
    data = bytearray()
    while len(data) < n * width:  # a piece at a time: the header may promise more than there is
        piece = file.read(min(_PIECE, n * width - len(data)))
        if not piece:
            raise DataError(f"The IDX file {source.name} ends before the examples that its header promises.")
        data += piece
    return np.frombuffer(data, dtype=np.uint8)


def labels_file(source: Source, label: Any, labels: str) -> Path | None:
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
