"""What an estimator does with data before the engine sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from votron.errors import IndefiniteKernelError, VotronError
from votron.products import Rows, chunks


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave the estimator as it was if fitting fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except Exception:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def plain_rows(X: Any) -> Rows:
    """Return validated data in a form that the engine takes: no half floats, CSR in canonical form. Never writes to X."""
    if X.dtype == np.float16 or (X.dtype.kind == "f" and X.dtype.itemsize > 8):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def encode_labels(y: Any, classes: Any = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes and each label's number among them."""
    check_classification_targets(y)
    if classes is None:
        found, codes = np.unique(y, return_inverse=True)
    else:
        found = np.unique(classes)
        unknown = np.setdiff1d(y, found)
        if len(unknown):
            raise VotronError(
                f"The label {unknown[0]!r} is not among the classes {_listed(found)} given at the first call of partial_fit; "
                "name every class there with classes=[...]."
            )
        codes = np.searchsorted(found, y)
    if len(found) < 2:
        raise VotronError(
            f"The labels must have at least 2 classes to tell apart. Got 1 class, {_listed(found)}; "
            "in partial_fit name all of them with classes=[...]."
        )
    return found, np.asarray(codes, dtype=np.int64).reshape(-1)


def _listed(values: NDArray[Any]) -> str:
    shown = ", ".join(repr(v) for v in values[:5].tolist())
    return f"[{shown}, ...]" if len(values) > 5 else f"[{shown}]"


def engine_codes(codes: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return the number of the vector for which each example is positive: binary problems have one vector, for the second class."""
    return 1 - codes if n_classes == 2 else codes


def check_gram(K: NDArray[Any]) -> None:
    """Refuse a precomputed kernel matrix that is plainly none: not square, not symmetric, a negative diagonal or 2×2 minor."""
    if K.shape[0] != K.shape[1]:
        raise VotronError(
            f"With kernel='precomputed' X must be the square matrix of kernel values of the training examples. Got shape {K.shape}."
        )
    diagonal = np.diagonal(K).astype(np.float64)
    if (diagonal < 0).any():
        i = int(np.argmin(diagonal))
        raise IndefiniteKernelError(
            f"The precomputed kernel matrix is not positive semi-definite: its diagonal has {diagonal[i]:g} at row {i}."
        )
    scale = float(diagonal.max(initial=0.0))
    for part in chunks(len(K), 512):
        rows = K[part].astype(np.float64)
        gap = np.abs(rows - K[:, part].T)
        if gap.max(initial=0.0) > 1e-8 * max(scale, float(np.abs(rows).max(initial=0.0))):
            i, j = map(int, np.unravel_index(int(np.argmax(gap)), gap.shape))
            raise VotronError(
                f"The precomputed kernel matrix is not symmetric: K[{part.start + i}, {j}] is {rows[i, j]:g} "
                f"and K[{j}, {part.start + i}] is {K[j, part.start + i]:g}."
            )
        minor = np.multiply.outer(diagonal[part], diagonal) * (1 + 1e-8) + (1e-8 * scale) ** 2 - rows**2
        if (minor < 0).any():
            i, j = map(int, np.unravel_index(int(np.argmin(minor)), minor.shape))
            raise IndefiniteKernelError(
                f"The precomputed kernel matrix is not positive semi-definite: |K[{part.start + i}, {j}]| = {abs(rows[i, j]):g} "
                f"exceeds √(K[{part.start + i}, {part.start + i}] K[{j}, {j}])."
            )
