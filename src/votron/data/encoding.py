"""Tables as vectors: which columns of a frame become which features.

Problem: examples are rows of a table with numbers, words and texts, and a linear classifier takes vectors of numbers.
Input: a frame of pandas or polars. Output: a scikit-learn transformer from such frames to vectors, made of
scikit-learn's transformers and of those of `votron.data._columns` only, so that a model file can hold it.
Reference: W. Cohen's notes on linear classifiers, section 1: an attribute with the values Rainy, Sunny and Cloudy
becomes three 0/1 features, one a value; or one number, the chance of rain.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from votron._util.frames import columns_of, floats_of, in_pandas, is_frame
from votron._util.text import did_you_mean
from votron.data import vocabulary
from votron.data._columns import (
    Values,
    _Chance,
    _Date,
    _Discrete,
    _Number,
    _Text,
    _Truth,
    objects_of,
    probabilities_of,
    refusal,
    without_blanks,
)
from votron.data.dates import are_dates, parts_of_dates
from votron.data.tables import kind_of, list_names
from votron.data.vocabulary import DATES, NUMERIC, STRATEGIES
from votron.errors import DataError, VotronError

__all__ = ["encoder_columns", "make_encoder", "tabular_encoder"]

TEXT_FEATURES = ("auto", "hashing", "tfidf")
MISSING = (*vocabulary.MISSING, *STRATEGIES)
SCALERS = dict(zip(NUMERIC, (None, StandardScaler, MinMaxScaler, MaxAbsScaler), strict=True))
_SPARSE_BELOW = 0.3
"""Share of features that are not 0 below which the vectors are sparse, as in ColumnTransformer."""
_N_TEXT_FEATURES = 2**18
_MOST_WORDS = 2**17
"""Words that texts may have to become a feature each, if not told otherwise."""
_WORD = re.compile(r"\w\w")
_WORDS = re.compile(r"\b\w\w+\b")


def tabular_encoder(
    frame: Any,
    *,
    numeric: str = "keep",
    probabilities: Iterable[str] = (),
    discrete: Iterable[str] = (),
    dates: str = "cyclic",
) -> ColumnTransformer:
    """Return a transformer that turns the rows of tables like this one into vectors.

    Each column becomes features by its type, in the order of the columns:

    - text (also a categorical type) becomes a 0/1 feature for each value, in the order in which the values first appear
      in ``frame``, or in the order that a Categorical of pandas or an Enum of polars declares. A value that is
      missing, or that ``frame`` does not have, sets none of them. Blanks at the ends of a value are passed over, as
      where files are read;
    - numbers stay numbers, kept or scaled;
    - True and False become 1 and 0;
    - dates become year, month and weekday, and the hour too where ``frame`` has times of day. A column of texts holds
      dates where all of them are, written in one order, such as 2024-01-31 or 31.1.2024, as in a CSV file. A text that
      is none is then a missing value.

    Linear classifiers and kernels want numbers of different units, such as degrees and percents, scaled:
    ``numeric="standard"``. By default they are kept as they are, as in Cohen's table.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        The features of the examples, without the label. It decides types and values; nothing else of it is kept.
    numeric : {"keep", "standard", "minmax", "maxabs"}, default="keep"
        What happens to numbers: kept as they are, shifted and scaled to mean 0 and variance 1 or to the range from 0 to
        1, or divided by the largest absolute value. The data given to ``fit`` decide by how much.
    probabilities : names of columns
        Columns of probabilities, such as the chance of rain: kept as they are, and refused outside of 0 to 1.
    discrete : names of columns
        Columns whose numbers are names, such as postcodes, or whose texts are dates to be taken each for itself:
        treated as text is.
    dates : {"cyclic", "onehot"}, default="cyclic"
        What becomes of dates: the year as a number, 0 for the first of ``frame`` and 1 for the last, and sine and
        cosine of month, weekday and hour, so that December is next to January; or a 0/1 feature for each year, month,
        weekday and hour.

    Returns
    -------
    ColumnTransformer
        Not fitted, with one transformer a column, of the column's name where scikit-learn allows it. It takes frames
        that have these columns in any order, and passes over others. Features are called "Outlook=Rainy" or "Temp".

    Raises
    ------
    DataError
        If a column is neither text nor numbers nor truth values nor dates, mixes them, has no values, or has a
        probability outside of 0 to 1.
    VotronError
        If the frame is none, or a parameter does not fit it.

    Notes
    -----
    A missing number stays missing, as NaN, which the classifiers refuse, and so does a missing truth value: a
    `sklearn.impute.SimpleImputer` after the encoder fills it in. Before `WinnowClassifier`, which wants 0 and 1, take
    ``SimpleImputer(strategy="most_frequent")``, since a mean is neither.

    Vectors are CSR matrices if more than 0.7 of their features are 0 by the number of values alone, and arrays
    otherwise; only arrays can be turned into frames with ``set_output``.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron import tabular_encoder
    >>> days = pd.DataFrame({"Outlook": ["Rainy", "Sunny", "Cloudy"], "Temp": [85, 87, 75]})
    >>> encoder = tabular_encoder(days)
    >>> encoder.fit_transform(days)
    array([[ 1.,  0.,  0., 85.],
           [ 0.,  1.,  0., 87.],
           [ 0.,  0.,  1., 75.]])
    >>> encoder.transform(pd.DataFrame({"Outlook": ["Snowy"], "Temp": [20]}))
    array([[ 0.,  0.,  0., 20.]])
    >>> encoder.get_feature_names_out().tolist()
    ['Outlook=Rainy', 'Outlook=Sunny', 'Outlook=Cloudy', 'Temp']
    """
    if not (isinstance(numeric, str) and numeric in SCALERS):
        choices = ", ".join(map(repr, SCALERS))
        raise VotronError(
            f"The 'numeric' parameter of tabular_encoder must be one of {choices}. Got {numeric!r} instead.",
            parameter="numeric",
        )
    if dates not in DATES:
        rule = ", ".join(map(repr, DATES))
        raise VotronError(
            f"The 'dates' parameter of tabular_encoder must be one of {rule}. Got {dates!r} instead.",
            parameter="dates",
        )
    names = _checked_columns(frame)
    kept = set(checked_names("probabilities", probabilities, names))
    coded = set(checked_names("discrete", discrete, names))
    for name in names:
        if name in kept and name in coded:
            raise VotronError(
                f"The 'probabilities' and 'discrete' of tabular_encoder must not share a column. Got {name!r} in "
                "both instead.",
                parameter="probabilities",
            )
    columns = dict(zip(names, columns_of(frame), strict=True))
    values = {name: _values(one, name, as_text=name in coded, as_chance=name in kept) for name, one in columns.items()}
    sparse = len(names) < _SPARSE_BELOW * sum(1 if found is None else len(found) for found in values.values())
    parts = [_part(columns[name], found, numeric, name in kept, sparse, dates) for name, found in values.items()]
    _check_features(dict(zip(names, parts, strict=True)))
    transformers = [(key, part, [name]) for key, part, name in zip(transformer_keys(names), parts, names, strict=True)]
    return ColumnTransformer(transformers, verbose_feature_names_out=False, sparse_threshold=_SPARSE_BELOW)


def make_encoder(
    frame: Any,
    *,
    numeric: str = "standard",
    discrete: Iterable[str] = (),
    probabilities: Iterable[str] = (),
    text: Iterable[str] = (),
    text_features: str = "auto",
    n_text_features: int = _N_TEXT_FEATURES,
    dates: str = "cyclic",
    missing: str = "refuse",
) -> ColumnTransformer:
    """Return a transformer that turns the rows of tables like this one into vectors.

    It is `tabular_encoder` with numbers scaled by default, with columns of texts, and with missing numbers filled in.
    Columns of numbers that stand side by side are handled together, which is faster.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        The features of the examples, without the label. It decides types and values; nothing else of it is kept.
    numeric : {"standard", "minmax", "maxabs", "keep"}, default="standard"
        What happens to numbers; see `tabular_encoder`.
    discrete, probabilities : names of columns
        Columns whose numbers are names, or probabilities; see `tabular_encoder`.
    text : names of columns
        Columns of texts, such as messages, whose words become features; a missing text has none.
    text_features : {"auto", "hashing", "tfidf"}, default="auto"
        Whether words are hashed into a fixed number of features, which needs no vocabulary and works in batches, or
        are a feature each, weighted by how rare they are, which makes small models and tells what a feature is; "auto"
        hashes where texts have more than 2^17 words. Either way the vectors of texts have length 1 and no negative
        numbers.
    n_text_features : int, default=2**18
        How many features hashing makes for each column of texts.
    dates : {"cyclic", "onehot"}, default="cyclic"
        What becomes of dates; see `tabular_encoder`.
    missing : {"refuse", "drop", "keep", "mean", "median", "most-frequent"}, default="refuse"
        What fills in missing numbers and truth values, before they are scaled; "refuse", "drop" and "keep" fill in
        nothing, since reading did the first two. Missing discrete values set no feature in any case.

    Returns
    -------
    ColumnTransformer
        Not fitted. It takes frames that have these columns in any order, and passes over others.

    Raises
    ------
    DataError
        If a column is not what it should be.
    VotronError
        If a parameter does not fit the frame.

    Examples
    --------
    >>> import polars as pl
    >>> from votron.data import make_encoder
    >>> mails = pl.DataFrame({"size": [2.0, None, 4.0], "body": ["buy now", "see you now", None]})
    >>> encoder = make_encoder(mails, text=["body"], text_features="tfidf", missing="mean", numeric="minmax")
    >>> encoder.fit_transform(mails).toarray().round(2)
    array([[0.  , 0.8 , 0.61, 0.  , 0.  ],
           [0.5 , 0.  , 0.47, 0.62, 0.62],
           [1.  , 0.  , 0.  , 0.  , 0.  ]])
    """
    _check(frame, text_features, n_text_features, missing)
    names = list(frame.columns)
    texts = checked_names("text", text, names)
    for name in texts:
        _check_texts(frame[name], name)
    worded = set(texts)
    others = [name for name in names if name not in worded]
    parts: dict[str, Any] = {}
    if others:
        made = tabular_encoder(
            frame[others], numeric=numeric, probabilities=probabilities, discrete=discrete, dates=dates
        )
        parts = {columns[0]: _with_imputer(part, missing) for _, part, columns in made.transformers}
    for name in texts:
        words = _vectorizer(_chosen_features(text_features, frame[name], name), n_text_features)
        parts[name] = Pipeline([("texts", _Text()), ("words", words)])
    runs = _group_numbers([(name, parts[name]) for name in names])
    keys = transformer_keys(
        [columns[0] if len(columns) == 1 else f"{columns[0]}..{columns[-1]}" for columns, _ in runs]
    )
    transformers = [(key, part, columns) for key, (columns, part) in zip(keys, runs, strict=True)]
    return ColumnTransformer(transformers, verbose_feature_names_out=False, sparse_threshold=1.0 if texts else 0.3)


def encoder_columns(encoder: Any) -> dict[str, str]:
    """Return the columns that an encoder wants, and what each must hold.

    Parameters
    ----------
    encoder : ColumnTransformer or Pipeline
        What `make_encoder` or `tabular_encoder` made, or a pipeline that begins with it; fitted or not.

    Returns
    -------
    dict of str to {"number", "text", "truth", "date"}
        For the parameter ``columns`` of `read_examples`.

    Examples
    --------
    >>> import polars as pl
    >>> from votron.data import encoder_columns, make_encoder
    >>> encoder_columns(make_encoder(pl.DataFrame({"Outlook": ["Rainy", "Sunny"], "Temp": [85, 87]})))
    {'Outlook': 'text', 'Temp': 'number'}
    """
    while isinstance(encoder, Pipeline):
        encoder = encoder.steps[0][1]
    if not isinstance(encoder, ColumnTransformer):
        kind = type(encoder).__name__
        raise VotronError(f"encoder_columns takes what make_encoder made. Got an object of type {kind} instead.")
    parts = getattr(encoder, "transformers_", encoder.transformers)
    found: dict[str, str] = {}
    for key, part, columns in parts:
        if isinstance(part, str) and part == "drop":
            continue
        names = _names_of(encoder, key, columns)
        if names is None:
            raise VotronError("encoder_columns takes an encoder whose columns have names. Got numbers instead.")
        found |= {name: kind for name, kind in zip(names, _kinds(part, len(names)), strict=True) if name not in found}
    return found


def _names_of(encoder: ColumnTransformer, key: str, columns: Any) -> list[str] | None:
    """Return the names of the columns of a part; None where they have none."""
    if hasattr(encoder, "transformers_"):
        if not hasattr(encoder, "feature_names_in_"):
            return None
        return [str(encoder.feature_names_in_[i]) for i in encoder._transformer_to_input_indices[key]]
    listed: list[Any] = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, list) else [0]
    return listed if all(isinstance(name, str) for name in listed) else None


def _kinds(part: Any, n: int) -> list[str]:
    """Return what each of so many columns must hold that meet a part."""
    part = _first_step(part)
    values: list[Any] | None = None
    if isinstance(part, SimpleImputer) and getattr(part, "_fit_dtype", np.dtype("f8")).kind == "O":
        values = [[value] for value in part.statistics_.tolist()]
    if isinstance(part, OneHotEncoder | OrdinalEncoder):
        values = [each.tolist() for each in part.categories_] if hasattr(part, "categories_") else [["text"]] * n
    if isinstance(part, _Discrete):
        values = [part.values]
    if values is not None:
        return [_kind_of_values([v for v in each if v is not None and v == v]) for each in values]
    if isinstance(part, _Text | CountVectorizer | HashingVectorizer):
        return ["text"] * n
    if isinstance(part, _Date):
        return ["date"] * n
    return ["truth" if isinstance(part, _Truth) else "number"] * n


def _first_step(part: Any) -> Any:
    """Return the transformer that a column meets first."""
    while isinstance(part, FrozenEstimator | Pipeline):
        part = part.estimator if isinstance(part, FrozenEstimator) else part.steps[0][1]
    return part


def _kind_of_values(values: Any) -> str:
    if all(isinstance(value, str) for value in values):
        return "text"
    return "truth" if all(isinstance(value, bool) for value in values) else "number"


def fills_holes(step: Any) -> bool:
    """Tell whether a model or a transformer takes missing values in every column, and passes none of them on.

    Examples
    --------
    >>> import polars as pl
    >>> days = pl.DataFrame({"Outlook": ["Rainy", "Sunny"], "Temp": [85, 87]})
    >>> fills_holes(make_encoder(days)), fills_holes(make_encoder(days, missing="mean"))
    (False, True)
    """
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    if isinstance(step, Pipeline):
        return any(fills_holes(each) for _, each in step.steps)
    if isinstance(step, ColumnTransformer):
        parts = [part for _, part, _ in getattr(step, "transformers_", step.transformers)]
        return all(fills_holes(part) for part in parts if not (isinstance(part, str) and part == "drop"))
    if isinstance(step, OneHotEncoder):
        return bool(step.handle_unknown != "error")
    return isinstance(step, SimpleImputer | _Text) or _sets_none(step)


def unfilled_holes(encoder: Any, frame: Any) -> dict[str, int]:
    """Return how many missing values each column of a frame has that an encoder passes on as such.

    Examples
    --------
    >>> import polars as pl
    >>> days = pl.DataFrame({"Outlook": [None, "Sunny"], "Temp": [85, None]})
    >>> unfilled_holes(make_encoder(days), days)
    {'Temp': 1}
    """
    encoder = _first_step(encoder)
    if not (isinstance(encoder, ColumnTransformer) and is_frame(frame)):
        return {}
    found: dict[str, int] = {}
    for key, part, columns in getattr(encoder, "transformers_", encoder.transformers):
        if not (isinstance(part, str) or fills_holes(part)):
            there = [name for name in _names_of(encoder, key, columns) or () if name in frame.columns]
            found |= {name: _n_holes(part, frame[name]) for name in there}
    return {name: n for name, n in found.items() if n}


def _n_holes(part: Any, column: Any) -> int:
    """Return how many values of a column are missing for its transformer, as texts are that are no dates."""
    dates = parts_of_dates(column) if isinstance(_first_step(part), _Date) else None
    return sum(value is None for value in objects_of(column)) if dates is None else int(np.isnan(dates[0]).sum())


# -- what the frame and the parameters say ----------------------------------------------------------------------------


def _checked_columns(frame: Any) -> list[str]:
    """Return the names of the columns of what must be a frame with values."""
    if not is_frame(frame):
        kind = type(frame).__name__
        raise VotronError(
            f"tabular_encoder takes a DataFrame of pandas or polars. Got an object of type {kind} instead."
        )
    if 0 in frame.shape:
        raise VotronError(
            f"tabular_encoder takes a frame with rows and columns. Got one of shape {frame.shape} instead."
        )
    names = list(frame.columns)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise VotronError(f"The names of a frame's columns must be of type str. Got {name!r} instead.")
        if name in seen:
            raise VotronError(f"The names of a frame's columns must differ. Got {name!r} twice instead.")
        seen.add(name)
    return names


def checked_names(parameter: str, given: Any, columns: list[str]) -> list[str]:
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    there = set(columns)
    for name in names:
        if not isinstance(name, str) or name not in there:
            raise VotronError(
                f"The {parameter!r} parameter of tabular_encoder must be names of columns of the frame, which has "
                f"{list_names(columns)}. Got {name!r} instead.{did_you_mean(name, columns)}",
                parameter=parameter,
            )
    return names


def _check_features(parts: dict[str, Any]) -> None:
    """Refuse features that would have the same name, such as "a=b=c" of column "a" and of column "a=b"."""
    seen: dict[str, str] = {}
    for column, part in parts.items():
        for feature in part.names(column) if isinstance(part, _Date | _Discrete) else [column]:
            if feature in seen:
                raise DataError(
                    f"Two features would be called {feature!r}, from column {seen[feature]!r} and column {column!r}: "
                    "rename a column, or a value."
                )
            seen[feature] = column


# -- what the columns say ---------------------------------------------------------------------------------------------


def _values(column: Any, name: str, *, as_text: bool, as_chance: bool) -> Values | None:
    """Return the values that get a feature each, or None if the column is one of numbers."""
    kind = kind_of(column)
    if not (as_text or as_chance) and (kind == "date" or (kind == "text" and are_dates(column))):
        return None
    if kind in ("other", "date"):
        remedy = "convert it, or leave it out" if as_text else ""  # else numbers are advised, for dates among others
        raise refusal(column, name, "either numbers, or truth values, or text", remedy, ("text", "number", "boolean"))
    if as_text or (kind == "text" and not as_chance):
        found = None if kind == "nothing" else _categories(column, name)
        empty = not found
    else:
        found = None
        empty = bool(np.isnan(probabilities_of(column, name) if as_chance else floats_of(column)).all())
    if empty:
        raise DataError(f"The column {name!r} must have a value in some row: leave it out. Got missing values instead.")
    return found


def _categories(column: Any, name: str) -> Values:
    """Return the distinct values of a column, in the order declared or else the order of appearance."""
    declared = None
    if in_pandas(column) and hasattr(column, "cat"):
        declared = column.cat.categories.tolist()
    elif not in_pandas(column) and isinstance(column.dtype, sys.modules["polars"].Enum):
        declared = column.dtype.categories.to_list()
    found = dict.fromkeys(map(without_blanks, objects_of(column) if declared is None else declared))
    # pandas makes floats of whole numbers where others are missing; they are equal, and read better without ".0"
    values = Values(int(v) if isinstance(v, float) and v.is_integer() else v for v in found if v is not None)
    try:
        sorted(values)  # fails where they are of several types, such as words and numbers, which is a slip
    except TypeError:
        raise refusal(column, name, "values of one type") from None
    return values


# -- the transformers of the columns ----------------------------------------------------------------------------------


def transformer_keys(columns: list[str]) -> list[str]:
    """Return names that ColumnTransformer takes: those of the columns, where they have no meaning for it already."""
    taken = set(ColumnTransformer([]).get_params(deep=False))
    names = set(columns)
    keys: list[str] = []
    for name in columns:
        plain = name
        while "__" in plain:
            plain = plain.replace("__", "_")
        key, n = plain, 1
        while key in taken or (key != name and key in names):
            n += 1
            key = f"{plain} ({n})"
        taken.add(key)
        keys.append(key)
    return keys


def _part(column: Any, values: Values | None, numeric: str, as_chance: bool, sparse: bool, dates: str) -> Any:
    """Return the transformer of a column."""
    if values is not None:
        return _Discrete(values, sparse)
    if as_chance:
        return _Chance()
    kind = kind_of(column)
    if kind == "boolean":
        return _Truth()
    if kind in ("date", "text"):  # texts that get no feature each are dates
        return _dated(column, dates)
    scaler = SCALERS[numeric]
    return _Number() if scaler is None else Pipeline([("numbers", _Number()), ("scale", scaler())])


def _dated(column: Any, how: str) -> _Date:
    """Return the transformer of a column of dates, which has hours where there is a time of day."""
    year, _, _, hour = parts_of_dates(column) or (np.zeros(1),) * 4
    return _Date(how, int(np.nanmin(year)), int(np.nanmax(year)), bool((hour > 0).any()))


# -- checks -----------------------------------------------------------------------------------------------------------


def _check(frame: Any, text_features: Any, n_text_features: Any, missing: Any) -> None:
    if not is_frame(frame):
        kind = type(frame).__name__
        raise VotronError(f"make_encoder takes a DataFrame of pandas or polars. Got an object of type {kind} instead.")
    for name, given, choices in (("text_features", text_features, TEXT_FEATURES), ("missing", missing, MISSING)):
        if given not in choices:
            rule = ", ".join(map(repr, choices))
            raise VotronError(
                f"The {name!r} parameter of a table's encoder must be one of {rule}. Got {given!r} instead.",
                parameter=name,
            )
    if not isinstance(n_text_features, int) or not 1 <= n_text_features < 2**31:
        raise VotronError(
            "The 'n_text_features' parameter of a table's encoder must be an int in the range [1, 2**31). Got "
            f"{n_text_features!r} instead.",
            parameter="n_text_features",
        )


def _check_texts(column: Any, name: str) -> None:
    """Refuse what are no texts, and texts without a word: a vectorizer would have nothing to count."""
    texts = _Text()._features(column, name)
    if not any(_WORD.search(value) for value in texts):
        raise DataError(f"The texts in column {name!r} must have a word of two letters somewhere: leave it out.")


# -- parts ------------------------------------------------------------------------------------------------------------


def _vectorizer(text_features: str, n_features: int) -> Any:
    # No alternating signs, though they would make collisions cancel: Winnow and naive Bayes take no negative numbers.
    return (
        HashingVectorizer(n_features=n_features, alternate_sign=False)
        if text_features == "hashing"
        else TfidfVectorizer()
    )


def _chosen_features(asked: str, column: Any, name: str) -> str:
    """Return how words become features, where that is left open: a feature each, if they are not too many."""
    if asked != "auto":
        return asked
    words: set[str] = set()
    for text in _Text()._features(column, name):
        words.update(_WORDS.findall(text.lower()))
        if len(words) > _MOST_WORDS:
            return "hashing"
    return "tfidf"


def _sets_none(part: Any) -> bool:
    """Tell whether a transformer sets no feature where a value is missing."""
    return isinstance(part, _Discrete) or (isinstance(part, _Date) and part.how == "onehot")


def _with_imputer(part: Any, missing: str) -> Any:
    """Return the transformer of a column with an imputer after its numbers, if there is to be one."""
    if missing not in STRATEGIES or _sets_none(part):
        return part
    imputer = SimpleImputer(strategy=STRATEGIES[missing], keep_empty_features=True)
    steps = list(part.steps) if isinstance(part, Pipeline) else [("numbers", part)]
    return Pipeline([steps[0], ("impute", imputer), *steps[1:]])


def _group_numbers(parts: list[tuple[str, Any]]) -> list[tuple[list[str], Any]]:
    """Return the columns with their transformers, plain numbers side by side as one."""
    runs: list[tuple[list[str], Any]] = []
    for name, part in parts:
        if runs and _is_number(part) and _is_number(runs[-1][1]):
            runs[-1][0].append(name)
        else:
            runs.append(([name], part))
    return runs


def _is_number(part: Any) -> bool:
    first = part.steps[0][1] if isinstance(part, Pipeline) else part
    return isinstance(first, _Number) and not isinstance(first, _Chance)
