"""What a search tries of each classifier, all of it here: starting values, steps and limits, and shares of rows.

Of the kernels' own parameters the starting values are theirs (``search`` of the class of a kernel). `default_grid` puts
all together; `settings` makes settings of it, and finds those that lie past its edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from votron._util.text import did_you_mean
from votron.errors import Parameter, VotronError
from votron.estimators._by_name import ESTIMATORS
from votron.kernels import Kernel
from votron.kernels.base import kernel_class

Grid = dict[str, list[Any]]
Params = dict[str, Any]


def moments_until(epochs: float, after: float = 0.0) -> list[float]:
    """Return the moments of training that are looked at: half a pass, one, two, three, and on in steps that grow.

    Examples
    --------
    >>> moments_until(10), moments_until(32, after=10)
    ([0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0], [12.0, 16.0, 24.0, 32.0])
    """
    powers = [2.0**k for k in range(max(1, math.ceil(math.log2(epochs))) + 1)]
    found = sorted({0.5, *powers, *(1.5 * power for power in powers if power > 1)})
    return [each for each in found if after < each < epochs] + [float(epochs)]


# -- the numbers ------------------------------------------------------------------------------------------------------

STARTS: dict[str, Grid] = {
    "voted": {
        "kernel": ["rbf"],  # polynomials took as long again, and brought nothing in the mean (docs/accuracy.md)
        "normalize_kernel": [False],
        "margin": [0.5, 2.0],
        "epochs": moments_until(32),
        "rule": ["vote", "average"],
        "normalize_vectors": [False],
    },
    "averaged": {
        "margin": [0.5, 2.0, 0.1],
        "multiclass": ["joint", "ovr"],
        "epochs": [10, 40, 3],
        "average": [True, False],
    },
    "adatron": {"kernel": ["rbf", "poly"], "normalize_kernel": [True], "C": [10.0, 1.0, 100.0]},
    "winnow": {"promotion": [2.0, 1.5, 1.1], "epochs": [10, 3, 1], "complement": [False, True]},
    "naive-bayes": {"alpha": [1.0, 0.1, 0.01, 10.0]},
}
"""Values to begin with; those at the head of each list are tried first."""

FREE = {"voted": ("epochs", "rule", "normalize_vectors"), "averaged": ("average",)}
"""Parameters that need no fit of their own."""


@dataclass(frozen=True)
class Growth:
    """How a list goes on where the best of its values is the largest, or the least."""

    step: float
    most: float
    least: float = math.inf
    """Where it ends below; infinity: it does not go on there."""
    adds: bool = False
    """Whether the step is added; otherwise it is a factor."""
    within: tuple[str, ...] = ("kernel",)
    """Parameters that settings must share for their values to be compared."""
    of_scale: bool = False
    """Whether its numbers are multiples of what "scale" stands for."""

    def beyond(self, value: float, tried: Sequence[float]) -> list[float]:
        """Return the next value, where there is one, beyond those that were tried.

        Examples
        --------
        >>> Growth(4, most=16, least=1 / 16).beyond(4, [1, 4]), Growth(1, most=6, adds=True).beyond(3, [1, 2, 3])
        ([16], [4])
        """
        up, down = (value + self.step, value - self.step) if self.adds else (value * self.step, value / self.step)
        found = [up] if value >= max(tried) and value < up <= self.most * 1.001 else []
        return found + ([down] if value <= min(tried) and self.least * 0.999 <= down < value else [])


GROWTH = {
    "gamma": Growth(4, most=1024, least=1 / 1024, within=("kernel", "degree"), of_scale=True),
    "margin": Growth(4, most=32, least=0.03125, within=("kernel", "multiclass")),
    "degree": Growth(1, most=6, adds=True),
    "epochs": Growth(4, most=512),
    "C": Growth(10, most=10_000, least=0.01),
    "alpha": Growth(10, most=1000, least=0.0001),
}
"""Parameters whose lists go on, unless the user gives them."""

KEPT_SHARE = 3
"""A step of halving has three times the rows of the one before, and a third of its settings."""
LEAST_ROWS = 500
"""Rows on which settings are told apart at first."""
HELD_OUT_TIMES = 2
"""Held-out rows of a step are this many times its training rows, at most: to predict them takes time too."""
LEAST_KEPT = 4
"""Settings that go on to the next step at least; and the best of each classifier."""

OF_KERNEL = ("degree", "gamma", "coef0", "normalize_kernel")
"""Parameters that are for some kernels only."""


def default_grid(estimator: str = "voted", kernel: str = "rbf") -> Grid:
    """Return the values that a search begins with, of each parameter, where it is told nothing else.

    Of the voted perceptron: the Gaussian kernel with gamma of 1, 4 and 1/4 times "scale", and margins 0.5 and 2; six
    settings in all, and of each two rules at eleven moments of training, up to 32 epochs. Values stand in the order in
    which they are tried.

    Parameters
    ----------
    estimator : {"voted", "averaged", "adatron", "winnow", "naive-bayes"}, default="voted"
        Which classifier.
    kernel : str, default="rbf"
        Which values of its parameters: each kernel says what is worth trying.

    Returns
    -------
    dict of lists
        Parameters and values.

    Examples
    --------
    >>> from votron.tuning import default_grid
    >>> default_grid("averaged")["multiclass"]
    ['joint', 'ovr']
    >>> default_grid("voted", "rbf")["gamma"]
    ['scale', 'scale*4', 'scale*0.25']
    """
    check_estimator(estimator)
    grid = dict(STARTS[estimator])
    if "kernel" in grid:
        cls = kernel_class(kernel)
        search: Grid = {"degree": [3], "gamma": ["scale"], **({} if cls is None else cls.search)}
        grid = {"kernel": grid.pop("kernel"), "degree": search.pop("degree"), **grid, **search}
    return {name: list(values) for name, values in grid.items()}


def grid_in_words(estimator: str = "voted", edges_only: bool = False) -> str:
    """Return what a search tries of a classifier where it is told nothing else, as help texts say it.

    Parameters
    ----------
    estimator : str, default="voted"
        Which classifier.
    edges_only : bool, default=False
        Say only how lists go on where the best is at their edge.

    Returns
    -------
    str
        Parts of a sentence, without a full stop.

    Examples
    --------
    >>> from votron.tuning import grid_in_words
    >>> grid_in_words("naive-bayes")
    'alpha 1, 0.1, 0.01, 10; and on where the best is at an edge: alpha by factors of 10 from 0.0001 to 1000'
    """
    grid = default_grid(estimator)
    edges = ", ".join(_growth_words(name) for name in GROWTH if name in grid)
    if edges_only:
        return edges
    parts = []
    for name, values in grid.items():
        if name == "kernel":
            parts += [f"kernel {kernel}{_kernel_words(kernel)}" for kernel in values]
        elif name not in OF_KERNEL and len(values) > 1:
            ranged = name == "epochs" and values == moments_until(max(values))
            parts.append(f"epochs up to {max(values):g}" if ranged else f"{name} {', '.join(map(shown, values))}")
    return "; ".join(parts) + (f"; and on where the best is at an edge: {edges}" if edges else "")


def _kernel_words(kernel: str) -> str:
    cls = kernel_class(kernel)
    search = {} if cls is None else cls.search
    words = " and ".join(f"{name} {', '.join(map(shown, values))}" for name, values in search.items())
    return f" with {words}" if words else ""


def _growth_words(name: str) -> str:
    growth = GROWTH[name]
    if growth.adds:
        return f"{name} by {growth.step:g} to {growth.most:g}"
    if growth.of_scale:
        return f"{name} by factors of {growth.step:g} from 1/{1 / growth.least:g} to {growth.most:g} times scale"
    low = "" if math.isinf(growth.least) else f"from {growth.least:g} "
    return f"{name} by factors of {growth.step:g} {low}to {growth.most:g}"


def check_estimator(estimator: Any) -> None:
    """Refuse names that stand for no classifier."""
    if not (isinstance(estimator, str) and estimator in ESTIMATORS):
        raise VotronError(
            Parameter("estimator", of="tune"),
            f" must be one of {', '.join(map(repr, ESTIMATORS))}. Got {estimator!r} instead."
            f"{did_you_mean(estimator, ESTIMATORS)}",
        )


# -- as text ----------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value, or a dict of them, as JSON takes it; a kernel that has no name becomes text.

    Examples
    --------
    >>> plain({"kernel": max, "gamma": 0.5, "margin": {"yes": 1.0}})
    {'kernel': 'max', 'gamma': 0.5, 'margin': {'yes': 1.0}}
    """
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if isinstance(value, str | int | float | None) else shown(value)


def shown(value: Any) -> str:
    """Return a value as people read it.

    Examples
    --------
    >>> shown(0.5), shown(None), shown(max)
    ('0.5', 'None', 'max')
    """
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Kernel | str | int) or value is None:
        return str(value)
    return getattr(value, "__name__", repr(value))
