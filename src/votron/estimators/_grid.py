"""The settings that a search compares: where it begins, how it goes on at an edge, and which setting is best.

The highest of hundreds of scores owes its place to luck as much as to merit. A number has neighbours, though, which are
about as good and whose luck is another. So settings are compared by *steady* scores: each score is averaged with those
of its neighbours in epochs, gamma, margin and degree, one parameter after another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

from votron._util.types import Params
from votron.errors import VotronError
from votron.kernels.base import kernel_class

KERNELS, MARGINS, EPOCHS = ["rbf"], [0.5, 2.0], 32.0
"""Start of a search: polynomials took as long again, and brought nothing in the mean (docs/accuracy.md)."""
STEP = 4
"""Factor by which gamma, margin and epochs go on at an edge; the degree goes on by 1."""
LIMITS = {"gamma": (1 / 1024, 1024.0), "margin": (1 / 32, 32.0), "degree": (1, 6)}
"""Limits of gamma (as a multiple of "scale"), margin and degree."""
MOST_EPOCHS = 512


def moments_until(epochs: float) -> list[float]:
    """Return the moments of training that are scored: 0.5, 1, 2, 3, 4, 6, 8, 12 and so on."""
    powers = [2.0**k for k in range(max(1, math.ceil(math.log2(epochs))) + 1)]
    found = sorted({0.5, *powers, *(1.5 * power for power in powers if power > 1)})
    return [each for each in found if each < epochs] + [float(epochs)]


@dataclass(frozen=True, eq=False)
class Setting:
    """Parameters that need a fit of their own, and the passes of that fit."""

    params: Params
    epochs: float

    @property
    def key(self) -> Hashable:
        return _comparable(self.params)


def _comparable(params: Params) -> Hashable:
    """Return parameters as a set; what is not a number or a name, such as a function, equals itself only."""
    return frozenset((name, value if isinstance(value, str | Real) else id(value)) for name, value in params.items())


def first_settings(given: Mapping[str, list[Any]], scale: float, n_features: int) -> list[Setting]:
    """Return every combination of values, given or else those that the kernel suggests, heads of lists first."""
    found: list[tuple[tuple[int, ...], Setting]] = []
    [epochs] = given.get("epochs", [EPOCHS])
    for k, kernel in enumerate(given.get("kernel", KERNELS)):
        cls = kernel_class(kernel)
        read, own = ((), {}) if cls is None else (cls.parameters(), cls.search)
        lists: dict[str, list[Any]] = {"degree": [3], "margin": MARGINS, "gamma": ["scale"], **own, **given}
        lists["gamma"] = [_number(gamma, scale, n_features) for gamma in lists["gamma"]]
        lists = {name: values for name, values in lists.items() if name in (*read, "margin")}
        for at in product(*(range(len(values)) for values in lists.values())):
            params = {name: lists[name][i] for name, i in zip(lists, at, strict=True)}
            found.append(((k + sum(at), k, *at), Setting({"kernel": kernel, **params}, epochs)))
    return [setting for _, setting in sorted(found, key=lambda each: each[0])]


def _number(gamma: float | str, scale: float, n_features: int) -> float:
    """Return what a gamma such as "scale*0.5" stands for."""
    if not isinstance(gamma, str):
        return gamma
    name, _, factor = gamma.partition("*")
    try:
        return {"scale": scale, "auto": 1 / n_features}[name] * float(factor or 1)
    except (KeyError, ValueError):
        raise VotronError(
            "The 'gammas' parameter of VotedPerceptronClassifierCV must be numbers, 'scale', 'auto', or multiples "
            f"such as 'scale*0.1'. Got {gamma!r} instead.",
            parameter="gammas",
        ) from None


def beyond(best: Setting, moment: float, tried: list[Setting], given: Container[str], scale: float) -> list[Setting]:
    """Return settings next to the best that lie past the edge of what was tried, one parameter at a time."""
    params, found = best.params, []
    for name, (least, most) in LIMITS.items():
        if name in given or not isinstance(params.get(name), Real):
            continue
        alike = ("kernel", "degree") if name == "gamma" else ("kernel",)
        mine = [each.params for each in tried if all(each.params.get(k) == params.get(k) for k in alike)]
        values = [each[name] for each in mine if isinstance(each.get(name), Real)]
        value, unit = params[name], scale if name == "gamma" else 1.0
        higher, lower = (value + 1, value - 1) if name == "degree" else (value * STEP, value / STEP)
        if value >= max(values) and value < higher <= most * unit * 1.001:
            found.append(Setting(params | {name: higher}, best.epochs))
        if value <= min(values) and least * unit * 0.999 <= lower < value:
            found.append(Setting(params | {name: lower}, best.epochs))
    known = {each.key for each in tried}
    found = [each for each in found if each.key not in known]
    if "epochs" not in given and moment > best.epochs - 1 and best.epochs * STEP <= MOST_EPOCHS:
        found.append(Setting(params, best.epochs * STEP))
    return found


def steady_scores(points: Sequence[Params], scores: Sequence[float], groups: Sequence[int]) -> list[float]:
    """Average each score with its neighbours', which differ in one parameter only; NaN is nobody's neighbour."""
    found = list(scores)
    for name in ("epochs", "gamma", "margin", "degree"):
        lines: dict[Hashable, list[int]] = defaultdict(list)
        for i, point in enumerate(points):
            if isinstance(point.get(name), Real) and not math.isnan(scores[i]):
                others = {key: value for key, value in point.items() if key != name}
                lines[groups[i], _comparable(others)].append(i)
        before = list(found)
        for line in lines.values():
            line.sort(key=lambda i: float(points[i][name]))
            for left, i, right in zip([line[0], *line], line, [*line[1:], line[-1]], strict=False):
                found[i] = (before[left] + 2 * before[i] + before[right]) / 4
    return found


def rank(point: Params, score: float, steady: float, rung: int) -> tuple[float, ...]:
    """Sort by more training rows, higher steady score, higher score, larger margin and fewer epochs."""
    margin = point.get("margin", 0.0)
    largest = max(margin.values(), default=0.0) if isinstance(margin, dict) else margin
    if math.isnan(score):
        return (0, math.inf, math.inf, -largest, point["epochs"])
    # Equal means differ in the last digits if they were added up in another order.
    return (-rung, -round(steady, 12), -round(score, 12), -largest, point["epochs"])
