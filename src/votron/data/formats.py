"""The formats of files, by name: what can be read, what can be written, and what the end of a file's name says.

Nothing else is loaded for it, neither NumPy nor polars.
"""

from __future__ import annotations

FORMATS = ("csv", "tsv", "parquet", "arrow", "svmlight", "idx", "npy", "npz", "images")
"""What `read_examples` reads; "images" are folders of them."""
WRITTEN_FORMATS = ("csv", "tsv", "parquet", "arrow", "svmlight", "npz")
"""What `write_examples` writes."""
TABLES = ("csv", "tsv", "parquet", "arrow")
"""What becomes a frame."""
KNOWN_SETS = ("digits", "mnist", "fashion")
"""Names that stand for sets of images, and for no file."""
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npy": "npy",
    ".npz": "npz",
    ".idx": "idx",
}
"""What the end of a name says, in lower case; of those in `WRITTEN_FORMATS`, also where to write."""
LABELS = ("required", "optional", "none")
"""Whether there must be labels, may be, or are left out."""
MISSING = ("refuse", "drop", "keep")
"""What reading does about missing values."""
KINDS = ("number", "text", "truth")
"""What a column of a table can be told to hold."""
