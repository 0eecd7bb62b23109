"""Steps that change numbers in their places: scalers, Normalizer and Binarizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from votron.saving.fields import Fields
from votron.saving.flow import Flow, numbers_after
from votron.saving.steps.base import State, StoredStep, named, names_state, stored
from votron.saving.values import params_from, params_state


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
