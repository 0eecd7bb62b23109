"""The encoder of tables. Each column is recognised, fitted and transformed by the object of its kind.

Problem: examples are rows of a table of numbers, categories, dates and text, and classifiers need vectors. Method:
W. Cohen's notes on linear classifiers, section 1: an attribute with the values Rainy, Sunny and Cloudy becomes three
0/1 features, or one number, the chance of rain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from votron._util.frames import columns_of, dense, is_frame
from votron._util.text import counted, did_you_mean, first_of, shortened
from votron._util.types import Frame, Labels, Rows, Series
from votron.errors import DataError, VotronError
from votron.tables import date, number, text
from votron.tables.category import CategoryColumn, SpeltColumn
from votron.tables.column import Column, Survey
from votron.tables.date import DateColumn
from votron.tables.number import BooleanColumn, NumberColumn
from votron.tables.text import TextColumn

KINDS: list[type[Column]] = [TextColumn, BooleanColumn, NumberColumn, DateColumn, CategoryColumn, SpeltColumn]
"""The kinds of columns. The first that accepts a column gets it."""
MISSING = ("refuse", "drop", "keep", *number.FILLINGS)
_ROLES = ("discrete", "probabilities", "text")
"""Parameters that list columns."""
_SPARSE_BELOW = 0.3
"""Share of nonzero features below which the output is sparse."""
_MOST_NAMED, _MOST_UNSEEN = 8, 5
_COHEN = {"numeric": "keep", "missing": "keep", "max_categories": None, "rare": 1}


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Encode the rows of a table as vectors, each column by its kind.

    Numbers are scaled, also those written as text, such as ``$1,234.50`` or ``1.234,50 €``. Categories are one-hot
    encoded; many of them become counts of character trigrams. Dates, also as text in any consistent order, become days
    since the first date, and sine and cosine of the day of the year, the weekday and the hour.

    Parameters
    ----------
    numeric : {"standard", "robust", "minmax", "maxabs", "keep"}, default="standard"
        The scaling of numbers: mean 0 and variance 1; median and quartiles, with outliers limited; the range from 0 to
        1; the largest absolute value; none.
    discrete : names of columns
        Columns of categories, such as postcodes, even if they look like numbers or dates.
    probabilities : names of columns
        Columns of probabilities: not scaled, and an error outside of [0, 1].
    text : names of columns
        Columns whose words become features.
    text_features : {"auto", "hashing", "tfidf"}, default="auto"
        Tf-idf weights, or words hashed to a fixed number of features, which works batch by batch; "auto" hashes if
        there are more than 2^17 distinct words.
    n_text_features : int, default=2**18
        Number of features that words are hashed to.
    dates : {"cyclic", "onehot"}, default="cyclic"
        Sine and cosine, or a 0/1 feature for each year, month, weekday and hour.
    day_first : bool or None, default=None
        How to read 1/2/2024. None infers it from the column, month first if that is ambiguous.
    decimal : {".", ","} or None, default=None
        The decimal mark of numbers written as text. None infers it from the column, a point if that is ambiguous.
    missing : {"refuse", "drop", "keep", "mean", "median", "most-frequent"}, default="refuse"
        How to handle missing numbers, booleans and dates: raise an error, keep NaN ("drop" is for readers, which then
        drop such rows), or impute (dates always by their mean). A missing category or text sets no feature.
    add_indicator : bool, default=False
        Add an indicator feature to columns with missing values in training.
    max_categories : int or None, default=40
        Largest number of categories for one-hot encoding; None for no limit.
    rare : int or "auto", default="auto"
        Rows that a category needs for its own feature. "auto": 5, or fewer in tables of less than 1,000 rows.

    Attributes
    ----------
    columns_ : list of Column
        The fitted columns.
    remarks_ : list of str
        Sentences on how columns were interpreted.
    sparse_ : bool
        Whether `transform` returns CSR matrices.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron.tables import TableEncoder
    >>> sales = pd.DataFrame({"price": ["$1,200.00", "$800.50", None], "day": ["1/13/2017", "2/1/2017", "2/3/2017"]})
    >>> encoder = TableEncoder(numeric="minmax", missing="mean").fit(sales)
    >>> encoder.transform(sales).round(2)[:, :2]
    array([[1. , 0. ],
           [0. , 0.9],
           [0.5, 1. ]])
    >>> for remark in encoder.remarks_:
    ...     print(remark)
    The column 'price' holds numbers written as text, with a decimal point.
    The column 'day' holds dates, month first.
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "numeric": [StrOptions(set(number.SCALES))],
        **{role: [str, list, tuple, set] for role in _ROLES},
        "text_features": [StrOptions(set(text.FEATURES))],
        "n_text_features": [Interval(Integral, 1, text.MOST_HASHED, closed="both")],
        "dates": [StrOptions(set(date.WAYS))],
        "day_first": ["boolean", None],
        "decimal": [StrOptions({".", ","}), None],
        "missing": [StrOptions(set(MISSING))],
        "add_indicator": ["boolean"],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "rare": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        numeric: str = "standard",
        discrete: Iterable[str] = (),
        probabilities: Iterable[str] = (),
        text: Iterable[str] = (),
        text_features: str = "auto",
        n_text_features: int = 2**18,
        dates: str = "cyclic",
        day_first: bool | None = None,
        decimal: str | None = None,
        missing: str = "refuse",
        add_indicator: bool = False,
        max_categories: int | None = 40,
        rare: int | str = "auto",
    ) -> None:
        self.numeric = numeric
        self.discrete = discrete
        self.probabilities = probabilities
        self.text = text
        self.text_features = text_features
        self.n_text_features = n_text_features
        self.dates = dates
        self.day_first = day_first
        self.decimal = decimal
        self.missing = missing
        self.add_indicator = add_indicator
        self.max_categories = max_categories
        self.rare = rare

    def fit(self, X: Frame, y: Labels = None) -> Self:
        """Recognise and fit the columns of a frame of pandas or polars; y is ignored."""
        self._surveys = self._begun(X, whole=True)
        self.partial_fit(X)
        self.columns_ = self._recognised()
        del self._surveys
        return self

    def partial_fit(self, X: Frame, y: Labels = None) -> Self:
        """Fit to another batch of rows. Medians and quartiles are not available in batches."""
        if not hasattr(self, "_surveys"):
            self._surveys = self._begun(X, whole=False)
        for name, column in _columns_in(X, "fit", self._surveys):
            self._surveys[name].add(column)
        self.__dict__.pop("columns_", None)  # to be recognised again
        return self

    def check(self, X: Frame) -> None:
        """Raise the errors that `fit` would raise because of parameters and the columns' names."""
        self._begun(X, whole=True)

    def _begun(self, X: Frame, *, whole: bool) -> dict[str, Survey]:
        self._validate_params()
        surveys = {name: Survey(name, whole=whole) for name in _column_names(X, "fit")}
        for role in _ROLES:
            given = getattr(self, role)
            for name in [given] if isinstance(given, str) else given:
                if name not in surveys:
                    raise VotronError(
                        f"The {role!r} parameter of TableEncoder must name columns of the table, which has "
                        f"{first_of(list(map(repr, surveys)), _MOST_NAMED)}. Got {name!r} instead."
                        f"{did_you_mean(name, surveys)}"
                    )
                if other := surveys[name].role:
                    raise VotronError(f"The column {name!r} is in both {other!r} and {role!r}: choose one.")
                surveys[name].role = role
        return surveys

    @cached_property
    def columns_(self) -> list[Column]:
        """The fitted columns."""
        check_is_fitted(self)
        return self._recognised()

    def _recognised(self) -> list[Column]:
        found = []
        for name, survey in self._surveys.items():
            if survey.n_missing == survey.n_rows and not survey.counts:
                raise DataError(f"The column {name!r} has no value in any row: leave it out.")
            candidates = (kind.recognise(survey, self) for kind in KINDS)
            column = next(candidate for candidate in candidates if candidate is not None)
            column.indicator = bool(self.add_indicator and survey.n_missing)
            self._check_missing(column, survey.n_missing)
            found.append(column)
        return found

    def _check_missing(self, column: Column, n_missing: int) -> None:
        if n_missing and self.missing == "refuse" and column.passes_missing:
            raise DataError(
                f"The column {column.name!r} has {counted(n_missing, 'missing value')}: fill them in with "
                "missing='mean', 'median' or 'most-frequent', or leave such rows out."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "columns_" in self.__dict__ or "_surveys" in self.__dict__

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns."""
        return np.array([column.name for column in self.columns_], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return len(self.columns_)

    @property
    def sparse_(self) -> bool:
        """Whether `transform` returns CSR matrices."""
        n_set = sum(1 if column.few_set else column.width for column in self.columns_)
        return n_set < _SPARSE_BELOW * sum(column.width for column in self.columns_)

    @property
    def column_kinds_(self) -> dict[str, str]:
        """The type as which readers should read each column: "number", "text", "truth" or "date"."""
        return {column.name: column.holds for column in self.columns_}

    @property
    def remarks_(self) -> list[str]:
        """Sentences on how columns were interpreted."""
        return [f"The column {column.name!r} holds {column.remark}." for column in self.columns_ if column.remark]

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Return the names of the features, such as "Outlook=Rainy" or "Temp"; the parameter is ignored."""
        return np.array([name for column in self.columns_ for name in column.feature_names], dtype=object)

    def transform(self, X: Frame) -> Rows:
        """Return the vectors of the rows of a frame, whose columns may be in any order; other columns are ignored."""
        parts = (self._transformed(column, values) for column, values in self._pairs(X, "transform"))
        if self.sparse_:
            return sp.hstack(list(parts), format="csr")
        found, start = np.empty((len(X), sum(column.width for column in self.columns_))), 0
        for part in parts:
            found[:, start : start + part.shape[1]] = dense(part)
            start += part.shape[1]
        return found

    def _transformed(self, column: Column, values: Series) -> Rows:
        found = column.transform(values)
        if column.passes_missing:
            self._check_missing(column, int(np.count_nonzero(np.isnan(found[:, 0]))))
        return found

    def unseen(self, X: Frame) -> Counter[tuple[str, str]]:
        """Count the values and words of a frame that were not in the training data, each with its column."""
        pairs = self._pairs(X, "unseen")
        return Counter((column.name, value) for column, values in pairs for value in column.unseen(values))

    def _pairs(self, X: Frame, of: str) -> list[tuple[Column, Series]]:
        given = _columns_in(X, of, [column.name for column in self.columns_])
        return [(column, values) for column, (_, values) in zip(self.columns_, given, strict=True)]


def tabular_encoder(frame: Frame, **options: object) -> TableEncoder:
    """Return the encoder of Cohen's notes: unscaled numbers and a 0/1 feature for every category.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        A table like the one that the encoder will be fitted to.
    **options
        Parameters of `TableEncoder`, on top of ``numeric="keep", missing="keep", max_categories=None, rare=1``.

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
    encoder = TableEncoder(**{**_COHEN, **options})  # type: ignore[arg-type]
    encoder.check(frame)
    return encoder


def encoder_of(model: object) -> TableEncoder | None:
    """Return the table encoder at the start of a pipeline, None if there is none."""
    while hasattr(model, "steps"):
        model = model.steps[0][1]
    return model if isinstance(model, TableEncoder) else None


def unseen_sentences(unseen: Counter[tuple[str, str]]) -> list[str]:
    """Return a sentence on the unseen values of each column."""
    columns: dict[str, dict[str, int]] = {}
    for (column, value), n in sorted(unseen.items(), key=lambda pair: (-pair[1], pair[0])):
        columns.setdefault(column, {})[value] = n
    found = []
    for column, counts in sorted(columns.items()):
        values, places = counted(len(counts), "value"), counted(sum(counts.values()), "place")
        shown = first_of([f"{shortened(repr(value))} ({n:,})" for value, n in counts.items()], _MOST_UNSEEN)
        were = "was" if len(counts) == 1 else "were"
        found.append(f"The column {column!r} has {values}, in {places}, that {were} not in the training data: {shown}.")
    return found


def _columns_in(X: Frame, of: str, wanted: Iterable[str]) -> list[tuple[str, Series]]:
    """Return the wanted columns of a frame, or raise an error if one is not there."""
    given, wanted = dict(zip(_column_names(X, of), columns_of(X), strict=True)), list(wanted)
    missing = [name for name in wanted if name not in given]
    if missing:
        listed = first_of(list(map(repr, missing)), _MOST_NAMED)
        raise DataError(
            f"The X of {of} must have the columns that the model takes. Got a frame without {listed} instead."
            f"{did_you_mean(missing[0], set(given) - set(wanted))}"
        )
    return [(name, given[name]) for name in wanted]


def _column_names(X: Frame, of: str) -> list[str]:
    if not is_frame(X):
        kind = type(X).__name__
        raise VotronError(
            f"The X of {of} must be a DataFrame of pandas or polars. Got an object of type {kind} instead."
        )
    for name, n in Counter(X.columns).items():
        if n > 1 or not isinstance(name, str):
            raise VotronError(f"The columns of a frame must have different names, of type str. Got {name!r} instead.")
    return list(X.columns)
