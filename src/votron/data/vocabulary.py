"""Words for what can be said of tables: kinds of columns and labels, and what is done about missing values.

Nothing else is loaded for it, neither NumPy nor polars.
"""

LABELS = ("required", "optional", "none")
"""Whether there must be labels, may be, or are left out."""
MISSING = ("refuse", "drop", "keep")
"""What reading does about missing values."""
STRATEGIES = {"mean": "mean", "median": "median", "most-frequent": "most_frequent"}
"""What can be filled in for missing numbers, and what scikit-learn calls it."""
NUMERIC = ("keep", "standard", "robust", "minmax", "maxabs")
"""What can happen to numbers of a table."""
LABEL_KINDS = ("number", "text", "truth")
"""What labels can be told to be."""
KINDS = (*LABEL_KINDS, "date")
"""What a column of a table can be told to hold."""
DATES = ("cyclic", "onehot")
"""What can become of dates."""
TRUTH = {"true": True, "1": True, "false": False, "0": False}
"""What stands for truth values, in lower case."""
