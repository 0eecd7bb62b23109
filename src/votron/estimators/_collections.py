"""Dask collections: rows of training that stay where they are, and lazy predictions, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from votron._util.types import Array, Estimator, Labels, Rows, RowsLike
from votron.cluster.client import results_of
from votron.cluster.rows import SpreadRows
from votron.errors import DataError, VotronError
from votron.estimators._validation import in_form, is_collection, listed, refuse_text
from votron.kernels.base import is_precomputed

Rules = Sequence[str | tuple[str, bool]]
Staged = dict[str | tuple[str, bool], Any]
"""Scores by rule: arrays, or lazy ones."""


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
    return rows, None if isinstance(y, str) else column_or_1d(gathered(y, rows, "labels"), warn=True)


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


def predicted(model: Estimator, method: str, X: RowsLike) -> Any:
    """Return a lazy Dask array of what a method of a model returns for the rows of a collection."""
    from dask.delayed import delayed

    one = getattr(model, method)(_one_row(X))  # refuses what no chunk could be predicted with
    lazy = delayed(model, pure=True)
    parts = [delayed(getattr(type(model), method))(lazy, part) for part in _parts(X)]
    return _as_array(parts, X, one)


def staged(
    model: Estimator, X: RowsLike, at: Iterable[float] | None, rules: Rules | None
) -> Iterator[tuple[float, Staged]]:
    """Yield the moments and lazy scores of `staged_decision_function`; a chunk is scanned once for all of them."""
    from dask.delayed import delayed

    at = None if at is None else list(at)
    stages = list(model.staged_decision_function(_one_row(X), at, rules))
    lazy = delayed(model, pure=True)
    scans = [delayed(_scan)(lazy, part, at, rules) for part in _parts(X)]
    for k, (moment, one) in enumerate(stages):
        yield moment, {name: _as_array([scan[k][name] for scan in scans], X, one[name]) for name in one}


def _scan(model: Estimator, part: RowsLike, at: Iterable[float] | None, rules: Rules | None) -> list[Staged]:
    return [scores for _, scores in model.staged_decision_function(part, at, rules)]


def _parts(X: RowsLike) -> list[Any]:
    if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _one_row(X: RowsLike) -> Rows:
    """Return a row of the collection's kind, of zeros or the like."""
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty[:1]
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _as_array(parts: list[Any], X: RowsLike, one: Array) -> Any:
    """Return a Dask array of what is predicted of the parts, given what is predicted of one row."""
    import dask.array as da

    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    arrays = [
        da.from_delayed(part, (length, *one.shape[1:]), dtype=one.dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
