"""The settings beyond the edges of a grid, where the best value of a default list is its least or its largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from votron.tuning._grid import Grid, Params, multiple_of_scale

GROWS = frozenset({"gamma", "margin", "degree", "epochs"})
"""Parameters whose default lists may go on."""
_GAMMA_STEP, _MARGIN_STEP = 10.0, 4.0
_WIDEST, _LARGEST_MARGIN, _LARGEST_DEGREE, _MOST_EPOCHS = 1e4, 25.6, 6, 80


def beyond(best: Params, tried: Sequence[tuple[Params, Grid]], grows: frozenset[str]) -> list[tuple[Params, Grid]]:
    """Return settings next to the best that lie beyond all that was tried with its kernel, and what is free in each.

    Examples
    --------
    >>> best = {"kernel": "rbf", "gamma": "scale*10", "margin": 0.0}
    >>> [setting["gamma"] for setting, _ in beyond(best, [(best, {}), (best | {"gamma": "scale"}, {})], GROWS)]
    ['scale*100']
    """
    mine = [known for known in tried if known[0].get("kernel") == best.get("kernel")]
    setting = {name: value for name, value in best.items() if name not in tried[0][1]}
    free = next(each for known, each in mine if known == setting)
    found = [(setting | change, free) for change in _changes(setting, [known for known, _ in mine], grows)]
    epochs = best.get("epochs")
    most = max((max(each["epochs"]) for known, each in mine if known == setting and "epochs" in each), default=None)
    if "epochs" in grows and most is not None and epochs == most and 2 * most <= _MOST_EPOCHS:
        found.append((setting, free | {"epochs": [2 * most]}))
    return [each for each in found if each not in tried]


def _changes(best: Params, tried: list[Params], grows: frozenset[str]) -> list[Params]:
    """Return what to change of the best, one parameter at a time."""
    found: list[Params] = []
    factor = _factor(best.get("gamma"))
    if "gamma" in grows and factor is not None:
        factors = [each for known in tried if (each := _factor(known.get("gamma"))) is not None]
        wider, narrower = factor / _GAMMA_STEP, factor * _GAMMA_STEP
        if factor <= min(factors) and wider * _WIDEST >= 0.999:
            found.append({"gamma": f"scale*{wider:g}"})
        if factor >= max(factors) and narrower <= 1.001 * _WIDEST:
            found.append({"gamma": f"scale*{narrower:g}"})
    largest: dict[str, Any] = {
        name: max((known[name] for known in tried if name in known), default=0)
        for name in ("margin", "degree", "epochs")
    }
    if "margin" in grows and 0 < largest["margin"] == best.get("margin"):
        found += [{"margin": m} for m in [best["margin"] * _MARGIN_STEP] if m <= 1.001 * _LARGEST_MARGIN]
    if "degree" in grows and 0 < largest["degree"] == best.get("degree", -1) < _LARGEST_DEGREE:
        found.append({"degree": best["degree"] + 1})
    if "epochs" in grows and 0 < largest["epochs"] == best.get("epochs"):  # where they do not come free
        found += [{"epochs": n} for n in [2 * best["epochs"]] if n <= _MOST_EPOCHS]
    return found


def _factor(gamma: Any) -> float | None:
    return 1.0 if gamma == "scale" else multiple_of_scale(gamma) if isinstance(gamma, str) else None
