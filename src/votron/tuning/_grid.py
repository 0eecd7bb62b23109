"""The settings to try, in their order: default grids, what users give instead, and checks before the first fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from votron.errors import Parameter, VotronError
from votron.estimators import ESTIMATORS
from votron.estimators.parameters import check_parameters
from votron.kernels.base import is_precomputed, kernel_class
from votron.rules import RULES

Grid = dict[str, list[Any]]
Params = dict[str, Any]

FREE = {"voted": ("epochs", "rule", "normalize_vectors"), "averaged": ("average",)}
"""Parameters that need no fit of their own."""

_MULTIPLE = "scale*"
_DEFAULTS: dict[str, Grid] = {
    "voted": {
        "kernel": ["poly", "rbf"],
        "normalize_kernel": [False, True],
        "margin": [0.0, 0.1],
        "epochs": [1, 2, 5, 10],
        "rule": ["vote", "average", "last"],
        "normalize_vectors": [False, True],
    },
    "averaged": {"epochs": [5, 2, 1, 10], "average": [True, False]},
    "adatron": {
        "kernel": ["poly", "rbf"],
        "normalize_kernel": [True],
        "C": [10.0, 1.0, 100.0],
    },
    "winnow": {"promotion": [2.0, 1.5, 1.1], "epochs": [10, 3, 1], "complement": [False, True]},
    "naive-bayes": {"alpha": [1.0, 0.1, 0.01, 10.0]},
}
_OF_KERNEL = ("degree", "gamma", "coef0", "normalize_kernel")
"""Parameters that are for some kernels only."""


def default_grid(estimator: str = "voted", kernel: str = "poly") -> Grid:
    """Return the values that `tune` tries of each parameter where it is told nothing else.

    Degrees 1 to 4 of the polynomial kernel, its rows of length 1 in feature space or not, the Gaussian kernel of three
    widths around the one that suits standardised features, each with and without a margin; 22 settings in all, and
    of each four numbers of epochs and three rules. Values stand in the order in which they are tried.

    Parameters
    ----------
    estimator : {"voted", "averaged", "adatron", "winnow", "naive-bayes"}, default="voted"
        Which classifier.
    kernel : str, default="poly"
        Which values of its parameters: each kernel says what is worth trying.

    Returns
    -------
    dict of lists
        Parameters and values.

    Examples
    --------
    >>> from votron.tuning import default_grid
    >>> default_grid("averaged")
    {'epochs': [5, 2, 1, 10], 'average': [True, False]}
    >>> default_grid("voted", "rbf")["gamma"]
    ['scale', 'scale*10', 'scale*0.1']
    """
    check_estimator(estimator)
    grid = dict(_DEFAULTS[estimator])
    if "kernel" in grid:
        cls = kernel_class(kernel)
        search: Grid = {"degree": [3], "gamma": ["scale"], **({} if cls is None else cls.search)}
        grid = {"kernel": grid.pop("kernel"), "degree": search.pop("degree"), **grid, **search}
    return {name: list(values) for name, values in grid.items()}


def check_estimator(estimator: Any) -> None:
    """Refuse names that stand for no classifier."""
    if not (isinstance(estimator, str) and estimator in ESTIMATORS):
        raise VotronError(
            Parameter("estimator", of="tune"),
            f" must be one of {', '.join(map(repr, ESTIMATORS))}. Got {estimator!r} instead.",
        )


def settings_of(estimator: str, grid: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[list[Params], Grid]:
    """Return the settings that need a fit each, those near the head of each list first; and what comes free."""
    check_estimator(estimator)
    _check_names(estimator, grid, "grid")
    _check_names(estimator, params, "params")
    given = {name: _listed(name, values) for name, values in grid.items()}
    given |= {name: [value] for name, value in params.items()}
    _check_values(given)
    whole = default_grid(estimator) | given
    free = {name: _distinct(whole.pop(name)) for name in FREE.get(estimator, ())}
    ranked: list[tuple[tuple[int, ...], Params]] = []
    for k, kernel in enumerate(whole.pop("kernel", [None])):
        mine = default_grid(estimator, kernel) | given
        mine = {name: values for name, values in mine.items() if name in whole}
        ranked += [((k, *rank), setting) for rank, setting in _product(mine, kernel)]
    ranked.sort(key=lambda found: (sum(found[0]), found[0]))
    settings = _distinct([setting for _, setting in ranked])
    _check_fits(estimator, settings, free)
    return settings, free


def _check_fits(estimator: str, settings: list[Params], free: Grid) -> None:
    """Refuse values that the classifier would refuse, before the first fit."""
    cls = ESTIMATORS[estimator]
    each = [{name: value} for name, values in free.items() for value in values]
    for setting in [*settings, *each]:
        known = setting | {"gamma": 1.0} if multiple_of_scale(setting.get("gamma")) is not None else setting
        check_parameters(cls(**known))


def _product(grid: Grid, kernel: Any) -> list[tuple[tuple[int, ...], Params]]:
    """Return the settings with this kernel, without what it does not read, and each one's places in the lists."""
    if kernel is None:
        names, head = list(grid), {}
    else:
        cls = kernel_class(kernel)
        reads = () if cls is None else cls.parameters()
        if cls is None or not cls.unit_length:
            reads = (*reads, "normalize_kernel")
        names, head = [name for name in grid if name not in _OF_KERNEL or name in reads], {"kernel": kernel}
    places = itertools.product(*(range(len(grid[name])) for name in names))
    return [(at, head | {name: grid[name][i] for name, i in zip(names, at, strict=True)}) for at in places]


# -- gamma ------------------------------------------------------------------------------------------------------------


def multiple_of_scale(gamma: Any) -> float | None:
    """Return the factor of "scale*0.1", of which the estimators know nothing; None of anything else."""
    if not (isinstance(gamma, str) and gamma.startswith(_MULTIPLE)):
        return None
    try:
        factor = float(gamma.removeprefix(_MULTIPLE))
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise VotronError(
            Parameter("gamma", of="tune", short=True),
            f" must be a number, 'scale', 'auto', or a multiple such as 'scale*0.1'. Got {gamma!r} instead.",
        )
    return factor


# -- what users give --------------------------------------------------------------------------------------------------


def _check_names(estimator: str, given: Any, parameter: str) -> None:
    owner = ESTIMATORS[estimator]
    known = sorted(set(owner().get_params()) - {"random_state", "verbose"})
    if not isinstance(given, Mapping):
        raise VotronError(
            Parameter(parameter, of="tune"),
            f" must be a dict of parameters of {owner.__name__}. Got {given!r} instead.",
        )
    for name in given:
        if name not in known:
            raise VotronError(
                Parameter(parameter, of="tune"),
                f" must name parameters of {owner.__name__}, which are {', '.join(known)}. Got {name!r} instead.",
            )


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | range | np.ndarray) or not len(values):
        raise VotronError(f"The grid of tune must have a list of values for {name!r}. Got {values!r} instead.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _check_values(given: Grid) -> None:
    """Refuse what would fail only after hours, or what tuning cannot do."""
    for kernel in given.get("kernel", ()):
        if is_precomputed(kernel):
            raise VotronError("tune takes data, not kernel values: give a kernel other than 'precomputed'.")
    for gamma in given.get("gamma", ()):
        multiple_of_scale(gamma)
    for epochs in given.get("epochs", ()):
        if isinstance(epochs, bool) or not (isinstance(epochs, Real) and 0 < float(epochs) < math.inf):
            raise VotronError(f"The epochs that tune tries must be positive numbers. Got {epochs!r} instead.")
    for rule in given.get("rule", ()):
        found = RULES.find(rule) if isinstance(rule, str) else None
        if found is None:
            free = tuple(name for name, known in RULES.items() if not known.needs_held_out)
            raise VotronError(f"The rules that tune tries must be among {free}. Got {rule!r} instead.")
        if found.needs_held_out:
            raise VotronError(
                f"The rule {rule!r} sets data of its own aside, so it needs fits of its own: tune the other rules."
            )


def _distinct(values: list[Any]) -> list[Any]:
    """Return the values without repetitions; a kernel given as a function compares, but need not hash."""
    found: list[Any] = []
    for value in values:
        if not any(_equal(value, other) for other in found):
            found.append(value)
    return found


def _equal(a: Any, b: Any) -> bool:
    """Tell whether two values, or settings, are the same; arrays among them are compared as a whole."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b) and type(a) is type(b)
