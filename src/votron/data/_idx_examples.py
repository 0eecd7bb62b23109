"""IDX files as examples: images, and their labels from the file beside them."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from votron.data._arrays import array_examples
from votron.data._budget import check_expanded
from votron.data._sources import Source
from votron.data.examples import Examples
from votron.data.idx import read_array, read_header
from votron.errors import DataError, Parameter


def read_idx_source(source: Source, max_bytes: int) -> NDArray[Any]:
    """Return the numbers of an IDX file, compressed in whatever way."""
    dtype, shape = read_header(io.BytesIO(source.head), source.given)
    n_bytes = math.prod(shape) * dtype.itemsize
    size = source.size
    if size is None:
        check_expanded(n_bytes, max_bytes, f"The IDX file {source.name}")
    with source.open() as file:
        return read_array(file, source.given, at_most=max_bytes if size is None else size)


def idx_examples(source: Source, about: Examples, *, label: Any, labels: str, max_bytes: int) -> Examples:
    """Return the examples of a file of images, or of other numbers, and of a file of labels."""
    X = read_idx_source(source, max_bytes)
    if X.ndim < 2:
        raise DataError(f"The features in {source.name} must have two dimensions or more. Got {X.ndim} instead.")
    labels_path = None if labels == "none" else labels_file(source, label, labels)
    y = None
    if labels_path is not None:
        y = read_idx_source(Source(os.fspath(labels_path), max_bytes), max_bytes)
    return array_examples(X, y, about, source.name, None if labels_path is None else os.fspath(labels_path))


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
