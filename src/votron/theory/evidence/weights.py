"""Evidence of a model that keeps weights, and not which examples had mistakes.

Classes that were trained together (Collins; Crammer & Singer) are one perceptron W = (w_1, ..., w_C): a mistake on
(x, y) adds x to w_y and subtracts it from the best other w_r. For any U, ‖U‖ = 1, with (u_y - u_r)·x ≥ √2 γ for all
rows and other classes r, U·W grows by √2 γ at least, and ‖W‖² by 2 (1 + τ) R² at most, so k ≤ (1 + τ) (R/γ)². So all is
said of one vector, whose margin on a row is the least (w_y - w_r)·x / (√2 ‖W‖), and which errs where the label is
wrong. For two classes, w_1 = -w_0, that is the margin of the one against the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Floats, Index
from votron.theory.evidence.gathering import (
    MOST_STEPS,
    REPEATED,
    TrainedModel,
    about_weights,
    check_converged,
    check_number_of_rows,
    check_training_data,
    claimed,
    not_independent,
    one_epoch,
    planned_end,
)
from votron.theory.evidence.training import Assumption, Evidence, Passes, Run

Weights = tuple[NDArray[np.int64], tuple[Any, ...]]
"""Mistakes of each vector, and the last vectors in parts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsRun:
    """The weights of a model that keeps no record, and what it can compute anew.

    Attributes
    ----------
    weights : tuple
        Mistakes, and the last vectors.
    n_examples, n_steps : int
        Examples that were presented, and steps that the weights count.
    held_out : bool
        Whether a part of the data was held out, and the pass chosen by it.
    tau : float
        τ, as training had it.
    jointly : bool
        Whether the vectors of several classes were trained together.
    weighted, balanced : bool
        Whether rows had weights, and these were computed from how many examples the classes have.
    retrain : callable
        The weights of another run, with the rows in the order given, and that many steps; of the weights that rows had,
        it knows those of classes.
    """

    weights: Weights
    n_examples: int
    n_steps: int
    held_out: bool
    tau: float
    jointly: bool
    weighted: bool
    balanced: bool
    retrain: Callable[[Index, int], Weights]


def evidence_of_weights(model: TrainedModel, passes: Passes, run: WeightsRun, *, own_vector: str) -> Evidence:
    """Return the evidence of a model that keeps weights, and not which examples had mistakes.

    Parameters
    ----------
    model : TrainedModel
        The model, with the vectors "last" and "average".
    passes : Passes
        How it was trained.
    run : WeightsRun
        Its weights.
    own_vector : {"last", "average"}
        Which of the vectors predicts.
    """
    check_number_of_rows(model.rows.shape[0], model.n_rows)
    labels, mistakes = model.labels, run.weights[0]
    if run.jointly:
        _check_converged_jointly(passes.converged, model)
        candidates = _joint_candidates(model)
        labels, mistakes = [f"{len(labels)} classes jointly"], np.array([mistakes.sum() // 2])
    else:
        check_converged(passes.converged, model.last)
        candidates = model.candidates()
    planned = [planned_end(passes)]
    if run.held_out:
        change = "early_stopping=False"
        planned = [planned_end(passes, "the pass was chosen by held-out data", change), not_independent(change)]
    last, own = candidates["last"] <= 0, candidates[own_vector] <= 0
    runs = tuple(
        Run(
            label=label,
            support=min(int(k), run.n_examples),
            consistent=not last[:, c].any(),
            outside=int(last[:, c].sum()),
            support_known=False,
            own_outside=int(own[:, c].sum()),
            mistakes=int(k),
            first_pass=int(k) if passes.once else None,
        )
        for c, (label, k) in enumerate(zip(labels, mistakes, strict=True))
    )
    return model.evidence(
        _compare_weights(run, passes, np.flatnonzero(model.kept)),
        [one_epoch(passes), *planned, *(about_weights(model, run.balanced, run.tau) if run.weighted else [])],
        m=run.n_examples,
        first_m=run.n_examples,
        epochs=passes.epochs,
        presentations=passes.presentations,
        tau=run.tau,
        weighted=run.weighted,
        trained_jointly=run.jointly,
        candidates=candidates,
        runs=runs,
        together=None,
    )


# -- classes that were trained together -------------------------------------------------------------------------------


def _joint_candidates(model: TrainedModel) -> dict[str, Floats]:
    """Return the margins of all vectors at hand as one; those to compare with have length 1 each."""
    signs = model.last.signs[model.kept]
    found = {}
    for name, each in model.candidates().items():
        if name in model.vectors:
            own = model.vectors[name]
            scores, norm = own.scores[model.kept], math.sqrt(float(np.square(own.norms).sum()))
        else:
            scores, norm = signs * each, math.sqrt(signs.shape[1])
        found[name] = _joint_margins(scores, signs, norm)
    return found


def _joint_margins(scores: Floats, signs: NDArray[Any], norm: float) -> Floats:
    """Return of each row the least (w_y - w_r)·x / (√2 ‖W‖) over other classes r, as a column."""
    own = signs.argmax(axis=1)[:, None]
    others = scores.copy()
    np.put_along_axis(others, own, -np.inf, axis=1)
    gaps = np.take_along_axis(scores, own, axis=1)[:, 0] - others.max(axis=1)
    return np.asarray(gaps / (math.sqrt(2.0) * norm if norm > 0 else math.inf))[:, None]


def _check_converged_jointly(converged: bool, model: TrainedModel) -> None:
    """Refuse data on which the last vectors of a run that converged give a wrong label."""
    right = _joint_margins(model.last.scores[model.kept], model.last.signs[model.kept], 1.0) > 0
    check_training_data(bool(right.all()) or not converged, "training converged, and its last vectors err on them")


# -- the same data ----------------------------------------------------------------------------------------------------


def _compare_weights(run: WeightsRun, passes: Passes, learnable: Index) -> Assumption:
    """Return what agrees, of a model that keeps its weights alone."""
    compared = claimed("the number of rows agrees")
    steps = run.n_examples if passes.batches else round(passes.n_epochs * run.n_examples)
    if len(learnable) != run.n_examples or run.held_out or steps > MOST_STEPS:
        return compared
    orders = passes.orders(learnable)
    if any(_same_weights(run.retrain(order, steps), run.weights) for order in orders):
        return Assumption("same data", True, f"{REPEATED}, and has the same weights")
    known = not run.weighted and (not passes.shuffle or len(orders) > 1)
    if known and (passes.converged or run.n_steps == steps) and not passes.batches:
        return Assumption("same data", False, "trained on them again with its parameters, the model comes out another")
    return compared


def _same_weights(new: Weights, old: Weights) -> bool:
    if not np.array_equal(new[0], old[0]):
        return False
    for mine, theirs in zip(new[1], old[1], strict=True):
        gap, scale = abs(mine - theirs), abs(theirs).max()
        if gap.max() > 1e-9 * scale:
            return False
    return True
