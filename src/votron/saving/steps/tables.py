"""Steps of tables and of numbers: columns and their values, scalers and imputers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron.data._columns import Values, _Chance, _Date, _Discrete, _Number, _Text, _Truth
from votron.data.vocabulary import DATES
from votron.errors import ModelFileError
from votron.saving.fields import Fields
from votron.saving.steps.base import (
    Flow,
    State,
    StoredStep,
    named,
    names_state,
    numbers_after,
    refused,
    stored,
)
from votron.saving.values import params_from, params_state

_LAST_YEAR = 9999
_LARGEST_FILL = 1e300

# -- columns ----------------------------------------------------------------------------------------------------------


class Column(StoredStep):
    """A class that takes columns of a table as they are, and knows their names."""

    listed = False
    most_columns = 1

    def state(self, step: Any) -> State:
        """Return the names of the columns."""
        return names_state(step)

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it, with the names of its columns."""
        return self.of_columns(self.cls(), fields)

    def of_columns(self, made: Any, fields: Fields) -> Any:
        """Give it the names of its columns."""
        made.n_features_in_ = fields.count("n_features", 1, self.most_columns + 1)
        made.feature_names_in_ = np.array(fields.texts("feature_names", made.n_features_in_), dtype=object)
        return made

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take so many columns of a table."""
        if before.kind != "table":
            raise ModelFileError(f"The {self.name} takes columns of a ColumnTransformer, and gets {before}.")
        if before.width != step.n_features_in_:
            raise refused(step, f"{step.n_features_in_:,} columns", before)
        return Flow("numbers", before.width, sparse=False)


@stored
class Number(Column):
    """Numbers, as they are."""

    cls = _Number
    most_columns = (1 << 31) - 1


@stored
class Chance(Column):
    """Probabilities, as they are."""

    cls = _Chance


@stored
class Truth(Column):
    """Truth values as 0 and 1."""

    cls, holds = _Truth, "truth"


@stored
class Text(Column):
    """Texts, for a vectorizer to take."""

    cls, holds = _Text, "text"

    def flow(self, step: Any, before: Flow) -> Flow:
        """Give texts."""
        super().flow(step, before)
        return Flow("texts")


@stored
class Discrete(Column):
    """A feature for each value."""

    cls, holds = _Discrete, "discrete"

    def state(self, step: Any) -> State:
        """Return the values."""
        return {"values": list(step.values), "sparse": bool(step.sparse), **names_state(step)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it of its values."""
        what = "a list of texts or numbers"
        values = fields.listed("values", what, lambda value: type(value) in (str, int, float, bool))
        if not values:
            raise fields.wrong("values", what, values)
        return self.of_columns(_Discrete(Values(values), fields.flag("sparse")), fields)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Give a column for each value."""
        super().flow(step, before)
        return Flow("numbers", len(step.values), sparse=bool(step.sparse))

    def takes_texts(self, step: Any) -> bool:
        """Tell whether its values are texts."""
        return all(isinstance(value, str) for value in step.values)


@stored
class Dates(Column):
    """Year, month, weekday and hour."""

    cls, holds = _Date, "date"

    def state(self, step: Any) -> State:
        """Return what becomes of dates."""
        years = {"first_year": int(step.first_year), "last_year": int(step.last_year)}
        return {"how": step.how, **years, "hours": bool(step.hours), **names_state(step)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it of its years."""
        how, first = fields.text("how", DATES), fields.count("first_year", 1, _LAST_YEAR + 1)
        last = fields.count("last_year", first, _LAST_YEAR + 1)
        return self.of_columns(_Date(how, first, last, fields.flag("hours")), fields)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Give its features."""
        super().flow(step, before)
        return Flow("numbers", len(step.names("")), sparse=False)


# -- numbers in their places ------------------------------------------------------------------------------------------


class Scaler(StoredStep):
    """A class that learns arrays with a number a feature."""

    arrays: Mapping[str, bool | str]
    """For each array whether it must be there: always, never, or where the parameter of this name says so."""
    counts_rows = True
    """Whether it learns how many rows it was fitted to."""

    def state(self, step: Any) -> State:
        """Return parameters, names, and what was learnt."""
        learnt = {key: getattr(step, key) for key in self.arrays if getattr(step, key) is not None}
        found = {"params": params_state(step), **names_state(step), **learnt}
        if not self.counts_rows:
            return found
        seen = step.n_samples_seen_
        n_seen = int(seen) if np.ndim(seen) == 0 else np.asarray(seen, dtype=np.int64)
        return found | {"seen": n_seen}

    def build(self, fields: Fields, depth: int) -> Any:
        """Give an unfitted scaler what it had learnt."""
        made = named(fields, params_from(fields.part("params"), self.cls))
        n = getattr(made, "n_features_in_", None)
        if n is None:
            raise fields.wrong("n_features", "a whole number", "nothing")
        for key, needed in self.arrays.items():
            if fields.has(key) or (getattr(made, needed) if isinstance(needed, str) else needed):
                setattr(made, key, np.array(fields.array(key, "f", (n,))))  # float32, if the data were
            else:
                setattr(made, key, None)
        if made.scale_ is not None and not (np.abs(made.scale_) >= np.finfo(np.float64).tiny).all():
            raise fields.wrong("scale_", "numbers other than 0", "0")
        self.check(made, fields)
        if not self.counts_rows:
            return made
        counts = isinstance(fields.peek("seen"), dict)  # for each feature, where numbers were missing
        made.n_samples_seen_ = fields.array("seen", "i", (n,)) if counts else fields.count("seen")
        return made

    def check(self, made: Any, fields: Fields) -> None:
        """Refuse what the class itself would take and could not work with."""


@stored
class Standard(Scaler):
    """Mean 0 and variance 1."""

    cls = StandardScaler
    arrays = MappingProxyType({"mean_": "with_mean", "var_": False, "scale_": "with_std"})

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take sparse matrices where no means are taken off."""
        return numbers_after(step, before, sparse=not step.with_mean)


@stored
class MinMax(Scaler):
    """A range, the same for all features."""

    cls = MinMaxScaler
    arrays = MappingProxyType(
        {"data_min_": False, "data_max_": False, "scale_": True, "min_": True, "data_range_": True}
    )

    def check(self, made: Any, fields: Fields) -> None:
        """Refuse a range that is none."""
        ends = made.feature_range
        if not (
            len(ends) == 2 and all(type(end) in (int, float) for end in ends) and -np.inf < ends[0] < ends[1] < np.inf
        ):
            raise fields.wrong("params.feature_range", "two numbers, the smaller first", ends)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take no sparse matrices."""
        return numbers_after(step, before, sparse=False)


@stored
class MaxAbs(Scaler):
    """Largest absolute value 1."""

    cls = MaxAbsScaler
    arrays = MappingProxyType({"scale_": True, "max_abs_": True})


@stored
class Robust(Scaler):
    """Median 0, and the distance between two quantiles 1."""

    cls = RobustScaler
    arrays = MappingProxyType({"center_": "with_centering", "scale_": "with_scaling"})
    counts_rows = False

    def check(self, made: Any, fields: Fields) -> None:
        """Refuse quantiles that are none."""
        ends = made.quantile_range
        if not (len(ends) == 2 and all(type(end) in (int, float) for end in ends) and 0 <= ends[0] <= ends[1] <= 100):
            raise fields.wrong("params.quantile_range", "two numbers from 0 to 100, the smaller first", ends)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take sparse matrices where no medians are taken off."""
        return numbers_after(step, before, sparse=not step.with_centering)


class Stateless(StoredStep):
    """A class that learns nothing beside the names of features."""

    def state(self, step: Any) -> State:
        """Return parameters and names."""
        return {"params": params_state(step), **names_state(step)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it of its parameters."""
        return named(fields, params_from(fields.part("params"), self.cls))


@stored
class Length(Stateless):
    """Rows of length 1."""

    cls = Normalizer


@stored
class Threshold(Stateless):
    """Numbers above a threshold."""

    cls = Binarizer

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it of a finite threshold."""
        made = super().build(fields, depth)
        if not np.isfinite(made.threshold):
            raise fields.wrong("params.threshold", "a finite number", made.threshold)
        return made

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take sparse matrices where 0 stays 0."""
        return numbers_after(step, before, sparse=step.threshold >= 0)


# -- missing numbers --------------------------------------------------------------------------------------------------


def fills_nan(step: SimpleImputer) -> bool:
    """Tell whether an imputer puts numbers where NaN stands, and does no more."""
    numbers = np.asarray(step.statistics_).dtype.kind == "f" and isinstance(step.missing_values, float)
    return numbers and bool(np.isnan(step.missing_values)) and not step.add_indicator


@stored
class Imputer(StoredStep):
    """A number, or another value, for each feature where it is missing."""

    cls = SimpleImputer

    def state(self, step: Any) -> State:
        """Return what is filled in."""
        if callable(step.strategy) or step.add_indicator or _is_gap(step.statistics_).any():
            raise ModelFileError(
                "A SimpleImputer in a model file must fill in a mean, a median, the most frequent value or a constant, "
                "for each feature, without indicators. Got another instead."
            )
        if fills_nan(step) and step.strategy != "constant":  # as files have it since the first
            filled: State = {"statistics": np.asarray(step.statistics_, dtype=np.float64)}
        else:
            filled = {
                "missing": params_state(step)["missing_values"],
                "fill_value": params_state(step)["fill_value"],
                "of": np.dtype(step._fit_dtype).newbyteorder("<").str,
                "values": [_plain(step, value) for value in step.statistics_.tolist()],
            }
        return {"strategy": step.strategy, "keep_empty": bool(step.keep_empty_features), **names_state(step), **filled}

    def build(self, fields: Fields, depth: int) -> Any:
        """Give an imputer what it fills in."""
        strategy = fields.text("strategy", ("mean", "median", "most_frequent", "constant"))
        n = fields.count("n_features", 1)
        made = SimpleImputer(strategy=strategy, keep_empty_features=fields.flag("keep_empty"))
        if fields.has("values"):
            self._fill_values(made, fields, n)
        else:
            statistics = fields.exactly("statistics", "<f8", (n,))
            made.fit(np.zeros((1, n)))  # which makes what it has beside them
            made.statistics_ = np.array(statistics)
        if fields.has("feature_names"):
            made.feature_names_in_ = np.array(fields.texts("feature_names", n), dtype=object)
        return made

    def _fill_values(self, made: Any, fields: Fields, n: int) -> None:
        """Give it values that need not be numbers."""
        kinds = ("|O", "<f8", "<f4", "<i8", "<i4")
        dtype = np.dtype(fields.text("of", kinds)).newbyteorder("=")
        what = f"{n} texts or numbers" if dtype.kind == "O" else f"{n} numbers"
        allowed = (str, int, float) if dtype.kind == "O" else (int, float)
        values = fields.listed("values", what, lambda each: type(each) in allowed and abs(_size(each)) < _LARGEST_FILL)
        if len(values) != n or (dtype.kind in "i" and not all(float(each).is_integer() for each in values)):
            raise fields.wrong("values", what, values)
        part = Fields(
            {"missing_values": fields.plain("missing"), "fill_value": fields.plain("fill_value")}, {}, "params"
        )
        given = params_from(part, SimpleImputer)
        texts = isinstance(given.missing_values, str | None) or isinstance(given.fill_value, str)
        if texts and dtype.kind != "O":
            raise fields.wrong("of", "values of any type where texts are filled in, or stand for gaps", dtype.str)
        if made.strategy in ("mean", "median") and dtype.kind == "O":
            raise fields.wrong("of", "numbers where means or medians are filled in", dtype.str)
        made.missing_values, made.fill_value = given.missing_values, given.fill_value
        row = np.zeros((1, n), dtype=dtype) + 1 if dtype.kind != "O" else np.full((1, n), "x", dtype=object)
        made.fit(row)  # of ours, which makes what it has beside them
        made.statistics_ = np.array(values, dtype=object if dtype.kind == "O" or made.strategy == "constant" else None)

    def held(self, step: Any) -> str:
        """Return what a column holds."""
        return "discrete" if _takes_values(step) else "number"

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take numbers, or values."""
        if not _takes_values(step):
            return numbers_after(step, before)
        if before.kind == "texts" or before.sparse:
            raise refused(step, "columns of values", before)
        if before.width not in (None, step.n_features_in_):
            raise refused(step, f"{step.n_features_in_:,} columns", before)
        return Flow("values", step.n_features_in_, sparse=False)

    def text_columns(self, step: Any, n: int) -> list[bool | None]:
        """Tell which columns hold texts, as far as what is filled in says."""
        if not _takes_values(step):
            return [False] * n
        return [True if isinstance(value, str) else None for value in step.statistics_.tolist()]


def _takes_values(step: SimpleImputer) -> bool:
    return bool(np.dtype(step._fit_dtype).kind == "O")


def _size(value: Any) -> float:
    return 0.0 if isinstance(value, str) else float(value)


def _is_gap(statistics: Any) -> Any:
    """Tell which statistics are no values, since a feature had none."""
    return np.array([value is None or value != value for value in np.asarray(statistics).tolist()])


def _plain(step: SimpleImputer, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ModelFileError(
            f"A SimpleImputer in a model file must fill in texts or numbers. Got {value!r} of type "
            f"{type(value).__name__} instead."
        )
    return value
