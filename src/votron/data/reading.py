"""Data of users, whatever they are in: one function for all formats, and one path from a source to examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron.data._sources import STDIN, Location, Source
from votron.data.examples import Examples, array_examples, labels_as
from votron.data.formats import FORMATS, Format, Part, format_named, format_of_suffix
from votron.data.options import ReadOptions, takes
from votron.data.tables import frame_examples, polars, sentences
from votron.errors import DataError, Parameter

__all__ = ["read_examples"]


@takes(ReadOptions)
def read_examples(path: str | os.PathLike[str], options: ReadOptions) -> Examples:
    r"""Read examples from a file, a folder or standard input.

    The format is recognised by the first bytes of a file, then by its name, then by its first line. Text and IDX
    files, and ``.npy``, may be compressed with gzip, bzip2, xz or zstd.

    Parameters
    ----------
    path : str or path-like
        A file; a folder, of images in folders called after their classes, or with the four files of MNIST; ``"-"`` for
        standard input; or ``"digits"``, ``"mnist"`` or ``"fashion"``, as in `load_image_set`.
    {options}

    Returns
    -------
    `Examples`
        The examples. Tables are frames of polars: `make_encoder` turns them into vectors.

    Raises
    ------
    DataError
        If there is no such file, or it is not what it should be. Lines of text files are counted from 1, the header
        being the first; rows of other files are counted from 1 too.
    VotronError
        If a parameter cannot be meant.

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
    format, source = recognised(location_of(path), options)
    return whole(format, source, options)


def location_of(path: Any) -> str:
    """Return a path as text."""
    location = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(location, str) or not location:
        raise DataError(f"The data must be a file, a folder, '-' or a known set. Got {location!r} instead.")
    return location


# -- what it is -------------------------------------------------------------------------------------------------------


def recognised(location: str, options: ReadOptions) -> tuple[Format, Any]:
    """Return the format of data and where they are; refuse options that the format does not have."""
    by_name = next((format for format in FORMATS.values() if location in format.known), None)
    source: Location
    if by_name is not None:
        format, source = by_name, Location(location)
    elif location != STDIN and os.path.isdir(os.path.expanduser(location)):
        source = Location(location)
        format = _format_of_folder(source, options)
    else:
        source = Source(location, options.max_bytes)
        format = _format_of_file(source, options.format)
    if format.labels_at and options.label is not None and options.labels == "required":
        raise DataError(
            f"The labels of {source.name} are {format.labels_at}: leave ",
            Parameter("label"),
            f" out. Got {options.label!r} instead.",
        )
    if options.part is not None and not format.has_parts(source):
        raise DataError(f"There is no part {options.part!r} of {source.name}: only image sets have parts.")
    if format.needs_end and source.size is None and not source.head.startswith(format.magic):
        # a pipe, or a compressed file, before all of it is read
        raise DataError(f"Cannot read {source.name} as {format.name}: it does not begin like that.")
    return format, source


def _format_of_folder(source: Location, options: ReadOptions) -> Format:
    folder = Path(os.path.expanduser(source.location))
    for format in FORMATS.values():
        if options.format in (None, format.name) and format.is_folder(folder, options):
            return format
    raise DataError(
        f"Data of format {options.format!r} are read from a file. Got the folder {source.location!r} instead."
    )


def _format_of_file(source: Source, asked: str | None) -> Format:
    """Return the format: as told, or by the first bytes, the name, or the first line."""
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
    found = next((format for format in reversed(FORMATS.values()) if format.looks_like(source.head)), None)
    if found is None:
        raise DataError(f"Cannot read {source.name}: its format is not known. Say which it is with format.")
    return found


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
    if source.head.lstrip()[:1] in (b"{", b"[") and suffix in (".json", ".jsonl", ".ndjson"):
        raise DataError(f"{source.name} is JSON, which is not read here: save the table as CSV or Parquet.")


# -- reading it -------------------------------------------------------------------------------------------------------


def whole(format: Format, source: Any, options: ReadOptions) -> Examples:
    """Return all examples."""
    return next(read_parts(format, source, options, None))


def read_parts(format: Format, source: Any, options: ReadOptions, batch_bytes: int | None) -> Iterator[Examples]:
    """Yield examples, checked, in parts of about so many bytes; without a number, all of them joined."""
    parts, row = format.read(source, options, batch_bytes), 0
    for part in parts if batch_bytes is not None else _joined(parts, source.name):
        n_rows = part.n_rows
        examples = _checked(part, format, source, options, row, may_be_empty=batch_bytes is not None)
        del part  # not to be in memory while the next is read
        yield examples
        del examples
        row += n_rows


def _checked(
    part: Part, format: Format, source: Location, options: ReadOptions, first_row: int, *, may_be_empty: bool
) -> Examples:
    """Return the examples of a part, if labels and features are what they must be."""
    about = replace(Examples(None, None, format.name, source.location, first_row=first_row), **part.about)
    if hasattr(part.X, "columns"):
        place = part.place or (lambda row: f"row {first_row + row + 1} (the first is 1)")
        table = replace(options.table, may_be_empty=may_be_empty)
        return _finished(frame_examples(part.X, table, place, about, source.name), options)
    y = None if options.labels == "none" else part.y
    if y is None and options.labels == "required":
        raise DataError(f"There are no labels in {source.name}.")
    return _finished(array_examples(part.X, y, about, source.name, part.label), options)


def _finished(examples: Examples, options: ReadOptions) -> Examples:
    """Return examples whose labels are of the kind that was asked for; refuse images of another size than asked for."""
    shape, resize = examples.image_shape, options.resize
    if resize is not None and shape is not None and tuple(shape[:2]) != tuple(resize):
        raise DataError(
            f"Only images in folders are brought to another size with resize, here {resize[0]} x {resize[1]}. Got "
            f"{examples.source!r} with images of {shape[0]} x {shape[1]} instead."
        )
    if examples.y is None or options.label_kind is None:
        return examples
    return replace(examples, y=labels_as(examples.y, options.label_kind, f"The labels of {examples.source!r}"))


def _joined(parts: Iterator[Part], name: str) -> Iterator[Part]:
    """Yield all parts as one."""
    first, others = next(parts, None), list(parts)
    if first is None:
        raise DataError(f"There are no examples in {name}.")
    if not others:
        yield first
        return
    every = [first, *others]
    y = None if first.y is None else np.concatenate([part.y for part in every])
    yield replace(first, X=_stacked([part.X for part in every], name), y=y, place=_place_in(every))


def _stacked(parts: list[Any], name: str) -> Any:
    if hasattr(parts[0], "columns"):
        with sentences(f"Cannot read {name}"):
            return polars().concat(parts, how="vertical_relaxed")
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _place_in(parts: list[Part]) -> Callable[[int], str] | None:
    """Return what says where a row of all parts is, if the parts say it."""
    places, ends = [part.place for part in parts], np.cumsum([part.n_rows for part in parts])

    def place(row: int) -> str:
        i = int(np.searchsorted(ends, row, side="right"))
        say: Any = places[i]
        return str(say(row - (int(ends[i - 1]) if i else 0)))

    return None if None in places else place
