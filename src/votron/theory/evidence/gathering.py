"""Evidence from what an estimator hands over: its record, its weights, or its vectors of maximal margin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._types import Floats, Index, Rows
from votron.theory.evidence.same_data import (
    Passes,
    RecordedRun,
    WeightsRun,
    check_converged,
    check_number_of_rows,
    check_training_data,
    claimed,
    compare_run,
    compare_weights,
    examples_of,
    same_rows,
)
from votron.theory.evidence.training import Assumption, Evidence, Run, wrong_labels
from votron.theory.geometry import Margins


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedModel:
    """A fitted model and its training data, as it hands them over.

    Attributes
    ----------
    name, predictor : str
        The class of the model, and what its ``predict`` predicts by.
    classes : array
        The labels that there are.
    rows : array or CSR matrix
        The training data.
    n_rows : int
        Number of rows that training had.
    vectors : dict of Margins
        The model's own vectors on the training data, by name; the final ones first.
    comparators : callable
        y (u·x), ‖u‖ = 1, of other vectors u, by name; it is told whether the data are known to be separable.
    lengths_known : bool
        Whether no example at all can be longer, also among those to come.
    gamma_from_data : bool
        Whether a parameter of the kernel was computed from the data.
    has_kernel : bool
        Whether there is a kernel to choose.
    from_file : bool
        Whether the model was opened from a file.
    switches : dict of str
        For each predictor or assumption, what to set to have it.
    row_hashes : int array or None
        Equal for equal rows; None where rows cannot be compared.
    """

    name: str
    predictor: str
    classes: NDArray[Any]
    rows: Rows
    n_rows: int
    vectors: Mapping[str, Margins]
    comparators: Callable[[bool], Mapping[str, Floats]]
    lengths_known: bool
    gamma_from_data: bool
    has_kernel: bool
    from_file: bool
    switches: Mapping[str, str]
    row_hashes: NDArray[Any] | None = None

    @property
    def last(self) -> Margins:
        """The final vectors."""
        return next(iter(self.vectors.values()))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Rows that can be learnt."""
        return np.asarray(self.last.lengths > 0)

    @property
    def labels(self) -> list[Any]:
        """The class of each vector; two classes have one, for the second of them."""
        labels: list[Any] = self.classes.tolist()
        return labels[1:] if len(labels) == 2 else labels

    def candidates(self) -> dict[str, Floats]:
        """Return y (u·x) for all vectors at hand, on the rows that can be learnt."""
        separable = bool(np.max([found.unnormalized for found in self.vectors.values()], axis=0).min() > 0)
        own = {name: found.each for name, found in self.vectors.items()}
        return {name: each[self.kept] for name, each in {**own, **self.comparators(separable)}.items()}

    def evidence(self, data: Assumption, assumptions: list[Assumption], **more: Any) -> Evidence:
        """Return the evidence, given that these are the training data, and what depends on how it was trained."""
        file = Assumption("model file", None, "how training went is as the model file says: taken on its word")
        hashes = None if self.row_hashes is None else self.row_hashes[self.kept]
        return Evidence(
            model=self.name,
            uses=self.predictor,
            left_out=int((~self.kept).sum()),
            lengths=self.last.lengths[self.kept],
            lengths_known=self.lengths_known,
            assumptions={each.name: each for each in [self._kernel_fixed(), *assumptions]},
            switches=self.switches,
            around=(data, file) if self.from_file else (data,),
            most_repeated=None if hashes is None else int(np.unique(hashes, return_counts=True)[1].max()),
            **more,
        )

    def _kernel_fixed(self) -> Assumption:
        """Return whether the kernel was fixed before the data were seen, as far as the parameters tell."""
        name = "kernel fixed"
        if self.gamma_from_data:
            because = "gamma='scale' was computed from these data"
            return Assumption(name, False, because, "gamma=a number not taken from these data", another_run=True)
        what = "kernel, parameters, seed and features" if self.has_kernel else "features, parameters and seed"
        return Assumption(name, None, f"{what} were chosen without these data: your claim")


# -- assumptions about passes -----------------------------------------------------------------------------------------


def _one_epoch(passes: Passes) -> Assumption:
    ran = "no example was presented twice" if passes.once else f"{passes.n_epochs:g} epochs were run"
    return Assumption("one epoch", passes.once, ran, "" if passes.once else "epochs=1")


def _planned_end(passes: Passes, why_not: str = "", change: str = "") -> Assumption:
    """Return whether when training ended was settled before it began, given what speaks against it, if anything."""
    if passes.interrupted:
        why_not, change = "training was interrupted", "training to its end"
    if not why_not and passes.batches:
        calls = f"{passes.n_epochs:g} calls of partial_fit"
        return Assumption("planned end", None, f"training ended after {calls}, whatever they showed: your claim")
    because = why_not or "when training ends was settled before it began"
    return Assumption("planned end", not why_not, because, change)


def _not_independent(change: str) -> Assumption:
    """Return that a part of the data was held out, some of every class: labels decided which examples were left."""
    because = "a share of every class was held out, so what is left are no independent draws"
    return Assumption("i.i.d.", False, because, change)


# -- by record --------------------------------------------------------------------------------------------------------


def evidence_of_record(
    model: TrainedModel,
    passes: Passes,
    run: RecordedRun,
    *,
    tau: float,
    own_scores: Floats | None,
    unit_vectors: bool,
) -> Evidence:
    """Return the evidence of a model that keeps the record of its mistakes.

    Parameters
    ----------
    model : TrainedModel
        The model, with the vectors "last" and "average".
    passes : Passes
        How it was trained.
    run : RecordedRun
        Its record.
    tau : float
        τ, as the model's parameter has it.
    own_scores : array or None
        Scores of the training data by the model's own rule; None where the support does not determine that.
    unit_vectors : bool
        Whether vectors are divided by their lengths before they are compared.
    """
    example = examples_of(run, model.rows, model.last, model.n_rows)
    data = compare_run(run, passes, model.last, example)
    record, n_kept = run.record, int(model.kept.sum())
    m = min(record.n_examples, n_kept)
    assumptions = [_one_epoch(passes), _planned_end(passes)]
    if m < n_kept:
        assumptions.append(_not_independent("another rule in training"))
    own = None if own_scores is None else own_scores[model.kept]
    first_m = min(m, record.n_steps)
    return model.evidence(
        data,
        assumptions,
        m=m,
        first_m=first_m,
        epochs=passes.epochs,
        presentations=passes.presentations,
        tau=_tau(tau, run, model, example),
        candidates=model.candidates(),
        runs=_recorded_runs(model, run, example, own, first_m),
        together=_together(model, run, example, own, first_m, unit_vectors) if record.n_vectors > 1 else None,
    )


def _tau(tau: float, run: RecordedRun, model: TrainedModel, example: Index) -> float:
    """Return τ: the parameter, or more if it was lowered after training."""
    record = run.record
    if not len(record):
        return tau
    squares = np.square(model.last.lengths[model.kept][example])
    return max(tau, float((record.sign * record.score / squares).max()))


def _recorded_runs(
    model: TrainedModel, run: RecordedRun, example: Index, own: Floats | None, first_m: int
) -> tuple[Run, ...]:
    record, signs = run.record, model.last.signs[model.kept]
    errs = model.last.each[model.kept] <= 0
    own_errs = None if own is None else np.where(own >= 0, 1, -1) != signs
    runs = []
    for c, label in enumerate(model.labels):
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


def _outside(errs: NDArray[np.bool_], support: Index) -> int:
    """Return how many errors are not in the support."""
    return int(errs.sum() - errs[support].sum())


def _together(
    model: TrainedModel, run: RecordedRun, example: Index, own: Floats | None, first_m: int, unit_vectors: bool
) -> Run:
    """Return the run of all vectors as one predictor."""
    record, last, kept = run.record, model.last, model.kept
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


# -- by weights -------------------------------------------------------------------------------------------------------


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
    check_converged(passes.converged, model.last)
    candidates = model.candidates()
    planned = [_planned_end(passes)]
    if run.held_out:
        change = "early_stopping=False"
        planned = [_planned_end(passes, "the pass was chosen by held-out data", change), _not_independent(change)]
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
        for c, (label, k) in enumerate(zip(model.labels, run.weights[0], strict=True))
    )
    return model.evidence(
        compare_weights(run, passes, np.flatnonzero(model.kept)),
        [_one_epoch(passes), *planned],
        m=run.n_examples,
        first_m=run.n_examples,
        epochs=passes.epochs,
        presentations=passes.presentations,
        tau=0.0,
        candidates=candidates,
        runs=runs,
        together=None,
    )


# -- by maximal margin ------------------------------------------------------------------------------------------------


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
    """

    support: Index
    support_rows: Rows | None
    coefficients: Floats
    attained: Floats
    converged: bool
    tolerance: float


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
        [exact],
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
