"""Validation of data, labels and parameters, before the engine has them; the rows to hold out; the kernel meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, update_wrapper
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import binarize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from votron._util.arrays import chunks, rows_in_bytes
from votron._util.frames import columns_of_words, is_frame, is_missing
from votron._util.registry import Registry
from votron._util.text import counted
from votron._util.types import Index, Rows
from votron.cluster.client import is_collection, results_of
from votron.cluster.rows import SpreadRows
from votron.errors import DataError, NotRepresentableError, Parameter, Phrase, VotronError
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import as_rows, is_precomputed, kernel_class, negative_diagonal
from votron.kernels.precomputed import check_gram
from votron.products import describe


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
    if is_collection(X):
        return spread(estimator, X, y, kernel=kernel, reset=reset)
    if not isinstance(X, np.ndarray):
        _refuse_text(X, type(estimator).__name__)
    if not isinstance(y, str):
        _check_none_missing(np.asarray(y))
    found = validate_data(estimator, X, y, accept_sparse=False if is_precomputed(kernel) else "csr", reset=reset)
    X, y = found if isinstance(found, tuple) else (found, None)
    X = _in_form(X)
    if isinstance(kernel, Kernel):
        kernel.check(X)
    return X, y


def _in_form(X: Rows) -> Rows:
    """Return a matrix as the engine takes it."""
    if X.dtype == np.float16 or (X.dtype.kind == "f" and X.dtype.itemsize > 8):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    return as_rows(X)


# -- rows on a cluster -------------------------------------------------------------------------------------------------


def spread(estimator: BaseEstimator, X: Any, y: Any, *, kernel: Any, reset: bool) -> tuple[SpreadRows, Any]:
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


def checked_chunk(chunk: Any, owner: str) -> Rows:
    """Return a chunk as the engine takes it, or refuse it; this runs on a worker."""
    if not isinstance(chunk, np.ndarray):
        _refuse_text(chunk, owner)
    return _in_form(check_array(chunk, accept_sparse="csr", ensure_min_samples=0, estimator=owner, input_name="X"))


def gathered(values: Any, rows: SpreadRows, what: str) -> Any:
    """Return one number or word for each row, such as its label, here; refuse those that do not go with the rows."""
    if is_collection(values):
        parts = results_of(rows.client, rows.client.compute(np.ravel(values.to_delayed()).tolist()))
        lengths = [len(part) for part in parts]
        if sum(lengths) == rows.shape[0] and lengths != rows.lengths:
            raise DataError(
                f"The {what} must have chunks as long as those of X, so that each goes with its row: "
                f"{_listed(np.array(rows.lengths))}. Got {_listed(np.array(lengths))} instead."
            )
        values = np.concatenate([np.asarray(part) for part in parts])
    values = np.asarray(values)
    if values.ndim and len(values) != rows.shape[0]:
        raise DataError(f"The {what} must be as many as the rows of X, {rows.shape[0]}. Got {len(values)} instead.")
    return values


def examples_of(rows: Rows | SpreadRows) -> Rows:
    """Return rows by which a kernel can tell what suits all: all of them, or those that stand for them."""
    return rows.witnesses if isinstance(rows, SpreadRows) else rows


def rows_at(rows: Rows | SpreadRows, some: Index) -> Rows:
    """Return a few rows, here."""
    return rows.brought(some) if isinstance(rows, SpreadRows) else rows[some]


def refuse_spread(rows: Rows | SpreadRows, what: str) -> None:
    """Refuse to hold rows out that are not here."""
    if isinstance(rows, SpreadRows):
        raise VotronError(f"{what} would bring held-out rows together here: on Dask collections, train without.")


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


def binarized(rows: Any, threshold: float | None) -> Any:
    """Return 1 where values are above the threshold, else 0; None: they are 0 and 1 already, and others are refused."""
    if threshold is not None:
        return binarize(rows, threshold=threshold)
    values = rows.data if sp.issparse(rows) else rows
    strange = values[(values != 0) & (values != 1)]
    if len(strange):
        raise VotronError(f"With binarize=None X must have no values but 0 and 1. Got {strange[0]:g} instead.")
    return rows


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


def _check_none_missing(y: NDArray[Any]) -> None:
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
            f". Got 1 class instead, {_listed(classes)[1:-1]}, ",
            Phrase("rows", f"for data of n_samples={shape[0]}, n_features={shape[1]}", rows=counted(shape[0], "row")),
            ".",
        )


def _listed(values: NDArray[Any]) -> str:
    shown = ", ".join(repr(v) for v in values[:5].tolist())
    return f"[{shown}, ...]" if len(values) > 5 else f"[{shown}]"


# -- held-out rows ----------------------------------------------------------------------------------------------------


def held_out_split(
    labels: NDArray[Any], n_held: int, rng: Any, *, every_class_trained: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the rows to train on and of those set aside: a share of every class, if all have enough.

    Otherwise, with ``every_class_trained``, one row of every class stays, whatever the shares: a class that is not
    trained would never be predicted. Without it rows are drawn whatever their class, as ``votron train --test`` has
    always done: what the seed in a model file held out must be found again.

    Examples
    --------
    >>> from votron.estimators import held_out_split
    >>> kept, held = held_out_split(np.array(list("aaaabbbb")), 2, np.random.RandomState(0), every_class_trained=True)
    >>> len(kept), len(held)
    (6, 2)
    """
    rows = np.arange(len(labels))
    counts = np.unique(labels, return_counts=True)[1]
    enough = counts.min() >= 2 and min(n_held, len(rows) - n_held) >= len(counts)
    kept = held = rows[:0]
    if enough or not every_class_trained:
        kept, held = train_test_split(rows, test_size=n_held, stratify=labels if enough else None, random_state=rng)
    if every_class_trained and len(np.unique(labels[kept])) < len(counts):
        shuffled = rng.permutation(rows)
        stays = np.unique(labels[shuffled], return_index=True)[1]
        others = np.delete(shuffled, stays)
        kept, held = np.append(shuffled[stays], others[n_held:]), others[:n_held]
    return np.sort(kept), np.sort(held)


def validation_split(
    order: Index,
    codes: NDArray[np.int64],
    fraction: float,
    owner: str,
    rng: Any,
) -> tuple[Index, Index]:
    """Return the rows to train on, some of every class, and those set aside, a share of every class that has enough."""
    n_held = int(np.ceil(fraction * len(order)))
    if n_held >= len(order):
        raise VotronError(
            Parameter("validation_fraction", of=owner),
            f" must leave an example to train on, of {len(order)} that can be learnt. Got {fraction!r} instead.",
        )
    kept, held = held_out_split(codes[order], n_held, rng, every_class_trained=True)
    if not len(held):
        raise VotronError(
            f"Too few examples for {owner} to hold some out, since every class keeps one to train on. "
            f"Got {len(order)} example(s) of {len(np.unique(codes[order]))} class(es)."
        )
    return order[kept], order[held]


# -- parameters --------------------------------------------------------------------------------------------------------


class NameIn(StrOptions):
    """The constraint that a text be a name in a registry, or of something that another package brings to it.

    Parameters
    ----------
    registry : Registry
        The registry; what is registered later counts as well.
    for_rows : callable, optional
        Tells of a thing whether it can predict rows to come.
    also : tuple of str, optional
        Words that name no single thing, but leave the choice to the model.
    """

    def __init__(
        self,
        registry: Registry[Any],
        for_rows: Callable[[Any], bool] = lambda thing: True,
        also: tuple[str, ...] = (),
    ) -> None:
        self.registry, self._for_rows, self.also = registry, for_rows, also
        super().__init__(set())

    @property
    def options(self) -> set[str]:
        """The names that are known now."""
        return {*self.registry, *self.also}

    @options.setter
    def options(self, names: set[str]) -> None:
        """Names are registered elsewhere."""

    @property
    def options_for_rows(self) -> set[str]:
        """Those of things that can predict rows to come."""
        return {name for name, thing in self.registry.items() if self._for_rows(thing)} | set(self.also)

    def is_satisfied_by(self, val: Any) -> bool:
        """Tell whether it is such a name."""
        return isinstance(val, str) and (val in self.also or self.registry.find(val) is not None)

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, [*self.registry, *self.also]))}}}"


class AvailableWhere:
    """A method that an object has only where ``why_not`` finds no reason against it; asking elsewhere tells the reason.

    scikit-learn's ``available_if`` does the same, but says only that there is no such attribute. The `AttributeError`
    has the reason, an error that carries its parameter, as its cause.

    Examples
    --------
    >>> class Bird:
    ...     wings = 0
    ...     def _why_not(self):
    ...         return None if self.wings else VotronError("It takes wings to fly.")
    ...     fly = AvailableWhere(_why_not, lambda bird: "up")
    >>> hasattr(Bird(), "fly")
    False
    >>> Bird().fly
    Traceback (most recent call last):
        ...
    AttributeError: It takes wings to fly.
    """

    def __init__(self, why_not: Callable[[Any], VotronError | None], method: Callable[..., Any]) -> None:
        self._why_not, self._method = why_not, method
        update_wrapper(self, method)  # type: ignore[arg-type]  # it is no callable: that is the point

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self._method
        reason = self._why_not(obj)
        if reason is not None:
            raise AttributeError(str(reason)) from reason
        return self._method.__get__(obj, owner)


def check_unchanged(estimator: BaseEstimator, fixed: Mapping[str, Any]) -> None:
    """Refuse to go on from what was learnt with other values of these parameters."""
    for name, value in fixed.items():
        if getattr(estimator, name) != value:
            raise VotronError(
                Parameter(name, of=type(estimator).__name__),
                f" must be the same at every call of partial_fit: {value!r}. Got {getattr(estimator, name)!r} instead.",
            )


def typed_as(kept: Rows, rows: Rows) -> Rows:
    """Return rows of the type of those that a model kept, if they are the same numbers: arithmetic goes by the type."""
    if kept.dtype == rows.dtype or kept.dtype.kind != "f" or rows.dtype.kind != "f":
        return rows
    with np.errstate(over="ignore"):
        same = rows.astype(kept.dtype)
    return same if not (same != rows).sum() else rows


# -- kernels -----------------------------------------------------------------------------------------------------------

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [NameIn(KERNELS, for_rows=lambda cls: not cls.pairwise), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
"""Values that the parameters ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``normalize_kernel`` may have."""


def reads_gamma(kernel: Any) -> bool:
    """Tell whether a model's ``gamma`` matters to what its parameter ``kernel`` stands for."""
    cls = kernel_class(kernel)
    return cls is not None and "gamma" in cls.parameters()


def gamma_from(model: Any) -> str | None:
    """Return the rule by which a model computed gamma from the data, if it did."""
    return model.gamma if reads_gamma(getattr(model, "kernel", None)) and isinstance(model.gamma, str) else None


def kernel_on(model: BaseEstimator, X: Rows | SpreadRows) -> Kernel:
    """Return the kernel that the model's parameters stand for on these data."""
    if is_precomputed(model.kernel):
        check_gram(examples_of(X))
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = resolved_gamma(gamma, X) if reads_gamma(model.kernel) else 1.0
    kernel = make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )
    kernel.check(examples_of(X))
    return kernel


def resolved_gamma(gamma: str, rows: Rows | SpreadRows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    n, integer = rows.shape[0] * n_features, describe(examples_of(rows)).integer
    if isinstance(rows, SpreadRows):
        n_stored, sums = rows.n_stored, rows.sums
    else:
        values = rows.data if sp.issparse(rows) else rows
        n_stored, sums = values.size, partial(_sums, values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(sums(None)) / n
        centre = np.rint(mean) if integer else mean  # sums of integers are exact, dense or sparse
        variance = (np.sum(sums(centre)) + (n - n_stored) * centre**2) / n - (mean - centre) ** 2
    if not np.isfinite(variance):
        raise NotRepresentableError(
            "The variance of X, which gamma='scale' divides by, exceeds the largest float64: scale the data down."
        )
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0


def _sums(values: Any, centre: float | None) -> list[Any]:
    """Return the sums of parts of the values, or of their squared distances from a centre."""
    parts = chunks(len(values), rows_in_bytes(values))
    if centre is None:
        return [values[part].sum(dtype=np.float64) for part in parts]
    return [np.square(values[part].astype(np.float64) - centre).sum() for part in parts]


def learnable_rows(rows: Rows | SpreadRows, kernel: Kernel) -> Index:
    """Return the numbers of the rows with K(x, x) > 0."""
    diagonal = (
        kernel.finite(kernel.diagonal(rows.squares(kernel))) if isinstance(rows, SpreadRows) else kernel.diag(rows)
    )
    if (diagonal < 0).any():
        raise negative_diagonal(kernel, diagonal)
    return np.flatnonzero(diagonal != 0)


def set_tags(tags: Any, kernel: Any, *, poor_if_linear: bool) -> None:
    """Tell scikit-learn which data the kernel takes, and where its checks must not measure accuracy."""
    precomputed = is_precomputed(kernel)
    tags.input_tags.sparse = not precomputed
    tags.input_tags.pairwise = precomputed
    # A precomputed matrix may have negative values, but not on its diagonal. Without this tag an estimator has to
    # accept any; scikit-learn's nearest neighbours set it in the same way.
    tags.input_tags.positive_only = precomputed
    # Planes through the origin do not separate the blobs on which scikit-learn measures accuracy, and the kernel that
    # the checks precompute is linear as well.
    cls = kernel_class(kernel)
    linear = cls is not None and not precomputed and cls().affine() == (1.0, 0.0)
    tags.classifier_tags.poor_score = precomputed or (linear and poor_if_linear)
