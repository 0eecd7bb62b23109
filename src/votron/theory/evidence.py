"""The quantities of a training run that the theorems need.

`votron.theory.trained` computes them, and `votron.theory.statements` turns them into bounds. Three margins have
different names: ``tau`` is the parameter τ up to which a perceptron updates, an *attained* margin is that of a vector
on the data, and γ (``gamma``) is the one that a theorem is applied with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from votron._util.types import Estimator, Floats, Index, RowsLike
from votron.errors import VotronError
from votron.record import labels_of
from votron.theory.bounds import held_out_bound

ONE_VOTE, ONE_RANDOM = "vote after one epoch", "random vector of one epoch"
MEAN_RANDOM = "random vector of one epoch, mean over seeds"
"""No model predicts by it: with one seed a row has one vector."""
LAST, AVERAGE, MAXIMAL = "last vector", "average", "adatron's vector"

Count = Annotated[int, Meta(ge=0, le=2**53)]


@dataclass(frozen=True)
class Assumption:
    """A condition of a theorem, and whether this model meets it; ``holds`` is None where only the user can know."""

    name: str
    holds: bool | None
    because: str
    change: str = ""  # a change that would make it hold
    another_run: bool = False
    """Whether the change leads to another run, so that the value of the bound is only an order of magnitude."""


@dataclass(frozen=True)
class Measured:
    """The error of a predictor on n test rows: wrong signs of each vector, and wrong labels in total."""

    errors: tuple[Count, ...]
    total: Count
    n: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        if self.total > self.n:  # in a model file
            raise ValueError("'total' must be at most 'n'")

    @classmethod
    def of(cls, scores: Floats, signs: NDArray[np.int64]) -> Measured:
        """Return the errors of scores on test data with the given signs."""
        each = (np.where(scores >= 0, 1, -1) != signs).sum(axis=0)
        return cls(tuple(each.tolist()), int(wrong_labels(scores, signs).sum()), len(scores))

    @property
    def rate(self) -> float:
        """Share of wrong labels."""
        return self.total / self.n

    def guaranteed(self, delta: float) -> float:
        """Return the upper limit of the error, with probability 1 − δ over the draw of the test data."""
        return held_out_bound(self.total, self.n, delta)


@dataclass(frozen=True, eq=False)
class Run:
    """The training of one vector."""

    label: str | float  # the class, against the rest
    support: int  # ‖α‖₀: examples that the final vector depends on
    consistent: bool  # whether the final vector is right on every example
    outside: int  # errors of the final vector outside the support; all errors if the support is unknown
    support_known: bool = True  # otherwise ``support`` is an upper limit
    own_outside: int | None = None
    """As ``outside``, for the model's own rule; None if the rule depends on more than the support."""
    mistakes: int | None = None  # updates in all of training; None if the model was not trained by mistakes
    first_pass: int | None = None  # updates in the first pass, if known
    wrong: Index | None = None  # the examples with a mistake
    times: Index | None = None  # how often each had one
    first_wrong: Index | None = None  # the examples with a mistake in the first pass


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The training of a model, as theorems see it. Everything is in feature space."""

    model: str
    predictor: str
    m: int  # training examples
    first_m: int  # those of the first pass: fewer if training ended within it
    epochs: float  # passes
    presentations: int  # how often an example was presented at most
    tau: float  # τ: updates were made where y · score ≤ τ K(x, x)
    lengths: Floats  # ‖x‖ of each example
    lengths_known: bool  # whether no new example can be longer
    candidates: Mapping[str, Floats]  # y (u·x) for vectors u of length 1 by name, (n_samples, n_vectors)
    runs: tuple[Run, ...]  # one for each vector
    assumptions: tuple[Assumption, ...]  # those that the history decides; several may have the same name
    switches: Mapping[str, str]  # for each predictor or assumption, the parameter that provides it
    together: Run | None = None  # all vectors as one predictor, which errs where any vector does
    always: tuple[Assumption, ...] = ()  # assumptions of every bound: what files, clusters and frozen steps claim
    left_out: int = 0  # rows with K(x, x) = 0, which cannot be learnt and are not counted
    most_repeated: int | None = None  # count of the most frequent row; None where rows cannot be compared
    trained_jointly: bool = False
    """Whether several classes were trained together: then there is one run, of all their vectors as one."""
    weighted: bool = False  # whether examples had weights other than 1
    cache: dict[tuple[int, int], tuple[float, str, str, float]] = field(default_factory=dict)
    """Values that several statements share."""

    @property
    def by_mistakes(self) -> bool:
        """True for perceptrons."""
        return all(run.mistakes is not None for run in self.runs)

    @property
    def radius(self) -> float:
        """R, the length of the longest example."""
        return float(self.lengths.max())

    @property
    def stretch(self) -> float:
        """Factor of R in the bounds on updates: ‖v‖² grows by at most (1 + 2τ) ‖x‖² with each.

        For two vectors that change together it is 2 (1 + τ) ‖x‖², and their margin has √2 in it.
        """
        return math.sqrt(1 + (1 if self.trained_jointly else 2) * self.tau)

    def attained_margin(
        self, c: int, rows: Index | slice = slice(None), *, normalized: bool = False
    ) -> tuple[float, str]:
        """Return the largest margin of any candidate for vector c on these rows, and the candidate's name."""
        scale = self.lengths[rows] if normalized else 1.0
        found = [(float((each[rows, c] / scale).min()), name) for name, each in self.candidates.items()]
        return max(found, key=lambda pair: pair[0])


def wrong_labels(scores: Floats, signs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows get a wrong label."""
    return np.asarray(labels_of(scores) != labels_of(signs.astype(np.float64)))


def unwrapped(model: Estimator, method: str) -> tuple[Estimator, Callable[[RowsLike], RowsLike], list[Assumption]]:
    """Return the model with a method, the transformation of its data, and the assumptions that the wrapping affects."""
    if hasattr(model, "best_estimator_"):
        estimator, transform, touched = unwrapped(model.best_estimator_, method)
        because = f"{type(model).__name__} chose parameters by these data"
        chosen = Assumption("kernel fixed", False, because, "parameters chosen without these data", another_run=True)
        return estimator, transform, [*touched, chosen]
    if isinstance(model, Pipeline):
        estimator, inner, touched = unwrapped(model.steps[-1][1], method)
        if len(model.steps) == 1:
            return estimator, inner, touched
        steps = [_of_step(name, step) for name, step in model.steps[:-1] if hasattr(step, "fit")]
        return estimator, lambda X: inner(model[:-1].transform(X)), [*filter(None, steps), *touched]
    if not hasattr(model, method):
        raise VotronError(
            "Margins and certificates need a fitted voted or averaged perceptron or kernel adatron, or a Pipeline or "
            f"search around one. Got an object of type {type(model).__name__} instead."
        )
    return model, lambda X: X, []


def _of_step(name: str, step: object) -> Assumption | None:
    """Return what a step breaks or claims; None for those of scikit-learn that learn nothing."""
    learns = get_tags(step).requires_fit
    if learns and type(step) is FrozenEstimator:  # not a subclass, which may learn
        because = f"the frozen step {name!r} of the pipeline was fitted on other data than these: your claim"
        return Assumption("frozen step", None, because)
    if learns:
        because = f"the step {name!r} of the pipeline learns from the data that it is fitted to"
        change = f"a step {name!r} fitted on other data (FrozenEstimator)"
        return Assumption("kernel fixed", False, because, change, another_run=True)
    if type(step).__module__.split(".")[0] not in ("sklearn", "votron"):
        because = f"the step {name!r} of the pipeline learns nothing from data, as its class says: not verified"
        return Assumption("fixed step", None, because)
    return None
