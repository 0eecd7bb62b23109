"""Weights of rows, as a column of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from votron._util.text import counted, did_you_mean
from votron._util.types import Array, Estimator, Floats, Params
from votron.cli.reading import base_name, labels_like
from votron.errors import DataError

if TYPE_CHECKING:
    from votron._util.types import Array, Floats, Index
    from votron.data import Examples


def by_label(params: Params, y: Array) -> Params:
    """Return parameters with the labels of the data where numbers were typed by label."""
    found, known = dict(params), np.unique(y).tolist()
    for name, value in params.items():
        if isinstance(value, dict):
            option = f"--{name.replace('_', '-')}"
            labels = labels_like(list(value), y, option)
            for label in labels:
                if label not in known:
                    meant = did_you_mean(label, known)
                    raise click.UsageError(f"{option} must name labels of the data. Got {label!r} instead.{meant}")
            found[name] = dict(zip(labels, value.values(), strict=True))
    return found


@dataclass
class WeightColumn:
    """A column with the weights of rows, and what was seen of it."""

    name: str
    least: float = math.inf
    largest: float = 0.0
    left_out: int = 0

    def taken(self, data: Examples) -> tuple[Any, Floats]:
        """Return a table without the column, and its weights."""
        source = base_name(data.source)
        if data.columns is None:
            raise click.UsageError("--sample-weight is for columns of tables. The data are numbers without names.")
        if self.name not in data.columns:
            meant = did_you_mean(self.name, data.columns)
            raise click.UsageError(f"--sample-weight: {source} has no column {self.name!r}.{meant}")
        try:
            weights = np.array(data.X[self.name].to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{source}, column {self.name!r}: weights must be numbers.") from None
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(wrong):
            raise DataError(
                f"{source}, {data.place(int(wrong[0]))}: the weight in column {self.name!r} must be a number of 0 or "
                f"more. Got {weights[wrong[0]]:g} instead; write 0 for a row that shall not count."
            )
        return data.X.drop(self.name), weights

    def beside(self, reading: Mapping[str, Any]) -> Params:
        """Return which columns to read for a model, this one among them."""
        if "columns" not in reading:
            raise click.UsageError("--sample-weight is for columns of tables. The model takes numbers without names.")
        return {"columns": {**reading["columns"], self.name: "number"}}

    def split(self, data: Examples) -> tuple[Any, Index, Floats]:
        """Return the rows to train on, which of the data they are, and their weights: those of 0 are left out."""
        X, weights = self.taken(data)
        kept = np.flatnonzero(weights)
        self.left_out += len(weights) - len(kept)
        if len(kept):
            self.least = min(self.least, float(weights[kept].min()))
            self.largest = max(self.largest, float(weights.max()))
        return (X, kept, weights) if len(kept) == len(weights) else (X[kept], kept, weights[kept])

    def join(self, other: WeightColumn) -> None:
        """Add what was seen of the column in another part of the data."""
        self.least, self.largest = min(self.least, other.least), max(self.largest, other.largest)
        self.left_out += other.left_out

    def check_some(self) -> None:
        """Refuse weights that are all 0."""
        if not self.largest:
            raise DataError(f"The weights in column {self.name!r} must not all be zero: no row is left to train on.")

    @property
    def facts(self) -> Params:
        """What the model file says of it."""
        return {"column": self.name, "least": self.least, "largest": self.largest, "left_out": self.left_out}

    @property
    def words(self) -> str:
        """What the summary says of it."""
        left_out = f", {counted(self.left_out, 'row')} of weight 0 left out" if self.left_out else ""
        return f"of rows by {self.name} ({self.least:g} to {self.largest:g}{left_out})"


def weight_column(name: str | None, estimator: Estimator) -> WeightColumn | None:
    """Return the column of weights, if one was named and the estimator takes weights."""
    from sklearn.utils.validation import has_fit_parameter

    if name is None:
        return None
    if not has_fit_parameter(estimator, "sample_weight"):
        raise click.UsageError(f"--sample-weight is not for {type(estimator).__name__}, which takes no weights.")
    return WeightColumn(name)
