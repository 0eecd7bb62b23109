"""Evidence of a model that keeps weights but no record of its mistakes.

Classes that were trained together (Collins; Crammer & Singer) are one perceptron W = (w_1, ..., w_C): a mistake on
(x, y) adds x to w_y and subtracts it from the best other w_r. For any U, ‖U‖ = 1, with (u_y - u_r)·x ≥ √2 γ for all
rows and other classes r, U·W grows by √2 γ at least, and ‖W‖² by 2 (1 + τ) R² at most, so k ≤ (1 + τ) (R/γ)². So
everything is about one vector, whose margin on a row is the least (w_y - w_r)·x / (√2 ‖W‖), and which errs where the
label is wrong. For two classes, w_1 = -w_0, that is the margin of the one against the other.
"""

from __future__ import annotations

import math

import numpy as np

from votron._util.types import Floats, Index
from votron.theory.evidence import Evidence, Run
from votron.theory.evidence.trained import Trained, about_weights, one_epoch, planned_end


def evidence_of_weights(
    trained: Trained, mistakes: Index, *, own_vector: str, tau: float, jointly: bool, balanced: bool
) -> Evidence:
    """Return the evidence of a model with the vectors "last" and "average", of which ``own_vector`` predicts."""
    history, labels = trained.history, trained.labels
    candidates = trained.candidates()
    if jointly:
        labels, mistakes = [f"{len(labels)} classes jointly"], np.array([mistakes.sum() // 2])
        candidates = _joint_candidates(trained, candidates)
    last, own = candidates["last"] <= 0, candidates[own_vector] <= 0
    m = history.n_examples
    runs = tuple(
        Run(
            label=label,
            support=min(int(k), m),
            consistent=not last[:, c].any(),
            outside=int(last[:, c].sum()),
            support_known=False,
            own_outside=int(own[:, c].sum()),
            mistakes=int(k),
            first_pass=None if history.rows_repeated else int(k),
        )
        for c, (label, k) in enumerate(zip(labels, mistakes, strict=True))
    )
    chosen = ("pass was", "early_stopping=False") if history.end_chosen_by else ("", "")
    return trained.evidence(
        [one_epoch(history), *planned_end(history, *chosen), *about_weights(trained, balanced, tau)],
        m=m,
        first_m=m,
        tau=tau,
        trained_jointly=jointly,
        candidates=candidates,
        runs=runs,
    )


def _joint_candidates(trained: Trained, candidates: dict[str, Floats]) -> dict[str, Floats]:
    """Return the margins of all vectors as one; those of comparators have length 1 each."""
    kept = trained.kept
    signs = trained.last.signs[kept]
    found = {}
    for name, each in candidates.items():
        if name in trained.vectors:
            own = trained.vectors[name]
            scores, norm = own.scores[kept], math.sqrt(float(np.square(own.norms).sum()))
        else:
            scores, norm = signs * each, math.sqrt(signs.shape[1])
        right = signs.argmax(axis=1)[:, None]
        others = scores.copy()
        np.put_along_axis(others, right, -np.inf, axis=1)
        gaps = np.take_along_axis(scores, right, axis=1)[:, 0] - others.max(axis=1)
        found[name] = (gaps / (math.sqrt(2.0) * norm if norm > 0 else math.inf))[:, None]
    return found
