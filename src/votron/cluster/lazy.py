"""Lazy predictions for Dask collections, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from votron._util.types import Array, Estimator, Rows, RowsLike

Rules = Sequence[str | tuple[str, bool]]
Staged = dict[str | tuple[str, bool], Any]
"""Scores by rule: arrays, or lazy ones."""


def predicted(model: Estimator, method: str, X: RowsLike) -> Any:
    """Return a lazy Dask array of what a method of a model returns for the rows of a collection."""
    from dask.delayed import delayed

    one = getattr(model, method)(_one_row(X))  # refuses what no chunk could be predicted with
    lazy = delayed(model, pure=True)
    parts = [delayed(getattr(type(model), method))(lazy, part) for part in chunks_of(X)]
    return _as_array(parts, X, one)


def staged(
    model: Estimator, X: RowsLike, at: Iterable[float] | None, rules: Rules | None
) -> Iterator[tuple[float, Staged]]:
    """Yield the moments and lazy scores of `staged_decision_function`; a chunk is scanned once for all of them."""
    from dask.delayed import delayed

    at = None if at is None else list(at)
    stages = list(model.staged_decision_function(_one_row(X), at, rules))
    lazy = delayed(model, pure=True)
    scans = [delayed(_scan)(lazy, part, at, rules) for part in chunks_of(X)]
    for k, (moment, one) in enumerate(stages):
        yield moment, {name: _as_array([scan[k][name] for scan in scans], X, one[name]) for name in one}


def _scan(model: Estimator, part: RowsLike, at: Iterable[float] | None, rules: Rules | None) -> list[Staged]:
    return [scores for _, scores in model.staged_decision_function(part, at, rules)]


def chunks_of(X: RowsLike) -> list[Any]:
    """Return the chunks of a collection, as delayed objects with whole rows."""
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
