"""polars, where it is installed, and its errors as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from votron import _frames
from votron.errors import DataError

_LOOKED_AT = 1000


def polars() -> Any:
    """Return the library, or say what to install."""
    try:
        import polars as pl
    except ImportError:
        raise DataError('Reading tables needs polars: pip install "votron[files]".') from None
    return pl


@contextmanager
def sentences(what: str) -> Iterator[None]:
    """Turn the errors of polars into ours: also its panics, which are no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, DataError):
        raise
    except BaseException as error:
        lines = str(error)[:_LOOKED_AT].strip().splitlines()  # it may quote a field of megabytes
        reason = " ".join((lines[0] if lines else type(error).__name__).split())[:200].rstrip(".:")
        raise DataError(f"{what}: {reason}.") from None


def kind_of(column: Any) -> str:
    """Return what a column holds, as `votron._frames.kind_of`, which takes a hundred times as long for polars."""
    dtype = getattr(column, "dtype", None)
    quick = None if _frames.in_pandas(column) else _QUICK.get(str(dtype))
    if quick is None:
        return _frames.kind_of(column)
    return quick if column.null_count() < len(column) else "nothing"


_QUICK = {"String": "text", "Boolean": "boolean", "Float64": "number", "Float32": "number"} | {
    f"{sign}Int{bits}": "number" for sign in ("", "U") for bits in (8, 16, 32, 64)
}
