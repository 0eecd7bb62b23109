"""Data as commands read them: labelled rows, weights, encoders, and remarks on what was read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from votron._util.text import counted, did_you_mean, left_out, percent
from votron._util.types import Array, Estimator, Floats, Index, Label, Params, RowsLike
from votron.data.examples import convert_labels
from votron.data.options import STRATEGIES
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.cli.output import Output
    from votron.data import Examples
    from votron.data.files import ExampleBatches

_BATCH_BYTES = 4 << 20
"""A batch of rows to label: short rows take a hundred times their bytes until their labels are written."""
_RARE = 0.1
"""Share of the rows below which a class may be rare."""
_FEW_VALUES, _MANY = 40, 100
"""Rows, or different values, from which columns and labels are remarked upon."""


# -- examples ---------------------------------------------------------------------------------------------------------


def reading_options(reading: Params, table: Params | None = None, label: str | None = None) -> Params:
    """Return what was typed about data as `votron.data.read_examples` takes it."""
    found = dict(reading)
    if "na_values" in found or "only_na_values" in found:
        found = {"na_values": (), "only_na_values": False} | found
    if found.get("missing") in STRATEGIES:
        found["missing"] = "keep"
    texts = [name for option in ("discrete", "text") for name in (table or {}).get(option, ())]
    if texts:
        found |= {"as_text": tuple(texts), "optional": "as_text"}  # `check_options_of_tables` names what was typed
    return found | ({} if label is None else {"label": label})


def read_labelled(path: str, options: Params) -> tuple[Examples, Array]:
    """Return the examples of a file, and their labels."""
    from votron.data import read_examples

    examples = read_examples(path, **options)
    if examples.y is None:
        raise DataError(f"{base_name(path)} has no labels: say where they are with --label.")
    return examples, examples.y


def read_batches(path: str, options: Params) -> ExampleBatches:
    """Return the examples of a file in batches."""
    from votron.data import open_batches

    return open_batches(path, **{"batch_bytes": _BATCH_BYTES, **options})


def base_name(path: str) -> str:
    """Return what to call data, without the folder."""
    return "standard input" if path == "-" else Path(path).name or path


def empty_rows(X: RowsLike) -> Array:
    """Tell which rows of a table lack a value."""
    from votron._util.frames import empty_cells

    return np.asarray(np.any([empty_cells(X[name]) for name in X.columns], axis=0))


def missing_by_column(X: RowsLike) -> dict[str, int]:
    """Return how many rows lack each column that some lack."""
    from votron._util.frames import empty_cells

    counts = {name: int(np.count_nonzero(empty_cells(X[name]))) for name in getattr(X, "columns", ())}
    return {name: n for name, n in counts.items() if n}


# -- rows to train on -------------------------------------------------------------------------------------------------


@dataclass
class WeightColumn:
    """The column of --sample-weight, and how many rows of weight 0 it left out."""

    name: str
    left_out: int = 0

    def taken(self, data: Examples) -> tuple[RowsLike, Floats]:
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
                f"more. Got {weights[wrong[0]]:g} instead."
            )
        return data.X.drop(self.name), weights

    def read_beside(self, options: Params) -> Params:
        """Return options of reading with this column among those of a model."""
        if "columns" not in options:
            raise click.UsageError("--sample-weight is for columns of tables. The model takes numbers without names.")
        return {**options, "columns": {**options["columns"], self.name: "number"}}

    def check_some(self, n: int) -> None:
        """Refuse weights that are all 0."""
        if not n:
            raise DataError(f"The weights in column {self.name!r} must not all be zero: no row is left to train on.")

    @property
    def facts(self) -> Params:
        """Its entry in the model file."""
        return {"column": self.name, "left_out": self.left_out}

    @property
    def words(self) -> str:
        """Its part in the summary."""
        left_out = f" ({counted(self.left_out, 'row')} of weight 0 left out)" if self.left_out else ""
        return f"of rows by {self.name}{left_out}"


def weight_column(name: str | None, estimator: Estimator = None) -> WeightColumn | None:
    """Return the column of weights, if one was named and the estimator takes weights."""
    from sklearn.utils.validation import has_fit_parameter

    if name is not None and estimator is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise click.UsageError(f"--sample-weight is not for {type(estimator).__name__}, which takes no weights.")
    return None if name is None else WeightColumn(name)


@dataclass(frozen=True)
class FileRows:
    """Rows to train on: those of weight 0 are left out."""

    examples: Examples
    """All that was read."""
    X: RowsLike
    y: Array
    places: Index
    """The positions of the rows among the examples."""
    weights: Floats | None = None
    names: Array | None = None

    @property
    def numbers(self) -> Index:
        """The row of the file, from 1, of each."""
        return self.examples.row_numbers[self.places]

    def take(self, rows: Index) -> FileRows:
        """Return some of the rows."""
        weights, names = (None if each is None else each[rows] for each in (self.weights, self.names))
        return replace(self, X=self.X[rows], y=self.y[rows], places=self.places[rows], weights=weights, names=names)


def labelled_rows(examples: Examples, y: Array, column: WeightColumn | None) -> FileRows:
    """Return the rows of examples, with their weights if there is a column of them."""
    places = np.arange(examples.n_rows)
    if column is None:
        return FileRows(examples, examples.X, y, places)
    X, weights = column.taken(examples)
    found, kept = FileRows(examples, X, y, places, weights), np.flatnonzero(weights)
    column.left_out += len(places) - len(kept)
    return found if len(kept) == len(places) else found.take(kept)


def rows_to_train_on(path: str, options: Params, column: WeightColumn | None, out: Output) -> FileRows:
    """Read labelled rows, and check them."""
    examples, y = read_labelled(path, options)
    out.note(*check_label(y, examples.label, is_table=examples.columns is not None))
    rows = labelled_rows(examples, y, column)
    if column is not None:
        column.check_some(len(rows.y))
    out.note(*examples.notes)
    return rows


def hold_out(y: Array, fraction: float, seed: int) -> tuple[Index, Index]:
    """Return the rows to train on and those to test with, with the same share of each class if it has enough rows."""
    from votron.estimators import held_out_split

    n_test = int(np.ceil(fraction * len(y)))
    if n_test >= len(y):
        raise VotronError(f"--test {fraction:g} leaves no rows to train on, of {len(y)}.")
    return held_out_split(y, n_test, seed, every_class_trained=False)


# -- labels that were typed -------------------------------------------------------------------------------------------


def label_kind(classes: Array) -> str:
    """Return of which kind labels are, as `votron.data.read_examples` takes it."""
    return {"U": "text", "b": "truth"}.get(classes.dtype.kind, "number")


def labels_like(names: Sequence[str], y: Array, option: str) -> list[Label]:
    """Return labels that were typed in the type of those in the data."""
    found: list[Label] = convert_labels(np.array(names), label_kind(y), option).tolist()
    return found


def by_label(params: Params, y: Array) -> Params:
    """Return the parameters that were typed by label, such as yes=5,no=1, with the labels of the data."""
    found, known = {}, np.unique(y).tolist()
    for name, numbers in params.items():
        if not isinstance(numbers, dict):
            continue
        option = f"--{name.replace('_', '-')}"
        labels = labels_like(list(numbers), y, option)
        for label in labels:
            if label not in known:
                meant = did_you_mean(label, known)
                raise click.UsageError(f"{option} must name labels of the data. Got {label!r} instead.{meant}")
        found[name] = dict(zip(labels, numbers.values(), strict=True))
    return found


# -- encoders ---------------------------------------------------------------------------------------------------------


def behind_encoder(encoder: Estimator, estimator: Estimator) -> Estimator:
    """Return the classifier, after an encoder if there is one."""
    from votron.estimators import ClassifierPipeline

    return estimator if encoder is None else ClassifierPipeline([("encoder", encoder), ("model", estimator)])


def encoder_for(name: str, rows: FileRows, reading: Params, table: Params) -> Estimator:
    """Return what turns rows into vectors for an estimator, not fitted; None where nothing needs to."""
    from votron.estimators import ESTIMATORS, pipelines

    check_options_of_tables(rows.X, table)
    return pipelines.encoder_for(rows.X, ESTIMATORS[name], **encoding(reading, table, rows.examples.label))


def check_options_of_tables(X: RowsLike, table: Params) -> None:
    """Refuse options that are for columns of tables, where there are none."""
    from scipy.sparse import issparse

    if hasattr(X, "columns"):
        return
    for option in ("discrete", "probabilities", "text", "text_features", "dates"):
        if option in table:
            name = option.replace("_", "-")
            raise click.UsageError(f"--{name} is for columns of tables. The data are numbers without names.")
    numeric = table.get("numeric", "keep")
    if issparse(X) and numeric not in ("keep", "maxabs"):
        raise click.UsageError(f"--numeric must be keep or maxabs for sparse data. Got {numeric!r} instead.")


def encoding(reading: Params, table: Params, label: str | None) -> Params:
    """Return how columns become features, as it was typed: None is what suits the classifier."""
    return {
        **dict.fromkeys(("numeric", "text_features", "dates")),
        **{"probabilities": [], "text": []},
        **{name: list(value) if isinstance(value, tuple) else value for name, value in table.items()},
        "discrete": [name for name in table.get("discrete", ()) if name != label],  # the label may be named as well
        "missing": reading.get("missing", "refuse"),
    }


# -- remarks ----------------------------------------------------------------------------------------------------------


def check_label(y: Array, label: str | None, *, is_table: bool) -> list[str]:
    """Return a remark on labels that look like a quantity; refuse a column of a table that clearly is one."""
    if y.dtype.kind not in "iu" or not len(y):
        return []
    values, rows = np.unique(y, return_counts=True)
    rare = bool(np.quantile(rows, 0.25) < 10)
    if len(values) <= _FEW_VALUES or not (rare or len(values) > _MANY):
        return []
    holds = f"The label{f' {label!r}' if label else ''} holds {len(values):,} different numbers in {len(y):,} rows"
    numbered = values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1
    if is_table and label and rare and len(values) > _MANY and not numbered:
        raise DataError(
            f"{holds}, which looks like a quantity: choose another column, or cut this one into a few classes such as "
            f"low and high. If these numbers are classes, add --discrete {shlex.quote(label)}."
        )
    return [f"{holds}, and each becomes a class. If they are a quantity, cut it into a few classes first."]


def remarks_on(rows: FileRows, *, weighed: bool, dropped: bool = True) -> list[str]:
    """Return remarks on rows left out, columns that number the rows, and a rare class that is not ``weighed``."""
    from votron._util.frames import floats_of, kind_of

    remarks = []
    if dropped and rows.examples.dropped:
        remarks.append(f"Left out: {left_out(rows.examples.dropped, rows.examples.unlabelled)}.")
    for name in rows.X.columns if hasattr(rows.X, "columns") and len(rows.X) >= _MANY else ():
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
