"""Training as theorems see it: the run of each vector, what is assumed, and errors measured on other data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags

from votron._util.types import Floats, Index
from votron.errors import Phrase, VotronError
from votron.record import labels_of
from votron.theory.bounds import held_out_bound

ONE_VOTE, ONE_RANDOM = "vote after one epoch", "random vector of one epoch"
MEAN_RANDOM = "random vector of one epoch, mean over seeds"
"""No model predicts by it: with one seed a row has one vector, and where rows repeat the error is not near its mean."""
LAST, AVERAGE, MAXIMAL = "last vector", "average", "adatron's vector"


@dataclass(frozen=True)
class Assumption:
    """Something that a theorem wants, and whether this model has it.

    Attributes
    ----------
    name : str
        In a word or two.
    holds : bool or None
        None: only the user can know.
    because : str
        Why it holds, or does not, or what the user claims.
    change : str
        What would make it hold.
    another_run : bool
        Whether that would be another run, of whose bounds this one's numbers tell no more than the order of magnitude.
    before_value : bool
        Whether a bound has no value until it holds.

    Examples
    --------
    >>> Assumption("one epoch", False, "10 epochs were run", "epochs=1").change
    'epochs=1'
    """

    name: str
    holds: bool | None
    because: str
    change: str = ""
    another_run: bool = False
    before_value: bool = False


@dataclass(frozen=True, eq=False)
class Run:
    """The training of one vector, as theorems count it.

    Attributes
    ----------
    label : object
        The class that it is for, against the rest.
    support : int
        ‖α‖₀: examples that the final vector depends on.
    consistent : bool
        Whether the final vector is right on every example.
    outside : int
        Examples that the final vector does not depend on and is wrong about; where it is not known on which it
        depends, all that it is wrong about.
    support_known : bool
        Otherwise ``support`` is no more than an upper limit.
    own_outside : int or None
        As ``outside``, of the model's own rule; None if that depends on more than the support.
    mistakes : int or None
        Updates in all of training. None: it was not trained by mistakes.
    first_pass : int or None
        Updates in the first pass, if that is known.
    wrong, times : int arrays or None
        The examples with a mistake, and how often each had one.
    first_wrong : int array or None
        The examples with a mistake in the first pass.

    Examples
    --------
    >>> Run("spam", support=7, consistent=True, outside=0, mistakes=9).mistakes
    9
    """

    label: Any
    support: int
    consistent: bool
    outside: int
    support_known: bool = True
    own_outside: int | None = None
    mistakes: int | None = None
    first_pass: int | None = None
    wrong: Index | None = None
    times: NDArray[np.int64] | None = None
    first_wrong: Index | None = None


@dataclass(frozen=True, kw_only=True)
class Passes:
    """The passes over the data in which a model was trained.

    Attributes
    ----------
    epochs : float
        Passes over the data: calls of partial_fit with new rows are parts of one.
    n_epochs : float
        The same, with each call of partial_fit as one.
    once : bool
        Whether no example was presented twice.
    converged, interrupted : bool
        Whether training ended with a pass without a mistake, or by Ctrl-C.
    shuffle, random_state : bool, and int or other
        The parameters that decide the order of presentation.
    """

    epochs: float
    n_epochs: float
    once: bool
    converged: bool
    interrupted: bool
    shuffle: bool
    random_state: Any

    @property
    def presentations(self) -> int:
        """Times that an example was presented, at most."""
        return 1 if self.once else math.ceil(self.n_epochs)

    @property
    def batches(self) -> bool:
        """True if the one pass was in several calls of partial_fit."""
        return self.once and self.n_epochs > 1

    def orders(self, learnable: Index) -> list[Index]:
        """Return the rows as given, as partial_fit has them, and as shuffled by the seed, if there is one."""
        orders = [learnable]
        if self.shuffle and isinstance(self.random_state, Integral):
            orders.append(check_random_state(self.random_state).permutation(learnable))
        return orders


@dataclass(frozen=True, eq=False)
class Evidence:
    """The training of a model, for its certificate. Everything is in feature space.

    Attributes
    ----------
    model : str
        Its name.
    uses : str
        What its ``predict`` predicts by.
    m : int
        Training examples.
    left_out : int
        Rows with K(x, x) = 0, which cannot be learnt and are not counted.
    first_m : int
        Those of the first pass: fewer where there was not even one.
    epochs : float
        Passes that were run.
    presentations : int
        How often an example was presented, at most.
    tau : float
        τ: updates were made where y · score ≤ τ K(x, x); of classes that were trained together, where the score of the
        right one exceeded the best other by no more than that.
    lengths : array of shape (n_samples,)
        ‖x‖.
    lengths_known : bool
        Whether no example at all can be longer, also among those to come.
    candidates : dict of arrays of shape (n_samples, n_vectors)
        y (u·x) for vectors u of length 1, by name.
    runs : tuple of Run
        One for each vector.
    together : Run or None
        Of several vectors: the run of all as one predictor, which errs where any vector does. Its support are the
        examples that any vector depends on, its mistakes the steps at which any made one.
    assumptions : dict of Assumption
        Those that the model can speak of itself, by name.
    switches : dict of str
        For each predictor how to have a model that predicts by it, and for each assumption that may fail how to have
        it hold.

    Examples
    --------
    A bound, such as `votron.theory.statements.register_bound` takes, reads from it what it needs:

    >>> def share_of_support(evidence, c, delta):
    ...     return evidence.runs[c].support / evidence.m, "by counting"
    """

    model: str
    uses: str
    m: int
    left_out: int
    first_m: int
    epochs: float
    presentations: int
    tau: float
    lengths: Floats
    lengths_known: bool
    candidates: Mapping[str, Floats]
    runs: tuple[Run, ...]
    together: Run | None
    assumptions: Mapping[str, Assumption]
    switches: Mapping[str, str]
    most_repeated: int | None = None
    """Number of examples that are the same row, of the row that most are; None where rows cannot be compared."""
    around: tuple[Assumption, ...] = ()
    """Grounds of all that is said of the run: that these are its data, and what files and frozen steps claim."""
    known: dict[Any, Any] = field(default_factory=dict)
    """Values that were computed before, by statements that share them."""
    trained_jointly: bool = False
    """Whether several classes were trained together, so that all is said of their vectors as one."""
    weighted: bool = False
    """True if examples had weights other than 1."""

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


@dataclass(frozen=True)
class Measured:
    """The error of a predictor on data that it was not trained on.

    Attributes
    ----------
    errors : tuple of int
        Wrong signs of each vector's prediction.
    total : int
        Wrong labels.
    n : int
        Test examples.

    Examples
    --------
    >>> Measured(errors=(3,), total=3, n=100).rate
    0.03
    """

    errors: tuple[int, ...]
    total: int
    n: int

    @classmethod
    def of(cls, scores: Floats, signs: NDArray[Any]) -> Measured:
        """Return the errors of scores on test data, given the signs that they shall have."""
        each = (np.where(scores >= 0, 1, -1) != signs).sum(axis=0)
        return cls(tuple(each.tolist()), int(wrong_labels(scores, signs).sum()), len(scores))

    @property
    def rate(self) -> float:
        """Share of wrong labels."""
        return self.total / self.n

    def guaranteed(self, delta: float) -> float:
        """Return what the error is below, with probability 1 − δ over the draw of the test data."""
        return held_out_bound(self.total, self.n, delta)


def wrong_labels(scores: Floats, signs: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows get a wrong label by these scores; of two classes, a score of 0 predicts the second."""
    return np.asarray(labels_of(scores) != labels_of(signs))


# -- models inside pipelines and searches -----------------------------------------------------------------------------


def unwrapped(model: Any, method: str) -> tuple[Any, Callable[[Any], Any], list[Assumption]]:
    """Return the model, which has a method, a function that transforms data for it, and which assumptions that touches.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from votron import VotedPerceptronClassifier
    >>> model, _, broken = unwrapped(make_pipeline(StandardScaler(), VotedPerceptronClassifier()), "_evidence")
    >>> type(model).__name__, broken[0].because
    ('VotedPerceptronClassifier', "the step 'standardscaler' of the pipeline learns from the data that it is fitted to")
    """
    if hasattr(model, "best_estimator_"):
        estimator, transform, broken = unwrapped(model.best_estimator_, method)
        because = f"{type(model).__name__} chose parameters by these data"
        return (
            estimator,
            transform,
            [*broken, Assumption("kernel fixed", False, because, "parameters chosen on others", another_run=True)],
        )
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        estimator, inner, broken = unwrapped(model.steps[-1][1], method)
        if len(model.steps) == 1:
            return estimator, inner, broken
        return estimator, lambda X: inner(model[:-1].transform(X)), [*_fitted(model), *broken]
    if not hasattr(model, method) or isinstance(model, type):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"an object of type {type(model).__name__}"
        raise VotronError(
            "Margins and certificates are those of ",
            Phrase(
                "certified",
                "a fitted VotedPerceptronClassifier, AveragedPerceptronClassifier or KernelAdatronClassifier, or of a "
                "Pipeline or search around one",
            ),
            f". Got {what} instead.",
        )
    return model, lambda X: X, []


def _fitted(pipeline: Any) -> list[Assumption]:
    """Return what the steps break that learn from data, or claim of themselves."""
    found = (_of_step(name, step) for name, step in pipeline.steps[:-1] if hasattr(step, "fit"))
    return [assumption for assumption in found if assumption is not None]


def _of_step(name: str, step: Any) -> Assumption | None:
    """Return what a step breaks or claims; None of scikit-learn's that learn nothing.

    A FrozenEstimator was fitted before the pipeline was, to which data cannot be told; it counts as one if it is
    scikit-learn's own, whose ``fit`` is known to learn nothing.
    """
    learns = get_tags(step).requires_fit
    if learns and type(step) is FrozenEstimator:
        because = f"what the frozen step {name!r} of the pipeline was fitted to are other data than these: your claim"
        return Assumption("frozen step", None, because)
    if learns:
        because = f"the step {name!r} of the pipeline learns from the data that it is fitted to"
        change = f"a FrozenEstimator, fitted to others, for {name!r}"
        return Assumption("kernel fixed", False, because, change, another_run=True)
    if type(step).__module__.split(".")[0] not in ("sklearn", "votron"):
        because = f"the step {name!r} of the pipeline learns nothing from data, as its class says: taken on its word"
        return Assumption("fixed step", None, because)
    return None
