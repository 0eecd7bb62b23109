"""What `votron train` says unasked: of labels that are a quantity, of long work, and of mistakes that stay."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import counted, percent
from votron.errors import DataError

_FEW_VALUES = 20
"""Different numbers that are classes, whatever their rows."""
_MANY_VALUES = 100
"""Different numbers from which training takes long, with a vector for each."""
_FEW_ROWS = 10
"""Rows of a class that are hardly enough to learn it from."""
_FEWEST_ROWS = 100
"""Rows from which errors say something about the model."""
_HIGH_ERROR = 0.1
_STAYS = 0.5
"""The share of the first pass's mistakes that the last one may have at most, where they fall."""


# -- before -----------------------------------------------------------------------------------------------------------


def remark_on_label(y: NDArray[Any], label: str | None, *, is_table: bool) -> str | None:
    """Return what to say of labels that look like a quantity, or None; refuse a column of a table that clearly is one.

    Clearly: numbers, more than 100 of them, a quarter of which have fewer than 10 rows each, and not 0, 1, 2, ... as
    classes are numbered. ``--discrete`` with the label says that they are meant, and makes texts of them.

    Examples
    --------
    >>> import numpy as np
    >>> remark_on_label(np.repeat(np.arange(60), 50), "kind", is_table=True)
    >>> remark_on_label(np.array(["Rome", "Oslo"]), "town", is_table=True)
    >>> remark_on_label(np.arange(500) ** 2, "price", is_table=True)
    Traceback (most recent call last):
    votron.errors.DataError: The label 'price' holds 500 different numbers in 500 rows, from 0 to 249001; half of them \
have 1 row each at most. That looks like a quantity, and each number would become a class: choose another column, or \
cut this one into a few classes first, such as low and high. If these numbers are classes, add --discrete price.
    """
    if y.dtype.kind not in "iu" or not len(y):
        return None
    values, rows = np.unique(y, return_counts=True)
    n, rare = len(values), bool(np.quantile(rows, 0.25) < _FEW_ROWS)
    if n <= _FEW_VALUES or not (rare or n > _MANY_VALUES):
        return None
    median = int(np.median(rows))
    holds = (
        f"The label{f' {label!r}' if label else ''} holds {n:,} different numbers in {counted(len(y), 'row')}, from "
        f"{values[0]} to {values[-1]}; half of them have {counted(median, 'row')} each at most."
    )
    numbered = values[0] in (0, 1) and values[-1] - values[0] == n - 1
    if is_table and label and rare and n > _MANY_VALUES and not numbered:
        raise DataError(
            f"{holds} That looks like a quantity, and each number would become a class: choose another column, or cut "
            "this one into a few classes first, such as low and high. If these numbers are classes, add --discrete "
            f"{shlex.quote(label)}."
        )
    return (
        f"{holds} Each becomes a class. If they are a quantity, cut it into a few classes first, such as low and high."
    )


# -- meanwhile --------------------------------------------------------------------------------------------------------


def long_work(low: float, high: float, estimator: Any) -> str:
    """Return how long training takes, and what takes less.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> long_work(840, 1230, AveragedPerceptronClassifier())
    'Training takes about 14 to 20 minutes more. Fewer --epochs take less.'
    """
    ways_out = "Fewer --epochs take less."
    if hasattr(estimator, "kernel"):
        ways_out = "`--estimator averaged` is linear and takes seconds as a rule; fewer --epochs take less too."
    return f"Training takes about {span_in_words(low, high)} more. {ways_out}"


def span_in_words(low: float, high: float) -> str:
    """Return a range of times, rounded.

    Examples
    --------
    >>> span_in_words(31, 56), span_in_words(100, 170), span_in_words(4000, 9000), span_in_words(141, 142)
    ('30 to 60 seconds', '2 to 3 minutes', '1.1 to 2.5 hours', '2 minutes')
    """
    if high < 90:
        ends, unit = [f"{max(10, round(seconds, -1)):.0f}" for seconds in (low, high)], "seconds"
    elif high < 2 * 3600:
        ends, unit = [f"{max(1, round(seconds / 60))}" for seconds in (low, high)], "minutes"
    else:
        ends, unit = [f"{seconds / 3600:.1f}" for seconds in (low, high)], "hours"
    return f"{' to '.join(dict.fromkeys(ends))} {unit}"


# -- afterwards -------------------------------------------------------------------------------------------------------


def remark_on_mistakes(estimator: Any, error: dict[str, Any], *, tuned: bool) -> str | None:
    """Return what would help a model whose mistakes did not fall, or which errs much on its training rows, or None."""
    found = _stayed(getattr(estimator, "record_", None))
    if not found and error.get("on") == "training" and error["rows"] >= _FEWEST_ROWS and error["error"] > _HIGH_ERROR:
        found = f"The model errs on {percent(error['error'])} of the rows that it was trained on"
    if not found:
        return None
    if tuned:
        return f"{found}, with the best parameters that were tried: other features or another --estimator may help."
    if hasattr(estimator, "rule"):
        return f"{found}: `votron train --tune` looks for better parameters, such as a larger --margin."
    others = ["a larger --margin"] if "margin" in estimator.get_params() else []
    others += ["another --kernel" if hasattr(estimator, "kernel") else "--estimator voted, which has kernels"]
    return f"{found}: {' or '.join(others)} may help."


def _stayed(record: Any) -> str:
    """Return how many rows were mistakes in the first pass and in the last, where these are many and not much fewer."""
    if record is None or record.n_examples < _FEWEST_ROWS or record.n_steps < 2 * record.n_examples:
        return ""
    n = record.n_examples
    wrong = np.unique(record.time[record.sign * record.score <= 0])  # with a margin, others are learnt from too
    passes = record.n_steps // n
    first, last = (int(np.sum((wrong > (p - 1) * n) & (wrong <= p * n))) for p in (1, passes))
    if last <= max(_HIGH_ERROR * n, _STAYS * first):
        return ""
    return f"Pass {passes} still made mistakes on {last:,} of {counted(n, 'row')}, and pass 1 on {first:,}"
