"""The on-line perceptron: a learner that takes one example at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from votron._util.text import did_you_mean
from votron._util.types import Floats, Labels, Params
from votron.errors import IndefiniteKernelError, VotronError
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class
from votron.online._game import NotKeptError, Round, RunningNumbers, finite, read_target
from votron.online._reading import OWNER, Example, read_label, read_number, read_weight
from votron.online._river import RiverClassifier, announce
from votron.online._weights import WeightVector, weights_for


class OnlinePerceptron(RiverClassifier):
    """The on-line perceptron: predict, then accept an example, one at a time.

    For streams, and for the game between players A and B in section 3 of Cohen's notes. After a mistake, y (v·x) ≤ 0,
    the guess v becomes v + η y x, or, for an example of weight w, v + η w y x. A score of 0 predicts +1.

    Examples are lists or arrays of numbers, rows of a sparse matrix, or, without a kernel, mappings of names to
    numbers, in which whatever is not named is 0. A Series of pandas, such as a row of a frame, has named features, in
    any order; one whose index is integers is a vector. The first example (or the target) decides whether features are
    named, or how many there are. An example that is refused leaves the learner as it was.

    Parameters
    ----------
    kernel : None, {"linear", "poly", "rbf", "conjunction"}, Kernel or callable, default=None
        Without a kernel v is a vector of weights. With one it is a sum of examples in the kernel's feature space, and
        a prediction takes a kernel value for each mistake so far. The names stand for kernels with their default
        parameters; make others with `votron.make_kernel`.
    learning_rate : float, default=1.0
        η, positive. It scales v, and changes no prediction.
    target : vector, mapping or pair (coefficients, examples), optional
        A vector u that is known to separate the examples; with a kernel u = Σ c_j Φ(z_j), given by the coefficients
        c and the examples z. It is divided by its length. With it the bounds of the mistake theorem are kept.
    keep_history : bool, default=False
        Keep every round in ``history``: for games and figures, since each mistake then keeps a copy of v.

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
    It has the protocol of river (``learn_one``, ``predict_one``) and can be the last step of its pipelines; import
    river before making the learner, so that river takes it for a classifier.

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
        known = None if target is None else read_target(target, self._kernel)
        self._guess: WeightVector | None = None if known is None else known.u.zero()
        self._numbers = RunningNumbers(self.learning_rate, known)
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
        """Return the score v·x of an example, whose sign decides the prediction.

        Parameters
        ----------
        x : vector or mapping
            The example.
        """
        guess = self._guess_for(x)
        return finite(self.learning_rate * guess.dot(guess.read(x)), "The score")

    def predict(self, x: Example) -> int:
        """Predict the label of an example.

        Parameters
        ----------
        x : vector or mapping
            The example.

        Returns
        -------
        int
            +1 or -1: the sign of the score, and +1 where it is 0.
        """
        guess = self._guess_for(x)
        return 1 if finite(guess.dot(guess.read(x)), "The score") >= 0 else -1

    def update(self, x: Example, y: Labels, weight: float = 1.0) -> bool:
        """Accept an example with its label.

        Parameters
        ----------
        x : vector or mapping
            The example.
        y : {+1, -1}
            Its label.
        weight : float, default=1.0
            w: a mistake adds η w y x. An example of weight 0 is left out, as if it had not been given.

        Returns
        -------
        bool
            Whether the guess was mistaken, y (v·x) ≤ 0, and so has changed.
        """
        sign, weight = read_label(y), read_weight(weight)
        guess = self._guess_for(x)
        x = guess.read(x)
        if not weight:
            return False
        dot = finite(guess.dot(x), "The score")
        score, mistake = finite(self.learning_rate * dot, "The score"), sign * dot <= 0
        numbers = self._after(guess, x, sign, dot, weight)
        if mistake:
            guess.add(sign * weight, x)
        self._guess, self._numbers = guess, numbers
        if self.keep_history:
            self._rounds.append(self._round(x, sign, score, 1 if dot >= 0 else -1, weight))
        return mistake

    def _guess_for(self, x: Example) -> WeightVector:
        """Return the guess, or a new one for examples like this."""
        return weights_for(x, self._kernel) if self._guess is None else self._guess

    def _after(self, guess: WeightVector, x: Example, y: int, dot: float, weight: float) -> RunningNumbers:
        """Return the numbers after this example, or refuse it."""
        target = self._numbers.target
        along = None if target is None else target.u.dot(x)
        after = self._numbers.after(y, dot, guess.square(x), along, weight)
        # Rounding can make ‖v‖², a sum of k² kernel values, slightly negative; only what is no kernel can do more.
        slack = (1e-7 + after.k**2 * float(np.finfo(np.float32).eps)) * after.radius2 * after.weights[1] ** 2
        if after.norm2_ < -slack:
            raise IndefiniteKernelError(
                f"{self._kernel!r} is not positive semi-definite on these data: ‖v‖² would become {after.norm2_:g} "
                f"with mistake {after.k}."
            )
        return after

    def _round(self, x: Example, y: int, score: float, prediction: int, weight: float) -> Round:
        before, s = self._rounds[-1:], self._numbers
        mistake = not before or s.k > before[0].k
        v = self.v if mistake else before[0].v
        running = s.t, x, y, score, prediction, mistake, s.k, v, s.norm2, s.radius2, s.lemma2
        if s.target is None:
            return Round(*running, weight=weight)
        return Round(*running, s.v_dot_u, s.margin, s.lemma1, s.mistake_bound, weight)

    # -- what is known of the game ------------------------------------------------------------------------------------

    @property
    def k(self) -> int:
        """Mistakes so far."""
        return self._numbers.k

    @property
    def t(self) -> int:
        """Examples so far."""
        return self._numbers.t

    @property
    def v(self) -> Any:
        """The guess: an array, a dict of the weights that are not 0, or with a kernel pairs (coefficient, example).

        Before the first example, without a target, its form is not known: it is None.
        """
        if self._guess is None:
            return () if self._kernel is not None else None
        return self._guess.shown(self.learning_rate)

    @property
    def alpha(self) -> Floats:
        """The coefficient η w y of each mistake, in order; with a kernel or a history only."""
        return np.array([coefficient for coefficient, _ in self._mistakes("alpha")], dtype=np.float64)

    @property
    def support(self) -> tuple[Any, ...]:
        """The example of each mistake, in order; with a kernel or a history only."""
        return tuple(x for _, x in self._mistakes("support"))

    def _mistakes(self, name: str) -> list[tuple[float, Any]]:
        if self._kernel is not None:
            return list(self.v)
        if self.keep_history:
            return [(self.learning_rate * (r.y * r.weight), r.x) for r in self._rounds if r.mistake]
        raise NotKeptError(f"The '{name}' of {OWNER} needs a kernel or keep_history=True: otherwise only v is kept.")

    @property
    def history(self) -> list[Round]:
        """The rounds so far; with ``keep_history=True`` only."""
        if not self.keep_history:
            raise NotKeptError(f"The 'history' of {OWNER} needs keep_history=True, given when the learner is made.")
        return list(self._rounds)

    @property
    def norm2(self) -> float:
        """‖v‖², from ‖v'‖² = ‖v‖² + 2wy(v·x) + w²‖x‖² at each mistake (with η in it)."""
        return self._numbers.norm2

    @property
    def radius2(self) -> float:
        """R², the largest ‖x‖² so far: Cohen's R."""
        return self._numbers.radius2

    @property
    def lemma2(self) -> float:
        """η² k R², with weights η² Σw² R² over the mistakes, which ‖v‖² never exceeds."""
        return self._numbers.lemma2

    @property
    def v_dot_u(self) -> float:
        """v·u; with a target only."""
        return self._numbers.v_dot_u

    @property
    def margin(self) -> float:
        """γ, the least y (u·x) so far (inf before the first example); with a target only.

        At 0 or below player A broke the rule, the target does not separate the examples, and nothing is bounded.
        """
        return self._numbers.margin

    @property
    def lemma1(self) -> float:
        """η k γ, with weights η Σw γ over the mistakes, which v·u is never below; with a target only."""
        return self._numbers.lemma1

    @property
    def mistake_bound(self) -> float:
        """R²/γ², which k never exceeds; inf where γ ≤ 0; with a target only.

        With weights from a to b it is (a + b)²/(4ab) times that.
        """
        return self._numbers.mistake_bound


def _checked_kernel(kernel: Any) -> Kernel | None:
    """Return the kernel, or refuse what is none, and a matrix, which has no values for examples to come."""
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
