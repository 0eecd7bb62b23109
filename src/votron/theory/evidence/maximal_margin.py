"""Evidence of a model with the vectors of maximal margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Floats, Index, Rows
from votron.theory.evidence.gathering import (
    TrainedModel,
    check_number_of_rows,
    check_training_data,
    claimed,
    same_rows,
    weights_fixed,
)
from votron.theory.evidence.training import Assumption, Evidence, Run, wrong_labels


@dataclass(frozen=True, eq=False, kw_only=True)
class MaximalVectors:
    """The vectors of maximal margin of a model, as its support has them.

    Attributes
    ----------
    support : int array
        Rows that some vector depends on.
    support_rows : array, CSR matrix or None
        Those rows; None for a precomputed kernel.
    coefficients : array of shape (n_vectors, n_support)
        The vectors, as coefficients of the support.
    attained : array of shape (n_vectors,)
        The margin of each on the training data, as training found it.
    converged, tolerance : bool and float
        Whether all are as near to the best as that, relatively.
    weighted, balanced : bool
        Whether C was multiplied by weights, and whether those were computed from how many examples the classes have.
    """

    support: Index
    support_rows: Rows | None
    coefficients: Floats
    attained: Floats
    converged: bool
    tolerance: float
    weighted: bool = False
    balanced: bool = False


def evidence_of_maximal_margin(model: TrainedModel, vectors: MaximalVectors) -> Evidence:
    """Return the evidence of a model with the vectors of maximal margin."""
    found, kept, support = model.last, model.kept, vectors.support
    data = _compare_vectors(model, vectors)
    near = f"to {vectors.tolerance:g}, relatively" if vectors.converged else "which it is not: it has not converged"
    exact = Assumption(
        "exact",
        None if vectors.converged else False,
        f"the vector is the best there is ({near})",
        "" if vectors.converged else "a C, or a larger max_sweeps",
    )

    def run(label: Any, errs: NDArray[np.bool_], support: Index) -> Run:
        outside = int((errs & kept).sum() - errs[support].sum())
        return Run(label=label, support=len(support), consistent=not errs[kept].any(), outside=outside)

    several = len(model.labels) > 1
    return model.evidence(
        data,
        [exact, *([weights_fixed(vectors.balanced)] if vectors.weighted else [])],
        weighted=vectors.weighted,
        m=int(kept.sum()),
        first_m=int(kept.sum()),
        epochs=0.0,
        presentations=0,
        tau=0.0,
        candidates=model.candidates(),
        runs=tuple(
            run(label, found.each[:, c] <= 0, support[vectors.coefficients[c] != 0])
            for c, label in enumerate(model.labels)
        ),
        together=run("all", wrong_labels(found.scores, found.signs), support) if several else None,
    )


def _compare_vectors(model: TrainedModel, vectors: MaximalVectors) -> Assumption:
    """Refuse data of which these are not the vectors of maximal margin; return what agrees."""
    found, kept, support, coefficients = model.last, model.kept, vectors.support, vectors.coefficients
    check_number_of_rows(model.rows.shape[0], model.n_rows)
    there = vectors.support_rows is None or same_rows(vectors.support_rows, model.rows[support])
    signs = found.signs[support].T
    expected = np.where(coefficients != 0, np.sign(coefficients), signs)
    same_support = there and np.array_equal(expected, signs)
    check_training_data(same_support, "rows of the support, or their labels, are not those of training")
    near = np.isclose(found.each[kept].min(axis=0), vectors.attained, rtol=1e-6, atol=1e-9 * found.radius)
    check_training_data(bool(near.all()), "the margins on them are not those of training")
    outside = np.tile(kept[:, None], (1, found.scores.shape[1]))
    outside[support] &= coefficients.T == 0
    if vectors.converged and (found.each[outside] > 0).all():
        return Assumption("same data", True, "of these data the vector is the one of maximal margin")
    check_training_data(not vectors.converged, "the vector errs on rows outside its support")
    return claimed("the number of rows, the margins, and the rows of the support with their labels, agree")
