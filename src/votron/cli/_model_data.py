"""Data for a model, read as those that it was trained on were read.

What holds for all commands: what is typed goes first, then what the model knows (its columns, or how many features it
takes, and of which kind its labels are), then what its file says of the reading in training. Files may come from
strangers, and users of Python may keep what they like as provenance, so nothing there is taken for what it should be.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron.cli._encoding import classifier_of, columns_of
from votron.cli._loading import base_name, batches, reading
from votron.cli._measure import Confusion, clopper_pearson
from votron.data.formats import format_named, format_of_suffix
from votron.data.options import OLD_NAMES, options_of
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError


def section(provenance: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a part of what a model file says of its training; nothing where it is no such part."""
    found = provenance.get(name)
    return dict(found) if isinstance(found, dict) else {}


def classes_of(model: Any) -> NDArray[Any]:
    """Return the labels that a model knows."""
    return np.asarray(classifier_of(model).classes_)


def reading_for_model(
    args: argparse.Namespace,
    path: str,
    model: Any,
    provenance: Mapping[str, Any],
    *,
    labels: str = "required",
    beside: bool = False,
) -> dict[str, Any]:
    """Return how to read data for a model: as it was trained, where nothing else was typed.

    What ``--part`` and ``--label`` say is about the main data of a command, and not about others ``beside`` them, as
    those of ``--test`` are.
    """
    how = reading(args)
    before = section(provenance, "reading")
    if getattr(args, "missing", None) is None:
        how["missing"] = "keep" if before.get("missing") in tuple(STRATEGIES) else "refuse"  # it may be a list
    before = {OLD_NAMES.get(name, name): value for name, value in before.items()}
    for name, option in options_of().items():
        if option.kept and name not in how and option.fits(before.get(name)):
            how[name] = tuple(before[name]) if isinstance(before[name], list) else before[name]
    columns = columns_of(model)
    if beside:
        how.pop("part", None)
    how |= {"columns": columns} if columns is not None else {"n_features": int(model.n_features_in_)}
    how |= {"labels": labels, "label_kind": label_kind(classes_of(model))}
    label = _label(args, path, provenance, labels, named=columns is not None, beside=beside)
    return {name: value for name, value in (how | {"label": label}).items() if value is not None}


def _label(
    args: argparse.Namespace, path: str, provenance: Mapping[str, Any], labels: str, *, named: bool, beside: bool
) -> str | None:
    """Return where labels are: as typed, or in what was called so in training, where such names mean something."""
    typed: str | None = args.label
    before = provenance.get("label")
    trained_on = _label_by(section(provenance, "data").get("format"))
    now = format_of_suffix(Path(path).suffix.lower())
    asked = None if beside or args.format is None else format_named(args.format)
    named = named or "key" in {each.label_by for each in (now, asked) if each is not None}
    if typed is not None and not (beside and (named or trained_on == "file")):
        return typed
    by_number = trained_on == "number" and labels == "required"  # a column, which rows to predict do not have
    return before if isinstance(before, str) and before and (named or by_number) else None


def _label_by(format: Any) -> str | None:
    """Return what a label is in data of a format, as a model file names it."""
    found = format_named(format) if isinstance(format, str) else None
    return None if found is None else found.label_by


def label_kind(classes: NDArray[Any]) -> str:
    """Return of which kind the labels of a model are, as `votron.data.read_examples` takes it."""
    return {"U": "text", "b": "truth"}.get(classes.dtype.kind, "number")


# -- errors on such data -----------------------------------------------------------------------------------------------


def labelled(path: str, how: dict[str, Any], remark: Callable[..., None] | None = None) -> Iterator[Any]:
    """Yield features and labels, batch by batch."""
    for batch in batches(path, **how):
        if remark is not None:
            remark(batch.notes)
        if batch.y is None:
            raise DataError(f"{base_name(path)} has no labels to compare with: say where they are with --label.")
        yield batch.X, batch.y


def error_on_test(args: argparse.Namespace, model: Any, provenance: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the errors on the data of --test."""
    found = Confusion()
    how = reading_for_model(args, args.test, model, provenance, beside=True) | more
    for X, y in labelled(args.test, how):
        found.add(y, model.predict(X))
    return {"on": "test", **error_of(found)}


def error_of(found: Confusion) -> dict[str, Any]:
    """Return the error on rows that had no part in training, with its interval."""
    interval = list(clopper_pearson(found.wrong, found.n))
    return {"wrong": found.wrong, "rows": found.n, "error": found.error, "interval": interval}
