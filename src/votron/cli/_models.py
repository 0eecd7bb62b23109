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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron._sentences import counted, rounded_bytes
from votron.cli._output import percent, printable
from votron.cli._parser import UsageError
from votron.cli._reading import base_name, file_digest, hold_out, read_batches, read_labelled, typed_reading
from votron.cli._weights import WeightColumn, without_weight_0
from votron.data.formats import format_named, format_of_suffix
from votron.data.options import OLD_NAMES, options_of
from votron.data.tables import list_names
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, VotronError

_LARGE, _MANY_FEATURES = 50_000_000, 1 << 16
"""Bytes of a model, and features, that are remarked upon."""

if TYPE_CHECKING:
    from votron.data import Examples, Unseen
    from votron.saving import Manifest


# -- files ------------------------------------------------------------------------------------------------------------


def _nothing_unseen() -> Unseen:
    from votron.data import Unseen  # with scikit-learn, which whoever only looks at a file does without

    return Unseen()


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, and what the file says of it."""

    path: str
    model: Any
    manifest: Manifest
    unseen: Unseen = field(default_factory=_nothing_unseen)
    """What the rows that went through had that training had not."""

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that it knows."""
        return np.asarray(self.estimator.classes_)

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

    def transformed(self, X: Any) -> Any:
        """Return rows as the classifier itself takes them."""
        if self.columns is None and hasattr(X, "columns"):
            X = self._as_matrix(X)
        elif self.columns is not None and not hasattr(X, "columns"):
            raise DataError(
                f"The model in {self.path!r} takes tables with the columns {list_names(list(self.columns))}. "
                "Got numbers without names instead."
            )
        if not hasattr(self.model, "steps"):
            return X
        from votron.data import unseen_values

        self.unseen.update(unseen_values(self.model, X))
        return self.model[:-1].transform(X)

    def explained(self, X: Any, label: Any, against: Any, *, top: int, names: list[str]) -> Any:
        """Return why the one row X has its score, with rows and features counted from 1 where they have no names."""
        from votron.reasons.features import names_after

        rows = self.transformed(X)
        steps = [step for _, step in self.model.steps[:-1]] if hasattr(self.model, "steps") else []
        features = names_after(steps, X) if steps else None
        found = self.estimator.explain(rows, label, against, top=top, first=1, feature_names=features, names=names)
        return found[0]

    def _as_matrix(self, frame: Any) -> Any:
        """Return a table as numbers, for a model that knows no names."""
        from votron._frames import columns_of_words

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
    """Refuse a model that has no probabilities."""
    if not hasattr(saved.estimator, "predict_proba"):
        kind = type(saved.estimator).__name__
        raise VotronError(
            "--proba is for voted and averaged perceptrons that were trained with probabilities. "
            f"Got a {kind} without them in {saved.path!r} instead: train it again."
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


def classifier_of(model: Any) -> Any:
    """Return the classifier of a model, which may stand behind an encoder."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def columns_of(model: Any) -> dict[str, str] | None:
    """Return the columns of the tables that a fitted model takes, with their kinds; None if it takes no tables."""
    from sklearn.compose import ColumnTransformer

    from votron.data import encoder_columns

    first = model
    while hasattr(first, "steps"):
        first = first.steps[0][1]
    named = isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_")
    return encoder_columns(first) if named else None


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
        reading["missing"] = "keep" if before.get("missing") in tuple(STRATEGIES) else "refuse"  # it may be a list
    before = {OLD_NAMES.get(name, name): value for name, value in before.items()}
    for name, option in options_of().items():
        if option.kept and name not in reading and option.fits(before.get(name)):
            reading[name] = tuple(before[name]) if isinstance(before[name], list) else before[name]
    columns = columns_of(model)
    if beside:
        reading.pop("part", None)
    reading |= {"columns": columns} if columns is not None else {"n_features": int(model.n_features_in_)}
    reading |= {"labels": labels, "label_kind": label_kind(np.asarray(classifier_of(model).classes_))}
    reading["label"] = _label(args, path, provenance, labels, named=columns is not None, beside=beside)
    return {name: value for name, value in reading.items() if value is not None}


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
    return {"U": "text", "b": "truth"}.get(classes.dtype.kind, "number")


@dataclass(frozen=True)
class TrainingData:
    """The data that a model was trained on, read again, without rows of weight 0."""

    X: Any
    y: NDArray[Any]
    rows: NDArray[np.int64]
    """The number of each row in what was read."""
    dropped: int
    """Rows that were left out for missing values, and are not counted."""
    kept: NDArray[np.int64] | None
    """Which of these training did not hold out; None: all of them."""
    held_out: NDArray[np.int64] | None


def read_training_data(saved: SavedModel, args: argparse.Namespace) -> TrainingData:
    """Read the data of a command as those of training were read, and part them as training did."""
    reading = without_dropped_rows(saved, saved.reading(args, labels="required"))
    before = section(saved.provenance, "reading")
    if "part" not in reading and before.get("part") in ("train", "test"):
        reading["part"] = before["part"]
    weights = section(saved.provenance, "sample_weight")
    if isinstance(weights.get("column"), str) and weights.get("left_out"):
        reading |= WeightColumn(weights["column"]).beside(reading)
    data, y = read_labelled(args.data, **reading)
    X, rows = without_weight_0(data.X, np.arange(len(y)), weights, base_name(args.data))
    test = section(saved.provenance, "test")
    parts: tuple[Any, Any] = None, None
    if isinstance(test.get("fraction"), float) and isinstance(test.get("seed"), int):
        parts = hold_out(y[rows], test["fraction"], test["seed"])
    return TrainingData(X, y[rows], rows, data.dropped, *parts)


def without_dropped_rows(saved: SavedModel, reading: dict[str, Any]) -> dict[str, Any]:
    """Return how to read, with rows left out that training left out."""
    before = section(saved.provenance, "reading")
    reading = reading | ({"missing": "drop"} if before.get("missing") == "drop" else {})
    return reading | ({"drop_unlabelled": True} if before.get("drop_unlabelled") is True else {})


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

    Beside it, how often one would err who always said the most frequent label of these rows.
    """
    wrong = 0
    counts: Counter[Any] = Counter()
    for X, y in batches:
        wrong += int(np.count_nonzero(model.predict(X) != y))
        counts.update(y.tolist())
    rows = counts.total()
    found: dict[str, Any] = {"on": on, "wrong": wrong, "rows": rows, "error": wrong / rows}
    found |= {} if on == "training" else {"interval": list(clopper_pearson(wrong, rows))}
    return found | {"majority": majority_of(counts)}


def majority_of(counts: Mapping[Any, int]) -> dict[str, Any]:
    """Return the most frequent label, and how often one errs who always says so.

    Examples
    --------
    >>> majority_of({"no": 5, "yes": 9})
    {'label': 'yes', 'wrong': 5, 'error': 0.35714285714285715}
    """
    label = max(counts, key=lambda each: counts[each])
    n = sum(counts.values())
    wrong = n - counts[label]
    return {"label": label, "wrong": wrong, "error": wrong / n}


def beside_majority(wrong: int, majority: Mapping[str, Any]) -> str:
    """Return the majority's error in words, and whether a model with so many errors is no better."""
    words = f"{percent(majority['error'])} by always saying {printable(str(majority['label']))}"
    return words if wrong < majority["wrong"] else f"{words}: this model is no better"


def clopper_pearson(wrong: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval for a share of which ``wrong`` of ``n`` were seen.

    Problem: which probabilities of an error are not refuted by what was seen? Output: all p for which neither so many
    errors nor so few have a probability below (1 − confidence)/2. Reference: C. Clopper and E. Pearson, Biometrika 26
    (1934), 404-413.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    # binomtest(wrong, n).proportion_ci(confidence, "exact") searches for the same ends, slower and less exactly.
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high
