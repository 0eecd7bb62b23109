"""Margins in feature space: the distances of examples from the plane of a vector.

For a vector w and examples (x, y) the unnormalised margin is min y (w·x) / ‖w‖, the distance of the nearest example
from the plane; the normalised margin is min y (w·x) / (‖w‖ ‖x‖), the same with every example divided by its length; and
the radius R is max ‖x‖ (Graepel, Herbrich & Williamson, definitions 2 and 3).

1 / normalised ≤ R / unnormalised: dividing examples by their lengths only lowers the bounds. Examples with ‖x‖ = 0 are
on every plane; they have no margin and are left out, as in training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from votron._util.types import Array, Classes, Estimator, Floats, Labels, Rows, RowsLike
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.theory.evidence import unwrapped

__all__ = ["Margins", "margins"]

VECTORS = ("last", "average")
AUTO_ROWS = 5_000
"""Examples up to which "auto" takes the adatron, which then needs seconds."""
AUTO_SWEEPS = 20_000
"""Passes it may take where the data may be inseparable."""
Comparators: TypeAlias = str | Iterable[str | Estimator]
"""Vectors to compare with, as `votron.certify` takes them."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The margins of vectors on examples, in feature space.

    Attributes
    ----------
    scores, signs : arrays of shape (n_samples, n_vectors)
        w·x, and +1 where the vector should score the example positively, else -1.
    norms, lengths : arrays of shape (n_vectors,) and (n_samples,)
        ‖w‖ and ‖x‖.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> from votron.theory import margins
    >>> model = AveragedPerceptronClassifier(fit_intercept=False, random_state=0).fit([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> margins(model, [[1.0, 0.0], [0.0, 1.0]], [1, 0])
    Margins(2 examples, R = 1, unnormalised margins [0.7071])
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
        # ‖w‖ is a sum that may cancel, but |w·x| ≤ ‖w‖ ‖x‖ gives a lower limit
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
    """Return the margins of a fitted model's vectors on data, of each class against the rest.

    Two classes have one vector, for the second of them.

    Parameters
    ----------
    model : VotedPerceptronClassifier, AveragedPerceptronClassifier or KernelAdatronClassifier
        The fitted model, or a Pipeline or search around one.
    X, y : data and labels
        Mostly the training data. With ``kernel="precomputed"`` the square matrix of the training examples.
    vector : {"last", "average"}, default="last"
        The final vector of each class, or the average of its vectors. The adatron has its one vector.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import KernelAdatronClassifier, VotedPerceptronClassifier
    >>> from votron.theory import margins, novikoff_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> perceptron = VotedPerceptronClassifier("poly", 2, margin=0.0, epochs=None, random_state=0).fit(X[:100], y[:100])
    >>> widest = margins(KernelAdatronClassifier(degree=2).fit(X[:100], y[:100]), X[:100], y[:100])
    >>> bool(perceptron.n_mistakes_[0] <= novikoff_bound(widest.radius, widest.unnormalized[0]))
    True
    """
    if vector not in VECTORS:
        raise VotronError(
            f"The 'vector' of margins must be one of {', '.join(map(repr, VECTORS))}. Got {vector!r} instead.",
            parameter="vector",
        )
    estimator, transform, _ = unwrapped(model, "_for_theory")
    found: Margins = estimator._for_theory().margins(transform(X), y, vector)
    return found


def lengths_of(kernel: Kernel, rows: Rows) -> tuple[Floats, Floats]:
    """Return ‖x‖ in feature space for each row, and a factor for its scores.

    Scores by a normalised precomputed kernel lack 1 / √K(x, x), which is known only for the training examples.
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


def comparator_margins(
    comparators: Comparators,
    separable: bool,
    *,
    kernel: Kernel,
    rows: Rows,
    labels: Labels,
    classes: Classes,
    maximize: Callable[..., Margins],
) -> dict[str, Floats]:
    """Return y (u·x), ‖u‖ = 1, for each comparator by name.

    ``separable`` says that the data are known to be so; ``maximize`` finds maximal margins, soft ones if it is given C.
    """

    def soft_limit() -> float:
        """Return C = 1/R², which is 1 for examples of length 1."""
        inverse = 1.0 / float(lengths_of(kernel, rows)[0].max())
        return inverse * inverse

    if isinstance(comparators, str) and comparators == "auto":
        if rows.shape[0] > AUTO_ROWS:
            return {}
        hard = maximize() if separable else maximize(max_sweeps=AUTO_SWEEPS)
        found = {"adatron": hard.each}
        if (hard.unnormalized <= 0).any() and math.isfinite(soft_limit()):
            found["svm"] = maximize(C=soft_limit()).each
        return found
    found = {}
    entries: Iterable[Estimator] = [comparators] if isinstance(comparators, str) else comparators
    for entry in entries:
        name = entry if isinstance(entry, str) else type(entry).__name__
        if name == "adatron":
            made = maximize()
        elif name == "svm":
            made = maximize(C=soft_limit())
        elif _is_alike(entry, kernel, classes):
            made = entry._for_theory().margins(rows, labels, "last")
        else:
            raise VotronError(
                "The 'comparators' of certify must be 'auto', 'adatron', 'svm' or fitted classifiers of Votron with "
                f"the model's classes and its kernel {kernel!r}. Got {entry!r} instead.",
                parameter="comparators",
            )
        found[name if name not in found else f"{name} {len(found) + 1}"] = made.each
    return found


def _is_alike(model: Estimator, kernel: Kernel, classes: Classes) -> bool:
    return hasattr(model, "_for_theory") and (
        model._for_theory().kernel == kernel and np.array_equal(model.classes_, classes)
    )
