"""``votron train``: from a file of data to a model file, and a summary of both."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterable
from dataclasses import replace

import click
import numpy as np

from votron._util.text import counted, did_you_mean, duration, left_out
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, labelled_batches, provenance_of, remark_on_size, save_model
from votron.cli.output import pairs, write_figure
from votron.cli.reading import (
    FileRows,
    base_name,
    behind_encoder,
    by_label,
    encoder_for,
    hold_out,
    missing_by_column,
    remarks_on,
    rows_to_train_on,
    weight_column,
)
from votron.cli.training import (
    Job,
    TrainingOutcome,
    document,
    errors_of,
    estimator_of,
    faster_linear,
    fit,
    many_mistakes,
    summary,
)
from votron.data.options import STRATEGIES
from votron.errors import VotronError
from votron.plots.training import RulesOverTime

_CERTIFIED = ("voted", "averaged", "adatron")
_NEED_ALL_ROWS = ("certificate", "tune", "keep_names", "resume")
_OF_STREAMS = ("passes", "batch")
_KEPT_OF_ERROR = ("wrong", "rows", "error", "interval")

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
@options.label("Column with the labels, by name or number (.npz: the key; IDX: the file of labels).")
@options.output("Model file to write, usually NAME.votron; - for standard output.", NewFile(dash=True), required=True)
@option("--test", "FRACTION|FILE", "Measure the error on a fraction of the rows, held out, or on a file.", options.FILE)
@options.figure("With --test, voted: draw errors of the rules and mistakes over the epochs", "--curve")
@options.sample_weight("Column with weights of rows, which is not a feature; rows of weight 0 are left out.")
@flag("--certificate", "Also compute what the theorems guarantee, and store it in the model.")
@option(
    "--tune",
    "[SECONDS]",
    "Choose the parameters of voted that are not given by cross-validation (see `votron tune`), in that time.",
    options.SECONDS,
    is_flag=False,
    flag_value="inf",
)
@options.score
@option("--resume", "FOLDER", "With --tune: keep results in this folder, and go on.", options.FILE)
@option(
    "--keep-names",
    "[COL]",
    "Keep names of training rows in the model, for `votron explain`: from a column, or the names of images.",
    is_flag=False,
    flag_value="",
)
@options.common
@options.verbose
@flag("--stream", "Read and learn batch by batch.", group=_stream)
@option("--passes", "N", "Passes over the data (default: 1).", options.COUNT, group=_stream)
@options.batch(group=_stream)
@option(
    "--dask",
    "ADDRESS|local[:N]",
    "Train on a Dask cluster, or on N processes here; DATA is a folder of .npy or Parquet parts, or a pattern.",
    group=_stream,
)
@options.parameters
@options.training_data
@options.tables
@click.pass_obj
def train(command_line: str, /, **typed: object) -> None:
    """Train a classifier on labelled data and write a model file."""
    job = Job(command=command_line, **typed)  # type: ignore[arg-type]
    seed = job.params.get("random_state")
    if seed is None:  # drawn here, so that the model file can say how to repeat the run
        seed = 0 if job.resume is not None else secrets.randbelow(2**31)
    estimator = estimator_of(job.estimator, {**job.params, "random_state": seed})
    _check(job, estimator)
    trained = _trained(job, estimator, seed)
    made = provenance_of(job.data, trained.examples, trained.n_read, job.command, job.reading, job.table)
    made |= {} if trained.column is None else {"sample_weight": trained.column.facts}
    trained.provenance = made | trained.provenance
    curve = None if job.curve is None else RulesOverTime(trained.estimator)
    _measure(job, trained, seed, curve)
    if job.certificate:
        _certify(trained)
    size = save_model(trained.model, job.output, trained.provenance, trained.certificate)
    if curve is not None and job.curve is not None:
        from votron.evaluate.figures import training_figure

        of = f"trained on {counted(trained.n_rows, 'row')}, tested on {curve.n:,}"
        heading = f"{base_name(job.data)}: {of}"
        write_figure(lambda: training_figure(curve.display(), trained.estimator, heading), job.curve)
    job.out.note(*remark_on_size(size), *many_mistakes(trained))
    text = "\n\n".join(filter(None, [pairs(summary(job, trained, size)), trained.tried]))
    if job.output != "-":
        job.out.show(document(job, trained, size), text)
    elif not job.out.quiet:
        print(text, file=sys.stderr)


def _check(job: Job, estimator: Estimator) -> None:
    """Refuse what does not go together, before the work."""
    way = "--dask" if job.dask is not None else "--stream" if job.stream else ""
    for name in _NEED_ALL_ROWS if way else ():
        if getattr(job, name) not in (None, False):
            raise click.UsageError(f"--{name.replace('_', '-')} needs all data at once: leave out {way}.")
    for name in _OF_STREAMS if not job.stream else ():
        if getattr(job, name) is not None:
            raise click.UsageError(f"--{name} is for --stream.")
    if job.stream and job.dask is not None:
        raise click.UsageError("--stream does not go with --dask.")
    if job.certificate and job.estimator not in _CERTIFIED:
        raise click.UsageError(f"--certificate is for --estimator {', '.join(_CERTIFIED)}.")
    if job.tune is None and (job.resume is not None or job.score != "accuracy"):
        raise click.UsageError("--resume and --score are for --tune.")
    if job.curve is not None and (job.test is None or not hasattr(estimator, "staged_decision_function")):
        raise click.UsageError("--curve is for --estimator voted with --test.")
    job.share  # noqa: B018  # refuses a --test that is neither a share nor a file


def _trained(job: Job, estimator: Estimator, seed: int) -> TrainingOutcome:
    """Train in memory, batch by batch or on a cluster."""
    if job.dask is not None:
        from votron.cli.cluster import train_on_cluster

        return train_on_cluster(job, estimator)
    if job.stream:
        from votron.cli.stream import train_on_stream

        return train_on_stream(job, estimator)
    return _train_in_memory(job, estimator, seed)


def _train_in_memory(job: Job, estimator: Estimator, seed: int) -> TrainingOutcome:
    """Read everything, hold out, train."""
    column = weight_column(job.sample_weight, estimator)
    rows = _named(job, estimator, rows_to_train_on(job.data, job.options, column, job.out))
    weighed = column is not None or job.params.get("class_weight") is not None
    job.out.note(*remarks_on(rows, weighed=weighed, dropped=False))
    labelled, held = by_label(job.params, rows.y), None
    if job.share is not None:
        rows, held = map(rows.take, hold_out(rows.y, job.share, seed))
    encoder = encoder_for(job.estimator, rows, job.reading, job.table)
    if job.tune is not None:
        from votron.cli.tune import tuned

        trained = tuned(job, job.params | labelled, seed, rows, encoder, column)
    else:
        start, live = time.monotonic(), job.out.live and "verbose" in estimator.get_params()
        model = behind_encoder(encoder, estimator.set_params(**labelled, **({"verbose": 1} if live else {})))
        fit(model, rows)
        if live:
            estimator.set_params(verbose=0)  # whoever opens the file has another terminal
        seconds = time.monotonic() - start
        trained = TrainingOutcome(model, rows.examples, rows.examples.n_rows, len(rows.y), seconds, column, rows)
        if not job.out.quiet and column is None:
            job.out.note(*faster_linear(model, rows, seconds, seed))
    trained.held = held
    if rows.examples.dropped:
        trained.remarks["left out"] = left_out(rows.examples.dropped, rows.examples.unlabelled)
    fitted = trained.model.steps[0][1] if hasattr(trained.model, "steps") else None
    job.out.note(*getattr(fitted, "remarks_", ()))
    if hasattr(trained.estimator, "name_rows"):
        if rows.names is not None:
            trained.estimator.name_rows(rows.names.tolist())
        elif (rows.numbers != np.arange(1, len(rows.y) + 1)).any():
            trained.estimator.name_rows([f"row {number}" for number in rows.numbers])  # as in the file
    if job.reading.get("missing") in STRATEGIES:
        trained.provenance["missing"] = missing_by_column(rows.X)
    return trained


def _named(job: Job, estimator: Estimator, rows: FileRows) -> FileRows:
    """Return the rows with the names that --keep-names asks for, and without the column that has them."""
    asked, data = job.keep_names, rows.examples
    if asked is None:
        return rows
    if not hasattr(estimator, "name_rows"):
        raise click.UsageError("--keep-names is for models that keep training rows: voted and adatron.")
    if not asked:
        names = list(data.files) if data.files is not None else [f"row {number}" for number in data.row_numbers]
        return replace(rows, names=np.array(names)[rows.places])
    if asked not in (data.columns or []) or len(data.columns or []) == 1:
        meant = did_you_mean(asked, data.columns or [])
        raise click.UsageError(f"--keep-names must be one column of several in a table. Got {asked!r} instead.{meant}")
    return replace(rows, X=rows.X.drop(asked), names=np.array(rows.X[asked].to_list(), dtype=object))


def _measure(job: Job, trained: TrainingOutcome, seed: int, curve: RulesOverTime | None) -> None:
    """Measure the errors on test data, or on the rows trained on."""
    if job.share is None and job.test is not None:
        saved = SavedModel(job.output, trained.model, trained.provenance)
        how = saved.reading(job.test, job.label, job.reading, beside=True)
        about: Params = {"name": base_name(job.test)}
        batches: Iterable[tuple[RowsLike, Array]] = (
            (batch.X, np.asarray(batch.y)) for batch in labelled_batches(job.test, how, job.out)
        )
    elif (rows := trained.held or trained.rows) is not None:
        batches, about = [(rows.X, rows.y)], {"fraction": job.share, "seed": seed}
    else:
        return
    on = "training" if job.test is None else "test"
    trained.error = {"on": on, **errors_of(trained.model, batches, curve)}
    if job.test is not None:
        trained.provenance["test"] = about | {name: trained.error[name] for name in _KEPT_OF_ERROR}


def _certify(trained: TrainingOutcome) -> None:
    """Compute the certificate; if that fails, the model is saved all the same."""
    from votron.theory import certify

    start, rows = time.monotonic(), trained.rows
    assert rows is not None
    try:
        # the model's own vectors only: finding the maximal margin takes far longer than training
        trained.certificate = certify(trained.model, rows.X, rows.y, comparators=())
    except VotronError as error:
        trained.remarks["certificate"] = f"none: {error}"
        return
    took = duration(time.monotonic() - start)
    trained.remarks["certificate"] = f"{trained.certificate.summary} ({took})"
