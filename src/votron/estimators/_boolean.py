"""Numbers cut into Boolean features."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.preprocessing import binarize

from votron.errors import VotronError


def cut(rows: Any, threshold: float | None) -> Any:
    """Return 1 where values are above the threshold, else 0; None: they are 0 and 1 already, and others are refused."""
    if threshold is not None:
        return binarize(rows, threshold=threshold)
    values = rows.data if sp.issparse(rows) else rows
    strange = values[(values != 0) & (values != 1)]
    if len(strange):
        raise VotronError(f"With binarize=None X must have no values but 0 and 1. Got {strange[0]:g} instead.")
    return rows
