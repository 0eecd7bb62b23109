"""Evidence of a model that keeps the record of its mistakes."""

from __future__ import annotations

import numpy as np

from votron._util.types import Array, Floats, Index
from votron.record import MistakeRecord
from votron.theory.evidence import Evidence, Run, wrong_labels
from votron.theory.evidence.trained import Trained, about_weights, one_epoch, planned_end


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
    """Return the evidence of a model with the vectors "last" and "average".

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
    return trained.evidence(
        [
            one_epoch(trained.history),
            *planned_end(trained.history, *chosen),
            *about_weights(trained, balanced, tau),
        ],
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
