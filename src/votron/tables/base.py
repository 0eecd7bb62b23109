"""The interface of a kind of column: one object answers all that is asked about a column of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from votron._util.frames import Series
from votron._util.types import Floats, Rows
from votron.errors import VotronError
from votron.tables.survey import Survey

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder


class Graph(Protocol):
    """What columns ask of an ONNX graph: each method adds something, and returns its name."""

    def input(self, name: str, kind: str, width: int | None) -> str:
        """Add an input."""

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation."""

    def constant(self, values: ArrayLike) -> str:
        """Add an array."""

    def double(self, name: str) -> str:
        """Convert to double."""


@dataclass
class Column:
    """A fitted column of a table. Subclasses are the kinds of columns; their fields are all that is known.

    Attributes
    ----------
    name : str
        The name of the column.
    indicator : bool
        Whether a last feature says that the value is missing.
    """

    name: str
    indicator: bool

    holds: ClassVar[str]
    """What readers of files shall make of the column: "number", "text", "truth" or "date"."""
    few_set: ClassVar[bool] = False
    """Whether few of the features are other than 0."""

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Return the fitted column if what the survey saw is of this kind, else None."""
        raise NotImplementedError

    @property
    def own_names(self) -> list[str]:
        """The names of the features, the indicator apart."""
        raise NotImplementedError

    def features(self, column: Series) -> Rows:
        """Return the features, the indicator apart; those of missing values too."""
        raise NotImplementedError

    def missing(self, column: Series) -> NDArray[np.bool_]:
        """Tell which values are missing, or cannot be read as what the column holds."""
        raise NotImplementedError

    @property
    def passes_missing(self) -> bool:
        """Whether the features of a missing value are NaN."""
        return False

    @property
    def filling(self) -> str:
        """What the features of a missing value stand for."""
        return "no feature is set"

    def unseen(self, column: Series) -> Counter[str]:
        """Return the values that were not in the training data, and how often they occur."""
        return Counter()

    def in_units(self, feature: int, value: float) -> float:
        """Return the value of a feature in the units of the data."""
        return value

    def value_of(self, features: Floats) -> str:
        """Return the value of the column that these features, or nearly these, were made of; "" if it was missing."""
        return ""

    @property
    def remark(self) -> str:
        """What users should know about how the column was read, as a clause; or nothing."""
        return ""

    def to_onnx(self, graph: Graph) -> str:
        """Add the column's input and features to a graph, and return the name of the features."""
        raise VotronError(
            f"ONNX has no operators for the column {self.name!r}, which is a {type(self).__name__}: "
            "export a model without it."
        )

    def check(self) -> None:
        """Raise ValueError where the fields, which may come from a file, do not fit together."""

    # -- what is the same for all kinds --------------------------------------------------------------------------------

    @property
    def feature_names(self) -> list[str]:
        """The names of all features."""
        return [*self.own_names, *([f"{self.name} is missing"] if self.indicator else [])]

    @property
    def width(self) -> int:
        """How many features there are."""
        return len(self.own_names) + self.indicator

    def transform(self, column: Series) -> Rows:
        """Return all features."""
        own = self.features(column)
        if not self.indicator:
            return own
        gone = self.missing(column)[:, None].astype(np.float64)
        return sp.hstack([own, sp.csr_matrix(gone)], format="csr") if sp.issparse(own) else np.hstack([own, gone])
