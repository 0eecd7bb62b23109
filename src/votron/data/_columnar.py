"""Parquet and Arrow files, by polars."""

from __future__ import annotations

import io
from typing import Any

from votron.data._frame_examples import TableOptions, frame_examples
from votron.data._polars import polars, sentences
from votron.data._sources import Source, shown_bytes
from votron.data.examples import Examples
from votron.errors import DataError

_BYTES_A_VALUE = 8
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def columnar_examples(source: Source, options: TableOptions, about: Examples, max_bytes: int) -> Examples:
    """Return the examples of a Parquet or Arrow file."""
    pl = polars()
    file: Any = source.plain_path or io.BytesIO(source.read())
    with sentences(f"Cannot read {source.name} as {about.format}"):
        if about.format == "parquet":
            check_claim(source, file, max_bytes)
            frame = pl.read_parquet(file)
        elif source.head.startswith(b"ARROW1"):
            frame = pl.read_ipc(file)
        else:
            frame = _read_stream(file, source.name)
    return columnar_part(frame, options, about, source.name)


def _read_stream(file: Any, name: str) -> Any:
    """Return the frame of an Arrow stream, which must have its end: without it, rows at the end may be lost."""
    data = file.getvalue() if isinstance(file, io.BytesIO) else file.read_bytes()
    if not data.endswith(_END_OF_STREAM):
        raise DataError(f"Cannot read {name} as arrow: the stream ends before its end mark.")
    return polars().read_ipc_stream(io.BytesIO(data))


def columnar_part(frame: Any, options: TableOptions, about: Examples, name: str) -> Examples:
    """Return the examples of some rows of such a file."""
    if 0 in frame.shape:
        raise DataError(f"There must be rows and columns in {name}. Got {frame.height} rows of {frame.width} instead.")

    def place(row: int) -> str:
        return f"row {about.first_row + row + 1} (the first is 1)"

    texts = [one for one in frame.columns if one in options.as_text and frame[one].dtype.is_numeric()]
    if texts:
        frame = frame.with_columns(polars().col(texts).cast(polars().String))
    examples = frame_examples(frame, options, place, about, name)
    features = set(examples.columns or ())
    for column in frame.get_columns():
        infinite = column.is_infinite() if column.dtype.is_float() and column.name in features else None
        if infinite is not None and infinite.any():
            row = int(infinite.arg_true()[0])
            raise DataError(
                f"The column {column.name!r} of {name} must hold finite numbers. "
                f"Got {column[row]} in {place(row)} instead."
            )
    return examples


def check_claim(source: Source, file: Any, max_bytes: int) -> int:
    """Return the number of rows of a Parquet file; refuse it if its numbers alone are too many, once expanded."""
    pl = polars()
    scan = pl.scan_parquet(file)
    width = len(pl.read_parquet_schema(file))
    if isinstance(file, io.BytesIO):
        file.seek(0)
    n_rows = int(scan.select(pl.len()).collect().item())
    if isinstance(file, io.BytesIO):
        file.seek(0)
    if n_rows * width * _BYTES_A_VALUE > max_bytes:
        raise DataError(
            f"There are {n_rows:,} rows of {width:,} columns in {source.name}, more than the {shown_bytes(max_bytes)} "
            "that max_bytes allows: raise it if that is right."
        )
    return n_rows
