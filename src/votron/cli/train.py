"""``votron train``: from a file of data to a model file, and a summary of both."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click
import numpy as np

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier, summary_of, weighs_classes
from votron._util.text import counted, did_you_mean, first_of, left_out, percent, percent_range, rounded_bytes
from votron._util.types import Array, Estimator, Label, Params, RowsLike
from votron.cli import options
from votron.cli.command import NewFile, Size, command, flag, option
from votron.cli.models import SavedModel, labelled_batches, provenance_of, save_model
from votron.cli.output import pairs, write_figure
from votron.cli.reading import (
    FileRows,
    base_name,
    behind_encoder,
    by_label,
    hold_out,
    missing_by_column,
    remarks_on,
    rows_to_train_on,
)
from votron.cli.training import Job, Trained, estimator_of, fit
from votron.data.options import STRATEGIES
from votron.errors import VotronError
from votron.evaluate.evaluation import Confusion, beside_majority, rarest_in_words
from votron.plots.training import RulesOverTime

if TYPE_CHECKING:
    from votron.theory import Certificate

_LONG, _SAMPLE = 5.0, 2000
"""Seconds of training from which a linear model is looked at beside, and rows for that look."""
_FEWEST_ROWS, _HIGH_ERROR = 100, 0.1
"""Rows from which, and training error above which, a remark names what may help."""
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
@option("--curve", "FILE", "With --test, voted: draw errors of rules and mistakes over the epochs.", options.FIGURE)
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
@option("--batch", "SIZE", "Bytes of a batch (default: 16MB).", Size(), group=_stream)
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
    made = provenance_of(job.data, trained.examples, trained.n_read, job.command)
    made |= {"sample_weight": {"column": job.sample_weight}} if job.sample_weight else {}
    trained.provenance = made | trained.provenance
    curve = None if job.curve is None else RulesOverTime(trained.estimator)
    error, certificate = _error(job, trained, seed, curve), None
    if job.certificate:
        certificate = _certificate(trained)
    size = save_model(trained.model, job.output, trained.provenance, certificate)
    if curve is not None and job.curve is not None:
        from votron.evaluate.figures import training_figure

        of = f"trained on {counted(trained.n_rows, 'row')}, tested on {curve.n:,}"
        heading = f"{job.data.name}: {of}"
        write_figure(lambda: training_figure(curve.display(), trained.estimator, heading), job.curve)
    job.out.note(*_many_mistakes(trained, error))
    text = pairs(_summary(job, trained, error, size))
    if job.tune is not None:
        from votron.cli.tune import as_table

        text += f"\n\n{as_table(trained.tuning['table'], 10)}"
    if job.output == "-":
        job.out.note(text)
    else:
        found = _document(job, trained, error, size)
        job.out.show(found | {"certificate": certificate and certificate.to_dict()}, text)


def _check(job: Job, estimator: Estimator) -> None:
    """Refuse what does not go together, before the work."""
    from sklearn.utils.validation import has_fit_parameter

    if job.sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise click.UsageError(f"--sample-weight is not for --estimator {job.estimator}, which takes no weights.")
    way = "--dask" if job.dask is not None else "--stream" if job.stream else ""
    asked = {"certificate": job.certificate, "tune": job.tune, "keep-names": job.keep_names, "test": job.share}
    for name, value in asked.items() if way else ():
        if value not in (None, False):
            raise click.UsageError(f"--{name} needs all data at once: leave out {way}.")
    if not job.stream and not job.passes is job.batch is None:
        raise click.UsageError("--passes and --batch are for --stream.")
    if job.stream and job.dask is not None:
        raise click.UsageError("--stream does not go with --dask.")
    if job.tune is None and (job.resume is not None or job.score != "accuracy"):
        raise click.UsageError("--resume and --score are for --tune.")
    if job.curve is not None and (job.test is None or not hasattr(estimator, "staged_decision_function")):
        raise click.UsageError("--curve is for --estimator voted with --test.")


def _trained(job: Job, estimator: Estimator, seed: int) -> Trained:
    """Train in memory, batch by batch or on a cluster."""
    if job.dask is not None:
        from votron.cli.large import train_on_cluster

        return train_on_cluster(job, estimator)
    if job.stream:
        from votron.cli.large import train_on_stream

        return train_on_stream(job, estimator)
    return _train_in_memory(job, estimator, seed)


def _train_in_memory(job: Job, estimator: Estimator, seed: int) -> Trained:
    """Read everything, hold out, train."""
    out, held = job.out, None
    rows = _named(job, estimator, rows_to_train_on(job.data, job.sample_weight, out))
    weighed = job.sample_weight is not None or job.params.get("class_weight") is not None
    out.note(*remarks_on(rows, weighed=weighed))
    labelled = by_label(job.params, rows.y)
    if job.share is not None:
        rows, held = map(rows.take, hold_out(rows.y, job.share, seed))
    encoder = job.data.encoder(estimator, rows.X, rows.examples.label)
    if job.tune is not None:
        from votron.cli.tune import tuned

        trained = tuned(job, job.params | labelled, seed, rows, encoder)
    else:
        start, live = time.monotonic(), out.live and "verbose" in estimator.get_params()
        model = behind_encoder(encoder, estimator.set_params(**labelled, **({"verbose": 1} if live else {})))
        fit(model, rows)
        if live:
            estimator.set_params(verbose=0)  # whoever opens the file has another terminal
        seconds = time.monotonic() - start
        trained = Trained(model, rows.examples, rows.examples.n_rows, len(rows.y), seconds, rows)
        if not out.quiet and job.sample_weight is None:
            out.note(*faster_linear(model, rows, seconds, seed))
    trained.held = held
    if rows.examples.dropped:
        trained.remarks["left out"] = left_out(rows.examples.dropped, rows.examples.unlabelled)
    if encoder is not None:
        out.note(*getattr(trained.model.steps[0][1], "remarks_", ()))
    if hasattr(trained.estimator, "name_rows"):
        if rows.names is not None:
            trained.estimator.name_rows(rows.names.tolist())
        elif (rows.numbers != np.arange(1, len(rows.y) + 1)).any():
            trained.estimator.name_rows([f"row {number}" for number in rows.numbers])  # as in the file
    if job.data.reading.get("missing") in STRATEGIES:
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


def _certificate(trained: Trained) -> Certificate | None:
    """Return the certificate; without one, the model is saved all the same."""
    from votron.theory import certify

    assert trained.rows is not None
    try:  # the model's own vectors only: finding the maximal margin takes far longer than training
        found = certify(trained.model, trained.rows.X, trained.rows.y, comparators=())
    except VotronError as error:
        trained.remarks["certificate"] = f"none: {error}"
        return None
    trained.remarks["certificate"] = found.summary
    return found


# -- errors and remarks -----------------------------------------------------------------------------------------------


def _error(job: Job, trained: Trained, seed: int, curve: RulesOverTime | None) -> Params:
    """Return the error on test data, or else on the rows trained on; the model file keeps the first."""
    if job.test is not None and job.share is None:
        saved = SavedModel(job.output, trained.model, trained.provenance)
        how = saved.reading(replace(job.data, path=job.test), beside=True)
        about: Params = {"name": base_name(job.test)}
        batches: Iterable[tuple[RowsLike, Array]] = (
            (batch.X, np.asarray(batch.y)) for batch in labelled_batches(job.test, how, job.out)
        )
    elif (rows := trained.held or trained.rows) is not None:
        batches, about = [(rows.X, rows.y)], {"fraction": job.share, "seed": seed}
    else:
        return {}
    counts = Confusion()
    for X, y in batches:
        counts.add(y, np.asarray(trained.model.predict(X)))
        if curve is not None:
            curve.add(rows_for_classifier(trained.model, X), y)
    means = counts.means(counts.labels(plain_labels(trained.estimator.classes_)))
    error = {
        "on": "training" if job.test is None else "test",
        "wrong": counts.wrong,
        "rows": counts.n,
        "error": counts.error,
        "interval": list(counts.interval()),
        "majority": counts.majority,
        "balanced_accuracy": means["balanced_accuracy"],
        "rarest": counts.rarest,
    }
    if job.test is not None:
        trained.provenance["test"] = about | {name: error[name] for name in _KEPT_OF_ERROR}
    return error


def faster_linear(model: Estimator, rows: FileRows, seconds: float, seed: int) -> list[str]:
    """Return a remark if a linear model errs as rarely on held-out rows of a sample, in a fraction of the time."""
    from sklearn.base import clone

    from votron.estimators import AveragedPerceptronClassifier, held_out_split

    estimator, n = classifier_of(model), len(rows.y)
    if seconds < _LONG or getattr(estimator, "kernel", "linear") == "linear":
        return []
    rows = rows.take(np.sort(np.random.RandomState(seed).permutation(n)[:_SAMPLE]))
    if np.unique(rows.y, return_counts=True)[1].min() < 2:
        return []
    kept, held = map(rows.take, held_out_split(rows.y, len(rows.y) // 4, seed, every_class_trained=True))
    errors = []
    for each in (clone(estimator), AveragedPerceptronClassifier(random_state=seed)):
        start = time.monotonic()
        tried = type(model)([*clone(model).steps[:-1], ("model", each)]) if hasattr(model, "steps") else each
        errors.append(float(np.mean(tried.fit(kept.X, kept.y).predict(held.X) != held.y)))
        on_all = (time.monotonic() - start) * n / len(kept.y)
    if errors[1] > errors[0] or 2 * on_all > seconds:
        return []
    return [
        f"On {len(held.y):,} held-out rows of a sample, --estimator averaged errs as rarely "
        f"({percent(errors[1])}, against {percent(errors[0])}), and trains much faster."
    ]


def _many_mistakes(trained: Trained, error: Params) -> list[str]:
    """Return what may help a model that errs on many of its training rows."""
    if error.get("on") != "training" or error["rows"] < _FEWEST_ROWS or error["error"] <= _HIGH_ERROR:
        return []
    helps = "`votron train --tune` looks for better parameters"
    if trained.tuning:
        helps = "other features may help"
    elif not hasattr(trained.estimator, "kernel"):
        helps = "--estimator voted, with a kernel, may help"
    return [f"The model errs on {percent(error['error'])} of the rows that it was trained on: {helps}."]


# -- the summary ------------------------------------------------------------------------------------------------------


def _summary(job: Job, trained: Trained, error: Params, size: int) -> dict[str, str]:
    """Return the summary as names and values; --verbose has the rest."""
    estimator = trained.estimator
    classes = list(map(str, estimator.classes_.tolist()))
    features = counted(int(estimator.n_features_in_), "feature")
    words = {
        "data": f"{job.data.name}: {counted(trained.n_rows, 'row')}, {features}",
        "classes": f"{len(classes)}: {first_of(classes, 10)}",
        "estimator": f"{job.estimator} ({type(estimator).__name__})",
        **({"weights": f"of rows by {job.sample_weight}"} if job.sample_weight else {}),
        **_training_in_words(estimator, (trained.provenance.get("test") or {}).get("seed")),
        **_error_in_words(trained, error),
        "seconds": f"{trained.seconds:.2f}",
    }
    if job.stream:
        words["epochs"] = counted(job.passes or 1, "pass", "passes")  # the classifier counts calls, one a batch
    if job.out.verbose:
        words |= {name: str(value) for name, value in estimator.get_params().items() if name != "verbose"}
    name = "standard output" if job.output == "-" else job.output
    return words | trained.remarks | {"model": f"{name}, {rounded_bytes(size)}"}


def _error_in_words(trained: Trained, error: Params) -> dict[str, str]:
    if not error:
        return {}
    wrong = f"{percent(error['error'])}, {error['wrong']:,} of {counted(error['rows'], 'row')}"
    interval = f"; 95 % interval {percent_range(error['interval'])}" if error["on"] == "test" else ""
    weighed = weighs_classes(trained.estimator, trained.provenance)
    rarest = rarest_in_words(error["rarest"], weighed=weighed, of=f" of the {error['on']} rows")
    words = {
        f"{error['on']} error": wrong + interval,
        "majority": beside_majority(error["wrong"], error["majority"], by_error=bool(rarest)),
    }
    return words | ({"rarest": f"{rarest}; balanced accuracy {percent(error['balanced_accuracy'])}"} if rarest else {})


def _training_in_words(estimator: Estimator, seed: int | None) -> dict[str, str]:
    """Return how training went, as far as this classifier tells."""
    known, words = summary_of(estimator), {}
    for name in ("class_weight", "margin"):
        value: str | dict[Label, float] | None = getattr(estimator, name, None)
        if isinstance(value, dict):
            words[name.replace("_", " ")] = ",".join(f"{label}={each:g}" for label, each in value.items())
        elif isinstance(value, str):
            words[name.replace("_", " ")] = value
    if "kernel" in known:
        words["kernel"] = known["kernel"]
    if "rule" in known:
        words["rule"] = known["rule"] + (", vectors of length 1" if estimator.normalize_vectors else "")
    if hasattr(estimator, "n_epochs_"):
        words["epochs"] = f"{estimator.n_epochs_:g}" + (", the last without a mistake" if known["converged"] else "")
        if getattr(estimator, "validation_moments_", None) is not None:  # the record ends at the best moment
            kept = known["steps"] / known["examples"]
            words["epochs"] += f"; the model is that of epoch {kept:g}, the best on held-out rows"
    if "mistakes" in known:
        words["mistakes"] = f"{int(estimator.n_mistakes_.sum()):,}"
    if "support" in known:
        words["support"] = counted(known["support"], "row")
    seed = getattr(estimator, "random_state", None) if seed is None else seed
    return words | ({} if seed is None else {"random state": str(seed)})


def _document(job: Job, trained: Trained, error: Params, size: int) -> Params:
    """Return the summary for machines."""
    estimator = trained.estimator
    found: Params = {
        **summary_of(estimator),
        "model": job.output,
        "bytes": size,
        "estimator": type(estimator).__name__,
        "params": {name: value for name, value in estimator.get_params().items() if name != "verbose"},
        "classes": estimator.classes_,
        "rows": trained.n_rows,
        "seconds": trained.seconds,
        f"{error.get('on', 'training')}_error": error or None,
        "provenance": trained.provenance,
    }
    return found | ({"tuned": trained.tuning} if trained.tuning else {})
