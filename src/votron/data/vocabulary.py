"""Words for what can be said of tables: kinds of columns and labels, and what is done about missing values.

Nothing else is loaded for it, neither NumPy nor polars.
"""

from __future__ import annotations

LABELS = ("required", "optional", "none")
"""Whether there must be labels, may be, or are left out."""
MISSING = ("refuse", "drop", "keep")
"""What reading does about missing values."""
STRATEGIES = {"mean": "mean", "median": "median", "most-frequent": "most_frequent"}
"""What can be filled in for missing numbers, and what scikit-learn calls it."""
NUMERIC = ("keep", "standard", "minmax", "maxabs")
"""What can happen to numbers of a table."""
KINDS = ("number", "text", "truth")
"""What a column of a table can be told to hold."""
TRUTH = {"true": True, "1": True, "false": False, "0": False}
"""What stands for truth values, in lower case."""


def stands_between(text: str) -> bool:
    """Tell whether it can stand between the fields of a line, or around them: one character that is part of neither.

    Examples
    --------
    >>> stands_between(";"), stands_between("a"), stands_between("::")
    (True, False, False)
    """
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"
