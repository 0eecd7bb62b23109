"""Dask collections as training data: the rows stay where they are."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from votron._util.types import Labels, Rows, RowsLike
from votron.cluster.client import results_of
from votron.cluster.rows import SpreadRows
from votron.errors import DataError, VotronError
from votron.estimators._validation import in_form, is_collection, listed, refuse_text
from votron.kernels.base import is_precomputed


def spread(
    estimator: BaseEstimator, X: RowsLike, y: Labels, *, kernel: object, reset: bool
) -> tuple[SpreadRows, Labels]:
    """Return the rows of a Dask collection, which stay where they are, and the labels, which come here."""
    owner = type(estimator).__name__
    if is_precomputed(kernel):
        raise VotronError(
            f"{owner} takes no Dask collections with kernel='precomputed': give it the rows and a kernel."
        )
    validate_data(
        estimator, getattr(X, "_meta_nonempty", np.empty((1, *X.shape[1:]))), reset=reset, skip_check_array=True
    )
    rows = SpreadRows(X, checked_chunk, owner)
    if not rows.shape[0]:
        raise VotronError(
            f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is required by {owner}."
        )
    return rows, column_or_1d(gathered(y, rows, "labels"), warn=True)


def checked_chunk(chunk: RowsLike, owner: str) -> Rows:
    """Return a chunk as the engine takes it, or refuse it; this runs on a worker."""
    if not isinstance(chunk, np.ndarray):
        refuse_text(chunk, owner)
    return in_form(check_array(chunk, accept_sparse="csr", ensure_min_samples=0, estimator=owner, input_name="X"))


def gathered(values: Labels, rows: SpreadRows, what: str) -> Labels:
    """Return one number or word for each row, such as its label, here; refuse those that do not go with the rows."""
    if is_collection(values):
        parts = results_of(rows.client, rows.client.compute(np.ravel(values.to_delayed()).tolist()))
        lengths = [len(part) for part in parts]
        if sum(lengths) == rows.shape[0] and lengths != rows.lengths:
            raise DataError(
                f"The {what} must have chunks as long as those of X, so that each goes with its row: "
                f"{listed(np.array(rows.lengths))}. Got {listed(np.array(lengths))} instead."
            )
        values = np.concatenate([np.asarray(part) for part in parts])
    values = np.asarray(values)
    if values.ndim and len(values) != rows.shape[0]:
        raise DataError(f"The {what} must be as many as the rows of X, {rows.shape[0]}. Got {len(values)} instead.")
    return values
