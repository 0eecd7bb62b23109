"""The memory that reading may take: a share of what is free, beside the limit that users set on what is expanded.

What a file says of itself is compared with both before memory is taken for it. `max_bytes` is about the file: how long
it may be, once expanded. The share of free memory is about the machine, and no option raises it.
"""

from __future__ import annotations

from votron._resources import available_memory
from votron._sentences import exact_bytes, rounded_bytes
from votron.errors import DataError, Parameter, Phrase

MAX_BYTES = 4 << 30
"""What compressed input, standard input or an archive may expand to, if not told otherwise: 4 GiB."""
SHARE = 0.8
"""The part of the free memory that reading may take."""
IN_BATCHES = Phrase("in batches", "read it in batches with open_batches")
"""What to do about data that are too large, where reading in batches helps."""
EXPAND = Phrase("expand", "expand it on disk and ", IN_BATCHES)
"""What to do where it helps with plain files only."""


def memory_budget() -> int:
    """Return how many bytes reading may take now."""
    return int(SHARE * available_memory())


def check_memory(n: float, name: str, *, budget: int | None = None, remedy: str | Phrase = IN_BATCHES) -> None:
    """Refuse what would take so many bytes of memory, if that is more than the budget: by default that of now."""
    allowed = memory_budget() if budget is None else budget
    if n > allowed:
        raise DataError(
            f"Reading {name} would take {rounded_bytes(n)} of memory or more, and the limit is "
            f"{rounded_bytes(allowed)}, {SHARE:.0%} of what is free: ",
            remedy,
            ", or where more memory is free.",
        )


def check_expanded(n: int, max_bytes: int, what: str) -> None:
    """Refuse what expands to so many bytes, if that is more than the limit."""
    if n > max_bytes:
        raise DataError(
            f"{what} expands to more than the {exact_bytes(max_bytes)} that ",
            Parameter("max_bytes"),
            " allows: raise it if that is right.",
        )
