"""The on-line perceptron: a learner that takes one example at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from votron._util.text import did_you_mean
from votron._util.types import Floats, Labels, Params
from votron.errors import IndefiniteKernelError, VotronError
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class
from votron.online._game import NotKeptError, Round, Sums, Target, finite, read_target
from votron.online._reading import OWNER, Example, read_label, read_number, read_weight
from votron.online._river import RiverClassifier, announce
from votron.online._weights import WeightVector, weights_for

BOUNDS = ("norm2", "radius2", "lemma2")
BOUNDS_OF_TARGET = (*BOUNDS, "v_dot_u", "margin", "lemma1", "mistake_bound")
"""The numbers of a round."""


class OnlinePerceptron(RiverClassifier):
    """The on-line perceptron: predict, then accept an example, one at a time.

    For streams, and for the game between players A and B in section 3 of Cohen's notes. After a mistake, y (v·x) ≤ 0,
    the guess v becomes v + η w y x, where w is the weight of the example. A score of 0 predicts +1.

    Examples are lists, arrays, rows of a sparse matrix, or, without a kernel, mappings of names to numbers,
    in which missing names count as 0. A pandas Series with names as its index is such a mapping. The first example (or
    the target) decides whether features are named, and otherwise how many there are. An example that is refused leaves
    the learner unchanged.

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
    v : array, dict, or tuple of pairs (coefficient, example)
        The guess.
    norm2, radius2, lemma2 : float
        ‖v‖², the largest ‖x‖² so far, and lemma 2's bound.
    v_dot_u, margin, lemma1, mistake_bound : float
        v·u, the margin γ so far, lemma 1's bound and the theorem's; with a target only. All hold with weights, too.
    alpha, support : array, tuple
        Coefficients and examples of the mistakes; with a kernel or a history only.
    history : list of Round
        The rounds; with ``keep_history`` only.

    Notes
    -----
    It can be the last step of a river pipeline (``learn_one``, ``predict_one``); import river before making it.

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

    An example may have a weight:

    >>> weighted = OnlinePerceptron()
    >>> weighted.update([1, 0], +1, weight=0.5), weighted.update([1, 1], -1, weight=2)
    (True, True)
    >>> weighted.v
    array([-1.5, -2. ])
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
                f"The 'learning_rate' parameter of {OWNER} must be a positive finite number. "
                f"Got {learning_rate!r} instead.",
                parameter="learning_rate",
            )
        self._kernel = _checked_kernel(kernel)
        self._target = None if target is None else read_target(target, self._kernel)
        self._guess: WeightVector | None = None if self._target is None else self._target.u.zero()
        self._sums = Sums()
        self._rounds: list[Round] = []
        announce()

    def __setstate__(self, state: Params) -> None:
        self.__dict__.update(state)
        announce()

    def __repr__(self) -> str:
        kernel = "" if self._kernel is None else f"{self._kernel!r}, "
        seen = f"k={self.k} in {self.t} examples"
        return f"{type(self).__name__}({kernel}{seen}{'' if self._guess is None else f', {self._guess}'})"

    # -- the learner --------------------------------------------------------------------------------------------------

    def decision(self, x: Example) -> float:
        """Return the score v·x of an example, whose sign decides the prediction."""
        guess = self._guess_for(x)
        return finite(self.learning_rate * guess.dot(guess.read(x)))

    def predict(self, x: Example) -> int:
        """Predict the label of an example: the sign of the score, and +1 where it is 0."""
        guess = self._guess_for(x)
        return 1 if finite(guess.dot(guess.read(x))) >= 0 else -1

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
        sign, weight = read_label(y), read_weight(weight)
        guess = self._guess_for(x)
        x = guess.read(x)
        if not weight:
            return False
        dot = finite(guess.dot(x))
        score, mistake = finite(self.learning_rate * dot), sign * dot <= 0
        towards = math.inf if self._target is None else sign * self._target.u.dot(x)
        before, self._sums = self._sums, self._sums.after(sign, dot, guess.square(x), towards, weight)
        try:
            self._check_sums()
        except VotronError:
            self._sums = before
            raise
        if mistake:
            guess.add(sign * weight, x)
        self._guess = guess
        if self.keep_history:
            v = self.v if mistake else self._rounds[-1].v  # the first example is always a mistake
            bounds = {name: getattr(self, name) for name in (BOUNDS if self._target is None else BOUNDS_OF_TARGET)}
            self._rounds.append(
                Round(self.t, x, sign, weight, score, 1 if dot >= 0 else -1, mistake, self.k, v, **bounds)
            )
        return mistake

    def _guess_for(self, x: Example) -> WeightVector:
        """Return the guess, or a new one for examples like this."""
        return weights_for(x, self._kernel) if self._guess is None else self._guess

    def _check_sums(self) -> None:
        for number in (self.norm2, self.lemma2, *(() if self._target is None else (self.v_dot_u, self.lemma1))):
            finite(number)
        # Rounding can make ‖v‖², a sum of k² kernel values, slightly negative; only an indefinite kernel does more.
        slack = (1e-7 + self.k**2 * float(np.finfo(np.float32).eps)) * self.radius2 * self._sums.weights[1] ** 2
        if self._sums.norm2 < -slack:
            raise IndefiniteKernelError(
                f"{self._kernel!r} is not positive semi-definite on these data: ‖v‖² would become "
                f"{self._sums.norm2:g} with mistake {self.k}."
            )

    # -- the game -----------------------------------------------------------------------------------------------------

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
        raise NotKeptError(f"The '{name}' of {OWNER} needs a kernel or keep_history=True.")

    @property
    def history(self) -> list[Round]:
        """The rounds so far; with ``keep_history=True`` only."""
        if not self.keep_history:
            raise NotKeptError(f"The 'history' of {OWNER} needs keep_history=True.")
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
            raise NotKeptError(f"The '{name}' of {OWNER} needs a target: OnlinePerceptron(target=u).")
        return self._target


def _checked_kernel(kernel: Any) -> Kernel | None:
    if kernel is None:
        return None
    names = [name for name, cls in KERNELS.items() if not cls.pairwise]
    known = kernel_class(kernel) is not None if isinstance(kernel, str) else callable(kernel)  # as a Kernel is
    made = make_kernel(kernel) if known else None
    if made is None or is_precomputed(made):
        raise VotronError(
            f"The 'kernel' parameter of {OWNER} must be None, one of {', '.join(map(repr, names))}, a Kernel or a "
            "function, and not precomputed, since a matrix has no values for examples to come. "
            f"Got {kernel!r} instead.{did_you_mean(kernel, names)}",
            parameter="kernel",
        )
    return made
