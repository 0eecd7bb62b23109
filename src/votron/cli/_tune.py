"""``votron tune`` and ``votron train --tune``: parameters of the voted perceptron by cross-validation."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from votron._util.pipelines import classifier_of
from votron._util.text import counted, duration, percent, rounded_bytes, rows_used
from votron.cli import _options
from votron.cli._advice import remark_on_label
from votron.cli._holes import holes_of_training
from votron.cli._models import save_model
from votron.cli._output import Notes, check_output_path, print_json, printable, table, wrapped
from votron.cli._parser import Parser, UsageError, as_arguments, positive, rewording, whole_number
from votron.cli._reading import (
    make_model,
    provenance_of,
    read_labelled,
    remarks_on_columns,
    tell_left_out,
    typed_reading,
)
from votron.cli._weights import about_holes, settle_labels, weight_column

LISTS = {"kernel": "kernels", "degree": "degrees", "gamma": "gammas", "margin": "margins", "rule": "rules"}
"""Parameters of the classifier that the search has lists of, and what these are called."""
_SAME = ("coef0", "normalize_kernel", "class_weight")
"""Parameters that are the same for all settings."""
_OF_KERNEL = ("kernel", "degree", "gamma")
"""Parameters that share a column, so that the table fits on a screen."""
_NOT_SEARCHED = (("rule", "auto"), ("rule", "holdout"))
"""Values that choose by rows of their own."""
MAX_ROWS = 20_000

EXAMPLES = [
    ("votron tune days.csv --label Play --folds 3 --kernels poly --degrees 1,2 --rules vote,last", "a small search"),
    (
        "votron tune digits --kernels poly --degrees 2-3 --margins 0 -o best.votron",
        "and train the best setting on all rows",
    ),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron tune DATA --label COL [-o MODEL] [options]",
        "Choose parameters of the voted perceptron by cross-validation. Each setting is fitted once per fold, and that "
        "fit gives the errors of all epochs and rules. Prints the settings with their errors, and the command that "
        "trains the best. `votron train --tune` is the same search.",
        EXAMPLES,
    )
    _options.add_data(parser)
    label = _options.add_label(parser, "column with the labels, as in `votron train`")
    _options.add_output(parser, "train the best setting on all rows, and write the model to this file")
    add = parser.add_argument
    add("--estimator", default=_options.DEFAULT_ESTIMATOR, help=argparse.SUPPRESS)  # whose error tells what to do
    add("--folds", type=whole_number(2), default=5, metavar="N", help="number of folds (default: 5)")
    add("--random-state", type=whole_number(0), default=0, metavar="N", help="seed for folds and fits (default: 0)")
    add(
        "--max-rows",
        type=whole_number(4),
        default=MAX_ROWS,
        metavar="N",
        help=f"search on at most this many rows, drawn at random (default: {MAX_ROWS})",
    )
    add(
        "--max-seconds",
        type=positive,
        metavar="S",
        help="end the search in time, with the best so far; with -o, time for training the best is left (default: no "
        "limit)",
    )
    add(
        "--halving",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="with many rows, try settings on a part of them first, 500 at least, each time a third of the next, and "
        "go on with the best third (default: on)",
    )
    add("--resume", metavar="FOLDER", help="keep each result in this folder; the same search then goes on from there")
    add("--rows", type=whole_number(), default=15, metavar="N", help="number of settings to print (default: 15)")
    weights = _options.add_sample_weight(parser, "they count in training and in the errors of the folds")
    _options.add_common(parser)
    _add_grid(parser, arguments)
    groups = _options.add_reading(parser), _options.add_encoding(parser)
    again = [label, *(action for group in groups for action in group._group_actions), weights]
    parser.set_defaults(run=lambda args: run(args, typed_again(again, args)))


def _add_grid(parser: Parser, arguments: Sequence[str]) -> None:
    """Add the values to try, and parameters that are the same for all settings."""
    lists = parser.add_argument_group(
        "values to try, separated by commas",
        "gammas, degrees and margins that are not given go on where the best is the smallest or the largest",
    )
    defaults = {"kernel": "rbf", "degree": "1,2,3", "gamma": "scale*0.25,scale,scale*4", "margin": "0.5,2"}
    defaults["rule"] = "vote,average"
    parameters = {parameter.name: parameter for parameter in _options.parameters_of("voted")}
    for name, several in LISTS.items():
        values = {"dest": several, "default": None, "type": _values(parameters[name]), "metavar": "V,V,..."}
        parameters[name].add_option(lists, arguments, f"--{several}", defaults[name], **values)
    same = parser.add_argument_group("the same for all settings")
    same.add_argument(
        "--epochs",
        type=positive,
        metavar="X",
        help="most passes of a fit; fewer are chosen where they do better (default: 32, and on to 128 and 512)",
    )
    for name in _SAME:
        parameters[name].add_to(same, arguments)


def _values(parameter: Any) -> Callable[[str], list[Any]]:
    """Return the type of an option with several values of a parameter."""

    def read_all(text: str) -> list[Any]:
        found: list[Any] = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            low, dash, high = part.partition("-")
            if parameter.numbers is int and dash and low.isdecimal() and high.isdecimal() and int(low) <= int(high):
                found += range(int(low), min(int(high), int(low) + 1000) + 1)
            else:
                found.append(part if part.startswith("scale*") else parameter.read(part))
        if not found:
            raise argparse.ArgumentTypeError(f"must be values separated by commas. Got {text!r} instead.")
        return found

    return read_all


def typed_again(actions: Iterable[argparse.Action], args: argparse.Namespace) -> list[str]:
    """Return the options that were given, as one would type them.

    Examples
    --------
    >>> parser = Parser()
    >>> group = _options.add_reading(parser)
    >>> args = parser.parse_args(["--delimiter", "tab", "--quote", "", "--resize", "8x6", "--drop", "a", "--drop=-b"])
    >>> typed_again(group._group_actions, args)
    ['--drop', 'a', '--drop=-b', '--delimiter', 'tab', '--quote', '', '--resize', '8x6']
    """
    typed: list[str] = []
    for action in actions:
        found = getattr(args, action.dest)
        if found == action.default:
            continue
        if action.nargs == 0:  # the last name of --header and --no-header is the one that says no
            typed.append(action.option_strings[-1 if found is False else 0])
            continue
        for value in found if isinstance(found, list) else [found]:
            option = action.option_strings[-1]
            text = "x".join(map(str, value)) if isinstance(value, tuple) else "tab" if value == "\t" else str(value)
            typed += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return typed


# -- the search -------------------------------------------------------------------------------------------------------


def new_search(estimator: str, folds: int, seed: int, notes: Notes, **options: Any) -> Any:
    """Return the search, for the voted perceptron only."""
    from sklearn.model_selection import StratifiedKFold

    from votron import VotedPerceptronClassifierCV

    if estimator != "voted":
        raise UsageError(
            f"Only --estimator voted has a search of its own. Search {estimator} with scikit-learn's GridSearchCV, as "
            "docs/tuning.md shows."
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return VotedPerceptronClassifierCV(cv=splitter, random_state=seed, verbose=int(notes.live), **options)


def search_for_training(args: argparse.Namespace, seed: int, notes: Notes) -> Any:
    """Return the search of ``votron train --tune``: what was typed is not searched."""
    typed = {name: value for name, value in _options.typed_parameters(args).items() if name != "random_state"}
    known = (*LISTS, *_SAME, "epochs", "n_jobs", "memory_limit")
    for name, value in typed.items():
        if args.estimator == "voted" and (name not in known or value is None or (name, value) in _NOT_SEARCHED):
            raise UsageError(f"{shlex.join(as_arguments({name: value}))} does not go with --tune.")
    given = {LISTS.get(name, name): [value] if name in LISTS else value for name, value in typed.items()}
    limit = None if args.tune is True else float(args.tune)
    return new_search(args.estimator, 5, seed, notes, max_rows=MAX_ROWS, time_limit=limit, resume=args.resume, **given)


def fit_search(model: Any, X: Any, y: Any, weights: Any) -> Any:
    """Run a search, which may stand behind an encoder, and return it; Ctrl-C ends it with the best so far."""
    search = classifier_of(model)
    try:
        name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
        model.fit(X, y, **({} if weights is None else {name: weights}))
    except KeyboardInterrupt:
        if getattr(search, "stopped_", "") != "interrupted":
            raise
    return search


def with_best(model: Any) -> Any:
    """Return the model with the best classifier in the place of the search."""
    search = classifier_of(model)
    if not hasattr(model, "steps"):
        return search.best_estimator_
    model.steps[-1] = ("model", search.best_estimator_)
    return model


def facts_of(search: Any) -> dict[str, Any]:
    """Return what there is to say of a search beside its table."""
    return {
        "folds": search.n_splits_,
        "settings": search.n_settings_,
        "error": 1 - search.best_score_,
        "stopped": search.stopped_,
    }


def settings_of(search: Any) -> list[dict[str, Any]]:
    """Return the settings, the best first, each at its best moment, by its best rule and on the most rows."""
    results, n_folds, seen = search.cv_results_, search.n_splits_, set()
    found = []
    for i in np.argsort(results["rank_test_score"], kind="stable").tolist():
        params = results["params"][i]
        setting = str({name: value for name, value in params.items() if name not in ("epochs", "rule")})
        if setting in seen:
            continue
        seen.add(setting)
        numbers = {
            "error": 1 - float(results["mean_test_score"][i]),
            "standard_error": float(results["std_test_score"][i]) / (n_folds - 1) ** 0.5,
            "steady_error": 1 - float(results["steady_test_score"][i]),
            "fit_seconds": n_folds * float(results["mean_fit_time"][i]),
            "rows": int(results["n_resources"][i]),
        }
        found.append({**params, **numbers})
    return found


# -- the command ------------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace, reading: Sequence[str]) -> int:
    """Search, print the table, and train the best if asked to; ``reading`` has the options of reading, as typed."""
    notes = Notes(args.quiet)
    if args.output is not None:
        if args.output == "-":
            raise UsageError("-o must be the name of a file here. Got '-' instead.")
        check_output_path(args.output, "the model", inputs=[args.data])
    search = _search_of(args, notes)
    column = weight_column(args, search)
    with rewording(about_holes(args)):
        data, y = read_labelled(args.data, **typed_reading(args))
    if (remark := remark_on_label(y, data.label, is_table=data.columns is not None)) is not None:
        notes(remark)
    settle_labels(args, search, y)
    X, weights = data.X, None
    if column is not None:
        X, weighed, weights = column.split(data)
        column.check_some()
        y = y[weighed]
    for remark in (*data.notes, *remarks_on_columns(args, X)):
        notes(remark)
    tell_left_out(notes, data.dropped, data.unlabelled)
    start, model = time.monotonic(), make_model(args, search, data, X)
    with rewording({"cell": lambda cell: f"in feature {cell.facts['feature']} (the first is 1)"}):
        fit_search(model, X, y, weights)
    seconds, size = time.monotonic() - start, 0
    if args.output is not None:
        more = {"tuned": facts_of(search)} | holes_of_training(args, data.X)
        more |= {} if column is None else {"sample_weight": column.facts}
        size = save_model(with_best(model), args.output, provenance_of(args, data, data.n_rows) | more)
    command = _best_command(args, reading, search)
    if args.json:
        print_json(_document(search, len(y), seconds) | {"command": command, "model": args.output, "bytes": size})
        return 0
    rows = rows_used(min(len(y), args.max_rows), len(y))
    print(f"{tried_words(search)}, {args.folds} folds of {rows}, {duration(seconds)}\n")
    print(_text(search, args.rows))
    print(f"\nTo train it:\n  {printable(command)}")
    if size:
        best = f"The best, trained on all {len(y):,} rows: {args.output}, {rounded_bytes(size)}"
        print(printable(f"\n{best}", keep="\n"))
    return 0


def _search_of(args: argparse.Namespace, notes: Notes) -> Any:
    """Return the search for what was typed."""
    given: dict[str, Any] = {name: getattr(args, name, None) for name in (*LISTS.values(), *_SAME, "epochs", "resume")}
    given = {name: value for name, value in given.items() if value is not None}
    _check_lists(given)
    return new_search(
        args.estimator,
        args.folds,
        args.random_state,
        notes,
        max_rows=args.max_rows,
        time_limit=args.max_seconds,
        halving=args.halving,
        refit=args.output is not None,
        **given,
    )


def _document(search: Any, n_rows: int, seconds: float) -> dict[str, Any]:
    """Return what was found for --json."""
    skipped = [{"params": params, "reason": why} for params, why in search.skipped_]
    facts = {"rows": n_rows, "seconds": seconds, "skipped": skipped, "table": settings_of(search)}
    return {"best": search.best_params_, **facts_of(search), **facts}


def _text(search: Any, n: int) -> str:
    """Return the best ``n`` settings as a table, what was left out, and the best."""
    settings = settings_of(search)
    lines = [settings_table(settings, n)]
    lines += [wrapped(f"Left out: {setting_words(params)}: {why_not}") for params, why_not in search.skipped_]
    lines += ["", f"The best: {percent(settings[0]['error'])} ± {percent(settings[0]['standard_error'])}"]
    lines += [wrapped("The error of the best of many is optimistic: measure it on data that tuning has not seen.")]
    return "\n".join(lines)


def _check_lists(lists: dict[str, list[Any]]) -> None:
    """Refuse values that the classifier refuses, and those that no kernel of the search reads, before the work."""
    from votron.kernels import KERNELS

    for name, several in LISTS.items():
        for value in lists.get(several, ()):
            if not str(value).startswith("scale*"):
                _options.make_estimator("voted", {name: value})
        readers = [kernel for kernel, cls in KERNELS.items() if name in cls.parameters()]
        kernels = lists.get("kernels", ["rbf"])
        if several in lists and readers and not set(readers) & set(kernels):
            raise UsageError(
                f"--{several} is not for --kernels {','.join(kernels)}: add --kernels {readers[0]}, or leave it out."
            )


def _best_command(args: argparse.Namespace, reading: Sequence[str], search: Any) -> str:
    """Return the command that trains the best, with all that says how data are read."""
    same = {name: getattr(search, name) for name in _SAME}
    defaults = {parameter.name: parameter.default for parameter in _options.parameters_of("voted")}
    best = {name: value for name, value in (search.best_params_ | same).items() if defaults.get(name) != value}
    typed = ["votron", "train", args.data, *reading, *as_arguments(best | {"random_state": args.random_state})]
    return shlex.join([*typed, "-o", args.output or "model.votron"])


# -- as text ----------------------------------------------------------------------------------------------------------


def tried_words(search: Any) -> str:
    """Return how many settings were tried, and why no more."""
    why = search.stopped_
    if not why and search.time_limit is not None:
        why = f"all there are to try, in less than the {search.time_limit:g} s allowed"
    return f"{counted(search.n_settings_, 'setting')} tried" + (f" ({why})" if why else "")


def settings_table(settings: Sequence[dict[str, Any]], n: int) -> str:
    """Return the best ``n`` settings as a table, the best first."""
    several = len({each["rows"] for each in settings[:n]}) > 1
    cells = [["kernel", "margin", "epochs", "rule", "error", "±", "steady", *["rows"] * several, "fit s"]]
    for each in settings[:n]:
        numbers = [percent(each[name]) for name in ("error", "standard_error", "steady_error")]
        counts = [f"{each['rows']:,}"] * several
        kernel = " ".join(_shown(each[name]) for name in _OF_KERNEL if name in each)
        own = [_shown(each[name]) for name in ("margin", "epochs", "rule")]
        cells.append([kernel, *own, *numbers, *counts, f"{each['fit_seconds']:.1f}"])
    text = table(cells, left=[0, 3])
    if len(settings) > n:
        text += f"\n... and {counted(len(settings) - n, 'more setting')}, which --json shows"
    return f"{text}\n" + wrapped(
        "Best first by steady error, which is averaged with that of neighbouring epochs, gammas, degrees and margins."
    )


def setting_words(params: dict[str, Any]) -> str:
    """Return parameters in a line.

    Examples
    --------
    >>> setting_words({"kernel": "rbf", "gamma": 0.0512345, "margin": 2.0, "epochs": 3.0, "rule": "last"})
    'rbf, gamma 0.05123, margin 2, epochs 3, last'
    """
    words = ((_shown(value), "" if name in ("kernel", "rule") else f"{name} ") for name, value in params.items())
    return ", ".join(name + value for value, name in words)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tuned_words(search: Any, seconds: float) -> str:
    """Return in a line what was tried and found."""
    tried = f"{tried_words(search)}, {search.n_splits_} folds, {duration(seconds)}"
    error = f"error {percent(1 - search.best_score_)}, which is optimistic, on the folds"
    return f"{tried}; {error} with {setting_words(search.best_params_)}"
