"""``votron train --tune``: parameters that cross-validation chooses before the model is trained on all rows."""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

from votron._progress import Progress
from votron._sentences import duration
from votron.cli import _options
from votron.cli._output import Notes, percent, table
from votron.cli._parser import UsageError, option_of
from votron.cli._reading import behind_encoder, encoder_for
from votron.cli._tune import reporting_to, setting_words

_GRIDS = {"kernel": "kernels", "gamma": "gammas", "degree": "degrees", "margin": "margins", "rule": "rules"}
"""Parameters that are searched, and what the search calls their values: what is typed is the only one."""
_FIXED = ("epochs", "coef0", "normalize_kernel", "memory_limit", "n_jobs", "random_state")
FOLDS = 5
SHOWN = 10
"""Rows of the table that is printed."""


@dataclass
class Tuned:
    """A trained model, and what was tried on the way."""

    model: Any
    words: str
    text: str
    facts: dict[str, Any]


def train_tuned(args: argparse.Namespace, estimator: Any, seed: int, data: Any, X: Any, y: Any, notes: Notes) -> Tuned:
    """Choose parameters, what was typed excepted, and train with them."""
    typed = {name: value for name, value in _options.typed_parameters(args).items() if name != "random_state"}
    encoder = encoder_for(args, data, X)
    search = _by_search if args.estimator == "voted" else _by_grid
    return search(args, typed, estimator, seed, encoder, X, y, notes)


def _seconds(args: argparse.Namespace) -> float | None:
    return None if args.tune is True else float(args.tune)


def _by_search(
    args: argparse.Namespace,
    typed: dict[str, Any],
    estimator: Any,
    seed: int,
    encoder: Any,
    X: Any,
    y: Any,
    notes: Notes,
) -> Tuned:
    """Let `VotedPerceptronClassifierCV` choose, behind the encoder."""
    from votron.estimators import VotedPerceptronClassifierCV

    for name in typed:
        if name not in (*_GRIDS, *_FIXED):
            raise UsageError(f"{option_of(name)} does not go with --tune, which does not search it.")
    if typed.get("epochs", 1) is None:
        raise UsageError("--epochs must be a number with --tune, the most passes to look at. Got 'none' instead.")
    if typed.get("rule") in ("auto", "holdout"):
        raise UsageError(f"--rule {typed['rule']} does not go with --tune, which chooses by cross-validation.")
    params: dict[str, Any] = {_GRIDS[name]: [value] for name, value in typed.items() if name in _GRIDS}
    params |= {name: value for name, value in typed.items() if name in _FIXED}
    search = VotedPerceptronClassifierCV(
        **params, cv=FOLDS, random_state=seed, time_limit=_seconds(args), verbose=int(notes.live)
    )
    start = time.monotonic()
    model = behind_encoder(encoder, search)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The time limit of")  # the summary says so
        model.fit(X, y)
    seconds = time.monotonic() - start
    best = search.best_estimator_.set_params(verbose=0)
    model = best if encoder is None else model.set_params(model=best)
    results = search.cv_results_
    rows = [
        (params, 1 - float(score), float(spread) / (FOLDS - 1) ** 0.5, int(n))  # the standard error, as of a grid
        for params, score, spread, n in zip(
            results["params"],
            results["mean_test_score"],
            results["std_test_score"],
            results["n_resources"],
            strict=True,
        )
    ]
    order = results["rank_test_score"].argsort(kind="stable")
    return _tuned(model, [rows[i] for i in order], rows[search.best_index_], seconds, search.stopped_)


def _by_grid(
    args: argparse.Namespace,
    typed: dict[str, Any],
    estimator: Any,
    seed: int,
    encoder: Any,
    X: Any,
    y: Any,
    notes: Notes,
) -> Tuned:
    """Let `votron.tuning.tune` choose from the grid of the classifier, and train."""
    from votron.tuning import tune

    start = time.monotonic()
    with Progress(None, notes.live, label="Tuning", erase=True) as progress:
        result = tune(
            X,
            y,
            estimator=args.estimator,
            params=typed,
            encoder=encoder,
            folds=FOLDS,
            random_state=seed,
            max_seconds=_seconds(args),
            callback=reporting_to(progress),
            extend=True,
        )
    model = behind_encoder(encoder, estimator.set_params(**result.best))
    model.fit(X, y)
    n_rows = result.n_used * (FOLDS - 1) // FOLDS
    rows = [(row.params, row.error, row.standard_error, n_rows) for row in result.ranked()]
    return _tuned(model, rows, rows[0], time.monotonic() - start, result.stopped)


def _tuned(model: Any, rows: list[Any], best: Any, seconds: float, stopped: str) -> Tuned:
    """Return the model with what there is to say of the search."""
    params, error, *_ = best
    why = f" ({stopped})" if stopped else ""
    words = (
        f"{len(rows)} trials{why}, {FOLDS} folds, {duration(seconds)}; error {percent(error)}, which is optimistic, on "
        f"the folds with {setting_words(params)}"
    )
    cells = [["setting", "error", "±", "rows"]]
    cells += [[setting_words(each), percent(err), percent(std), f"{n:,}"] for each, err, std, n in rows[:SHOWN]]
    text = table(cells, left=[0])
    if len(rows) > SHOWN:
        text += f"\n... and {len(rows) - SHOWN} more trials, which --json shows"
    facts = {"folds": FOLDS, "settings": len(rows), "error": error, "seconds": seconds, "stopped": stopped}
    tried = [
        {name: value if isinstance(value, str | int | float | None) else repr(value) for name, value in each.items()}
        | {"error": err, "standard_deviation": std, "rows": n}
        for each, err, std, n in rows
    ]
    return Tuned(model, words, text, facts | {"table": tried})
