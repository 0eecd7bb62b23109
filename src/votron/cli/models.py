"""Model files as commands take them, and data for a model, read as its training data were.

What is typed goes first, then what the model knows, then what its file says of the reading in training.
"""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from votron import __version__
from votron._util.frames import columns_of_words, missing_in, plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier
from votron._util.text import counted, first_of, left_out, utc_now
from votron._util.types import Array, Estimator, Params, Rows, RowsLike
from votron.cli.output import Output, file_for
from votron.cli.reading import (
    DataArgument,
    FileRows,
    base_name,
    file_digest,
    label_kind,
    labelled_rows,
    read_batches,
    read_labelled,
)
from votron.data.formats import KNOWN_SETS
from votron.data.options import KEPT, RECORDED, STRATEGIES
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples
    from votron.saving import Manifest
    from votron.tables import TableEncoder
    from votron.theory import Certificate


@dataclass(frozen=True)
class SavedModel:
    """A model, and what its file says of it."""

    path: str
    model: Estimator
    provenance: Params
    manifest: Manifest | None = None
    rule: str | None = None
    """The rule that was asked for."""
    unseen: Counter[Any] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    """Values that training had not, and missing ones by column, in the rows that went through."""

    @property
    def estimator(self) -> Estimator:
        return classifier_of(self.model)

    @property
    def classes(self) -> Array:
        return plain_labels(self.estimator.classes_)

    def part(self, name: str) -> Params:
        """Return a section of the provenance; files from strangers may hold anything there."""
        found = self.provenance.get(name)
        return dict(found) if isinstance(found, dict) else {}

    @property
    def split(self) -> tuple[float, int] | None:
        """The share of the rows that training held out, and the seed; None if it held out none."""
        share, seed = self.part("test").get("fraction"), self.part("test").get("seed")
        return (share, seed) if isinstance(share, float) and isinstance(seed, int) else None

    @cached_property
    def encoder(self) -> TableEncoder | None:
        from votron.tables import encoder_of

        return encoder_of(self.model)

    @property
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        return None if self.encoder is None else self.encoder.column_kinds_

    def prepared(self, X: RowsLike) -> RowsLike:
        """Return rows as the model takes them: tables, or numbers where it knows no names."""
        if self.columns is None and hasattr(X, "columns"):
            for name in columns_of_words(X):
                raise DataError(f"{self.path!r} takes numbers only: leave out the column {name!r}, with --drop.")
            return X.to_numpy()
        if self.columns is not None and not hasattr(X, "columns"):
            named = first_of(list(map(repr, self.columns)), 5)
            raise DataError(f"{self.path!r} takes tables with the columns {named}. Got numbers without names instead.")
        return X

    def features(self, X: RowsLike) -> RowsLike:
        """Return rows as the classifier itself takes them; remember what is odd about them."""
        X = self.prepared(X)
        if self.encoder is not None:
            self.unseen.update(self.encoder.unseen(X))
        if hasattr(self.model, "steps"):
            counts = {name: int(np.count_nonzero(missing_in(X[name]))) for name in self.columns or ()}
            self.missing.update({name: n for name, n in counts.items() if n})
        return rows_for_classifier(self.model, X)

    def remarks(self) -> list[str]:
        """Return remarks on the rows that went through: values that training had not, and missing ones."""
        from votron.tables import unseen_sentences

        named = first_of([f"{name!r} in {counted(n, 'row')}" for name, n in self.missing.items()], 5)
        return [*unseen_sentences(self.unseen), *[f"Missing values were filled in: {named}."] * bool(named)]

    def is_training_data(self, data: DataArgument) -> bool:
        """Tell whether data are those of training: a file by its digest, a set by its name and part."""
        trained, part = self.part("data"), self.part("reading").get("part", "train")
        if data.path in KNOWN_SETS:
            return bool(trained.get("name") == data.path and data.reading.get("part", "train") == part)
        return bool(trained.get("sha256")) and file_digest(data.path) == trained["sha256"]

    def reading(self, data: DataArgument, *, labels: str = "required", beside: bool = False) -> Params:
        """Return how to read data for it; those ``beside`` others leave ``--part`` and ``--label`` to these."""
        before, typed = self.part("reading"), data.options
        found = {name: before[name] for name in KEPT if before.get(name) is not None}
        if beside and Path(data.label or "").exists():
            typed.pop("label", None)  # a file of labels, which belongs to the other data
        filled = self.encoder is not None and not any(column.passes_missing for column in self.encoder.columns_)
        found |= {"missing": "keep" if filled else "refuse"} | typed
        if beside:
            found.pop("part", None)
        known = {"n_features": int(self.model.n_features_in_)} if self.columns is None else {"columns": self.columns}
        found |= {**known, "labels": labels, "label_kind": label_kind(self.classes)}
        trained = self.provenance.get("label")
        if "label" not in typed and isinstance(trained, str):
            numbered = labels == "required" and trained.removeprefix("-").isdecimal()
            named = labels != "none" and self.columns is not None
            found |= {"label": trained} if named or data.path.endswith(".npz") or numbered else {}
        return found

    def training_data(self, data: DataArgument) -> tuple[FileRows, FileRows | None]:
        """Read training data again as training read them; return the rows trained on, and those held out."""
        options, weights = self.leaving_out(self.reading(data)), self.part("sample_weight").get("column")
        if self.part("reading").get("part") in ("train", "test"):
            options.setdefault("part", self.part("reading")["part"])
        weights = weights if isinstance(weights, str) and self.columns else None
        if weights is not None:
            options["columns"] = {**options["columns"], weights: "number"}
        rows = labelled_rows(read_labelled(data.path, options), weights)
        if self.split is None:
            return rows, None
        return rows.split(*self.split)

    def leaving_out(self, options: Params) -> Params:
        """Return how to read, leaving out rows that training left out."""
        before = self.part("reading")
        dropping = {"missing": "drop"} if before.get("missing") == "drop" else {}
        unlabelled = {"drop_unlabelled": True} if before.get("drop_unlabelled") is True or dropping else {}
        return options | dropping | unlabelled


def labelled_batches(path: str, options: Params, out: Output) -> Iterator[Examples]:
    """Yield examples that have labels, batch by batch; say what was left out."""
    dropped = unlabelled = 0
    for batch in read_batches(path, options):
        out.note(*batch.notes)
        if batch.y is None:
            raise DataError(f"{base_name(path)} has no labels to compare with: say where they are with --label.")
        dropped, unlabelled = dropped + batch.dropped, unlabelled + batch.unlabelled
        yield batch
    if dropped:
        out.note(f"Left out: {left_out(dropped, unlabelled)}.")


def examples_to_evaluate(saved: SavedModel, data: DataArgument, out: Output, *, held_out: bool) -> Iterator[Examples]:
    """Yield rows with labels to measure a model on: all, or those that training held out."""
    trained_on = saved.is_training_data(data)
    if not held_out:
        yield from labelled_batches(data.path, saved.reading(data), out)
        if trained_on:
            other = "--held-out takes the rows that --test held out" if saved.split else "measure it on other rows"
            out.note(f"The model was trained on {data.name}, so it does better here than on new rows: {other}.")
        return
    if saved.split is None:
        raise click.UsageError(f"--held-out is for models trained with --test FRACTION. {saved.path!r} was not.")
    if not trained_on:
        raise VotronError(f"--held-out needs the training data of {saved.path!r}, which {data.path!r} is not.")
    _, held = saved.training_data(data)
    assert held is not None
    out.note(*held.examples.notes)
    yield held.examples


def load_model(
    path: str, data: str | None = None, *, rule: str | None = None, normalize_vectors: bool = False
) -> SavedModel:
    """Return the model in a file, or from standard input, with the rule that was asked for."""
    from votron.saving.models import load_with_manifest

    if path == data == "-":
        raise click.UsageError("MODEL and DATA cannot both be standard input.")
    source = {"path": sys.stdin.buffer, "name": "standard input"} if path == "-" else {"path": path}
    model, manifest = load_with_manifest(**source)
    saved = SavedModel(path, model, dict(manifest.provenance or {}), manifest)
    if rule is None and not normalize_vectors:
        return saved
    if not hasattr(saved.model, "with_rule"):
        kind = type(saved.estimator).__name__
        raise VotronError(f"--rule is for models of --estimator voted. {path!r} holds a {kind}.")
    other = rule or saved.estimator.rule
    return replace(saved, model=saved.model.with_rule(other, normalize_vectors), rule=other)


def scores_of(saved: SavedModel, method: str, rows: Rows | None) -> dict[tuple[str, str], list[object]]:
    """Return what ``decision_function`` or ``predict_proba`` give for rows: a column a class, or one of scores."""
    group = "probabilities" if method == "predict_proba" else "scores"
    heads = [(group, str(label)) for label in saved.classes.tolist()]
    heads = [("", "score")] if group == "scores" and len(heads) == 2 else heads
    empty = rows is None or not rows.shape[0]
    values = np.zeros((0, len(heads))) if empty else np.asarray(getattr(saved.estimator, method)(rows))
    return dict(zip(heads, values.reshape(-1, len(heads)).T.tolist(), strict=True))


def check_probabilities(saved: SavedModel, option: str) -> None:
    if not hasattr(saved.estimator, "predict_proba"):
        raise VotronError(f"{option} needs a model with probabilities, such as --estimator voted or averaged train.")


def save_model(model: Estimator, output: str, provenance: Params, certificate: Certificate | None = None) -> int:
    """Write a model file, or to standard output; return its size."""
    from votron import save

    known = {name: value for name, value in provenance.items() if value is not None}
    with file_for(output) as path:
        save(model, path, certificate=certificate, provenance=known)
        return os.path.getsize(path)


def provenance_of(data: DataArgument, examples: Examples, rows: int, command: str, weights: str | None) -> Params:
    """Return how a model was made: the command, when, with which versions, from which data, and how they were read."""
    read = {name: getattr(examples, name, None) for name in KEPT} | data.options  # as it was found to be
    if data.reading.get("missing") in STRATEGIES:
        read["missing"] = data.reading["missing"]
    recorded = {name: read[name] for name in RECORDED if read.get(name) is not None}
    digest = file_digest(data.path)
    return {
        "votron": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "created": utc_now(),
        "command": command,
        "reading": {name: list(value) if isinstance(value, tuple) else value for name, value in recorded.items()},
        "data": {"name": data.name, "format": examples.format, "rows": rows}
        | ({} if digest is None else {"sha256": digest}),
        "label": examples.label,
        **({} if weights is None else {"sample_weight": {"column": weights}}),
    }
