"""Encoders for tables that users have: `tabular_encoder`, with texts and with missing values filled in.

They are made of scikit-learn's transformers and of those of `tabular_encoder` only, so that a model file can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from votron._frames import is_frame
from votron.data import vocabulary
from votron.data._columns import _Chance, _Discrete, _Number, _Text, _Truth
from votron.data.tables import checked_names, tabular_encoder, transformer_keys
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, Parameter, VotronError

__all__ = ["encoder_columns", "make_encoder"]

TEXT_FEATURES = ("hashing", "tfidf")
MISSING = (*vocabulary.MISSING, *STRATEGIES)
_N_TEXT_FEATURES = 2**18
_WORD = re.compile(r"\w\w")


def make_encoder(
    frame: Any,
    *,
    numeric: str = "standard",
    discrete: Iterable[str] = (),
    probabilities: Iterable[str] = (),
    text: Iterable[str] = (),
    text_features: str = "hashing",
    n_text_features: int = _N_TEXT_FEATURES,
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
    text_features : {"hashing", "tfidf"}, default="hashing"
        Whether words are hashed into a fixed number of features, which needs no vocabulary and works in batches, or
        weighted by how rare they are. Either way the vectors of texts have length 1 and no negative numbers.
    n_text_features : int, default=2**18
        How many features hashing makes for each column of texts.
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
        made = tabular_encoder(frame[others], numeric=numeric, probabilities=probabilities, discrete=discrete)
        parts = {columns[0]: _filled_in(part, missing) for _, part, columns in made.transformers}
    for name in texts:
        parts[name] = Pipeline([("texts", _Text()), ("words", _vectorizer(text_features, n_text_features))])
    runs = _runs([(name, parts[name]) for name in names])
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
    dict of str to {"number", "text", "truth"}
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
    return {name: _kind(part) for _, part, columns in encoder.transformers for name in columns}


def _kind(part: Any) -> str:
    part = part.estimator if isinstance(part, FrozenEstimator) else part  # as they are in a model from a file
    first = part.steps[0][1] if isinstance(part, Pipeline) else part
    if isinstance(first, _Discrete):
        if all(isinstance(value, str) for value in first.values):
            return "text"
        return "truth" if all(isinstance(value, bool) for value in first.values) else "number"
    if isinstance(first, _Text):
        return "text"
    return "truth" if isinstance(first, _Truth) else "number"


# -- checks -----------------------------------------------------------------------------------------------------------


def _check(frame: Any, text_features: Any, n_text_features: Any, missing: Any) -> None:
    if not is_frame(frame):
        kind = type(frame).__name__
        raise VotronError(f"make_encoder takes a DataFrame of pandas or polars. Got an object of type {kind} instead.")
    for name, given, choices in (("text_features", text_features, TEXT_FEATURES), ("missing", missing, MISSING)):
        if given not in choices:
            rule = ", ".join(map(repr, choices))
            raise VotronError(Parameter(name, of="make_encoder"), f" must be one of {rule}. Got {given!r} instead.")
    if not isinstance(n_text_features, int) or not 1 <= n_text_features < 2**31:
        raise VotronError(
            Parameter("n_text_features", of="make_encoder"),
            f" must be an int in the range [1, 2**31). Got {n_text_features!r} instead.",
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


def _filled_in(part: Any, missing: str) -> Any:
    """Return the transformer of a column with an imputer after its numbers, if there is to be one."""
    if missing not in STRATEGIES or isinstance(part, _Discrete):
        return part
    imputer = SimpleImputer(strategy=STRATEGIES[missing], keep_empty_features=True)
    steps = list(part.steps) if isinstance(part, Pipeline) else [("numbers", part)]
    return Pipeline([steps[0], ("impute", imputer), *steps[1:]])


def _runs(parts: list[tuple[str, Any]]) -> list[tuple[list[str], Any]]:
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
