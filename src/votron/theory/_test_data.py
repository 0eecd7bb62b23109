"""Comparison of test data with training data."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from votron._util.types import RowsLike
from votron.errors import VotronError
from votron.theory.evidence import Assumption

_BY_CHANCE = 20
"""Two samples with up to this many different rows may have the same counts by chance."""


def check_test_data(X: RowsLike, X_test: RowsLike) -> Assumption:
    """Refuse the training data as test data; return the user's claim, with the number of rows in both."""
    claim = "they are independent draws from the same distribution, and were not used for training: your claim"
    try:
        tested, known = Counter(_contents(X_test)), Counter(_contents(X))
    except (TypeError, ValueError):  # not numbers, or not a matrix: the model will say so
        return Assumption("test data", None, claim)
    if X is X_test or (tested == known and len(tested) > _BY_CHANCE):
        raise VotronError(
            "X_test and y_test must be data that were not used for training. Got the training data instead."
        )
    n = sum(times for row, times in tested.items() if row in known)
    if n:
        claim = f"{n:,} of the {tested.total():,} rows are in the training data too; {claim}"
    return Assumption("test data", None, claim)


def _contents(X: RowsLike) -> list[tuple[bytes, bytes]]:
    """Return the nonzero columns and values of each row."""
    rows = sp.csr_matrix(X if sp.issparse(X) else np.asarray(X, dtype=np.float64), dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    columns = rows.indices.astype(np.int64)
    return [(columns[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in pairwise(rows.indptr)]
