"""How the steps before a classifier are written down: tables into vectors, scaling, texts into words.

Only the classes named here can stand in a model file. Reading, each is built by its own constructor and given what it
had learnt; nothing is fitted on what the file says, which would let it say how much work that is. A table's encoder is
put together from such parts, held fast by scikit-learn's FrozenEstimator. Which step can follow which is the business
of `votron.saving.flow`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from votron.data._columns import Values, _Chance, _Discrete, _Number, _Text, _Truth
from votron.errors import ModelFileError, Parameter
from votron.saving.fields import Fields
from votron.saving.flow import flows_of_parts
from votron.saving.values import params_from, params_state

__all__ = ["encoder_from", "encoder_state"]

_SCALERS: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "StandardScaler": (StandardScaler, ("mean_", "var_"), ("scale_",)),
    "MinMaxScaler": (MinMaxScaler, ("data_min_", "data_max_"), ("scale_", "min_", "data_range_")),
    "MaxAbsScaler": (MaxAbsScaler, (), ("scale_", "max_abs_")),
}
"""Classes that learn arrays with a number a feature: those that may be missing, and those that may not."""
_STATELESS: dict[str, Any] = {"Normalizer": Normalizer, "Binarizer": Binarizer}
_COLUMNS: dict[str, Any] = {"Number": _Number, "Chance": _Chance, "Truth": _Truth, "Text": _Text}
_TEXTS: dict[str, Any] = {"CountVectorizer": CountVectorizer, "TfidfVectorizer": TfidfVectorizer}
_LONGEST = 1 << 26
"""Features that words may be hashed into."""
_LONGEST_NGRAM = 20
_LARGEST_IDF = 1e100
"""What no weight of a word reaches; those that scikit-learn computes stay below 50."""
_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")


def encoder_state(step: Any) -> dict[str, Any]:
    """Return what a fitted transformer is made of.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> encoder_state(Normalizer())
    {'class': 'Normalizer', 'params': {'copy': True, 'norm': 'l2'}}
    """
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    for name, (cls, optional, needed) in _SCALERS.items():
        if type(step) is cls:
            learnt = {key: getattr(step, key) for key in (*optional, *needed) if getattr(step, key) is not None}
            return {"class": name, "params": params_state(step), **_names(step), **learnt, "seen": _seen(step)}
    for name, cls in _STATELESS.items():
        if type(step) is cls:
            return {"class": name, "params": params_state(step), **_names(step)}
    for name, cls in _COLUMNS.items():
        if type(step) is cls:
            return {"class": name, **_names(step)}
    for name, cls in _TEXTS.items():
        if type(step) is cls:
            return _text_state(name, step)
    others: dict[Any, Callable[[Any], dict[str, Any]]] = {
        HashingVectorizer: lambda step: {"class": "HashingVectorizer", "params": _text_params(step)},
        _Discrete: _discrete_state,
        SimpleImputer: _imputer_state,
        Pipeline: _pipeline_state,
        ColumnTransformer: _columns_state,
    }
    if type(step) not in others:
        known = [*_SCALERS, *_STATELESS, *_TEXTS, "HashingVectorizer", "SimpleImputer"]
        raise ModelFileError(
            f"A step before the classifier must be votron.tabular_encoder or one of {', '.join(known)} to be put into "
            f"a file. Got an object of type {type(step).__name__} instead."
        )
    return others[type(step)](step)


def encoder_from(fields: Fields, depth: int = 0) -> Any:
    """Return the transformer that was written down, fitted.

    Examples
    --------
    >>> encoder_from(Fields({"class": "Normalizer", "params": {"norm": "l1"}}, {}, "encoder"))
    Normalizer(norm='l1')
    """
    if depth > 4:
        raise fields.wrong("", "at most four encoders within one another", "more")
    name = fields.text("class")
    readers: dict[str, Callable[[], Any]] = {
        **{key: lambda: _scaler_from(fields, name) for key in _SCALERS},
        **{key: lambda: _stateless_from(fields, name) for key in _STATELESS},
        **{key: lambda: _column_from(fields, _COLUMNS[name]()) for key in _COLUMNS},
        **{key: lambda: _text_from(fields, name) for key in _TEXTS},
        "HashingVectorizer": lambda: _hashing_from(fields),
        "Discrete": lambda: _discrete_from(fields),
        "SimpleImputer": lambda: _imputer_from(fields),
        "Pipeline": lambda: _pipeline_from(fields, depth),
        "ColumnTransformer": lambda: _columns_from(fields, depth),
    }
    if name not in readers:
        raise fields.wrong("class", "an encoder that Votron knows", name)
    made = readers[name]()
    fields.end()
    return made


# -- names ------------------------------------------------------------------------------------------------------------


def _names(step: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if hasattr(step, "n_features_in_"):
        found["n_features"] = int(step.n_features_in_)
    if hasattr(step, "feature_names_in_"):
        found["feature_names"] = [str(name) for name in step.feature_names_in_]
    return found


def _named(fields: Fields, made: Any) -> Any:
    """Give a transformer the number and names of its features, where it had them."""
    if fields.has("n_features"):
        made.n_features_in_ = fields.count("n_features", 1)
        if fields.has("feature_names"):
            made.feature_names_in_ = np.array(fields.texts("feature_names", made.n_features_in_), dtype=object)
    return made


def _stateless_from(fields: Fields, name: str) -> Any:
    made = _named(fields, params_from(fields.part("params"), _STATELESS[name]))
    if name == "Binarizer" and not np.isfinite(made.threshold):
        raise fields.wrong("params.threshold", "a finite number", made.threshold)
    return made


# -- scalers and imputers ---------------------------------------------------------------------------------------------


def _seen(step: Any) -> Any:
    seen = step.n_samples_seen_
    return int(seen) if np.ndim(seen) == 0 else np.asarray(seen, dtype=np.int64)


def _scaler_from(fields: Fields, name: str) -> Any:
    cls, optional, needed = _SCALERS[name]
    made = _named(fields, params_from(fields.part("params"), cls))
    n = getattr(made, "n_features_in_", None)
    if n is None:
        raise fields.wrong("n_features", "a whole number", "nothing")
    for key in (*optional, *needed):
        there = fields.has(key)
        if there or (key in needed and (key != "scale_" or getattr(made, "with_std", True))):
            setattr(made, key, np.array(fields.array(key, "f", (n,))))  # float32, if the data were
        else:
            setattr(made, key, None)
    if made.scale_ is not None and not (np.abs(made.scale_) >= np.finfo(np.float64).tiny).all():
        raise fields.wrong("scale_", "numbers other than 0", "0")
    if name == "StandardScaler" and made.with_mean and made.mean_ is None:
        raise fields.wrong("mean_", "an array", "nothing")
    if name == "MinMaxScaler" and not _is_range(made.feature_range):
        raise fields.wrong("params.feature_range", "two numbers, the smaller first", made.feature_range)
    counts = isinstance(fields.peek("seen"), dict)  # for each feature, where numbers were missing
    made.n_samples_seen_ = fields.array("seen", "i", (n,)) if counts else fields.count("seen")
    return made


def _is_range(value: tuple[Any, ...]) -> bool:
    return (
        len(value) == 2 and all(type(each) in (int, float) for each in value) and -np.inf < value[0] < value[1] < np.inf
    )


def fills_nan(step: SimpleImputer) -> bool:
    """Tell whether an imputer puts numbers where NaN stands, and does no more."""
    numbers = np.asarray(step.statistics_).dtype.kind == "f" and isinstance(step.missing_values, float)
    return numbers and bool(np.isnan(step.missing_values)) and not step.add_indicator


def _imputer_state(step: Any) -> dict[str, Any]:
    if not fills_nan(step) or step.strategy == "constant" or np.isnan(step.statistics_).any():
        raise ModelFileError(
            "A SimpleImputer in a model file must fill in a mean, median or most frequent number where a feature is "
            "NaN, for each feature, without indicators. Got another instead."
        )
    return {
        "class": "SimpleImputer",
        "strategy": step.strategy,
        "keep_empty": bool(step.keep_empty_features),
        **_names(step),
        "statistics": np.asarray(step.statistics_, dtype=np.float64),
    }


def _imputer_from(fields: Fields) -> Any:
    strategy = fields.text("strategy", ("mean", "median", "most_frequent"))
    n = fields.count("n_features", 1)
    statistics = fields.exactly("statistics", "<f8", (n,))
    made = SimpleImputer(strategy=strategy, keep_empty_features=fields.flag("keep_empty"))
    made.fit(np.zeros((1, n)))  # which makes what it has beside them
    made.statistics_ = np.array(statistics)
    if fields.has("feature_names"):
        made.feature_names_in_ = np.array(fields.texts("feature_names", n), dtype=object)
    return made


# -- texts ------------------------------------------------------------------------------------------------------------


def _text_params(step: Any) -> dict[str, Any]:
    """Return the parameters but for ``dtype``, which is a class, and the vocabulary."""
    if step.dtype is not type(step)().dtype:
        raise ModelFileError(f"A {type(step).__name__} in a model file must have the default 'dtype'.")
    _check_text_params(step)
    return params_state(step, leave_out=("dtype", "vocabulary"))


def _check_text_params(step: Any) -> None:
    """Refuse what would open files, and patterns and sizes that could keep whoever opens the model busy for ever."""
    read = {"input": "content", "encoding": "utf-8", "decode_error": "strict"}
    for name, value in read.items():
        if getattr(step, name) != value:
            raise ModelFileError(
                Parameter(name, of=f"a {type(step).__name__}", short=True),
                f" in a model file must be {value!r}. Got {getattr(step, name)!r} instead.",
            )
    if step.token_pattern not in _PATTERNS:
        raise ModelFileError(
            Parameter("token_pattern", of=f"a {type(step).__name__}", short=True),
            f" in a model file must be one of "
            f"{', '.join(map(repr, _PATTERNS))}, since a pattern from elsewhere may take for ever. "
            f"Got {step.token_pattern!r} instead.",
        )
    stop_words = step.stop_words or []
    if isinstance(stop_words, list) and not all(isinstance(word, str) for word in stop_words):
        raise ModelFileError(
            Parameter("stop_words", of=f"a {type(step).__name__}", short=True), " in a model file must be texts."
        )
    shortest, longest = step.ngram_range if len(step.ngram_range) == 2 else (0, 0)
    if not (type(shortest) is type(longest) is int and 1 <= shortest <= longest <= _LONGEST_NGRAM):
        raise ModelFileError(
            Parameter("ngram_range", of=f"a {type(step).__name__}", short=True),
            f" in a model file must lie between 1 and {_LONGEST_NGRAM}. Got {step.ngram_range!r} instead.",
        )


def _hashing_from(fields: Fields) -> Any:
    made = params_from(fields.part("params"), HashingVectorizer, leave_out=("dtype",))
    _check_text_params(made)
    if made.n_features >= _LONGEST:
        raise fields.wrong("params.n_features", f"below {_LONGEST}", made.n_features)
    return made


def _text_state(name: str, step: Any) -> dict[str, Any]:
    words = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    state = {"class": name, "params": _text_params(step), "words": words}
    if name == "TfidfVectorizer" and step.use_idf:
        state["idf"] = np.asarray(step.idf_, dtype=np.float64)
    return state


def _text_from(fields: Fields, name: str) -> Any:
    words = fields.texts("words")
    vocabulary = {word: i for i, word in enumerate(words)}
    if not words or len(vocabulary) < len(words):
        raise fields.wrong("words", "one or more words, each once", "others")
    made = params_from(fields.part("params"), _TEXTS[name], leave_out=("dtype", "vocabulary"), vocabulary=vocabulary)
    _check_text_params(made)
    if name == "TfidfVectorizer":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its parameters make it say was said when it was first fitted
            made.fit([""])  # a text of ours, without a word: the words are given, so there is nothing to learn
    made.vocabulary_, made.fixed_vocabulary_ = vocabulary, True
    if name == "TfidfVectorizer" and made.use_idf:
        made.idf_ = idf = np.array(fields.exactly("idf", "<f8", (len(words),)))
        if not (np.abs(idf) < _LARGEST_IDF).all():
            raise fields.wrong("idf", f"weights of words below {_LARGEST_IDF:g}", "others")
    return made


# -- tables -----------------------------------------------------------------------------------------------------------


def _column_from(fields: Fields, made: Any) -> Any:
    made.n_features_in_ = fields.count("n_features", 1, 1 << 31 if type(made) is _Number else 2)
    made.feature_names_in_ = np.array(fields.texts("feature_names", made.n_features_in_), dtype=object)
    return made


def _discrete_state(step: Any) -> dict[str, Any]:
    return {"class": "Discrete", "values": list(step.values), "sparse": bool(step.sparse), **_names(step)}


def _discrete_from(fields: Fields) -> Any:
    values = fields.plain("values")
    if not (isinstance(values, list) and values and all(type(v) in (str, int, float, bool) for v in values)):
        raise fields.wrong("values", "a list of texts or numbers", values)
    return _column_from(fields, _Discrete(Values(values), fields.flag("sparse")))


def _pipeline_state(step: Any) -> dict[str, Any]:
    return {"class": "Pipeline", "steps": [{"name": name, "step": encoder_state(each)} for name, each in step.steps]}


def _pipeline_from(fields: Fields, depth: int) -> Any:
    steps = [(each.text("name"), encoder_from(each.part("step"), depth + 1)) for each in fields.parts("steps")]
    if not steps or len({name for name, _ in steps}) < len(steps):
        raise fields.wrong("steps", "one or more steps of different names", "others")
    return Pipeline(steps)


def _columns_state(step: Any) -> dict[str, Any]:
    if step.remainder != "drop" or step.transformer_weights:
        raise ModelFileError("A ColumnTransformer in a model file must drop the remainder, and have no weights.")
    columns = []
    for name, part, where in step.transformers_:
        if name == "remainder":
            continue
        listed = [where] if isinstance(where, str) else list(where) if isinstance(where, list | tuple) else []
        if not listed or not all(isinstance(column, str) for column in listed):
            raise ModelFileError("A ColumnTransformer in a model file must name the columns of its transformers.")
        state = {"name": name, "columns": listed, "alone": isinstance(where, str), "part": encoder_state(part)}
        columns.append(state)
    return {
        "class": "ColumnTransformer",
        "columns": columns,
        "given": [str(name) for name in step.feature_names_in_],
        "sparse_threshold": float(step.sparse_threshold),
        "sparse": bool(step.sparse_output_),
        "long_names": bool(step.verbose_feature_names_out),
    }


def _columns_from(fields: Fields, depth: int) -> Any:
    """Put the transformer together from its parts, as if it had been fitted on a table of these columns."""
    parts: list[tuple[str, Any, Any]] = []
    for each in fields.parts("columns"):
        name, columns, alone = each.text("name"), each.texts("columns"), each.flag("alone")
        part = encoder_from(each.part("part"), depth + 1)
        each.end()
        if not columns or (alone and len(columns) != 1) or len(set(columns)) < len(columns):
            raise each.wrong("columns", "one or more columns, each once, and one if it is alone", columns)
        parts.append((name, FrozenEstimator(part), columns[0] if alone else columns))
    given = fields.texts("given")
    places = {name: i for i, name in enumerate(given)}
    made = ColumnTransformer(
        parts,
        sparse_threshold=fields.number("sparse_threshold", 0.0),
        verbose_feature_names_out=fields.flag("long_names"),
    )
    names = [name for name, _, _ in parts]
    reserved = {"remainder", *made.get_params(deep=False)}
    if not names or len(set(names)) < len(names) or any("__" in name or name in reserved for name in names):
        raise fields.wrong("columns", "one or more parts of different names, which scikit-learn takes", "others")
    if len(places) < len(given) or not all(name in places for _, _, columns in parts for name in _listed(columns)):
        raise fields.wrong("given", "the names of all columns, each once", given)
    made.sparse_output_ = fields.flag("sparse")
    _as_if_fitted(made, given, places)
    return made


def _listed(columns: str | list[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else columns


def _as_if_fitted(made: Any, given: list[str], places: dict[str, int]) -> None:
    """Set what a ColumnTransformer keeps of a fit; a test compares it with one that was fitted."""
    indices = {name: [places[column] for column in _listed(columns)] for name, _, columns in made.transformers}
    unused = np.ones(len(given), dtype=bool)
    for used in indices.values():
        unused[used] = False
    names = np.array(given, dtype=object)
    rest = np.flatnonzero(unused).tolist()
    remainder = ("remainder", "drop", names[rest].tolist())
    made.feature_names_in_, made.n_features_in_ = names, len(given)
    made._columns = [columns for _, _, columns in made.transformers]
    made._transformer_to_input_indices = {**indices, "remainder": rest}
    made._remainder = remainder
    made.transformers_ = [*made.transformers, remainder] if rest else list(made.transformers)
    made.output_indices_, at = {}, 0
    for name, flow in flows_of_parts(made.transformers):
        made.output_indices_[name] = slice(at, at + (flow.width or 0))
        at += flow.width or 0
    made.output_indices_["remainder"] = slice(0, 0)
