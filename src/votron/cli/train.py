"""``votron train``: from a file of data to a model file, and a summary of both."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import click
from numpy.typing import ArrayLike

from votron._util.pipelines import rows_for_classifier
from votron._util.text import counted, did_you_mean, duration
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.cli import options, tune
from votron.cli.command import command, option
from votron.cli.models import labelled_batches, reading_for, remark_on_size, save_model
from votron.cli.output import Notes, check_different, check_figure, check_output, pairs, print_json, write_figure
from votron.cli.reading import (
    base_name,
    behind_encoder,
    check_label,
    encoder_for,
    hold_out,
    left_out,
    missing_by_column,
    provenance_of,
    rare_class,
    read_labelled,
    reading_options,
    remarks_on_columns,
)
from votron.cli.training import (
    Job,
    Trained,
    check_parameters_of,
    document,
    errors_of,
    faster_linear,
    kept_error,
    long_work,
    many_mistakes,
    summary,
)
from votron.cli.weights import by_label, weight_column
from votron.data.vocabulary import STRATEGIES
from votron.errors import VotronError

_CERTIFIED = ("voted", "averaged", "adatron")
_OF_STREAMS = ("passes", "batch", "classes")

_stream = "Data larger than memory"


@command(
    "train",
    examples=[
        "votron train digits -o digits.votron",
        "votron train days.csv --label Play -o days.votron",
        "votron train days.csv --label Play --test 0.2 --kernel rbf -o days.votron",
        "votron train digits --test 0.2 --curve curve.png -o digits.votron",
        "votron train days.csv --label Play --tune 60 -o best.votron",
        "votron train text.csv --label topic --text words --estimator averaged -o text.votron",
        "votron train days.csv --label Play --class-weight yes=2,no=1 -o days.votron",
        "votron train large.svm --stream --estimator averaged -o large.votron",
        "votron train parts --label -1 --dask local:2 -o parts.votron",
    ],
)
@options.data
@options.label(help="Column with the labels, by name or number (.npz: the key; IDX: the file of labels).")
@options.output(required=True, help="Model file to write, usually NAME.votron; - for standard output.")
@option("--test", metavar="FRACTION|FILE", help="Measure the error on a fraction of the rows, held out, or on a file.")
@option(
    "--curve",
    metavar="FILE",
    type=options.FILE,
    help="With --test, voted: draw the errors of the rules and the mistakes over the epochs (.svg, .png or .pdf).",
)
@option(
    "--sample-weight",
    metavar="COL",
    help="Column with weights of rows, 0 or more, which is not a feature; rows of weight 0 are left out.",
)
@option("--certificate", is_flag=True, help="Also compute what the theorems guarantee, and store it in the model.")
@option(
    "--tune",
    metavar="[SECONDS]",
    is_flag=False,
    flag_value="inf",
    type=options.SECONDS,
    help="Choose the parameters of voted that are not given by cross-validation (see `votron tune`), in that time.",
)
@options.score(help="With --tune: the score to choose by: accuracy, balanced_accuracy, f1 or auc.")
@option("--resume", metavar="FOLDER", type=options.FILE, help="With --tune: keep results in this folder, and go on.")
@option(
    "--keep-names",
    metavar="[COL]",
    is_flag=False,
    flag_value="",
    help="Keep names of training rows in the model, for `votron explain`: from a column, or the names of images.",
)
@options.common
@options.verbose
@option("--stream", is_flag=True, group=_stream, help="Read and learn batch by batch.")
@option("--passes", metavar="N", type=options.COUNT, group=_stream, help="Passes over the data (default: 1).")
@option("--batch", metavar="SIZE", type=options.Size(), group=_stream, help="Bytes of a batch (default: 16MB).")
@option("--classes", metavar="A,B,...", group=_stream, help="All labels, if the data come from a pipe.")
@option(
    "--dask",
    metavar="ADDRESS|local[:N]",
    group=_stream,
    help="Train on a Dask cluster, or on N processes here; DATA is a folder of .npy or Parquet parts, or a pattern.",
)
@options.parameters
@options.training_data
@options.tables
@click.pass_obj
def train(command_line: str, /, **typed: Any) -> None:
    """Train a classifier on labelled data and write a model file."""
    job = Job(command=command_line, **typed)
    notes = Notes(job.quiet)
    check_output(job.output, inputs=[job.data, job.test or "-"])
    check_figure(job.curve, "--curve")
    check_different(o=job.output, curve=job.curve)
    estimator, seed = _estimator(job, notes)
    job.share  # noqa: B018  # refuses a --test that is neither a share nor a file
    if job.curve is not None and (job.test is None or not hasattr(estimator, "staged_decision_function")):
        raise click.UsageError("--curve is for --estimator voted with --test.")
    if job.dask is not None:
        from votron.cli.cluster import train_on_cluster  # most who train have no cluster

        trained = train_on_cluster(job, estimator, notes)
    elif job.stream:
        from votron.cli.stream import train_on_stream

        trained = train_on_stream(job, estimator, notes)
    else:
        trained = _train(job, estimator, seed, notes)
    if job.dask is not None or job.stream:
        _test_on_file(job, trained)
    if hasattr(trained.estimator, "verbose"):
        trained.estimator.set_params(verbose=0)  # whoever opens the file has another terminal
    size = save_model(trained.model, job.output, trained.provenance, trained.certificate)
    if trained.curve is not None:
        from votron.evaluate.figures import training_figure

        of = f"trained on {counted(trained.rows, 'row')}, tested on {trained.curve.n:,}"
        heading = f"{base_name(job.data)}: {of}"
        write_figure(lambda: training_figure(trained.curve.display(), trained.estimator, heading), str(job.curve))
    notes(*remark_on_size(size), *many_mistakes(trained))
    if job.as_json and job.output != "-":
        print_json(document(job, trained, size))
    elif not (job.output == "-" and job.quiet):
        text = "\n\n".join(filter(None, [pairs(summary(job, trained, size)), trained.tried]))
        print(text, file=sys.stderr if job.output == "-" else sys.stdout)


def _estimator(job: Job, notes: Notes) -> tuple[Any, int]:
    """Return the classifier with the parameters that were typed, and the seed of everything random."""
    seed = job.params.get("random_state")
    if seed is None:  # drawn here, so that the model file can say how to repeat the run
        seed = 0 if job.resume is not None else secrets.randbelow(2**31)
    estimator = check_parameters_of(job.estimator, {**job.params, "random_state": seed})
    if "verbose" in estimator.get_params() and notes.live:
        estimator.set_params(verbose=1)
    return estimator, seed


def _train(job: Job, estimator: Estimator, seed: int, notes: Notes) -> Trained:
    """Read everything, hold out, train, measure."""
    for name in _OF_STREAMS:
        if getattr(job, name) is not None:
            raise click.UsageError(f"--{name} is for --stream.")
    if job.certificate and job.estimator not in _CERTIFIED:
        raise click.UsageError(f"--certificate is for --estimator {', '.join(_CERTIFIED)}.")
    if job.tune is None and (job.resume is not None or job.score != "accuracy"):
        raise click.UsageError("--resume and --score are for --tune.")
    column = weight_column(job.sample_weight, estimator)
    data, y = read_labelled(job.data, **reading_options(job.reading, job.table) | job.labels)
    notes(*check_label(y, data.label, is_table=data.columns is not None))
    data, names = _row_names(job, estimator, data)
    X, rows, weights = data.X, data.row_numbers, None
    if column is not None:
        X, kept, weights = column.split(data)
        column.check_some()
        y, rows, names = y[kept], rows[kept], [names[row] for row in kept] if names else names
    notes(*data.notes, *remarks_on_columns(X))
    params = by_label(job.params, y)
    if params.get("class_weight") is None and job.sample_weight is None:
        notes(*rare_class(y))
    held_out: tuple[RowsLike, Array] | None = None
    if job.share is not None:
        kept, tested = hold_out(y, job.share, seed)
        held_out = X[tested], y[tested]
        X, y, rows, weights = X[kept], y[kept], rows[kept], None if weights is None else weights[kept]
        names = [names[row] for row in kept] if names else names
    start, search = time.monotonic(), None
    encoder = encoder_for(job.estimator, data, X, job.reading, job.table)
    if job.tune is None:
        model = behind_encoder(encoder, estimator.set_params(**by_label_only(params)))
        with long_work(notes, estimator):
            _fit(model, X, y, weights)
    else:
        search = tune.search_for_training(job, params, seed, notes)
        model = behind_encoder(encoder, search)
        tune.fit_search(model, X, y, weights)
        model = tune.with_best(model)
    from votron.tables import encoder_of

    fitted_encoder = encoder_of(model)
    notes(*(fitted_encoder.remarks_ if fitted_encoder is not None else ()))
    trained = Trained(model, data, len(y), time.monotonic() - start, weights=column)
    if hasattr(trained.estimator, "name_rows") and (names or (rows != range(1, len(rows) + 1)).any()):
        trained.estimator.name_rows(names or [f"row {number}" for number in rows])  # as in the file
    trained.provenance = provenance_of(job.data, data, data.n_rows, job.command, job.reading, job.table)
    trained.provenance |= {} if column is None else {"sample_weight": column.facts}
    if job.reading.get("missing") in STRATEGIES:
        trained.provenance["missing"] = missing_by_column(X)
    if search is not None:
        settings = tune.settings_of(search)
        trained.provenance["tuned"] = tune.facts_of(search)
        trained.tuning = trained.provenance["tuned"] | {"table": settings}
        trained.remarks["tuned"] = tune.tuned_words(search, trained.seconds)
        trained.tried = tune.settings_table(settings, 10)
    if job.share is None and job.test is not None:
        _test_on_file(job, trained)
    else:
        tested_on = [held_out] if held_out is not None else [(X, y)]
        on = "training" if held_out is None else "test"
        trained.error = errors_of(model, _tested(job, trained, tested_on), on=on)
        split = {"fraction": job.share, "seed": seed}
        trained.provenance["test"] = None if held_out is None else split | kept_error(trained.error)
    if data.dropped:
        trained.remarks["left out"] = left_out(data.dropped, data.unlabelled)
    if job.certificate:
        _certify(trained, X, y)
    if not job.quiet and search is None and weights is None:
        notes(*faster_linear(model, X, y, trained.seconds, seed))
    return trained


def by_label_only(params: Params) -> Params:
    """Return the parameters that were typed by label."""
    return {name: value for name, value in params.items() if isinstance(value, dict)}


def _fit(model: Estimator, X: RowsLike, y: Array, weights: ArrayLike | None) -> None:
    """Train, on rows with weights if they have any."""
    name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
    model.fit(X, y, **({} if weights is None else {name: weights}))


def _row_names(job: Job, estimator: Estimator, data: Any) -> tuple[Any, list[Any]]:
    """Return the data without the column of names, and the names of rows, if they are to be kept."""
    asked = job.keep_names
    if asked is None:
        return data, []
    if not hasattr(estimator, "name_rows"):
        raise click.UsageError("--keep-names is for models that keep training rows: voted and adatron.")
    if not asked:
        return data, list(data.files) if data.files is not None else [f"row {number}" for number in data.row_numbers]
    if asked not in (data.columns or []) or len(data.columns) == 1:
        meant = did_you_mean(asked, data.columns or [])
        raise click.UsageError(f"--keep-names must be one column of several in a table. Got {asked!r} instead.{meant}")
    return replace(data, X=data.X.drop(asked)), data.X[asked].to_list()


# -- errors and certificate -------------------------------------------------------------------------------------------


def _test_on_file(job: Job, trained: Trained) -> None:
    """Measure the errors on the data of --test."""
    if job.test is None:
        return
    reading = reading_for(trained.model, trained.provenance, job.test, job.label, job.reading, beside=True)
    batches = ((batch.X, batch.y) for batch in labelled_batches(job.test, reading))
    trained.error = errors_of(trained.model, _tested(job, trained, batches), on="test")
    trained.provenance["test"] = {"name": base_name(job.test), **kept_error(trained.error)}


def _tested(job: Job, trained: Trained, batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield batches of test data, which may be read once only, and count on the way what --curve draws."""
    if job.curve is not None:
        from votron.plots.training import RulesOverTime

        trained.curve = RulesOverTime(trained.estimator)
    for X, y in batches:
        if trained.curve is not None:
            trained.curve.add(rows_for_classifier(trained.model, X), y)
        yield X, y


def _certify(trained: Trained, X: RowsLike, y: Array) -> None:
    """Compute the certificate; if that fails, the model is saved all the same."""
    from votron.theory import certify

    start = time.monotonic()
    try:
        # the model's own vectors only: finding the maximal margin takes far longer than training
        trained.certificate = certify(trained.model, X, y, comparators=())
    except VotronError as error:
        trained.remarks["certificate"] = f"none: {error}"
        return
    took = duration(time.monotonic() - start)
    trained.remarks["certificate"] = f"{trained.certificate.summary} ({took})"
