"""Boolean data as the engine of Winnow takes them: which features are active in each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.resources import chunks, rows_in_bytes
from votron._util.types import Array, Rows
from votron.errors import VotronError


class ActiveRows(NamedTuple):
    """Rows of Boolean features as CSR without values: the active features of each row, in rising order."""

    indptr: NDArray[np.int64]
    indices: Array
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1


def active_rows(X: Rows, binarize: float | None = None, owner: str = "WinnowClassifier") -> ActiveRows:
    """Return which features are active in each row: those above ``binarize``, or those that are 1 among 0 and 1."""
    n, d = map(int, X.shape)
    index = np.int32 if 2 * d < 2**31 else np.int64  # numbers of literals, negated ones included
    counts, found = np.zeros(n + 1, dtype=np.int64), [np.empty(0, dtype=index)]
    if sp.issparse(X):
        if binarize is not None and binarize < 0:
            raise VotronError(
                f"The 'binarize' parameter of {owner} must be a number in the range [0, inf) for sparse data, "
                f"since the zeros that they leave out would all be above it. Got {binarize!r} instead.",
                parameter="binarize",
            )
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        on = _is_on(X.data, binarize, owner, lambda k: (int(rows[k[0]]), int(X.indices[k[0]])))
        counts[1:] = np.bincount(rows[on], minlength=n)
        found.append(X.indices[on].astype(index))
    else:
        for part in chunks(n, rows_in_bytes(X)):
            on = _is_on(X[part], binarize, owner, lambda k, start=part.start: (start + int(k[0]), int(k[1])))
            counts[part.start + 1 : part.stop + 1] = on.sum(axis=1)
            found.append(np.nonzero(on)[1].astype(index))
    return ActiveRows(np.cumsum(counts), np.concatenate(found), d)


def _is_on(
    values: Array, binarize: float | None, owner: str, where: Callable[..., tuple[int, int]]
) -> NDArray[np.bool_]:
    """Tell which values are 1, or above the cut; ``where`` gives the row and column of a value to complain of."""
    if binarize is not None:
        return np.asarray(values > binarize)
    on = np.asarray(values == 1)
    bad = ~on & (values != 0)
    if bad.any():
        at = np.unravel_index(int(bad.argmax()), bad.shape)
        row, column = where(at)
        raise VotronError(
            f"The features of X must be Boolean, 0 or 1, unless the 'binarize' parameter of {owner} says where to "
            f"cut (binarize=0.5 takes what is above 0.5 for 1). Got {values[at].item()!r} at row {row}, column "
            f"{column} instead.",
            parameter="binarize",
        )
    return on
