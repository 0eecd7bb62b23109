"""Prediction on Dask arrays and frames: lazy, a chunk at a time, where the chunks are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from votron.cluster.client import is_collection


def on_collections(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of a classifier that predicts rows take Dask collections: then it returns a lazy Dask array."""

    @wraps(method)
    def predicted(self: Any, X: Any) -> Any:
        if not is_collection(X):
            return method(self, X)
        from dask.delayed import delayed

        one = getattr(self, method.__name__)(_one_row(X))  # refuses what no chunk could be predicted with
        model = delayed(self, pure=True)
        parts = [delayed(getattr(type(self), method.__name__))(model, part) for part in _parts(X)]
        return _as_array(parts, X, one)

    return predicted


def staged(model: Any, X: Any, at: Any, rules: Any) -> Iterator[tuple[float, dict[Any, Any]]]:
    """Yield the moments and lazy scores of `staged_decision_function`; a chunk is scanned once for all of them."""
    from dask.delayed import delayed

    at = None if at is None else list(at)
    stages = list(model.staged_decision_function(_one_row(X), at, rules))
    lazy = delayed(model, pure=True)
    scans = [delayed(_scan)(lazy, part, at, rules) for part in _parts(X)]
    for k, (moment, one) in enumerate(stages):
        yield moment, {name: _as_array([scan[k][name] for scan in scans], X, one[name]) for name in one}


def _scan(model: Any, part: Any, at: Any, rules: Any) -> list[dict[Any, Any]]:
    return [scores for _, scores in model.staged_decision_function(part, at, rules)]


def _parts(X: Any) -> list[Any]:
    if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _one_row(X: Any) -> Any:
    """Return a row of the collection's kind, of zeros or the like."""
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty[:1]
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _as_array(parts: list[Any], X: Any, one: Any) -> Any:
    """Return a Dask array of what is predicted of the parts, given what is predicted of one row."""
    import dask.array as da

    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    arrays = [
        da.from_delayed(part, (length, *one.shape[1:]), dtype=one.dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
