"""Evidence of a model with the vectors of maximal margin."""

from __future__ import annotations

from votron._util.types import Array, Floats, Index
from votron.theory.evidence import Assumption, Evidence, Run, wrong_labels
from votron.theory.evidence.trained import Trained, weights_fixed


def evidence_of_maximal_margin(
    trained: Trained, support: Index, coefficients: Floats, *, tolerance: float, converged: bool, balanced: bool
) -> Evidence:
    """Return the evidence of vectors with these coefficients, (n_vectors, n_support), of the support."""
    found, kept = trained.last, trained.kept
    if converged:
        exact = Assumption("exact", None, f"the vector is optimal, to a relative accuracy of {tolerance:g}")
    else:
        exact = Assumption("exact", False, "training has not converged", "a C, or a larger max_sweeps")

    def run(label: str, errs: Array, support: Index) -> Run:
        outside = int((errs & kept).sum() - errs[support].sum())
        return Run(label=label, support=len(support), consistent=not errs[kept].any(), outside=outside)

    several = len(trained.labels) > 1
    return trained.evidence(
        [exact, *([weights_fixed(balanced)] if trained.history.weighted else [])],
        m=int(kept.sum()),
        first_m=int(kept.sum()),
        tau=0.0,
        candidates=trained.candidates(),
        runs=tuple(
            run(label, found.each[:, c] <= 0, support[coefficients[c] != 0]) for c, label in enumerate(trained.labels)
        ),
        together=run("all", wrong_labels(found.scores, found.signs), support) if several else None,
    )
