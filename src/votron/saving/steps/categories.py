"""Steps that know the values of columns: scikit-learn's OneHotEncoder and OrdinalEncoder.

Their values are written down as they are, with those that are grouped since they are rare, and those that are left out.
What follows from these is made again by the class itself, and nothing is fitted.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from votron.errors import ModelFileError
from votron.saving.fields import Fields
from votron.saving.steps.base import Flow, State, StoredStep, named, names_state, refused, stored
from votron.saving.values import params_from, params_state, values_from, values_state

_LARGEST_CODE = 2**31
_DTYPES = ("<f8", "<f4", "<i8", "<i4")


class Encoder(StoredStep):
    """A class that has learnt the values of each column."""

    holds = "discrete"
    left_out: tuple[str, ...] = ("categories", "dtype")
    """Parameters that are written down otherwise."""

    def state(self, step: Any) -> State:
        """Return parameters, and the values of each column."""
        dtype = np.dtype(step.dtype).newbyteorder("<").str
        if dtype not in _DTYPES:
            raise ModelFileError(
                f"The 'dtype' of a {self.name} in a model file must be float64, float32, int64 or int32. Got "
                f"{step.dtype!r} instead."
            )
        rare = getattr(step, "_infrequent_indices", None)
        return {
            "params": params_state(step, leave_out=self.left_out),
            "dtype": dtype,
            **names_state(step),
            "values": [values_state(each, f"The values of a {self.name}") for each in step.categories_],
            "rare": None if rare is None else [None if each is None else each.tolist() for each in rare],
            **self.more(step),
        }

    @abstractmethod
    def more(self, step: Any) -> State:
        """Return what else there is to write down."""

    def build(self, fields: Fields, depth: int) -> Any:
        """Give an encoder the values that it had learnt."""
        made = params_from(fields.part("params"), self.cls, leave_out=self.left_out)
        made.dtype = np.dtype(fields.text("dtype", _DTYPES)).newbyteorder("=").type
        named(fields, made)
        made.categories_ = [values_from(each) for each in fields.parts("values")]
        if len(made.categories_) != getattr(made, "n_features_in_", None):
            raise fields.wrong("values", "values for each column", f"those of {len(made.categories_)}")
        made._check_infrequent_enabled()
        self.group(made, fields, self.missing(made))
        self.finish(made, fields)
        return made

    def missing(self, made: Any) -> dict[int, int]:
        """Return the columns whose last value stands for one that is missing, and is not grouped, with its place."""
        return {}

    @abstractmethod
    def finish(self, made: Any, fields: Fields) -> None:
        """Give it the rest."""

    def group(self, made: Any, fields: Fields, missing: dict[int, int]) -> None:
        """Say which values are grouped since they are rare."""
        if not made._infrequent_enabled:
            if fields.has("rare"):
                raise fields.wrong("rare", "nothing where no values are grouped", "something")
            return
        found = fields.listed(
            "rare", "a list of places for each column", lambda each: each is None or _are_places(each)
        )
        if len(found) != len(made.categories_):
            raise fields.wrong("rare", "a list of places for each column", f"{len(found)} of them")
        made._infrequent_indices, made._default_to_infrequent_mappings = [], []
        for i, places in enumerate(found):
            n = len(made.categories_[i]) - (1 if i in missing else 0)
            if places is not None and places[-1] >= n:
                raise fields.wrong("rare", f"places below {n} for column {i}", places[-1])
            made._infrequent_indices.append(None if places is None else np.array(places, dtype=np.int64))
            made._default_to_infrequent_mappings.append(None if places is None else _groups(places, n))

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take so many columns of whatever there is."""
        if before.kind == "texts" or before.sparse:
            raise refused(step, "columns of values", before)
        if before.width not in (None, step.n_features_in_):
            raise refused(step, f"{step.n_features_in_:,} columns", before)
        return Flow("numbers", self.width(step), sparse=self.is_sparse(step))

    def width(self, step: Any) -> int:
        """Return how many features it gives."""
        return int(step.n_features_in_)

    def is_sparse(self, step: Any) -> bool:
        """Tell whether they are sparse."""
        return False

    def text_columns(self, step: Any, n: int) -> list[bool | None]:
        """Tell which columns hold texts, as far as their values say."""
        return [_are_texts(values) for values in step.categories_]


def _are_places(found: Any) -> bool:
    """Tell whether these are one or more places in rising order."""
    right = isinstance(found, list) and bool(found) and all(type(each) is int and each >= 0 for each in found)
    return right and all(a < b for a, b in itertools.pairwise(found))


def _groups(rare: list[int], n: int) -> NDArray[np.int64]:
    """Return the place of each value after the rare ones became one, which comes last."""
    is_rare = np.zeros(n, dtype=bool)
    is_rare[rare] = True
    places = np.cumsum(~is_rare) - 1
    places[is_rare] = n - len(rare)
    return places.astype(np.int64)


def _are_texts(values: NDArray[Any]) -> bool | None:
    kinds = {isinstance(value, str) for value in values.tolist() if value is not None and value == value}
    return kinds.pop() if len(kinds) == 1 else None


@stored
class OneHot(Encoder):
    """A 0/1 feature for each value."""

    cls = OneHotEncoder
    left_out = ("categories", "dtype", "drop")

    def more(self, step: Any) -> State:
        """Return which values are left out."""
        if step.drop is None or isinstance(step.drop, str):
            return {"drop": step.drop}
        return {"drop": [None if each is None else int(each) for each in step.drop_idx_]}

    def finish(self, made: Any, fields: Fields) -> None:
        """Leave values out, and count the features."""
        if isinstance(fields.peek("drop"), list):
            made.drop = self._dropped(made, fields)
        else:
            made.drop = fields.text("drop", ("first", "if_binary")) if fields.has("drop") else None
        try:
            made._set_drop_idx()
        except ValueError:  # of values that are grouped, and of others that cannot be
            raise fields.wrong("drop", "the place of a value that is not grouped, for each column", "others") from None
        made._n_features_outs = made._compute_n_features_outs()

    def _dropped(self, made: Any, fields: Fields) -> NDArray[Any]:
        """Return the value of each column that is left out."""
        what = "the place of a value for each column"
        places = fields.listed("drop", what, lambda each: type(each) is int and each >= 0)
        sizes = [len(values) for values in made.categories_]
        if len(places) != len(sizes) or not all(place < n for place, n in zip(places, sizes, strict=True)):
            raise fields.wrong("drop", what, places)
        found = np.empty(len(places), dtype=object)
        found[:] = [values[place] for values, place in zip(made.categories_, places, strict=True)]
        return found

    def width(self, step: Any) -> int:
        """Return how many features it gives."""
        return int(sum(step._n_features_outs))

    def is_sparse(self, step: Any) -> bool:
        """Tell whether they are sparse."""
        return bool(step.sparse_output)


@stored
class Ordinal(Encoder):
    """A number for each value."""

    cls = OrdinalEncoder

    def more(self, step: Any) -> State:
        """Return nothing."""
        return {}

    def missing(self, made: Any) -> dict[int, int]:
        """Return the columns that have NaN, which stands last."""
        last = [values.tolist()[-1] for values in made.categories_]
        return {i: len(made.categories_[i]) - 1 for i, value in enumerate(last) if value is not None and value != value}

    def finish(self, made: Any, fields: Fields) -> None:
        """Check what stands for unknown and for missing values."""
        made._missing_indices = self.missing(made)
        for name in ("unknown_value", "encoded_missing_value"):
            value = getattr(made, name)
            needed = made.handle_unknown == "use_encoded_value" if name == "unknown_value" else made._missing_indices
            number = type(value) in (int, float) and (math.isnan(value) or abs(value) < _LARGEST_CODE)
            if (needed or value is not None) and not number:
                raise fields.wrong(f"params.{name}", "a small number, or NaN", value)
            if needed and math.isnan(value) and np.dtype(made.dtype).kind != "f":
                raise fields.wrong(f"params.{name}", "a whole number, as the others are", "NaN")
