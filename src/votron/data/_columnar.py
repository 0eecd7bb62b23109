"""Parquet and Arrow files, by polars, after their own metadata were compared with what may be expanded.

polars is written in Rust: where memory cannot be had it ends the process, and no error can be caught.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO, Any

from votron._sentences import exact_bytes
from votron.data._arrow import MAGIC as ARROW_FILE
from votron.data._arrow import arrow_claims
from votron.data._budget import EXPAND, IN_BATCHES, check_expanded, check_memory
from votron.data._frame_examples import TableOptions, frame_examples
from votron.data._parquet import Claim, DamagedError, parquet_claims
from votron.data._polars import polars, sentences
from votron.data._sources import Source
from votron.data.examples import Examples
from votron.errors import DataError, Parameter, Phrase

_BYTES_A_VALUE = 8
_MEMORY_A_VALUE = 16
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def columnar_examples(source: Source, options: TableOptions, about: Examples, max_bytes: int) -> Examples:
    """Return the examples of a Parquet or Arrow file."""
    pl = polars()
    file: Any = source.plain_path
    if file is None:
        file = io.BytesIO(source.read(2, EXPAND))
        check_claims(claims(file, about.format, source.name), source.name, max_bytes, EXPAND)
    else:
        with open(file, "rb") as opened:
            found = claims(opened, about.format, source.name)
        check_claims(found, source.name, max_bytes)
    with sentences(f"Cannot read {source.name} as {about.format}"):
        if about.format == "parquet":
            frame = pl.read_parquet(file, glob=False)
        elif source.head.startswith(ARROW_FILE):
            frame = pl.read_ipc(file)
        else:
            frame = _read_stream(file, source.name)
    return columnar_part(frame, options, about, source.name)


def claims(file: IO[bytes], format: str, name: str) -> list[Claim]:
    """Return what the parts of a file say of themselves, and leave the file at its beginning."""
    try:
        return parquet_claims(file) if format == "parquet" else arrow_claims(file)
    except DamagedError as error:
        raise DataError(f"Cannot read {name} as {format}: {error}.") from None
    finally:
        file.seek(0)


def check_claims(parts: Sequence[Claim], name: str, max_bytes: int, remedy: str | Phrase = IN_BATCHES) -> None:
    """Refuse what is too large, once expanded, for the limit or for the memory that is free."""
    n_rows, n_values = sum(part.n_rows for part in parts), sum(part.n_values for part in parts)
    if n_values * _BYTES_A_VALUE > max_bytes:
        raise DataError(
            f"There are {n_rows:,} rows with {n_values:,} values in {name}, more than the {exact_bytes(max_bytes)} "
            "that ",
            Parameter("max_bytes"),
            " allows: raise it if that is right.",
        )
    n_bytes = sum(part.n_bytes for part in parts)
    check_expanded(n_bytes, max_bytes, f"What is in {name}")
    check_memory(n_bytes + n_values * _MEMORY_A_VALUE, name, remedy=remedy)


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
