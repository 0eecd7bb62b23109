"""``votron tune`` and ``votron train --tune``: parameters of the voted perceptron by cross-validation."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import ArrayLike

from votron._util.pipelines import classifier_of
from votron._util.text import counted, duration, percent, rounded_bytes, rows_used
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.cli import options
from votron.cli.command import NONE, command, option
from votron.cli.models import save_model
from votron.cli.output import Notes, check_named, check_output, print_json, printable, table, wrapped
from votron.cli.reading import (
    behind_encoder,
    check_label,
    encoder_for,
    left_out,
    missing_by_column,
    provenance_of,
    rare_class,
    read_labelled,
    reading_options,
    remarks_on_columns,
)
from votron.cli.weights import by_label, weight_column

if TYPE_CHECKING:
    from votron.cli.training import Job

LISTS = {"kernel": "kernels", "degree": "degrees", "gamma": "gammas", "margin": "margins", "rule": "rules"}
"""Parameters of the classifier that the search has lists of, and what these are called."""
_SAME = ("coef0", "normalize_kernel", "class_weight", "n_jobs", "memory_limit", "epochs")
"""Parameters that are the same for all settings."""
MAX_ROWS = 20_000
_SHOWN = 15


class Values(click.ParamType):  # type: ignore[type-arg]
    """Values separated by commas, of whole numbers also ranges such as 2-4."""

    name = "values"

    def __init__(self, kind: click.ParamType | None = None) -> None:  # type: ignore[type-arg]
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Return the values."""
        found: list[Any] = []
        for part in filter(None, map(str.strip, value.split(","))):
            low, _, high = part.partition("-")
            if low.isdecimal() and high.isdecimal() and int(low) <= int(high) < int(low) + 1000:
                found += range(int(low), int(high) + 1)
            else:
                plain = self.kind is None or part.startswith("scale*")
                found.append(part if plain or self.kind is None else self.kind.convert(part, param, ctx))
        return found or self.fail(f"must be values separated by commas. Got {value!r} instead.", param, ctx)


_list = partial(option, metavar="V,V,...", group="Values to try", into="lists")
_same = partial(option, group="The same for all settings", into="params")


@command(
    "tune",
    examples=[
        "votron tune days.csv --label Play --folds 3 --kernels poly --degrees 1,2 --rules vote,last",
        "votron tune digits --kernels poly --degrees 2-3 --margins 0 -o best.votron",
        "votron tune days.csv --label Play --folds 3 --score auc --class-weight balanced",
    ],
)
@options.data
@options.label(help="Column with the labels, as in `votron train`.")
@options.output(help="Train the best setting on all rows, and write the model to this file.")
@options.score(help="Score to choose by: accuracy, balanced_accuracy, f1 or auc (default: accuracy).")
@option("--folds", metavar="N", type=click.IntRange(min=2), default=5, help="Number of folds (default: 5).")
@option("--random-state", metavar="N", type=click.IntRange(min=0), default=0, help="Seed (default: 0).")
@option(
    "--max-rows",
    metavar="N",
    type=click.IntRange(min=4),
    default=MAX_ROWS,
    help="Search on at most this many rows, drawn at random (default: 20000).",
)
@option(
    "--max-seconds",
    metavar="S",
    type=options.SECONDS,
    help="End in time, with the best so far; the training for -o is part of it (default: no limit).",
)
@option(
    "--halving/--no-halving",
    default=True,
    help="Try settings on a part of the rows first, and go on with the best third (default: on).",
)
@option("--resume", metavar="FOLDER", type=options.FILE, help="Keep results in this folder, and go on from there.")
@option("--sample-weight", metavar="COL", help="Column with weights of rows, which is not a feature.")
@options.common
@options.verbose
@_list("--kernels", type=Values(), help="Kernels (default: rbf).")
@_list("--gammas", type=Values(options.Number("scale", "auto")), help="(default: scale*0.25,scale,scale*4, and on).")
@_list("--degrees", type=Values(options.Number(whole=True)), help="Degrees of poly (default: 1,2,3, and on).")
@_list("--margins", type=Values(options.Number()), help="Margins (default: 0.5,2, and on).")
@_list("--rules", type=Values(), help="Rules (default: vote,average).")
@_same("--epochs", metavar="X", type=options.SECONDS, help="Most passes (default: 32, and on to 128 and 512).")
@_same("--coef0", metavar="X", type=options.Number(), help="Constant of the kernels (default: 1).")
@_same("--normalize-kernel/--no-normalize-kernel", default=None, help="Normalise the kernel (default: off).")
@options.class_weight
@options.n_jobs
@options.training_data
@options.tables
@click.pass_obj
def tune(
    command_line: str,
    data: str,
    label: str | None,
    output: str | None,
    score: str,
    folds: int,
    random_state: int,
    max_rows: int,
    max_seconds: float | None,
    halving: bool,
    resume: str | None,
    sample_weight: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    lists: dict[str, list[Any]],
    params: Params,
    reading: Params,
    table: Params,
) -> None:
    """Choose parameters of the voted perceptron by cross-validation.

    Each setting is fitted once per fold, and that fit gives the scores of all epochs and rules. `votron train --tune`
    is the same search. The table is ordered by `steady`, the score averaged with those of neighbouring epochs, gammas,
    degrees and margins. Other estimators are searched in Python, with scikit-learn's GridSearchCV.
    """
    notes = Notes(quiet)
    check_named(output, "-o")
    check_output(output, inputs=[data])
    _check_lists(lists)
    search = new_search(
        folds,
        random_state,
        notes,
        scoring=score,
        max_rows=max_rows,
        time_limit=max_seconds,
        halving=halving,
        resume=resume,
        refit=output is not None,
        **lists,
        **params,
    )
    column = weight_column(sample_weight, search)
    examples, y = read_labelled(data, **reading_options(reading, table) | ({} if label is None else {"label": label}))
    notes(*check_label(y, examples.label, is_table=examples.columns is not None))
    search.set_params(**by_label({k: v for k, v in params.items() if isinstance(v, dict)}, y))
    X, weights = examples.X, None
    if column is not None:
        X, kept, weights = column.split(examples)
        column.check_some()
        y = y[kept]
    notes(*examples.notes, *remarks_on_columns(X))
    if "class_weight" not in params and score == "accuracy":
        notes(*rare_class(y))
    if examples.dropped:
        notes(f"Left out: {left_out(examples.dropped, examples.unlabelled)}.")
    start = time.monotonic()
    model = behind_encoder(encoder_for("voted", examples, X, reading, table), search)
    fit_search(model, X, y, weights)
    seconds, size = time.monotonic() - start, 0
    if output is not None:
        made = provenance_of(data, examples, examples.n_rows, command_line, reading, table)
        made |= {"tuned": facts_of(search), "missing": missing_by_column(X)}
        made |= {} if column is None else {"sample_weight": column.facts}
        size = save_model(with_best(model), output, made)
    settings = settings_of(search)
    if as_json:
        skipped = [{"params": setting, "reason": why} for setting, why in search.skipped_]
        facts = {"rows": len(y), "seconds": seconds, "skipped": skipped, "table": settings}
        facts["model"] = None if output is None else {"file": output, "bytes": size}
        print_json({"best": search.best_params_, **facts_of(search), **facts})
        return
    print(f"{tried_words(search)}, {folds} folds of {rows_used(min(len(y), max_rows), len(y))}, {duration(seconds)}\n")
    print(settings_table(settings, len(settings) if verbose else _SHOWN))
    for setting, why in search.skipped_ if verbose else ():
        print(wrapped(f"Left out: {setting_words(setting)}: {why}"))
    print(f"\nThe best: {setting_words(search.best_params_)}")
    if output is None:
        print(printable(f"To train it: votron train {shlex.quote(data)} {as_options(search.best_params_)} ..."))
    else:
        print(printable(f"Trained on all {len(y):,} rows: {output}, {rounded_bytes(size)}"))


# -- the search -------------------------------------------------------------------------------------------------------


def new_search(folds: int, seed: int, notes: Notes, **settings: Any) -> Any:
    """Return the search."""
    from sklearn.model_selection import StratifiedKFold

    from votron import VotedPerceptronClassifierCV

    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return VotedPerceptronClassifierCV(cv=splitter, random_state=seed, verbose=int(notes.live), **settings)


def search_for_training(job: Job, params: Mapping[str, Any], seed: int, notes: Notes) -> Any:
    """Return the search of `votron train --tune`: what was typed is not searched."""
    if job.estimator != "voted":
        raise click.UsageError(
            f"--tune is for --estimator voted. Search {job.estimator} in Python with scikit-learn's GridSearchCV, as "
            "docs/tuning.md shows."
        )
    given: Params = {}
    for name, value in params.items():
        if name == "random_state":
            continue
        if name not in (*LISTS, *_SAME) or value is None or (name, value) in (("rule", "auto"), ("rule", "holdout")):
            typed = "" if value is True else f" {NONE if value is None else value}"
            raise click.UsageError(f"--{name.replace('_', '-')}{typed} does not go with --tune.")
        given[LISTS.get(name, name)] = [value] if name in LISTS else value
    limit = None if job.tune is None or math.isinf(job.tune) else job.tune
    settings = {"scoring": job.score, "max_rows": MAX_ROWS, "time_limit": limit, "resume": job.resume}
    return new_search(5, seed, notes, **settings, **given)


def fit_search(model: Estimator, X: RowsLike, y: Array, weights: ArrayLike | None) -> None:
    """Run a search, which may stand after an encoder; Ctrl-C ends it with the best so far."""
    name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
    try:
        model.fit(X, y, **({} if weights is None else {name: weights}))
    except KeyboardInterrupt:
        if getattr(classifier_of(model), "stopped_", "") != "interrupted":
            raise


def with_best(model: Estimator) -> Any:
    """Return the model with the best classifier in place of the search."""
    best = classifier_of(model).best_estimator_
    if not hasattr(model, "steps"):
        return best
    model.steps[-1] = ("model", best)
    return model


def _check_lists(lists: Mapping[str, list[Any]]) -> None:
    """Refuse values that the classifier refuses, and those that no kernel of the search reads, before the work."""
    from votron.cli.training import check_parameters_of
    from votron.kernels import KERNELS

    kernels = lists.get("kernels", ["rbf"])
    for name, several in LISTS.items():
        for value in lists.get(several, ()):
            if not str(value).startswith("scale*"):
                check_parameters_of("voted", {name: value} | ({"kernel": "poly"} if name == "degree" else {}))
        readers = [kernel for kernel, cls in KERNELS.items() if name in cls.parameters()]
        if several in lists and readers and not set(readers) & set(kernels):
            raise click.UsageError(f"--{several} is not for --kernels {','.join(kernels)}: add --kernels {readers[0]}.")


def facts_of(search: Any) -> Params:
    """Return what there is to say of a search beside its table."""
    return {
        "folds": search.n_splits_,
        "settings": search.n_settings_,
        "score": float(search.best_score_),
        "scoring": search.scoring or "accuracy",
        "stopped": search.stopped_,
    }


def settings_of(search: Any) -> list[Params]:
    """Return the settings, the best first, each at its best moment, by its best rule and on the most rows."""
    results, n_folds = search.cv_results_, search.n_splits_
    found: dict[str, Params] = {}
    for i in np.argsort(results["rank_test_score"], kind="stable").tolist():
        params = results["params"][i]
        setting = str({name: value for name, value in params.items() if name not in ("epochs", "rule")})
        numbers = {
            "score": float(results["mean_test_score"][i]),
            "standard_error": float(results["std_test_score"][i]) / (n_folds - 1) ** 0.5,
            "steady_score": float(results["steady_test_score"][i]),
            "fit_seconds": n_folds * float(results["mean_fit_time"][i]),
            "rows": int(results["n_resources"][i]),
        }
        found.setdefault(setting, {**params, **numbers})
    return list(found.values())


# -- as text ----------------------------------------------------------------------------------------------------------


def tried_words(search: Any) -> str:
    """Return how many settings were tried, and why no more."""
    return f"{counted(search.n_settings_, 'setting')} tried" + (f" ({search.stopped_})" if search.stopped_ else "")


def settings_table(settings: Sequence[Mapping[str, Any]], n: int) -> str:
    """Return the best ``n`` settings as a table, the best first."""
    several = len({each["rows"] for each in settings[:n]}) > 1
    cells = [["kernel", "margin", "epochs", "rule", "score", "±", "steady", *["rows"] * several, "fit s"]]
    for each in settings[:n]:
        kernel = " ".join(_shown(each[name]) for name in ("kernel", "degree", "gamma") if name in each)
        own = [_shown(each[name]) for name in ("margin", "epochs", "rule")]
        numbers = [
            percent(each["score"]),
            percent(each["standard_error"]),
            percent(each["steady_score"]),
            *[f"{each['rows']:,}"] * several,
        ]
        cells.append([kernel, *own, *numbers, f"{each['fit_seconds']:.1f}"])
    more = len(settings) - n
    rest = f"\n... and {counted(more, 'more setting')} (--verbose)" if more > 0 else ""
    return table(cells, left=[0, 3]) + rest


def setting_words(params: Mapping[str, Any]) -> str:
    """Return parameters in a line."""
    words = (f"{'' if name in ('kernel', 'rule') else f'{name} '}{_shown(each)}" for name, each in params.items())
    return ", ".join(words)


def as_options(params: Mapping[str, Any]) -> str:
    """Return parameters as options of `votron train`."""
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in params.items())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tuned_words(search: Any, seconds: float) -> str:
    """Return in a line what was tried and found."""
    score = f"{search.scoring or 'accuracy'} {percent(search.best_score_)}"
    best = setting_words(search.best_params_)
    return f"{tried_words(search)}, {search.n_splits_} folds, {duration(seconds)}; {score} with {best}"
