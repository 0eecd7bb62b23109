"""The evidence of each kind of model: with a record of its mistakes, with weights only, and with maximal margins.

Classes that were trained together (Collins; Crammer & Singer) are one perceptron W = (w_1, ..., w_C): a mistake on
(x, y) adds x to w_y and subtracts it from the best other w_r. For any U, ‖U‖ = 1, with (u_y - u_r)·x ≥ √2 γ for all
rows and other classes r, U·W grows by √2 γ at least, and ‖W‖² by 2 (1 + τ) R² at most, so k ≤ (1 + τ) (R/γ)². So
everything is about one vector, whose margin on a row is the least (w_y - w_r)·x / (√2 ‖W‖), and which errs where the
label is wrong. For two classes, w_1 = -w_0, that is the margin of the one against the other.
"""

from __future__ import annotations

import math

import numpy as np

from votron._util.types import Array, Floats, Index
from votron.record import MistakeRecord
from votron.theory.evidence import Assumption, Evidence, Run, wrong_labels
from votron.theory.evidence.trained import Trained, about_weights, one_epoch, planned_end, weights_fixed


def evidence_of_record(
    trained: Trained,
    record: MistakeRecord,
    *,
    tau: float,
    own_scores: Floats | None,
    unit_vectors: bool,
    balanced: bool = False,
    chosen: tuple[str, str] = ("", ""),
) -> Evidence:
    """Return the evidence of a model with a record.

    ``tau`` is the largest margin parameter of all classes; ``own_scores`` are those of the training data by the model's
    own rule, or None if the support does not determine them; ``chosen`` says what held-out rows chose, and how to avoid
    that.
    """
    kept = trained.kept
    example = _places(record, kept, trained.history.n_numbered)
    m = min(record.n_examples, int(kept.sum()))
    first_m = min(m, record.n_steps)
    if len(record):  # the parameter may have been lowered after training
        squares = np.square(trained.last.lengths[kept][example])
        tau = max(tau, float((record.sign * record.score / squares).max()))
    own = None if own_scores is None else own_scores[kept]
    together = None
    if record.n_vectors > 1:
        together = _together(trained, record, example, own, first_m, unit_vectors)
    history = trained.history
    return trained.evidence(
        [one_epoch(history), *planned_end(history, *chosen), *about_weights(trained, balanced, tau)],
        m=m,
        first_m=first_m,
        tau=tau,
        candidates=trained.candidates(),
        runs=_runs(trained, record, example, own, first_m),
        together=together,
    )


def _places(record: MistakeRecord, kept: Array, n_numbered: int) -> Index:
    """Return the mistakes' examples as places among the rows that can be learnt.

    `fit` numbers all rows, ``partial_fit`` only those that can be learnt.
    """
    unlearnable = np.cumsum(~kept)
    of_fit = n_numbered - int(kept.sum())
    numbers = np.arange(len(kept)) - np.maximum(0, unlearnable - of_fit)
    return np.searchsorted(numbers[kept], record.example)


def _runs(trained: Trained, record: MistakeRecord, example: Index, own: Floats | None, first_m: int) -> tuple[Run, ...]:
    kept = trained.kept
    signs, errs = trained.last.signs[kept], trained.last.each[kept] <= 0
    own_errs = None if own is None else np.where(own >= 0, 1, -1) != signs
    runs = []
    for c, label in enumerate(trained.labels):
        mine = record.vector == c
        wrong, times = np.unique(example[mine], return_counts=True)
        early = np.unique(example[mine & (record.time <= first_m)])
        runs.append(
            Run(
                label=label,
                support=len(wrong),
                consistent=not errs[:, c].any(),
                outside=_outside(errs[:, c], wrong),
                own_outside=None if own_errs is None else _outside(own_errs[:, c], wrong),
                mistakes=int(mine.sum()),
                first_pass=len(early),
                wrong=wrong,
                times=times,
                first_wrong=early,
            )
        )
    return tuple(runs)


def _together(
    trained: Trained, record: MistakeRecord, example: Index, own: Floats | None, first_m: int, unit_vectors: bool
) -> Run:
    last, kept = trained.last, trained.kept
    signs = last.signs[kept]
    scores = last.scores / np.where(last.norms > 0, last.norms, 1.0) if unit_vectors else last.scores
    support = np.unique(example)
    return Run(
        label="all",
        support=len(support),
        consistent=not (last.each[kept] <= 0).any(),
        outside=_outside(wrong_labels(scores[kept], signs), support),
        own_outside=None if own is None else _outside(wrong_labels(own, signs), support),
        mistakes=len(record.event_starts) - 1,
        first_pass=len(np.unique(record.time[record.time <= first_m])),
    )


def _outside(errs: Array, support: Index) -> int:
    return int(errs.sum() - errs[support].sum())


def evidence_of_weights(
    trained: Trained, mistakes: Index, *, own_vector: str, tau: float, jointly: bool, balanced: bool
) -> Evidence:
    """Return the evidence of a model without a record, which predicts by ``own_vector``, "last" or "average"."""
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
