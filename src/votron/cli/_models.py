"""Models as commands take them, with what their files say of their training."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from votron.cli._encoding import classifier_of, columns_of
from votron.cli._model_data import classes_of, reading_for_model
from votron.cli._parser import UsageError
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.saving import Manifest


@dataclass(frozen=True)
class Saved:
    """A model from a file, and what the file says of it."""

    path: str
    model: Any
    manifest: Manifest

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    def with_estimator(self, other: Any) -> Saved:
        """Return the same with another classifier behind what data go through first."""
        if not hasattr(self.model, "steps"):
            return replace(self, model=other)
        from sklearn.pipeline import Pipeline

        return replace(self, model=Pipeline([*self.model.steps[:-1], ("model", other)]))

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that it knows."""
        return classes_of(self.model)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from."""
        return dict(self.manifest.provenance or {})

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        return columns_of(self.model)

    def how_to_read(self, args: argparse.Namespace, labels: str, *, test: str | None = None) -> dict[str, Any]:
        """Return how to read the data of a command for it, or data to test with beside them: as it was trained."""
        path, beside = (args.data, False) if test is None else (test, True)
        return reading_for_model(args, path, self.model, self.provenance, labels=labels, beside=beside)

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
    from votron.saving.models import load_with_manifest

    if path == data == "-":
        raise UsageError("MODEL and DATA cannot both be standard input.")
    return Saved(path, *load_with_manifest(**model_source(path)))


def model_source(path: str) -> dict[str, Any]:
    """Return where a model is read from, and what to call that in errors, as functions of `votron.saving` take it."""
    return {"path": sys.stdin.buffer, "name": "standard input"} if path == "-" else {"path": path}
