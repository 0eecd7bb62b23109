"""The on-line perceptron: a learner that takes one example at a time."""

from __future__ import annotations

import copy
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from votron._util.types import Floats, Label, Params
from votron.errors import IndefiniteKernelError, NotAvailableError, NotRepresentableError, VotronError
from votron.kernels import make_kernel
from votron.kernels.base import is_precomputed
from votron.online._vectors import Example, Weights, read_target, weights_for


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game: A gives an example, B predicts, A tells the label.

    ``v`` and all numbers after it are those after the round; see `OnlinePerceptron` for their meaning. A round without
    a mistake has the same object ``v`` as the round before. What needs a target is None without one.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> learner = OnlinePerceptron(target=[0, 1], keep_history=True)
    >>> learner.update([1, 2], +1)
    True
    >>> first = learner.history[0]
    >>> first.score, first.prediction, first.v, first.v_dot_u
    (0.0, 1, array([1., 2.]), 2.0)
    """

    t: int
    x: Example
    y: int
    weight: float
    score: float
    prediction: int
    mistake: bool
    k: int
    v: Any
    norm2: float
    radius2: float
    lemma2: float
    v_dot_u: float | None = None
    margin: float | None = None
    lemma1: float | None = None
    mistake_bound: float | None = None


class OnlinePerceptron:
    """The on-line perceptron: predict, then accept an example, one at a time.

    For streams, and for the game between players A and B in section 3 of Cohen's notes. After a mistake, y (v·x) ≤ 0,
    the guess v becomes v + η w y x, where w is the weight of the example. A score of 0 predicts +1.

    Examples are lists, arrays, rows of a sparse matrix, or, without a kernel, mappings of names to numbers, in which
    missing names count as 0. The first example (or the target) decides whether features are named, and otherwise how
    many there are. An example that is refused leaves the learner unchanged. The learner can be the last step of a river
    pipeline; import river before making it.

    Parameters
    ----------
    kernel : None, {"linear", "poly", "rbf", "conjunction"}, Kernel or callable, default=None
        Without a kernel v is a vector of weights. With one it is a sum of examples in the kernel's feature space, and
        a prediction takes a kernel value for each mistake so far. `votron.make_kernel` makes kernels with other
        parameters than the default ones.
    learning_rate : float, default=1.0
        η, positive. It scales v, and changes no prediction.
    target : vector, mapping or pair (coefficients, examples), optional
        A vector u that separates the examples; with a kernel u = Σ c_j Φ(z_j), given by the coefficients c and the
        examples z. It is divided by its length. With it the bounds of the mistake theorem are kept.
    keep_history : bool, default=False
        Keep every round in ``history``; each mistake then keeps a copy of v.

    Attributes
    ----------
    k, t : int
        Mistakes and examples so far.
    radius2 : float
        R², the largest ‖x‖² so far: Cohen's R.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> learner = OnlinePerceptron(target=[1, 1])
    >>> for x, y in [([1, 2], +1), ([-2, 1], -1), ([1, -4], -1), ([2, 1], +1)]:
    ...     print(learner.predict(x), learner.update(x, y))
    1 True
    1 True
    -1 False
    1 False
    >>> learner
    OnlinePerceptron(k=2 in 4 examples, vectors of 2 features)
    >>> learner.v
    array([3., 1.])
    >>> learner.lemma1 <= learner.v_dot_u, learner.norm2 <= learner.lemma2, learner.mistake_bound
    (True, True, 34.0)
    """

    def __init__(
        self, kernel: Any = None, *, learning_rate: float = 1.0, target: Any = None, keep_history: bool = False
    ) -> None:
        if not 0 < learning_rate < math.inf:
            raise VotronError(
                "The 'learning_rate' parameter of OnlinePerceptron must be a positive finite number. "
                f"Got {learning_rate!r} instead.",
                parameter="learning_rate",
            )
        if is_precomputed(kernel):
            raise VotronError(
                f"The 'kernel' parameter of OnlinePerceptron must work on features. Got {kernel!r} instead.",
                parameter="kernel",
            )
        self.kernel, self.learning_rate = kernel, float(learning_rate)
        self.target, self.keep_history = target, bool(keep_history)
        self.k = self.t = 0
        self.radius2 = self._norm2 = self._v_dot_u = 0.0
        self._margin = math.inf
        self._weight_sum = self._weight_squares = 0.0  # of the mistakes
        self._lightest, self._heaviest = math.inf, 0.0  # of all examples
        self._kernel = None if kernel is None else make_kernel(kernel)
        self._guess: Weights | None = None
        self._target: Weights | None = None
        if target is not None:
            self._target, self._guess, self._target_norm2 = read_target(target, self._kernel)
        self._rounds: list[Round] = []
        _register_with_river()

    def __setstate__(self, state: Params) -> None:
        self.__dict__.update(state)
        _register_with_river()

    def __repr__(self) -> str:
        kernel = "" if self._kernel is None else f"{self._kernel!r}, "
        form = "" if self._guess is None else f", {self._guess}"
        return f"{type(self).__name__}({kernel}k={self.k} in {self.t} examples{form})"

    def decision(self, x: Example) -> float:
        """Return the score v·x of an example, whose sign decides the prediction."""
        guess = self._guess_for(x)
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(self.learning_rate * guess.dot(guess.read(x)))

    def predict(self, x: Example) -> int:
        """Predict the label of an example: the sign of the score, and +1 where it is 0."""
        return 1 if self.decision(x) >= 0 else -1

    def update(self, x: Example, y: Label, weight: float = 1.0) -> bool:
        """Accept an example with its label; return whether the guess was mistaken, and so has changed.

        Parameters
        ----------
        x : vector or mapping
            The example.
        y : {+1, -1}
            Its label.
        weight : float, default=1.0
            w: a mistake adds η w y x. An example of weight 0 is ignored.
        """
        if y not in (1, -1):
            raise VotronError(f"The label of OnlinePerceptron must be +1 or -1. Got {y!r} instead.")
        if not 0 <= weight < math.inf:
            raise VotronError(f"The weight of an example must be a finite number of 0 or more. Got {weight!r} instead.")
        y, w, guess = 1 if y == 1 else -1, float(weight), self._guess_for(x)
        x = guess.read(x)
        if not w:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            dot, square = guess.dot(x), guess.square(x)
            towards = math.inf if self._target is None else y * self._target.dot(x)
        score = _finite(self.learning_rate * dot)
        mistake = self._count(y, w, dot, _finite(square), towards)
        if mistake:
            guess.add(y * w, x)
        self._guess = guess
        if self.keep_history:
            v = self.v if mistake else self._rounds[-1].v  # the first example is always a mistake
            bounds = [self.norm2, self.radius2, self.lemma2]
            if self._target is not None:
                bounds += [self.v_dot_u, self.margin, self.lemma1, self.mistake_bound]
            self._rounds.append(Round(self.t, x, y, w, score, 1 if dot >= 0 else -1, mistake, self.k, v, *bounds))
        return mistake

    def _guess_for(self, x: Example) -> Weights:
        """Return the guess, or a new one for examples like this."""
        return weights_for(x, self._kernel) if self._guess is None else self._guess

    def _count(self, y: int, w: float, dot: float, square: float, towards: float) -> bool:
        """Bring the sums up to date with these values of v·x, x·x and y (u·x); return whether it is a mistake."""
        radius2, lightest, heaviest = max(self.radius2, square), min(self._lightest, w), max(self._heaviest, w)
        mistake = y * dot <= 0
        if mistake:
            norm2 = _finite((self._norm2 + 2 * (y * w) * dot) + w * w * square)
            # Rounding can make ‖v‖², a sum of k² kernel values, slightly negative; only an indefinite kernel does more.
            slack = (1e-7 + (self.k + 1) ** 2 * float(np.finfo(np.float32).eps)) * radius2 * heaviest**2
            if norm2 < -slack:
                raise IndefiniteKernelError(
                    f"{self._kernel!r} is not positive semi-definite on these data: ‖v‖² would become {norm2:g}."
                )
            self.k, self._norm2, self._v_dot_u = self.k + 1, norm2, self._v_dot_u + w * towards
            self._weight_sum, self._weight_squares = self._weight_sum + w, self._weight_squares + w * w
        self.t, self.radius2, self._margin = self.t + 1, radius2, min(self._margin, towards)
        self._lightest, self._heaviest = lightest, heaviest
        return mistake

    @property
    def v(self) -> Any:
        """The guess: an array, a dict, or with a kernel pairs (coefficient, example); None before the first example."""
        return None if self._guess is None else self._guess.shown(self.learning_rate)

    @property
    def alpha(self) -> Floats:
        """The coefficient η w y of each mistake, in order; with a kernel or a history only."""
        return np.array([coefficient for coefficient, _ in self._mistakes()], dtype=np.float64)

    @property
    def support(self) -> tuple[Example, ...]:
        """The example of each mistake, in order; with a kernel or a history only."""
        return tuple(x for _, x in self._mistakes())

    def _mistakes(self) -> list[tuple[float, Example]]:
        if self._kernel is not None:
            return list(self.v or ())
        return [(self.learning_rate * (r.y * r.weight), r.x) for r in self.history if r.mistake]

    @property
    def history(self) -> list[Round]:
        """The rounds so far; with ``keep_history=True`` only."""
        if not self.keep_history:
            raise NotAvailableError("The history of OnlinePerceptron needs keep_history=True.")
        return list(self._rounds)

    @property
    def norm2(self) -> float:
        """‖v‖², from ‖v'‖² = ‖v‖² + 2wy(v·x) + w²‖x‖² at each mistake (with η in it)."""
        return self.learning_rate * (self.learning_rate * self._norm2)

    @property
    def lemma2(self) -> float:
        """η² Σw² R² over the mistakes (η² k R² without weights), which ‖v‖² never exceeds."""
        return self.learning_rate * (self.learning_rate * (self._weight_squares * self.radius2))

    @property
    def v_dot_u(self) -> float:
        """v·u; with a target only."""
        return self.learning_rate * (self._v_dot_u / self._target_length)

    @property
    def margin(self) -> float:
        """γ, the least y (u·x) so far (inf before the first example); with a target only.

        At 0 or below the target does not separate the examples, and nothing is bounded.
        """
        return self._margin / self._target_length

    @property
    def lemma1(self) -> float:
        """η Σw γ over the mistakes (η k γ without weights), which v·u is never below; with a target only."""
        return self.learning_rate * (self._weight_sum * self._margin / self._target_length) if self.k else 0.0

    @property
    def mistake_bound(self) -> float:
        """R²/γ², which k never exceeds; inf where γ ≤ 0; with a target only.

        With weights from a to b it is (a + b)²/(4ab) times that. It is rounded once, so not below k on whole numbers.
        """
        if self.margin <= 0 or not self.t:
            return math.inf if self.t else 0.0
        a, b = Fraction(self._lightest), Fraction(self._heaviest)
        radius2, norm2, margin = Fraction(self.radius2), Fraction(self._target_norm2), Fraction(self._margin)
        return float((a + b) ** 2 / (4 * a * b) * radius2 * norm2 / margin**2)

    @property
    def _target_length(self) -> float:
        """The length of the target as it was given."""
        if self._target is None:
            raise NotAvailableError("The bounds of OnlinePerceptron need a target: OnlinePerceptron(target=u).")
        return math.sqrt(self._target_norm2)

    # -- for pipelines of river ---

    _supervised = True
    _multiclass = False

    def learn_one(self, x: Example, y: Label, w: float = 1.0) -> None:
        """Accept an example with a label of True or False, 1 or 0, +1 or -1, and its weight."""
        self.update(x, -1 if y == 0 else y, w)

    def predict_one(self, x: Example) -> bool:
        """Predict a label: whether it is +1."""
        return self.predict(x) > 0

    def predict_proba_one(self, x: Example) -> dict[bool, float]:
        """Refuse: a perceptron predicts labels, not probabilities. River expects this error."""
        raise NotImplementedError(f"{type(self).__name__} predicts labels, not probabilities.")

    def clone(self, new_params: Params | None = None, include_attributes: bool = False) -> Self:
        """Return a new learner with the same parameters but for ``new_params``, or a copy of what was learnt too."""
        if include_attributes:
            return copy.deepcopy(self)
        return type(self)(**copy.deepcopy(self._get_params() | (new_params or {})))

    def _get_params(self) -> Params:
        return {name: getattr(self, name) for name in ("kernel", "learning_rate", "target", "keep_history")}


def _register_with_river() -> None:
    """Register learners as classifiers, if river is loaded; to inherit from its class would make it a dependency."""
    base = sys.modules.get("river.base")
    if base is not None:
        base.Classifier.register(OnlinePerceptron)


def _finite(value: float) -> float:
    """Return a number, or refuse the example that would need one beyond float64."""
    if not math.isfinite(value):
        raise NotRepresentableError("This example leads to a number beyond float64: scale the examples down.")
    return value
