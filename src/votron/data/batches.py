"""Batches of data larger than memory.

Text is cut at ends of lines outside of quotes, and each part read as a file of its own, with the types of the first
part. A batch of text takes about twelve times its bytes in memory while it is read, and up to forty times if its fields
are of a character each; the one before is not kept.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from votron.data.examples import Examples
from votron.data.options import BatchOptions, takes
from votron.data.reading import location_of, read_parts, recognised, whole
from votron.errors import DataError

__all__ = ["ExampleBatches", "open_batches"]

_UNLIMITED = 1 << 62


class ExampleBatches:
    r"""Batches of examples from one source, read when they are asked for.

    Attributes
    ----------
    source : str
        The source as it was given.
    format : str
        What it is.
    n_features : int or None
        How many features there are, where that was said.
    rewindable : bool
        Whether iterating a second time reads it again from the beginning: not for standard input.
    bounded : bool
        Whether a batch is all that is in memory; false for what can only be read as a whole, such as ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import open_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("Temp,Play\n85,no\n87,yes\n75,yes\n")
    ...     batches = open_batches(path, label="Play", batch_bytes=20)
    ...     [(batch.first_row, batch.y.tolist()) for batch in batches]
    [(0, ['no']), (1, ['yes', 'yes'])]
    """

    def __init__(self, location: str, options: BatchOptions) -> None:
        self.source = location
        self._options = options
        self.n_features = None if options.n_features is None else int(options.n_features)
        self._used = False
        self._format, self._location = recognised(location, options)
        self.format = self._format.name
        self.bounded = self._format.in_bounded_memory(self._location)
        if self._format.sequential and self.bounded:
            self._location.max_bytes = _UNLIMITED  # no more than a batch is kept

    @property
    def rewindable(self) -> bool:
        """Whether iterating a second time reads it again from the beginning.

        Examples
        --------
        >>> from votron.data import open_batches
        >>> open_batches("digits").rewindable
        True
        """
        return bool(self._location.rewindable)

    @property
    def zero_based_unknown(self) -> bool:
        """Whether features may count from 0 or from 1, as in svmlight, and nobody said which.

        Examples
        --------
        >>> from votron.data import open_batches
        >>> open_batches("digits").zero_based_unknown
        False
        """
        return "zero_based" in self._format.options and self._options.zero_based is None

    def from_feature_zero(self) -> Iterator[Examples]:
        r"""Yield batches whose column 0 is feature 0, whether or not there is one.

        Where it is not known, the first batch cannot tell; one pass with these can.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from votron.data import open_batches
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "data.svm")
        ...     _ = path.write_text("1 1:5\n-1 0:7\n")
        ...     batches = open_batches(path, batch_bytes=6)
        ...     [batch.X.toarray().tolist() for batch in batches.from_feature_zero()]
        [[[0.0, 5.0]], [[7.0]]]
        """
        return self._read(replace(self._options, zero_based=True, n_features=None))

    @property
    def may_count_from_zero(self) -> bool:
        """The old name of `zero_based_unknown`."""
        _renamed("may_count_from_zero", "zero_based_unknown")
        return self.zero_based_unknown

    def numbered_as_in_the_file(self) -> Iterator[Examples]:
        """Do as `from_feature_zero`: this is its old name."""
        _renamed("numbered_as_in_the_file", "from_feature_zero")
        return self.from_feature_zero()

    def __iter__(self) -> Iterator[Examples]:
        return self._read(self._options)

    def _read(self, options: BatchOptions) -> Iterator[Examples]:
        if self._used and not self.rewindable:
            raise DataError("Standard input, or a pipe, can be read once only: give a file.")
        self._used = True
        found = False
        for batch in self._batches(options):
            if batch.n_rows:
                found = True
                yield batch
            del batch  # not to be in memory while the next is read
        if not found:
            raise DataError(f"There are no examples in {self.source!r}, or none is left.")

    def _batches(self, options: BatchOptions) -> Iterator[Examples]:
        n_bytes = int(options.batch_bytes)
        if self.bounded:
            return read_parts(self._format, self._location, options, n_bytes)
        return _slices(whole(self._format, self._location, options), n_bytes)


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}.", DeprecationWarning, stacklevel=3)


def _slices(whole: Examples, batch_bytes: int) -> Iterator[Examples]:
    """Yield examples that are in memory already, in batches."""
    n_bytes = whole.X.estimated_size() if whole.columns is not None else whole.X.shape[1] * 8 * whole.n_rows
    n = max(1, int(whole.n_rows * batch_bytes // max(n_bytes, 1)))
    for begin in range(0, whole.n_rows, n):
        y = None if whole.y is None else whole.y[begin : begin + n]
        files = None if whole.files is None else whole.files[begin : begin + n]
        yield replace(whole, X=whole.X[begin : begin + n], y=y, first_row=begin, files=files)


@takes(BatchOptions)
def open_batches(path: str | os.PathLike[str], options: BatchOptions) -> ExampleBatches:
    """Open data to read them a batch at a time.

    CSV and TSV, svmlight and IDX are read from files, compressed files and standard input in bounded memory; plain
    files of ``.npy``, Parquet and Arrow as well, by rows. Everything else is read as a whole and then cut into batches.

    Parameters
    ----------
    path : str or path-like
        As in `read_examples`. What the first batch shows (types of columns, whether features count from 0) holds
        for the others, and what does not fit is refused. Text and IDX may be of any length whatever ``max_bytes`` says,
        since no more than a batch is kept. A record of text may have 64 MiB; of Parquet and Arrow, a group of rows,
        once expanded, must fit into 80 % of the memory that is free.
    {options}

    Returns
    -------
    ExampleBatches
        To iterate over, as often as wanted unless it is standard input.

    Raises
    ------
    DataError
        If there is no such file, or, while iterating, if it is not what it should be.

    Examples
    --------
    >>> from votron.data import open_batches
    >>> sum(len(batch) for batch in open_batches("digits", batch_bytes=10_000))
    1200
    """
    return ExampleBatches(location_of(path), options)


def __getattr__(name: str) -> Any:
    if name == "Batches":
        warnings.warn("votron.data.Batches is now called ExampleBatches.", DeprecationWarning, stacklevel=2)
        return ExampleBatches
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
