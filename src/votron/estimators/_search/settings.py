"""Settings: what is fitted, made of the lists that there are; those beyond the edges of these; and checks before."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from votron.errors import Parameter, VotronError
from votron.estimators._by_name import ESTIMATORS
from votron.estimators._search.grids import (
    FREE,
    GROWTH,
    OF_KERNEL,
    Grid,
    Growth,
    Params,
    check_estimator,
    default_grid,
    moments_until,
    plain,
    shown,
)
from votron.estimators.parameters import check_parameters
from votron.kernels.base import KERNELS, Kernel, is_precomputed, kernel_class
from votron.rules import RULES

_MULTIPLE = "scale*"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting of a classifier that needs a fit, and the values of what comes free with it."""

    estimator: str
    setting: Params
    free: Grid
    n_vectors: int = 1

    @cached_property
    def key(self) -> str:
        """What stands for it in a file: a text that no other candidate has, if its kernel has a name."""
        return json.dumps([self.estimator, plain(self.setting), plain(self.free)], sort_keys=True)

    @cached_property
    def points(self) -> list[Params]:
        """The combinations of what is free, without those that predict as another does."""
        found = [dict(zip(self.free, values, strict=True)) for values in itertools.product(*self.free.values())]
        if False not in self.free.get("normalize_vectors", ()):
            return found
        return [p for p in found if not p["normalize_vectors"] or RULES[p["rule"]].lengths_matter(self.n_vectors)]


def settings_of(
    estimator: str, grid: Mapping[str, Any], params: Mapping[str, Any], n_classes: int = 3
) -> list[Candidate]:
    """Return the settings that need a fit each, those near the head of each list first, with what comes free."""
    check_estimator(estimator)
    _check_names(estimator, grid, "grid")
    _check_names(estimator, params, "params")
    given = {name: _listed(name, values) for name, values in grid.items()}
    given |= {name: [value] for name, value in params.items()}
    _check_values(given)
    whole = default_grid(estimator) | given
    if n_classes == 2 and "multiclass" not in given and "multiclass" in whole:
        del whole["multiclass"]  # two classes are trained in one way
    free = {name: _distinct(whole.pop(name)) for name in FREE.get(estimator, ())}
    ranked: list[tuple[tuple[int, ...], Params]] = []
    for k, kernel in enumerate(whole.pop("kernel", [None])):
        mine = default_grid(estimator, kernel) | given
        mine = {name: values for name, values in mine.items() if name in whole}
        ranked += [((k, *rank), setting) for rank, setting in _product(mine, kernel)]
    ranked.sort(key=lambda found: (sum(found[0]), found[0]))
    settings = _distinct([setting for _, setting in ranked])
    _check_fits(estimator, settings, free)
    return [Candidate(estimator, setting, free, 1 if n_classes == 2 else n_classes) for setting in settings]


def _product(grid: Grid, kernel: Any) -> list[tuple[tuple[int, ...], Params]]:
    """Return the settings with this kernel, without what it does not read, and each one's places in the lists."""
    if kernel is None:
        names, head = list(grid), {}
    else:
        cls = kernel_class(kernel)
        reads = () if cls is None else cls.parameters()
        if cls is None or not cls.unit_length:
            reads = (*reads, "normalize_kernel")
        names, head = [name for name in grid if name not in OF_KERNEL or name in reads], {"kernel": kernel}
    places = itertools.product(*(range(len(grid[name])) for name in names))
    return [(at, head | {name: grid[name][i] for name, i in zip(names, at, strict=True)}) for at in places]


def beyond(
    best: Candidate, point: Params, tried: Sequence[Candidate], grows: frozenset[str], scale: float = 1.0
) -> list[Candidate]:
    """Return candidates next to the best that lie beyond what was tried, one parameter at a time.

    Parameters
    ----------
    best, point : Candidate and dict
        The best, and which of its points.
    tried : sequence of Candidate
        All that were tried.
    grows : frozenset of str
        The parameters whose lists go on.
    scale : float, default=1.0
        What gamma is a multiple of, where it is a number.

    Examples
    --------
    >>> best = Candidate("voted", {"kernel": "rbf", "gamma": "scale*4", "margin": 0.0}, {})
    >>> near = Candidate("voted", {"kernel": "rbf", "gamma": "scale", "margin": 0.0}, {})
    >>> [each.setting["gamma"] for each in beyond(best, {}, [near, best], frozenset(GROWTH))]
    ['scale*16']
    """
    found = []
    for name, growth in GROWTH.items():
        if name not in grows or (name not in best.setting and name not in point):
            continue
        mine = [each for each in tried if each.estimator == best.estimator]
        mine = [each for each in mine if all(equal(each.setting.get(k), best.setting.get(k)) for k in growth.within)]
        if name in point:
            found += _longer(best, point, mine, growth)
            continue
        unit = scale if growth.of_scale else 1.0
        value = number_of(best.setting[name], unit)
        values = [number_of(each.setting[name], unit) for each in mine if name in each.setting]
        if value is not None:
            for number in growth.beyond(value, [each for each in values if each is not None]):
                further = best.setting | {name: _like(best.setting[name], number, unit)}
                found.append(replace(best, setting=further, free=_all_free(best, mine)))
    known = {each.key for each in tried}
    return [each for each in found if each.key not in known]


def _longer(best: Candidate, point: Params, mine: Sequence[Candidate], growth: Growth) -> list[Candidate]:
    """Return the best with the moments of more epochs, where its best moment is in the last of them."""
    same = [each for each in mine if equal(each.setting, best.setting)]
    most = max(max(each.free["epochs"]) for each in same)
    longest = min(most * growth.step, growth.most)
    if point["epochs"] <= most - 1 or longest <= most:
        return []
    return [replace(best, free=best.free | {"epochs": moments_until(longest, after=most)})]


def _all_free(best: Candidate, mine: Sequence[Candidate]) -> Grid:
    """Return what is free of a setting, with the moments of all its fits."""
    same = [each.free for each in mine if equal(each.setting, best.setting)]
    return merged([best.free, *same])


def merged(frees: Sequence[Grid]) -> Grid:
    """Return what is free of several fits of one setting: their moments together."""
    if len(frees) == 1 or "epochs" not in frees[0]:
        return frees[0]
    return frees[0] | {"epochs": sorted({moment for free in frees for moment in free["epochs"]})}


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


def number_of(value: Any, scale: float = 1.0) -> float | None:
    """Return a value as a number, gamma as a multiple of the scale; None if it is none, as "auto" and dicts are."""
    if isinstance(value, str):
        return 1.0 if value == "scale" else multiple_of_scale(value)
    return float(value) / scale if isinstance(value, Real) else None


def _like(value: Any, number: float, scale: float) -> Any:
    """Return a number as the value is written: a multiple of the scale, or whole where it is."""
    if isinstance(value, str):
        return f"{_MULTIPLE}{number:g}"
    found = number * scale
    return int(found) if isinstance(value, Integral) and found.is_integer() else found


# -- what users give --------------------------------------------------------------------------------------------------


def _check_fits(estimator: str, settings: list[Params], free: Grid) -> None:
    """Refuse values that the classifier would refuse, before the first fit."""
    cls = ESTIMATORS[estimator]
    each = [{name: value} for name, values in free.items() for value in values]
    for setting in [*settings, *each]:
        known = setting | {"gamma": 1.0} if multiple_of_scale(setting.get("gamma")) is not None else setting
        check_parameters(cls(**known))


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
    """Refuse what would fail only after hours, or what a search cannot do."""
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
    return [values[places[0]] for places in alike(values)]


def alike(values: Sequence[Any]) -> list[list[int]]:
    """Return the places of equal values, or settings, together; functions are equal only to themselves.

    Examples
    --------
    >>> alike([{"kernel": max}, {"kernel": min}, {"kernel": max}])
    [[0, 2], [1]]
    """
    found: list[list[int]] = []
    for i, value in enumerate(values):
        same = next((places for places in found if equal(values[places[0]], value)), None)
        if same is None:
            found.append([i])
        else:
            same.append(i)
    return found


def check_for_file(candidates: Sequence[Candidate]) -> None:
    """Refuse kernels that have nothing but the name of a function, by which a file cannot know them."""
    for candidate in candidates:
        kernel = candidate.setting.get("kernel")
        known = kernel.innermost if isinstance(kernel, Kernel) else kernel
        if callable(known) and not (isinstance(known, Kernel) and KERNELS.find(known.name) is type(known)):
            raise VotronError(
                "With resume, kernels must have names, since a file cannot tell one function from another: make the "
                f"kernel known by register_kernel, or search without resume. Got {shown(kernel)} instead."
            )


def equal(a: Any, b: Any) -> bool:
    """Tell whether two values, or settings, are the same; arrays among them are compared as a whole."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b) and type(a) is type(b)
