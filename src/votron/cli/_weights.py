"""Weights and margins as commands take them: by label, such as ``yes=5,no=1``, and as a column of the data."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import counted, did_you_mean, joined
from votron.cli._output import printable
from votron.cli._parser import UsageError, as_typed, option_of
from votron.cli._reading import base_name, labels_like
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples

BY_LABEL = ("class_weight", "margin")
"""Parameters that may differ by label."""
_FILL_IN = "write one into the file, 0 for a row that shall not count"


# -- by label ---------------------------------------------------------------------------------------------------------


def read_by_label(text: str) -> dict[str, float]:
    """Return numbers by label, as they are typed: ``LABEL=X,...``, with quotes where a label has a comma.

    Examples
    --------
    >>> read_by_label("yes=5,no=0.5"), read_by_label('a=b=2,"x, y"=1')
    ({'yes': 5.0, 'no': 0.5}, {'a=b': 2.0, 'x, y': 1.0})
    """
    found: dict[str, float] = {}
    for entry in next(csv.reader([text]), []):
        label, equals, number = entry.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not equals or not 0 <= value < math.inf:
            raise argparse.ArgumentTypeError(
                f"must give each label a number of 0 or more, as in yes=5,no=0.5. Got {entry!r} instead."
            )
        if label in found:
            raise argparse.ArgumentTypeError(f"must name a label once. Got {label!r} twice instead.")
        found[label] = value
    return found


def settle_labels(args: argparse.Namespace, estimator: Any, y: NDArray[Any]) -> None:
    """Have what was typed by label named by the labels of the data, in the estimator and among the arguments."""
    for name in BY_LABEL:
        typed = getattr(args, name, None)
        if isinstance(typed, dict):
            by_label = dict(zip(_labels(list(typed), y, option_of(name)), typed.values(), strict=True))
            setattr(args, name, by_label)
            estimator.set_params(**{name: by_label})


def _labels(names: list[str], y: NDArray[Any], option: str) -> list[Any]:
    """Return the labels of the data that were typed; refuse others."""
    labels, known = labels_like(names, y, f"{option} must name"), np.unique(y).tolist()
    for name, label in zip(names, labels, strict=True):
        if label not in known:
            raise UsageError(
                f"{option} must name labels of the data. Got {name!r}, which is none, instead."
                f"{did_you_mean(name, known)}"
            )
    return labels


# -- as a column ------------------------------------------------------------------------------------------------------


@dataclass
class WeightColumn:
    """A column with the weights of rows, and what was seen of it."""

    name: str
    least: float = math.inf
    largest: float = 0.0
    left_out: int = 0

    def taken(self, data: Examples) -> tuple[Any, NDArray[np.float64]]:
        """Return a table without the column, and its weights; refuse what is no weight."""
        X, source = data.X, base_name(data.source)
        if data.columns is None:
            raise UsageError(
                "--sample-weight is for columns of tables. Got it with data that are numbers without names."
            )
        names = data.columns
        if self.name not in names:
            raise UsageError(
                f"--sample-weight must be a column of {source}, beside the labels. Got {self.name!r} instead."
                f"{did_you_mean(self.name, names)}"
            )
        if names == [self.name]:
            raise DataError(f"There must be a column of features in {source} beside {self.name!r}.")
        try:
            weights = np.array(X[self.name].to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"The weights in column {self.name!r} of {source} must be numbers. Got texts.") from None
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(wrong):
            first = weights[wrong[0]]
            got, helps = f"{first:g}", ""
            if math.isnan(first):
                got, helps = "none", f": {_FILL_IN}, or leave out rows with missing values with --missing drop"
            raise DataError(
                f"The weights in column {self.name!r} of {source} must be numbers of 0 or more. "
                f"Got {got} in {data.place(int(wrong[0]))} instead{helps}."
            )
        return X.drop(self.name), weights

    def beside(self, reading: Mapping[str, Any]) -> dict[str, Any]:
        """Return which columns to read for a model, this one among them."""
        if "columns" not in reading:
            raise UsageError("--sample-weight is for columns of tables. Got it with a model of numbers without names.")
        return {"columns": {**reading["columns"], self.name: "number"}}

    def split(self, data: Examples) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows to train on, which of the data they are, and their weights: those of 0 are left out."""
        X, weights = self.taken(data)
        kept = np.flatnonzero(weights)
        self.left_out += len(weights) - len(kept)
        if len(kept):
            self.least = min(self.least, float(weights[kept].min()))
            self.largest = max(self.largest, float(weights.max()))
        return (X, kept, weights) if len(kept) == len(weights) else (X[kept], kept, weights[kept])

    def join(self, other: WeightColumn) -> None:
        """Take in what was seen of the column in another part of the data."""
        self.least, self.largest = min(self.least, other.least), max(self.largest, other.largest)
        self.left_out += other.left_out

    def check_some(self) -> None:
        """Refuse weights that were all 0."""
        if not self.largest:
            raise DataError(
                f"The weights in column {self.name!r} must not all be zero, since no row is left to train on."
            )

    @property
    def facts(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"column": self.name, "least": self.least, "largest": self.largest, "left_out": self.left_out}

    @property
    def words(self) -> str:
        """What the summary says of it."""
        left_out = f", {counted(self.left_out, 'row')} of weight 0 left out" if self.left_out else ""
        return f"of rows by {printable(self.name)} ({self.least:g} to {self.largest:g}{left_out})"


def weight_column(args: argparse.Namespace, estimator: Any) -> WeightColumn | None:
    """Return the column that was named, if the estimator takes weights of rows."""
    from sklearn.utils.validation import has_fit_parameter

    from votron.estimators import ESTIMATORS

    if args.sample_weight is None:
        return None
    if not has_fit_parameter(estimator, "sample_weight"):
        able = [name for name, cls in ESTIMATORS.items() if has_fit_parameter(cls, "sample_weight")]
        raise UsageError(f"--sample-weight is for --estimator {joined(able)}, and not for {args.estimator}.")
    return WeightColumn(args.sample_weight)


def without_weight_0(data: Examples, before: Mapping[str, Any]) -> tuple[Any, NDArray[np.int64]]:
    """Return the rows that training had, by what a model file says of its column of weights, and which they are."""
    column = before.get("column")
    if not isinstance(column, str) or not before.get("left_out"):
        return data.X, np.arange(data.n_rows)
    return WeightColumn(column).split(data)[:2]


def about_holes(args: argparse.Namespace) -> dict[str, str]:
    """Return what errors say of missing values in training: weights, if there is a column of them, are not filled in.

    Examples
    --------
    >>> about_holes(argparse.Namespace(sample_weight=None))["missing values"]
    'Leave such rows out with --missing drop, or fill in features with --missing mean, median or most-frequent.'
    """
    fill_in = "fill in features with --missing mean, median or most-frequent"
    if getattr(args, "dask", None):  # workers have a part of the rows each
        fill_in = "fill in the parts beforehand"
    words = f"Leave such rows out with --missing drop, or {fill_in}"
    weights = "" if args.sample_weight is None else f"; where a weight in {args.sample_weight!r} is missing, {_FILL_IN}"
    return {"missing values": f"{words}{weights}."}


def weights_in_words(rows: str, estimator: Any) -> dict[str, str]:
    """Return which weights a model was trained with, as an entry of a summary; nothing if there were none."""
    class_weight, margin = getattr(estimator, "class_weight", None), getattr(estimator, "margin", None)
    found = {}
    of_classes = "" if class_weight is None else f"of classes {_in_words(class_weight)}"
    if rows or of_classes:
        found["weights"] = ", ".join(filter(None, [rows, of_classes]))
    if isinstance(margin, dict):
        found["margins"] = _in_words(margin)
    return found


def _in_words(values: Any) -> str:
    return values if isinstance(values, str) else printable(as_typed(values))


# -- errors by weight -------------------------------------------------------------------------------------------------


@dataclass
class WeightedError:
    """The share of the weights of rows that is predicted wrong, added up batch by batch."""

    column: WeightColumn
    wrong: float = 0.0
    total: float = 0.0

    def add(self, wrong: NDArray[np.bool_], weights: NDArray[np.float64]) -> None:
        """Add up a batch."""
        self.wrong += float(weights[wrong].sum())
        self.total += float(weights.sum())

    @property
    def error(self) -> float:
        """The share."""
        if not self.total:
            raise VotronError(f"The weights in column {self.column.name!r} must not all be zero.")
        return self.wrong / self.total
