"""The papers' experiments, tables and figures as data: the settings of ``votron reproduce``, which are light."""

from __future__ import annotations

from dataclasses import dataclass

from votron.errors import VotronError

WHAT = ("table1", "table2", "table3", "figure2", "claims", "sparsity", "frontier")
"""The results that can be reproduced."""
EPOCHS_OF_DEGREE_1 = 10.0
"""The last epoch of the paper for degree 1."""
LABEL_DEGREE = 4
"""The degree of Table 2, of the sparsity table and of the support vector machines."""


@dataclass(frozen=True)
class Settings:
    """Settings of a reproduction: experiments, degrees, permutations, epochs, and runs at a time."""

    what: tuple[str, ...] = WHAT
    degrees: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    permutations: int = 10
    epochs: float = 30.0
    jobs: int | None = None

    def asks_for(self, *names: str) -> bool:
        return bool(set(self.what) & set(names))

    @property
    def needed_degrees(self) -> tuple[int, ...]:
        if self.asks_for("table1", "table3", "figure2", "claims"):
            return self.degrees
        return (LABEL_DEGREE,) if self.asks_for("table2", "sparsity") else ()

    @property
    def needs_machines(self) -> bool:
        return LABEL_DEGREE in self.needed_degrees and self.asks_for("table2", "sparsity", "claims")


def parse_degrees(text: str) -> tuple[int, ...]:
    """Return the degrees of an option such as "4", "1-6" or "2,4-5"."""
    found: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20):
            raise VotronError(
                f"degrees must be such as 4, 1-6 or 2,4-5, from 1 to 20. Got {text!r} instead.", parameter="degrees"
            )
        found |= set(range(int(low), int(high) + 1))
    return tuple(sorted(found))
