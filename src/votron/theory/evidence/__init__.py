"""Evidence for certificates: what a fitted model shows of its training, as theorems see it.

`recorded`, `weights` and `maximal` make it from the training history and the training data, each for one kind of model,
and `votron.theory.statements` turn it into bounds. Three margins are told apart by name: ``tau`` is the parameter τ up
to which a perceptron updates, an *attained* margin is that of a vector on the data, and γ (``gamma``) is the one that a
theorem is applied with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from votron._util.types import Floats, Index
from votron.record import labels_of
from votron.theory.bounds import held_out_bound

__all__ = [
    "AVERAGE",
    "LAST",
    "MAXIMAL",
    "MEAN_RANDOM",
    "ONE_RANDOM",
    "ONE_VOTE",
    "Assumption",
    "Evidence",
    "Measured",
    "Run",
]

ONE_VOTE, ONE_RANDOM = "vote after one epoch", "random vector of one epoch"
MEAN_RANDOM = "random vector of one epoch, mean over seeds"
"""No model predicts by it: with one seed a row has one vector, and where rows repeat the error is not near its mean."""
LAST, AVERAGE, MAXIMAL = "last vector", "average", "adatron's vector"

Count = Annotated[int, Meta(ge=0, le=2**53)]


@dataclass(frozen=True)
class Assumption:
    """Something that a theorem needs, and whether this model has it; ``holds`` is None where only the user can know.

    Examples
    --------
    >>> Assumption("one epoch", False, "10 epochs were run", "epochs=1").change
    'epochs=1'
    """

    name: str
    holds: bool | None
    because: str
    change: str = ""
    """What would make it hold."""
    another_run: bool = False
    """Whether that would be another run, of whose bounds this one's numbers give only the order of magnitude."""
    before_value: bool = False
    """Whether a bound has no value until it holds."""


@dataclass(frozen=True)
class Measured:
    """The error of a predictor on data that it was not trained on: wrong signs of each vector, and wrong labels of n.

    Examples
    --------
    >>> Measured(errors=(3,), total=3, n=100).rate
    0.03
    """

    errors: tuple[Count, ...]
    total: Count
    n: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        if self.total > self.n:
            raise ValueError("'total' must be at most 'n'")

    @classmethod
    def of(cls, scores: Floats, signs: NDArray[np.int64]) -> Measured:
        """Return the errors of scores on test data, given the signs that they should have."""
        each = (np.where(scores >= 0, 1, -1) != signs).sum(axis=0)
        return cls(tuple(each.tolist()), int(wrong_labels(scores, signs).sum()), len(scores))

    @property
    def rate(self) -> float:
        """Share of wrong labels."""
        return self.total / self.n

    def guaranteed(self, delta: float) -> float:
        """Return what the error is below, with probability 1 − δ over the draw of the test data."""
        return held_out_bound(self.total, self.n, delta)


@dataclass(frozen=True, eq=False)
class Run:
    """The training of one vector, as theorems count it.

    Examples
    --------
    >>> Run("spam", support=7, consistent=True, outside=0, mistakes=9).mistakes
    9
    """

    label: str | float
    """The class that it is for, against the rest."""
    support: int
    """‖α‖₀: examples that the final vector depends on."""
    consistent: bool
    """Whether the final vector is right on every example."""
    outside: int
    """Examples not in the support that the final vector is wrong about; all, where the support is not known."""
    support_known: bool = True
    """Otherwise ``support`` is an upper limit."""
    own_outside: int | None = None
    """As ``outside``, of the model's own rule; None if that depends on more than the support."""
    mistakes: int | None = None
    """Updates in all of training; None for a model that was not trained by mistakes."""
    first_pass: int | None = None
    """Updates in the first pass, if that is known."""
    wrong: Index | None = None
    times: Index | None = None
    """The examples with a mistake, and how often each had one."""
    first_wrong: Index | None = None
    """The examples with a mistake in the first pass."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The training of a model, for its certificate. Everything is in feature space.

    Examples
    --------
    A bound, such as `votron.theory.statements.register_bound` takes, reads from it what it needs:

    >>> def share_of_support(evidence, c, delta):
    ...     return evidence.runs[c].support / evidence.m, "by counting"
    """

    model: str
    uses: str
    """What its ``predict`` predicts by."""
    m: int
    first_m: int
    """Training examples, and those of the first pass: fewer where there was not even one."""
    epochs: float
    presentations: int
    """Passes that were run, and how often an example was presented at most."""
    tau: float
    """τ: updates were made where y · score ≤ τ K(x, x); for classes that were trained together, where the score of the
    right one exceeded the best other by no more than that."""
    lengths: Floats
    """‖x‖ of each example."""
    lengths_known: bool
    """Whether no example at all can be longer, also among those to come."""
    candidates: Mapping[str, Floats]
    """Y (u·x) for vectors u of length 1 by name, (n_samples, n_vectors)."""
    runs: tuple[Run, ...]
    """One for each vector."""
    assumptions: tuple[Assumption, ...]
    """Those that the model's history tells of; several may have the same name."""
    switches: Mapping[str, str]
    """For each predictor or assumption, what to set to have it."""
    together: Run | None = None
    """Of several vectors: the run of all as one predictor, which errs where any vector does. Its support are the
    examples that any vector depends on, its mistakes the steps at which any made one."""
    around: tuple[Assumption, ...] = ()
    """What everything rests on: that these are the training data, and what files and frozen steps claim."""
    left_out: int = 0
    """Rows with K(x, x) = 0, which cannot be learnt and are not counted."""
    most_repeated: int | None = None
    """How often the row that comes most often is there; None where rows cannot be compared."""
    trained_jointly: bool = False
    """Whether several classes were trained together, so that everything is about their vectors as one."""
    weighted: bool = False
    """Whether examples had weights other than 1."""
    known: dict[tuple[int, int], tuple[float, str, str, float]] = field(default_factory=dict)
    """Values that several statements share."""

    @property
    def by_mistakes(self) -> bool:
        """True if the model was trained by its mistakes, as a perceptron is."""
        return all(run.mistakes is not None for run in self.runs)

    @property
    def radius(self) -> float:
        """R, the length of the longest example."""
        return float(self.lengths.max())

    @property
    def stretch(self) -> float:
        """Factor that τ adds to R in the bounds on updates: ‖v‖² grows by up to (1 + 2τ) ‖x‖² with each.

        Two vectors that change by one row grow together by 2 (1 + τ) ‖x‖² at most, and their margin has √2 in it.
        """
        return math.sqrt(1 + (1 if self.trained_jointly else 2) * self.tau)

    @property
    def unit_length(self) -> bool:
        """True if all examples have length 1."""
        return bool(np.allclose(self.lengths, 1.0, rtol=0, atol=1e-6))

    def attained_margin(
        self, c: int, rows: Index | slice = slice(None), *, normalized: bool = False
    ) -> tuple[float, str]:
        """Return the largest margin that a candidate for vector c has on these rows, and the candidate's name."""
        scale = self.lengths[rows] if normalized else 1.0
        found = [(float((each[rows, c] / scale).min()), name) for name, each in self.candidates.items()]
        return max(found, key=lambda pair: pair[0])


def wrong_labels(scores: Floats, signs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows get a wrong label by these scores; of two classes, a score of 0 predicts the second."""
    return np.asarray(labels_of(scores) != labels_of(signs.astype(np.float64)))
