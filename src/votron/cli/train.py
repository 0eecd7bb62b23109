"""``votron train``: from a file of data to a model file, and a summary of both."""

from __future__ import annotations

import secrets
import sys

import click

from votron._util.pipelines import summary_of, weighs_classes
from votron._util.text import counted, first_of, in_words, percent, percent_range, rounded_bytes
from votron._util.types import Estimator, Params
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option, size
from votron.cli.models import provenance_of, save_model
from votron.cli.output import pairs, write_figure
from votron.cli.training import Job, Trained, certificate_of, estimator_of, measure, train_in_memory

_SHOWN = ("kernel", "rule", "epochs", "converged", "mistakes", "support")
_FEWEST_ROWS, _HIGH_ERROR = 100, 0.1
"""Rows from which, and training error above which, a remark names what may help."""

_TUNE = "Choose the parameters of voted that are not given by cross-validation, in that time (see `votron tune`)."
_NAMES = "Keep names of training rows for `votron explain`: from a column, or the names of images."
_DASK = "Train on a Dask cluster, or on N processes here; DATA is a folder of .npy or Parquet parts, or a pattern."

_stream = "Data larger than memory"


@command(
    "train",
    examples=[
        "votron train days.csv --label Play -o days.votron",
        "votron train digits --test 0.2 --curve curve.png -o digits.votron",
        "votron train days.csv --label Play --tune 60 -o best.votron",
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
@option("--tune", "[SECONDS]", _TUNE, options.SECONDS, is_flag=False, flag_value="inf")
@options.score
@option("--resume", "FOLDER", "With --tune: keep results in this folder, and go on.", options.FILE)
@option("--keep-names", "[COL]", _NAMES, is_flag=False, flag_value="")
@options.common
@options.verbose
@flag("--stream", "Read and learn batch by batch.", group=_stream)
@option("--passes", "N", "Passes over the data (default: 1).", options.COUNT, group=_stream)
@option("--batch", "SIZE", "Bytes of a batch (default: 16MB).", size, group=_stream)
@option("--dask", "ADDRESS|local[:N]", _DASK, group=_stream)
@options.parameters
@options.training_data
@options.tables
@click.pass_obj
def train(command_line: str, /, **typed: object) -> None:
    """Train a classifier on labelled data and write a model file."""
    from votron.plots.training import RulesOverTime

    job = Job(command=command_line, **typed)  # type: ignore[arg-type]
    seed = job.params.get("random_state")
    if seed is None:  # drawn here, so that the model file can say how to repeat the run
        seed = 0 if job.resume is not None else secrets.randbelow(2**31)
    estimator = estimator_of(job.estimator, {**job.params, "random_state": seed})
    _check(job, estimator)
    if job.dask is None and not job.stream:
        trained = train_in_memory(job, estimator, seed)
    else:
        from votron.cli import large

        trained = large.train_on_stream(job, estimator) if job.stream else large.train_on_cluster(job, estimator)
    n_read = trained.n_rows + (0 if trained.held is None else len(trained.held.y))
    made = provenance_of(job.data, trained.examples, n_read, job.command, job.sample_weight)
    trained.provenance = made | trained.provenance
    curve = None if job.curve is None else RulesOverTime(trained.estimator)
    measure(job, trained, seed, curve)
    certificate = certificate_of(trained) if job.certificate else None
    n_bytes = save_model(trained.model, job.output, trained.provenance, certificate)
    if curve is not None and job.curve is not None:
        from votron.evaluate.figures import training_figure

        of = f"trained on {counted(trained.n_rows, 'row')}, tested on {curve.n:,}"
        heading = f"{job.data.name}: {of}"
        write_figure(lambda: training_figure(curve.display(), trained.estimator, heading), job.curve)
    text = pairs({name: in_words(value) for name, value in _summary(job, trained, seed, n_bytes).items()})
    if job.tune is not None:
        from votron.cli.tune import as_table

        text += f"\n\n{as_table(trained.tuning['table'], 10)}"
    job.out.note(*_advice(trained))
    if job.output != "-":
        found = _document(job, trained, n_bytes)
        job.out.show(found | {"certificate": certificate and certificate.to_dict()}, text)
    elif not job.out.quiet:
        print(text, file=sys.stderr)


def _check(job: Job, estimator: Estimator) -> None:
    from sklearn.utils.validation import has_fit_parameter

    if job.sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise click.UsageError(f"--sample-weight is not for --estimator {job.estimator}, which takes no weights.")
    way = "--dask" if job.dask is not None else "--stream" if job.stream else ""
    asked = {"certificate": job.certificate, "tune": job.tune, "keep-names": job.keep_names, "test": job.share}
    for name, value in asked.items() if way else ():
        if value not in (None, False):
            raise click.UsageError(f"--{name} needs all data at once: leave out {way}.")
    if not job.stream and (job.passes is not None or job.batch is not None):
        raise click.UsageError("--passes and --batch are for --stream.")
    if job.stream and job.dask is not None:
        raise click.UsageError("--stream does not go with --dask.")
    if job.tune is None and (job.resume is not None or job.score != "accuracy"):
        raise click.UsageError("--resume and --score are for --tune.")
    if job.curve is not None and (job.test is None or not hasattr(estimator, "staged_decision_function")):
        raise click.UsageError("--curve is for --estimator voted with --test.")


def _advice(trained: Trained) -> list[str]:
    error = trained.error
    few = error.get("on") != "training" or error["rows"] < _FEWEST_ROWS or error["error"] <= _HIGH_ERROR
    if few or trained.tuning:
        return []
    has_kernel = hasattr(trained.estimator, "kernel")
    helps = "votron train --tune looks for better parameters" if has_kernel else "--estimator voted may help"
    return [f"The model errs on {percent(error['error'])} of the rows that it was trained on: {helps}."]


def _summary(job: Job, trained: Trained, seed: int, n_bytes: int) -> Params:
    estimator, known = trained.estimator, summary_of(trained.estimator)
    classes = list(map(str, estimator.classes_.tolist()))
    if "mistakes" in known:
        known["mistakes"] = sum(known["mistakes"])
    if job.stream:
        known["epochs"] = job.passes or 1  # the classifier counts calls, one a batch
    found = {
        "data": f"{job.data.name}: {counted(trained.n_rows, 'row')}, {counted(known['features'], 'feature')}",
        "classes": f"{len(classes)}: {first_of(classes, 10)}",
        "estimator": f"{job.estimator} ({type(estimator).__name__})",
        **{name: known[name] for name in _SHOWN if name in known},
        "random state": str(seed),
        **({"weights": f"of rows by {job.sample_weight}"} if job.sample_weight else {}),
        **_error_in_words(trained),
        "seconds": f"{trained.seconds:.2f}",
    }
    if job.out.verbose:
        found |= {name: value for name, value in estimator.get_params().items() if name != "verbose"}
    name = "standard output" if job.output == "-" else job.output
    return found | trained.remarks | {"model": f"{name}, {rounded_bytes(n_bytes)}"}


def _error_in_words(trained: Trained) -> dict[str, str]:
    from votron.evaluate.evaluation import beside_majority, rarest_in_words

    error = trained.error
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


def _document(job: Job, trained: Trained, n_bytes: int) -> Params:
    estimator, error = trained.estimator, trained.error
    return {
        **summary_of(estimator),
        "model": job.output,
        "bytes": n_bytes,
        "estimator": type(estimator).__name__,
        "params": {name: value for name, value in estimator.get_params().items() if name != "verbose"},
        "classes": estimator.classes_,
        "rows": trained.n_rows,
        "seconds": trained.seconds,
        f"{error.get('on', 'training')}_error": error or None,
        "provenance": trained.provenance,
        "tuned": trained.tuning,
    }
