"""Columns, kinds, missing values and ranges of data, counted batch by batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.frames import columns_of, floats_of, in_pandas, kind_of, missing_in
from votron._util.pages import name_of
from votron._util.text import counted, left_out, percent, plain_number
from votron._util.types import Series
from votron.data import Examples

_MOST_VALUES = 10_000
"""Different values of a column up to which they are counted."""
_SHOWN, _LONGEST = 3, 24


@dataclass
class Column:
    """A column of a table, as far as it was seen."""

    name: str
    is_date: bool = False
    """Whether the model's encoder reads its texts as dates, the year first, so that they sort as dates."""
    kind: str = "nothing"
    missing: int = 0
    low: Any = None
    high: Any = None
    values: Counter[Any] | None = field(default_factory=Counter)
    """The number of times that each value occurs; None where there are too many."""

    def add(self, column: Series) -> None:
        """Count a batch."""
        gone = missing_in(column)
        self.missing += int(gone.sum())
        self.kind = kind_of(column) if self.kind == "nothing" else self.kind
        if gone.all():
            return
        if self.kind == "number":
            floats = floats_of(column)
            self._widen(float(np.nanmin(floats)), float(np.nanmax(floats)))
        elif self.kind == "date":
            self._widen(column.min(), column.max())
        listed = (column.dropna() if in_pandas(column) else column.drop_nulls()).to_list()
        if self.values is not None:
            self.values.update(map(str, listed) if self.kind == "other" else listed)
            self.values = self.values if len(self.values) <= _MOST_VALUES else None

    def _widen(self, low: Any, high: Any) -> None:
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    @property
    def kind_in_words(self) -> str:
        return "date" if self.is_date else self.kind

    def cells(self) -> list[str]:
        """Return name, kind, missing values, different values, and which these are."""
        distinct = f"over {_MOST_VALUES:,}" if self.values is None else f"{len(self.values):,}"
        missing = f"{self.missing:,}" if self.missing else ""
        return [name_of(self.name, 2 * _LONGEST), self.kind_in_words, missing, distinct, self._range()]

    def _range(self) -> str:
        if self.kind == "number" and self.low is not None:
            return f"{plain_number(self.low)} to {plain_number(self.high)}"
        if self.kind == "date" and self.low is not None:
            return " to ".join(str(end).removesuffix(" 00:00:00") for end in (self.low, self.high))
        if self.is_date and self.values:
            return f"{min(self.values)} to {max(self.values)}"
        if not self.values or (len(self.values) > _SHOWN and self.values.most_common(1)[0][1] == 1):
            return ""  # texts, each by itself
        most = [f"{name_of(value, _LONGEST)} ({n:,})" for value, n in self.values.most_common(_SHOWN)]
        return ", ".join(most) + (", ..." if len(self.values) > _SHOWN else "")


@dataclass
class Description:
    """A description of rows, collected batch by batch."""

    dates: set[str] = field(default_factory=set)
    rows: int = 0
    dropped: int = 0
    unlabelled: int = 0
    features: int = 0
    label: str | None = None
    image_shape: tuple[int, ...] | None = None
    columns: dict[str, Column] | None = None
    sparse: bool = False
    nonzero: int = 0
    low: float | None = None
    high: float | None = None

    def add(self, batch: Examples) -> None:
        """Count a batch."""
        self.rows, self.dropped = self.rows + batch.n_rows, self.dropped + batch.dropped
        self.unlabelled += batch.unlabelled
        self.features = int(batch.X.shape[1]) if len(batch.X.shape) > 1 else 0  # texts, one a row
        self.label, self.image_shape = batch.label, batch.image_shape
        if batch.columns is not None:
            self.columns = {} if self.columns is None else self.columns
            for name, column in zip(map(str, batch.columns), columns_of(batch.X), strict=True):
                self.columns.setdefault(name, Column(name, name in self.dates)).add(column)
            return
        self.sparse = bool(sp.issparse(batch.X))
        if batch.X.dtype.kind in "biuf" and self.features:
            low, high = float(batch.X.min()), float(batch.X.max())
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)
            self.nonzero += int(batch.X.count_nonzero()) if self.sparse else int(np.count_nonzero(batch.X))

    def sentences(self) -> list[str]:
        """Return what the rows are, without their columns."""
        rows = counted(self.rows, "row")
        if self.columns is not None:
            kinds = Counter(column.kind_in_words for column in self.columns.values())
            listed = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
            missing = sum(column.missing for column in self.columns.values())
            said = [f"{rows} with {counted(self.features, 'column')} ({listed})."]
            said += [f"{counted(missing, 'value')} missing."] if missing else ["No missing values."]
        elif self.image_shape is not None:
            said = [f"{rows}, images of {' × '.join(map(str, self.image_shape))} values."]
        elif not self.features:
            said = [f"{rows}, each a text."]
        else:
            said = [f"{rows} of {counted(self.features, 'number')}{', sparse' if self.sparse else ''}."]
        if self.low is not None and self.high is not None:
            density = self.nonzero / max(1, self.rows * self.features)
            span = f"{plain_number(self.low)} to {plain_number(self.high)}"
            said.append(f"Values are from {span}, and {percent(density)} of them are not 0.")
        if self.dropped:
            said.append(f"Left out: {left_out(self.dropped, self.unlabelled)}.")
        return said
