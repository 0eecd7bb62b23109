"""Reading data larger than memory, a batch at a time.

Text is cut at ends of lines outside of quotes, and each part read as a file of its own, with the types of the first
part. A batch of text takes about twelve times its bytes in memory while it is read, and up to forty times if its fields
are of a character each; the one before is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from votron.data._batch_readers import (
    array_batches,
    columnar_batches,
    idx_batches,
    separated_batches,
    slices,
    svmlight_batches,
)
from votron.data._budget import MAX_BYTES
from votron.data._options import ReadOptions, check_count
from votron.data._sources import STDIN, Source
from votron.data.examples import Examples
from votron.data.formats import KNOWN_SETS
from votron.data.reading import check_label_use, find_format, finished, given_path, read_examples, whole
from votron.errors import DataError

__all__ = ["Batches", "open_batches"]

BATCH_BYTES = 32 << 20
_UNLIMITED = 1 << 62
_SEQUENTIAL = ("csv", "tsv", "svmlight", "idx")


class Batches:
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

    def __init__(self, given: str, options: ReadOptions, batch_bytes: int) -> None:
        self.source = given
        self._options, self._batch_bytes = options, batch_bytes
        self.n_features = None if options.n_features is None else int(options.n_features)
        self._used = False
        self._file: Source | None = None
        if given in KNOWN_SETS or (given != STDIN and os.path.isdir(os.path.expanduser(given))):
            self.format, self.bounded = "images", False
            return
        self._file = Source(given, options.max_bytes)
        self.format = find_format(self._file, options.format)
        check_label_use(options, self.format, self._file.name)
        if self.format in _SEQUENTIAL:
            self._file.max_bytes = _UNLIMITED  # no more than a batch is kept
        plain = self._file.size is not None
        self.bounded = (
            self.format in _SEQUENTIAL or (plain and self.format in ("npy", "parquet")) or self._is_arrow_file()
        )

    @property
    def rewindable(self) -> bool:
        """Whether iterating a second time reads it again from the beginning.

        Examples
        --------
        >>> from votron.data import open_batches
        >>> open_batches("digits").rewindable
        True
        """
        return self._file is None or self._file.rewindable

    @property
    def may_count_from_zero(self) -> bool:
        """Whether it is a file of svmlight of which nobody said if its features count from 0 or from 1.

        Examples
        --------
        >>> from votron.data import open_batches
        >>> open_batches("digits").may_count_from_zero
        False
        """
        return self.format == "svmlight" and self._options.zero_based is None

    def numbered_as_in_the_file(self) -> Iterator[Examples]:
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
        ...     [batch.X.toarray().tolist() for batch in batches.numbered_as_in_the_file()]
        [[[0.0, 5.0]], [[7.0]]]
        """
        return self._read(replace(self._options, zero_based=True, n_features=None))

    def __iter__(self) -> Iterator[Examples]:
        return self._read(self._options)

    def _read(self, options: ReadOptions) -> Iterator[Examples]:
        if self._used and not self.rewindable:
            raise DataError("Standard input, or a pipe, can be read once only: give a file.")
        self._used = True
        found = False
        for batch in self._batches(options):
            if batch.n_rows:
                found = True
                yield finished(batch, options)
        if not found:
            raise DataError(f"There are no examples in {self.source!r}, or none is left.")

    def _batches(self, options: ReadOptions) -> Iterator[Examples]:
        if self._file is None:
            return slices(read_examples(self.source, **vars(options)), self._batch_bytes)
        if not self.bounded:
            return slices(whole(self._file, options), self._batch_bytes)
        readers = {
            "csv": separated_batches,
            "tsv": separated_batches,
            "svmlight": svmlight_batches,
            "idx": idx_batches,
            "npy": array_batches,
        }
        about = Examples(None, None, self.format, self.source)
        return readers.get(self.format, columnar_batches)(self._file, about, options, self._batch_bytes)

    def _is_arrow_file(self) -> bool:
        source = self._file
        return (
            self.format == "arrow" and source is not None and source.size is not None and source.head[:6] == b"ARROW1"
        )


def open_batches(
    path: str | os.PathLike[str],
    *,
    label: str | int | os.PathLike[str] | None = None,
    labels: str = "required",
    label_kind: str | None = None,
    format: str | None = None,
    drop: Iterable[str | int] = (),
    missing: str = "refuse",
    na_values: Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
    as_text: Iterable[str] = (),
    n_features: int | None = None,
    zero_based: bool | None = None,
    max_bytes: int = MAX_BYTES,
    part: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    colour: bool = False,
    resize: tuple[int, int] | None = None,
    batch_bytes: int = BATCH_BYTES,
) -> Batches:
    """Open data to read them a batch at a time.

    CSV and TSV, svmlight and IDX are read from files, compressed files and standard input in bounded memory; plain
    files of ``.npy``, Parquet and Arrow as well, by rows. Everything else is read as a whole and then cut into batches.

    Parameters
    ----------
    path, label, labels, label_kind, format, drop, missing, na_values, columns, as_text, n_features, zero_based, part
        As in `read_examples`. What the first batch shows (types of columns, whether features count from 0) holds
        for the others, and what does not fit is refused.
    header, delimiter, quote, colour, resize
        As in `read_examples`.
    max_bytes : int, default=4 GiB
        As in `read_examples`, but for text and IDX, which may be of any length, since no more than a batch is kept. A
        record of text may have 64 MiB; of Parquet and Arrow, a group of rows, once expanded, must fit into 80 % of the
        memory that is free.
    batch_bytes : int, default=32 MiB
        How many bytes of text, or of numbers, a batch has, about. While text is read it takes about twelve times as
        much in memory, and up to forty times if its fields are of a character each.

    Returns
    -------
    Batches
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
    options = ReadOptions.of("open_batches", locals())
    check_count("open_batches", "batch_bytes", batch_bytes)
    return Batches(given_path(path), options, int(batch_bytes))
