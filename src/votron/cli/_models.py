"""Model files as commands take them, with data for a model, read as those that it was trained on were read.

What holds for all commands: what is typed goes first, then what the model knows (its columns, or how many features it
takes, and of which kind its labels are), then what its file says of the reading in training. Files may come from
strangers, and users of Python may keep what they like as provenance, so nothing there is taken for what it should be.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, steps_before
from votron._util.text import counted, joined, rounded_bytes
from votron.cli._holes import FilledHoles
from votron.cli._output import Notes
from votron.cli._parser import UsageError
from votron.cli._reading import base_name, file_digest, hold_out, read_batches, read_labelled, typed_reading
from votron.cli._weights import WeightColumn, without_weight_0
from votron.data.formats import KNOWN_SETS, format_named, format_of_suffix
from votron.data.options import KEPT, ReadOptions
from votron.data.tables import list_names
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, VotronError
from votron.evaluate.confusion import Confusion

_LARGE, _MANY_FEATURES = 50_000_000, 1 << 16
"""Bytes of a model, and features, that are remarked upon."""

BESIDE_ERROR = ("majority", "balanced_accuracy", "rarest")
"""What `errors_of` returns beside the error itself, and model files do without."""

if TYPE_CHECKING:
    from votron.data import Examples, Unseen
    from votron.saving import Manifest


# -- files ------------------------------------------------------------------------------------------------------------


def _nothing_unseen() -> Unseen:
    from votron.tables import Unseen  # with scikit-learn, which whoever only looks at a file does without

    return Unseen()


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, and what the file says of it."""

    path: str
    model: Any
    manifest: Manifest
    unseen: Unseen = field(default_factory=_nothing_unseen)
    """What the rows that went through had that training had not."""
    holes: FilledHoles = field(default_factory=FilledHoles)
    """What they lacked."""

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that it knows."""
        return plain_labels(self.estimator.classes_)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from."""
        return dict(self.manifest.provenance or {})

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """The columns of the tables that it takes, with their kinds; None if it takes no tables."""
        return columns_of(self.model)

    def with_estimator(self, other: Any) -> SavedModel:
        """Return the same with another classifier behind what data go through first."""
        if not hasattr(self.model, "steps"):
            return replace(self, model=other)
        return replace(self, model=type(self.model)([*self.model.steps[:-1], ("model", other)]))

    def reading(self, args: argparse.Namespace, labels: str, *, test: str | None = None) -> dict[str, Any]:
        """Return how to read the data of a command for it, or data to test with beside them: as it was trained."""
        path, beside = (args.data, False) if test is None else (test, True)
        return reading_for_model(args, path, self.model, self.provenance, labels=labels, beside=beside)

    def prepared(self, X: Any) -> Any:
        """Return rows as the model takes them: tables as such, or as numbers where it knows no names."""
        if self.columns is None and hasattr(X, "columns"):
            return self._as_matrix(X)
        if self.columns is not None and not hasattr(X, "columns"):
            raise DataError(
                f"The model in {self.path!r} takes tables with the columns {list_names(list(self.columns))}. "
                "Got numbers without names instead."
            )
        return X

    def transformed(self, X: Any) -> Any:
        """Return rows as the classifier itself takes them."""
        X = self.prepared(X)
        if not hasattr(self.model, "steps"):
            return X
        from votron.tables import encoder_of

        encoder = encoder_of(self.model)
        if encoder is not None:
            self.unseen.update(encoder.unseen(X))
        features = self.model[:-1].transform(X)
        if self.columns is not None:
            self.holes.add(self.model, self.columns, X, features)
        return features

    def remarks(self) -> list[str]:
        """Return what there is to say of the rows that went through: what training had not, and what they lacked."""
        before = self.provenance.get("holes")
        return [*self.unseen.sentences(), *self.holes.sentences(before if isinstance(before, dict) else None)]

    def explained(self, X: Any, label: Any, against: Any, *, top: int, names: list[str]) -> Any:
        """Return why the one row X has its score, with rows and features counted from 1 where they have no names."""
        from votron.explanations.features import features_after

        rows = self.transformed(X)
        features = features_after(steps_before(self.model), X)
        found = self.estimator.explain(rows, label, against, top=top, first=1, feature_names=features, names=names)
        return found[0]

    def _as_matrix(self, frame: Any) -> Any:
        """Return a table as numbers, for a model that knows no names."""
        from votron._util.frames import columns_of_words

        for name in columns_of_words(frame):
            raise DataError(
                f"The model in {self.path!r} was trained on numbers without names, and takes a table of numbers only. "
                f"Got words in column {name!r} instead."
            )
        return frame.to_numpy()


def load_model(args: argparse.Namespace) -> SavedModel:
    """Return the model in a file, or from standard input, with the rule that was asked for."""
    from votron.saving.models import load_with_manifest

    if args.model == getattr(args, "data", "") == "-":
        raise UsageError("MODEL and DATA cannot both be standard input.")
    saved = SavedModel(args.model, *load_with_manifest(**model_source(args.model)))
    if getattr(args, "rule", None) is None:
        if getattr(args, "normalize_vectors", False):
            raise UsageError("--normalize-vectors goes with --rule, which was not given.")
        return saved
    estimator = saved.estimator
    if not hasattr(estimator, "with_rule"):
        raise VotronError(
            f"--rule is for models of --estimator voted. Got a {type(estimator).__name__} in {saved.path!r} instead."
        )
    return saved.with_estimator(estimator.with_rule(args.rule, args.normalize_vectors))


def check_probabilities(saved: SavedModel) -> None:
    """Refuse a model that has no probabilities, and say what does."""
    from votron.estimators import ESTIMATORS

    if hasattr(saved.estimator, "predict_proba"):
        return
    cls = type(saved.estimator)
    able = [name for name, each in ESTIMATORS.items() if hasattr(each, "predict_proba")]
    helps = "train it again" if hasattr(cls, "predict_proba") else f"train with --estimator {joined(able, 'or')}"
    raise VotronError(
        f"--proba needs a model with probabilities. Got a {cls.__name__} without them in {saved.path!r} instead: "
        f"{helps}, or ask for --scores."
    )


def model_source(path: str) -> dict[str, Any]:
    """Return where a model is read from, and what to call that in errors, as functions of `votron.saving` take it."""
    return {"path": sys.stdin.buffer, "name": "standard input"} if path == "-" else {"path": path}


def save_model(model: Any, output: str, provenance: Mapping[str, Any], certificate: Any = None) -> int:
    """Write a model file, or to standard output; return its size."""
    from votron import save

    known = {name: value for name, value in provenance.items() if value is not None}
    if output != "-":
        save(model, output, certificate=certificate, provenance=known)
        return os.path.getsize(output)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.votron"
        save(model, path, certificate=certificate, provenance=known)
        content = path.read_bytes()
    sys.stdout.buffer.write(content)
    sys.stdout.flush()
    return len(content)


def remark_on_size(model: Any, size: int) -> str | None:
    """Return what would make a model file smaller that is large, if anything would."""
    if size < _LARGE:
        return None
    estimator, begin = classifier_of(model), f"The model takes {rounded_bytes(size)}"
    if hasattr(estimator, "record_"):
        return (
            f"{begin}, most of it support vectors: `votron export --compact` writes a smaller one, which predicts only."
        )
    if int(estimator.n_features_in_) >= _MANY_FEATURES:
        return (
            f"{begin}, for {counted(int(estimator.n_features_in_), 'feature')} and "
            f"{counted(len(estimator.classes_), 'class', 'classes')}: `votron export --compact` writes a smaller one, "
            "which predicts only, and columns with fewer values or words make fewer features."
        )
    return None


def columns_of(model: Any) -> dict[str, str] | None:
    """Return the columns of the tables that a fitted model takes, with their kinds; None if it takes no tables."""
    from votron.tables import encoder_of

    encoder = encoder_of(model)
    return None if encoder is None else encoder.column_kinds_


# -- data for a model -------------------------------------------------------------------------------------------------


def section(provenance: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a part of what a model file says of its training; nothing where it is no such part."""
    found = provenance.get(name)
    return dict(found) if isinstance(found, dict) else {}


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
    reading = typed_reading(args)
    before = section(provenance, "reading")
    if getattr(args, "missing", None) is None:
        reading["missing"] = "keep" if _takes_holes(model, provenance) else "refuse"
    for name in KEPT:
        if name not in reading and before.get(name) is not None and _fits(name, before[name]):
            reading[name] = tuple(before[name]) if isinstance(before[name], list) else before[name]
    columns = columns_of(model)
    if beside:
        reading.pop("part", None)
    reading |= {"columns": columns} if columns is not None else {"n_features": int(model.n_features_in_)}
    reading |= {"labels": labels, "label_kind": label_kind(np.asarray(classifier_of(model).classes_))}
    reading["label"] = _label(args, path, provenance, labels, named=columns is not None, beside=beside)
    return {name: value for name, value in reading.items() if value is not None}


def _fits(name: str, value: Any) -> bool:
    """Tell whether an option of reading may have this value; model files may come from strangers."""
    try:
        ReadOptions(**{name: value})
    except (VotronError, TypeError):
        return False
    return True


def _takes_holes(model: Any, provenance: Mapping[str, Any]) -> bool:
    """Tell whether a model takes rows with holes: as training did, or, where its file says nothing, by its steps."""
    from votron.tables import encoder_of

    encoder = encoder_of(model)
    if not isinstance(provenance.get("reading"), dict):
        return encoder is not None and not any(column.passes_missing for column in encoder.columns_)
    return provenance["reading"].get("missing") in tuple(STRATEGIES)  # it may be a list


def _label(
    args: argparse.Namespace, path: str, provenance: Mapping[str, Any], labels: str, *, named: bool, beside: bool
) -> str | None:
    """Return where labels are: as typed, or in what was called so in training, where such names mean something."""
    typed: str | None = args.label
    before = provenance.get("label")
    format_before = section(provenance, "data").get("format")
    trained_on = format_named(format_before) if isinstance(format_before, str) else None
    label_by = None if trained_on is None else trained_on.label_by
    now = format_of_suffix(Path(path).suffix.lower())
    asked = None if beside or args.format is None else format_named(args.format)
    named = named or "key" in {each.label_by for each in (now, asked) if each is not None}
    if typed is not None and not (beside and (named or label_by == "file")):
        return typed
    by_number = label_by == "number" and labels == "required"  # a column, which rows to predict do not have
    return before if isinstance(before, str) and before and (named or by_number) else None


def label_kind(classes: NDArray[Any]) -> str:
    """Return of which kind the labels of a model are, as `votron.data.read_examples` takes it."""
    return {"U": "text", "b": "truth"}.get(plain_labels(classes).dtype.kind, "number")


@dataclass(frozen=True)
class TrainingData:
    """The data that a model was trained on, read again, without rows of weight 0."""

    X: Any
    examples: Examples
    """All that was read."""
    places: NDArray[np.int64]
    """Which of these the rows are."""
    kept: NDArray[np.int64] | None
    """Which of these training did not hold out; None: all of them."""
    held_out: NDArray[np.int64] | None

    @cached_property
    def y(self) -> NDArray[Any]:
        """Their labels."""
        return np.asarray(self.examples.y)[self.places]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The number of each row in the file, counted from 1, those left out included."""
        return self.examples.row_numbers[self.places]


def read_training_data(
    saved: SavedModel, args: argparse.Namespace, reading: dict[str, Any] | None = None
) -> TrainingData:
    """Read the data of a command as those of training were read, and part them as training did."""
    reading = without_dropped_rows(saved, saved.reading(args, labels="required") if reading is None else reading)
    before = section(saved.provenance, "reading")
    if "part" not in reading and before.get("part") in ("train", "test"):
        reading["part"] = before["part"]
    weights = section(saved.provenance, "sample_weight")
    if isinstance(weights.get("column"), str) and weights.get("left_out"):
        reading |= WeightColumn(weights["column"]).beside(reading)
    data, y = read_labelled(args.data, **reading)
    X, places = without_weight_0(data, weights)
    test = section(saved.provenance, "test")
    parts: tuple[Any, Any] = None, None
    if isinstance(test.get("fraction"), float) and isinstance(test.get("seed"), int):
        parts = hold_out(y[places], test["fraction"], test["seed"])
    return TrainingData(X, data, places, *parts)


def examples_to_evaluate(
    saved: SavedModel, args: argparse.Namespace, reading: dict[str, Any], notes: Notes
) -> Iterator[Examples]:
    """Yield rows with labels to measure a model on, batch by batch: all, or those that training held out.

    Where training has seen them, say so: the errors are then too low.
    """
    trained_on, n_held = is_training_data(saved, args), _rows_held_out(saved)
    if not args.held_out:
        yield from labelled_examples(args.data, reading, notes.once)
        if trained_on:
            notes(_too_good(base_name(args.data), n_held))
        return
    if not n_held:
        raise UsageError(f"--held-out is for models trained with --test FRACTION. The one in {saved.path!r} was not.")
    if not trained_on:
        raise VotronError(
            f"--held-out takes rows of the data that the model was trained on, which {args.data!r} is not as far as "
            f"{saved.path!r} tells: without --held-out all of its rows are taken."
        )
    data = read_training_data(saved, args, reading)
    assert data.held_out is not None
    notes.once(data.examples.notes)
    yield data.examples.take(data.places[data.held_out])


def _rows_held_out(saved: SavedModel) -> int:
    """Return how many rows training held out, 0 if none or nobody knows."""
    test = section(saved.provenance, "test")
    fraction, seed, rows = test.get("fraction"), test.get("seed"), test.get("rows")
    known = isinstance(fraction, float) and isinstance(seed, int)
    return rows if known and isinstance(rows, int) else int(known)


def is_training_data(saved: SavedModel, args: argparse.Namespace) -> bool:
    """Tell whether the data of a command are those of training: a file by its digest, a set by its name and part."""
    trained = section(saved.provenance, "data")
    if args.data not in KNOWN_SETS:
        return bool(trained.get("sha256")) and file_digest(args.data) == trained["sha256"]
    part = section(saved.provenance, "reading").get("part", "train")
    return bool(trained.get("name") == args.data) and (args.part or "train") == part


def _too_good(name: str, n_held: int) -> str:
    """Return that errors on the training data are too low, and what to do."""
    begin = f"The model was trained on {name}, so it does better here than on new rows"
    if n_held:
        return f"{begin}: --held-out takes the {counted(n_held, 'row')} that --test held out."
    return f"{begin}: measure it on other data, or on rows that `votron train --test 0.2` holds out."


def without_dropped_rows(saved: SavedModel, reading: dict[str, Any]) -> dict[str, Any]:
    """Return how to read, with rows left out that training left out."""
    before = section(saved.provenance, "reading")
    dropping = before.get("missing") == "drop"
    unlabelled = dropping or before.get("drop_unlabelled") is True  # files of before have the first alone
    return reading | ({"missing": "drop"} if dropping else {}) | ({"drop_unlabelled": True} if unlabelled else {})


def note_other_data(saved: SavedModel, path: str, notes: Callable[[str], None]) -> None:
    """Say that the file is not the one of training, though the run could have come about on it."""
    known = section(saved.provenance, "data").get("sha256")
    if known and file_digest(path) not in (None, known):
        notes(f"{path} is not the file that the model was trained on, as its SHA-256 tells.")


def labelled_examples(
    path: str, reading: dict[str, Any], remark: Callable[..., None] | None = None
) -> Iterator[Examples]:
    """Yield examples that have labels, batch by batch."""
    for batch in read_batches(path, **reading):
        if remark is not None:
            remark(batch.notes)
        if batch.y is None:
            raise DataError(f"{base_name(path)} has no labels to compare with: say where they are with --label.")
        yield batch


def labelled_batches(path: str, reading: dict[str, Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield features and labels, batch by batch."""
    for batch in labelled_examples(path, reading):
        assert batch.y is not None
        yield batch.X, batch.y


# -- errors of a model ------------------------------------------------------------------------------------------------


def errors_of(model: Any, batches: Iterable[tuple[Any, NDArray[Any]]], *, on: str) -> dict[str, Any]:
    """Return how often a model errs on batches of rows, those of training or others; of others with an interval.

    Beside it, how often one would err who always said the most frequent label of these rows, and how much of the rarest
    is found (`BESIDE_ERROR`).
    """
    counts = Confusion()
    for X, y in batches:
        counts.add(y, np.asarray(model.predict(X)))
    found: dict[str, Any] = {"on": on, "wrong": counts.wrong, "rows": counts.n, "error": counts.error}
    found |= {} if on == "training" else {"interval": list(counts.interval())}
    means = counts.means(counts.labels(plain_labels(classifier_of(model).classes_)))
    balanced = {"balanced_accuracy": means["balanced_accuracy"]}
    return found | {"majority": counts.majority, **balanced, "rarest": counts.rarest}
