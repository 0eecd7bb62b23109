"""What goes through the steps of a pipeline: which kind of data each step takes, and what it gives to the next.

Steps from a file are sound one by one and may still not fit one another: words for a scaler, five features for a step
that takes six, a sparse matrix for one that takes none. Such a pipeline would fail at its first row, with an error that
names neither file nor step, so it is refused when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from votron.data._columns import _Chance, _Discrete, _Number, _Text, _Truth
from votron.errors import ModelFileError
from votron.kernels.registry import is_precomputed

__all__ = ["ANY_DATA", "Flow", "after", "check_fits"]

_WIDEST_DENSE = 1 << 22
"""Features that hashed words may have in a dense matrix: each row takes eight bytes for each."""


@dataclass(frozen=True)
class Flow:
    """What goes from one step to the next.

    Attributes
    ----------
    kind : {"data", "table", "texts", "numbers"}
        "data" is what users give to the first step: whatever it takes.
    width : int or None
        Number of columns or features, if it is known.
    sparse : bool or None
        Whether numbers come as a sparse matrix, if that is known.
    names : tuple of str, optional
        The columns of a table.

    Examples
    --------
    >>> print(Flow("numbers", 5, sparse=True))
    a sparse matrix of 5 columns
    """

    kind: str
    width: int | None = None
    sparse: bool | None = None
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        size = "" if self.width is None else f" of {self.width:,} columns"
        return {"numbers": f"a {'sparse ' if self.sparse else ''}matrix{size}", "table": f"a table{size}"}.get(
            self.kind, self.kind
        )


ANY_DATA = Flow("data")


def after(step: Any, before: Flow) -> Flow:
    """Return what a fitted step gives, where it gets this.

    Raises
    ------
    ModelFileError
        If it cannot take it.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> after(HashingVectorizer(n_features=64), ANY_DATA)
    Flow(kind='numbers', width=64, sparse=True, names=None)
    >>> after(HashingVectorizer(), Flow("numbers", 3))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The HashingVectorizer takes texts, and the step before it gives a matrix of 3 columns.
    """
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    return _RULES[type(step)](step, before)


def check_fits(model: Any, before: Flow) -> None:
    """Refuse a classifier that cannot take what the last step gives.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> model = AveragedPerceptronClassifier().fit([[0, 1], [1, 0]], [0, 1])
    >>> check_fits(model, Flow("numbers", 3))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The AveragedPerceptronClassifier takes 2 features, and the step before it gives a
    matrix of 3 columns.
    """
    sparse = bool(model.__sklearn_tags__().input_tags.sparse) and not is_precomputed(getattr(model, "kernel_", None))
    if before.kind != ANY_DATA.kind:
        _numbers(model, before, sparse=sparse)


# -- numbers ----------------------------------------------------------------------------------------------------------


def _refused(step: Any, takes: str, before: Flow) -> ModelFileError:
    return ModelFileError(f"The {type(step).__name__} takes {takes}, and the step before it gives {before}.")


def _numbers(step: Any, before: Flow, *, sparse: bool = True) -> Flow:
    """Return what a step gives that changes numbers and neither their places nor whether they are sparse."""
    width = getattr(step, "n_features_in_", None)
    if before.kind == "texts":
        raise _refused(step, "numbers", before)
    if None not in (width, before.width) and width != before.width:
        raise _refused(step, f"{width:,} features", before)
    if before.sparse and not sparse:
        raise _refused(step, "no sparse matrices", before)
    names = getattr(step, "feature_names_in_", None)
    if before.names is not None and names is not None and tuple(names) != before.names:
        raise ModelFileError(f"The {type(step).__name__} has other names of features than the table that it is given.")
    return Flow("numbers", before.width if width is None else width, before.sparse if sparse else False)


def _standard(step: Any, before: Flow) -> Flow:
    return _numbers(step, before, sparse=not step.with_mean)


def _dense(step: Any, before: Flow) -> Flow:
    return _numbers(step, before, sparse=False)


def _binary(step: Any, before: Flow) -> Flow:
    return _numbers(step, before, sparse=step.threshold >= 0)


# -- texts ------------------------------------------------------------------------------------------------------------


def _vectorizer(step: Any, before: Flow) -> Flow:
    if before.kind not in ("data", "texts"):
        raise _refused(step, "texts", before)
    width = step.n_features if isinstance(step, HashingVectorizer) else len(step.vocabulary_)
    return Flow("numbers", width, sparse=True)


# -- tables -----------------------------------------------------------------------------------------------------------


def _column(step: Any, before: Flow) -> Flow:
    if before.kind != "table":
        raise ModelFileError(
            f"The {type(step).__name__.strip('_')} takes columns of a ColumnTransformer, and gets {before}."
        )
    if before.width != step.n_features_in_:
        raise _refused(step, f"{step.n_features_in_:,} columns", before)
    return Flow("numbers", before.width, sparse=False)


def _discrete(step: Any, before: Flow) -> Flow:
    _column(step, before)
    return Flow("numbers", len(step.values), sparse=bool(step.sparse))


def _text(step: Any, before: Flow) -> Flow:
    _column(step, before)
    return Flow("texts")


def _columns(step: Any, before: Flow) -> Flow:
    wanted = set(step.feature_names_in_)
    if before.kind not in ("data", "table") or (before.names is not None and not wanted <= set(before.names)):
        raise _refused(step, "tables with its columns", before)
    parts = [part for _, part in flows_of_parts(step.transformers_)]
    _check_kinds(step.transformers_)
    width, sparse = sum(part.width or 0 for part in parts), bool(step.sparse_output_)
    if not sparse and width >= _WIDEST_DENSE and any(part.sparse for part in parts):
        raise ModelFileError(
            f"A ColumnTransformer in a file gives dense matrices of fewer than {_WIDEST_DENSE:,} features. "
            f"Got {width:,} instead."
        )
    return Flow("numbers", width, sparse)


def flows_of_parts(transformers: list[tuple[str, Any, Any]]) -> list[tuple[str, Flow]]:
    """Return what each part of a ColumnTransformer gives of its columns; what is dropped gives nothing."""
    found = []
    for name, part, columns in transformers:
        if part == "drop":
            continue
        names = tuple(columns)
        before = Flow("texts") if isinstance(columns, str) else Flow("table", len(names), sparse=False, names=names)
        flow = after(part, before)
        if flow.kind != "numbers":
            raise ModelFileError(f"The part {name!r} of a ColumnTransformer gives {flow}, and not numbers.")
        found.append((name, flow))
    return found


def _check_kinds(transformers: list[tuple[str, Any, Any]]) -> None:
    """Refuse columns that one part takes for texts and another for numbers: no table has such columns."""
    kinds: dict[str, bool] = {}
    for _, part, columns in transformers:
        if part != "drop":
            for name in [columns] if isinstance(columns, str) else columns:
                if kinds.setdefault(name, _takes_texts(part)) != _takes_texts(part):
                    raise ModelFileError(f"A ColumnTransformer takes the column {name!r} as texts and as numbers.")


def _takes_texts(part: Any) -> bool:
    while isinstance(part, FrozenEstimator | Pipeline):
        part = part.estimator if isinstance(part, FrozenEstimator) else part.steps[0][1]
    if isinstance(part, _Discrete):
        return all(isinstance(value, str) for value in part.values)
    return isinstance(part, _Text | CountVectorizer | HashingVectorizer)


def _pipeline(step: Any, before: Flow) -> Flow:
    for _, each in step.steps:
        before = after(each, before)
    return before


_RULES: dict[Any, Callable[[Any, Flow], Flow]] = {
    StandardScaler: _standard,
    MinMaxScaler: _dense,
    MaxAbsScaler: _numbers,
    Normalizer: _numbers,
    Binarizer: _binary,
    SimpleImputer: _numbers,
    CountVectorizer: _vectorizer,
    TfidfVectorizer: _vectorizer,
    HashingVectorizer: _vectorizer,
    _Number: _column,
    _Chance: _column,
    _Truth: _column,
    _Discrete: _discrete,
    _Text: _text,
    ColumnTransformer: _columns,
    Pipeline: _pipeline,
}
"""For each kind of step that can stand in a file, what it makes of what it gets."""
