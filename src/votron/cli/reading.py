"""DATA as commands take it: labelled rows, their weights, encoders, and remarks on what was read."""

from __future__ import annotations

import hashlib
import os
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from votron._util.text import did_you_mean, left_out, percent
from votron._util.types import Array, Estimator, Floats, Index, Label, Params, RowsLike
from votron.data.examples import convert_labels
from votron.data.options import STRATEGIES
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.cli.output import Output
    from votron.data import Examples
    from votron.data.files import ExampleBatches

_BATCH_BYTES = 4 << 20
"""A batch of rows to label: short rows take a hundred times their bytes until their labels are written."""
_RARE = 0.1
"""Share of the rows below which a class may be rare."""
_FEWEST_ROWS, _MOST_CLASSES = 100, 100
"""Rows from which columns are remarked upon, and different numbers up to which a label is no quantity."""


@dataclass(frozen=True)
class DataArgument:
    """DATA with the options for reading it, and those for turning its columns into features."""

    path: str
    label: str | None = None
    reading: Params = field(default_factory=dict)
    table: Params = field(default_factory=dict)

    @property
    def name(self) -> str:
        return base_name(self.path)

    @property
    def options(self) -> Params:
        """What was typed, as `votron.data.read_examples` takes it."""
        found = dict(self.reading)
        if "na_values" in found or "only_na_values" in found:
            found = {"na_values": (), "only_na_values": False} | found
        if found.get("missing") in STRATEGIES:
            found["missing"] = "keep"
        if found.get("delimiter") == "tab":
            found["delimiter"] = "\t"
        texts = (*self.table.get("discrete", ()), *self.table.get("text", ()))
        return found | ({"as_text": texts} if texts else {}) | ({} if self.label is None else {"label": self.label})

    def encoding(self, label: str | None) -> Params:
        """Return how columns become features, as far as that was typed."""
        typed = {name: list(value) if isinstance(value, tuple) else value for name, value in self.table.items()}
        discrete = [name for name in typed.get("discrete", ()) if name != label]
        return {**typed, "discrete": discrete, "missing": self.reading.get("missing", "refuse")}

    def encoder(self, estimator: Estimator, X: RowsLike, label: str | None) -> Estimator:
        """Return what turns rows into vectors for an estimator, not fitted; None where nothing needs to."""
        from scipy.sparse import issparse

        from votron.estimators import encoder_for

        numeric = self.table.get("numeric", "keep")
        if issparse(X) and numeric not in ("keep", "maxabs"):
            raise click.UsageError(f"--numeric must be keep or maxabs for sparse data. Got {numeric!r} instead.")
        return encoder_for(X, estimator, **self.encoding(label))


def base_name(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name or path


def file_digest(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_labelled(path: str, options: Params) -> Examples:
    from votron.data import read_examples

    examples = read_examples(path, **options)
    if examples.y is None:
        raise DataError(f"{base_name(path)} has no labels: say where they are with --label.")
    return examples


def read_batches(path: str, options: Params) -> ExampleBatches:
    from votron.data import open_batches

    return open_batches(path, **{"batch_bytes": _BATCH_BYTES, **options})


@dataclass(frozen=True)
class FileRows:
    """Labelled rows of a file, with their weights and names if they have any."""

    examples: Examples
    weights: Floats | None = None
    names: Array | None = None

    @property
    def X(self) -> RowsLike:
        return self.examples.X

    @property
    def y(self) -> Array:
        return np.asarray(self.examples.y)

    def take(self, rows: Index) -> FileRows:
        weights, names = (None if each is None else each[rows] for each in (self.weights, self.names))
        return FileRows(self.examples.take(rows), weights, names)

    def split(self, share: float, seed: int) -> tuple[FileRows, FileRows]:
        """Return the rows to train on and those held out, with the same share of each class if it has enough rows."""
        from votron.estimators import held_out_split

        n_held = min(int(np.ceil(share * len(self.y))), len(self.y) - 1)
        kept, held = held_out_split(self.y, n_held, seed, every_class_trained=False)
        return self.take(kept), self.take(held)


def labelled_rows(examples: Examples, column: str | None) -> FileRows:
    """Return the rows of examples; the column of weights is not a feature, and rows of weight 0 are left out."""
    if column is None:
        return FileRows(examples)
    source, columns = base_name(examples.source), examples.columns or []
    if column not in columns:
        raise click.UsageError(f"--sample-weight: {source} has no column {column!r}.{did_you_mean(column, columns)}")
    try:
        weights = np.array(examples.X[column].to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{source}, column {column!r}: weights must be numbers.") from None
    return FileRows(replace(examples, X=examples.X.drop(column)), weights).take(np.flatnonzero(weights))


def rows_to_train_on(data: DataArgument, weights: str | None, out: Output) -> FileRows:
    """Read labelled rows, and check them."""
    examples = read_labelled(data.path, data.options)
    if examples.columns is not None:
        refuse_quantity(np.asarray(examples.y), examples.label)
    out.note(*examples.notes)
    return labelled_rows(examples, weights)


def refuse_quantity(y: Array, label: str | None) -> None:
    """Refuse labels that look like a quantity: many different whole numbers, most of them in a few rows each."""
    values, rows = np.unique(y, return_counts=True)
    if y.dtype.kind not in "iu" or len(values) <= _MOST_CLASSES or np.quantile(rows, 0.25) >= 10:
        return
    if values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1:  # numbered classes
        return
    raise DataError(
        f"The label {label!r} holds {len(values):,} different numbers in {len(y):,} rows, which looks like a quantity: "
        "choose another column, or cut this one into a few classes such as low and high. If these numbers are "
        f"classes, add --discrete {shlex.quote(str(label))}."
    )


def remarks_on(rows: FileRows, *, weighed: bool) -> list[str]:
    """Return remarks on rows left out, columns that number the rows, and a rare class that is not ``weighed``."""
    from votron._util.frames import floats_of, kind_of

    remarks = []
    if rows.examples.dropped:
        remarks.append(f"Left out: {left_out(rows.examples.dropped, rows.examples.unlabelled)}.")
    for name in rows.X.columns if hasattr(rows.X, "columns") and len(rows.X) >= _FEWEST_ROWS else ():
        if kind_of(rows.X[name]) == "number":
            values = floats_of(rows.X[name])
            if (np.diff(values) > 0).all() and (values == np.rint(values)).all():
                remarks.append(f"The column {name!r} numbers the rows: --drop {shlex.quote(name)} leaves it out.")
    labels, counts = np.unique(rows.y, return_counts=True)
    share = float(counts.min()) / len(rows.y)
    if not weighed and len(labels) > 1 and share < min(_RARE, 0.5 / len(labels)):
        remarks.append(
            f"Only {percent(share)} of the rows are {str(labels[counts.argmin()])!r}, so the error says little about "
            "them: --class-weight balanced gives them more weight."
        )
    return remarks


def label_kind(classes: Array) -> str:
    """Return of which kind labels are, as `votron.data.read_examples` takes it."""
    return {"U": "text", "b": "truth"}.get(classes.dtype.kind, "number")


def by_label(params: Params, y: Array) -> Params:
    """Return the parameters that were typed by label, such as yes=5,no=1, with the labels of the data."""
    found, known = {}, np.unique(y).tolist()
    for name, numbers in params.items():
        if not isinstance(numbers, dict):
            continue
        option = f"--{name.replace('_', '-')}"
        labels: list[Label] = convert_labels(np.array(list(numbers)), label_kind(y), option).tolist()
        for label in labels:
            if label not in known:
                meant = did_you_mean(label, known)
                raise click.UsageError(f"{option} must name labels of the data. Got {label!r} instead.{meant}")
        found[name] = dict(zip(labels, numbers.values(), strict=True))
    return found


def behind_encoder(encoder: Estimator, estimator: Estimator) -> Estimator:
    from votron.estimators import ClassifierPipeline

    return estimator if encoder is None else ClassifierPipeline([("encoder", encoder), ("model", estimator)])
