"""What an estimator does with data before the engine sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from votron._frames import columns_of_words, is_frame
from votron.errors import DataError, IndefiniteKernelError, NotRepresentableError, Parameter, Phrase, VotronError
from votron.kernels import Kernel
from votron.kernels.base import negative_diagonal
from votron.kernels.registry import is_precomputed
from votron.products import Index, Rows, chunks, describe, rows_in_bytes

SLACK = 1e-5
"""How far a precomputed matrix may be from symmetric and positive, relatively: it may have been computed in float32."""


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave the estimator as it was if fitting fails or is broken off."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def validated(
    estimator: BaseEstimator,
    X: Any,
    y: Any = "no_validation",
    *,
    kernel: Any,
    reset: bool,
) -> tuple[Rows, Any]:
    """Return data, and labels if any, as the engine takes them: no half floats, CSR in canonical form.

    What the user gave is not written to. A kernel that is made already also says whether the data are for it.
    """
    _refuse_text(X, type(estimator).__name__)
    found = validate_data(estimator, X, y, accept_sparse=False if is_precomputed(kernel) else "csr", reset=reset)
    X, y = found if isinstance(found, tuple) else (found, None)
    if X.dtype == np.float16 or (X.dtype.kind == "f" and X.dtype.itemsize > 8):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if isinstance(kernel, Kernel):
        kernel.check(X)
    return X, y


def _refuse_text(X: Any, owner: str) -> None:
    """Say what to do about columns of words, and about texts."""
    if is_frame(X):
        for name in columns_of_words(X):
            raise DataError(
                f"The X of {owner} must be numbers: votron.tabular_encoder turns a table with words into them. "
                f"Got words in column {name!r} instead."
            )
    elif isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        raise DataError(
            f"The X of {owner} must be numbers: scikit-learn's TfidfVectorizer turns texts into them. "
            f"Got a list of texts instead."
        )


def resolved_gamma(gamma: str, rows: Rows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    values, n = rows.data if sp.issparse(rows) else rows, rows.shape[0] * n_features
    with np.errstate(over="ignore", invalid="ignore"):
        parts = list(chunks(len(values), rows_in_bytes(values)))
        mean = np.sum([values[part].sum(dtype=np.float64) for part in parts]) / n
        centre = np.rint(mean) if describe(rows).integer else mean  # sums of integers are exact, dense or sparse
        squares = np.sum([np.square(values[part].astype(np.float64) - centre).sum() for part in parts])
        variance = (squares + (n - values.size) * centre**2) / n - (mean - centre) ** 2
    if not np.isfinite(variance):
        raise NotRepresentableError(
            "The variance of X, which gamma='scale' divides by, exceeds the largest float64: scale the data down."
        )
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0


# -- labels -----------------------------------------------------------------------------------------------------------


def read_classes(classes: Any) -> NDArray[Any]:
    """Return the classes that a user names, sorted, each once."""
    if isinstance(classes, set | frozenset | range) or hasattr(classes, "keys"):
        classes = list(classes)
    return _sorted("'classes' of partial_fit", np.asarray(classes).reshape(-1))[0]


def check_same_classes(classes: NDArray[Any], known: NDArray[Any]) -> None:
    """Refuse other classes than those of the first call of ``partial_fit``."""
    if not np.array_equal(classes, known):
        raise VotronError(
            Parameter("classes", of="partial_fit", short=True),
            f" must be the same at every call: {known.tolist()}. Got {classes.tolist()} instead.",
        )


def encode_labels(y: Any, classes: Any = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, and for each label the number of the vector for which it is positive.

    Two classes have one vector, number 0, for the second of them: its labels are 0, those of the first class 1.
    """
    y = np.asarray(y)
    if classes is None or y.dtype.kind not in "iubUS":  # it warns of many classes, which a batch may have
        _check_are_classes(y)
    found, codes = _sorted("labels", y) if classes is None else _among(y, read_classes(classes))
    codes = codes.astype(np.int64).reshape(-1)
    return found, 1 - codes if len(found) == 2 else codes


def _check_are_classes(y: NDArray[Any]) -> None:
    """Refuse numbers that are measured, not counted: classes are what scikit-learn takes for classes."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        if "continuous" not in str(error) or y.dtype.kind != "f" or y.ndim != 1:
            raise
        fraction = next(value for value in y.tolist() if value != int(value))
        raise VotronError(
            "Unknown label type: continuous. The labels must be classes, such as whole numbers or text, since this "
            f"predicts no quantities. Got {len(np.unique(y)):,} different numbers such as {fraction!r} instead."
        ) from None


def _sorted(what: str, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct values in order, and which of them each value is."""
    if values.dtype.kind in "fc" and np.isnan(values).any():
        raise VotronError(f"The {what} must not be missing. Got nan instead.")
    try:
        return np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise VotronError(
            f"The {what} must be of one type, so that they can be sorted: all numbers, or all text. "
            f"Got {' and '.join(kinds)} instead."
        ) from None


def _among(y: NDArray[Any], found: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    unknown = np.setdiff1d(_sorted("labels", y)[0], found)
    if len(unknown):
        raise VotronError(
            f"The labels must be among the classes {_listed(found)} that this model knows",
            Phrase("classes", " (the first call of partial_fit can name more with classes=[...])"),
            f". Got {unknown.tolist()[0]!r} instead.",
        )
    return found, np.searchsorted(found, y)


def check_two_classes(classes: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse labels that are all the same."""
    if len(classes) < 2:
        raise VotronError(
            "The labels must have at least 2 classes to tell apart",
            Phrase("classes", " (in partial_fit name them with classes=[...])"),
            f". Got 1 class, {_listed(classes)}",
            Phrase("rows", f", for data of n_samples={shape[0]}, n_features={shape[1]}", n=shape[0]),
            " instead.",
        )


def _listed(values: NDArray[Any]) -> str:
    shown = ", ".join(repr(v) for v in values[:5].tolist())
    return f"[{shown}, ...]" if len(values) > 5 else f"[{shown}]"


# -- which rows to present --------------------------------------------------------------------------------------------


def learnable_rows(rows: Rows, kernel: Kernel) -> Index:
    """Return the numbers of the rows with K(x, x) > 0."""
    diagonal = kernel.diag(rows)
    if (diagonal < 0).any():
        raise negative_diagonal(kernel, diagonal)
    return np.flatnonzero(diagonal != 0)


def held_out_split(
    order: Index,
    codes: NDArray[np.int64],
    fraction: float,
    owner: str,
    rng: Any,
) -> tuple[Index, Index]:
    """Return the rows to train on, some of every class, and those set aside, a share of every class that has enough."""
    n_held = int(np.ceil(fraction * len(order)))
    n_kept = len(order) - n_held
    if n_kept < 1:
        raise VotronError(
            Parameter("validation_fraction", of=owner),
            f" must leave an example to train on, of {len(order)} that can be learnt. Got {fraction!r} instead.",
        )
    mine = codes[order]
    counts = np.unique(mine, return_counts=True)[1]
    kept = held = order[:0]
    if counts.min() >= 2 and min(n_held, n_kept) >= len(counts):
        kept, held = train_test_split(order, test_size=n_held, stratify=mine, random_state=rng)
    if len(np.unique(codes[kept])) < len(counts):
        # One of every class stays, whatever the shares: a class that is not trained would never be predicted.
        shuffled = rng.permutation(order)
        stays = np.unique(codes[shuffled], return_index=True)[1]
        others = np.delete(shuffled, stays)
        kept, held = np.append(shuffled[stays], others[n_held:]), others[:n_held]
    if not len(held):
        raise VotronError(
            f"Too few examples for {owner} to hold some out, since every class keeps one to train on. "
            f"Got {len(order)} example(s) of {len(counts)} class(es)."
        )
    return np.sort(kept), np.sort(held)


# -- precomputed kernels ----------------------------------------------------------------------------------------------


def check_gram(K: NDArray[Any]) -> None:
    """Refuse a matrix that is plainly no kernel's: not square or symmetric, a negative diagonal or 2×2 minor.

    Values may be rounded: as float32 numbers are, and whole numbers to the integer below.
    """
    if K.shape[0] != K.shape[1]:
        raise VotronError(
            "With kernel='precomputed' X must be a square matrix, the kernel values of the training examples with each "
            f"other. Got shape {K.shape} instead."
        )
    diagonal = np.diagonal(K).astype(np.float64)
    if (diagonal < 0).any():
        i = int(np.argmin(diagonal))
        raise IndefiniteKernelError(
            "Negative values in data: with kernel='precomputed' the diagonal of X must not be negative, "
            f"since K(x, x) is a squared length. Got {diagonal[i]:g} at row {i} instead."
        )
    for part in chunks(len(K), 512):
        rows = K[part].astype(np.float64)
        _check_symmetric(rows, K[:, part].T, part.start)
        _check_minors(rows, diagonal, part.start, whole=K.dtype.kind in "iub")


def _check_symmetric(rows: NDArray[np.float64], columns: NDArray[Any], start: int) -> None:
    gap = np.abs(rows - columns)
    if gap.max(initial=0.0) > SLACK * np.abs(rows).max(initial=0.0):
        i, j = map(int, np.unravel_index(int(np.argmax(gap)), gap.shape))
        raise VotronError(
            "With kernel='precomputed' X must be a symmetric matrix. "
            f"Got X[{start + i}, {j}] = {rows[i, j]:g} and X[{j}, {start + i}] = {columns[i, j]:g} instead."
        )


def _check_minors(rows: NDArray[np.float64], diagonal: NDArray[np.float64], start: int, *, whole: bool) -> None:
    mine = diagonal[start : start + len(rows)]
    with np.errstate(over="ignore"):  # the engine refuses such values, in words
        if whole:
            limit = np.multiply.outer(mine + 1, diagonal + 1) - 0.5  # the exact values were below this
        else:
            limit = np.multiply.outer(mine, diagonal) * (1 + SLACK) ** 2 + (1e-8 * diagonal.max()) ** 2
        bad = np.argwhere(rows**2 > limit)
    if len(bad):
        i, j = map(int, bad[0])
        raise IndefiniteKernelError(
            f"With kernel='precomputed' X must be positive semi-definite, so X[{start + i}, {j}]² must not exceed "
            f"X[{start + i}, {start + i}] X[{j}, {j}] = {mine[i]:g} · {diagonal[j]:g}. Got {rows[i, j]:g}² instead."
        )
