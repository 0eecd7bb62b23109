"""Steps before a classifier in model files: encoders of tables, scalers, imputers and vectorizers of text.

A transformer is rebuilt by its constructor and given its fitted attributes; nothing is fitted on the content of a file.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron._util.types import Estimator
from votron.errors import ModelFileError
from votron.saving.container import WIDEST, Scalar, Tensors, objects, plain
from votron.saving.parts import Params, State, is_a, params_from, params_state, refused
from votron.tables import Column, TableEncoder
from votron.tables.encoder import KINDS

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**48)]
_A_WORD = 120  # bytes of a vocabulary's entry, besides the word
_SAFE = {
    "input": ("content",),
    "encoding": ("utf-8",),
    "decode_error": ("strict",),
    "token_pattern": (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b"),
}
"""Parameters with which vectorizers open no files and evaluate no pattern from elsewhere, which may take forever."""


def put_names(made: Estimator, tensors: Tensors) -> None:
    if hasattr(made, "feature_names_in_"):
        tensors.put_list("feature_names", [str(name) for name in made.feature_names_in_])


def set_names(made: Estimator, n_features: int | None, tensors: Tensors) -> None:
    if n_features is not None:
        made.n_features_in_ = n_features
    if "feature_names" in tensors:
        made.feature_names_in_ = objects(tensors.listed("feature_names", n=n_features))


_LEARNT: dict[type, dict[str, str]] = {
    StandardScaler: {"mean_": "with_mean", "var_": "with_std", "scale_": "with_std"},
    MinMaxScaler: dict.fromkeys(("data_min_", "data_max_", "data_range_", "scale_", "min_"), ""),
    MaxAbsScaler: dict.fromkeys(("scale_", "max_abs_"), ""),
    RobustScaler: {"center_": "with_centering", "scale_": "with_scaling"},
    Normalizer: {},
    TfidfTransformer: {"idf_": "use_idf"},
}
"""Fitted attributes of each class: always there, or if a parameter is set."""


def _put_scaler(step: Estimator, tensors: Tensors) -> None:
    for name in (*_LEARNT[type(step)], "n_samples_seen_"):
        if getattr(step, name, None) is not None:
            tensors.put(name, np.atleast_1d(getattr(step, name)))


def _set_scaler(made: Estimator, tensors: Tensors) -> None:
    for name, asked in _LEARNT[type(made)].items():
        if name in tensors or not asked or getattr(made, asked):
            setattr(made, name, tensors.take(name, "f4 f8", (getattr(made, "n_features_in_", None),)))
        elif name != "idf_":
            setattr(made, name, None)
    if "n_samples_seen_" in tensors:
        seen = tensors.take("n_samples_seen_", "i4 i8 f8", (None,), least=0)
        made.n_samples_seen_ = seen[0] if len(seen) == 1 else seen  # one for each feature, if numbers were missing


def _put_imputer(step: SimpleImputer, tensors: Tensors) -> None:
    missing, kind = step.missing_values, np.dtype(step._fit_dtype).kind
    if step.add_indicator or kind != "f" or not (isinstance(missing, float) and np.isnan(missing)):
        raise refused("A SimpleImputer of other values than NaN, or with add_indicator=True,")
    tensors.put("statistics", np.asarray(step.statistics_, dtype=step._fit_dtype))


def _set_imputer(made: SimpleImputer, tensors: Tensors) -> None:
    statistics = tensors.take("statistics", "f4 f8", (getattr(made, "n_features_in_", None),), finite=False)
    names = vars(made).get("feature_names_in_")
    made.fit(np.zeros((1, len(statistics)), dtype=statistics.dtype))  # sets its other attributes
    made.statistics_ = statistics.astype(made.statistics_.dtype)
    if names is not None:
        made.feature_names_in_ = names


def _check_texts(step: Estimator, tensors: Tensors | None = None) -> None:
    """Refuse parameters with which a vectorizer would open files or could take forever."""
    shortest, longest = step.ngram_range if len(step.ngram_range) == 2 else (0, 0)
    words = step.stop_words if isinstance(step.stop_words, list) else []
    odd = [name for name, safe in _SAFE.items() if getattr(step, name) not in safe]
    odd += ["dtype"] * (step.dtype is not type(step)().dtype)
    odd += ["stop_words"] * (not all(isinstance(word, str) for word in words))
    if not (type(shortest) is type(longest) is int and 1 <= shortest <= longest <= 20):
        odd.append("ngram_range")
    if isinstance(step, HashingVectorizer) and step.n_features >= WIDEST:
        odd.append("n_features")
    if odd:
        raise refused(f"A {type(step).__name__} with {odd[0]}={str(getattr(step, odd[0]))[:60]!r}")


def _put_words(step: Estimator, tensors: Tensors) -> None:
    _check_texts(step)
    tensors.put_list("words", sorted(step.vocabulary_, key=step.vocabulary_.__getitem__))
    if getattr(step, "use_idf", False):
        tensors.put("idf", step.idf_)


def _set_words(made: Estimator, tensors: Tensors) -> None:
    _check_texts(made)
    words = tensors.listed("words")
    tensors.spend(_A_WORD * len(words))
    made.vocabulary_, made.fixed_vocabulary_ = {word: i for i, word in enumerate(words)}, False
    if not len(words) == len(made.vocabulary_) > 0:
        raise tensors.wrong("words", "one or more words, each once")
    if isinstance(made, TfidfVectorizer):
        made._tfidf = TfidfTransformer(
            norm=made.norm, use_idf=made.use_idf, smooth_idf=made.smooth_idf, sublinear_tf=made.sublinear_tf
        )
        made._tfidf.n_features_in_ = len(words)
        if made.use_idf:
            made._tfidf.idf_ = tensors.take("idf", "f8", (len(words),))


_Hook = Callable[[Estimator, Tensors], None]
_HOOKS: dict[type, tuple[_Hook, _Hook]] = {
    **dict.fromkeys(_LEARNT, (_put_scaler, _set_scaler)),
    SimpleImputer: (_put_imputer, _set_imputer),
    **dict.fromkeys((CountVectorizer, TfidfVectorizer), (_put_words, _set_words)),
    HashingVectorizer: (_check_texts, _check_texts),
}
"""Functions that write and set the fitted attributes of each class."""
_CLASSES = {cls.__name__: cls for cls in _HOOKS}
_COLUMNS = {cls.__name__: cls for cls in KINDS}
_LEFT_OUT = ("dtype", "vocabulary", "missing_values")  # parameters that are not stored


class Transformer(State, tag_field="kind"):
    name: Literal[tuple(_CLASSES)]  # type: ignore[valid-type]
    params: Params
    n_features: Positive | None

    def build(self, tensors: Tensors) -> Estimator:
        cls = _CLASSES[self.name]
        made = params_from(cls, self.params, tensors)
        set_names(made, self.n_features, tensors)
        _HOOKS[cls][1](made, tensors)
        return made


class Named(State):
    name: str
    step: Step


class ColumnState(State):
    """A column of a table: its class and its scalar fields; None is NaN."""

    name: Literal[tuple(_COLUMNS)]  # type: ignore[valid-type]
    fields: dict[str, Scalar]


class Table(State, tag_field="kind"):
    params: Params
    columns: list[ColumnState]

    def build(self, tensors: Tensors) -> TableEncoder:
        made: TableEncoder = params_from(TableEncoder, self.params, tensors)
        made.columns_ = [_column_from(each, tensors.at(str(i))) for i, each in enumerate(self.columns)]
        names = [column.name for column in made.columns_]
        if not names or len(set(names)) < len(names):
            raise ModelFileError("the columns of its encoder must have different names.")
        return made


Step = Transformer | Table


def step_state(step: Estimator, tensors: Tensors) -> Step:
    if type(step) is TableEncoder:
        columns = [_column_state(column, tensors.at(str(i))) for i, column in enumerate(step.columns_)]
        return Table(params=params_state(step, tensors), columns=columns)
    if type(step) not in _HOOKS:
        raise refused(f"A step of type {type(step).__name__}")
    _HOOKS[type(step)][0](step, tensors)
    put_names(step, tensors)
    return Transformer(
        name=type(step).__name__,
        params=params_state(step, tensors, leave_out=_LEFT_OUT),
        n_features=getattr(step, "n_features_in_", None),
    )


def _column_state(column: Column, tensors: Tensors) -> ColumnState:
    fields: dict[str, Scalar] = {}
    for each in dataclasses.fields(column):
        value = getattr(column, each.name)
        if isinstance(value, tuple):
            tensors.put_values(each.name, objects(value))
        elif isinstance(value, np.ndarray):
            tensors.put(each.name, value)
        elif value != each.default:
            fields[each.name] = None if value != value else plain(value)  # NaN
    return ColumnState(name=type(column).__name__, fields=fields)


def _column_from(state: ColumnState, tensors: Tensors) -> Column:
    """Return a column whose fields have the types that its class declares."""
    cls = _COLUMNS[state.name]
    hints, values = typing.get_type_hints(cls), dict[str, Any](state.fields)
    for each in dataclasses.fields(cls):
        name, hint = each.name, hints[each.name]
        if typing.get_origin(hint) is tuple:
            values[name] = tuple(tensors.values(name).tolist())
            tensors.spend(_A_WORD * len(values[name]))
        elif hint not in (bool, int, float, str):
            values[name] = tensors.take(name, "f8", (None,))
        elif name in values or each.default is dataclasses.MISSING:
            if hint is float and values.get(name, 0) is None:
                values[name] = np.nan
            if not is_a(values.get(name), hint):
                raise ModelFileError(f"its column of kind {state.name} has no field {name!r} of this type.")
    if not values.keys() <= hints.keys():
        raise ModelFileError(f"its column of kind {state.name} has unknown fields.")
    made: Column = cls(**values)
    made.check()
    return made


def named_states(steps: list[tuple[str, Estimator]], tensors: Tensors) -> list[Named]:
    """Return the states of the steps of a pipeline, without "passthrough"."""
    working = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]
    return [Named(name=name, step=step_state(each, tensors.at(str(i)))) for i, (name, each) in enumerate(working)]
