"""Training on data that do not fit into memory: batch by batch, through ``partial_fit``.

The first reading finds out which labels there are and, for a table, what its encoder has to know; the readings after it
learn. Standard input can be read once, so there the labels have to be named, and the encoder is fitted to the first
batch.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.progress import Progress
from votron._util.text import counted, rounded_bytes
from votron.cli._models import label_kind
from votron.cli._output import Notes
from votron.cli._parser import UsageError, option_of
from votron.cli._reading import (
    base_name,
    behind_encoder,
    encoder_for,
    encoding_of,
    labels_like,
    left_out,
    number_typed,
    read_batches,
    typed_reading,
)
from votron.cli._weights import WeightColumn, settle_labels
from votron.data.vocabulary import TRUTH
from votron.errors import VotronError
from votron.rules import RULES

_NOT_IN_STREAMS = ("epochs", "shuffle", "early_stopping", "validation_fraction")
_MEMORY_FACTOR = 60
"""What a batch takes in memory at most, in bytes of its text: 10 were measured for long rows of numbers in svmlight, 50
for a letter and a label to a row of CSV."""


def check_options(args: argparse.Namespace, estimator: Any) -> None:
    """Refuse options that do not go together with --stream."""
    _check_estimator(estimator)
    for name in _NOT_IN_STREAMS:
        if name in vars(args):
            raise UsageError(
                f"{option_of(name)} has no meaning with --stream, which takes rows in their order; --passes says how "
                "often."
            )
    if hasattr(estimator, "rule") and (estimator.rule == "auto" or RULES[estimator.rule].needs_held_out):
        raise UsageError(f"--rule {estimator.rule} needs rows that are set aside, which --stream does not do.")
    if args.certificate:
        raise UsageError("--certificate needs all data at once: leave out --stream, or run `votron certify` later.")
    if _can_be_read_once_only(args.data):
        source = "standard input" if args.data == "-" else f"the pipe {args.data!r}"
        if args.classes is None:
            raise UsageError(f"--stream from {source} needs --classes, since it can be read once only.")
        if (args.passes or 1) > 1:
            raise UsageError(f"--passes must be 1 for {source}, which can be read once only.")


def _check_estimator(estimator: Any) -> None:
    """Refuse an estimator that cannot learn batch by batch."""
    try:
        estimator.partial_fit  # noqa: B018  # asking tells the reason
    except AttributeError as error:
        if isinstance(error.__cause__, VotronError):
            raise UsageError(error.__cause__) from None
        raise UsageError(f"--stream is not for {type(estimator).__name__}, which needs all data at once.") from None


def _can_be_read_once_only(path: str) -> bool:
    """Tell whether it is standard input, or neither file nor folder, such as a pipe."""
    place = os.path.expanduser(path)
    return path == "-" or (os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)))


@dataclass
class Stream:
    """Data that are read in batches, what is known of them so far, and the classifier that learns from them."""

    args: argparse.Namespace
    estimator: Any
    notes: Notes
    limit: int
    """Bytes of a batch."""
    weights: WeightColumn | None = None
    classes: NDArray[Any] | None = None
    encoder: Any = None
    rows: int = 0
    dropped: int = 0
    unlabelled: int = 0
    n_batches: int = 0

    @property
    def model(self) -> Any:
        """The classifier, behind its encoder if it has one."""
        return behind_encoder(self.encoder, self.estimator)

    @property
    def passes(self) -> int:
        """How often the data are gone through."""
        return self.args.passes or 1

    @property
    def facts(self) -> dict[str, int]:
        """What the model file says of the stream."""
        return {"passes": self.passes, "batch_bytes": self.limit, "batches": self.n_batches}

    @property
    def remarks(self) -> dict[str, str]:
        """What the summary says of the stream."""
        found = {"stream": f"{counted(self.n_batches, 'batch', 'batches')} of at most {rounded_bytes(self.limit)}"}
        if self.dropped:
            found["left out"] = left_out(self.dropped, self.unlabelled)
        return found

    def learn(self) -> Any:
        """Go through the data, once before learning where that can be; return the last batch."""
        if hasattr(self.estimator, "verbose"):
            self.estimator.set_params(verbose=0)  # the bar of one batch says nothing
        self.notes(self._memory_words())
        source, batch = self._batches(), None
        if not source.bounded:
            self.notes(
                f"Data such as {base_name(self.args.data)} cannot be read in parts: they are in memory as a whole."
            )
        if source.rewindable:
            source = self._scanned(source if self.weights is None else self._batches(**self._without_weights()))
        with Progress(None, self.notes.live, label="Training", erase=True) as progress:
            for turn in range(self.passes):
                self.rows = self.dropped = self.unlabelled = 0
                if self.weights is not None:
                    self.weights.left_out = 0
                for batch in source:
                    self._learn_from(batch)
                    done = f"pass {turn + 1} of {self.passes}, {counted(self.rows, 'row')}{self._mistakes()}"
                    progress.update(turn, done)
        if self.weights is not None:
            self.weights.check_some()
        return batch

    def _memory_words(self) -> str:
        """Say what memory it takes."""
        grows = {
            "voted": "all support vectors, which grow with the mistakes",
            "averaged": "three numbers a feature and class",
        }.get(self.args.estimator, "the numbers of each feature and class")
        most = rounded_bytes(_MEMORY_FACTOR * self.limit)
        return (
            f"Streaming: beside {grows}, memory holds a batch of {rounded_bytes(self.limit)} of input, which takes up "
            f"to {_MEMORY_FACTOR} times that, {most}, while it is read and encoded; --batch makes it smaller."
        )

    def _batches(self, **known: Any) -> Any:
        """Open the data; labels are text if one of those that were named can be nothing else."""
        words = any(map(_is_word, _names(self.args.classes or "")))
        reading = typed_reading(self.args) | ({"label_kind": "text"} if words else {})
        return read_batches(self.args.data, batch_bytes=self.limit, **(reading | known))

    def _without_weights(self) -> dict[str, Any]:
        """Return how to read the data without the column of weights, which is no feature."""
        assert self.weights is not None
        WeightColumn(self.weights.name).taken(next(iter(self._batches())))
        return {"drop": (*typed_reading(self.args).get("drop", ()), self.weights.name)}

    def _scanned(self, source: Any) -> Any:
        """Find out which labels there are, and what the encoder has to know; return the data to be read anew."""
        from votron.data import scan_stream

        args = self.args
        if args.text and args.text_features == "tfidf":
            raise UsageError("--text-features must be hashing with --stream, since tfidf needs all texts at once.")
        label = next(iter(source)).label if args.discrete else None
        facts = scan_stream(source, **encoding_of(args, label, leave_out=["text_features"]))
        self.notes.once(facts.notes)
        self.encoder = facts.encoder
        self.classes = facts.classes if args.classes is None else _named_classes(args.classes, facts.classes)
        known: dict[str, Any] = {"columns": facts.columns} if facts.columns else {"n_features": facts.n_features}
        if not facts.columns:
            _check_matrix(args)
        if facts.columns and self.weights is not None:
            known["columns"] = {**facts.columns, self.weights.name: "number"}
        return self._batches(**known, zero_based=facts.zero_based, label_kind=label_kind(np.asarray(self.classes)))

    def _learn_from(self, batch: Any) -> None:
        self.notes.once(batch.notes)
        if self.classes is None:
            self.classes = _named_classes(self.args.classes, batch.y)
        if self.n_batches == 0:
            settle_labels(self.args, self.estimator, self.classes)
        X, y, more = batch.X, batch.y, {}
        if self.weights is not None:
            X, weighed, weights = self.weights.split(batch)
            y, more = y[weighed], {"sample_weight": weights}
        if self.encoder is None and self.n_batches == 0 and batch.columns is not None:
            self.args.text_features = self.args.text_features or "hashing"  # of words to come nothing is known
            self.encoder = encoder_for(self.args, batch, X).fit(X)
            self.notes(f"The encoder is fitted to the first batch, {counted(batch.n_rows, 'row')}.")
        elif self.encoder is None:
            _check_matrix(self.args)
        if len(y):
            X = X if self.encoder is None else self.encoder.transform(X)
            self.estimator.partial_fit(X, y, self.classes, **more)
        self.rows += batch.n_rows
        self.dropped, self.unlabelled = self.dropped + batch.dropped, self.unlabelled + batch.unlabelled
        self.n_batches += 1

    def _mistakes(self) -> str:
        mistakes = getattr(self.estimator, "n_mistakes_", None)
        return "" if mistakes is None else f", {counted(int(mistakes.sum()), 'mistake')}"


def _check_matrix(args: argparse.Namespace) -> None:
    """Refuse what only tables can have in a stream."""
    if args.numeric not in (None, "keep"):
        raise UsageError("--numeric with --stream is for tables. Got it with data that are numbers without names.")


def _named_classes(typed: str | None, y: Any) -> NDArray[Any]:
    """Return the labels that were named, in the type of those that were read.

    Examples
    --------
    >>> _named_classes("true,false", np.array([True]))
    array([False,  True])
    >>> _named_classes("2,1", np.array([1]))
    array([1, 2])
    """
    if typed is None:
        return np.unique(y)
    found = np.array(labels_like(_names(typed), y, "--classes must be"))
    return found if y.dtype.kind == "U" else np.unique(found.astype(y.dtype))


def _names(typed: str) -> list[str]:
    return sorted({name.strip() for name in typed.split(",") if name.strip()})


def _is_word(name: str) -> bool:
    """Tell whether a label can be nothing but a text."""
    try:
        return not math.isfinite(number_typed(name))
    except ValueError:
        return name.lower() not in TRUTH
