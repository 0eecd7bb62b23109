"""Base class of the kinds of columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from votron._util.types import Floats, Rows, Series
from votron.errors import VotronError
from votron.tables.survey import Survey

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder


class Graph(Protocol):
    """An ONNX graph under construction. Each method adds an element and returns its name."""

    def input(self, name: str, kind: str, width: int | None) -> str:
        """Add an input."""

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator."""

    def constant(self, values: ArrayLike) -> str:
        """Add a constant."""

    def double(self, name: str) -> str:
        """Convert to double."""


@dataclass
class Column:
    """A fitted column of a table. Each subclass is one kind of column, and its fields are everything it has learnt.

    Attributes
    ----------
    name : str
        The name of the column.
    indicator : bool
        Whether the last feature indicates a missing value.
    """

    name: str
    indicator: bool

    holds: ClassVar[str]
    """The type as which readers should read the column: "number", "text", "truth" or "date"."""
    few_set: ClassVar[bool] = False
    """Whether most features are 0."""

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Return the fitted column if the surveyed values are of this kind, else None."""
        raise NotImplementedError

    @property
    def own_names(self) -> list[str]:
        """The names of the features, without the indicator."""
        raise NotImplementedError

    def features(self, column: Series) -> Rows:
        """Return the features, without the indicator."""
        raise NotImplementedError

    def missing(self, column: Series) -> NDArray[np.bool_]:
        """Return which values are missing or unreadable."""
        raise NotImplementedError

    @property
    def passes_missing(self) -> bool:
        """Whether the features of a missing value are NaN."""
        return False

    @property
    def filling(self) -> str:
        """The value that is filled in for a missing one, for messages."""
        return "no feature is set"

    def unseen(self, column: Series) -> Counter[str]:
        """Count the values that were not in the training data."""
        return Counter()

    def in_units(self, feature: int, value: float) -> float:
        """Convert the value of a feature to the units of the data."""
        return value

    def value_of(self, features: Floats) -> str:
        """Return the value that the features encode; "" if it was missing."""
        return ""

    @property
    def remark(self) -> str:
        """The interpretation of the column, as a clause; empty if there is nothing to say."""
        return ""

    def to_onnx(self, graph: Graph) -> str:
        """Add the column to an ONNX graph and return the name of its features."""
        raise VotronError(
            f"ONNX has no operators for the column {self.name!r}, which holds {self.remark or f'{self.holds}s'}: "
            "export a model without it."
        )

    def check(self) -> None:
        """Raise ValueError if the fields, which may come from a file, are inconsistent."""

    @property
    def feature_names(self) -> list[str]:
        """The names of all features."""
        return [*self.own_names, *([f"{self.name} is missing"] if self.indicator else [])]

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.own_names) + self.indicator

    def transform(self, column: Series) -> Rows:
        """Return all features."""
        own = self.features(column)
        if not self.indicator:
            return own
        gone = self.missing(column)[:, None].astype(np.float64)
        return sp.hstack([own, sp.csr_matrix(gone)], format="csr") if sp.issparse(own) else np.hstack([own, gone])
