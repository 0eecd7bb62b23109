"""Model files as commands take them, and data for a model, read as its training data were.

What is typed goes first, then what the model knows (its columns, or the number of its features), then what its file
says of the reading in training.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from votron._util.frames import columns_of_words, plain_labels
from votron._util.pipelines import classifier_of, steps_before
from votron._util.text import counted, first_of, rounded_bytes
from votron._util.types import Array, Estimator, Label, Params, RowsLike
from votron.cli.output import Notes
from votron.cli.reading import (
    as_in_training,
    base_name,
    file_digest,
    hold_out,
    missing_by_column,
    read_batches,
    read_labelled,
    reading_options,
)
from votron.data.formats import KNOWN_SETS
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron._util.types import Array, Index
    from votron.data import Examples
    from votron.saving import Manifest

_LARGE = 50_000_000
"""Bytes of a model that are remarked upon."""


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, and what the file says of it."""

    path: str
    model: Estimator
    manifest: Manifest
    seen: Params = field(default_factory=dict)
    """Values that training had not, and missing ones, in the rows that went through."""

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    @property
    def classes(self) -> Array:
        """Its classes."""
        return plain_labels(self.estimator.classes_)

    @property
    def provenance(self) -> Params:
        """How it was made, as its file says."""
        return dict(self.manifest.provenance or {})

    def said(self, name: str) -> Params:
        """Return a section of the provenance; files from strangers may hold anything there."""
        found = self.provenance.get(name)
        return dict(found) if isinstance(found, dict) else {}

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        return columns_of(self.model)

    def with_estimator(self, other: Any) -> SavedModel:
        """Return the same with another classifier after the encoder."""
        if not hasattr(self.model, "steps"):
            return replace(self, model=other)
        return replace(self, model=type(self.model)([*self.model.steps[:-1], ("model", other)]))

    def reading(
        self, path: str, label: str | None, typed: Mapping[str, Any], *, labels: str = "required", beside: bool = False
    ) -> Params:
        """Return how to read data for it; ``beside`` other data, ``--part`` and ``--label`` are about those."""
        return reading_for(self.model, self.provenance, path, label, typed, labels=labels, beside=beside)

    def prepared(self, X: RowsLike) -> Any:
        """Return rows as the model takes them: tables, or numbers where it knows no names."""
        if self.columns is None and hasattr(X, "columns"):
            for name in columns_of_words(X):
                raise DataError(f"{self.path!r} was trained on numbers without names. The column {name!r} holds texts.")
            return X.to_numpy()
        if self.columns is not None and not hasattr(X, "columns"):
            named = first_of(list(map(repr, self.columns)), 5)
            raise DataError(f"{self.path!r} takes tables with the columns {named}. Got numbers without names instead.")
        return X

    def features(self, X: RowsLike) -> Any:
        """Return rows as the classifier itself takes them."""
        X = self.prepared(X)
        if not hasattr(self.model, "steps"):
            return X
        from votron.tables import Unseen, encoder_of

        encoder = encoder_of(self.model)
        if encoder is not None:
            self.seen.setdefault("unseen", Unseen()).update(encoder.unseen(X))
        missing = self.seen.setdefault("missing", {})
        for name, n in missing_by_column(X[list(self.columns)] if self.columns else X).items():
            missing[name] = missing.get(name, 0) + n
        return self.model[:-1].transform(X)

    def remarks(self) -> list[str]:
        """Return remarks on the rows that went through: values that training had not, and missing ones."""
        remarks = list(self.seen["unseen"].sentences()) if "unseen" in self.seen else []
        if missing := self.seen.get("missing"):
            named = ", ".join(f"{name!r} in {counted(n, 'row')}" for name, n in list(missing.items())[:5])
            more = f", and {counted(len(missing) - 5, 'more column')}" if len(missing) > 5 else ""
            remarks.append(f"Missing values were filled in: {named}{more}.")
        return remarks

    def explained(self, X: RowsLike, label: Label, against: Any, *, top: int, name: str) -> Any:
        """Return why the one row X has its score, with rows and features counted from 1 where they have no names."""
        from votron.explanations.features import features_after

        rows = self.features(X)
        names = features_after(steps_before(self.model), X)
        return self.estimator.explain(rows, label, against, top=top, first=1, feature_names=names, names=[name])[0]

    def is_training_data(self, path: str, part: str | None) -> bool:
        """Tell whether data are those of training: a file by its digest, a set by its name and part."""
        trained = self.said("data")
        if path not in KNOWN_SETS:
            return bool(trained.get("sha256")) and file_digest(path) == trained["sha256"]
        return bool(trained.get("name") == path) and (part or "train") == self.said("reading").get("part", "train")


def load_model(
    path: str, data: str | None = None, *, rule: str | None = None, normalize_vectors: bool = False
) -> SavedModel:
    """Return the model in a file, or from standard input, with the rule that was asked for."""
    from votron.rules import RULES
    from votron.saving.models import load_with_manifest

    if path == data == "-":
        raise click.UsageError("MODEL and DATA cannot both be standard input.")
    saved = SavedModel(path, *load_with_manifest(**model_source(path)))
    if rule is None:
        if normalize_vectors:
            raise click.UsageError("--normalize-vectors goes with --rule.")
        return saved
    if rule not in RULES and not RULES.load(rule):
        raise click.UsageError(f"--rule must be one of {', '.join(RULES)}. Got {rule!r} instead.")
    if not hasattr(saved.estimator, "with_rule"):
        kind = type(saved.estimator).__name__
        raise VotronError(f"--rule is for models of --estimator voted. {path!r} holds a {kind}.")
    return saved.with_estimator(saved.estimator.with_rule(rule, normalize_vectors))


def model_source(path: str) -> Params:
    """Return where a model is read from, as functions of `votron.saving` take it."""
    return {"path": sys.stdin.buffer, "name": "standard input"} if path == "-" else {"path": path}


def save_model(model: Estimator, output: str, provenance: Mapping[str, Any], certificate: Any = None) -> int:
    """Write a model file, or to standard output; return its size."""
    from votron import save

    known = {name: value for name, value in provenance.items() if value is not None}
    if output != "-":
        save(model, output, certificate=certificate, provenance=known)
        return os.path.getsize(output)
    if sys.stdout.isatty():
        raise VotronError("A model file is not text for a terminal: give a file to -o, or redirect the output.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.votron"
        save(model, path, certificate=certificate, provenance=known)
        content = path.read_bytes()
    sys.stdout.buffer.write(content)
    sys.stdout.flush()
    return len(content)


def remark_on_size(size: int) -> list[str]:
    """Return how to make a large model file smaller."""
    smaller = "`votron export --compact` writes a smaller one, which only predicts"
    return [f"The model takes {rounded_bytes(size)}; {smaller}."] if size >= _LARGE else []


def columns_of(model: Estimator) -> dict[str, str] | None:
    """Return the columns of the tables that a fitted model takes, with their kinds; None if it takes no tables."""
    from votron.tables import encoder_of

    encoder = encoder_of(model)
    return None if encoder is None else encoder.column_kinds_


def check_probabilities(saved: SavedModel, option: str) -> None:
    """Refuse a model that has no probabilities."""
    if not hasattr(saved.estimator, "predict_proba"):
        raise VotronError(
            f"{option} needs a model with probabilities, such as --estimator voted or averaged train. "
            f"{saved.path!r} has none."
        )


# -- data for a model -------------------------------------------------------------------------------------------------


def reading_for(
    model: Estimator,
    provenance: Mapping[str, Any],
    path: str,
    label: str | None,
    typed: Mapping[str, Any],
    *,
    labels: str = "required",
    beside: bool = False,
) -> Params:
    """Return how to read data for a model; see `SavedModel.reading`."""
    from votron.tables import encoder_of

    before = provenance.get("reading")
    before = before if isinstance(before, dict) else {}
    found = as_in_training(before)
    encoder = encoder_of(model)
    filled = encoder is not None and not any(column.passes_missing for column in encoder.columns_)
    found |= {"missing": "keep" if filled else "refuse"} | reading_options(typed)
    if beside:
        found.pop("part", None)
    columns, classes = columns_of(model), plain_labels(classifier_of(model).classes_)
    found |= {"columns": columns} if columns is not None else {"n_features": int(model.n_features_in_)}
    found |= {"labels": labels, "label_kind": label_kind(classes)}
    trained = provenance.get("label")
    if label is not None and not (beside and Path(label).exists()):  # a file of labels belongs to other data
        found["label"] = label
    elif isinstance(trained, str):
        numbered = labels == "required" and trained.removeprefix("-").isdecimal()
        found |= {"label": trained} if columns is not None or path.endswith(".npz") or numbered else {}
    return found


def label_kind(classes: Array) -> str:
    """Return of which kind labels are, as `votron.data.read_examples` takes it."""
    return {"U": "text", "b": "truth"}.get(plain_labels(classes).dtype.kind, "number")


@dataclass(frozen=True)
class TrainingData:
    """The data that a model was trained on, read again, without rows of weight 0."""

    X: RowsLike
    y: Array
    examples: Examples
    """All that was read."""
    places: Index
    """Which of the examples the rows are."""
    kept: Index
    """Which of these rows were trained on."""
    held_out: Index | None

    @property
    def row_numbers(self) -> Index:
        """The row of the file, from 1, of each row that was trained on."""
        return self.examples.row_numbers[self.places][self.kept]


def read_training_data(
    saved: SavedModel, path: str, label: str | None, typed: Mapping[str, Any], reading: Params | None = None
) -> TrainingData:
    """Read training data again, as training read them, and split them as training did."""
    from votron.cli.weights import WeightColumn

    reading = leave_out_as_trained(saved, saved.reading(path, label, typed) if reading is None else reading)
    before = saved.said("reading")
    if "part" not in reading and before.get("part") in ("train", "test"):
        reading["part"] = before["part"]
    weights = saved.said("sample_weight")
    column = weights.get("column")
    weighed = isinstance(column, str) and bool(weights.get("left_out"))
    if weighed:
        reading |= WeightColumn(str(column)).beside(reading)
    examples, y = read_labelled(path, **reading)
    X, places = examples.X, np.arange(examples.n_rows)
    if weighed:
        X, places, _ = WeightColumn(str(column)).split(examples)
    test, kept, held = saved.said("test"), np.arange(len(places)), None
    if isinstance(test.get("fraction"), float) and isinstance(test.get("seed"), int):
        kept, held = hold_out(y[places], test["fraction"], test["seed"])
    return TrainingData(X, y[places], examples, places, kept, held)


def leave_out_as_trained(saved: SavedModel, reading: Params) -> Params:
    """Return how to read, leaving out rows that training left out."""
    before = saved.said("reading")
    dropping = {"missing": "drop"} if before.get("missing") == "drop" else {}
    unlabelled = {"drop_unlabelled": True} if before.get("drop_unlabelled") is True or dropping else {}
    return reading | dropping | unlabelled


def labelled_batches(path: str, reading: Mapping[str, Any], notes: Notes | None = None) -> Iterator[Examples]:
    """Yield examples that have labels, batch by batch."""
    for batch in read_batches(path, **reading):
        if notes is not None:
            notes(*batch.notes)
        if batch.y is None:
            raise DataError(f"{base_name(path)} has no labels to compare with: say where they are with --label.")
        yield batch


def examples_to_evaluate(
    saved: SavedModel,
    path: str,
    label: str | None,
    typed: Mapping[str, Any],
    reading: Params,
    notes: Notes,
    held_out: bool,
) -> Iterator[Examples]:
    """Yield rows with labels to measure a model on: all, or those that training held out."""
    trained_on, test = saved.is_training_data(path, typed.get("part")), saved.said("test")
    split = isinstance(test.get("fraction"), float) and isinstance(test.get("seed"), int)
    if not held_out:
        yield from labelled_batches(path, reading, notes)
        if trained_on:
            other = "--held-out takes the rows that --test held out" if split else "measure it on other rows"
            notes(f"The model was trained on {base_name(path)}, so it does better here than on new rows: {other}.")
        return
    if not split:
        raise click.UsageError(f"--held-out is for models trained with --test FRACTION. {saved.path!r} was not.")
    if not trained_on:
        raise VotronError(f"--held-out needs the training data of {saved.path!r}, which {path!r} is not.")
    data = read_training_data(saved, path, label, typed, reading)
    assert data.held_out is not None
    notes(*data.examples.notes)
    yield data.examples.take(data.places[data.held_out])
