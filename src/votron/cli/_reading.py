"""Data as commands read them: labels, batches and encoders, and what a model file tells of all that."""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import platform
import shlex
from collections.abc import Collection, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron import __version__
from votron._util.text import counted, utc_now
from votron.cli._output import Notes
from votron.cli._parser import UsageError
from votron.cli._read_options import READ_OPTIONS
from votron.data.options import KEPT, RECORDED
from votron.data.vocabulary import STRATEGIES, TRUTH
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples

_BATCH_BYTES = 4 << 20
"""What a batch has to be labelled: short rows take a hundred times their bytes until their labels are written."""
_TABLE_ONLY = ("discrete", "probabilities", "text")
_FEWEST_ROWS = 100
"""Rows from which columns are remarked upon for how many values they have."""
_SHARE_OF_TEXTS = 0.5
"""Different texts from which a column of them is remarked upon: so many as those rows, and this share of all."""


# -- examples ---------------------------------------------------------------------------------------------------------


def typed_reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return how to read data, as `votron.data.read_examples` takes it, from what was typed."""
    typed = {option.name: getattr(args, option.dest, None) for option in READ_OPTIONS}
    if typed["missing"] in STRATEGIES:
        typed["missing"] = "keep"
    typed["label"] = getattr(args, "label", None)
    typed["as_text"] = [*getattr(args, "discrete", ()), *getattr(args, "text", ())]
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in typed.items()}
    said = {name: value for name, value in found.items() if value is not None and value != ()}
    return said | _typed_na_values(said)


def _typed_na_values(said: dict[str, Any]) -> dict[str, Any]:
    """Return what marks missing values: what was typed is added to what does by default, unless it is to stand alone.

    Examples
    --------
    >>> _typed_na_values({"na_values": (".",)})
    {'na_values': ('.',), 'only_na_values': False}
    >>> _typed_na_values({"only_na_values": True})
    {'na_values': (), 'only_na_values': True}
    >>> _typed_na_values({})
    {}
    """
    if "na_values" not in said and "only_na_values" not in said:
        return {}
    return {"na_values": said.get("na_values", ()), "only_na_values": said.get("only_na_values", False)}


def read_labelled(path: str, **options: Any) -> tuple[Examples, NDArray[Any]]:
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


def hold_out(y: NDArray[Any], fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those to test with, in order: of each class the same share, if it has enough.

    Examples
    --------
    >>> kept, tested = hold_out(np.array([0, 1] * 10), 0.2, seed=0)
    >>> len(kept), len(tested)
    (16, 4)
    """
    from votron.estimators import held_out_split

    n_test = int(np.ceil(fraction * len(y)))
    if n_test >= len(y):
        raise VotronError(f"--test {fraction:g} leaves nothing to learn from, of {len(y)} rows.")
    return held_out_split(y, n_test, seed, every_class_trained=False)


def left_out(dropped: int, unlabelled: int) -> str:
    """Return in words how many rows were left out, and how many of them since they have no label.

    Examples
    --------
    >>> left_out(3, 0), left_out(3, 1)
    ('3 rows with missing values', '1 row without a label, 2 rows with missing values')
    """
    words = [counted(unlabelled, "row") + " without a label"] if unlabelled else []
    words += [counted(dropped - unlabelled, "row") + " with missing values"] if dropped > unlabelled else []
    return ", ".join(words)


def tell_left_out(notes: Notes, dropped: int, unlabelled: int) -> None:
    """Say how many rows were left out, if any were."""
    if dropped:
        notes(f"Left out: {left_out(dropped, unlabelled)}.")


def labels_like(names: Sequence[str], y: NDArray[Any], must: str) -> list[Any]:
    """Return labels that were typed, in the type of those that were read, or refuse them: ``must`` begins the sentence.

    Examples
    --------
    >>> labels_like(["true", "0"], np.array([True]), "They must be"), labels_like(["2"], np.array([1]), "They must be")
    ([True, False], [2])
    """
    if y.dtype.kind == "U":
        return list(names)
    truth = y.dtype.kind == "b"
    try:
        found = np.array([TRUTH[name.lower()] if truth else number_typed(name) for name in names])
        labels = found.astype(y.dtype)
    except (KeyError, ValueError, OverflowError):
        what = "true and false" if truth else "numbers"
        raise UsageError(f"{must} {what}, as the labels of the data are. Got {','.join(names)!r} instead.") from None
    return list((labels if np.array_equal(labels, found) else found).tolist())  # a fraction is no whole number


def number_typed(name: str) -> int | float:
    """Return the number that a text is."""
    return int(name) if name.removeprefix("-").isdecimal() else float(name)


def base_name(path: str) -> str:
    """Return what to call data where the place of the file is nobody's business."""
    return "standard input" if path == "-" else Path(path).name or path


# -- encoders ---------------------------------------------------------------------------------------------------------


def make_model(args: argparse.Namespace, estimator: Any, data: Any, X: Any) -> Any:
    """Return the classifier, behind an encoder where the data are a table or options ask for one."""
    return behind_encoder(encoder_for(args, data, X), estimator)


def behind_encoder(encoder: Any, estimator: Any) -> Any:
    """Return the model of an encoder, if there is one, and a classifier."""
    from votron.estimators import ClassifierPipeline

    return estimator if encoder is None else ClassifierPipeline([("encoder", encoder), ("model", estimator)])


def encoder_for(args: argparse.Namespace, data: Any, X: Any) -> Any:
    """Return what turns such rows of the data into vectors, not fitted, or None where nothing needs to."""
    from votron.tables import TableEncoder

    if not hasattr(X, "columns"):
        return matrix_encoder(args, X)
    return TableEncoder(**encoding_of(args, data.label))


def encoding_of(args: argparse.Namespace, label: str | None, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Return how the columns of a table become features, as encoders and scans of streams take it."""
    from votron.estimators import ESTIMATORS, table_options

    options = {name: value for name, value in typed_encoding(args, label).items() if name not in leave_out}
    return table_options(ESTIMATORS[args.estimator], options)


def typed_encoding(args: argparse.Namespace, label: str | None) -> dict[str, Any]:
    """Return how the columns of a table become features, as it was typed: None is what suits the classifier."""
    return {
        "numeric": args.numeric,
        # The label may be named as well, whose numbers are then texts.
        "discrete": [name for name in args.discrete if name != label],
        "probabilities": args.probabilities,
        "text": args.text,
        "text_features": args.text_features,
        "dates": args.dates,
        "missing": args.missing,
    }


def matrix_encoder(args: argparse.Namespace, X: Any) -> Any:
    """Return what scales the numbers of a matrix, where an option asks for it; refuse options of tables."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    for name in _TABLE_ONLY:
        if getattr(args, name):
            raise UsageError(f"--{name} is for columns of tables. Got it with data that are numbers without names.")
    if issparse(X) and args.numeric in ("standard", "minmax"):
        raise UsageError(
            f"--numeric must be keep or maxabs for sparse data, which others would fill. Got {args.numeric!r} instead."
        )
    scalers = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}
    return scalers[args.numeric]() if args.numeric in scalers else None


def _are_dates(column: Any) -> bool:
    from votron._util.frames import objects_of
    from votron.tables.date import order_of

    return order_of(str(value) for value in objects_of(column) if value is not None) is not None


def remarks_on_columns(args: argparse.Namespace, X: Any) -> list[str]:
    """Return what to say of columns of dates, of those whose texts are nearly all different, and of numbers of rows."""
    from votron._util.frames import kind_of

    if not hasattr(X, "columns"):
        return []
    remarks = []
    for name in X.columns:
        kind, typed = kind_of(X[name]), shlex.quote(name)
        if kind == "date" or (kind == "text" and name not in (*args.text, *args.discrete) and _are_dates(X[name])):
            remarks.append(
                f"The column {name!r} holds dates, of which year, month and weekday become features, and the hour "
                f"where there is one: --discrete {typed} takes each date for itself, --drop {typed} leaves it out."
            )
        elif kind == "text" and name not in (*args.text, *args.discrete) and len(X) >= _FEWEST_ROWS:
            n = int(X[name].n_unique())
            if n > max(_FEWEST_ROWS, _SHARE_OF_TEXTS * len(X)):
                remarks.append(
                    f"The column {name!r} has {n:,} different texts in {len(X):,} rows, and each becomes a feature: "
                    f"--text {typed} takes its words, --drop {typed} leaves it out, --discrete {typed} says that it is "
                    "meant."
                )
        elif kind == "number" and name not in args.discrete and _counts_rows(X[name]):
            remarks.append(
                f"The column {name!r} counts up from row to row, as the numbers of rows do, and becomes a feature: "
                f"--drop {typed} leaves it out."
            )
    return remarks


def _counts_rows(column: Any) -> bool:
    """Tell whether a column of numbers has whole ones, each greater than the one before."""
    from votron._util.frames import floats_of

    if len(column) < _FEWEST_ROWS:
        return False
    values = floats_of(column)
    return bool((np.diff(values) > 0).all() and (values == np.rint(values)).all())


# -- provenance -------------------------------------------------------------------------------------------------------


def provenance_of(args: argparse.Namespace, data: Any, rows: int) -> dict[str, Any]:
    """Return which command made a model, when, with which versions, of which data, and how it read them."""
    reading = typed_reading(args)
    reading["missing"] = None if args.missing == "refuse" else args.missing
    reading |= {name: getattr(data, name) for name in KEPT if hasattr(data, name)}  # as it was found to be
    recorded = [name for name in RECORDED if reading.get(name) is not None]
    digest = file_digest(args.data)
    return {
        "votron": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "created": utc_now(),
        "command": args.command_line,
        "reading": {name: list(found) if isinstance(found := reading[name], tuple) else found for name in recorded},
        "data": {"name": base_name(args.data), "format": data.format, "rows": rows}
        | ({} if digest is None else {"sha256": digest}),
        "label": data.label,
    }


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None for what is no file."""
    if not os.path.isfile(path):
        return None
    about = os.stat(path)
    return _digest_of(path, about.st_size, about.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _digest_of(path: str, size: int, changed: int) -> str:
    """Return the SHA-256 of a file that is as large and as old as told: a command may ask for it more than once."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
