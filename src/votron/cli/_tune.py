"""``votron tune``: parameters by cross-validation, where epochs and rules come free."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from votron._util.progress import Progress
from votron._util.text import counted, did_you_mean, duration, joined, percent, rounded_bytes, rows_used
from votron.cli import _options
from votron.cli._advice import remark_on_label
from votron.cli._holes import holes_of_training
from votron.cli._models import save_model
from votron.cli._output import Notes, check_output_path, print_json, printable, table, wrapped
from votron.cli._parser import (
    Parser,
    UsageError,
    as_arguments,
    option_of,
    positive,
    rewording,
    whole_number,
)
from votron.cli._reading import (
    encoder_for,
    provenance_of,
    read_labelled,
    remarks_on_columns,
    tell_left_out,
    typed_reading,
)
from votron.cli._weights import WeightColumn, about_holes, settle_labels, weight_column
from votron.tuning import TuningResult, TuningRow, tune

_ALIASES = {
    "kernel": "kernels",
    "degree": "degrees",
    "gamma": "gammas",
    "margin": "margins",
    "rule": "rules",
    "epochs": "epochs",
    "normalize_kernel": "normalize-kernel",
    "normalize_vectors": "normalize-vectors",
    "coef0": "coef0s",
    "C": "Cs",
    "promotion": "promotions",
    "complement": "complement",
    "average": "average",
    "alpha": "alphas",
    "multiclass": "multiclass",
}
"""Parameters that can be varied, and what the options are called."""
_SHARED_COLUMNS = {
    "kernel": ("kernel", "degree", "gamma", "coef0", "normalize_kernel"),
    "rule": ("rule", "normalize_vectors"),
}
"""Parameters that share a column, so that the table fits on a screen."""
_FIXED = ("class_weight", "binarize")
"""Parameters that are the same for all settings: they are about the data, and errors under others say nothing."""
_NOT_SHOWN = ("n_jobs", "memory_limit", *_FIXED)
_WIDTH = 80
_ON_OFF = {"on": True, "off": False}

EXAMPLES = [
    ("votron tune days.csv --label Play --folds 3 --kernels poly --degrees 1,2 --rules vote,last", "a small search"),
    (
        "votron tune digits --kernels poly --degrees 2-3 --margins 0 -o best.votron",
        "and train the best setting on all rows",
    ),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes; of the estimators, the parameters of the one that is asked for."""
    parser.describe(
        "votron tune DATA --label COL [-o MODEL] [options]",
        "Choose parameters by cross-validation. Each setting is fitted once per fold, and that fit gives the errors of "
        "all epochs and rules. Prints the settings with their errors, and the command that trains the best. "
        "`votron train --tune` is the same search.",
        EXAMPLES,
    )
    _options.add_data(parser)
    label = _options.add_label(parser, "column with the labels, as in `votron train`")
    _options.add_output(parser, "train the best setting on all rows, and write the model to this file")
    add = parser.add_argument
    add("--folds", type=whole_number(2), default=5, metavar="N", help="number of folds (default: 5)")
    add("--random-state", type=whole_number(0), default=0, metavar="N", help="seed for folds and fits (default: 0)")
    add(
        "--max-rows",
        type=whole_number(4),
        default=20_000,
        metavar="N",
        help="tune on at most this many rows, drawn at random (default: 20000)",
    )
    add(
        "--max-seconds",
        type=positive,
        metavar="S",
        help="end the search after this many seconds, with the best so far; the training for -o is part of them "
        "(default: no limit)",
    )
    _add_extend(parser, _options.estimator_in(arguments))
    add(
        "--halving",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="with many rows, try settings on a part of them first, 500 at least, each time a third of the next, and "
        "go on with the best third (default: on)",
    )
    add_resume(parser)
    add(
        "--also",
        type=_estimator_names,
        default=[],
        metavar="NAME,...",
        help="search these estimators as well, each with the values of its own that --help shows, and choose the best "
        "of all",
    )
    add(
        "--one-standard-error",
        action="store_true",
        help="choose the simplest setting within one standard error of the best",
    )
    add(
        "--rows",
        type=whole_number(),
        default=15,
        metavar="N",
        help="number of settings to print (default: 15)",
    )
    weights = _options.add_sample_weight(parser, "they count in training and in the errors of the folds")
    _options.add_common(parser)
    _add_grid(parser, arguments)
    groups = _options.add_reading(parser), _options.add_encoding(parser)
    again = [label, *(action for group in groups for action in group._group_actions), weights]
    parser.set_defaults(run=lambda args: run(args, typed_again(again, args)))


def add_resume(parser: Parser) -> None:
    """Add the file of what was tried."""
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep each fold that was tried in this file; if it is there, go on with its search",
    )


def _add_extend(parser: Parser, name: str) -> None:
    """Add whether lists go on, and say how."""
    from votron.tuning import grid_in_words

    words = "" if name == _options.EVERY_ESTIMATOR else grid_in_words(name, edges_only=True)
    parser.add_argument(
        "--extend",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on where the best value of a list that was not given is its least or largest"
        + (f": {words}" if words else "")
        + " (default: on)",
    )


def _add_grid(parser: Parser, arguments: Sequence[str]) -> None:
    """Add the values to try, and parameters that are the same for all settings."""
    from votron.tuning import default_grid

    name = _options.estimator_in(arguments)
    _options.add_estimator(parser)
    group = parser.add_argument_group(f"values to try with --estimator {name}, separated by commas")
    tried = {} if name == _options.EVERY_ESTIMATOR else default_grid(name)
    by_kernel = {kernel: default_grid(name, kernel) for kernel in tried.get("kernel", ())}
    for parameter in _options.parameters_of(name):
        if parameter.name in _FIXED:
            parameter.add_to(parser, arguments)
        if parameter.name not in _ALIASES:
            continue
        default = _default_words(parameter, tried, by_kernel)
        settings = {"dest": f"grid_{parameter.name}", "default": None, "type": _values(parameter), "metavar": "V,V,..."}
        option = f"--{_ALIASES[parameter.name]}"
        parameter.add_option(group, arguments, option, default, **settings)
    parser.explain_unknown = lambda option: _options.owners_of(option, name, _FIXED)


def _default_words(parameter: Any, tried: dict[str, list[Any]], by_kernel: dict[str, dict[str, list[Any]]]) -> str:
    """Return what is tried of a parameter where nothing is said, and with which kernel, if that matters."""
    lists = {kernel: grid[parameter.name] for kernel, grid in by_kernel.items() if parameter.name in grid}
    if all(each == next(iter(lists.values())) for each in lists.values()):
        return ",".join(map(_typed, tried.get(parameter.name, [parameter.default])))
    read = {kernel: each for kernel, each in lists.items() if parameter.name in _parameters_read(kernel)}
    return "; ".join(f"{','.join(map(_typed, each))} for {kernel}" for kernel, each in read.items())


def _parameters_read(kernel: str) -> Sequence[str]:
    from votron.kernels.base import kernel_class

    cls = kernel_class(kernel)
    return () if cls is None else cls.parameters()


def _estimator_names(text: str) -> list[str]:
    known = _options.estimators()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            meant = did_you_mean(name, known, quoted=False)
            raise argparse.ArgumentTypeError(f"must be among {', '.join(known)}. Got {name!r} instead.{meant}")
    return names


def _values(parameter: Any) -> Callable[[str], list[Any]]:
    """Return the type of an option with several values of a parameter."""

    def one(text: str) -> Any:
        if parameter.is_flag:
            if text not in _ON_OFF:
                raise argparse.ArgumentTypeError(f"must be on, off or on,off. Got {text!r} instead.")
            return _ON_OFF[text]
        if parameter.name == "gamma" and text.startswith("scale*"):
            return text
        return parameter.read(text)

    def read_all(text: str) -> list[Any]:
        found: list[Any] = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            low, dash, high = part.partition("-")
            if parameter.numbers is int and dash and low.isdecimal() and high.isdecimal() and int(low) <= int(high):
                found += range(int(low), min(int(high), int(low) + 1000) + 1)
            else:
                found.append(one(part))
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


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


# -- the command ------------------------------------------------------------------------------------------------------


def _check_read_by_kernels(estimator: str, grid: dict[str, list[Any]]) -> None:
    """Refuse values of a parameter that no kernel of the search reads."""
    from votron.tuning import default_grid

    kernels = grid.get("kernel", default_grid(estimator).get("kernel", []))
    for name in grid:
        readers = _readers(name)
        if readers and kernels and all(isinstance(each, str) and each not in readers for each in kernels):
            raise UsageError(
                f"--{_ALIASES[name]} is not for --kernels {','.join(kernels)}: add --kernels {readers[0]}, "
                "or leave it out."
            )


def _readers(parameter: str) -> list[str]:
    """Return the kernels that read a parameter, by name."""
    from votron.kernels import KERNELS

    return [name for name, cls in KERNELS.items() if parameter in cls.parameters()]


def run(args: argparse.Namespace, reading: Sequence[str]) -> int:
    """Search, print the table, and train the best if asked to; ``reading`` has the options of reading, as typed."""
    notes = Notes(args.quiet)
    if args.output is not None:
        if args.output == "-":
            raise UsageError("-o must be the name of a file here. Got '-' instead.")
        check_output_path(args.output, "the model", inputs=[args.data])
    grid = {name[5:]: value for name, value in vars(args).items() if name.startswith("grid_") and value is not None}
    for name, values in grid.items():
        for value in values:
            if not str(value).startswith("scale*"):
                _options.make_estimator(args.estimator, {name: value})  # refuses what is out of range before the work
    _check_read_by_kernels(args.estimator, grid)
    searched = {  # the encoder of a table, among others, may be another for another classifier
        name: argparse.Namespace(**vars(args) | {"estimator": name})
        for name in dict.fromkeys([args.estimator, *args.also])
    }
    column = _checked_weights(searched)
    with rewording(about_holes(args)):
        data, y = read_labelled(args.data, **typed_reading(args))
    if (remark := remark_on_label(y, data.label, is_table=data.columns is not None)) is not None:
        notes(remark)
    params = _same_for_all(args, y)
    X, weights = data.X, None
    if column is not None:
        X, weighed, weights = column.split(data)
        column.check_some()
        y = y[weighed]
    for remark in (*data.notes, *remarks_on_columns(args, X)):
        notes(remark)
    tell_left_out(notes, data.dropped, data.unlabelled)
    result = search(
        X,
        y,
        notes,
        estimator=list(searched),
        grid={args.estimator: grid},
        params=dict.fromkeys(searched, params),
        sample_weight=weights,
        encoder={name: encoder_for(each, data, X) for name, each in searched.items()},
        folds=args.folds,
        random_state=args.random_state,
        max_rows=args.max_rows,
        max_seconds=args.max_seconds,
        one_standard_error=args.one_standard_error,
        extend=args.extend,
        halving=args.halving,
        refit=args.output is not None,
        resume=args.resume,
    )
    args.estimator = result.estimator
    written = None if args.output is None else _written(args, data, result, column)
    command = _best_command(args, reading, result)
    if args.json:
        best = {row.estimator: row.error for row in reversed(result.settings()) if row.estimator != result.estimator}
        others = {"others": [{"estimator": name, "best_error": error} for name, error in best.items()]}
        print_json({**result.to_dict(), **(others if args.also else {}), "command": command, "model": written})
        return 0
    print(_text(result, args.rows, args.max_seconds))
    print(f"\nTo train it:\n  {printable(command)}")
    if written:
        size = rounded_bytes(written["bytes"])
        print(printable(f"\nThe best, trained on all {len(y):,} rows: {args.output}, {size}", keep="\n"))
    return 0


def _checked_weights(searched: dict[str, argparse.Namespace]) -> WeightColumn | None:
    """Return the column of weights, if one is named; refuse weights that a classifier of the search does not take."""
    column = None
    for name, args in searched.items():
        for parameter in _FIXED:
            known = [each.name for each in _options.parameters_of(name)]
            if getattr(args, parameter, None) is not None and parameter not in known:
                raise UsageError(_options.owners_of(option_of(parameter), name) or "")
        column = weight_column(args, _options.make_estimator(name, {}))
    return column


def _same_for_all(args: argparse.Namespace, y: Any) -> dict[str, Any]:
    """Return the parameters that all settings have, with labels as the data have them."""
    typed = {name: value for name in _FIXED if (value := getattr(args, name, None)) is not None}
    settle_labels(args, _options.make_estimator(args.estimator, typed), y)
    return {name: getattr(args, name) for name in typed}


def search(X: Any, y: Any, notes: Notes, **options: Any) -> TuningResult:
    """Search under a line of progress."""
    in_a_fold = {"cell": lambda cell: f"in feature {cell.facts['feature']} (the first is 1)"}
    with Progress(None, notes.live, label="Tuning", erase=True) as progress, rewording(in_a_fold):

        def tell(done: int, total: int, row: TuningRow, best: TuningRow) -> None:
            progress.total = total
            rows = f" on {row.n_rows:,} rows" if row.n_rows else ""
            progress.update(done, f"{done} of {total} settings{rows}, least error {100 * best.error:.2f} %")

        return tune(X, y, callback=tell, **options)


def _text(result: TuningResult, n: int, max_seconds: float | None) -> str:
    """Return the best settings as a table, and the best."""
    used = rows_used(result.n_used, result.n_rows, result.n_without_weight)
    lines = [
        f"{tried_words(result, max_seconds)}, {result.folds} folds of {used}, {duration(result.seconds)}",
        "",
        settings_table(result, n),
    ]
    for params, why_not in result.skipped:
        lines.append(wrapped(f"Left out: {_setting(params, tuple(params))}: {why_not}"))
    best = result.best_row
    which = f"--estimator {best.estimator}, " if len(_estimators(result)) > 1 else ""
    lines += ["", f"The best: {which}{percent(best.error)} ± {percent(best.standard_error)}"]
    lines.append(wrapped("The error of the best of many is optimistic: measure it on data that tuning has not seen."))
    return "\n".join(lines)


def _estimators(result: TuningResult) -> list[str]:
    """Return which classifiers were searched."""
    return list(dict.fromkeys(row.estimator for row in result.table))


def tried_words(result: TuningResult, max_seconds: float | None) -> str:
    """Return how many settings were tried, of which classifiers, of how many if time ended the search, and why."""
    n, left = result.n_tried, result.n_settings - result.n_tried - len(result.skipped)
    of = f" of {n + left}" if left else ""
    early = "" if max_seconds is None else f"all there are to try, in less than the {max_seconds:g} s allowed"
    why = f" ({result.stopped or early})" if result.stopped or early else ""
    return f"{joined(_estimators(result))}: {n}{of} {'setting' if n == 1 and not of else 'settings'} tried{why}"


def settings_table(result: TuningResult, n: int) -> str:
    """Return the best ``n`` settings, each at its best moment and by its best rule, as a table, the best first."""
    ranked = result.settings(once=True)
    text = _table(result, ranked[:n])
    if len(ranked) > n:
        text += f"\n... and {counted(len(ranked) - n, 'more setting')}, which --json shows"
    most = "settings with the most rows, and of these " if len({row.n_rows for row in ranked[:n]}) > 1 else ""
    return f"{text}\n" + wrapped(
        f"Best first: {most}those with the least steady error, which is averaged with that of neighbouring values of "
        "epochs, gamma, margin and the like, since the least of many errors owes much to luck."
    )


def _table(result: TuningResult, rows: Sequence[TuningRow]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row.params if name not in _NOT_SHOWN))
    columns = {
        head: [each for each in parts if each in names] for head, parts in _SHARED_COLUMNS.items() if head in names
    }
    columns |= {name: [name] for name in names if not any(name in parts for parts in columns.values())}
    steady = {id(row): error for row, error in zip(result.table, result.steady_errors(), strict=True)}
    cells = [[head.replace("_", " ") for head in columns] + ["error", "±", "steady", "fit s"]]
    for row in rows:
        mine = [_setting(row.params, parts) for parts in columns.values()]
        errors = map(percent, (row.error, row.standard_error, steady[id(row)]))
        cells.append([*mine, *errors, f"{row.seconds:.1f}"])
    left = [i for i, head in enumerate(columns) if head in _SHARED_COLUMNS]
    if len({row.n_rows for row in rows}) > 1:
        counts = ["rows", *(f"{row.n_rows:,}" for row in rows)]
        cells = [[*line[:-1], count, line[-1]] for line, count in zip(cells, counts, strict=True)]
    if len(_estimators(result)) > 1:
        models = ["estimator", *(row.estimator for row in rows)]
        cells, left = [[name, *line] for name, line in zip(models, cells, strict=True)], [0, *(i + 1 for i in left)]
    shown = table(cells, left=left)
    if max(map(len, shown.split("\n"))) > _WIDTH:  # time is what can be done without
        shown = table([row[:-1] for row in cells], left=left)
    return shown


def _setting(params: dict[str, Any], names: Sequence[str]) -> str:
    """Return some parameters in a few words, such as "poly 3 normalised"."""
    if len(names) == 1:
        return _typed(params[names[0]]) if names[0] in params else ""
    words = []
    for name in names:
        if name not in params or params[name] is False or (name, params[name]) == ("gamma", "scale"):
            continue
        words.append("normalised" if params[name] is True else _typed(params[name]))
    return " ".join(words)


def setting_words(params: dict[str, Any]) -> str:
    """Return parameters in a line, such as "rbf, gamma 0.05, margin 2, epochs 3, last".

    Examples
    --------
    >>> setting_words({"kernel": "rbf", "gamma": 0.0512345, "margin": 2.0, "epochs": 3.0, "rule": "last"})
    'rbf, gamma 0.05123, margin 2, epochs 3, last'
    """
    words = []
    for name, value in params.items():
        if name in _NOT_SHOWN or value is False:
            continue
        text = f"{value:.4g}" if isinstance(value, float) else _typed(value)
        words.append(text if name in ("kernel", "rule") else f"{name.replace('_', ' ')} {text}")
    return ", ".join(words)


def _best_params(args: argparse.Namespace, result: TuningResult) -> dict[str, Any]:
    """Return what differs from the defaults of the classifier, and the seed."""
    defaults = {parameter.name: parameter.default for parameter in _options.parameters_of(args.estimator)}
    best = {name: value for name, value in result.best.items() if defaults.get(name) != value}
    return best | ({"random_state": args.random_state} if "random_state" in defaults else {})


def _best_command(args: argparse.Namespace, reading: Sequence[str], result: TuningResult) -> str:
    """Return the command that trains the best, with all that says how data are read."""
    estimator = ["--estimator", args.estimator] if args.estimator != _options.DEFAULT_ESTIMATOR else []
    typed = ["votron", "train", args.data, *reading, *estimator, *as_arguments(_best_params(args, result))]
    return shlex.join([*typed, "-o", args.output or "model.votron"])


def _written(args: argparse.Namespace, data: Any, result: TuningResult, weights: WeightColumn | None) -> dict[str, Any]:
    """Write the best, which was trained on all rows."""
    tuned = {"folds": result.folds, "settings": result.n_tried, "error": result.best_error}
    more = (
        {"tuned": tuned}
        | holes_of_training(args, data.X)
        | ({} if weights is None else {"sample_weight": weights.facts})
    )
    size = save_model(result.model, args.output, provenance_of(args, data, data.n_rows) | more)
    return {"file": args.output, "bytes": size}


# -- votron train --tune ----------------------------------------------------------------------------------------------


def train_tuned(
    args: argparse.Namespace, seed: int, data: Any, X: Any, y: Any, notes: Notes, weights: Any
) -> TuningResult:
    """Choose parameters, what was typed excepted, and train with them."""
    typed = {name: value for name, value in _options.typed_parameters(args).items() if name != "random_state"}
    if typed.get("epochs", 1) is None:
        raise UsageError("--epochs must be a number with --tune. Got 'none' instead.")
    if typed.get("rule") in ("auto", "holdout"):
        raise UsageError(f"--rule {typed['rule']} does not go with --tune, which chooses by cross-validation.")
    if typed.get("early_stopping"):
        raise UsageError("--early-stopping does not go with --tune, which chooses when to stop.")
    return search(
        X,
        y,
        notes,
        estimator=args.estimator,
        params=typed,
        encoder=encoder_for(args, data, X),
        random_state=seed,
        max_seconds=_seconds(args),
        sample_weight=weights,
        extend=True,
        halving=True,
        refit=True,
        resume=args.resume,
    )


def _seconds(args: argparse.Namespace) -> float | None:
    """Return how long --tune may take, if that was said."""
    return None if args.tune is True else float(args.tune)


def tuned_words(args: argparse.Namespace, result: TuningResult) -> str:
    """Return in a line what was tried and found."""
    return (
        f"{tried_words(result, _seconds(args))}, {result.folds} folds, {duration(result.seconds)}; error "
        f"{percent(result.best_error)}, which is optimistic, on the folds with {setting_words(result.best)}"
    )


def tuned_facts(result: TuningResult) -> dict[str, Any]:
    """Return what there is to say of a search beside its table."""
    facts = {"folds": result.folds, "settings": result.n_tried, "error": result.best_error}
    return facts | {"seconds": result.seconds, "stopped": result.stopped}
