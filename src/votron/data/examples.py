"""Examples, wherever they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Examples"]


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Examples that were read: features, labels if there are any, and what is known of where they came from.

    Attributes
    ----------
    X : DataFrame of polars, ndarray or CSR matrix
        A row an example: a frame where the source is a table, numbers otherwise.
    y : ndarray or None
        Their labels: int64, text, truth values, or float64 if some are not whole; None where they are not known.
    format : str
        What the source is, such as "csv".
    source : str
        The source as it was given.
    label : str or None
        The name of the column, key or file that the labels were in.
    image_shape : tuple of int or None
        Height and width of the images, and the number of colours if there are several.
    dropped : int
        How many rows were left out since something was missing in them.
    zero_based : bool or None
        For svmlight, whether the first feature has number 0; None otherwise.
    header, delimiter, quote : bool, str and str, or None
        For CSV and TSV, what was used, given or found: whether the first line names the columns, and the characters
        between and around fields ("" for none); None otherwise. They are what `read_examples` takes.
    files : tuple of str or None
        For folders of images, the file of each row, from the folder on; None otherwise.
    first_row : int
        How many examples of the source come before these, those left out included: not 0 for later batches.
    notes : tuple of str
        What users should know about the reading, in sentences.

    Examples
    --------
    >>> from votron.data import read_examples
    >>> digits = read_examples("digits")
    >>> digits
    <Examples of 'digits': 1,200 rows, 64 features, 10 classes>
    >>> digits.image_shape
    (8, 8)
    """

    X: Any
    y: NDArray[Any] | None
    format: str
    source: str
    label: str | None = None
    image_shape: tuple[int, ...] | None = None
    dropped: int = 0
    zero_based: bool | None = None
    header: bool | None = None
    delimiter: str | None = None
    quote: str | None = None
    files: tuple[str, ...] | None = None
    first_row: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """How many examples there are.

        Examples
        --------
        >>> from votron.data import read_examples
        >>> read_examples("digits").n_rows
        1200
        """
        return int(self.X.shape[0])

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of a table; None for what is no table.

        Examples
        --------
        >>> import numpy as np
        >>> from votron.data import Examples
        >>> Examples(np.ones((2, 3)), None, "npy", "ones.npy").columns is None
        True
        """
        return list(self.X.columns) if hasattr(self.X, "columns") else None

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        what = "features" if self.columns is None else "columns"
        classes = "no labels" if self.y is None else f"{len(np.unique(self.y)):,} classes"
        return f"<Examples of {self.source!r}: {self.n_rows:,} rows, {self.X.shape[1]:,} {what}, {classes}>"
