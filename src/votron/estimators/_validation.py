"""Validation of parameters, data and labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from votron._util.frames import columns_of_words, is_frame, is_missing
from votron._util.registry import Registry
from votron._util.types import Array, Index, Labels, Rows, RowsLike
from votron.cluster.rows import SpreadRows
from votron.errors import DataError, VotronError
from votron.kernels import KERNELS, Kernel
from votron.kernels.base import as_rows, is_precomputed


class NameIn(StrOptions):
    """The constraint that a text be a name in a registry, or of what another package brings to it, or in ``also``."""

    hidden, deprecated = False, frozenset[str]()

    def __init__(self, registry: Registry[Any], *also: str) -> None:
        self.registry, self.also, self.type = registry, also, str

    @property
    def options(self) -> list[str]:
        return [*self.registry, *self.also]

    def is_satisfied_by(self, val: object) -> bool:
        return isinstance(val, str) and (val in self.also or val in self.registry or self.registry.load(val))

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, self.options))}}}"


KERNEL_CONSTRAINTS: dict[str, list[object]] = {
    "kernel": [NameIn(KERNELS), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
CLASS_WEIGHT_CONSTRAINTS: list[object] = [StrOptions({"balanced"}), dict, None]
MARGIN_CONSTRAINTS: list[object] = [Interval(Real, 0, None, closed="left"), dict]


def is_collection(X: RowsLike) -> bool:
    return hasattr(X, "__dask_graph__")


def validated(
    estimator: BaseEstimator,
    X: RowsLike,
    y: Labels = "no_validation",
    *,
    kernel: object,
    reset: bool,
) -> tuple[Rows, Labels]:
    """Return data, and labels if any, as the engine takes them: no half floats, CSR in canonical form.

    What the user gave is not written to. A kernel that is made already also says whether the data are for it.
    """
    if is_collection(X):
        raise VotronError(
            f"{type(estimator).__name__} takes no Dask collections here: VotedPerceptronClassifier and "
            "AveragedPerceptronClassifier do, in fit, partial_fit and to predict. X.compute() brings the rows together."
        )
    if not isinstance(X, np.ndarray):
        refuse_text(X, type(estimator).__name__)
    if not isinstance(y, str):
        _check_none_missing(np.asarray(y))
    found = validate_data(estimator, X, y, accept_sparse=False if is_precomputed(kernel) else "csr", reset=reset)
    X, y = found if isinstance(found, tuple) else (found, None)
    X = in_form(X)
    if isinstance(kernel, Kernel):
        kernel.check(X)
    return X, y


def in_form(X: Rows) -> Rows:
    if X.dtype == np.float16 or (X.dtype.kind == "f" and X.dtype.itemsize > 8):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    return as_rows(X)


def examples_of(rows: Rows | SpreadRows) -> Rows:
    """Return rows by which a kernel can tell what suits all: all of them, or those that stand for them."""
    return rows.witnesses if isinstance(rows, SpreadRows) else rows


def rows_at(rows: Rows | SpreadRows, some: Index) -> Rows:
    return rows.brought(some) if isinstance(rows, SpreadRows) else rows[some]


def refuse_text(X: RowsLike, owner: str) -> None:
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


# -- labels -----------------------------------------------------------------------------------------------------------


def read_classes(classes: Labels) -> Array:
    """Return the classes that a user names, sorted, each once."""
    given = classes if hasattr(classes, "dtype") else list(classes)
    return _sorted("'classes' of partial_fit", np.asarray(given).reshape(-1))[0]


def encode_labels(y: Labels, classes: Labels = None) -> tuple[Array, Index]:
    """Return the classes, and for each label the number of the vector for which it is positive.

    Two classes have one vector, number 0, for the second of them: its labels are 0, those of the first class 1.
    """
    y = np.asarray(y)
    if classes is None or y.dtype.kind not in "iubUS":  # it warns of many classes, which a batch may have
        check_classification_targets(y)
    found, codes = _sorted("labels", y) if classes is None else _among(y, read_classes(classes))
    codes = codes.astype(np.int64).reshape(-1)
    return found, 1 - codes if len(found) == 2 else codes


def _check_none_missing(y: Array) -> None:
    """Refuse labels that are missing, by the row of the first."""
    if y.dtype.kind not in "fO" or y.ndim != 1:
        return
    missing = np.isnan(y) if y.dtype.kind == "f" else np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    if missing.any():
        row, n = int(np.argmax(missing)), int(missing.sum())
        raise VotronError(
            f"The labels must not be missing. Got none for {n:,} of {len(y):,} rows, the first of them row {row}, "
            "counted from 0, instead: leave such rows out."
        )


def _sorted(what: str, values: Array) -> tuple[Array, Array]:
    """Return the distinct values in order, and which of them each value is."""
    try:
        return np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise VotronError(
            f"The {what} must be of one type, so that they can be sorted: all numbers, or all text. "
            f"Got {' and '.join(kinds)} instead."
        ) from None


def _among(y: Array, found: Array) -> tuple[Array, Index]:
    unknown = np.setdiff1d(_sorted("labels", y)[0], found)
    if len(unknown):
        raise VotronError(
            f"The labels must be among the classes {listed(found)} that this model knows (the first call of "
            f"partial_fit can name more with classes=[...]). Got {unknown.tolist()[0]!r} instead."
        )
    return found, np.searchsorted(found, y)


def check_two_classes(classes: Array, shape: tuple[int, int]) -> None:
    if len(classes) < 2:
        raise VotronError(
            "The labels must have at least 2 classes to tell apart (in partial_fit name them with classes=[...]). "
            f"Got 1 class instead, {listed(classes)[1:-1]}, for data of n_samples={shape[0]}, "
            f"n_features={shape[1]}."
        )


def listed(values: Array) -> str:
    """Return the first values of an array as text."""
    shown = ", ".join(repr(v) for v in values[:5].tolist())
    return f"[{shown}, ...]" if len(values) > 5 else f"[{shown}]"


def typed_as(kept: Rows, rows: Rows) -> Rows:
    """Return rows of the type of those that a model kept, if they are the same numbers: arithmetic goes by the type."""
    if kept.dtype == rows.dtype or kept.dtype.kind != "f" or rows.dtype.kind != "f":
        return rows
    with np.errstate(over="ignore"):
        same = rows.astype(kept.dtype)
    return same if not (same != rows).sum() else rows
