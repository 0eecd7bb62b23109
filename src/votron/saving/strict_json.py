"""JSON from strangers: measured before it is parsed, and parsed without what JSON itself does not have.

A list of nothing takes two bytes in a file and fifty-six in memory, and a list within a list ten thousand times is
more than some functions can walk through. So a text is looked at once, byte by byte, before anything is made of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Size", "measured", "parsed"]

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Size:
    """How much there is in a text of JSON.

    Attributes
    ----------
    n_beside : int
        Bytes beside its texts.
    n_parts : int
        Lists, objects and names of fields.
    deepest : int
        Lists and objects that stand within one another.

    Examples
    --------
    >>> measured(b'{"a": [1, {}]}')
    Size(n_beside=11, n_parts=4, deepest=3)
    """

    n_beside: int
    n_parts: int
    deepest: int


def measured(raw: bytes, chunk: int = _CHUNK) -> Size:
    r"""Return how much there is in a text of JSON up to the first byte that is none, where parsing ends, or more.

    Parameters
    ----------
    raw : bytes
        The text.
    chunk : int
        Bytes that are looked at together.

    Returns
    -------
    Size
        What there is.

    Examples
    --------
    >>> measured(rb'["a \"text\" with [ and {", 1]').n_parts
    1
    """
    # What is left of quotes when escapes are out begins and ends texts in turn.
    unescaped = np.frombuffer(raw.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    n_beside = n_parts = deepest = level = within = 0
    for begin in range(0, len(unescaped), chunk):
        part = unescaped[begin : begin + chunk]
        quotes = part == ord('"')
        inside = (np.cumsum(quotes, dtype=np.uint8) + np.uint8(within)) & 1 == 1
        within = int(inside[-1])
        beside = part[~(inside | quotes)]
        begins = _among(beside, b"[{")
        levels = level + np.cumsum(begins.astype(np.int32) - _among(beside, b"]}"), dtype=np.int32)
        level = int(levels[-1]) if len(levels) else level
        deepest = max(deepest, int(levels.max(initial=0)))
        n_beside += len(beside)
        n_parts += int(begins.sum() + _among(beside, b":").sum())
    return Size(n_beside, n_parts, deepest)


def _among(found: NDArray[np.uint8], characters: bytes) -> NDArray[np.bool_]:
    return np.isin(found, np.frombuffer(characters, dtype=np.uint8))


def parsed(text: str) -> Any:
    """Return what JSON says; ValueError where it says what JSON itself does not have, or numbers beyond 64 bits.

    Examples
    --------
    >>> parsed('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parsed('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: a name twice
    """
    return json.loads(
        text,
        object_pairs_hook=_without_doubles,
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_whole_number,
    )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _whole_number(text: str) -> int:
    if len(text) > 20:  # beyond 64 bits
        raise ValueError(text)
    return int(text)
