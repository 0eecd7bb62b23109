"""Data and models as commands take them: read with what was typed, and with what a model file says of its training."""

from __future__ import annotations

import argparse
import hashlib
import os
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

    return read_examples(path, **how)


def read_labelled(path: str, **how: Any) -> tuple[Examples, NDArray[Any]]:
    """Return the examples of a file, and their labels."""
    found = read(path, **how)
    if found.y is None:
        raise DataError(f"{base_name(path)} has no labels: say where they are with --label.")
    return found, found.y


_BATCH_BYTES = 4 << 20
"""What a batch has to be labelled: short rows take a hundred times their bytes until their labels are written."""


def batches(path: str, **how: Any) -> Any:
    """Return the examples of a file in batches."""
    from votron.data import open_batches

    return open_batches(path, **{"batch_bytes": _BATCH_BYTES, **how})


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
    """Return some rows of a frame of polars or of a matrix."""
    return X[which]


def held_out(y: NDArray[Any], fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those to test with, in order: of each class the same share, if it has enough.

    Examples
    --------
    >>> kept, tested = held_out(np.array([0, 1] * 10), 0.2, seed=0)
    >>> len(kept), len(tested)
    (16, 4)
    """
    from votron.estimators._validation import held_out_split

    n_test = int(np.ceil(fraction * len(y)))
    if n_test >= len(y):
        raise VotronError(f"--test {fraction:g} leaves nothing to learn from, of {len(y)} rows.")
    return held_out_split(y, n_test, seed, every_class_trained=False)


def once_only(path: str) -> bool:
    """Tell whether it can be read once only: standard input, or what is neither file nor folder, such as a pipe."""
    place = os.path.expanduser(path)
    return path == "-" or (os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)))


def base_name(path: str) -> str:
    """Return what to call data where the place of the file is nobody's business."""
    return "standard input" if path == "-" else Path(path).name or path
