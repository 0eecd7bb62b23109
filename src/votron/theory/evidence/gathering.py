"""Evidence from what an estimator hands over, and by the record of its mistakes; data other than its own are refused.

A record has the support: its rows and labels are compared one by one. Of the other rows it says that they were no
mistake whenever they were presented. Where the order of presentation is known, and they are not too many, the run is
repeated. Otherwise no row may be such that every vector of a whole pass errs on it: it was presented to one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Floats, Index, Rows
from votron.errors import Phrase, VotronError
from votron.record import MistakeRecord
from votron.theory.evidence.training import Assumption, Evidence, Passes, Run, wrong_labels
from votron.theory.geometry import Margins

MOST_STEPS = 200_000
"""Presentations up to which a run is repeated."""
REPEATED = "trained on them again, the model makes the same mistakes"


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


# -- rows, labels and lengths -----------------------------------------------------------------------------------------


def check_training_data(same: bool, difference: str) -> None:
    """Refuse data that the model was not trained on, in the order in which it was; say what shows it."""
    if not same:
        raise VotronError(
            Phrase(
                "training data",
                "The X and y of certify must be the training data, as they were given to fit, or "
                "to all calls of partial_fit one after another",
            ),
            f". Got others: {difference}.",
        )


def check_number_of_rows(n_rows: int, *n_trained: int) -> None:
    """Refuse more rows than training had, or fewer."""
    check_training_data(n_rows in n_trained, f"there are {n_rows:,} rows, and training had {n_trained[0]:,}")


def check_converged(converged: bool, last: Margins) -> None:
    """Refuse data on which the last vector of a run that converged errs."""
    consistent = bool((last.each[last.lengths > 0] > 0).all())
    check_training_data(consistent or not converged, "training converged, and its last vector errs on them")


def same_rows(kept: Rows, rows: Rows) -> bool:
    """Tell whether rows are those that a model kept."""
    if kept.shape != rows.shape:
        return False
    gap = kept - rows if kept.dtype.kind == "f" or rows.dtype.kind == "f" else kept != rows
    return not abs(gap).max() > 0 if gap.shape[0] and gap.shape[1] else True


def claimed(compared: str) -> Assumption:
    """Return that these are the training data, which is the user's claim beyond what was compared."""
    return Assumption("same data", None, f"{compared}; that all else is as in training is your claim")


# -- assumptions about passes -----------------------------------------------------------------------------------------


def one_epoch(passes: Passes) -> Assumption:
    """Return whether no example was presented twice."""
    ran = "no example was presented twice" if passes.once else f"{passes.n_epochs:g} epochs were run"
    return Assumption("one epoch", passes.once, ran, "" if passes.once else "epochs=1")


def planned_end(passes: Passes, why_not: str = "", change: str = "") -> Assumption:
    """Return whether when training ended was settled before it began, given what speaks against it, if anything."""
    if passes.interrupted:
        why_not, change = "training was interrupted", "training to its end"
    if not why_not and passes.batches:
        calls = f"{passes.n_epochs:g} calls of partial_fit"
        return Assumption("planned end", None, f"training ended after {calls}, whatever they showed: your claim")
    because = why_not or "when training ends was settled before it began"
    return Assumption("planned end", not why_not, because, change)


def not_independent(change: str) -> Assumption:
    """Return that a part of the data was held out, some of every class: labels decided which examples were left."""
    because = "a share of every class was held out, so what is left are no independent draws"
    return Assumption("i.i.d.", False, because, change)


# -- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedRun:
    """A record, and what its model can compute anew.

    Attributes
    ----------
    record : MistakeRecord
        All mistakes.
    support_rows : array, CSR matrix or None
        The examples with a mistake; None for a precomputed kernel.
    retrain : callable
        The record of another run, with the rows presented in the order given, and with weights, if there are any.
    scores_at : callable
        For moments of training the scores of all rows, by the rules "vote" and "last".
    """

    record: MistakeRecord
    support_rows: Rows | None
    retrain: Callable[[Index, Floats | None], MistakeRecord]
    scores_at: Callable[[list[int]], Sequence[Mapping[str, Floats]]]


def evidence_of_record(
    model: TrainedModel,
    passes: Passes,
    run: RecordedRun,
    *,
    tau: float,
    own_scores: Floats | None,
    unit_vectors: bool,
    balanced: bool = False,
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
        τ, as the model's parameter has it; where it differs by class, the largest.
    own_scores : array or None
        Scores of the training data by the model's own rule; None where the support does not determine that.
    unit_vectors : bool
        Whether vectors are divided by their lengths before they are compared.
    balanced : bool
        Whether weights were computed from how many examples the classes have.
    """
    example = _examples_of(run, model.rows, model.last, model.n_rows)
    data = compare_run(run, passes, model.last, example)
    record, n_kept = run.record, int(model.kept.sum())
    m = min(record.n_examples, n_kept)
    assumptions = [one_epoch(passes), planned_end(passes)]
    if m < n_kept:
        assumptions.append(not_independent("another rule in training"))
    tau = _tau(tau, run, model, example)
    if record.weight is not None:
        assumptions += about_weights(model, balanced, tau)
    own = None if own_scores is None else own_scores[model.kept]
    first_m = min(m, record.n_steps)
    return model.evidence(
        data,
        assumptions,
        m=m,
        first_m=first_m,
        epochs=passes.epochs,
        presentations=passes.presentations,
        tau=tau,
        weighted=record.weight is not None,
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


def about_weights(model: TrainedModel, balanced: bool, tau: float) -> list[Assumption]:
    """Return that updates were not plain, and whether their weights were fixed."""
    because = "mistakes were added with weights, and the proof counts updates of weight 1"
    switch = model.switches.get("unweighted", "")
    return [Assumption("unweighted", False, because, switch, another_run=True), weights_fixed(balanced, tau)]


def weights_fixed(balanced: bool, tau: float = 0.0) -> Assumption:
    """Return whether the weight of an example depends on no other example, as far as the parameters tell.

    That all are divided by their mean matters only with a margin: without one, scaling all changes no mistake.
    """
    name = "weights fixed"
    if balanced:
        because = "class_weight='balanced' counted the labels of these data"
        return Assumption(name, False, because, "class_weight=a dict not taken from these data", another_run=True)
    if tau > 0:
        because = "weights were divided by their mean over these data, and with a margin their scale matters"
        return Assumption(name, False, because, "margin=0", another_run=True)
    return Assumption(name, None, "the weight of an example was settled without the others: your claim")


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


def _examples_of(run: RecordedRun, rows: Rows, last: Margins, n_rows: int) -> Index:
    """Return where the examples of the mistakes are among the rows that can be learnt; refuse rows without them."""
    record, kept = run.record, last.lengths > 0
    learnable = np.flatnonzero(kept)
    check_number_of_rows(rows.shape[0], n_rows, n_rows + rows.shape[0] - len(learnable))
    # fit names examples by their rows, partial_fit by when they came, for which rows that cannot be learnt do not count
    for row_of in (np.arange(rows.shape[0]), learnable):
        if len(record) and int(record.example.max()) >= len(row_of):
            continue
        at = row_of[record.example]
        right = np.array_equal(last.signs[at, record.vector], record.sign)
        if right and (run.support_rows is None or same_rows(run.support_rows, rows[row_of[record.support]])):
            return np.asarray((np.cumsum(kept) - 1)[at])
    check_training_data(False, "rows of the support, or their labels, are not those of training")
    raise AssertionError  # never: they were refused


def compare_run(run: RecordedRun, passes: Passes, last: Margins, example: Index) -> Assumption:
    """Refuse data on which this record cannot have come about, though its support is there; return what agrees."""
    record, n_learnable = run.record, int((last.lengths > 0).sum())
    check_converged(passes.converged and record.n_examples >= n_learnable, last)
    single = run.support_rows is not None and run.support_rows.dtype == np.float32
    _check_lengths(record, last, rounding=1e-4 if single else 1e-9)
    all_presented = record.n_examples == n_learnable
    order = None
    if all_presented and passes.n_epochs * record.n_examples <= MOST_STEPS:
        order = _order(record, passes, last, example)
    if order is not None and _repeats(record, run.retrain(order, _weights_of(record, last, example))):
        return Assumption("same data", True, f"{REPEATED} at the same steps")
    if all_presented and not passes.converged:
        _check_last_pass(run, passes, last, example)
    return claimed(f"the number of rows, and the {len(record.support):,} rows of the support with their labels, agree")


def _weights_of(record: MistakeRecord, last: Margins, example: Index) -> Floats | None:
    """Return the weights of rows, as far as the record knows them: of one that never was a mistake none mattered."""
    if record.weight is None:
        return None
    weights = np.ones(len(last.lengths))
    weights[np.flatnonzero(last.lengths > 0)[example]] = record.weight
    return weights


def _check_lengths(record: MistakeRecord, last: Margins, rounding: float) -> None:
    """Refuse other lengths than the record's; of a length that is next to nothing, rounding may be all there is."""
    for c in range(record.n_vectors):
        norm2 = record.norm2[record.vector == c]
        least = rounding * norm2.max(initial=0.0)
        same = not len(norm2) or math.isclose(last.norms[c] ** 2, norm2[-1], rel_tol=1e-5, abs_tol=least)
        check_training_data(same, "its vectors have other lengths with them")


def _order(record: MistakeRecord, passes: Passes, last: Margins, example: Index) -> Index | None:
    """Return the rows as they were presented, if that is one of the two orders that there may have been."""
    kept = last.lengths > 0
    place = np.cumsum(kept) - 1
    for order in passes.orders(np.flatnonzero(kept)):
        presented = place[order][(record.time - 1) % record.n_examples]
        if np.array_equal(presented, example):
            return order
    return None


def _repeats(old: MistakeRecord, new: MistakeRecord) -> bool:
    """Tell whether the mistakes are the same, and refuse data that have one which the record lacks."""
    at, other = _moments(old), _moments(new)
    if np.array_equal(at, other) and np.array_equal(old.sign, new.sign):
        return True
    n = min(len(at), len(other))
    first = int(np.append(np.flatnonzero(at[:n] != other[:n]), n)[0])
    extra = first < len(other) and (first >= len(at) or other[first] < at[first])
    check_training_data(
        not (extra and _is_mistake(new, first)), "trained on them again, the model errs where it did not in training"
    )
    return False  # by rounding, or since parameters were changed after training: nothing is known


def _moments(record: MistakeRecord) -> NDArray[np.int64]:
    return record.time * record.n_vectors + record.vector


def _is_mistake(record: MistakeRecord, i: int) -> bool:
    """Tell whether a mistake is one for every τ, and not for rounding."""
    wrong = float(record.sign[i] * record.score[i])
    return wrong == 0 or wrong < -1e-9 * float(np.abs(record.score[: i + 1]).max())


def _check_last_pass(run: RecordedRun, passes: Passes, last: Margins, example: Index) -> None:
    """Refuse rows on which every vector of the last whole pass errs, though training never did."""
    record, kept = run.record, last.lengths > 0
    n = record.n_examples
    end = min(record.n_steps, math.floor(passes.n_epochs * n + 0.5)) // n * n if not passes.once else record.n_steps
    start = max(0, end - n)
    if end < n:
        return
    stages = [
        {rule: scores[kept] for rule, scores in stage.items()}
        for stage in run.scores_at([start, end] if start else [end])
    ]
    signs = last.signs[kept]
    votes: Floats = np.round(stages[-1]["vote"] * end)
    never = signs * votes == -end
    if start:
        never = signs * (votes - np.round(stages[0]["vote"] * start)) == -n
        never &= signs * stages[0]["last"] <= 0
    never[example, record.vector] = False
    rows = np.flatnonzero(kept)[never.any(axis=1)]
    check_training_data(
        not len(rows),
        f"row {rows[0] if len(rows) else 0} had no mistake in training, and every vector of a whole pass errs on it",
    )
