"""Steps of tables and of numbers: columns and their values, scalers, and what holds other steps together.

A table's encoder is put together from its parts, held fast by scikit-learn's FrozenEstimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from votron.data._columns import Values, _Chance, _Date, _Discrete, _Number, _Text, _Truth
from votron.data.vocabulary import DATES
from votron.errors import ModelFileError
from votron.saving.fields import Fields
from votron.saving.steps.base import (
    Flow,
    State,
    StoredStep,
    after,
    first_of,
    kind_of,
    named,
    names_state,
    numbers_after,
    refused,
    step_from,
    step_state,
    steps_from,
    steps_state,
    stored,
)
from votron.saving.values import params_from, params_state

_WIDEST_DENSE = 1 << 22
"""Features that hashed words may have in a dense matrix: each row takes eight bytes for each."""
_LAST_YEAR = 9999

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
    """A class that learns arrays with a number a feature: ``optional`` ones may be missing, ``needed`` ones not."""

    optional: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    def state(self, step: Any) -> State:
        """Return parameters, names, and what was learnt."""
        arrays = (*self.optional, *self.needed)
        learnt = {key: getattr(step, key) for key in arrays if getattr(step, key) is not None}
        seen = step.n_samples_seen_
        n_seen = int(seen) if np.ndim(seen) == 0 else np.asarray(seen, dtype=np.int64)
        return {"params": params_state(step), **names_state(step), **learnt, "seen": n_seen}

    def build(self, fields: Fields, depth: int) -> Any:
        """Give an unfitted scaler what it had learnt."""
        made = named(fields, params_from(fields.part("params"), self.cls))
        n = getattr(made, "n_features_in_", None)
        if n is None:
            raise fields.wrong("n_features", "a whole number", "nothing")
        for key in (*self.optional, *self.needed):
            there = fields.has(key)
            if there or (key in self.needed and (key != "scale_" or getattr(made, "with_std", True))):
                setattr(made, key, np.array(fields.array(key, "f", (n,))))  # float32, if the data were
            else:
                setattr(made, key, None)
        if made.scale_ is not None and not (np.abs(made.scale_) >= np.finfo(np.float64).tiny).all():
            raise fields.wrong("scale_", "numbers other than 0", "0")
        self.check(made, fields)
        counts = isinstance(fields.peek("seen"), dict)  # for each feature, where numbers were missing
        made.n_samples_seen_ = fields.array("seen", "i", (n,)) if counts else fields.count("seen")
        return made

    def check(self, made: Any, fields: Fields) -> None:
        """Refuse what the class itself would take and could not work with."""


@stored
class Standard(Scaler):
    """Mean 0 and variance 1."""

    cls = StandardScaler
    optional, needed = ("mean_", "var_"), ("scale_",)

    def check(self, made: Any, fields: Fields) -> None:
        """Refuse one that lacks the means that it takes off."""
        if made.with_mean and made.mean_ is None:
            raise fields.wrong("mean_", "an array", "nothing")

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take sparse matrices where no means are taken off."""
        return numbers_after(step, before, sparse=not step.with_mean)


@stored
class MinMax(Scaler):
    """A range, the same for all features."""

    cls = MinMaxScaler
    optional, needed = ("data_min_", "data_max_"), ("scale_", "min_", "data_range_")

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
    needed = ("scale_", "max_abs_")


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
    """A number for each feature where it is missing."""

    cls = SimpleImputer

    def state(self, step: Any) -> State:
        """Return the numbers that are filled in."""
        if not fills_nan(step) or step.strategy == "constant" or np.isnan(step.statistics_).any():
            raise ModelFileError(
                "A SimpleImputer in a model file must fill in a mean, median or most frequent number where a feature "
                "is NaN, for each feature, without indicators. Got another instead."
            )
        return {
            "strategy": step.strategy,
            "keep_empty": bool(step.keep_empty_features),
            **names_state(step),
            "statistics": np.asarray(step.statistics_, dtype=np.float64),
        }

    def build(self, fields: Fields, depth: int) -> Any:
        """Give an imputer the numbers that it fills in."""
        strategy = fields.text("strategy", ("mean", "median", "most_frequent"))
        n = fields.count("n_features", 1)
        statistics = fields.exactly("statistics", "<f8", (n,))
        made = SimpleImputer(strategy=strategy, keep_empty_features=fields.flag("keep_empty"))
        made.fit(np.zeros((1, n)))  # which makes what it has beside them
        made.statistics_ = np.array(statistics)
        if fields.has("feature_names"):
            made.feature_names_in_ = np.array(fields.texts("feature_names", n), dtype=object)
        return made


# -- steps of steps ---------------------------------------------------------------------------------------------------


@stored
class Steps(StoredStep):
    """Steps after one another."""

    cls = Pipeline
    listed = False

    def state(self, step: Any) -> State:
        """Return the steps with their names."""
        return {"steps": steps_state(step.steps)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Build each step."""
        steps = steps_from(fields.parts("steps"), depth + 1)
        if not steps or len({name for name, _ in steps}) < len(steps):
            raise fields.wrong("steps", "one or more steps of different names", "others")
        return Pipeline(steps)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Let data go through each step."""
        for _, each in step.steps:
            before = after(each, before)
        return before


@stored
class Columns(StoredStep):
    """Steps beside one another, each with its columns of a table."""

    cls = ColumnTransformer
    listed = False

    def state(self, step: Any) -> State:
        """Return the parts with their names and columns."""
        if step.remainder != "drop" or step.transformer_weights:
            raise ModelFileError("A ColumnTransformer in a model file must drop the remainder, and have no weights.")
        return {
            "columns": [_part_state(*part) for part in step.transformers_ if part[0] != "remainder"],
            "given": [str(name) for name in step.feature_names_in_],
            "sparse_threshold": float(step.sparse_threshold),
            "sparse": bool(step.sparse_output_),
            "long_names": bool(step.verbose_feature_names_out),
        }

    def build(self, fields: Fields, depth: int) -> Any:
        """Put the transformer together from its parts, as if it had been fitted on a table of these columns."""
        parts = [_part_from(each, depth) for each in fields.parts("columns")]
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

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take a table with these columns, and give all that the parts give."""
        wanted = set(step.feature_names_in_)
        if before.kind not in ("data", "table") or (before.names is not None and not wanted <= set(before.names)):
            raise refused(step, "tables with its columns", before)
        parts = [part for _, part in _flows(step.transformers_)]
        _check_kinds(step.transformers_)
        width, sparse = sum(part.width or 0 for part in parts), bool(step.sparse_output_)
        if not sparse and width >= _WIDEST_DENSE and any(part.sparse for part in parts):
            raise ModelFileError(
                f"A ColumnTransformer in a file gives dense matrices of fewer than {_WIDEST_DENSE:,} features. "
                f"Got {width:,} instead."
            )
        return Flow("numbers", width, sparse)


def _part_state(name: str, part: Any, where: Any) -> State:
    listed = [where] if isinstance(where, str) else list(where) if isinstance(where, list | tuple) else []
    if not listed or not all(isinstance(column, str) for column in listed):
        raise ModelFileError("A ColumnTransformer in a model file must name the columns of its transformers.")
    state = {"name": name, "columns": listed, "alone": isinstance(where, str), "part": step_state(part)}
    return {**state, "holds": kind_of(first_of(part)).holds}


def _part_from(fields: Fields, depth: int) -> tuple[str, Any, str | list[str]]:
    name, columns, alone = fields.text("name"), fields.texts("columns"), fields.flag("alone")
    part = step_from(fields.part("part"), depth + 1)
    fields.text("holds", [kind_of(first_of(part)).holds])  # which is for those who only look at the manifest
    fields.end()
    if not columns or (alone and len(columns) != 1) or len(set(columns)) < len(columns):
        raise fields.wrong("columns", "one or more columns, each once, and one if it is alone", columns)
    return name, FrozenEstimator(part), columns[0] if alone else columns


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
    for name, flow in _flows(made.transformers):
        made.output_indices_[name] = slice(at, at + (flow.width or 0))
        at += flow.width or 0
    made.output_indices_["remainder"] = slice(0, 0)


def _flows(transformers: list[tuple[str, Any, Any]]) -> list[tuple[str, Flow]]:
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
            first = first_of(part)
            as_texts = kind_of(first).takes_texts(first)
            for name in _listed(columns):
                if kinds.setdefault(name, as_texts) != as_texts:
                    raise ModelFileError(f"A ColumnTransformer takes the column {name!r} as texts and as numbers.")
