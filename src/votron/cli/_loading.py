"""Data and models as commands take them: read with what was typed, and with what a model file says of its training."""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron.data.options import options_of
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples

_CHUNK = 1 << 20


# -- data -------------------------------------------------------------------------------------------------------------


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return how to read data, as `votron.data.read_examples` takes it, from what was typed."""
    commands = {name: option.command for name, option in options_of().items() if option.command is not None}
    given = {name: getattr(args, command.dest, None) for name, command in commands.items()}
    if given["missing"] in STRATEGIES:
        given["missing"] = "keep"
    given["label"] = getattr(args, "label", None)
    given["as_text"] = [*getattr(args, "discrete", ()), *getattr(args, "text", ())]
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return {name: value for name, value in found.items() if value is not None and value != ()}


def read(path: str, **how: Any) -> Examples:
    """Return the examples of a file."""
    from votron.data import read_examples

    with in_words_of_options():
        return read_examples(path, **how)


def read_labelled(path: str, **how: Any) -> tuple[Examples, NDArray[Any]]:
    """Return the examples of a file, and their labels."""
    found = read(path, **how)
    if found.y is None:
        raise DataError(f"{base_name(path)} has no labels: say where they are with --label.")
    return found, found.y


def batches(path: str, **how: Any) -> Any:
    """Return the examples of a file in batches."""
    from votron.data import open_batches

    with in_words_of_options():
        return open_batches(path, **how)


_OPTIONS = {
    r"'?max_bytes'?": "--max-expanded",
    r"\bread it in batches with open_batches\b": "train from it with --stream",
    r"\bopen_batches reads in batches\b": "--stream reads in batches",
    r"header=False": "--no-header",
    r"header=True": "--header",
    r"quote=''": "--quote ''",
    r"missing='drop'": "--missing drop",
    r"\bwith missing\b": "with --missing",
    r"\bwith label\b": "with --label",
    r"leave label out": "leave --label out",
    r"drop=(\d+)": r"--drop \1",
    r"\bn_features\b(?!=\d)": "--features",
    r" \((?:in partial_fit|the first call of partial_fit)[^)]*\)": "",
    r", for data of n_samples=(\d+), n_features=\d+ instead": r" in \1 rows instead",
    r"\bbinarize=([\d.]+)": r"--binarize \1",
    r"\bzero_based=True\b": "--zero-based",
    r"\bzero_based\b": "--zero-based",
    r"\bas_text\b": "--discrete",
    r"'?\bna_values\b'?": "--na-values",
    r"'probabilities' and 'discrete' of \w+": "--probabilities and --discrete",
}


_ABOUT_DATA = ("Input X contains", "Input y contains", "X has ", "Found array with")
"""How scikit-learn begins to speak of data that it does not take."""


@contextmanager
def in_words_of_options(instead: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let errors speak of options, where they speak of parameters of a function, and say some things otherwise."""
    from votron.cli._estimators import as_option

    try:
        yield
    except VotronError as error:
        text = as_option(str(error))
        for name, option in _OPTIONS.items():
            text = re.sub(name, option, text)
        for words, others in (instead or {}).items():
            text = text.replace(words, others)
        text += _meant(text)
        if text != str(error):
            raise type(error)(text) from None
        raise
    except ValueError as error:
        if not str(error).startswith(_ABOUT_DATA):
            raise
        raise DataError(f"{' '.join(str(error).split())}") from None


def _meant(text: str) -> str:
    """Return a question about the name that may have been meant, where a column is not there.

    Examples
    --------
    >>> _meant("The label must be a column of 'a.csv', which has 'Temp', 'Play'. Got 'Ply' instead.")
    " Did you mean 'Play'?"
    """
    match = re.search(r"which has (?P<names>.*)\. Got '(?P<got>[^']*)' instead\.$", text)
    if not match:
        return ""
    near = difflib.get_close_matches(match["got"], re.findall(r"'([^']*)'", match["names"]), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None for what is no file."""
    if not os.path.isfile(path):
        return None
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def rows_of(X: Any, which: NDArray[np.int64]) -> Any:
    """Return some rows of a frame or a matrix."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, which)


def held_out(y: NDArray[Any], fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those to test with, in order: of each class the same share, if it has enough.

    Examples
    --------
    >>> kept, tested = held_out(np.array([0, 1] * 10), 0.2, seed=0)
    >>> len(kept), len(tested)
    (16, 4)
    """
    from sklearn.model_selection import train_test_split

    counts = np.unique(y, return_counts=True)[1]
    n_test = int(np.ceil(fraction * len(y)))
    enough = counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(counts)
    if n_test >= len(y):
        raise VotronError(f"--test {fraction:g} leaves nothing to learn from, of {len(y)} rows.")
    kept, tested = train_test_split(
        np.arange(len(y)), test_size=n_test, stratify=y if enough else None, random_state=seed
    )
    return np.sort(kept), np.sort(tested)


def once_only(path: str) -> bool:
    """Tell whether it can be read once only: standard input, or what is neither file nor folder, such as a pipe."""
    place = os.path.expanduser(path)
    return path == "-" or (os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)))


def base_name(path: str) -> str:
    """Return what to call data where the place of the file is nobody's business."""
    return "standard input" if path == "-" else Path(path).name or path
