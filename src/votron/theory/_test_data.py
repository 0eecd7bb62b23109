"""Test data beside training data: refused where they are the same, and what an error measured on them rests on."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron.errors import VotronError
from votron.theory.evidence import Assumption

_BY_CHANCE = 20
"""As many different rows may come equally often in two samples by chance."""


def check_test_data(X: Any, X_test: Any) -> Assumption:
    """Refuse the training data as test data; return what is taken on the user's word, with how many rows repeat.

    Examples
    --------
    >>> X, X_test = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    >>> check_test_data(X, X_test).because.split("; ")[0]
    '1 of the 3 is a row of the training data too'
    """
    rows = known = None
    with suppress(TypeError, ValueError):  # not numbers, or not a matrix: the model will say so
        rows, known = Counter(_contents(X_test)), Counter(_contents(X))
    same = X is X_test
    if not same and getattr(X, "shape", 0) == getattr(X_test, "shape", 1) and hasattr(X, "dtype"):
        same = not (X_test != X).sum()
    # In another order, or as a copy of another type. Of a few rows that come again and again, two samples may agree.
    if same or (rows is not None and rows == known and len(rows) > _BY_CHANCE):
        raise VotronError(
            "X_test and y_test must be data that had no part in training, or what is measured on them guarantees "
            "nothing. Got the training data instead."
        )
    claim = "they are independent draws from the same distribution, and had no part in training: your claim"
    return Assumption("test data", None, "; ".join([*_repeated(rows, known), claim]))


def _repeated(rows: Counter[Any] | None, known: Counter[Any] | None) -> list[str]:
    """Return how many rows are among the training rows, in a sentence; nothing where there are none."""
    if rows is None or known is None:
        return []
    n = sum(times for row, times in rows.items() if row in known)
    are = "is a row" if n == 1 else "are rows"
    return [f"{n:,} of the {rows.total():,} {are} of the training data too"] if n else []


def _contents(X: Any) -> list[Any]:
    """Return for each row what is equal for equal rows, dense or sparse."""
    if not sp.issparse(X):
        dense = np.asarray(X, dtype=np.float64)
        rows, columns = np.nonzero(dense)
        values = dense[rows, columns]
        ends = np.searchsorted(rows, np.arange(len(dense) + 1))
    else:
        sparse = sp.csr_matrix(X, dtype=np.float64, copy=True)
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
        columns, values, ends = sparse.indices, sparse.data, sparse.indptr
    columns = columns.astype(np.int64)
    return [(columns[a:b].tobytes(), values[a:b].tobytes()) for a, b in pairwise(ends)]
