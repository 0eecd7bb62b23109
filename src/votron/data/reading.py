"""Data of users, whatever they are in, at once or in batches: one path from a source to examples for all formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from votron._util.types import Params, RowsLike
from votron.data._sources import STDIN, Location, Source
from votron.data.examples import Examples, array_examples, convert_labels, with_numbers_of
from votron.data.formats import FORMATS, Format, Part, format_named, format_of_suffix
from votron.data.formats.images import ENDINGS as IMAGE_ENDINGS
from votron.data.options import BatchKeywords, ReadKeywords, ReadOptions
from votron.data.tables import frame_examples, place_in, polars, polars_errors
from votron.errors import DataError

__all__ = ["ExampleBatches", "open_batches", "read_examples"]

_UNLIMITED = 1 << 62


# -- at once, and in batches ------------------------------------------------------------------------------------------


def read_examples(path: str | os.PathLike[str], **options: Unpack[ReadKeywords]) -> Examples:
    r"""Read examples from a file, a folder or standard input.

    The format is recognised by the first bytes of a file, then by its name, then by its first line. Files may be
    compressed with gzip, bzip2, xz or zstd.

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
        If there is no such file, or it is not what it should be. Lines of text files are counted from 1, the header
        being the first; rows of other files are counted from 1 too.
    VotronError
        If a parameter is not valid.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import read_examples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("Outlook,Temp,Play\nRainy,85,no\nSunny,87,yes\n")
    ...     days = read_examples(path, label="Play")
    >>> days.X.rows()
    [('Rainy', 85), ('Sunny', 87)]
    >>> days.y.tolist()
    ['no', 'yes']
    """
    how = ReadOptions(**options)
    format, source = recognise(location_of(path), how)
    return next(read_parts(format, source, how, None))


def open_batches(path: str | os.PathLike[str], **options: Unpack[BatchKeywords]) -> ExampleBatches:
    """Open data to read them a batch at a time.

    CSV and TSV, JSON Lines and svmlight are read from files, compressed files and standard input in bounded
    memory; plain files of ``.npy``, Parquet and Arrow as well. Everything else is read as a whole and then cut into
    batches.

    Parameters
    ----------
    path : str or path-like
        As in `read_examples`. What the first batch shows (types of columns, whether features count from 0) holds for
        the others, and what does not fit is refused. Where no more than a batch is kept, ``max_bytes`` is no limit.
    **options
        How to read it: the parameters of `ReadOptions`, ``batch_bytes`` among them.

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
    return ExampleBatches(location_of(path), ReadOptions(**options))


class ExampleBatches:
    r"""Batches of examples from one source, read when they are asked for.

    Attributes
    ----------
    source : str
        The source as it was given.
    format : str
        What it is.
    n_features : int or None
        The number of features, where it was given.
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

    def __init__(self, location: str, options: ReadOptions) -> None:
        self.source = location
        self._options = options
        self.n_features = None if options.n_features is None else int(options.n_features)
        self._format, self._location = recognise(location, options)
        self.format = self._format.name
        self.bounded = self._format.in_bounded_memory(self._location)
        if self._format.sequential and self.bounded:
            self._location.max_bytes = _UNLIMITED  # no more than a batch is kept

    @property
    def rewindable(self) -> bool:
        """Whether iterating a second time reads it again from the beginning: not for standard input."""
        return bool(self._location.rewindable)

    @property
    def zero_based_unknown(self) -> bool:
        """Whether features may count from 0 or from 1, as in svmlight, and it was not given which."""
        return "zero_based" in self._format.options and self._options.zero_based is None

    def from_feature_zero(self) -> Iterator[Examples]:
        """Yield batches whose column 0 is feature 0, whether or not there is one.

        Where it is not known, the first batch cannot tell; one pass with these can.
        """
        return self._read(replace(self._options, zero_based=True, n_features=None))

    def __iter__(self) -> Iterator[Examples]:
        return self._read(self._options)

    def _read(self, options: ReadOptions) -> Iterator[Examples]:
        found, n_bytes = False, int(options.batch_bytes)
        if self.bounded:
            batches = read_parts(self._format, self._location, options, n_bytes)
        else:
            batches = _slices(next(read_parts(self._format, self._location, options, None)), n_bytes)
        for batch in batches:
            if batch.n_rows:
                found = True
                yield batch
            del batch  # not to be in memory while the next is read
        if not found:
            raise DataError(f"There are no examples in {self.source!r}, or none is left.")


def location_of(path: Any) -> str:
    """Return a path as text."""
    location = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(location, str) or not location:
        raise DataError(f"The data must be a file, a folder, '-' or a known set. Got {location!r} instead.")
    return location


# -- what it is -------------------------------------------------------------------------------------------------------


def recognise(location: str, options: ReadOptions) -> tuple[Format, Any]:
    """Return the format of data and where they are; refuse options that the format does not have."""
    by_name = next((format for format in FORMATS.values() if location in format.known), None)
    source: Location
    if by_name is not None:
        format, source = by_name, Location(location)
    elif location != STDIN and os.path.isdir(os.path.expanduser(location)):
        source = Location(location)
        format = _format_of_folder(source, options)
    else:
        source = Source(location, options.max_bytes, options.encoding)
        format = _format_of_file(source, options.format)
        if options.encoding is not None and "encoding" not in format.options and source.rewindable:
            source = Source(location, options.max_bytes)  # its bytes as they are
    if format.labels_at and options.label is not None and options.labels == "required":
        raise DataError(
            f"The labels of {source.name} are {format.labels_at}: leave label out. Got {options.label!r} instead.",
            parameter="label",
        )
    if options.part is not None and not format.has_parts(source):
        raise DataError(f"There is no part {options.part!r} of {source.name}: only image sets have parts.")
    of_formats = {name for other in FORMATS.values() for name in other.options}
    for name in options.given():
        if name in of_formats - {*format.options, *options.optional}:
            raise DataError(
                f"The option {name!r} is not for {source.name}, whose format is {format.name}: leave it out.",
                parameter=name,
            )
    return format, source


def _format_of_folder(source: Location, options: ReadOptions) -> Format:
    folder = Path(os.path.expanduser(source.location))
    for format in FORMATS.values():
        if options.format in (None, format.name) and format.is_folder(folder, options):
            if options.format is None and format.name == "images":
                _refuse_tables(folder, source.name)
            return format
    raise DataError(
        f"Data of format {options.format!r} are read from a file. Got the folder {source.location!r} instead."
    )


def _refuse_tables(folder: Path, name: str) -> None:
    """Say of a folder with files of data, and no image, what to do with it."""
    data = {suffix for format in FORMATS.values() if format.reads == "file" for suffix in format.suffixes}
    files = sorted(path for pattern in ("[!.]*", "[!.]*/[!.]*") for path in folder.glob(pattern))
    tables = [path for path in files if data & {suffix.lower() for suffix in path.suffixes[-2:]}]  # or compressed
    if tables and not any(path.suffix.lower() in IMAGE_ENDINGS for path in files):
        raise DataError(
            f"{name} is a folder of tables, such as {tables[0].relative_to(folder).as_posix()!r}, and has no "
            "images: name one of its files, or join them into one."
        )


def _format_of_file(source: Source, asked: str | None) -> Format:
    """Return the format: as given, or by the first bytes, the name, or the first line."""
    if asked is not None:
        format = format_named(asked)
        if format is None or format.reads != "file":
            raise DataError(f"{asked.capitalize()} are read from a folder. Got the file {source.name} instead.")
        return format
    named = format_of_suffix(source.suffix)
    if named is None:
        _refuse_foreign(source)
    begins = [format for format in FORMATS.values() if format.magic and source.head.startswith(format.magic)]
    if begins:
        return named if named in begins else begins[0]
    if named is not None:
        return named
    if not source.head.strip():
        raise DataError(f"Cannot read {source.name}: the file is empty.")
    # CSV, which takes any text, comes last.
    return next(format for format in reversed(FORMATS.values()) if format.looks_like(source.head))


def _refuse_foreign(source: Source) -> None:
    """Say of well-known files what they are, and what to do with them."""
    suffix = Path(source.location).suffix.lower()
    if (source.head.startswith(b"PK") and suffix in (".xlsx", ".xlsm", ".ods")) or suffix == ".xls":
        raise DataError(f"{source.name} is a workbook of a spreadsheet: save the sheet as CSV, and give that.")
    if source.head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")):
        raise DataError(
            f"{source.name} is one image: give the folder of images, in folders called after their classes."
        )
    if source.head[8:64].startswith(b'{"__metadata__":{"votron"'):
        raise DataError(f"{source.name} is a model file, not data: the model comes first, and the data after it.")


# -- reading it -------------------------------------------------------------------------------------------------------


def read_parts(format: Format, source: Any, options: ReadOptions, batch_bytes: int | None) -> Iterator[Examples]:
    """Yield examples, checked, in parts of about so many bytes; without a number, all of them joined."""
    parts, row = format.read(source, options, batch_bytes), 0
    try:
        for part in parts if batch_bytes is not None else _join_parts(parts, source.name):
            n_rows = part.n_rows
            examples = _check_part(part, format, source, options, row, may_be_empty=batch_bytes is not None)
            del part  # not to be in memory while the next is read
            yield examples
            del examples
            row += n_rows
    except MemoryError:
        raise DataError(
            f"There is not enough memory to read {source.name}: read it in batches with open_batches."
        ) from None


def _check_part(
    part: Part, format: Format, source: Location, options: ReadOptions, first_row: int, *, may_be_empty: bool
) -> Examples:
    """Return the examples of a part, if labels and features are what they must be."""
    about = replace(Examples(None, None, format.name, source.location, first_row=first_row), **part.about)
    if hasattr(part.X, "columns"):
        about = replace(about, lines=part.lines)
        found = frame_examples(
            part.X, options, place_in(part.lines, first_row), about, source.name, may_be_empty=may_be_empty
        )
        return _finish(found, options)
    for option in sorted({"as_text", "drop"} & options.given().keys() - {*options.optional}):
        raise DataError(
            f"The option {option!r} is for tables. {source.name} is not one: leave it out.", parameter=option
        )
    y = None if options.labels == "none" else part.y
    if y is None and options.labels == "required":
        raise DataError(f"There are no labels in {source.name}.")
    X = part.X
    if options.drop_unlabelled and y is not None and y.dtype.kind == "f" and (there := ~np.isnan(y)).sum() < len(y):
        n = int(len(y) - there.sum())
        X, y = X[there], y[there]
        about = replace(with_numbers_of(about, there), dropped=n, unlabelled=n)
    return _finish(array_examples(X, y, about, source.name, part.label), options)


def _finish(examples: Examples, options: ReadOptions) -> Examples:
    """Return examples whose labels are of the kind that was asked for; refuse images of another size than asked for."""
    shape, resize = examples.image_shape, options.resize
    if resize is not None and shape is not None and tuple(shape[:2]) != tuple(resize):
        raise DataError(
            f"Only images in folders are resized, here to {resize[0]} x {resize[1]}. Got {examples.source!r} with "
            f"images of {shape[0]} x {shape[1]} instead."
        )
    if examples.y is None or options.label_kind is None:
        return examples
    return replace(examples, y=convert_labels(examples.y, options.label_kind, f"The labels of {examples.source!r}"))


def _join_parts(parts: Iterator[Part], name: str) -> Iterator[Part]:
    """Yield all parts as one; formats with lines or other things known of rows have one part where all is wanted."""
    every = list(parts)
    if not every:
        raise DataError(f"There are no examples in {name}.")
    if len(every) == 1:
        yield every.pop()
        return
    first, y = every[0], None if every[0].y is None else np.concatenate([part.y for part in every])
    yield replace(first, X=_stacked([part.X for part in every], name), y=y)


def _stacked(parts: list[Any], name: str) -> RowsLike:
    if hasattr(parts[0], "columns"):
        with polars_errors(f"Cannot read {name}"):
            return polars().concat(parts, how="vertical_relaxed")
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _slices(whole: Examples, batch_bytes: int) -> Iterator[Examples]:
    """Yield examples that are in memory already, in batches."""
    n_bytes = whole.X.estimated_size() if whole.columns is not None else whole.X.shape[1] * 8 * whole.n_rows
    n = max(1, int(whole.n_rows * batch_bytes // max(n_bytes, 1)))
    for begin in range(0, whole.n_rows, n):
        y = None if whole.y is None else whole.y[begin : begin + n]
        about: Params = {name: getattr(whole, name) for name in ("files", "rows", "lines")}
        about = {name: None if values is None else values[begin : begin + n] for name, values in about.items()}
        yield replace(whole, X=whole.X[begin : begin + n], y=y, first_row=begin, **about)
