"""Values and words that were not in the training data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from votron._util.text import counted, first_of, shortened

_SHOWN = 5


@dataclass
class Unseen:
    """Values and words that were not in the training data, by column; false if there are none.

    Attributes
    ----------
    values : dict of str to Counter
        Number of occurrences of each unseen value, for each column that has any.

    Examples
    --------
    >>> found = Unseen({"sky": Counter(hail=2, fog=1)})
    >>> found.update(Unseen({"sky": Counter(hail=1)}))
    >>> print(*found.sentences())
    The column 'sky' has 2 values, in 4 places, that were not in the training data: 'hail' (3), 'fog' (1).
    """

    values: dict[str, Counter[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.values)

    def update(self, other: Unseen) -> None:
        """Add the values found in other rows."""
        for column, counts in other.values.items():
            self.values.setdefault(column, Counter()).update(counts)

    def sentences(self) -> list[str]:
        """Return one sentence for each column."""
        found = []
        for column, counts in self.values.items():
            most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            named = [f"{shortened(repr(value))} ({n:,})" for value, n in most]
            found.append(
                f"The column {column!r} has {counted(len(most), 'value')}, in {counted(counts.total(), 'place')}, "
                f"that {'was' if len(most) == 1 else 'were'} not in the training data: {first_of(named, _SHOWN)}."
            )
        return found
