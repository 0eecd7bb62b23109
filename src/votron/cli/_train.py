"""``votron train``: from a file of data to a model file, and a summary of both."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from votron._util.pipelines import classifier_of, rows_for_classifier, steps_before, weighs_classes
from votron._util.text import counted, did_you_mean, duration, first_of, percent, percent_range, rounded_bytes
from votron._util.types import Labels, RowsLike
from votron.cli import _options
from votron.cli._advice import long_work, remark_on_label, remark_on_mistakes
from votron.cli._holes import holes_of_training
from votron.cli._models import (
    BESIDE_ERROR,
    errors_of,
    labelled_batches,
    reading_for_model,
    remark_on_size,
    save_model,
)
from votron.cli._output import (
    Notes,
    check_figure,
    check_output_path,
    pairs,
    print_json,
    printable,
    refuse_one_file_for_two,
    refuse_terminal,
    write_figure,
)
from votron.cli._parser import Parser, UsageError, file_argument, positive, rewording, size, whole_number
from votron.cli._reading import (
    base_name,
    hold_out,
    left_out,
    make_model,
    provenance_of,
    read_labelled,
    remarks_on_columns,
    typed_reading,
)
from votron.cli._weights import WeightColumn, about_holes, settle_labels, weight_column, weights_in_words
from votron.errors import Phrase, VotronError
from votron.estimators._watching import announcing_long_work
from votron.evaluate.confusion import beside_majority, rarest_in_words

STREAM_BATCH_BYTES = 16_000_000
_SHOWN = 10
"""Settings that --tune shows."""
_CERTIFIED = ("voted", "averaged", "adatron")

EXAMPLES = [
    ("votron train digits -o digits.votron", "scikit-learn's digits"),
    ("votron train days.csv --label Play -o days.votron", "a table"),
    ("votron train days.csv --label Play --test 0.2 --kernel rbf -o days.votron", "with a fifth held out"),
    ("votron train digits --test 0.2 --curve curve.png -o digits.votron", "with the errors over time drawn"),
    ("votron train days.csv --label Play -o best.votron --tune 60", "with parameters found in a minute"),
    ("votron train text.csv --label topic --text words --estimator averaged -o text.votron", "text"),
    ("votron train large.svm --stream --estimator averaged -o large.votron", "data larger than memory"),
    ("votron train parts --label -1 --dask local:2 -o parts.votron", "a folder of .npy files, on two processes"),
    ("votron train days.csv --label Play --class-weight yes=2,no=1 -o days.votron", "with weights of labels"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes; of the estimators, the options of the one that is asked for."""
    parser.describe(
        "votron train DATA --label COL -o MODEL [options]",
        "Train a classifier on labelled data and write a model file.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_data(parser)
    _options.add_label(parser, "column with the labels, by name or number (.npz: the key; IDX: the file of labels)")
    _options.add_output(parser, "model file to write, usually NAME.votron; - for standard output", required=True)
    parser.add_argument(
        "--test",
        metavar="FRACTION|FILE",
        help="fraction of the rows to hold out, or a file of test data, to measure the error on",
    )
    file_argument(
        parser,
        "--curve",
        metavar="FILE",
        help="with --test, of --estimator voted: draw the errors of the rules on the test data against epochs, and "
        "mistakes and support beside them, of this one training: an .svg, .png or .pdf file",
    )
    _options.add_sample_weight(
        parser,
        "a mistake adds weight times the row, and rows of weight 0 are left out. Errors count rows, whatever "
        "their weight",
    )
    parser.add_argument(
        "--certificate",
        action="store_true",
        help="also compute what the theorems guarantee, and store it in the model file (see `votron certify`)",
    )
    parser.add_argument(
        "--tune",
        nargs="?",
        type=positive,
        const=True,
        metavar="SECONDS",
        help="of --estimator voted: choose what is not given as an option by cross-validation, in 5 folds of 20,000 "
        "rows at most, and train with that on all rows; --epochs is then the most. With SECONDS the search ends in "
        "time to train the best; `votron tune` is the same search with lists of your own",
    )
    parser.add_argument(
        "--resume",
        metavar="FOLDER",
        help="with --tune: keep each result in this folder; the same search then goes on from there. --random-state is "
        "then 0 unless it is given",
    )
    parser.add_argument(
        "--keep-names",
        nargs="?",
        const=True,
        metavar="COL",
        help="keep in the model file what the training rows are called, of those that the model keeps, for `votron "
        "explain`: by COL, a column that is no feature then, or without it the number of the row in DATA, and of "
        "images the file. By default a model file has no names",
    )
    _options.add_common(parser, json="print the summary as JSON")
    _add_stream(parser)
    parser.add_argument_group("data larger than one machine").add_argument(
        "--dask",
        metavar="ADDRESS|local[:N]",
        help="train on a Dask cluster, by the address of its scheduler, or on N processes of this machine; DATA is a "
        "folder of .npy or Parquet parts, or a pattern, which the workers read",
    )
    _options.add_reading(parser)
    _options.add_encoding(parser)
    _options.add_estimator_options(parser, arguments)


def _add_stream(parser: Parser) -> None:
    add = parser.add_argument_group("data larger than memory").add_argument
    add("--stream", action="store_true", help="read the data in batches, and learn from one batch at a time")
    add(
        "--passes",
        type=whole_number(),
        metavar="N",
        help="with --stream: number of passes over the data (default: 1)",
    )
    add(
        "--batch",
        type=size,
        metavar="SIZE",
        help=f"with --stream: batch size in bytes (default: {STREAM_BATCH_BYTES // 10**6}MB)",
    )
    add("--classes", metavar="A,B,...", help="with --stream from standard input or a pipe: all labels that will occur")


# -- the command ------------------------------------------------------------------------------------------------------


@dataclass
class Trained:
    """A model, and what there is to say of it."""

    model: Any
    data: Any
    """The examples, or the last batch of them: their format and label."""
    rows: int
    seconds: float
    error: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    certificate: Any = None
    remarks: dict[str, str] = field(default_factory=dict)
    tried: str = ""
    """What --tune tried, as a table."""
    tuning: dict[str, Any] | None = None
    weights: WeightColumn | None = None
    curve: Any = None
    """The errors of rules over time, where --curve asks for them."""

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)


def run(args: argparse.Namespace) -> int:
    """Train, and write the model when all has gone well."""
    notes = Notes(args.quiet)
    check_output_path(args.output, "the model", inputs=[args.data, args.test or "-"])
    refuse_terminal(args.output, "A model file")
    args.test = _checked_test(args.test, args.stream)
    estimator, seed = _estimator(args, notes)
    _check_curve(args, estimator)
    train = _train_on_cluster if args.dask else _train_on_stream if args.stream else _train
    with rewording(about_holes(args)):
        trained = train(args, estimator, seed, notes)
    if hasattr(trained.estimator, "verbose"):
        trained.estimator.set_params(verbose=0)  # whoever opens the file has another terminal
    size = save_model(trained.model, args.output, trained.provenance, trained.certificate)
    if trained.curve is not None:
        _draw_curve(args, trained)
    if (remark := remark_on_size(trained.model, size)) is not None:
        notes(remark)
    remark = remark_on_mistakes(trained.estimator, trained.error, tuned=trained.tuning is not None)
    if remark is not None:
        notes(remark)
    if args.json and args.output != "-":
        print_json(_document(args, trained, size))
    elif args.output != "-":
        print("\n\n".join(filter(None, [pairs(_words(args, trained, size)), trained.tried])))
    elif not args.quiet:
        print("\n\n".join(filter(None, [pairs(_words(args, trained, size)), trained.tried])), file=sys.stderr)
    return 0


def _check_curve(args: argparse.Namespace, estimator: Any) -> None:
    """Refuse a curve that cannot be drawn, before the work."""
    if args.curve is None:
        return
    check_figure(args.curve, "--curve")
    refuse_one_file_for_two(o=args.output, curve=args.curve)
    if args.test is None:
        raise UsageError("--curve needs rows to test with: hold some out with --test 0.2, or give a file to --test.")
    if not hasattr(estimator, "staged_decision_function"):
        raise UsageError(f"--curve is for --estimator voted. Got {args.estimator!r} instead.")


def _tested(
    args: argparse.Namespace, trained: Trained, batches: Iterable[tuple[Any, NDArray[Any]]]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield batches of test data, which may be read once only, and count on the way what --curve draws."""
    if args.curve is not None:
        from votron.plots.training import RulesOverTime

        trained.curve = RulesOverTime(trained.estimator)
    for X, y in batches:
        if trained.curve is not None:
            trained.curve.add(rows_for_classifier(trained.model, X), y)
        yield X, y


def _draw_curve(args: argparse.Namespace, trained: Trained) -> None:
    from votron.evaluate.figures import training_figure

    heading = f"{base_name(args.data)}: trained on {counted(trained.rows, 'row')}, tested on {trained.curve.n:,}"
    write_figure(lambda: training_figure(trained.curve.display(), trained.estimator, heading), Path(args.curve))


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
    seed = getattr(args, "random_state", None)
    if seed is None:  # drawn here, so that the model file can say how to repeat the run
        seed = 0 if args.resume is not None else secrets.randbelow(2**31)
    typed = _options.typed_parameters(args)
    estimator = _options.make_estimator(args.estimator, typed)
    _options.check_read_by_kernel(estimator, typed)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    if "verbose" in estimator.get_params() and notes.live:
        estimator.set_params(verbose=1)
    return estimator, seed


def _train(args: argparse.Namespace, estimator: Any, seed: int, notes: Notes) -> Trained:
    for name in ("passes", "batch", "classes"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} is for --stream, which was not given.")
    if args.certificate and args.estimator not in _CERTIFIED:
        known = f"{', '.join(_CERTIFIED[:-1])} and {_CERTIFIED[-1]}"
        raise UsageError(f"--certificate is for --estimator {known}. Got {args.estimator!r} instead.")
    column = weight_column(args, estimator)
    data, y = read_labelled(args.data, **typed_reading(args))
    if (remark := remark_on_label(y, data.label, is_table=data.columns is not None)) is not None:
        notes(remark)
    data, names = _row_names(args, estimator, data)
    settle_labels(args, estimator, y)
    X, rows, weights = data.X, data.row_numbers, None
    if column is not None:
        X, weighed, weights = column.split(data)
        column.check_some()
        y, rows, names = y[weighed], rows[weighed], [names[row] for row in weighed] if names else names
    for remark in (*data.notes, *remarks_on_columns(args, X)):
        notes(remark)
    held_out: tuple[Any, Any] | None = None
    if isinstance(args.test, float):
        kept, tested = hold_out(y, args.test, seed)
        held_out = X[tested], y[tested]
        X, y, rows, weights = X[kept], y[kept], rows[kept], None if weights is None else weights[kept]
        names = [names[row] for row in kept] if names else names
    start = time.monotonic()
    if args.tune is None and args.resume is not None:
        raise UsageError("--resume is for --tune, which was not given.")
    if args.tune is not None:
        from votron.cli import _tune  # most who train know their parameters

        estimator = search = _tune.search_for_training(args, seed, notes)
    model = make_model(args, estimator, data, X)
    telling_where = rewording({"cell": lambda cell: _place_of(cell, model, X, rows)})
    with announcing_long_work(estimator, lambda low, high: notes(long_work(low, high, estimator))), telling_where:
        if args.tune is None:
            _fit(model, X, y, weights)
        else:
            _tune.fit_search(model, X, y, weights)
            model = _tune.with_best(model)
    trained = Trained(model, data, len(y), time.monotonic() - start, weights=column)
    if names:
        trained.estimator.name_rows(names)
    trained.provenance = provenance_of(args, data, data.n_rows) | holes_of_training(args, X)
    trained.provenance |= {} if column is None else {"sample_weight": column.facts}
    if args.tune is not None:
        facts, settings = _tune.facts_of(search), _tune.settings_of(search)
        trained.remarks["tuned"] = _tune.tuned_words(search, trained.seconds)
        trained.tried = _tune.settings_table(settings, _SHOWN)
        trained.tuning, trained.provenance["tuned"] = facts | {"table": settings}, facts
    if isinstance(args.test, str):
        trained.error = _error_on_file(args, trained)
    elif held_out is not None:
        trained.error = errors_of(model, _tested(args, trained, [held_out]), on="test")
    else:
        trained.error = errors_of(model, [(X, y)], on="training")
    trained.provenance["test"] = _test_provenance(args.test, seed, trained.error)
    if data.dropped:
        trained.remarks["left out"] = left_out(data.dropped, data.unlabelled)
    if args.certificate:
        _certify(trained, X, y)
    return trained


def _row_names(args: argparse.Namespace, estimator: Any, data: Any) -> tuple[Any, list[Any]]:
    """Return the data without the column of names, and the names, if they are to be kept."""
    asked = args.keep_names
    if asked is None:
        return data, []
    if not hasattr(estimator, "name_rows"):
        raise UsageError("--keep-names is for models that keep training rows, of --estimator voted and adatron.")
    if asked is True:
        return data, list(data.files) if data.files is not None else [f"row {number}" for number in data.row_numbers]
    if asked not in (data.columns or []):
        known = "a table" if data.columns is None else f"one of {', '.join(map(repr, data.columns))}"
        meant = did_you_mean(asked, data.columns or [])
        raise UsageError(f"--keep-names must name a column of the features, of {known}. Got {asked!r} instead.{meant}")
    if len(data.columns) == 1:
        raise UsageError(f"--keep-names leaves no features, since {asked!r} is the only column.")
    return replace(data, X=data.X.drop(asked)), data.X[asked].to_list()


def _place_of(cell: Phrase, model: Any, X: Any, rows: NDArray[Any]) -> str:
    """Return where a value is that training refuses, by the row of the file and what the feature is called."""
    from votron.explanations.features import features_after

    row, feature = cell.facts["row"] - 1, cell.facts["feature"]
    names = features_after(steps_before(model), X)
    called = f"feature {feature} (the first is 1)" if names is None else f"column {names.names[feature - 1]!r}"
    return f"in row {rows[row]:,}, {called},"


def _fit(model: Any, X: Any, y: Any, weights: Any) -> None:
    """Train, on rows with weights if they have any."""
    name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
    model.fit(X, y, **({} if weights is None else {name: weights}))


def _train_on_cluster(args: argparse.Namespace, estimator: Any, seed: int, notes: Notes) -> Trained:
    from votron.cli._cluster import Parts, check_options, cluster  # most who train have no cluster

    check_options(args)
    column = weight_column(args, estimator)
    parts = Parts(args, estimator, column)
    notes.once(parts.first.notes)
    with cluster(args.dask, notes) as client:
        start = time.monotonic()
        parts.read(client)
        if column is not None:
            column.check_some()
        settle_labels(args, estimator, parts.y)
        trained = Trained(parts.train(), parts.first, parts.rows, time.monotonic() - start, weights=column)
    n_read = parts.rows + (0 if column is None else column.left_out)
    trained.provenance = provenance_of(args, parts.first, n_read)
    trained.provenance |= {} if column is None else {"sample_weight": column.facts}
    if args.test:
        trained.error = _error_on_file(args, trained)
    trained.provenance["test"] = _test_provenance(args.test, seed, trained.error)
    return trained


def _train_on_stream(args: argparse.Namespace, estimator: Any, seed: int, notes: Notes) -> Trained:
    from votron.cli._stream import Stream, check_options  # most who train have no stream

    check_options(args, estimator)
    if args.keep_names is not None:
        raise UsageError("--keep-names needs all data at once: leave out --stream.")
    if args.tune is not None:
        raise UsageError("--tune needs all data at once: leave out --stream, or tune on a part of the data.")
    limit = args.batch or STREAM_BATCH_BYTES
    start = time.monotonic()
    stream = Stream(args, estimator, notes, limit, weights=weight_column(args, estimator))
    data = stream.learn()
    trained = Trained(stream.model, data, stream.rows, time.monotonic() - start, weights=stream.weights)
    trained.provenance = provenance_of(args, data, stream.rows) | {"stream": stream.facts}
    trained.provenance |= {} if stream.weights is None else {"sample_weight": stream.weights.facts}
    if args.test:
        trained.error = _error_on_file(args, trained, batch_bytes=limit)
    error = {name: value for name, value in trained.error.items() if name not in BESIDE_ERROR}
    trained.provenance["test"] = {"name": base_name(args.test), **error} if args.test else None
    trained.remarks = stream.remarks
    return trained


def _error_on_file(args: argparse.Namespace, trained: Trained, **more: Any) -> dict[str, Any]:
    """Return the errors on the data of --test."""
    reading = reading_for_model(args, args.test, trained.model, trained.provenance, beside=True) | more
    return errors_of(trained.model, _tested(args, trained, labelled_batches(args.test, reading)), on="test")


def _test_provenance(test: float | str | None, seed: int, error: dict[str, Any]) -> dict[str, Any] | None:
    if test is None:
        return None
    test_data = {"fraction": test, "seed": seed} if isinstance(test, float) else {"name": base_name(test)}
    return test_data | {name: value for name, value in error.items() if name not in ("on", *BESIDE_ERROR)}


def _certify(trained: Trained, X: RowsLike, y: Labels) -> None:
    """Compute the certificate; where there is none, the model is saved all the same."""
    from votron.theory import certify

    start = time.monotonic()
    try:
        # the model's own vectors only: finding the maximal margin takes far longer than training
        trained.certificate = certify(trained.model, X, y, comparators=())
    except VotronError as error:
        trained.remarks["certificate"] = f"none: {error}"
        return
    summary = trained.certificate.to_dict()["summary"]
    trained.remarks["certificate"] = f"{summary} ({duration(time.monotonic() - start)})"


# -- the summary ------------------------------------------------------------------------------------------------------


def _words(args: argparse.Namespace, trained: Trained, size: int) -> dict[str, str]:
    estimator, error = trained.estimator, trained.error
    classes = estimator.classes_.tolist()
    named = first_of(list(map(str, classes[:11])), 10)
    features = counted(int(estimator.n_features_in_), "feature")
    words = {
        "data": f"{base_name(args.data)}: {counted(trained.rows, 'row')}, {features}",
        "classes": f"{len(classes)}: {named}",
        "estimator": f"{args.estimator} ({type(estimator).__name__})",
        **weights_in_words("" if trained.weights is None else trained.weights.words, estimator),
        **_training_words(estimator, (trained.provenance.get("test") or {}).get("seed")),
    }
    if args.stream:
        words |= {"epochs": counted(args.passes or 1, "pass", "passes")}  # the classifier counts calls, one a batch
    if error:
        of = f"{percent(error['error'])}, {error['wrong']:,} of {counted(error['rows'], 'row')}"
        if "interval" in error:
            of += f"; 95 % interval {percent_range(error['interval'])}"
        words[f"{error['on']} error"] = of
        weighed = weighs_classes(estimator, trained.provenance)
        about_rarest = rarest_in_words(error["rarest"], weighed=weighed)
        words["majority"] = beside_majority(error["wrong"], error["majority"], by_error=bool(about_rarest))
        if about_rarest:
            balanced = percent(error["balanced_accuracy"])
            words["rarest"] = f"{printable(about_rarest)}; balanced accuracy {balanced}"
    words["seconds"] = f"{trained.seconds:.2f}"
    words |= trained.remarks
    words["model"] = f"{'standard output' if args.output == '-' else args.output}, {rounded_bytes(size)}"
    return words


def _training_words(estimator: Any, seed: Any = None) -> dict[str, str]:
    """Return what training was like, as far as this classifier tells."""
    words = {}
    if hasattr(estimator, "kernel_"):
        words["kernel"] = repr(estimator.kernel_)
    if hasattr(estimator, "rule"):
        words["rule"] = getattr(estimator, "rule_", estimator.rule) + (
            ", vectors of length 1" if estimator.normalize_vectors else ""
        )
    if hasattr(estimator, "n_epochs_"):
        ended = ", the last without a mistake" if getattr(estimator, "converged_", False) else ""
        words["epochs"] = f"{estimator.n_epochs_:g}{ended}"
        if getattr(estimator, "validation_moments_", None) is not None:  # the record ends at the best moment
            kept = estimator.record_.n_steps / estimator.record_.n_examples
            words["epochs"] += f"; the model is that of epoch {kept:g}, the best on held-out rows"
    if hasattr(estimator, "n_mistakes_"):
        words["mistakes"] = f"{int(estimator.n_mistakes_.sum()):,}"
    if hasattr(estimator, "support_"):
        words["support"] = f"{counted(len(estimator.support_), 'row')}"
    if getattr(estimator, "random_state", None) is not None:
        words["random state"] = str(estimator.random_state)
    elif seed is not None:
        words["random state"] = str(seed)
    return words


def _document(args: argparse.Namespace, trained: Trained, size: int) -> dict[str, Any]:
    estimator = trained.estimator
    found: dict[str, Any] = {
        "model": args.output,
        "bytes": size,
        "estimator": type(estimator).__name__,
        "params": {name: _json_value(value) for name, value in estimator.get_params().items() if name != "verbose"},
        "classes": estimator.classes_,
        "rows": trained.rows,
        "features": int(estimator.n_features_in_),
        "seconds": trained.seconds,
        f"{trained.error.get('on', 'training')}_error": trained.error or None,
        "certificate": trained.certificate.to_dict() if trained.certificate is not None else None,
        "provenance": trained.provenance,
    }
    if trained.tuning is not None:
        found["tuned"] = trained.tuning
    if trained.weights is not None:
        found["sample_weight"] = trained.weights.facts
    for name in ("n_mistakes_", "n_epochs_", "converged_"):
        if hasattr(estimator, name):
            found[name.rstrip("_").removeprefix("n_")] = getattr(estimator, name)
    if hasattr(estimator, "support_"):
        found["support"] = len(estimator.support_)
    if hasattr(estimator, "kernel_"):
        found["kernel"] = repr(estimator.kernel_)
    return found


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(label): number for label, number in value.items()}
    return value if isinstance(value, str | int | float | bool | list | None) else repr(value)
