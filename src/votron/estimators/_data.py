"""Validation of parameters, rows, labels and weights, and the training data that come of them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from votron._util.frames import columns_of_words, is_frame
from votron._util.registry import Registry
from votron._util.types import Array, Classes, Estimator, Floats, Index, Label, Labels, Rows, RowsLike
from votron.cluster.client import results_of
from votron.cluster.rows import SpreadRows
from votron.errors import DataError, NotAvailableError, VotronError
from votron.history import Fingerprint
from votron.kernels import KERNELS, Kernel
from votron.kernels.base import as_rows, is_precomputed
from votron.kernels.precomputed import check_gram
from votron.record import MistakeRecord

if TYPE_CHECKING:
    from votron.estimators.base import VotronClassifier

M = TypeVar("M", bound=Callable[..., Any])
_OF_ONE_RUN = ("cluster_account_", "validation_moments_", "validation_scores_")
"""Attributes that further training does not keep."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the first line outside the package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("votron."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# -- parameters -------------------------------------------------------------------------------------------------------


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


class _AvailableIf:
    """A method that an object has unless ``check`` raises; scikit-learn's ``available_if`` hides the reason."""

    def __init__(self, check: Callable[[Any], None], method: Callable[..., Any]) -> None:
        self.check, self.method, self.__doc__ = check, method, method.__doc__

    def __get__(self, model: object, owner: type | None = None) -> Callable[..., Any]:
        if model is None:
            return self.method
        self.check(model)
        return MethodType(self.method, model)


def available_unless(check: Callable[[Any], None]) -> Callable[[M], M]:
    """Return a decorator of methods that are there unless ``check`` raises a `NotAvailableError`."""

    def available(method: M) -> M:
        return cast(M, _AvailableIf(check, method))

    return available


def check_learns_in_batches(model: Estimator) -> None:
    if isinstance(model.class_weight, str) and model.class_weight == "balanced":
        raise NotAvailableError(
            f"The 'class_weight' parameter of {type(model).__name__} must be a dict or None for partial_fit, since "
            f"how many rows the classes have is not known yet. Got {model.class_weight!r} instead.",
            parameter="class_weight",
        )


# -- rows -------------------------------------------------------------------------------------------------------------


def is_collection(X: RowsLike) -> bool:
    return hasattr(X, "__dask_graph__")


def validated(
    estimator: BaseEstimator, X: RowsLike, y: Labels = "no_validation", *, kernel: object, reset: bool
) -> tuple[Rows, Labels]:
    """Return data, and labels if any, as the engine takes them, or refuse what is not for the kernel."""
    if is_collection(X):
        raise VotronError(
            f"{type(estimator).__name__} takes no Dask collections here: VotedPerceptronClassifier and "
            "AveragedPerceptronClassifier do, in fit, partial_fit and to predict. X.compute() brings the rows together."
        )
    if not isinstance(X, np.ndarray):
        _refuse_text(X, type(estimator).__name__)
    found = validate_data(estimator, X, y, accept_sparse=False if is_precomputed(kernel) else "csr", reset=reset)
    X, y = found if isinstance(found, tuple) else (found, None)
    X = _in_form(X)
    if isinstance(kernel, Kernel):
        kernel.check(X)
    return X, y


def _in_form(X: Rows) -> Rows:
    if X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8):
        X = X.astype(np.float32 if X.dtype.itemsize == 2 else np.float64)
    return as_rows(X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("=")))


def _refuse_text(X: RowsLike, owner: str) -> None:
    if is_frame(X):
        for name in columns_of_words(X):
            raise DataError(
                f"The X of {owner} must be numbers: votron.tabular_encoder turns a table with words into them. "
                f"Got words in column {name!r} instead."
            )


def examples_of(rows: Rows | SpreadRows) -> Rows:
    """Return rows by which a kernel can tell what suits all: all of them, or those that stand for them."""
    return rows.witnesses if isinstance(rows, SpreadRows) else rows


def _spread(estimator: BaseEstimator, X: RowsLike, y: Labels, kernel: object, reset: bool) -> tuple[SpreadRows, Labels]:
    """Return the rows of a Dask collection, which stay where they are, and the labels, which come here."""
    owner = type(estimator).__name__
    if is_precomputed(kernel):
        raise VotronError(
            f"{owner} takes no Dask collections with kernel='precomputed': give it the rows and a kernel."
        )
    example = getattr(X, "_meta_nonempty", np.empty((1, *X.shape[1:])))
    validate_data(estimator, example, reset=reset, skip_check_array=True)
    rows = SpreadRows(X, checked_chunk, owner)
    return rows, column_or_1d(_gathered(y, rows, "labels"), warn=True)


def checked_chunk(chunk: RowsLike, owner: str) -> Rows:
    """Return a chunk as the engine takes it, or refuse it; this runs on a worker."""
    if not isinstance(chunk, np.ndarray):
        _refuse_text(chunk, owner)
    return _in_form(check_array(chunk, accept_sparse="csr", ensure_min_samples=0, estimator=owner, input_name="X"))


def _gathered(values: Labels, rows: SpreadRows, what: str) -> Labels:
    """Return one value for each row, such as its label, here."""
    if is_collection(values):
        parts = results_of(rows.client, rows.client.compute(np.ravel(values.to_delayed()).tolist()))
        if [len(part) for part in parts] != rows.lengths:
            raise DataError(f"The {what} must have chunks as long as those of X, so that each goes with its row.")
        values = np.concatenate([np.asarray(part) for part in parts])
    values = np.asarray(values)
    if values.ndim and len(values) != rows.shape[0]:
        raise DataError(f"The {what} must be as many as the rows of X, {rows.shape[0]}. Got {len(values)} instead.")
    return values


# -- labels -----------------------------------------------------------------------------------------------------------


def encode_labels(y: Labels, classes: Labels = None) -> tuple[Array, Index]:
    """Return the classes, and for each label the number of the vector for which it is positive.

    Two classes have one vector, number 0, for the second of them: its labels are 0, those of the first class 1.
    """
    y = np.asarray(y)
    try:
        if classes is None or y.dtype.kind not in "iubUS":  # it warns of many classes, which a batch may have
            check_classification_targets(y)
        if classes is None:
            found, codes = np.unique(y, return_inverse=True)
        else:
            found = _read_classes(classes)
            unknown, codes = np.setdiff1d(y, found), np.asarray(np.searchsorted(found, y))
    except TypeError:  # they cannot be sorted
        raise VotronError("The labels must be all numbers or all text, and none may be missing.") from None
    if classes is not None and len(unknown):
        raise VotronError(
            f"The labels must be among the classes {_listed(found)} that this model knows (the first call of "
            f"partial_fit can name more with classes=[...]). Got {unknown.tolist()[0]!r} instead."
        )
    codes = codes.astype(np.int64).reshape(-1)
    return found, 1 - codes if len(found) == 2 else codes


def _read_classes(classes: Labels) -> Array:
    return np.unique(classes if hasattr(classes, "dtype") else list(classes))


def check_two_classes(classes: Array, shape: tuple[int, int]) -> None:
    if len(classes) < 2:
        raise VotronError(
            "The labels must have at least 2 classes to tell apart (in partial_fit name them with classes=[...]). "
            f"Got 1 class instead, {_listed(classes)[1:-1]}, for data of n_samples={shape[0]}, n_features={shape[1]}."
        )


def _listed(values: Array) -> str:
    shown = ", ".join(repr(v) for v in values[:5].tolist())
    return f"[{shown}, ...]" if len(values) > 5 else f"[{shown}]"


# -- weights ----------------------------------------------------------------------------------------------------------


def weighed(
    model: Estimator,
    y: Array,
    sample_weight: ArrayLike | None,
    *,
    scaled: bool,
    classes: Classes | None = None,
    least: int = 1,
) -> tuple[Index | None, Floats | None]:
    """Return the numbers of the rows with a weight above 0 (None: all), and their weights (None: all the same).

    ``scaled`` divides weights by their mean; ``least`` rows must be left; labels may lack some of the ``classes``.
    """
    owner, class_weight = type(model).__name__, getattr(model, "class_weight", None)
    weights = np.ones(len(y)) if sample_weight is None else _given(sample_weight, len(y), owner)
    some = np.flatnonzero(weights)
    if class_weight is not None and len(some):
        found, codes = encode_labels(y[some], classes)
        weights[some] *= _of_classes(model, found, 1 - codes if len(found) == 2 else codes)[codes]
    kept = np.flatnonzero(weights)
    if len(kept) < least:
        raise VotronError(f"The weights of {owner} must not all be zero, since no row is left to train on.")
    weights = weights[kept]
    alike = (weights == (weights[0] if scaled else 1.0)).all()
    if scaled and not alike:
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact: weights of mean 1 stay as they are
        weights /= weights.mean()
    return kept if len(kept) < len(y) else None, None if alike else weights


def _given(sample_weight: ArrayLike, n: int, owner: str) -> Floats:
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise _refusal("sample_weight", owner, f"have one number for each of {n} rows. Got shape {weights.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        got = f"Got {weights[wrong[0]]:g} for row {wrong[0]}."
        raise _refusal("sample_weight", owner, f"be finite and not negative. {got}")
    return weights


def _of_classes(model: Estimator, classes: Classes, places: Index) -> Floats:
    """Return the weight of each class, by its code; those that a dict does not name have 1."""
    class_weight, labels = model.class_weight, classes.tolist()
    if isinstance(class_weight, str):
        counts = np.maximum(1, np.bincount(places, minlength=len(labels)))
        weights = len(places) / (len(labels) * counts)
    else:
        weights = _by_class(model, "class_weight", labels, missing=1.0)
    return weights[::-1] if len(labels) == 2 else weights


def margins_of(model: Estimator) -> float | Floats:
    """Return τ, or where it differs by class, that of the rows of each code."""
    if not isinstance(model.margin, dict):
        return float(model.margin)
    found = _by_class(model, "margin", model.classes_.tolist(), missing=0.0)
    if (found == found[0]).all():
        return float(found[0])
    return found[::-1].copy() if len(found) == 2 else found


def _by_class(model: Estimator, name: str, labels: list[Label], *, missing: float) -> Floats:
    """Return for each class the number that a dict has for it, or ``missing``."""
    values: Mapping[Label, Any] = getattr(model, name)
    owner = type(model).__name__
    for label, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise _refusal(name, owner, f"have finite numbers of 0 or more. Got {value!r} for {label!r}.")
    strange = [label for label in values if label not in labels]  # of a fold, some may be missing
    if strange and not all(label in values for label in labels):
        raise _refusal(name, owner, f"name classes of the labels. Got {strange[0]!r}, which is none, instead.")
    return np.array([float(values.get(label, missing)) for label in labels])


def _refusal(name: str, owner: str, rule: str) -> VotronError:
    return VotronError(f"The {name!r} parameter of {owner} must {rule}", parameter=name)


# -- training data ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows to train on, and the code of each: the number of the vector that it is positive for."""

    rows: Rows | SpreadRows
    codes: Index
    n_given: int
    kept: Index | None
    """The numbers of the rows with a weight above 0; None: all."""
    weights: Floats | None
    """None: all the same."""
    fingerprint: Fingerprint | None

    def held_out(self, some: Index, kernel: Kernel) -> tuple[Rows, Index, Floats | None]:
        """Return some rows as a fitted model takes them, with their codes and weights."""
        rows = self.with_all_columns(self.rows[some], kernel)
        return rows, self.codes[some], None if self.weights is None else self.weights[some]

    def with_all_columns(self, rows: Rows, kernel: Kernel) -> Rows:
        """Return rows with a column for every row that was given, where columns are kernel values with rows."""
        if self.kept is None or not is_precomputed(kernel):
            return rows
        wide = np.zeros((rows.shape[0], self.n_given), dtype=rows.dtype)
        wide[:, self.kept] = rows
        return wide

    def as_given(self, record: MistakeRecord) -> MistakeRecord:
        """Return a record of these rows with the numbers that they had among those given."""
        return record if self.kept is None else replace(record, example=self.kept[record.example])


def training_data(
    model: VotronClassifier,
    X: RowsLike,
    y: Labels,
    sample_weight: ArrayLike | None = None,
    *,
    scaled: bool = True,
    batch: bool = False,
    classes: Labels = None,
) -> TrainingData:
    """Validate what `fit` or, with ``batch``, ``partial_fit`` was given, and set ``classes_``.

    Weights are ``scaled`` to a mean of 1, but not those of a batch.
    """
    first, kernel = not (batch and hasattr(model, "history_")), getattr(model, "kernel", None)
    rows: Rows
    for name in _OF_ONE_RUN:
        model.__dict__.pop(name, None)
    if model._takes_collections and is_collection(X):
        rows, labels = _spread(model, X, y, kernel, first)
        sample_weight = None if sample_weight is None else _gathered(sample_weight, rows, "sample_weight")
    else:
        rows, labels = validated(model, X, y, kernel=kernel, reset=first)
    if not first:
        _check_same(model, classes)
        classes = model.classes_
    model._fixed = {name: getattr(model, name) for name in model._FIXED_IN_BATCHES}
    n, some, kept, weights = len(labels), rows, None, None
    if sample_weight is not None or getattr(model, "class_weight", None) is not None:
        scaled = scaled and not batch
        kept, weights = weighed(model, labels, sample_weight, scaled=scaled, classes=classes, least=int(not batch))
    model.classes_, codes = encode_labels(labels if kept is None else labels[kept], classes)
    check_two_classes(model.classes_, (len(codes), rows.shape[1]))
    if kept is not None:
        if is_precomputed(kernel):
            check_gram(rows)
        some = rows[np.ix_(kept, kept)] if is_precomputed(kernel) else rows[kept]
    fingerprint = None
    if not isinstance(rows, SpreadRows):
        given = codes
        if kept is not None:  # the classes of rows of weight 0 do not count
            given = np.full(n, -1)
            given[kept] = codes
        fingerprint = Fingerprint.of(rows, given, first=0 if first else model.history_.n_rows)
    return TrainingData(some, codes, n, kept, weights, fingerprint)


def _check_same(model: VotronClassifier, classes: Labels) -> None:
    """Refuse other classes, or other values of fixed parameters, than at earlier calls of ``partial_fit``."""
    values = {name: (value, getattr(model, name)) for name, value in model._fixed.items()}
    if classes is not None:
        values["classes"] = model.classes_.tolist(), _read_classes(classes).tolist()
    for name, (before, now) in values.items():
        if now != before:
            rule = f"be the same at every call of partial_fit: {before!r}. Got {now!r} instead."
            raise _refusal(name, type(model).__name__, rule)
