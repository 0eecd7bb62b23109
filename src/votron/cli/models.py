"""Model files as commands take them, and data for a model, read as its training data were.

What is typed goes first, then what the model knows (its columns, or the number of its features), then what its file
says of the reading in training.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from votron import __version__
from votron._util.frames import columns_of_words, plain_labels
from votron._util.pipelines import classifier_of
from votron._util.text import counted, first_of, left_out, rounded_bytes, utc_now
from votron._util.types import Array, Estimator, Params, Rows, RowsLike
from votron.cli.output import Output
from votron.cli.reading import (
    FileRows,
    WeightColumn,
    base_name,
    hold_out,
    label_kind,
    labelled_rows,
    missing_by_column,
    read_batches,
    read_labelled,
    reading_options,
)
from votron.data.formats import KNOWN_SETS
from votron.data.options import KEPT, RECORDED, STRATEGIES, ReadOptions
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples
    from votron.saving import Manifest
    from votron.theory import Certificate

_LARGE = 50_000_000
"""Bytes of a model that are remarked upon."""


@dataclass(frozen=True)
class SavedModel:
    """A model, and what its file says of it."""

    path: str
    model: Estimator
    provenance: Params
    manifest: Manifest | None = None
    seen: Params = field(default_factory=dict)
    """Values that training had not, and missing ones, in the rows that went through."""

    @property
    def estimator(self) -> Estimator:
        """The classifier itself."""
        return classifier_of(self.model)

    @property
    def classes(self) -> Array:
        """Its classes."""
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
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        from votron.tables import encoder_of

        encoder = encoder_of(self.model)
        return None if encoder is None else encoder.column_kinds_

    @property
    def known(self) -> Params:
        """The features of its data, as options of reading."""
        return {"n_features": int(self.model.n_features_in_)} if self.columns is None else {"columns": self.columns}

    def with_estimator(self, other: Estimator) -> SavedModel:
        """Return the same with another classifier after the encoder."""
        if not hasattr(self.model, "steps"):
            return replace(self, model=other)
        return replace(self, model=type(self.model)([*self.model.steps[:-1], ("model", other)]))

    def prepared(self, X: RowsLike) -> RowsLike:
        """Return rows as the model takes them: tables, or numbers where it knows no names."""
        if self.columns is None and hasattr(X, "columns"):
            for name in columns_of_words(X):
                raise DataError(f"{self.path!r} was trained on numbers without names. The column {name!r} holds texts.")
            return X.to_numpy()
        if self.columns is not None and not hasattr(X, "columns"):
            named = first_of(list(map(repr, self.columns)), 5)
            raise DataError(f"{self.path!r} takes tables with the columns {named}. Got numbers without names instead.")
        return X

    def features(self, X: RowsLike) -> RowsLike:
        """Return rows as the classifier itself takes them."""
        X = self.prepared(X)
        if not hasattr(self.model, "steps"):
            return X
        from votron.tables import encoder_of

        encoder = encoder_of(self.model)
        if encoder is not None:
            self.seen.setdefault("unseen", Counter()).update(encoder.unseen(X))
        missing = self.seen.setdefault("missing", {})
        for name, n in missing_by_column(X[list(self.columns)] if self.columns else X).items():
            missing[name] = missing.get(name, 0) + n
        return self.model[:-1].transform(X)

    def remarks(self) -> list[str]:
        """Return remarks on the rows that went through: values that training had not, and missing ones."""
        remarks: list[str] = []
        if "unseen" in self.seen:
            from votron.tables import unseen_sentences

            remarks += unseen_sentences(self.seen["unseen"])
        if missing := self.seen.get("missing"):
            named = first_of([f"{name!r} in {counted(n, 'row')}" for name, n in missing.items()], 5)
            remarks.append(f"Missing values were filled in: {named}.")
        return remarks

    def is_training_data(self, path: str, part: str | None) -> bool:
        """Tell whether data are those of training: a file by its digest, a set by its name and part."""
        trained = self.part("data")
        if path not in KNOWN_SETS:
            return bool(trained.get("sha256")) and file_digest(path) == trained["sha256"]
        return bool(trained.get("name") == path) and (part or "train") == self.part("reading").get("part", "train")

    # -- reading data as in training -----------------------------------------------------------------------------------

    def reading(
        self, path: str, label: str | None, typed: Params, *, labels: str = "required", beside: bool = False
    ) -> Params:
        """Return how to read data for it; ``beside`` other data, ``--part`` and ``--label`` are about those."""
        from votron.tables import encoder_of

        found, encoder = self._as_in_training(), encoder_of(self.model)
        filled = encoder is not None and not any(column.passes_missing for column in encoder.columns_)
        optional = {"n_features", *found, *typed} if beside else {"n_features", *found} - typed.keys()
        found |= {"missing": "keep" if filled else "refuse", "optional": optional} | reading_options(typed)
        if beside:
            found.pop("part", None)
        found |= self.known | {"labels": labels, "label_kind": label_kind(self.classes)}
        trained = self.provenance.get("label")
        if label is not None and not (beside and Path(label).exists()):  # a file of labels belongs to other data
            found["label"] = label
        elif isinstance(trained, str):
            numbered = labels == "required" and trained.removeprefix("-").isdecimal()
            found |= {"label": trained} if self.columns is not None or path.endswith(".npz") or numbered else {}
        return found

    def _as_in_training(self) -> Params:
        """Return the options of reading that hold as in training; the model file may say anything there."""
        found, before = {}, self.part("reading")
        for name in KEPT:
            with contextlib.suppress(VotronError, TypeError):
                if before.get(name) is not None and ReadOptions(**{name: before[name]}):
                    found[name] = before[name]
        return found

    def leaving_out(self, reading: Params) -> Params:
        """Return how to read, leaving out rows that training left out."""
        before = self.part("reading")
        dropping = {"missing": "drop"} if before.get("missing") == "drop" else {}
        unlabelled = {"drop_unlabelled": True} if before.get("drop_unlabelled") is True or dropping else {}
        return reading | dropping | unlabelled

    def training_data(
        self, path: str, label: str | None, typed: Params, **more: object
    ) -> tuple[FileRows, FileRows | None]:
        """Read training data again as training read them; return the rows trained on, and those held out."""
        options, before = self.leaving_out(self.reading(path, label, typed)) | more, self.part("reading")
        if "part" not in options and before.get("part") in ("train", "test"):
            options["part"] = before["part"]
        weights, column = self.part("sample_weight"), None
        if isinstance(weights.get("column"), str) and weights.get("left_out"):
            column = WeightColumn(weights["column"])
            options = column.read_beside(options)
        rows = labelled_rows(*read_labelled(path, options), column)
        if self.split is None:
            return rows, None
        kept, held = hold_out(rows.y, *self.split)
        return rows.take(kept), rows.take(held)


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


def examples_to_evaluate(
    saved: SavedModel, path: str, label: str | None, typed: Params, out: Output, *, held_out: bool, **more: object
) -> Iterator[Examples]:
    """Yield rows with labels to measure a model on: all, or those that training held out."""
    trained_on = saved.is_training_data(path, typed.get("part"))
    if not held_out:
        yield from labelled_batches(path, saved.reading(path, label, typed) | more, out)
        if trained_on:
            other = "--held-out takes the rows that --test held out" if saved.split else "measure it on other rows"
            out.note(f"The model was trained on {base_name(path)}, so it does better here than on new rows: {other}.")
        return
    if saved.split is None:
        raise click.UsageError(f"--held-out is for models trained with --test FRACTION. {saved.path!r} was not.")
    if not trained_on:
        raise VotronError(f"--held-out needs the training data of {saved.path!r}, which {path!r} is not.")
    _, held = saved.training_data(path, label, typed, **more)
    assert held is not None
    out.note(*held.examples.notes)
    yield held.examples.take(held.places)


# -- model files ------------------------------------------------------------------------------------------------------


def load_model(
    path: str, data: str | None = None, *, rule: str | None = None, normalize_vectors: bool = False
) -> SavedModel:
    """Return the model in a file, or from standard input, with the rule that was asked for."""
    from votron.rules import RULES
    from votron.saving.models import load_with_manifest

    if path == data == "-":
        raise click.UsageError("MODEL and DATA cannot both be standard input.")
    source = {"path": sys.stdin.buffer, "name": "standard input"} if path == "-" else {"path": path}
    model, manifest = load_with_manifest(**source)
    saved = SavedModel(path, model, dict(manifest.provenance or {}), manifest)
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


def score_columns(saved: SavedModel, method: str, rows: Rows | None, prefix: str) -> dict[str, list[object]]:
    """Return what ``decision_function`` or ``predict_proba`` give for rows: a column a class, or one of scores."""
    heads = [f"{prefix}{label}" for label in saved.classes.tolist()]
    heads = ["score"] if method == "decision_function" and len(heads) == 2 else heads
    empty = rows is None or not rows.shape[0]
    values = np.zeros((0, len(heads))) if empty else np.asarray(getattr(saved.estimator, method)(rows))
    return dict(zip(heads, values.reshape(-1, len(heads)).T.tolist(), strict=True))


def check_probabilities(saved: SavedModel, option: str) -> None:
    """Refuse a model that has no probabilities."""
    if not hasattr(saved.estimator, "predict_proba"):
        raise VotronError(f"{option} needs a model with probabilities, such as --estimator voted or averaged train.")


def save_model(model: Estimator, output: str, provenance: Params, certificate: Certificate | None = None) -> int:
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


def provenance_of(path: str, data: Examples, rows: int, command: str, reading: Params, table: Params) -> Params:
    """Return how a model was made: the command, when, with which versions, from which data, and how they were read."""
    read = {name: getattr(data, name, None) for name in KEPT} | reading_options(reading, table)  # as it was found to be
    if reading.get("missing") in STRATEGIES:
        read["missing"] = reading["missing"]
    recorded = {name: read[name] for name in RECORDED if read.get(name) is not None}
    digest = file_digest(path)
    return {
        "votron": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "created": utc_now(),
        "command": command,
        "reading": {name: list(value) if isinstance(value, tuple) else value for name, value in recorded.items()},
        "data": {"name": base_name(path), "format": data.format, "rows": rows}
        | ({} if digest is None else {"sha256": digest}),
        "label": data.label,
    }


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None for what is not a file."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
