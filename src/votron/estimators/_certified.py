"""What classifiers tell `votron.theory.certify`: shared by those that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron.errors import VotronError
from votron.products import Floats, Rows
from votron.record import labels_of
from votron.rules import row_draws
from votron.theory.facts import Assumption, Measured


def kernel_fixed(model: Any) -> Assumption:
    """Return whether the kernel was fixed before the data were seen, as far as the parameters tell."""
    name = "kernel fixed"
    if getattr(model, "_gamma_from_data", False):
        because = "gamma='scale' was computed from these data"
        return Assumption(name, False, because, "gamma=a number not taken from these data", another_run=True)
    what = "kernel, parameters, seed and features" if hasattr(model, "kernel") else "features, parameters and seed"
    return Assumption(name, None, f"{what} were chosen without these data: your claim")


def vector_labels(classes: NDArray[Any]) -> list[Any]:
    """Return the class of each vector; two classes have one, for the second of them."""
    labels: list[Any] = classes.tolist()
    return labels[1:] if len(labels) == 2 else labels


def wrong_labels(scores: Floats, signs: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows get a wrong label by these scores; of two classes, a score of 0 predicts the second."""
    return np.asarray(labels_of(scores) != labels_of(signs))


def measured(scores: Floats, signs: NDArray[Any]) -> Measured:
    """Return the errors of scores on test data."""
    each = (np.where(scores >= 0, 1, -1) != signs).sum(axis=0)
    return Measured(tuple(each.tolist()), int(wrong_labels(scores, signs).sum()), len(scores))


def most_repeated(rows: Rows) -> int:
    """Return how many of the rows are the same, of the row that most are."""
    return int(np.unique(row_draws(rows, 0), return_counts=True)[1].max())


def check_training_data(same: bool, difference: str) -> None:
    """Refuse data that the model was not trained on, in the order in which it was; say what shows it."""
    if not same:
        raise other_data(difference)


def check_number_of_rows(n_rows: int, *n_trained: int) -> None:
    """Refuse more rows than training had, or fewer."""
    check_training_data(n_rows in n_trained, f"there are {n_rows:,} rows, and training had {n_trained[0]:,}")


def other_data(difference: str) -> VotronError:
    """Return the error for data that the model was not trained on."""
    return VotronError(
        "The X and y of certify must be the training data, as they were given to fit, or to all calls of "
        f"partial_fit one after another. Got others: {difference}."
    )


def same_data(compared: str) -> Assumption:
    """Return that these are the training data, which is the user's claim beyond what was compared."""
    return Assumption("same data", None, f"{compared}; that all else is as in training is your claim")


def around(model: Any, data: Assumption) -> tuple[Assumption, ...]:
    """Return what all statements of a model rest on: its data, and its file if it comes from one."""
    if not model._from_file:
        return (data,)
    return data, Assumption("model file", None, "how training went is as the model file says: taken on its word")


def planned_end(model: Any, why_not: str = "", change: str = "") -> Assumption:
    """Return whether when training ended was settled before it began, given what speaks against it, if anything."""
    if model._cut_off:
        why_not, change = "training was interrupted", "training to its end"
    if not why_not and model._once and model.n_epochs_ > 1:
        batches = f"{model.n_epochs_:g} calls of partial_fit"
        return Assumption("planned end", None, f"training ended after {batches}, whatever they showed: your claim")
    because = why_not or "when training ends was settled before it began"
    return Assumption("planned end", not why_not, because, change)


def not_independent(change: str) -> Assumption:
    """Return that a part of the data was held out, some of every class: labels decided which examples were left."""
    because = "a share of every class was held out, so what is left are no independent draws"
    return Assumption("i.i.d.", False, because, change)


def same_rows(kept: Rows, rows: Rows) -> bool:
    """Tell whether rows are those that a model kept."""
    if kept.shape != rows.shape:
        return False
    gap = kept - rows if kept.dtype.kind == "f" or rows.dtype.kind == "f" else kept != rows
    return not abs(gap).max() > 0 if gap.shape[0] and gap.shape[1] else True
