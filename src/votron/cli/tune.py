"""``votron tune`` and ``votron train --tune``: parameters of the voted perceptron by cross-validation."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from votron._util.pipelines import classifier_of
from votron._util.text import counted, duration, percent, rounded_bytes, rows_used
from votron._util.types import Estimator, Params
from votron.cli import options
from votron.cli.command import NONE, NewFile, command, option, switch
from votron.cli.models import provenance_of, save_model
from votron.cli.output import Output, printable, table, wrapped
from votron.cli.reading import (
    FileRows,
    WeightColumn,
    behind_encoder,
    by_label,
    encoder_for,
    missing_by_column,
    reading_options,
    remarks_on,
    rows_to_train_on,
    weight_column,
)
from votron.cli.training import Job, TrainingOutcome, fit

LISTS = {"kernel": "kernels", "degree": "degrees", "gamma": "gammas", "margin": "margins", "rule": "rules"}
"""Parameters of the classifier that the search has lists of, and what these are called."""
_MAX_ROWS, _SHOWN = 20_000, 15

_NUMBERS = options.Values(options.Number("scale", "auto"))

_list = partial(option, group="Values to try", into="lists")
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
@options.label("Column with the labels, as in `votron train`.")
@options.output("Train the best setting on all rows, and write the model to this file.", NewFile())
@options.score
@options.folds
@options.seed
@options.max_rows
@option(
    "--max-seconds",
    "S",
    "End in time, with the best so far; the training for -o is part of it (default: no limit).",
    options.SECONDS,
)
@switch("halving", "Try settings on a part of the rows first, and go on with the best third (default: on).", True)
@option("--resume", "FOLDER", "Keep results in this folder, and go on from there.", options.FILE)
@options.sample_weight("Column with weights of rows, which is not a feature.")
@options.common
@options.verbose
@_list("--kernels", "NAME,...", "Kernels (default: rbf).", options.Values())
@_list("--gammas", "X,...", "Gammas (default: scale*0.25,scale,scale*4, and on).", _NUMBERS)
@_list("--degrees", "N,...", "Degrees of poly, such as 2,4-5 (default: 1,2,3, and on).", options.Values(click.INT))
@_list("--margins", "X,...", "Margins (default: 0.5,2, and on).", _NUMBERS)
@_list("--rules", "NAME,...", "Rules (default: vote,average).", options.Values())
@_same("--epochs", "X", "Most passes (default: 32, and on to 128 and 512).", options.SECONDS)
@_same("--coef0", "X", "Constant of the kernels (default: 1).", options.Number())
@switch("normalize-kernel", "Normalise the kernel (default: off).", group="The same for all settings", into="params")
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
    lists: dict[str, list[object]],
    params: Params,
    reading: Params,
    table: Params,
    out: Output,
) -> None:
    """Choose parameters of the voted perceptron by cross-validation.

    Each setting is fitted once per fold, and that fit gives the scores of all epochs and rules. `votron train --tune`
    is the same search. The table is ordered by `steady`, the score averaged with those of neighbouring epochs, gammas,
    degrees and margins. Other estimators are searched in Python, with scikit-learn's GridSearchCV.
    """
    _check_kernels(lists)
    how = {"scoring": score, "max_rows": max_rows, "time_limit": max_seconds, "halving": halving, "resume": resume}
    search = _new_search(folds, random_state, out, **how, refit=output is not None, **lists, **params)
    column = weight_column(sample_weight, search)
    rows = rows_to_train_on(data, reading_options(reading, table, label), column, out)
    out.note(*remarks_on(rows, weighed="class_weight" in params or score != "accuracy"))
    search.set_params(**by_label(params, rows.y))
    start, n = time.monotonic(), len(rows.y)
    model = behind_encoder(encoder_for("voted", rows, reading, table), search)
    fit(model, rows)
    seconds, size = time.monotonic() - start, 0
    if output is not None:
        made = provenance_of(data, rows.examples, rows.examples.n_rows, command_line, reading, table)
        made |= {"tuned": _facts(search), "missing": missing_by_column(rows.X)}
        made |= {} if column is None else {"sample_weight": column.facts}
        size = save_model(_with_best(model), output, made)
    settings = _settings(search)
    facts = {
        "best": search.best_params_,
        **_facts(search),
        "rows": n,
        "seconds": seconds,
        "skipped": [{"params": setting, "reason": why} for setting, why in search.skipped_],
        "table": settings,
        "model": None if output is None else {"file": output, "bytes": size},
    }
    lines = [f"{_tried(search)}, {folds} folds of {rows_used(min(n, max_rows), n)}, {duration(seconds)}\n"]
    lines.append(_table(settings, len(settings) if out.verbose else _SHOWN))
    for setting, why in search.skipped_ if out.verbose else ():
        lines.append(wrapped(f"Left out: {_in_words(setting)}: {why}"))
    lines.append(f"\nThe best: {_in_words(search.best_params_)}")
    if output is None:
        lines.append(printable(f"To train it: {_train_command(command_line, search.best_params_, random_state)}"))
    else:
        lines.append(printable(f"Trained on all {n:,} rows: {output}, {rounded_bytes(size)}"))
    out.show(facts, "\n".join(lines))


# -- the search -------------------------------------------------------------------------------------------------------


def _new_search(folds: int, seed: int, out: Output, **settings: Any) -> Estimator:
    from sklearn.model_selection import StratifiedKFold

    from votron import VotedPerceptronClassifierCV

    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return VotedPerceptronClassifierCV(cv=splitter, random_state=seed, verbose=int(out.live), **settings)


def tuned(
    job: Job, params: Params, seed: int, rows: FileRows, encoder: Estimator, column: WeightColumn | None
) -> TrainingOutcome:
    """Train the best setting for `votron train --tune`: what was typed is not searched."""
    if job.estimator != "voted":
        raise click.UsageError(
            f"--tune is for --estimator voted. Search {job.estimator} in Python with scikit-learn's GridSearchCV, as "
            "docs/tuning.md shows."
        )
    from votron.estimators.voted_cv import SHARED

    given: Params = {}
    settable = {*LISTS, *SHARED, "epochs"}
    for name, value in params.items():
        if name == "random_state":
            continue
        if name not in settable or value is None or (name, value) in (("rule", "auto"), ("rule", "holdout")):
            typed = "" if value is True else f" {NONE if value is None else value}"
            raise click.UsageError(f"--{name.replace('_', '-')}{typed} does not go with --tune.")
        given[LISTS.get(name, name)] = [value] if name in LISTS else value
    limit = None if job.tune is None or math.isinf(job.tune) else job.tune
    how = {"scoring": job.score, "max_rows": _MAX_ROWS, "time_limit": limit, "resume": job.resume}
    n_folds = min(5, max(2, int(np.unique(rows.y, return_counts=True)[1].max())))
    search, start = _new_search(n_folds, seed, job.out, **how, **given), time.monotonic()
    model = behind_encoder(encoder, search)
    fit(model, rows)
    seconds, facts, settings = time.monotonic() - start, _facts(search), _settings(search)
    trained = TrainingOutcome(
        _with_best(model), rows.examples, rows.examples.n_rows, len(rows.y), seconds, column, rows
    )
    trained.provenance["tuned"], trained.tuning = facts, facts | {"table": settings}
    score = f"{facts['scoring']} {percent(search.best_score_)}"
    best = _in_words(search.best_params_)
    trained.remarks["tuned"] = f"{_tried(search)}, {n_folds} folds, {duration(seconds)}; {score} with {best}"
    trained.tried = _table(settings, 10)
    return trained


def _with_best(model: Estimator) -> Estimator:
    """Return the model with the best classifier in place of the search."""
    best = classifier_of(model).best_estimator_
    best.set_params(verbose=0)  # whoever opens the file has another terminal
    if not hasattr(model, "steps"):
        return best
    model.steps[-1] = ("model", best)
    return model


def _check_kernels(lists: Mapping[str, Sequence[object]]) -> None:
    """Refuse values that no kernel of the search reads, before the work."""
    from votron.kernels import KERNELS

    kernels = lists.get("kernels", ["rbf"])
    for name, several in LISTS.items():
        readers = [kernel for kernel, cls in KERNELS.items() if name in cls.parameters()]
        if several in lists and readers and not set(readers) & set(kernels):
            raise click.UsageError(f"--{several} is not for these kernels: add --kernels {readers[0]}.")


def _facts(search: Estimator) -> Params:
    return {
        "folds": search.n_splits_,
        "settings": search.n_settings_,
        "score": float(search.best_score_),
        "scoring": search.scoring or "accuracy",
        "stopped": search.stopped_,
    }


def _settings(search: Estimator) -> list[Params]:
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


def _tried(search: Estimator) -> str:
    return f"{counted(search.n_settings_, 'setting')} tried" + (f" ({search.stopped_})" if search.stopped_ else "")


def _table(settings: Sequence[Params], n: int) -> str:
    """Return the best ``n`` settings as a table."""
    several = len({each["rows"] for each in settings[:n]}) > 1
    cells = [["kernel", "margin", "epochs", "rule", "score", "±", "steady", *["rows"] * several, "fit s"]]
    for each in settings[:n]:
        kernel = " ".join(_shown(each[name]) for name in ("kernel", "degree", "gamma") if name in each)
        own = [_shown(each[name]) for name in ("margin", "epochs", "rule")]
        numbers = [percent(each[name]) for name in ("score", "standard_error", "steady_score")]
        cells.append([kernel, *own, *numbers, *[f"{each['rows']:,}"] * several, f"{each['fit_seconds']:.1f}"])
    more = len(settings) - n
    return table(cells, left=[0, 3], more=counted(more, "more setting") if more > 0 else "")


def _in_words(params: Params) -> str:
    words = (f"{'' if name in ('kernel', 'rule') else f'{name} '}{_shown(each)}" for name, each in params.items())
    return ", ".join(words)


def _train_command(typed: str, best: Params, seed: int) -> str:
    """Return the command that trains the best setting on the data that were typed."""
    context = click.get_current_context()
    given, _, _ = context.command.make_parser(context).parse_args(shlex.split(typed)[2:])
    words = ["votron", "train", given["data"]]
    for param in context.command.params:
        values = given.get(param.name)
        same = param.name in ("label", "sample_weight") or getattr(param, "into", None) in (
            "params",
            "reading",
            "table",
        )
        if same and param.name in given and param.name not in best:
            for value in values if isinstance(values, list) else [values]:
                words += [param.secondary_opts[0]] if value is False else [param.opts[0]]
                words += [value] if isinstance(value, str) else []
    for name, value in best.items():
        words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join([*words, "--random-state", str(seed), "-o", "model.votron"])


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
