"""The image data sets that the papers' experiments run on: found, fetched, checked, and kept.

MNIST and Fashion-MNIST have the same file names, sizes and labels, so a set is known by its content: the SHA-256 of
its four arrays. Wherever "mnist" came from, it is MNIST to the last pixel, in the order of the original files.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._util.files import write_bytes
from votron._util.text import joined
from votron.data._sources import Source
from votron.data.formats.base import Format, Part
from votron.data.formats.idx import MNIST_FILES, load_mnist_files, mnist_files
from votron.data.options import ReadOptions
from votron.errors import DataError

__all__ = ["ImageSet", "load_image_set"]

KNOWN_SETS = ("digits", "mnist", "fashion")
"""Names that stand for sets of images, and for no file."""
_N_TEST_DIGITS = 597
_FETCHING = threading.Lock()


class ImageSets(Format):
    """The sets that `load_image_set` loads."""

    name = "image set"
    options = ("part",)
    reads = "name"
    known = KNOWN_SETS

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the part that is asked for, as if it had been read from its IDX files."""
        images = load_image_set(source.location)
        X, y = (images.X_test, images.y_test) if options.part == "test" else (images.X, images.y)
        yield Part(X.reshape(-1, *images.shape), y, about={"format": "idx"})


class _Known(NamedTuple):
    """The digest and possible places of a known set."""

    title: str
    digest: str
    openml: str
    """Its name there; version 1."""
    n_train: int
    folders: tuple[str, ...]
    """Folders below VOTRON_DATA that may hold it."""


_KNOWN = {
    "mnist": _Known(
        "MNIST", "91a9d5192603160c955628c71d4fad0165cfbd244b67322b3d354f552f9637a4", "mnist_784", 60_000, ("mnist", ".")
    ),
    "fashion": _Known(
        "Fashion-MNIST",
        "6c3b2f37fab2b032eeec35a777f2d2967b0b9e0e3fc8b14bfa4d532d637b3771",
        "Fashion-MNIST",
        60_000,
        ("fashion", "fashion-mnist", ".", "/usr/share/datasets/fashion-mnist"),  # the last is Debian's
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class ImageSet:
    """Images to train on and to test with, their labels, and where they came from.

    Attributes
    ----------
    name : str
        What it is called.
    X, X_test : ndarray of uint8
        The images, one to a row, pixel by pixel.
    y, y_test : ndarray of int64
        Their labels.
    shape : tuple of int
        Height and width of an image.
    source : str
        Where it came from, in words.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> digits = load_image_set("digits")
    >>> digits
    <ImageSet 'digits': 1,200 images to train on, 597 to test with, of 8 x 8 pixels, in 10 classes>
    >>> digits.source
    "scikit-learn's load_digits"
    >>> digits.X[0].reshape(digits.shape)[:2]
    array([[ 0,  0,  0,  1,  8, 13, 14,  2],
           [ 0,  0,  2, 13,  9,  4, 14,  4]], dtype=uint8)
    """

    name: str
    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.int64]
    shape: tuple[int, int]
    source: str

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the four arrays, shapes and numbers, on every machine the same."""
        sha = hashlib.sha256()
        for array, dtype in ((self.X, "u1"), (self.y, "<i8"), (self.X_test, "u1"), (self.y_test, "<i8")):
            sha.update(f"{array.shape}".encode())
            sha.update(array.astype(dtype, order="C", casting="safe", copy=False).data)
        return sha.hexdigest()

    def __repr__(self) -> str:
        n_classes = len(np.unique(np.concatenate([self.y, self.y_test])))
        return (
            f"<ImageSet {self.name!r}: {len(self.X):,} images to train on, {len(self.X_test):,} to test with, "
            f"of {self.shape[0]} x {self.shape[1]} pixels, in {n_classes} classes>"
        )


def load_image_set(
    which: str | os.PathLike[str],
    *,
    fetch: bool = True,
    cache: str | os.PathLike[str] | None = None,
) -> ImageSet:
    """Load a set of images: a known one by its name, or any other from its folder.

    MNIST and Fashion-MNIST are looked for in the folder that the environment variable ``VOTRON_DATA`` names (there
    or in a sub-folder ``mnist``, ``fashion`` or ``fashion-mnist``), where Debian's package dataset-fashion-mnist puts
    them, and in the cache. If none has it, it is fetched from OpenML, checked, and
    kept in the cache: that takes half a minute and more than 1 GB of memory, reading the cache a second.

    Parameters
    ----------
    which : str or path-like
        ``"digits"`` (scikit-learn's, 1,200 to train on and 597 to test with), ``"mnist"``, ``"fashion"``, or a
        folder with the files ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``,
        ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte``, each of them plain or with ``.gz`` at the end.
        A folder with one of the three names is meant by ``"./mnist"``.
    fetch : bool, default=True
        If false, the network is not used.
    cache : str or path-like, optional
        The folder to keep what was fetched in, by default ``votron`` in scikit-learn's data home.

    Returns
    -------
    ImageSet
        The images, their labels, and where they came from.

    Raises
    ------
    DataError
        If the set is nowhere to be had, or its files are missing, damaged, or do not belong together.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> load_image_set("digits").X.shape
    (1200, 64)
    >>> load_image_set("no/such/folder")
    Traceback (most recent call last):
        ...
    votron.errors.DataError: The data must be 'digits', 'mnist', 'fashion' or a folder with the four IDX files of a set.
    Got 'no/such/folder' instead.
    """
    if which == "digits":
        return _digits()
    if isinstance(which, str) and which in _KNOWN:
        return _known_set(which, fetch, cache)
    folder = Path(os.path.expanduser(which)) if isinstance(which, str | os.PathLike) else None
    if folder is None or not folder.is_dir():
        raise DataError(
            "The data must be 'digits', 'mnist', 'fashion' or a folder with the four IDX files of a set. "
            f"Got {which!r} instead."
        )
    name = folder.resolve().name
    found = _from_folder(folder, name, f"the IDX files in the folder '{name}'")
    known = {one.digest: known for known, one in _KNOWN.items()}  # whatever their folders are called
    return replace(found, name=known.get(found.digest, f"{name}-folder" if name in KNOWN_SETS else name))


def _digits() -> ImageSet:
    from sklearn.datasets import load_digits  # what `votron predict --help` does without
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X, y = X.astype(np.uint8), y.astype(np.int64)
    X, X_test, y, y_test = train_test_split(X, y, test_size=_N_TEST_DIGITS, random_state=0, stratify=y)
    return ImageSet("digits", X, y, X_test, y_test, (8, 8), "scikit-learn's load_digits")


def _known_set(name: str, fetch: bool, cache: str | os.PathLike[str] | None) -> ImageSet:
    known, root = _KNOWN[name], os.environ.get("VOTRON_DATA") or os.devnull
    for folder in (Path(os.path.expanduser(root), each) for each in known.folders):
        if len(mnist_files(folder)) == len(MNIST_FILES):
            found = _from_folder(folder, name, f"the IDX files in '{folder}'")
            if found.digest == known.digest:
                return found
    from sklearn.datasets import get_data_home

    kept = (Path(get_data_home(), "votron") if cache is None else Path(os.path.expanduser(cache))) / f"{name}.npz"
    with _FETCHING:  # whoever waits here finds what the other one fetched
        found_again = _read_kept(kept, name)
        if found_again is not None:
            return found_again
        if not fetch:
            raise _nowhere(known, "and fetching it is switched off")
        fetched = _fetched(name)
        _keep(fetched, kept)
    return fetched


def _from_folder(folder: Path, name: str, source: str) -> ImageSet:
    arrays, shape = load_mnist_files(folder)
    return ImageSet(name, *arrays, (shape[0], shape[1]), source)


def _nowhere(known: _Known, why: str) -> DataError:
    return DataError(
        f"{known.title} is not on this machine, {why}: set VOTRON_DATA to a folder with the files "
        f"{joined(map(repr, MNIST_FILES))} of {known.title}, each plain or with '.gz' at the end."
    )


def _read_kept(path: Path, name: str) -> ImageSet | None:
    """Return what was kept, or None if it is not there, or damaged."""
    known = _KNOWN[name]
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
            X, y, X_test, y_test = (kept[part] for part in ("X", "y", "X_test", "y_test"))
    except Exception:  # a damaged archive fails in a dozen ways, and all mean the same
        return None
    source = f"OpenML's data set {known.openml}, version 1, kept in the cache"
    found = ImageSet(name, X, y.astype(np.int64), X_test, y_test.astype(np.int64), (28, 28), source)
    return found if found.digest == known.digest else None


def _keep(images: ImageSet, path: Path) -> None:
    buffer = io.BytesIO()
    y, y_test = images.y.astype(np.uint8), images.y_test.astype(np.uint8)
    np.savez_compressed(buffer, X=images.X, y=y, X_test=images.X_test, y_test=y_test)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, buffer.getvalue())
    except OSError as error:
        warnings.warn(
            f"{images.name!r} could not be kept in '{path}' ({error.strerror or error}) and will be fetched again.",
            UserWarning,
            stacklevel=4,
        )


def _fetched(name: str) -> ImageSet:
    from sklearn.datasets import fetch_openml

    known = _KNOWN[name]
    try:
        # Its own cache is ten times as large as ours, and what it warns of, retries, ends well or in an error.
        with tempfile.TemporaryDirectory() as home, warnings.catch_warnings(action="ignore"):
            X, y = fetch_openml(
                known.openml, version=1, data_home=home, return_X_y=True, as_frame=False, parser="liac-arff"
            )
        X, y, n = X.astype(np.uint8), y.astype(np.int64), known.n_train
        source = f"OpenML's data set {known.openml}, version 1"
        fetched = ImageSet(name, X[:n], y[:n], X[n:], y[n:], (28, 28), source)
    except Exception as error:  # of the network, HTTP, gzip, ARFF: the user's way out is the same
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise _nowhere(known, f"and OpenML did not give it ({reason})") from None
    if fetched.digest != known.digest:
        raise DataError(
            f"What OpenML gave as {known.openml} is not {known.title}, and was not kept: the SHA-256 of its images and "
            f"labels must be {known.digest}. Got {fetched.digest} instead."
        )
    return fetched
