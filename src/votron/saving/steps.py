"""Steps before a classifier in model files: encoders of tables, scalers, imputers and vectorizers of text.

A transformer is made again by its constructor and given what it had learnt; nothing is fitted on what a file says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron.data._columns import Values, _Chance, _Date, _Discrete, _Number, _Text, _Truth
from votron.errors import ModelFileError
from votron.saving.parts import Count, Params, State, params_from, params_state, refused
from votron.saving.tensors import WIDEST, Tensors, objects

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**48)]
_A_WORD = 120
"""Bytes that a vocabulary takes for a word, beside the word."""
_LONGEST_NGRAM = 20
_SAFE = {
    "input": ("content",),
    "encoding": ("utf-8",),
    "decode_error": ("strict",),
    "token_pattern": (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b"),
}
"""What vectorizers may have, so that they open no files, and no pattern of a stranger keeps them busy for ever."""


def put_names(made: Any, tensors: Tensors) -> None:
    if hasattr(made, "feature_names_in_"):
        tensors.put_list("feature_names", [str(name) for name in made.feature_names_in_])


def set_names(made: Any, n_features: int | None, tensors: Tensors) -> None:
    if n_features is not None:
        made.n_features_in_ = n_features
    if "feature_names" in tensors:
        made.feature_names_in_ = objects(tensors.listed("feature_names", n=n_features))


# -- what transformers have learnt ------------------------------------------------------------------------------------

_LEARNT: dict[type, dict[str, str]] = {
    StandardScaler: {"mean_": "with_mean", "var_": "with_std", "scale_": "with_std"},
    MinMaxScaler: dict.fromkeys(("data_min_", "data_max_", "data_range_", "scale_", "min_"), ""),
    MaxAbsScaler: dict.fromkeys(("scale_", "max_abs_"), ""),
    RobustScaler: {"center_": "with_centering", "scale_": "with_scaling"},
    Normalizer: {},
    TfidfTransformer: {"idf_": "use_idf"},
}
"""What each class learns of every feature: always, or where a parameter says so."""


def _put_scaler(step: Any, tensors: Tensors) -> None:
    for name in (*_LEARNT[type(step)], "n_samples_seen_"):
        if getattr(step, name, None) is not None:
            tensors.put(name, np.atleast_1d(getattr(step, name)))


def _set_scaler(made: Any, tensors: Tensors) -> None:
    for name, asked in _LEARNT[type(made)].items():
        if name in tensors or not asked or getattr(made, asked):
            setattr(made, name, tensors.take(name, "f4 f8", (getattr(made, "n_features_in_", None),)))
        elif name != "idf_":
            setattr(made, name, None)
    if "n_samples_seen_" in tensors:
        seen = tensors.take("n_samples_seen_", "i4 i8 f8", (None,), least=0)
        made.n_samples_seen_ = seen[0] if len(seen) == 1 else seen  # of a feature each, where numbers were missing


def _put_imputer(step: SimpleImputer, tensors: Tensors) -> None:
    missing, kind = step.missing_values, np.dtype(step._fit_dtype).kind
    if step.add_indicator or kind != "f" or not (isinstance(missing, float) and np.isnan(missing)):
        raise refused("A SimpleImputer of other values than NaN, or with add_indicator=True,")
    tensors.put("statistics", np.asarray(step.statistics_, dtype=step._fit_dtype))


def _set_imputer(made: SimpleImputer, tensors: Tensors) -> None:
    statistics = tensors.take("statistics", "f4 f8", (getattr(made, "n_features_in_", None),), finite=False)
    names = vars(made).get("feature_names_in_")
    made.fit(np.zeros((1, len(statistics)), dtype=statistics.dtype))  # of ours, which makes what it has beside these
    made.statistics_ = statistics.astype(made.statistics_.dtype)
    if names is not None:
        made.feature_names_in_ = names


def _check_texts(step: Any, tensors: Tensors | None = None) -> None:
    """Refuse what would open files, or could keep whoever opens the model busy for ever."""
    shortest, longest = step.ngram_range if len(step.ngram_range) == 2 else (0, 0)
    words = step.stop_words if isinstance(step.stop_words, list) else []
    odd = [name for name, safe in _SAFE.items() if getattr(step, name) not in safe]
    odd += ["dtype"] * (step.dtype is not type(step)().dtype)
    odd += ["stop_words"] * (not all(isinstance(word, str) for word in words))
    odd += ["ngram_range"] * (
        not (type(shortest) is type(longest) is int and 1 <= shortest <= longest <= _LONGEST_NGRAM)
    )
    if isinstance(step, HashingVectorizer) and step.n_features >= WIDEST:
        odd.append("n_features")
    if odd:
        raise refused(f"A {type(step).__name__} with {odd[0]}={str(getattr(step, odd[0]))[:60]!r}")


def _put_words(step: Any, tensors: Tensors) -> None:
    _check_texts(step)
    tensors.put_list("words", sorted(step.vocabulary_, key=step.vocabulary_.__getitem__))
    if getattr(step, "use_idf", False):
        tensors.put("idf", step.idf_)


def _set_words(made: Any, tensors: Tensors) -> None:
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


def _nothing(step: Any, tensors: Tensors) -> None:
    pass


def _set_columns(made: Any, tensors: Tensors) -> None:
    """Check the columns of a table that a step takes."""
    one = type(made) is not _Number
    if not hasattr(made, "feature_names_in_") or (one and len(made.feature_names_in_) != 1):
        raise ModelFileError("it has an encoder of one column that is given others.")
    if isinstance(made, _Discrete):
        made.values = Values(made.values)
    if isinstance(made, _Date) and not 1 <= made.first_year <= made.last_year <= 9999:
        raise ModelFileError("its years must be from 1 to 9999.")


_Hook = Callable[[Any, Tensors], None]
_HOOKS: dict[type, tuple[_Hook, _Hook]] = {
    **dict.fromkeys(_LEARNT, (_put_scaler, _set_scaler)),
    SimpleImputer: (_put_imputer, _set_imputer),
    **dict.fromkeys((CountVectorizer, TfidfVectorizer), (_put_words, _set_words)),
    HashingVectorizer: (_check_texts, _check_texts),
    **dict.fromkeys((_Number, _Chance, _Truth, _Text, _Discrete, _Date), (_nothing, _set_columns)),
}
"""What writes and sets what each class has beside parameters and names of features."""
_CLASSES = {cls.__name__.strip("_"): cls for cls in _HOOKS}
_LEFT_OUT = ("dtype", "vocabulary", "missing_values")
"""Parameters that have their defaults in a file."""


# -- states -----------------------------------------------------------------------------------------------------------


class Transformer(State, tag_field="kind"):
    """A step of one of the classes above."""

    name: Literal[tuple(_CLASSES)]  # type: ignore[valid-type]
    params: Params
    n_features: Positive | None

    def build(self, tensors: Tensors, columns: list[str]) -> Any:
        cls = _CLASSES[self.name]
        made = params_from(cls, self.params, tensors)
        set_names(made, self.n_features, tensors)
        if columns and cls.__name__.startswith("_"):
            made.n_features_in_, made.feature_names_in_ = len(columns), objects(columns)
        _HOOKS[cls][1](made, tensors)
        return made


class Named(State):
    """A step of a pipeline."""

    name: str
    step: Step


class Steps(State, tag_field="kind"):
    """Steps after one another."""

    steps: list[Named]

    def build(self, tensors: Tensors, columns: list[str]) -> Any:
        return Pipeline(named_from(self.steps, tensors, columns))


class Part(State):
    """A part of a table's encoder: a step, how many columns it takes, and how many features it makes of them."""

    name: str
    step: Step
    n_columns: Count
    alone: bool
    """Whether the column is given by itself, as vectorizers want it, and not as a table."""
    width: Count


class Table(State, tag_field="kind"):
    """Steps side by side, each with columns of a table."""

    parts: list[Part]
    sparse: bool
    sparse_threshold: float
    long_names: bool

    def build(self, tensors: Tensors, columns: list[str]) -> Any:
        given = tensors.listed("given")
        taken = tensors.take("columns", "i8", (sum(part.n_columns for part in self.parts),), least=0).tolist()
        if len(set(given)) < len(given) or max(taken, default=0) >= len(given):
            raise tensors.wrong("columns", "numbers of columns that have different names")
        transformers, indices, outputs, at, numbers = [], {}, {}, 0, iter(taken)
        for i, part in enumerate(self.parts):
            indices[part.name] = [next(numbers) for _ in range(part.n_columns)]
            names = [given[j] for j in indices[part.name]]
            if not names or (part.alone and len(names) > 1):
                raise ModelFileError(f"its part {part.name[:60]!r} has no columns, or too many.")
            step = part.step.build(tensors.at(str(i)), names)
            transformers.append((part.name, step, names[0] if part.alone else names))
            outputs[part.name] = slice(at, at := at + part.width)
        return self._put_together(given, transformers, indices, outputs)

    def _put_together(self, given: list[str], transformers: list[Any], indices: Any, outputs: Any) -> Any:
        """Return the transformer as if it had been fitted."""
        made = ColumnTransformer(
            transformers, sparse_threshold=self.sparse_threshold, verbose_feature_names_out=self.long_names
        )
        odd = [name for name in indices if "__" in name or name in {"remainder", *made.get_params(deep=False)}]
        if not transformers or len(indices) < len(transformers) or odd:
            raise ModelFileError("its parts must have different names that scikit-learn allows.")
        used = {i for each in indices.values() for i in each}
        rest = [i for i in range(len(given)) if i not in used]
        made._remainder = ("remainder", "drop", [given[i] for i in rest])
        made.n_features_in_, made.feature_names_in_ = len(given), objects(given)
        made.sparse_output_ = self.sparse
        made.transformers_ = [*transformers, made._remainder] if rest else list(transformers)
        made.output_indices_ = {**outputs, "remainder": slice(0, 0)}
        made._columns = [columns for _, _, columns in transformers]
        made._transformer_to_input_indices = {**indices, "remainder": rest}
        return made


Step = Transformer | Steps | Table


def step_state(step: Any, tensors: Tensors) -> Step:
    if type(step) is Pipeline:
        return Steps(steps=named_states(step.steps, tensors))
    if type(step) is ColumnTransformer:
        return _table_state(step, tensors)
    if type(step) not in _HOOKS:
        raise refused(f"A step of type {type(step).__name__}")
    _HOOKS[type(step)][0](step, tensors)
    ours = type(step).__name__.startswith("_")
    if not ours:  # whose features are the columns of a table
        put_names(step, tensors)
    return Transformer(
        name=type(step).__name__.strip("_"),
        params=params_state(step, tensors, leave_out=_LEFT_OUT),
        n_features=None if ours else getattr(step, "n_features_in_", None),
    )


def _table_state(step: ColumnTransformer, tensors: Tensors) -> Table:
    taken = [part for part in step.transformers_ if not (isinstance(part[1], str) and part[1] == "drop")]
    chosen = [step._transformer_to_input_indices[name] for name, _, _ in taken]
    by_name = hasattr(step, "feature_names_in_") and all(isinstance(columns, str | list) for _, _, columns in taken)
    long_names = step.verbose_feature_names_out
    if not (by_name and step.remainder == "drop" and not step.transformer_weights and isinstance(long_names, bool)):
        raise refused("A ColumnTransformer with weights, a remainder, or columns that are not given by name,")
    tensors.put_list("given", step.feature_names_in_.tolist())
    tensors.put("columns", np.array([i for each in chosen for i in each], dtype=np.int64))
    parts = []
    for i, ((name, part, columns), numbers) in enumerate(zip(taken, chosen, strict=True)):
        outputs, state = step.output_indices_[name], step_state(part, tensors.at(str(i)))
        width, alone = outputs.stop - outputs.start, isinstance(columns, str)
        parts.append(Part(name=name, step=state, n_columns=len(numbers), alone=alone, width=width))
    threshold, sparse = float(step.sparse_threshold), bool(step.sparse_output_)
    return Table(parts=parts, sparse=sparse, sparse_threshold=threshold, long_names=long_names)


def named_states(steps: list[tuple[str, Any]], tensors: Tensors) -> list[Named]:
    """Return the states of the steps of a pipeline, without those that do nothing."""
    working = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]
    return [Named(name=name, step=step_state(each, tensors.at(str(i)))) for i, (name, each) in enumerate(working)]


def named_from(steps: list[Named], tensors: Tensors, columns: list[str]) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline; ``columns`` of a table go into the first."""
    if not steps or len({each.name for each in steps}) < len(steps):
        raise ModelFileError("the steps of its pipeline must have different names.")
    return [(each.name, each.step.build(tensors.at(str(i)), columns)) for i, each in enumerate(steps)]
