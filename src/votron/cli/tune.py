"""``votron tune`` and ``votron train --tune``: parameters of the voted perceptron by cross-validation."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from votron._util.pipelines import classifier_of
from votron._util.text import counted, duration, percent, rows_used
from votron._util.types import Estimator, Params
from votron.cli import options
from votron.cli.command import NONE, command, number, option, switch, values
from votron.cli.output import Output, table, wrapped
from votron.cli.reading import DataArgument, FileRows, behind_encoder, by_label, remarks_on, rows_to_train_on
from votron.cli.training import Job, Trained, check_read, fit

LISTS = {"kernel": "kernels", "degree": "degrees", "gamma": "gammas", "margin": "margins", "rule": "rules"}
"""Parameters of the classifier that the search has lists of, and what these are called."""
_NOT_SEARCHED = (("rule", "auto"), ("rule", "holdout"))
_MAX_ROWS, _SHOWN = 20_000, 15
_NUMBERS = values(number("scale", "auto"))

_list = partial(option, group="Values to try", into="lists")
_same = partial(option, group="The same for all settings", into="params")


@command("tune", examples=["votron tune days.csv --label Play --folds 3 --kernels poly --degrees 1,2"])
@options.data
@options.label("Column with the labels, as in `votron train`.")
@options.score
@options.folds
@options.seed
@options.max_rows
@option("--max-seconds time_limit", "S", "End in time, with the best so far.", options.SECONDS)
@switch("halving", "Try settings on a part of the rows first, and go on with the best third (default: on).", True)
@option("--resume", "FOLDER", "Keep results in this folder, and go on from there.", options.FILE)
@options.sample_weight("Column with weights of rows, which is not a feature.")
@options.common
@options.verbose
@_list("--kernels", "NAME,...", "Kernels (default: rbf).", values())
@_list("--gammas", "X,...", "Gammas (default: scale*0.25,scale,scale*4, and on).", _NUMBERS)
@_list("--degrees", "N,...", "Degrees of poly, such as 2,4-5 (default: 1,2,3, and on).", values(int))
@_list("--margins", "X,...", "Margins (default: 0.5,2, and on).", _NUMBERS)
@_list("--rules", "NAME,...", "Rules (default: vote,average).", values())
@_same("--epochs", "X", "Most passes (default: 32, and on to 128 and 512).", options.SECONDS)
@_same("--coef0", "X", "Constant of the kernels (default: 1).", number())
@switch("normalize-kernel", "Normalise the kernel (default: off).", group="The same for all settings", into="params")
@options.class_weight
@options.n_jobs
@options.training_data
@options.tables
def tune(
    data: DataArgument,
    folds: int,
    random_state: int,
    sample_weight: str | None,
    lists: Params,
    params: Params,
    out: Output,
    **how: Any,
) -> None:
    """Choose parameters of the voted perceptron by cross-validation.

    Each setting is fitted once per fold, and that fit gives the scores of all epochs and rules. `votron train --tune`
    is the same search. The table is ordered by `steady`, the score averaged with those of neighbouring epochs, gammas,
    degrees and margins. Other estimators are searched in Python, with scikit-learn's GridSearchCV.
    """
    score, max_rows, kernels = how.pop("score"), how["max_rows"], lists.get("kernels", ["rbf"])
    check_read({name: several for name, several in LISTS.items() if several in lists}, kernels, "--kernels")
    search = _new_search(folds, random_state, out, scoring=score, **how, refit=False, **lists, **params)
    rows = rows_to_train_on(data, sample_weight, out)
    out.note(*remarks_on(rows, weighed="class_weight" in params or score != "accuracy"))
    search.set_params(**by_label(params, rows.y))
    model = behind_encoder(data.encoder(search, rows.X, rows.examples.label), search)
    found, n = _searched(model, rows), len(rows.y)
    lines = [f"{_tried(search)}, {folds} folds of {rows_used(min(n, max_rows), n)}, {duration(found['seconds'])}\n"]
    lines.append(as_table(found["table"], None if out.verbose else _SHOWN))
    for setting, why in search.skipped_ if out.verbose else ():
        lines.append(wrapped(f"Left out: {_as_options(setting)}: {why}"))
    lines.append(f"\nThe best, as options of `votron train`: {_as_options(search.best_params_)}")
    skipped = [{"params": setting, "reason": why} for setting, why in search.skipped_]
    found |= {"best": search.best_params_, "rows": n, "skipped": skipped}
    out.show(found, "\n".join(lines))


def tuned(job: Job, params: Params, seed: int, rows: FileRows, encoder: Estimator) -> Trained:
    """Train the best setting for `votron train --tune`: what was typed is not searched."""
    from votron.estimators.voted_cv import SHARED

    if job.estimator != "voted":
        raise click.UsageError(f"--tune is for --estimator voted. Got --estimator {job.estimator} instead.")
    given: Params = {}
    for name, value in params.items():
        if name == "random_state":
            continue
        if name not in (*LISTS, *SHARED, "epochs") or value is None or (name, value) in _NOT_SEARCHED:
            typed = "" if value is True else f" {NONE if value is None else value}"
            raise click.UsageError(f"--{name.replace('_', '-')}{typed} does not go with --tune.")
        given[LISTS.get(name, name)] = [value] if name in LISTS else value
    limit = None if job.tune is None or math.isinf(job.tune) else job.tune
    how = {"scoring": job.score, "max_rows": _MAX_ROWS, "time_limit": limit, "resume": job.resume}
    n_folds = min(5, max(2, int(np.unique(rows.y, return_counts=True)[1].max())))
    search = _new_search(n_folds, seed, job.out, **how, **given)
    model = behind_encoder(encoder, search)
    found = _searched(model, rows)
    best = search.best_estimator_.set_params(verbose=0)  # whoever opens the file has another terminal
    model = behind_encoder(encoder, best)
    trained = Trained(model, rows.examples, len(rows.y), found["seconds"], rows, tuning=found)
    trained.provenance["tuned"] = _facts(search)
    score = f"{found['scoring']} {percent(search.best_score_)}"
    took, chosen = duration(found["seconds"]), _as_options(search.best_params_)
    trained.remarks["tuned"] = f"{_tried(search)}, {n_folds} folds, {took}; {score} with {chosen}"
    return trained


def _searched(model: Estimator, rows: FileRows) -> Params:
    """Run the search that a model ends with; return what it found."""
    start = time.monotonic()
    fit(model, rows)
    search = classifier_of(model)
    return {**_facts(search), "seconds": time.monotonic() - start, "table": _settings(search)}


def _new_search(folds: int, seed: int, out: Output, **settings: Any) -> Estimator:
    from sklearn.model_selection import StratifiedKFold

    from votron import VotedPerceptronClassifierCV

    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return VotedPerceptronClassifierCV(cv=splitter, random_state=seed, verbose=int(out.live), **settings)


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


def _tried(search: Estimator) -> str:
    return f"{counted(search.n_settings_, 'setting')} tried" + (f" ({search.stopped_})" if search.stopped_ else "")


def as_table(settings: Sequence[Params], most: int | None) -> str:
    cells = [["kernel", "margin", "epochs", "rule", "score", "±", "steady", "rows", "fit s"]]
    for each in settings:
        kernel = " ".join(_shown(each[name]) for name in ("kernel", "degree", "gamma") if name in each)
        own = [_shown(each[name]) for name in ("margin", "epochs", "rule")]
        numbers = [percent(each[name]) for name in ("score", "standard_error", "steady_score")]
        cells.append([kernel, *own, *numbers, f"{each['rows']:,}", f"{each['fit_seconds']:.1f}"])
    return table(cells, left=[0, 3], most=most)


def _as_options(params: Params) -> str:
    return " ".join(f"--{name} {f'{value:g}' if isinstance(value, float) else value}" for name, value in params.items())


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
