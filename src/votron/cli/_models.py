"""Models as commands take them, with what their files say of their training."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron.cli._encoding import columns_of
from votron.cli._loading import FILLED_IN, reading
from votron.cli._parser import UsageError
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.saving import Manifest

_AS_IN_TRAINING = ("na_values", "colour", "resize", "zero_based")
"""What holds for rows to predict as it held in training, unless something else is typed."""


@dataclass(frozen=True)
class Saved:
    """A model from a file, and what the file says of it."""

    path: str
    model: Any
    manifest: Manifest

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return self.model.steps[-1][1] if hasattr(self.model, "steps") else self.model

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that it knows."""
        return np.asarray(self.estimator.classes_)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from."""
        return dict(self.manifest.provenance or {})

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        return columns_of(self.model)

    def how_to_read(self, args: argparse.Namespace) -> dict[str, Any]:
        """Return how to read data for it: as it was trained, where nothing else was typed."""
        how = reading(args)
        before = self.provenance.get("reading", {})
        if getattr(args, "missing", None) is None:
            filled = before.get("missing") in FILLED_IN
            how["missing"] = "keep" if filled else "refuse"
        for name in _AS_IN_TRAINING:
            if name not in how and before.get(name) is not None:
                how[name] = tuple(before[name]) if isinstance(before[name], list) else before[name]
        if self.columns is not None:
            how["columns"] = self.columns
        else:
            how["n_features"] = int(self.model.n_features_in_)
        return how

    def transformed(self, X: Any) -> Any:
        """Return rows as the classifier itself takes them."""
        if self.columns is None and hasattr(X, "columns"):
            X = self._as_matrix(X)
        elif self.columns is not None and not hasattr(X, "columns"):
            raise DataError(
                f"The model in {self.path!r} takes tables with the columns {', '.join(map(repr, self.columns))}. "
                "Got numbers without names instead."
            )
        return self.model[:-1].transform(X) if hasattr(self.model, "steps") else X

    def _as_matrix(self, frame: Any) -> Any:
        """Return a table as numbers, for a model that knows no names."""
        from votron._frames import columns_of_words

        for name in columns_of_words(frame):
            raise DataError(
                f"The model in {self.path!r} was trained on numbers without names, and takes a table of numbers only. "
                f"Got words in column {name!r} instead."
            )
        return frame.to_numpy()


def load_model(path: str, data: str = "") -> Saved:
    """Return the model in a file, or from standard input, where data do not come from there."""
    from votron import load
    from votron.saving import read_manifest

    if path == data == "-":
        raise UsageError("MODEL and DATA cannot both be standard input.")
    with model_file(path) as file:
        manifest = read_manifest(file)
        return Saved(path, load(file, mmap=path != "-"), manifest)


@contextmanager
def model_file(path: str) -> Iterator[str]:
    """Give the name of a model file; one from standard input is kept for the time being."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "model.votron")
        with open(kept, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield kept
        except VotronError as error:
            raise type(error)(str(error).replace(repr(kept), "standard input")) from None


def labels_like(y: NDArray[Any], classes: NDArray[Any], source: str) -> NDArray[Any]:
    """Return labels in the type of the classes of a model: a file may show the number 1 as text, or the other way.

    Examples
    --------
    >>> labels_like(np.array([1, 2]), np.array(["1", "2"]), "a.csv")
    array(['1', '2'], dtype='<U21')
    >>> labels_like(np.array(["1", "2"]), np.array([1, 2, 3]), "a.csv")
    array([1, 2])
    """
    if y.dtype.kind == classes.dtype.kind:
        return y
    if classes.dtype.kind == "U":
        return y.astype(str)
    try:
        found = y.astype(classes.dtype)
    except ValueError:
        word = next((value for value in y.tolist() if not _is_number(value)), y[0])
        raise DataError(
            f"The labels of {source} must be numbers, as those that the model learnt. Got {word!r} instead."
        ) from None
    same = found == y if y.dtype.kind != "U" else found.astype(float) == y.astype(float)
    return found if np.all(same) else y


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
