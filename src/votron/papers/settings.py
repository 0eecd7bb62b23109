"""The settings of `votron reproduce`; light, so that a wrong option is refused at once."""

from __future__ import annotations

from dataclasses import dataclass

from votron.errors import Parameter, VotronError

__all__ = ["EPOCHS_OF_DEGREE_1", "WHAT", "Settings", "parse_degrees"]

WHAT = ("table1", "table2", "table3", "figure2", "claims", "sparsity", "frontier")
"""What can be reproduced."""
EPOCHS_OF_DEGREE_1 = 10.0
"""Where the paper stops for degree 1."""


@dataclass(frozen=True)
class Settings:
    """What to run.

    Examples
    --------
    >>> from votron.papers.settings import Settings
    >>> Settings(what=("table2",), degrees=(1, 4), permutations=2).needed_degrees
    (4,)
    """

    what: tuple[str, ...] = WHAT
    degrees: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    permutations: int = 10
    epochs: float = 30.0
    jobs: int | None = None
    label_degree: int = 4

    @property
    def needed_degrees(self) -> tuple[int, ...]:
        """The degrees that what is asked for needs."""
        if set(self.what) & {"table1", "table3", "figure2", "claims"}:
            return self.degrees
        return (self.label_degree,) if set(self.what) & {"table2", "sparsity"} else ()

    @property
    def needs_machines(self) -> bool:
        """Whether what is asked for needs support vector machines."""
        by_label = self.label_degree in self.needed_degrees
        return by_label and bool(set(self.what) & {"table2", "sparsity", "claims"})


def parse_degrees(text: str) -> tuple[int, ...]:
    """Return the degrees that an option names.

    Examples
    --------
    >>> from votron.papers.settings import parse_degrees
    >>> parse_degrees("1-6"), parse_degrees("4"), parse_degrees("2,4-5")
    ((1, 2, 3, 4, 5, 6), (4,), (2, 4, 5))
    """
    found: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20):
            raise VotronError(
                Parameter("degrees"), f" must be such as 4, 1-6 or 2,4-5, from 1 to 20. Got {text!r} instead."
            )
        found |= set(range(int(low), int(high) + 1))
    return tuple(sorted(found))
