"""``votron train``: from a file of data to a model file."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron._sentences import counted, duration
from votron.cli import _options, _stream
from votron.cli._encoding import make_model, remarks_on
from votron.cli._estimators import add_estimator_options, estimator_in, make_estimator, typed_params
from votron.cli._loading import base_name, held_out, read_labelled, reading, rows_of
from votron.cli._measure import Confusion
from votron.cli._model_data import error_of, error_on_test
from votron.cli._output import Notes, checked_output, refuse_terminal
from votron.cli._parser import Parser, UsageError
from votron.cli._provenance import of_command, of_data
from votron.cli._summary import Trained, show

MOST_CERTIFIED = 10_000
"""Rows up to which a certificate is computed without being asked for: beyond, it takes longer than training."""
_CERTIFIED = ("voted", "averaged", "adatron")

EXAMPLES = [
    ("votron train digits -o digits.votron", "scikit-learn's digits"),
    ("votron train days.csv --label Play -o days.votron", "a table"),
    ("votron train days.csv --label Play --test 0.2 --kernel rbf -o days.votron", "with a fifth held out"),
    ("votron train text.csv --label topic --text words --estimator averaged -o text.votron", "texts"),
    ("votron train large.svm --stream --estimator averaged -o large.votron", "larger than memory"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes; of the estimators, the options of the one that is asked for."""
    parser.describe(
        "votron train DATA --label COL -o MODEL [options]",
        "Learn from labelled data, and write a model file.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_data(parser)
    _options.add_label(parser, "the column with the labels: its name or number (.npz: a key; IDX: the file of labels)")
    _options.add_output(parser, "the model file, usually NAME.votron; - is standard output", required=True)
    parser.add_argument(
        "--test",
        metavar="FRACTION|FILE",
        help="hold out this share of the rows, or read these data, and print the error on them",
    )
    parser.add_argument(
        "--certificate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="compute what the theorems guarantee, and keep it in the model file "
        f"(default: up to {MOST_CERTIFIED:,} rows); `votron certify` computes tighter bounds",
    )
    _options.add_common(parser, json="print the summary as one JSON document")
    _stream.add_options(parser)
    _options.add_reading(parser)
    _options.add_encoding(parser)
    add_estimator_options(parser, estimator_in(arguments))


# -- the command ------------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    """Train, and write the model when all has gone well."""
    notes = Notes(args.quiet)
    checked_output(args.output, "the model", inputs=[args.data, args.test or "-"])
    refuse_terminal(args.output, "A model file")
    args.test = _checked_test(args.test, args.stream)
    estimator, seed = _estimator(args, notes)
    _stream.check_options(args, estimator)
    trained = _stream.train(args, estimator, notes) if args.stream else _train(args, estimator, seed, notes)
    if hasattr(trained.estimator, "verbose"):
        trained.estimator.set_params(verbose=0)  # whoever opens the file has another terminal
    size = _write(trained, args.output)
    show(args, trained, size)
    return 0


def _checked_test(typed: str | None, stream: bool) -> float | str | None:
    """Return the share to hold out, or the file to test with."""
    if typed is None:
        return None
    try:
        share = float(typed)
    except ValueError:
        return typed
    if not 0 < share < 1:
        raise UsageError(f"--test must be a number in the range (0, 1), or a file. Got {typed!r} instead.")
    if stream:
        raise UsageError("--test must be a file with --stream, since rows are not held in memory to be drawn from.")
    return share


def _estimator(args: argparse.Namespace, notes: Notes) -> tuple[Any, int]:
    """Return the classifier with what was typed, and the seed of all that is random."""
    params = typed_params(args)
    seed = getattr(args, "random_state", None)
    if seed is None:
        seed = secrets.randbelow(2**31)  # drawn here, so that the model file can say how to repeat the run
    estimator = make_estimator(args.estimator, params)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    if "verbose" in estimator.get_params() and notes.live:
        estimator.set_params(verbose=1)
    return estimator, seed


def _train(args: argparse.Namespace, estimator: Any, seed: int, notes: Notes) -> Trained:
    data, y = read_labelled(args.data, **reading(args))
    for note in data.notes:
        notes(note)
    X = data.X
    for remark in remarks_on(args, X):
        notes(remark)
    test: tuple[Any, Any] | None = None
    if isinstance(args.test, float):
        kept, tested = held_out(y, args.test, seed)
        test = rows_of(X, tested), y[tested]
        X, y = rows_of(X, kept), y[kept]
    model = make_model(args, estimator, data, X)
    start = time.monotonic()
    model.fit(X, y)
    took = time.monotonic() - start
    provenance = of_command(args, data) | {"data": of_data(args.data, data.format, data.n_rows), "label": data.label}
    error = error_on_test(args, model, provenance) if isinstance(args.test, str) else _error(model, X, y, test)
    provenance["test"] = _test_facts(args.test, seed, error)
    trained = Trained(model, len(y), data.format, data.label, took, error, provenance)
    if data.dropped:
        trained.remarks["left out"] = f"{counted(data.dropped, 'row')} with missing values"
    _certify(args, trained, X, y)
    return trained


def _error(model: Any, X: Any, y: Any, test: tuple[Any, Any] | None) -> dict[str, Any]:
    """Return the errors on the held-out rows, or on those of training if there are none."""
    found = Confusion()
    if test is not None:
        found.add(test[1], model.predict(test[0]))
        return {"on": "test", **error_of(found)}
    found.add(y, model.predict(X))
    return {"on": "training", "wrong": found.wrong, "rows": found.n, "error": found.error}


def _test_facts(test: float | str | None, seed: int, error: dict[str, Any]) -> dict[str, Any] | None:
    if test is None:
        return None
    how = {"fraction": test, "seed": seed} if isinstance(test, float) else {"name": base_name(test)}
    return how | {name: value for name, value in error.items() if name != "on"}


def _certify(args: argparse.Namespace, trained: Trained, X: Any, y: Any) -> None:
    """Compute the certificate, unless there is a reason not to."""
    from votron.theory import certify

    why_not = ""
    if args.certificate is False:
        return
    if args.estimator not in _CERTIFIED:
        why_not = f"no theorem here speaks of {type(trained.estimator).__name__}"
    elif trained.rows > MOST_CERTIFIED and not args.certificate:
        why_not = f"left out, since there are more than {MOST_CERTIFIED:,} rows: --certificate computes it"
    if why_not:
        trained.remarks["certificate"] = why_not
        return
    start = time.monotonic()
    # The model's own vectors only: to find the maximal margin takes far longer than training, and is certify's work.
    trained.certificate = certify(trained.model, X, y, comparators=())
    summary = trained.certificate.to_dict()["summary"]
    if not any(bound.applies for bound in trained.certificate.bounds if bound.kind == "guarantee"):
        summary += " `votron certify` tells which theorems there are, and what would earn them."
    trained.remarks["certificate"] = f"{summary} ({duration(time.monotonic() - start)})"


# -- the file ---------------------------------------------------------------------------------------------------------


def _write(trained: Trained, output: str) -> int:
    """Write the model file; return its size."""
    from votron import save

    provenance = {name: value for name, value in trained.provenance.items() if value is not None}
    if output != "-":
        save(trained.model, output, certificate=trained.certificate, provenance=provenance)
        return os.path.getsize(output)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.votron"
        save(trained.model, path, certificate=trained.certificate, provenance=provenance)
        content = path.read_bytes()
    sys.stdout.buffer.write(content)
    sys.stdout.flush()
    return len(content)
