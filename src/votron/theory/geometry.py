"""Margins in feature space: how far examples are from the plane of a vector, a model's own or one to compare it with.

Definitions (Graepel, Herbrich & Williamson, definitions 2 and 3), for a vector w and examples (x, y):

===============  ==============================  =================================================================
unnormalised     min y (w·x) / ‖w‖               the distance of the nearest example from the plane
normalised       min y (w·x) / (‖w‖ ‖x‖)         the same, with every example divided by its length
radius R         max ‖x‖
===============  ==============================  =================================================================

1 / normalised ≤ R / unnormalised: dividing examples by their lengths only lowers the bounds. Examples with ‖x‖ = 0 are
on every plane; they have no margin and are left out, as in training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from votron._util.resources import team
from votron._util.types import Array, Estimator, Floats, Labels, Rows, RowsLike
from votron.blocks import expansion_scores
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.theory.evidence.wrapped import unwrapped

__all__ = ["Margins", "margins"]

VECTORS = ("last", "average")
"""The vectors of a model that can have margins."""
AUTO_ROWS = 5_000
"""Examples up to which "auto" takes the adatron, which then needs seconds."""
AUTO_SWEEPS = 20_000
"""Passes that it may take where it is not known whether there is a margin at all."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Vectors and examples as feature space sees them, and the margins of the one on the other.

    Attributes
    ----------
    scores, signs : arrays of shape (n_samples, n_vectors)
        w·x, and +1 where the vector should score the example positively, else -1.
    norms, lengths : arrays of shape (n_vectors,) and (n_samples,)
        ‖w‖ and ‖x‖.

    Examples
    --------
    >>> found = Margins(np.array([[2.0], [-3.0]]), np.array([[1], [-1]]), np.array([2.0]), np.array([1.0, 4.0]))
    >>> found
    Margins(2 examples, R = 4, unnormalised margins [1])
    >>> found.unnormalized, found.normalized, found.radius
    (array([1.]), array([0.375]), 4.0)
    """

    scores: Floats
    signs: Array
    norms: Floats
    lengths: Floats

    def __repr__(self) -> str:
        margins = ", ".join(f"{value:.4g}" for value in self.unnormalized[:10])
        more = ", ..." if len(self.norms) > 10 else ""
        return f"Margins({len(self.lengths)} examples, R = {self.radius:.4g}, unnormalised margins [{margins}{more}])"

    @cached_property
    def each(self) -> Floats:
        """Y (w·x) / ‖w‖ for every example and vector; 0 for a vector of length 0."""
        some = self.lengths > 0
        # ‖w‖ is a sum that may cancel; but |w·x| ≤ ‖w‖ ‖x‖ says what it is at least
        least = (np.abs(self.scores[some]) / self.lengths[some, None]).max(axis=0, initial=0.0)
        norms = np.maximum(self.norms, least)
        return np.asarray(self.signs * self.scores / np.where(norms > 0, norms, np.inf))

    @cached_property
    def unnormalized(self) -> Floats:
        """The unnormalised margin of each vector; not positive where it errs."""
        return np.asarray(self.each[self.lengths > 0].min(axis=0))

    @cached_property
    def normalized(self) -> Floats:
        """The normalised margin of each vector."""
        some = self.lengths > 0
        return np.asarray((self.each[some] / self.lengths[some, None]).min(axis=0))

    @property
    def radius(self) -> float:
        """R, the length of the longest example."""
        return float(self.lengths.max())


def margins(model: Estimator, X: RowsLike, y: Labels, *, vector: str = "last") -> Margins:
    """Return the margins of a fitted model's vectors on data.

    Per vector: two classes have one, for the second of them. Of classes that were trained together too it is each
    against the rest; the margin of all as one is in the certificate.

    Parameters
    ----------
    model : VotedPerceptronClassifier, AveragedPerceptronClassifier or KernelAdatronClassifier
        The fitted model, or a Pipeline or search around one.
    X, y : data and labels
        Of the training data, for what the theory says about training. With ``kernel="precomputed"`` the square matrix
        of the training examples.
    vector : {"last", "average"}, default="last"
        The final vector of each class, or the average of its vectors. The adatron has its one vector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import KernelAdatronClassifier, VotedPerceptronClassifier
    >>> from votron.theory import margins, novikoff_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[:100], y[:100]
    >>> kernel = {"kernel": "poly", "degree": 2}
    >>> perceptron = VotedPerceptronClassifier(**kernel, margin=0.0, epochs=None, random_state=0).fit(X, y)
    >>> best = KernelAdatronClassifier(degree=2).fit(X, y)
    >>> mine, theirs = margins(perceptron, X, y), margins(best, X, y)
    >>> bool(0 < mine.unnormalized[0] < theirs.unnormalized[0])
    True
    >>> bool(perceptron.n_mistakes_[0] <= novikoff_bound(theirs.radius, theirs.unnormalized[0]))
    True
    """
    if vector not in VECTORS:
        raise VotronError(
            f"The 'vector' of margins must be one of {', '.join(map(repr, VECTORS))}. Got {vector!r} instead.",
            parameter="vector",
        )
    estimator, transform, _ = unwrapped(model, "_in_feature_space")
    found: Margins = estimator._in_feature_space(transform(X), y, vector)
    return found


def lengths_of(kernel: Kernel, rows: Rows) -> tuple[Floats, Floats]:
    """Return ‖x‖ in feature space for each row, and what its scores lack as a factor.

    Scores by a normalised precomputed kernel lack 1 / √K(x, x): of rows to predict it is not known. Of the training
    examples' own matrix it is.
    """
    if not is_precomputed(kernel):
        return np.sqrt(kernel.diag(rows)), np.ones(rows.shape[0])
    if rows.shape[0] != rows.shape[1]:
        raise VotronError(
            "With kernel='precomputed' margins need the square matrix of the training examples, whose diagonal has "
            f"their lengths. Got shape {rows.shape} instead."
        )
    squares = np.diagonal(rows).astype(np.float64)
    lengths = np.sqrt(kernel.diagonal(squares))
    if not kernel.unit_length:
        return lengths, np.ones(len(lengths))
    return lengths, np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)


# -- vectors to compare with ------------------------------------------------------------------------------------------


class Comparators:
    """Candidates for u, given training data in a kernel's feature space.

    ``maximize`` finds the margins of the vectors of maximal margin; it may be given C for the soft ones.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        labels: Labels,
        *,
        classes: Array,
        signs: Array,
        n_threads: int,
        maximize: Callable[..., Margins],
    ) -> None:
        self.kernel, self.rows, self.labels, self.classes, self.signs = kernel, rows, labels, classes, signs
        self.n_threads, self._maximize = n_threads, maximize

    def margins(self, comparators: Any, separable: bool) -> dict[str, Floats]:
        """Return y (u·x), ‖u‖ = 1, for each comparator by name; ``separable`` says that the data are known to be so."""
        if isinstance(comparators, str) and comparators == "auto":
            if self.rows.shape[0] > AUTO_ROWS:
                return {}
            hard = self._maximize(**({} if separable else {"max_sweeps": AUTO_SWEEPS}))
            found = {"adatron": hard.each}
            if (hard.unnormalized <= 0).any() and math.isfinite(self._soft_limit()):
                found["svm"] = self._soft().each
            return found
        if isinstance(comparators, str) or not (comparators is None or isinstance(comparators, Iterable)):
            comparators = [comparators]
        found = {}
        for entry in () if comparators is None else comparators:
            name, made = self._one(entry)
            found[name if name not in found else f"{name} {len(found) + 1}"] = made.each
        return found

    def _one(self, entry: Any) -> tuple[str, Margins]:
        if isinstance(entry, str) and entry == "adatron":
            return entry, self._maximize()
        if isinstance(entry, str) and entry == "svm":
            return entry, self._soft()
        if hasattr(entry, "_in_feature_space"):
            theirs = entry._kernel_of_space()
            if theirs != self.kernel:
                raise VotronError(
                    f"The 'comparators' of certify must have the model's kernel, {self.kernel!r}. Got {entry!r} "
                    f"with {theirs!r} instead.",
                    parameter="comparators",
                )
            if not np.array_equal(entry.classes_, self.classes):
                raise VotronError(
                    f"The 'comparators' of certify must have the model's classes. Got {len(entry.classes_)} others "
                    f"with {entry!r} instead.",
                    parameter="comparators",
                )
            return type(entry).__name__, entry._in_feature_space(self.rows, self.labels, "last")
        machines = getattr(entry, "estimators_", [entry])  # of a OneVsRestClassifier
        if all(hasattr(machine, "dual_coef_") and hasattr(machine, "support_") for machine in machines):
            return type(machines[0]).__name__, self._expansion(entry, machines)
        raise VotronError(
            "The 'comparators' of certify must be 'auto', 'adatron', 'svm', or fitted models with support "
            f"vectors. Got {entry!r} instead.",
            parameter="comparators",
        )

    def _soft_limit(self) -> float:
        """Return C = 1/R², which is 1 for examples of length 1."""
        longest = float(lengths_of(self.kernel, self.rows)[0].max())
        return (1.0 / longest) * (1.0 / longest)

    def _soft(self) -> Margins:
        return self._maximize(C=self._soft_limit())

    def _expansion(self, entry: Any, machines: list[Any]) -> Margins:
        """Return the margins of machines with support vectors among the rows; their thresholds are left out."""
        n = self.rows.shape[0]
        if len(machines) != self.signs.shape[1] or not np.array_equal(entry.classes_, self.classes):
            raise VotronError(
                f"A support vector machine among the 'comparators' of certify must have one vector for each of the "
                f"model's {self.signs.shape[1]}: for more than two classes, take OneVsRestClassifier. Got {entry!r} "
                "instead."
            )
        if any(machine.shape_fit_[0] != n for machine in machines):
            raise VotronError(
                f"The 'comparators' of certify must be trained on the same {n} examples as the model.",
                parameter="comparators",
            )
        lengths, factor = lengths_of(self.kernel, self.rows)
        products = self.kernel.products_for(self.rows)
        scores, norms = np.empty((n, len(machines))), np.empty(len(machines))
        with team(self.n_threads) as threads:
            for c, machine in enumerate(machines):
                support = np.asarray(machine.support_, dtype=np.int64)
                kept = products.keep(self.rows, support)
                weights = machine.dual_coef_
                weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, dtype=np.float64)
                scores[:, c] = factor * expansion_scores(self.kernel, kept, support, weights, self.rows, threads)[:, 0]
                norms[c] = np.sqrt(max(0.0, float((weights[0] * factor[support]) @ scores[support, c])))
        return Margins(scores, self.signs, norms, lengths)
