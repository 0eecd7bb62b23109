"""Boolean columns, as 1 and 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from votron._util.types import Floats, Series
from votron.tables.column import Survey, refusal
from votron.tables.number import NumberColumn, filling

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder


@dataclass
class BooleanColumn(NumberColumn):
    """True and False, which may also be given as 1 and 0."""

    holds: ClassVar[str] = "truth"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept booleans."""
        if survey.kind != "boolean":
            return None
        fill, _ = filling(survey, encoder.missing)
        return cls(survey.name, decimal="", center=0.0, scale=1.0, squash=False, fill=fill)

    def read(self, column: Series) -> Floats:
        found = super().read(column)
        if not ((found == 0) | (found == 1) | np.isnan(found)).all():
            raise refusal(column, self.name, "True and False, or 1 and 0, as in training")
        return found

    def value_of(self, features: Floats) -> str:
        return {0.0: "False", 1.0: "True"}.get(float(features[0]), "")
