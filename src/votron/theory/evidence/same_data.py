"""Comparison of the data at hand with those of training, and what of them remains a claim.

A record has the support: its rows and labels are compared one by one. Of the other rows it says that they were no
mistake whenever they were presented. Where the order of presentation is known, and they are not too many, the run is
repeated. Otherwise no row may be such that every vector of a whole pass errs on it: it was presented to one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from votron._types import Floats, Index, Rows
from votron.errors import VotronError
from votron.record import MistakeRecord
from votron.theory.evidence.training import Assumption
from votron.theory.geometry import Margins

MOST_STEPS = 200_000
"""Presentations up to which a run is repeated."""
REPEATED = "trained on them again, the model makes the same mistakes"


@dataclass(frozen=True, kw_only=True)
class Passes:
    """The passes over the data in which a model was trained.

    Attributes
    ----------
    epochs : float
        Passes over the data: calls of partial_fit with new rows are parts of one.
    n_epochs : float
        The same, with each call of partial_fit as one.
    once : bool
        Whether no example was presented twice.
    converged, interrupted : bool
        Whether training ended with a pass without a mistake, or by Ctrl-C.
    shuffle, random_state : bool, and int or other
        The parameters that decide the order of presentation.
    """

    epochs: float
    n_epochs: float
    once: bool
    converged: bool
    interrupted: bool
    shuffle: bool
    random_state: Any

    @property
    def presentations(self) -> int:
        """Times that an example was presented, at most."""
        return 1 if self.once else math.ceil(self.n_epochs)

    @property
    def batches(self) -> bool:
        """True if the one pass was in several calls of partial_fit."""
        return self.once and self.n_epochs > 1

    def orders(self, learnable: Index) -> list[Index]:
        """Return the rows as given, as partial_fit has them, and as shuffled by the seed, if there is one."""
        orders = [learnable]
        if self.shuffle and isinstance(self.random_state, Integral):
            orders.append(check_random_state(self.random_state).permutation(learnable))
        return orders


# -- rows, labels and lengths -----------------------------------------------------------------------------------------


def check_training_data(same: bool, difference: str) -> None:
    """Refuse data that the model was not trained on, in the order in which it was; say what shows it."""
    if not same:
        raise VotronError(
            "The X and y of certify must be the training data, as they were given to fit, or to all calls of "
            f"partial_fit one after another. Got others: {difference}."
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
        The record of another run, with the rows presented in the order given.
    scores_at : callable
        For moments of training the scores of all rows, by the rules "vote" and "last".
    """

    record: MistakeRecord
    support_rows: Rows | None
    retrain: Callable[[Index], MistakeRecord]
    scores_at: Callable[[list[int]], Sequence[Mapping[str, Floats]]]


def examples_of(run: RecordedRun, rows: Rows, last: Margins, n_rows: int) -> Index:
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
    if order is not None and _repeats(record, run.retrain(order)):
        return Assumption("same data", True, f"{REPEATED} at the same steps")
    if all_presented and not passes.converged:
        _check_last_pass(run, passes, last, example)
    return claimed(f"the number of rows, and the {len(record.support):,} rows of the support with their labels, agree")


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


# -- weights ----------------------------------------------------------------------------------------------------------

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
    retrain : callable
        The weights of another run, with the rows in the order given, and that many steps.
    """

    weights: Weights
    n_examples: int
    n_steps: int
    held_out: bool
    retrain: Callable[[Index, int], Weights]


def compare_weights(run: WeightsRun, passes: Passes, learnable: Index) -> Assumption:
    """Return what agrees, of a model that keeps its weights alone."""
    compared = claimed("the number of rows agrees")
    steps = run.n_examples if passes.batches else round(passes.n_epochs * run.n_examples)
    if len(learnable) != run.n_examples or run.held_out or steps > MOST_STEPS:
        return compared
    orders = passes.orders(learnable)
    if any(_same_weights(run.retrain(order, steps), run.weights) for order in orders):
        return Assumption("same data", True, f"{REPEATED}, and has the same weights")
    known = not passes.shuffle or len(orders) > 1
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
