"""Data as commands read them: examples, batches, encoders, and what a model file says of its data."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from votron import __version__
from votron._util.text import counted, percent, utc_now
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.data.options import KEPT, RECORDED, ReadOptions
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron._util.types import Array, Index, RowsLike
    from votron.data import Examples

_BATCH_BYTES = 4 << 20
"""A batch of rows to label: short rows take a hundred times their bytes until their labels are written."""
_RARE = 0.1
"""Share of the rows below which a class may be rare."""
_FEW_VALUES, _MANY = 40, 100
"""Rows, or different values, from which columns and labels are remarked upon."""
# -- examples ---------------------------------------------------------------------------------------------------------


def reading_options(reading: Mapping[str, Any], table: Mapping[str, Any] | None = None) -> Params:
    """Return what was typed about data as `votron.data.read_examples` takes it."""
    found = dict(reading)
    if "na_values" in found or "only_na_values" in found:
        found = {"na_values": (), "only_na_values": False} | found
    if found.get("missing") in STRATEGIES:
        found["missing"] = "keep"
    texts = [name for option in ("discrete", "text") for name in (table or {}).get(option, ())]
    return found | ({"as_text": tuple(texts)} if texts else {})


def as_in_training(before: Mapping[str, Any]) -> Params:
    """Return the options of reading that hold as in training, by what a model file says, which may be anything."""
    found = {}
    for name in KEPT:
        with contextlib.suppress(VotronError, TypeError):
            if before.get(name) is not None and ReadOptions(**{name: before[name]}):
                found[name] = before[name]
    return found


def read_labelled(path: str, **options: Any) -> tuple[Examples, Array]:
    """Return the examples of a file, and their labels."""
    from votron.data import read_examples

    examples = read_examples(path, **options)
    if examples.y is None:
        raise DataError(f"{base_name(path)} has no labels: say where they are with --label.")
    return examples, examples.y


def read_batches(path: str, **options: Any) -> Any:
    """Return the examples of a file in batches."""
    from votron.data import open_batches

    return open_batches(path, **{"batch_bytes": _BATCH_BYTES, **options})


def hold_out(y: Array, fraction: float, seed: int) -> tuple[Index, Index]:
    """Return the rows to train on and those to test with, with the same share of each class if it has enough rows."""
    from votron.estimators import held_out_split

    n_test = int(np.ceil(fraction * len(y)))
    if n_test >= len(y):
        raise VotronError(f"--test {fraction:g} leaves no rows to train on, of {len(y)}.")
    return held_out_split(y, n_test, seed, every_class_trained=False)


def left_out(dropped: int, unlabelled: int) -> str:
    """Return in words how many rows were left out, and how many of them for lack of a label."""
    words = [counted(unlabelled, "row") + " without a label"] if unlabelled else []
    words += [counted(dropped - unlabelled, "row") + " with missing values"] if dropped > unlabelled else []
    return ", ".join(words)


def base_name(path: str) -> str:
    """Return what to call data, without the folder."""
    return "standard input" if path == "-" else Path(path).name or path


def labels_like(names: list[str], y: Array, option: str) -> list[Any]:
    """Return labels that were typed in the type of those in the data."""
    if y.dtype.kind == "U":
        return names
    truth = {"true": True, "1": True, "false": False, "0": False}
    try:
        if y.dtype.kind == "b":
            return [truth[name.lower()] for name in names]
        numbers = [float(name) for name in names]
        return [value if (value := y.dtype.type(number).item()) == number else number for number in numbers]
    except (KeyError, ValueError, OverflowError):
        kind = "true and false" if y.dtype.kind == "b" else "numbers"
        raise click.UsageError(
            f"{option} must name {kind}, as the labels of the data are. Got {','.join(names)!r} instead."
        ) from None


# -- encoders ---------------------------------------------------------------------------------------------------------


def behind_encoder(encoder: Estimator, estimator: Estimator) -> Any:
    """Return the classifier, after an encoder if there is one."""
    from votron.estimators import ClassifierPipeline

    return estimator if encoder is None else ClassifierPipeline([("encoder", encoder), ("model", estimator)])


def encoder_for(name: str, data: Examples, X: RowsLike, reading: Mapping[str, Any], table: Mapping[str, Any]) -> Any:
    """Return what turns rows into vectors for an estimator, not fitted; None where nothing needs to."""
    from votron.estimators import ESTIMATORS, pipelines

    check_options_of_tables(X, table)
    return pipelines.encoder_for(X, ESTIMATORS[name], **typed_encoding(reading, table, data.label))


def check_options_of_tables(X: RowsLike, table: Mapping[str, Any]) -> None:
    """Refuse options that are for columns of tables, where there are none."""
    from scipy.sparse import issparse

    if hasattr(X, "columns"):
        return
    for option in ("discrete", "probabilities", "text"):
        if option in table:
            raise click.UsageError(f"--{option} is for columns of tables. The data are numbers without names.")
    numeric = table.get("numeric", "keep")
    if issparse(X) and numeric not in ("keep", "maxabs"):
        raise click.UsageError(f"--numeric must be keep or maxabs for sparse data. Got {numeric!r} instead.")


def typed_encoding(reading: Mapping[str, Any], table: Mapping[str, Any], label: str | None) -> Params:
    """Return how columns become features, as it was typed: None is what suits the classifier."""
    return {
        "numeric": table.get("numeric"),
        "discrete": [name for name in table.get("discrete", ()) if name != label],  # the label may be named as well
        "probabilities": list(table.get("probabilities", ())),
        "text": list(table.get("text", ())),
        "text_features": table.get("text_features"),
        "dates": table.get("dates"),
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


def rare_class(y: Array) -> list[str]:
    """Return a remark on the rarest class, if it is rare, with the remedy."""
    values, rows = np.unique(y, return_counts=True)
    share = float(rows.min()) / len(y)
    if len(values) < 2 or share >= min(_RARE, 0.5 / len(values)):
        return []
    return [
        f"Only {percent(share)} of the rows are {str(values[rows.argmin()])!r}, so the error says little about them: "
        "--class-weight balanced gives them more weight."
    ]


def remarks_on_columns(X: RowsLike) -> list[str]:
    """Return remarks on columns that number the rows."""
    from votron._util.frames import floats_of, kind_of

    if not hasattr(X, "columns") or len(X) < _MANY:
        return []
    remarks = []
    for name in X.columns:
        if kind_of(X[name]) == "number":
            values = floats_of(X[name])
            if (np.diff(values) > 0).all() and (values == np.rint(values)).all():
                remarks.append(f"The column {name!r} numbers the rows: --drop {shlex.quote(name)} leaves it out.")
    return remarks


# -- provenance -------------------------------------------------------------------------------------------------------


def provenance_of(
    path: str, data: Examples, rows: int, command: str, reading: Mapping[str, Any], table: Mapping[str, Any]
) -> Params:
    """Return how a model was made: the command, when, with which versions, from which data, and how they were read."""
    found = {name: getattr(data, name, None) for name in KEPT}  # as it was found to be
    read = {**found, **reading_options(reading, table)}
    if reading.get("missing") in STRATEGIES:
        read["missing"] = reading["missing"]
    digest = file_digest(path)
    return {
        "votron": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "created": utc_now(),
        "command": command,
        "reading": {
            name: list(value) if isinstance(value := read[name], tuple) else value
            for name in RECORDED
            if read.get(name) is not None
        },
        "data": {"name": base_name(path), "format": data.format, "rows": rows}
        | ({} if digest is None else {"sha256": digest}),
        "label": data.label,
    }


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None for what is not a file."""
    if not os.path.isfile(path):
        return None
    about = os.stat(path)
    return _digest_of(path, about.st_size, about.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _digest_of(path: str, size: int, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing_by_column(X: RowsLike) -> dict[str, int]:
    """Return how many rows lack each column that some lack."""
    from votron._util.frames import empty_cells

    counts = {name: int(np.count_nonzero(empty_cells(X[name]))) for name in getattr(X, "columns", ())}
    return {name: n for name, n in counts.items() if n}


def some_missing(X: RowsLike) -> NDArray[np.bool_]:
    """Tell which rows of a table lack a value."""
    from votron._util.frames import empty_cells

    return np.asarray(np.any([empty_cells(X[name]) for name in X.columns], axis=0))
