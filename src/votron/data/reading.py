"""Reading users' own data, whatever they are in: one function for all formats."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from votron.data._arrays import read_npy
from votron.data._budget import MAX_BYTES
from votron.data._columnar import columnar_examples
from votron.data._csv import BYTES_A_BYTE, Layout, Meter, find_layout, read_part
from votron.data._csv_layout import MAX_SPLIT, check_text, cleaned, find_dialect, has_old_ends
from votron.data._frame_examples import frame_examples
from votron.data._idx_examples import idx_examples
from votron.data._image_folders import image_examples
from votron.data._labels import labels_as
from votron.data._npz import read_npz
from votron.data._options import ReadOptions
from votron.data._sources import HEAD, STDIN, Source
from votron.data._svmlight import LOOKS_LIKE, read_svmlight, svmlight_text
from votron.data.examples import Examples
from votron.data.formats import KNOWN_SETS, SUFFIXES
from votron.errors import DataError, Parameter

__all__ = ["read_examples"]

_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\0\0\x08": "idx",
    b"\0\0\x09": "idx",
    b"\0\0\x0b": "idx",
    b"\0\0\x0c": "idx",
    b"\0\0\x0d": "idx",
    b"\0\0\x0e": "idx",
}


_SAMPLE = 1 << 16


def read_examples(
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
) -> Examples:
    r"""Read examples from a file, a folder or standard input.

    The format is recognised by the first bytes of a file, then by its name, then by its first line. Text and IDX
    files, and ``.npy``, may be compressed with gzip, bzip2, xz or zstd.

    Parameters
    ----------
    path : str or path-like
        A file; a folder, of images in folders called after their classes, or with the four files of MNIST; ``"-"`` for
        standard input; or ``"digits"``, ``"mnist"`` or ``"fashion"``, as in `load_image_set`.
    label : str, int or path-like, optional
        Where the labels are: a column, by name or number (-1 is the last), of a table or an ``.npy`` file; the key of
        an array in an ``.npz`` file, "y" by default; the file of labels that belongs to IDX images, by default the one
        beside them. Files of svmlight and folders of images have their labels in one place, and need none.
    labels : {"required", "optional", "none"}, default="required"
        Whether there must be labels, may be, or are left out.
    label_kind : {"text", "truth", "number"}, optional
        What labels are read as: texts, as they are written ("01" stays "01", and "true" stays "true"); truth values,
        which are true and false, or 1 and 0; or numbers. By default what the labels look like, and numbers among
        words are words.
    format : str, optional
        "csv", "tsv", "parquet", "arrow", "svmlight", "idx", "npy", "npz" or "images", if it cannot be recognised.
    drop : names or numbers of columns
        Columns of a table to leave out.
    missing : {"refuse", "drop", "keep"}, default="refuse"
        What to do about missing values in tables: refuse them, with a sentence that says where the first is, drop
        the rows that have some, or keep them, for an imputer. Labels must not be missing, unless rows are dropped.
    na_values : texts, optional
        What means that a value is missing, beside an empty field: by default NA, N/A, #N/A, n/a, NaN, nan, NULL, null
        and "?".
    columns : mapping of str to {"number", "text", "truth"}, optional
        The columns to read and what they hold, others being left out: what `encoder_columns` says of a fitted encoder.
    as_text : names of columns
        Columns whose values are names, or texts, even if they look like numbers. Columns with numbers such as 007
        are taken for such without being named.
    n_features : int, optional
        For svmlight, how many features there are. Features beyond, which a model does not know, are passed over, as by
        svm-predict, and a note in the result says how many.
    zero_based : bool, optional
        For svmlight, whether the first feature is number 0. By default it is 1, as in libsvm, unless there is a 0.
    max_bytes : int, default=4 GiB
        What compressed input, an archive or standard input may expand to. Nothing is expanded beyond. Whatever this
        says, and for plain files too, reading takes at most 80 % of the memory that is free; what would take more is
        refused before memory is taken for it. Text takes about eight times its length while it is read, and up to
        forty times if its fields are of a character each: for large files there is `open_batches`.
    part : {"train", "test"}, optional
        Which part of an image set, or of a folder with the four files of MNIST; by default the one to train on.
    header : bool, optional
        Whether the first line of a text file names its columns. By default it must, and is refused if it looks
        like data: if a number stands over a column of numbers, say. If not, columns are called c0, c1, and so on.
    delimiter, quote : str, optional
        The character between fields, by default the one of comma, tab, semicolon and bar that fits, and the one around
        fields that contain it, by default found as well; ``quote=""`` for none.
    colour : bool, default=False
        Whether images are read as red, green and blue instead of grey.
    resize : tuple of int, optional
        Height and width to bring images in folders to. By default all must be of one size.

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
    options = ReadOptions.of("read_examples", locals())
    given = given_path(path)
    if given in KNOWN_SETS:
        return finished(_known_set(given, options), options)
    if given != STDIN and os.path.isdir(os.path.expanduser(given)):
        return finished(_folder(given, options), options)
    return whole(Source(given, options.max_bytes), options)


def given_path(path: Any) -> str:
    """Return a path as text."""
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str) or not given:
        raise DataError(f"The data must be a file, a folder, '-' or a known set. Got {given!r} instead.")
    return given


# -- what it is -------------------------------------------------------------------------------------------------------


def find_format(source: Source, given: str | None) -> str:
    """Return the format: as told, or by the first bytes, the name, or the first line."""
    if given == "images":
        raise DataError(f"Images are read from a folder. Got the file {source.name} instead.")
    if given is not None:
        return given
    _refuse_foreign(source)
    for magic, name in _MAGIC.items():
        if source.head.startswith(magic):
            return name
    if source.suffix in SUFFIXES:
        return SUFFIXES[source.suffix]
    if not source.head.strip():
        raise DataError(f"Cannot read {source.name}: the file is empty.")
    lines = (line for line in source.head.split(b"\n") if line.split(b"#")[0].strip())
    return "svmlight" if LOOKS_LIKE.fullmatch(next(lines, b"")) else "csv"


def check_beginning(source: Source, format: str) -> None:
    """Refuse a pipe, or a compressed file, that is not what it is said to be, before all of it is read."""
    wanted = tuple(magic for magic, name in _MAGIC.items() if name == format)
    if source.size is None and format in ("parquet", "arrow", "npz") and not source.head.startswith(wanted):
        raise DataError(f"Cannot read {source.name} as {format}: it does not begin like that.")


def _refuse_foreign(source: Source) -> None:
    """Say of well-known files what they are, and what to do with them."""
    suffix = Path(source.given).suffix.lower()
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


def check_label_use(options: ReadOptions, format: str, name: str) -> None:
    """Refuse a label for what has its labels in one place, where labels are asked for."""
    if format in ("svmlight", "images") and options.label is not None and options.labels == "required":
        where = "at the beginning of each line" if format == "svmlight" else "in the names of its folders"
        raise DataError(
            f"The labels of {name} are {where}: leave ", Parameter("label"), f" out. Got {options.label!r} instead."
        )
    if options.part is not None:
        raise DataError(f"There is no part {options.part!r} of {name}: only image sets have parts.")


# -- reading it -------------------------------------------------------------------------------------------------------


def whole(source: Source, options: ReadOptions) -> Examples:
    """Return all examples of a file."""
    return finished(_file(source, options), options)


def finished(examples: Examples, options: ReadOptions) -> Examples:
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


def _file(source: Source, options: ReadOptions) -> Examples:
    found = find_format(source, options.format)
    check_label_use(options, found, source.name)
    check_beginning(source, found)
    about = Examples(None, None, found, source.given)
    if found in ("csv", "tsv"):
        return _separated(source, about, options)
    if found in ("parquet", "arrow"):
        return columnar_examples(source, options.table, about, options.max_bytes)
    if found == "svmlight":
        return read_svmlight(
            svmlight_text(source),
            about,
            source.name,
            labels=options.labels,
            n_features=options.n_features,
            zero_based=options.zero_based,
            max_bytes=options.max_bytes,
        )
    if found == "idx":
        return idx_examples(source, about, label=options.label, labels=options.labels, max_bytes=options.max_bytes)
    if found == "npy":
        return read_npy(source, about, label=options.label, labels=options.labels)
    return read_npz(source, about, label=options.label, labels=options.labels, max_bytes=options.max_bytes)


def layout_of(data: bytes, whole: bool, source: Source, format: str, options: ReadOptions) -> tuple[Layout, int]:
    """Return the layout of a text file, and the bytes that its header takes."""
    delimiter = options.delimiter or ("\t" if format == "tsv" else None)
    layout, n_header = find_layout(
        data,
        whole,
        source.name,
        delimiter=delimiter,
        quote=options.quote,
        header=options.header,
        na_values=options.nothing,
    )
    table = options.table
    return replace(layout, kinds=table.kinds(layout.names), label=table.label_in(layout.names)), n_header


def used(about: Examples, layout: Layout) -> Examples:
    """Return what is known of examples with the layout of their file."""
    dialect = layout.dialect
    return replace(about, header=layout.header, delimiter=dialect.delimiter, quote=dialect.quote or "")


def _separated(source: Source, about: Examples, options: ReadOptions) -> Examples:
    # What is no text, such as a device that gives zeros for ever, is refused before it is read.
    head = source.head
    check_text(head[: head.rfind(b"\n") + 1] or head[:-MAX_SPLIT], source.name)
    delimiter = options.delimiter or find_dialect(head[:_SAMPLE], False, None, options.quote).delimiter
    meter = Meter(delimiter, source.name, b"\r" if has_old_ends(head, len(head) < HEAD) else b"\n")
    data = cleaned(source.read(BYTES_A_BYTE, more=meter))
    layout, n_header = layout_of(data, True, source, about.format, options)
    first_line, data = 1 + data.count(b"\n", 0, n_header), data[n_header:]
    table = read_part(data, layout, first_line)
    if not table.frame.height:
        raise DataError(f"There are no examples in {source.name}: it has a header and no rows.")
    return frame_examples(table.frame, options.table, table.place, used(about, layout), source.name)


def _known_set(name: str, options: ReadOptions) -> Examples:
    from votron.data.image_sets import load_image_set

    images = load_image_set(name)
    X, y = (images.X_test, images.y_test) if options.part == "test" else (images.X, images.y)
    return Examples(X, None if options.labels == "none" else y, "idx", name, image_shape=images.shape)


def _folder(given: str, options: ReadOptions) -> Examples:
    folder = Path(os.path.expanduser(given))
    stem = f"{'t10k' if options.part == 'test' else 'train'}-images-idx3-ubyte"
    for path in (folder / stem, folder / f"{stem}.gz"):
        if path.is_file() and options.format in (None, "idx"):
            about = Examples(None, None, "idx", given)
            source = Source(os.fspath(path), options.max_bytes)
            return idx_examples(source, about, label=None, labels=options.labels, max_bytes=options.max_bytes)
    if options.format not in (None, "images"):
        raise DataError(f"Data of format {options.format!r} are read from a file. Got the folder {given!r} instead.")
    check_label_use(options, "images", repr(given))
    return image_examples(
        folder,
        Examples(None, None, "images", given),
        labels=options.labels,
        colour=options.colour,
        resize=options.resize,
        max_bytes=options.max_bytes,
    )
