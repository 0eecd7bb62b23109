"""Boolean data as the engine of Winnow takes them: which features are active in each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.types import Array, Rows
from votron.errors import VotronError


class ActiveRows(NamedTuple):
    """Rows of Boolean features as CSR without values: the active features of each row, in rising order."""

    indptr: NDArray[np.int64]
    indices: Array
    n_features: int

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1


def active_rows(rows: Rows, binarize: float | None = None) -> ActiveRows:
    """Return which features are active in each row: those above ``binarize``, or those that are 1 among 0 and 1."""
    if binarize is None:
        _check_boolean(rows)
    elif sp.issparse(rows) and binarize < 0:
        raise VotronError(
            "The 'binarize' parameter of WinnowClassifier must be a number in the range [0, inf) for sparse data, "
            f"since the zeros that they leave out would all be above it. Got {binarize!r} instead.",
            parameter="binarize",
        )
    found = sp.csr_matrix(rows > (0 if binarize is None else binarize))
    index = np.int32 if 2 * rows.shape[1] < 2**31 else np.int64  # numbers of literals, negated ones included
    return ActiveRows(found.indptr.astype(np.int64), found.indices.astype(index), int(rows.shape[1]))


def _check_boolean(X: Rows) -> None:
    values = X.data if sp.issparse(X) else X
    bad = np.argwhere((values != 0) & (values != 1))
    if not len(bad):
        return
    if sp.issparse(X):
        row, column = np.searchsorted(X.indptr, bad[0, 0], side="right") - 1, X.indices[bad[0, 0]]
    else:
        row, column = bad[0]
    raise VotronError(
        "The features of X must be Boolean, 0 or 1, unless the 'binarize' parameter of WinnowClassifier says where to "
        f"cut (binarize=0.5 takes what is above 0.5 for 1). Got {values[tuple(bad[0])].item()!r} at row {row}, column "
        f"{column} instead.",
        parameter="binarize",
    )
