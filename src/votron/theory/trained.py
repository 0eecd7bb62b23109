"""The evidence of fitted models: what their record, or their weights and history, tell of the training.

A model keeps a record of its mistakes, or weights only, or it has maximal margins. Classes that were trained together
(Collins; Crammer & Singer) are one perceptron W = (w_1, ..., w_C): a mistake on (x, y) adds x to w_y and subtracts it
from the best other w_r. For any U, ‖U‖ = 1, with (u_y - u_r)·x ≥ √2 γ for all rows and other classes r, U·W grows by
√2 γ at least, and ‖W‖² by 2 (1 + τ) R² at most, so k ≤ (1 + τ) (R/γ)². So everything is about one vector, whose margin
on a row is the least (w_y - w_r)·x / (√2 ‖W‖), and which errs where the label is wrong. For two classes, w_1 = -w_0,
that is the margin of the one against the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Array, Classes, Floats, Index, Label, Rows, RowsLike
from votron.errors import VotronError
from votron.history import Fingerprint, TrainingHistory
from votron.kernels.base import as_rows
from votron.record import MistakeRecord
from votron.theory.evidence import Assumption, Evidence, Run, wrong_labels
from votron.theory.geometry import Margins

_BY_CHANCE = 20
"""Two samples of up to this many different rows may have the same rows by chance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """A fitted model and its vectors on its training data; attributes without a comment are as in `Evidence`."""

    name: str
    predictor: str
    classes: Classes
    history: TrainingHistory
    vectors: Mapping[str, Margins]  # the model's own vectors by name, the final ones first
    comparators: Callable[[bool], Mapping[str, Floats]]
    """Returns y (u·x), ‖u‖ = 1, of other vectors by name, given whether the data are known to be separable."""
    lengths_known: bool
    switches: Mapping[str, str]
    row_hashes: Array | None = None  # equal for equal rows; None where rows cannot be compared

    @property
    def last(self) -> Margins:
        """The final vectors."""
        return next(iter(self.vectors.values()))

    @property
    def kept(self) -> Array:
        """A mask of the rows that can be learnt."""
        return np.asarray(self.last.lengths > 0)

    @property
    def labels(self) -> list[Label]:
        """The class of each vector; two classes have one vector, for the second of them."""
        labels: list[Label] = self.classes.tolist()
        return labels[1:] if len(labels) == 2 else labels

    def candidates(self) -> dict[str, Floats]:
        """Return y (u·x) for all vectors at hand, on the rows that can be learnt."""
        separable = bool(np.max([found.unnormalized for found in self.vectors.values()], axis=0).min() > 0)
        own = {name: found.each for name, found in self.vectors.items()}
        return {name: each[self.kept] for name, each in {**own, **self.comparators(separable)}.items()}

    def evidence(self, assumptions: list[Assumption], **fields: Any) -> Evidence:
        """Return the evidence, with the fields that depend on the kind of model."""
        history, always = self.history, []
        if history.fingerprint is None:
            because = "these are the rows and labels of training, which was on a cluster: your claim"
            always.append(Assumption("same data", None, because))
        if history.from_file:
            always.append(Assumption("model file", None, "training went as the model file says: not verified"))
        hashes = None if self.row_hashes is None else self.row_hashes[self.kept]
        return Evidence(
            model=self.name,
            predictor=self.predictor,
            left_out=int((~self.kept).sum()),
            epochs=history.passes,
            presentations=math.ceil(history.n_epochs) if history.rows_repeated else 1,
            lengths=self.last.lengths[self.kept],
            lengths_known=self.lengths_known,
            assumptions=(*_kernel_fixed(history), *assumptions),
            switches=self.switches,
            always=tuple(always),
            most_repeated=None if hashes is None else int(np.unique(hashes, return_counts=True)[1].max()),
            weighted=history.weighted,
            **fields,
        )


def check_training_data(history: TrainingHistory, rows: Rows, codes: Index) -> None:
    """Refuse data that the model was not trained on, and a training for which no theorem holds."""
    if history.presented_unequally:
        raise VotronError(
            "A model trained by fit for several epochs and then by partial_fit has no certificate: train it by one of "
            "the two."
        )
    if history.n_zero_weight:
        raise VotronError(
            f"A model trained with rows of weight 0, here {history.n_zero_weight:,}, has no certificate: train it "
            "without them, which gives the same model."
        )
    difference = None
    if history.fingerprint is not None:
        difference = history.fingerprint.difference(Fingerprint.of(rows, np.asarray(codes)))
    elif rows.shape[0] != history.n_rows:
        difference = f"there are {rows.shape[0]:,} rows, and training had {history.n_rows:,}"
    if difference is not None:
        raise VotronError(
            "The X and y of certify must be the training data, as they were given to fit, or to all calls of "
            f"partial_fit one after another. Got others: {difference}."
        )


def check_test_data(X: RowsLike, X_test: RowsLike) -> Assumption:
    """Refuse the training data as test data; return the user's claim, with the number of rows in both."""
    training, tested = _contents(X), _contents(X_test)
    known = set(training)
    n = sum(row in known for row in tested)
    if n == len(tested) == len(training) and len(known) > _BY_CHANCE:
        raise VotronError(
            "X_test and y_test must be data that were not used for training. Got the training data instead."
        )
    both = f"{n:,} of the {len(tested):,} rows are in the training data too; " if n else ""
    claim = f"{both}they are independent draws from the same distribution, and were not used for training: your claim"
    return Assumption("test data", None, claim)


def _contents(X: RowsLike) -> list[tuple[bytes, bytes]]:
    """Return the nonzero columns and values of each row."""
    rows = sp.csr_matrix(as_rows(X), dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    columns = rows.indices.astype(np.int64)
    return [(columns[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in pairwise(rows.indptr)]


def _kernel_fixed(history: TrainingHistory) -> list[Assumption]:
    name, found = "kernel fixed", []
    if history.gamma_from == "scale":
        because = "gamma='scale' was computed from these data"
        found.append(Assumption(name, False, because, "a gamma not computed from these data", another_run=True))
    if history.n_settings:
        because = "kernel and parameters were chosen by cross-validation on these data"
        found.append(Assumption(name, False, because, "parameters chosen without these data", another_run=True))
    because = "features, kernel, parameters and seed were chosen without these data: your claim"
    return found or [Assumption(name, None, because)]


def _of_mistakes(trained: Trained, balanced: bool, tau: float, chosen: str, change: str) -> list[Assumption]:
    """Return what theorems about mistakes assume: one epoch, an end that was planned, and weights of 1.

    ``chosen`` says what held-out rows chose, if anything, and ``change`` how to avoid that.
    """
    history = trained.history
    found = [Assumption("one epoch", True, "no example was presented twice")]
    if history.rows_repeated:
        found = [Assumption("one epoch", False, f"{history.n_epochs:g} epochs were run", "epochs=1")]
    planned = "planned end"
    if history.interrupted:
        found.append(Assumption(planned, False, "training was interrupted", "training to its end"))
    if chosen:
        found.append(Assumption(planned, False, f"the {chosen} chosen by held-out rows", change))
    if chosen or history.n_held_out:
        because = "a share of every class was held out, so the other rows are not independent draws"
        found.append(Assumption("i.i.d.", False, because, change or "another rule in training"))
    if not history.interrupted and not chosen:
        calls = f" after {history.n_batches} calls of partial_fit: your claim" if history.n_batches > 1 else ""
        found.append(Assumption(planned, None if calls else True, f"training ended as planned{calls}"))
    if history.weighted:
        because = "mistakes were added with weights, and the proof counts updates of weight 1"
        change = trained.switches.get("unweighted", "")
        found += [Assumption("unweighted", False, because, change, another_run=True), _weights_fixed(balanced, tau)]
    return found


def _weights_fixed(balanced: bool, tau: float) -> Assumption:
    """Return whether the weight of an example depends on no other example, as far as the parameters tell."""
    name = "weights fixed"
    if balanced:
        because = "class_weight='balanced' counted the labels of these data"
        return Assumption(name, False, because, "class weights not computed from these data", another_run=True)
    if tau > 0:  # without a margin, scaling all weights changes no mistake
        because = "weights were divided by their mean over these data, and with a margin their scale matters"
        return Assumption(name, False, because, "margin=0", another_run=True)
    return Assumption(name, None, "the weight of an example depends on no other example: your claim")


def _run(label: Label, support: Index, errs: Array, own_errs: Array | None = None, **counts: Any) -> Run:
    """Return the run of a vector, given the rows on which it errs, and those on which the model's own rule errs."""

    def outside(errs: Array) -> int:
        return int(errs.sum() - errs[support].sum())

    return Run(
        label=label,
        support=len(support),
        consistent=not errs.any(),
        outside=outside(errs),
        own_outside=None if own_errs is None else outside(own_errs),
        **counts,
    )


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
    own rule, or None if the support does not determine them; ``chosen`` is as in `_of_mistakes`.
    """
    kept, last = trained.kept, trained.last
    example = _places(record, kept, trained.history.n_numbered)
    m = min(record.n_examples, int(kept.sum()))
    first_m = min(m, record.n_steps)
    if len(record):  # the parameter may have been lowered after training
        squares = np.square(last.lengths[kept][example])
        tau = max(tau, float((record.sign * record.score / squares).max()))
    signs, errs = last.signs[kept], last.each[kept] <= 0
    own = None if own_scores is None else own_scores[kept]
    own_errs = None if own is None else np.where(own >= 0, 1, -1) != signs
    runs = []
    for c, label in enumerate(trained.labels):
        mine = record.vector == c
        wrong, times = np.unique(example[mine], return_counts=True)
        early = np.unique(example[mine & (record.time <= first_m)])
        counts = {"mistakes": int(mine.sum()), "first_pass": len(early)}
        own_c = None if own_errs is None else own_errs[:, c]
        runs.append(_run(label, wrong, errs[:, c], own_c, wrong=wrong, times=times, first_wrong=early, **counts))
    together = None
    if record.n_vectors > 1:
        scores = last.scores / np.where(last.norms > 0, last.norms, 1.0) if unit_vectors else last.scores
        together = _run(
            "all",
            np.unique(example),
            wrong_labels(scores[kept], signs),
            None if own is None else wrong_labels(own, signs),
            mistakes=len(record.event_starts) - 1,
            first_pass=len(np.unique(record.time[record.time <= first_m])),
        )
        together = replace(together, consistent=not errs.any())
    return trained.evidence(
        _of_mistakes(trained, balanced, tau, *chosen),
        m=m,
        first_m=first_m,
        tau=tau,
        candidates=trained.candidates(),
        runs=tuple(runs),
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
        _of_mistakes(trained, balanced, tau, *chosen),
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
    found, kept, labels = trained.last, trained.kept, trained.labels
    if converged:
        exact = Assumption("exact", None, f"the vector is optimal, to a relative accuracy of {tolerance:g}")
    else:
        exact = Assumption("exact", False, "training has not converged", "a C, or a larger max_sweeps")
    errs = (found.each <= 0) & kept[:, None]
    together = None
    if len(labels) > 1:
        together = _run("all", support, wrong_labels(found.scores, found.signs) & kept)
    m = int(kept.sum())
    return trained.evidence(
        [exact, *([_weights_fixed(balanced, 0.0)] if trained.history.weighted else [])],
        m=m,
        first_m=m,
        tau=0.0,
        candidates=trained.candidates(),
        runs=tuple(_run(label, support[coefficients[c] != 0], errs[:, c]) for c, label in enumerate(labels)),
        together=together,
    )
