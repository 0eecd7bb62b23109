"""Training on data that do not fit into memory: batch by batch, through ``partial_fit``.

The first reading finds out which labels there are and, for a table, what its encoder has to know; the readings after it
learn. Standard input can be read once, so there the labels have to be named, and the encoder is fitted to the first
batch.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._progress import Progress
from votron._sentences import counted, rounded_bytes
from votron.cli._encoding import discrete_of, encoder_for, numeric_of
from votron.cli._estimators import why_no_stream
from votron.cli._loading import base_name, batches, once_only, reading
from votron.cli._model_data import error_on_test, label_kind
from votron.cli._output import Notes
from votron.cli._parser import Parser, UsageError, size, whole
from votron.cli._provenance import of_command, of_data
from votron.cli._summary import Trained
from votron.cli._wording import option_of
from votron.data.vocabulary import TRUTH
from votron.rules import RULES

BATCH_BYTES = 16_000_000
_NOT_IN_STREAMS = ("epochs", "shuffle", "early_stopping", "validation_fraction")
_TIMES = 60
"""What a batch takes in memory at most, in bytes of its text: 10 were measured for long rows of numbers in svmlight, 50
for a letter and a label to a row of CSV."""


def add_options(parser: Parser) -> None:
    """Add what only streams have."""
    group = parser.add_argument_group("data larger than memory")
    add = group.add_argument
    add("--stream", action="store_true", help="read in batches, and learn from them one after the other")
    add("--passes", type=whole(), metavar="N", help="with --stream, number of passes through the data (default: 1)")
    add(
        "--batch",
        type=size,
        metavar="SIZE",
        help=f"with --stream, size of a batch in bytes (default: {BATCH_BYTES // 10**6}MB)",
    )
    add("--classes", metavar="A,B,...", help="with --stream from standard input or a pipe, all labels that will occur")


def check_options(args: argparse.Namespace, estimator: Any) -> None:
    """Refuse options that do not go together."""
    if not args.stream:
        for name in ("passes", "batch", "classes"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} is for --stream, which was not given.")
        return
    why_not = why_no_stream(estimator)
    if why_not:
        raise why_not
    for name in _NOT_IN_STREAMS:
        if name in vars(args):
            raise UsageError(
                f"{option_of(name)} has no meaning with --stream, which takes rows in their order; --passes says how "
                "often."
            )
    if hasattr(estimator, "rule") and RULES[estimator.rule].needs_held_out:
        raise UsageError(f"--rule {estimator.rule} needs rows that are set aside, which --stream does not do.")
    if args.certificate:
        raise UsageError("--certificate needs all data at once: leave out --stream, or run `votron certify` later.")
    if once_only(args.data) and args.classes is None:
        raise UsageError(f"--stream from {_pipe(args.data)} needs --classes, since it can be read once only.")
    if once_only(args.data) and (args.passes or 1) > 1:
        raise UsageError(f"--passes must be 1 for {_pipe(args.data)}, which can be read once only.")


def _pipe(path: str) -> str:
    return "standard input" if path == "-" else f"the pipe {path!r}"


def train(args: argparse.Namespace, estimator: Any, notes: Notes) -> Trained:
    """Learn batch by batch; return the model."""
    from sklearn.pipeline import Pipeline

    if hasattr(estimator, "verbose"):
        estimator.set_params(verbose=0)  # the bar of one batch says nothing
    limit = args.batch or BATCH_BYTES
    notes(_memory_words(args.estimator, limit))
    start = time.monotonic()
    learner = _Learner(args, estimator, notes)
    found = learner.learn(limit)
    took = time.monotonic() - start
    model = estimator if learner.encoder is None else Pipeline([("encoder", learner.encoder), ("model", estimator)])
    provenance = of_command(args, found) | {
        "data": of_data(args.data, found.format, learner.rows),
        "label": found.label,
        "stream": {"passes": args.passes or 1, "batch_bytes": limit, "batches": learner.n_batches},
    }
    error = error_on_test(args, model, provenance, batch_bytes=limit) if args.test else {}
    provenance["test"] = {"name": base_name(args.test), **error} if args.test else None
    trained = Trained(model, learner.rows, found.format, found.label, took, error, provenance)
    trained.remarks["stream"] = f"{counted(learner.n_batches, 'batch', 'batches')} of at most {rounded_bytes(limit)}"
    if args.certificate is None and args.estimator in ("voted", "averaged"):
        trained.remarks["certificate"] = (
            "left out, since a stream is not held in memory: `votron certify` computes it"
            if (args.passes or 1) == 1
            else "none for several passes over a stream"
        )
    return trained


def _memory_words(estimator: str, limit: int) -> str:
    """Say what memory it takes."""
    grows = {
        "voted": "all support vectors, which grow with the mistakes",
        "averaged": "three numbers a feature and class",
    }.get(estimator, "the numbers of each feature and class")
    return (
        f"Streaming: beside {grows}, memory holds a batch of {rounded_bytes(limit)} of input, which takes up to "
        f"{_TIMES} times that, {rounded_bytes(_TIMES * limit)}, while it is read and encoded; --batch makes it smaller."
    )


@dataclass
class _Learner:
    """What is known of a stream so far, and the classifier that learns from it."""

    args: argparse.Namespace
    estimator: Any
    notes: Notes
    classes: NDArray[Any] | None = None
    encoder: Any = None
    rows: int = 0
    n_batches: int = 0

    def learn(self, limit: int) -> Any:
        """Go through the data, once before learning where that can be; return the last batch."""
        passes, batch = self.args.passes or 1, None
        source = batches(self.args.data, batch_bytes=limit, **self._reading())
        if not source.bounded:
            self.notes(
                f"Data such as {base_name(self.args.data)} cannot be read in parts: they are in memory as a whole."
            )
        if source.rewindable:
            source = self._scanned(source, limit)
        with Progress(None, self.notes.live, label="Training", erase=True) as progress:
            for turn in range(passes):
                self.rows = 0
                for batch in source:
                    self._learn_from(batch)
                    progress.update(turn, f"pass {turn + 1} of {passes}, {counted(self.rows, 'row')}{self._mistakes()}")
        return batch

    def _scanned(self, source: Any, limit: int) -> Any:
        """Find out which labels there are, and what the encoder has to know; return the data to be read anew."""
        from votron.data import scan_stream

        facts = scan_stream(source, **self._encoding(source))
        self.encoder = facts.encoder
        self.classes = facts.classes if self.args.classes is None else _named_classes(self.args.classes, facts.classes)
        known: dict[str, Any] = {"columns": facts.columns} if facts.columns else {"n_features": facts.n_features}
        known |= {"zero_based": facts.zero_based, "label_kind": label_kind(np.asarray(self.classes))}
        if not facts.columns:
            _check_matrix(self.args)
        return batches(self.args.data, batch_bytes=limit, **(self._reading() | known))

    def _reading(self) -> dict[str, Any]:
        """Return how to read, and that labels are text if one of those that were named can be nothing else."""
        named = _names(self.args.classes or "")
        return reading(self.args) | ({"label_kind": "text"} if any(map(_is_word, named)) else {})

    def _encoding(self, source: Any) -> dict[str, Any]:
        args = self.args
        if args.text and args.text_features == "tfidf":
            raise UsageError("--text-features must be hashing with --stream, since tfidf needs all texts at once.")
        discrete = discrete_of(args, next(iter(source)).label) if args.discrete else []
        names = {"discrete": discrete, "probabilities": args.probabilities, "text": args.text}
        return {"numeric": numeric_of(args), "missing": args.missing, **names}

    def _learn_from(self, batch: Any) -> None:
        if self.classes is None:
            self.classes = _named_classes(self.args.classes, batch.y)
        if self.encoder is None and self.n_batches == 0 and batch.columns is not None:
            self.encoder = encoder_for(self.args, batch, batch.X).fit(batch.X)
            self.notes(f"The encoder is fitted to the first batch, {counted(batch.n_rows, 'row')}.")
        elif self.encoder is None:
            _check_matrix(self.args)
        X = batch.X if self.encoder is None else self.encoder.transform(batch.X)
        self.estimator.partial_fit(X, batch.y, self.classes)
        self.rows += batch.n_rows
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
    names, truth = _names(typed), y.dtype.kind == "b"
    if y.dtype.kind == "U":
        return np.array(names)
    try:
        return np.unique(np.array([TRUTH[name.lower()] if truth else _number(name) for name in names]).astype(y.dtype))
    except (KeyError, ValueError):
        what = "true and false" if truth else "numbers"
        raise UsageError(f"--classes must be {what}, as the labels of the data are. Got {typed!r} instead.") from None


def _names(typed: str) -> list[str]:
    return sorted({name.strip() for name in typed.split(",") if name.strip()})


def _number(name: str) -> int | float:
    return int(name) if name.removeprefix("-").isdecimal() else float(name)


def _is_word(name: str) -> bool:
    """Tell whether a label can be nothing but a text."""
    try:
        return not math.isfinite(_number(name))
    except ValueError:
        return name.lower() not in TRUTH
