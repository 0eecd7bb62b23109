"""Data files: read at once or in batches, on one path for all formats, and written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from votron._util.files import write_bytes
from votron.data._sources import Source, source_errors
from votron.data.examples import Examples, array_examples, convert_labels
from votron.data.formats import FORMATS, Format, format_named, format_of_suffix
from votron.data.options import ReadOptions
from votron.data.tables import frame_examples
from votron.errors import DataError, VotronError

__all__ = ["ExampleBatches", "open_batches", "read_examples", "write_examples"]

_FOREIGN = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a workbook: save the sheet as CSV, and give that"),
    ".votron": "a model file, not data: the model comes first, and the data after it",
}


def read_examples(path: str | os.PathLike[str], **options: Any) -> Examples:
    r"""Read examples from a file, a folder or standard input.

    The format is recognised by the first bytes of a file, then by its name, then by its first line. Files may be
    compressed with gzip, bzip2 or xz.

    Parameters
    ----------
    path : str or path-like
        A file; a folder, of images in folders called after their classes, or with the four files of MNIST; ``"-"`` for
        standard input; or ``"digits"``, ``"mnist"`` or ``"fashion"``, as in `load_image_set`.
    **options
        How to read it: the parameters of `ReadOptions`, such as ``label``, ``missing`` and ``na_values``.

    Returns
    -------
    `Examples`
        The examples. Tables are frames of polars: `votron.TableEncoder` turns them into vectors.

    Raises
    ------
    DataError
        If there is no such file, or it is not what it should be. Lines and rows are counted from 1.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import read_examples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("Outlook,Temp,Play\nRainy,85,no\nSunny,87,yes\n")
    ...     days = read_examples(path, label="Play")
    >>> days.X.rows(), days.y.tolist()
    ([('Rainy', 85), ('Sunny', 87)], ['no', 'yes'])
    """
    how = ReadOptions(**options)
    format, source = recognise(path, how)
    return next(_examples(format, source, how, None))


def open_batches(path: str | os.PathLike[str], **options: Any) -> ExampleBatches:
    r"""Open data to read them a batch at a time.

    CSV and TSV, JSON Lines and svmlight are read in bounded memory; ``.npy``, Parquet and Arrow as well, unless they
    are compressed. Everything else is read as a whole and then cut into batches.

    Parameters
    ----------
    path : str or path-like
        As in `read_examples`. What the first batch shows (types of columns, whether features count from 0) holds for
        the others, and what does not fit is refused.
    **options
        How to read it: the parameters of `ReadOptions`, ``batch_bytes`` among them.

    Returns
    -------
    iterable of `Examples`
        To iterate over as often as wanted.

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
    how = ReadOptions(**options)
    return ExampleBatches(*recognise(path, how), how)


class ExampleBatches:
    """Batches of examples; ``bounded`` tells whether no more than one is in memory."""

    def __init__(self, format: Format, source: Source, options: ReadOptions) -> None:
        self._format, self._source, self._options = format, source, options
        self.bounded = format.in_bounded_memory(source)

    def again(self, **options: Any) -> ExampleBatches:
        """Return the same data, read with some other options."""
        return ExampleBatches(self._format, self._source, replace(self._options, **options))

    def __iter__(self) -> Iterator[Examples]:
        n_bytes, found = int(self._options.batch_bytes), False
        batches = _examples(self._format, self._source, self._options, n_bytes if self.bounded else None)
        for batch in batches if self.bounded else _slices(next(batches), n_bytes):
            if batch.n_rows:
                found = True
                yield batch
            del batch  # not to be in memory while the next is read
        if not found:
            raise DataError(f"There are no examples in {self._source.name}, or none is left.")


def _slices(whole: Examples, batch_bytes: int) -> Iterator[Examples]:
    """Yield examples that are in memory already, in batches."""
    n_bytes = whole.X.estimated_size() if whole.columns is not None else whole.X.shape[1] * 8 * whole.n_rows
    n = max(1, int(whole.n_rows * batch_bytes // max(n_bytes, 1)))
    for begin in range(0, whole.n_rows, n):
        batch = whole.take(np.arange(begin, min(begin + n, whole.n_rows)))
        if begin:
            batch = replace(batch, first_row=begin + whole.dropped, dropped=0, unlabelled=0, notes=())
        yield batch


def _examples(format: Format, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Examples]:
    """Yield examples, checked, in parts of about so many bytes; without a number, all of them."""
    row = 0
    with source_errors(source):
        for part in format.read(source, options, batch_bytes):
            about = Examples(part.X, None, format.name, source.location, first_row=row, lines=part.lines)
            about = replace(about, **part.about)
            row += part.X.shape[0]
            if about.columns is not None:
                found = frame_examples(part, options, about, source.name, may_be_empty=batch_bytes is not None)
            else:
                found = array_examples(part, options, about, source.name)
            if found.y is not None:
                what = f"The labels of {source.name}"
                found = replace(found, y=convert_labels(found.y, options.label_kind, what, found.place))
            del part, about  # not to be in memory while the next is read
            yield found
            del found
    if not row:
        raise DataError(f"There are no examples in {source.name}.")


def recognise(path: str | os.PathLike[str], options: ReadOptions) -> tuple[Format, Source]:
    """Return the format of data and where they are; refuse a part of what has none."""
    location = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(location, str) or not location:
        raise DataError(f"The data must be a file, a folder, '-' or a known set. Got {location!r} instead.")
    source = Source(location, options.max_bytes, options.encoding)
    known = next((format for format in FORMATS.values() if location in format.known), None)
    with source_errors(source):
        format = known or (_format_of_folder if source.is_folder else _format_of_file)(source, options)
    if options.part is not None and not format.has_parts:
        raise DataError(f"There are no parts of {source.name}: leave part out.", parameter="part")
    return format, source


def _format_of_folder(source: Source, options: ReadOptions) -> Format:
    folder = Path(os.path.expanduser(source.location))
    for format in FORMATS.values():
        if options.format in (None, format.name) and format.is_folder(folder, options):
            return format
    raise DataError(
        f"Data of format {options.format!r} are read from a file. Got the folder {source.location!r} instead."
    )


def _format_of_file(source: Source, options: ReadOptions) -> Format:
    """Return the format: as given, or by the first bytes, the name, or the first line."""
    asked = None if options.format is None else format_named(options.format)
    if asked is not None:
        if asked.reads != "file":
            raise DataError(f"{asked.name.capitalize()} are read from a folder. Got the file {source.name} instead.")
        return asked
    named = format_of_suffix(source.suffix)
    if named is None and source.suffix in _FOREIGN:
        raise DataError(f"{source.name} is {_FOREIGN[source.suffix]}.")
    begins = [format for format in FORMATS.values() if format.magic and source.head.startswith(format.magic)]
    if begins:
        return named if named in begins else begins[0]
    if named is not None:
        return named
    return next((format for format in FORMATS.values() if format.looks_like(source.head)), FORMATS["csv"])


def write_examples(examples: Examples, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write examples to a file, which is the old one or the new one at any moment.

    Tables get the labels as their last column, called as it was, or "label"; features without a name are called x0,
    x1, and so on. An ``.npz`` file has the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``.
    svmlight is as svm-train takes it: features count from 1, truth values are 1 and -1, unknown labels 0.

    Parquet, Arrow, ``.npz`` and JSON are read again as they were. CSV and TSV do not tell texts from numbers: texts
    that look like numbers, truth values or missing values need ``as_text`` or ``na_values=()`` when they are read.

    Parameters
    ----------
    examples : Examples
        The examples.
    path : str or path-like
        The file.
    format : {"csv", "tsv", "json", "jsonl", "parquet", "arrow", "svmlight", "npz"}, optional
        By default what the name of the file says.

    Raises
    ------
    VotronError
        If there is no such format, or it cannot hold the examples, such as texts in svmlight.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from votron.data import Examples, write_examples
    >>> examples = Examples(np.array([[0.5, 0.0], [0.0, 2.0]]), np.array([1, -1]), "npy", "two.npy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     write_examples(examples, path)
    ...     print(path.read_text(), end="")
    1 1:0.5
    -1 2:2
    """
    target = Path(os.path.expanduser(path))
    chosen = format_named(format) if format is not None else format_of_suffix(target.suffix.lower())
    written = [name for name, each in FORMATS.items() if type(each).write is not Format.write]
    if chosen is None or chosen.name not in written:
        rule = ", ".join(map(repr, written))
        raise VotronError(
            f"The 'format' parameter of write_examples must be one of {rule}, or the name of the file must say. "
            f"Got {format!r} for {target.name!r} instead.",
            parameter="format",
        )
    content = chosen.write(examples)
    try:
        write_bytes(target, content)
    except OSError as error:
        raise DataError(f"Cannot write '{target}': {error.strerror or error}.") from None
