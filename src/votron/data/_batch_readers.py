"""How each format is read a batch at a time."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._sentences import exact_bytes
from votron.data._arrays import array_examples, npy_examples, read_start
from votron.data._budget import check_memory
from votron.data._columnar import claims, columnar_part
from votron.data._csv import Layout, Table, read_part
from votron.data._csv_layout import BOM, MAX_RECORD, cleaned, has_old_ends, last_end, too_long
from votron.data._frame_examples import frame_examples
from votron.data._idx_examples import labels_file, read_idx_source
from votron.data._options import ReadOptions
from votron.data._polars import kind_of, polars, sentences
from votron.data._sources import HEAD, Source
from votron.data._svmlight import check_beginning, has_examples, read_svmlight
from votron.data.examples import Examples
from votron.data.idx import read_header as read_idx_header
from votron.data.idx import shown_shape
from votron.data.reading import layout_of, used
from votron.errors import DataError, Parameter

_PIECE = 1 << 20
_FIRST_ROWS = 1000
_GROWTH = 64
_SMALLER = "write it with fewer rows to a group"
_KIND_NAMES = {"text": "text", "number": "number", "boolean": "truth"}


def slices(whole: Examples, batch_bytes: int) -> Iterator[Examples]:
    """Yield examples that are in memory already, in batches."""
    n_bytes = whole.X.estimated_size() if whole.columns is not None else whole.X.shape[1] * 8 * whole.n_rows
    n = max(1, int(whole.n_rows * batch_bytes // max(n_bytes, 1)))
    for begin in range(0, whole.n_rows, n):
        y = None if whole.y is None else whole.y[begin : begin + n]
        files = None if whole.files is None else whole.files[begin : begin + n]
        yield replace(whole, X=whole.X[begin : begin + n], y=y, first_row=begin, files=files)


# -- text -------------------------------------------------------------------------------------------------------------


def _parts(source: Source, batch_bytes: int, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    old = has_old_ends(source.head, len(source.head) < HEAD)
    with source.open() as file:
        data, line, first = b"", 1, True
        while chunk := file.read(max(batch_bytes, len(data))):  # a record without an end is not looked at too often
            if first and len(chunk) < len(BOM):  # of tiny batches
                chunk += file.read(len(BOM))
            chunk, first = chunk.removeprefix(BOM) if first else chunk, False
            data += chunk.replace(b"\r", b"\n") if old else chunk
            cut = ends(data)
            if cut:
                part, data, begin = data[:cut], data[cut:], line
                line += part.count(b"\n")
                yield part, begin
                del part
            elif len(data) > MAX_RECORD:
                raise too_long(line, source.name)
        if data:
            yield data, line


def _last_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _last_record(layout: Layout) -> Callable[[bytes], int]:
    def last(data: bytes) -> int:
        end = last_end(data, layout.dialect)
        if len(layout.names) > 1:
            return end
        # In one column, blank lines are rows unless the file ends with them, which is not known yet.
        filled = len(data[:end].rstrip(b"\r\n"))
        return data.index(b"\n", filled, end) + 1 if filled else 0

    return last


def separated_batches(source: Source, about: Examples, options: ReadOptions, batch_bytes: int) -> Iterator[Examples]:
    """Yield batches of a file of separated values."""
    head = cleaned(source.head)
    layout, n_header = layout_of(head, len(source.head) < HEAD, source, about.format, options)
    table_options = replace(options.table, may_be_empty=True)
    about = used(about, layout)
    row = 0
    for data, line in _parts(source, batch_bytes, _last_record(layout)):
        taken = min(n_header, len(data))  # blank lines before the header may be a part of their own
        n_header, line, data = n_header - taken, line + data.count(b"\n", 0, taken), data[taken:]
        table = read_part(data, layout, line)
        if not table.frame.height:
            continue
        here = replace(about, first_row=row)
        yield frame_examples(table.frame, table_options, table.place, here, source.name)
        row += table.frame.height
        layout = _settled(layout, table)
        del table, data  # not to be in memory while the next are read


def _settled(layout: Layout, table: Table) -> Layout:
    """Return the layout with what the columns of a batch hold, where that was not known before."""
    unknown = [column for column in table.frame.get_columns() if layout.kind_of(column.name) is None]
    found = {column.name: _KIND_NAMES.get(kind_of(column)) for column in unknown}
    known = {name: kind for name, kind in found.items() if kind is not None}
    if not known and table.commas <= layout.commas:
        return layout
    return replace(layout, seen={**layout.seen, **known}, commas=layout.commas | table.commas)


def svmlight_batches(source: Source, about: Examples, options: ReadOptions, batch_bytes: int) -> Iterator[Examples]:
    """Yield batches of a file of svmlight, all of them CSR."""
    check_beginning(source)
    row, zero_based = 0, options.zero_based
    for data, line in _parts(source, batch_bytes, _last_line):
        if not has_examples(data):
            continue
        batch = read_svmlight(
            data,
            replace(about, first_row=row),
            source.name,
            labels=options.labels,
            n_features=options.n_features,
            zero_based=zero_based,
            max_bytes=options.max_bytes,
            first_line=line,
            dense=False,
        )
        zero_based = batch.zero_based
        yield batch
        row += batch.n_rows


# -- arrays -----------------------------------------------------------------------------------------------------------


def idx_batches(source: Source, about: Examples, options: ReadOptions, batch_bytes: int) -> Iterator[Examples]:
    """Yield batches of an IDX file; its labels are in memory, all of them."""
    dtype, shape = read_idx_header(io.BytesIO(source.head), source.given)
    path = None if options.labels == "none" else labels_file(source, options.label, options.labels)
    y = None if path is None else read_idx_source(Source(str(path), options.max_bytes), options.max_bytes)
    if len(shape) < 2 or 0 in shape or (y is not None and y.shape != shape[:1]):
        got = "none" if y is None else " x ".join(map(str, y.shape))
        raise DataError(
            f"The IDX file {source.name} must have two dimensions or more, and a label for each of its examples. "
            f"Got {shown_shape(shape)} numbers and {got} labels instead."
        )
    width = math.prod(shape[1:]) * dtype.itemsize
    _check_idx_claim(source, width, shape, options.max_bytes)
    n = max(1, batch_bytes // width)
    with source.open() as file:
        file.read(4 + 4 * len(shape))
        for begin in range(0, shape[0], n):
            rows = min(n, shape[0] - begin)
            X = _rows(file, rows, width, source).view(dtype).astype(dtype.newbyteorder("="), copy=False)
            here = replace(about, first_row=begin)
            labels = None if y is None else y[begin : begin + rows]
            yield array_examples(
                X.reshape(rows, *shape[1:]), labels, here, source.name, None if path is None else str(path)
            )
        if file.read(1):
            raise DataError(
                f"The IDX file {source.name} goes on after the {shape[0]} examples that its header promises."
            )


def _check_idx_claim(source: Source, width: int, shape: tuple[int, ...], max_bytes: int) -> None:
    """Refuse what cannot be before memory is taken for it."""
    promise = f"The header of the IDX file {source.name} promises {shown_shape(shape)} numbers"
    if source.size is not None and source.size != 4 + 4 * len(shape) + shape[0] * width:
        raise DataError(f"{promise}, which does not fit its {source.size} bytes.")
    if width > max_bytes:
        limit = exact_bytes(max_bytes)
        raise DataError(f"{promise}, and an example alone has more than the {limit} of ", Parameter("max_bytes"), ".")
    check_memory(3 * width, source.name, remedy="its examples are too long: give it shorter ones")


def _rows(file: Any, n: int, width: int, source: Source) -> NDArray[np.uint8]:
    data = bytearray()
    while len(data) < n * width:  # a piece at a time: the header may promise more than there is
        piece = file.read(min(_PIECE, n * width - len(data)))
        if not piece:
            raise DataError(f"The IDX file {source.name} ends before the examples that its header promises.")
        data += piece
    return np.frombuffer(data, dtype=np.uint8)


def array_batches(source: Source, about: Examples, options: ReadOptions, batch_bytes: int) -> Iterator[Examples]:
    """Yield batches of a plain ``.npy`` file, which is mapped into memory."""
    what = f"NumPy file {source.name}"
    with source.open() as file:
        header = read_start(file, what)
    shape, dtype, wanted, left = header.shape, header.dtype, header.n_bytes, (source.size or 0) - header.offset
    if wanted != left or not wanted:
        raise DataError(f"The header of {what} promises {wanted} bytes of numbers, but {left} bytes follow.")
    mapped = np.memmap(
        str(source.path), dtype=dtype, mode="r", offset=header.offset, shape=shape, order="F" if header.fortran else "C"
    )
    width = wanted // shape[0] if shape else wanted
    check_memory(3 * width, source.name, remedy="its examples are too long: give it shorter ones")
    if len(shape) < 2:  # of which nothing can be made, as is said there
        yield npy_examples(np.array(mapped), about, source.name, label=options.label, labels=options.labels)
    n = max(1, batch_bytes // max(1, width))
    for begin in range(0, shape[0], n):
        X = np.array(mapped[begin : begin + n], dtype=dtype.newbyteorder("="), order="C")
        here = replace(about, first_row=begin)
        yield npy_examples(X, here, source.name, label=options.label, labels=options.labels)


# -- columns ----------------------------------------------------------------------------------------------------------


def columnar_batches(source: Source, about: Examples, options: ReadOptions, batch_bytes: int) -> Iterator[Examples]:
    """Yield batches of a plain Parquet or Arrow file, of as many rows as those before let expect to fit."""
    pl = polars()
    table_options = replace(options.table, may_be_empty=True)
    if source.path is not None:
        with open(source.path, "rb") as file:
            parts = claims(file, about.format, source.name)
        # Of a part, polars expands all pages, or buffers, for any of its rows.
        check_memory(max((part.n_bytes for part in parts), default=0), source.name, remedy=_SMALLER)
    with sentences(f"Cannot read {source.name} as {about.format}"):
        scan = (pl.scan_parquet if about.format == "parquet" else pl.scan_ipc)(source.path, glob=False)
        n_rows = int(scan.select(pl.len()).collect().item())
        width = max(1, len(scan.collect_schema()))
    n, begin = max(1, min(_FIRST_ROWS, batch_bytes // (8 * width))), 0
    while begin < n_rows:
        with sentences(f"Cannot read {source.name} as {about.format}"):
            frame = scan.slice(begin, n).collect()
        yield columnar_part(frame, table_options, replace(about, first_row=begin), source.name)
        begin += frame.height
        bytes_a_row = max(1.0, frame.estimated_size() / frame.height)
        n = max(1, min(int(batch_bytes / bytes_a_row), _GROWTH * n))  # texts may become longer
