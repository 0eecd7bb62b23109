"""Vectors to compare a perceptron's with: the adatron's, a support vector machine's, any in the same feature space."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._resources import team
from votron._types import Floats, Rows
from votron.blocks import expansion_scores
from votron.errors import Parameter, VotronError
from votron.kernels import Kernel
from votron.theory.geometry import Margins, lengths_of

AUTO_ROWS = 5_000
"""Examples up to which "auto" takes the adatron, which then needs seconds."""
AUTO_SWEEPS = 20_000
"""Passes that it may take where it is not known whether there is a margin at all."""


class Comparators:
    """Candidates for u, given training data in a kernel's feature space.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows, labels : data and labels
        The training data, validated.
    classes : array
        The labels that there are.
    signs : array of shape (n_samples, n_vectors)
        +1 where a vector shall score an example positively, else -1.
    n_threads : int
        Threads.
    maximize : callable
        Finds the margins of the vectors of maximal margin; it may be given C for the soft ones, and ``max_sweeps``.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        labels: Any,
        *,
        classes: NDArray[Any],
        signs: NDArray[Any],
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
                    Parameter("comparators", of="certify", short=True),
                    f" must have the model's kernel, {self.kernel!r}. Got {entry!r} with {theirs!r} instead.",
                )
            if not np.array_equal(entry.classes_, self.classes):
                raise VotronError(
                    Parameter("comparators", of="certify", short=True),
                    f" must have the model's classes. Got {len(entry.classes_)} others with {entry!r} instead.",
                )
            return type(entry).__name__, entry._in_feature_space(self.rows, self.labels, "last")
        machines = getattr(entry, "estimators_", [entry])  # of a OneVsRestClassifier
        if all(hasattr(machine, "dual_coef_") and hasattr(machine, "support_") for machine in machines):
            return type(machines[0]).__name__, self._expansion(entry, machines)
        raise VotronError(
            Parameter("comparators", of="certify", short=True),
            f" must be 'auto', 'adatron', 'svm', or fitted models with support vectors. Got {entry!r} instead.",
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
                Parameter("comparators", of="certify", short=True),
                f" must be trained on the same {n} examples as the model.",
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
