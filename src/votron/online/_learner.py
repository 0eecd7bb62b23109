"""The on-line perceptron: a learner that takes one example at a time."""

from __future__ import annotations

import copy
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np

from votron._util.text import did_you_mean
from votron._util.types import Floats, Labels, Params
from votron.errors import IndefiniteKernelError, NotAvailableError, NotRepresentableError, VotronError
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class
from votron.online._vectors import Example, Target, Weights, read_number, read_target, weights_for

BOUNDS = ("norm2", "radius2", "lemma2")
BOUNDS_OF_TARGET = (*BOUNDS, "v_dot_u", "margin", "lemma1", "mistake_bound")
"""The numbers of a round."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game: A gives an example, B predicts, A tells the label.

    ``v`` and all numbers after it are those after the round; see `OnlinePerceptron` for their meaning. A round without
    a mistake has the same object ``v`` as the round before. What needs a target is None without one.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> learner = OnlinePerceptron(target=[0, 1], keep_history=True)
    >>> learner.update([1, 2], +1), learner.update([3, 1], -1)
    (True, True)
    >>> for r in learner.history:
    ...     print(r.t, r.x, r.y, r.score, r.prediction, r.v, r.v_dot_u)
    1 [1. 2.] 1 0.0 1 [1. 2.] 2.0
    2 [3. 1.] -1 5.0 1 [-2.  1.] 1.0
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


@dataclass(frozen=True)
class Sums:
    """The sums over t examples and k mistakes, without η and 1/‖u‖.

    ``weight_sum`` and ``weight_squares`` are Σw and Σw² over the mistakes, ``weights`` the least and the largest weight
    of all examples.
    """

    t: int = 0
    k: int = 0
    norm2: float = 0.0
    radius2: float = 0.0
    v_dot_u: float = 0.0
    margin: float = math.inf
    weight_sum: float = 0.0
    weight_squares: float = 0.0
    weights: tuple[float, float] = math.inf, 0.0

    def after(self, y: int, dot: float, square: float, towards: float, w: float) -> Sums:
        """Return the sums after one more example of weight w, with these values of v·x, x·x and y (u·x)."""
        mistake = y * dot <= 0
        return Sums(
            t=self.t + 1,
            k=self.k + mistake,
            norm2=(self.norm2 + 2 * (y * w) * dot) + w * w * square if mistake else self.norm2,
            radius2=max(self.radius2, square),
            v_dot_u=self.v_dot_u + w * towards if mistake else self.v_dot_u,
            margin=min(self.margin, towards),
            weight_sum=self.weight_sum + w if mistake else self.weight_sum,
            weight_squares=self.weight_squares + w * w if mistake else self.weight_squares,
            weights=(min(self.weights[0], w), max(self.weights[1], w)),
        )


class RiverClassifier:
    """The ``learn_one`` and ``predict_one`` of river, over ``update`` and ``predict``.

    River checks ``isinstance(model, river.base.Classifier)``. Inheriting from that class would make river a dependency,
    so learners are registered with it once river is loaded.
    """

    _supervised = True
    _multiclass = False
    _is_stochastic = False
    _mutable_attributes: frozenset[str] = frozenset()

    def update(self, x: Example, y: Labels, weight: float = 1.0) -> bool:
        raise NotImplementedError

    def predict(self, x: Example) -> int:
        raise NotImplementedError

    def learn_one(self, x: Example, y: Labels, w: float = 1.0) -> None:
        """Accept an example with a label of True or False, 1 or 0, +1 or -1, and its weight."""
        if not (isinstance(y, Real | np.bool_) and y in (1, 0, -1)):
            raise VotronError(
                "The label of OnlinePerceptron.learn_one must be True or False, 1 or 0, or +1 or -1. "
                f"Got {y!r} instead."
            )
        self.update(x, 1 if y == 1 else -1, w)

    def predict_one(self, x: Example) -> bool:
        """Predict a label: whether it is +1."""
        return self.predict(x) > 0

    def predict_proba_one(self, x: Example) -> dict[bool, float]:
        """Refuse: a perceptron predicts labels, not probabilities. River expects this error."""
        raise NotImplementedError(
            f"{type(self).__name__} predicts labels, not probabilities: use OneVsOneClassifier for several classes, "
            "and metrics such as Accuracy."
        )

    def clone(self, new_params: Params | None = None, include_attributes: bool = False) -> Self:
        """Return a new learner with the same parameters but for ``new_params``, or a copy of what was learnt too."""
        if include_attributes:
            return copy.deepcopy(self)
        return type(self)(**copy.deepcopy(self._get_params() | (new_params or {})))

    def mutate(self, new_attrs: Params) -> None:
        """Refuse to change parameters in place."""
        if new_attrs:
            raise VotronError(f"The parameters of {type(self).__name__} cannot be changed: use clone({new_attrs!r}).")

    def _get_params(self) -> Params:
        return {name: getattr(self, name) for name in ("kernel", "learning_rate", "target", "keep_history")}

    @property
    def _tags(self) -> set[str]:
        return set()

    @property
    def _raw_memory_usage(self) -> int:
        from river import base

        return int(base.Base._raw_memory_usage.fget(self))


def _announce() -> None:
    """Tell river, if it is loaded, that learners are classifiers."""
    base = sys.modules.get("river.base")
    if hasattr(base, "Classifier"):
        base.Classifier.register(RiverClassifier)  # type: ignore[union-attr]


class OnlinePerceptron(RiverClassifier):
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

    Features can have names, and a kernel draws curved boundaries:

    >>> named = OnlinePerceptron()
    >>> named.update({"free": 1, "offer": 2}, +1), named.update({"offer": 1, "meeting": 1}, -1)
    (True, True)
    >>> named.v
    {'free': 1.0, 'offer': 1.0, 'meeting': -1.0}
    >>> xor = OnlinePerceptron("poly")
    >>> for _ in range(10):
    ...     for x in [(0, 0), (0, 1), (1, 0), (1, 1)]:
    ...         mistake = xor.update(x, +1 if x[0] != x[1] else -1)
    >>> [xor.predict(x) for x in [(0, 0), (0, 1), (1, 0), (1, 1)]]
    [-1, 1, 1, -1]
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        learning_rate: float = 1.0,
        target: Any = None,
        keep_history: bool = False,
    ) -> None:
        self.kernel, self.learning_rate = kernel, read_number(learning_rate)
        self.target, self.keep_history = target, bool(keep_history)
        if not 0 < self.learning_rate < math.inf:
            raise VotronError(
                "The 'learning_rate' parameter of OnlinePerceptron must be a positive finite number. "
                f"Got {learning_rate!r} instead.",
                parameter="learning_rate",
            )
        self._kernel = _checked_kernel(kernel)
        self._target = None if target is None else read_target(target, self._kernel)
        self._guess: Weights | None = None if self._target is None else self._target.u.zero()
        self._sums = Sums()
        self._rounds: list[Round] = []
        _announce()

    def __setstate__(self, state: Params) -> None:
        self.__dict__.update(state)
        _announce()

    def __repr__(self) -> str:
        kernel = "" if self._kernel is None else f"{self._kernel!r}, "
        seen = f"k={self.k} in {self.t} examples"
        return f"{type(self).__name__}({kernel}{seen}{'' if self._guess is None else f', {self._guess}'})"

    def decision(self, x: Example) -> float:
        """Return the score v·x of an example, whose sign decides the prediction."""
        guess = self._guess_for(x)
        return _finite(self.learning_rate * guess.dot(guess.read(x)))

    def predict(self, x: Example) -> int:
        """Predict the label of an example: the sign of the score, and +1 where it is 0."""
        guess = self._guess_for(x)
        return 1 if _finite(guess.dot(guess.read(x))) >= 0 else -1

    def update(self, x: Example, y: Labels, weight: float = 1.0) -> bool:
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
        if read_number(y) not in (1, -1):
            raise VotronError(f"The label of OnlinePerceptron.update must be +1 or -1. Got {y!r} instead.")
        if not 0 <= read_number(weight) < math.inf:
            raise VotronError(
                "The weight of an example of OnlinePerceptron must be a finite number of 0 or more. "
                f"Got {weight!r} instead."
            )
        sign, w, guess = int(y), float(weight), self._guess_for(x)
        x = guess.read(x)
        if not w:
            return False
        dot = _finite(guess.dot(x))
        score, mistake = _finite(self.learning_rate * dot), sign * dot <= 0
        towards = math.inf if self._target is None else sign * self._target.u.dot(x)
        before, self._sums = self._sums, self._sums.after(sign, dot, guess.square(x), towards, w)
        try:
            self._check_sums()
        except VotronError:
            self._sums = before
            raise
        if mistake:
            guess.add(sign * w, x)
        self._guess = guess
        if self.keep_history:
            v = self.v if mistake else self._rounds[-1].v  # the first example is always a mistake
            bounds = {name: getattr(self, name) for name in (BOUNDS if self._target is None else BOUNDS_OF_TARGET)}
            self._rounds.append(Round(self.t, x, sign, w, score, 1 if dot >= 0 else -1, mistake, self.k, v, **bounds))
        return mistake

    def _guess_for(self, x: Example) -> Weights:
        """Return the guess, or a new one for examples like this."""
        return weights_for(x, self._kernel) if self._guess is None else self._guess

    def _check_sums(self) -> None:
        for number in (self.norm2, self.lemma2, *(() if self._target is None else (self.v_dot_u, self.lemma1))):
            _finite(number)
        # Rounding can make ‖v‖², a sum of k² kernel values, slightly negative; only an indefinite kernel does more.
        slack = (1e-7 + self.k**2 * float(np.finfo(np.float32).eps)) * self.radius2 * self._sums.weights[1] ** 2
        if self._sums.norm2 < -slack:
            raise IndefiniteKernelError(
                f"{self._kernel!r} is not positive semi-definite on these data: ‖v‖² would become "
                f"{self._sums.norm2:g} with mistake {self.k}."
            )

    @property
    def k(self) -> int:
        """Mistakes so far."""
        return self._sums.k

    @property
    def t(self) -> int:
        """Examples so far."""
        return self._sums.t

    @property
    def v(self) -> Any:
        """The guess: an array, a dict of the weights that are not 0, or with a kernel pairs (coefficient, example).

        It is None where neither an example nor a target has decided its form.
        """
        if self._guess is None:
            return () if self._kernel is not None else None
        return self._guess.shown(self.learning_rate)

    @property
    def alpha(self) -> Floats:
        """The coefficient η w y of each mistake, in order; with a kernel or a history only."""
        return np.array([coefficient for coefficient, _ in self._mistakes("alpha")], dtype=np.float64)

    @property
    def support(self) -> tuple[Example, ...]:
        """The example of each mistake, in order; with a kernel or a history only."""
        return tuple(x for _, x in self._mistakes("support"))

    def _mistakes(self, name: str) -> list[tuple[float, Example]]:
        if self._kernel is not None:
            return list(self.v)
        if self.keep_history:
            return [(self.learning_rate * (r.y * r.weight), r.x) for r in self._rounds if r.mistake]
        raise NotAvailableError(f"The '{name}' of OnlinePerceptron needs a kernel or keep_history=True.")

    @property
    def history(self) -> list[Round]:
        """The rounds so far; with ``keep_history=True`` only."""
        if not self.keep_history:
            raise NotAvailableError("The 'history' of OnlinePerceptron needs keep_history=True.")
        return list(self._rounds)

    @property
    def norm2(self) -> float:
        """‖v‖², from ‖v'‖² = ‖v‖² + 2wy(v·x) + w²‖x‖² at each mistake (with η in it)."""
        return self.learning_rate * (self.learning_rate * self._sums.norm2)

    @property
    def radius2(self) -> float:
        """R², the largest ‖x‖² so far: Cohen's R."""
        return self._sums.radius2

    @property
    def lemma2(self) -> float:
        """η² Σw² R² over the mistakes (η² k R² without weights), which ‖v‖² never exceeds."""
        return self.learning_rate * (self.learning_rate * (self._sums.weight_squares * self.radius2))

    @property
    def v_dot_u(self) -> float:
        """v·u; with a target only."""
        return self.learning_rate * (self._sums.v_dot_u / self._needed_target("v_dot_u").length)

    @property
    def margin(self) -> float:
        """γ, the least y (u·x) so far (inf before the first example); with a target only.

        At 0 or below the target does not separate the examples, and nothing is bounded.
        """
        return self._sums.margin / self._needed_target("margin").length

    @property
    def lemma1(self) -> float:
        """η Σw γ over the mistakes (η k γ without weights), which v·u is never below; with a target only."""
        length = self._needed_target("lemma1").length
        return self.learning_rate * (self._sums.weight_sum * self._sums.margin / length) if self.k else 0.0

    @property
    def mistake_bound(self) -> float:
        """R²/γ², which k never exceeds; inf where γ ≤ 0; with a target only.

        With weights from a to b it is (a + b)²/(4ab) times that. It is rounded once, so not below k on whole numbers.
        """
        norm2 = self._needed_target("mistake_bound").norm2
        if self._sums.margin <= 0:
            return math.inf
        if not self.t:
            return 0.0
        a, b = map(Fraction, self._sums.weights)
        factor = (a + b) ** 2 / (4 * a * b)
        try:
            return float(factor * Fraction(self.radius2) * Fraction(norm2) / Fraction(self._sums.margin) ** 2)
        except OverflowError:
            return math.inf

    def _needed_target(self, name: str) -> Target:
        if self._target is None:
            raise NotAvailableError(f"The '{name}' of OnlinePerceptron needs a target: OnlinePerceptron(target=u).")
        return self._target


def _finite(value: float) -> float:
    """Return a number, or refuse the example that would need one beyond float64."""
    if not math.isfinite(value):
        raise NotRepresentableError(
            "A number exceeds the largest float64 with this example: scale the examples down, or the learning rate."
        )
    return value


def _checked_kernel(kernel: Any) -> Kernel | None:
    if kernel is None:
        return None
    known = kernel_class(kernel) is not None if isinstance(kernel, str) else callable(kernel)  # as a Kernel is
    made = make_kernel(kernel) if known else None
    if made is None or is_precomputed(made):
        names = [name for name, cls in KERNELS.items() if not cls.pairwise]
        raise VotronError(
            f"The 'kernel' parameter of OnlinePerceptron must be None, one of {', '.join(map(repr, names))}, a Kernel "
            f"or a function, and not precomputed. Got {kernel!r} instead.{did_you_mean(kernel, names)}",
            parameter="kernel",
        )
    return made
