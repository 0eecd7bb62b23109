"""JSON from strangers: measured before it is parsed, and given out field by field, each one checked.

A list of nothing takes two bytes in a file and fifty-six in memory, and a list within a list ten thousand times is
more than some functions can walk through. So a text is looked at once, byte by byte, before anything is made of it
(`measured`), and `parsed` without what JSON itself does not have. Then `Fields` gives out one field after another, each
only if it is what it has to be: the reader says which type, size and range, and nothing is built before. Arrays stand
in the file beside the JSON; writing, `packed` puts them aside and a reference in their place.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.errors import ModelFileError

if TYPE_CHECKING:
    from votron._util.types import Rows

__all__ = ["Fields", "Size", "measured", "packed", "parsed"]

_ARRAY, _CSR = "$array", "$csr"
LARGEST = 2**62
"""What no size or count reaches."""
_AT_ONCE = 1 << 22
_SHOWN = 60
"""Characters of a value that are shown."""


# -- JSON -------------------------------------------------------------------------------------------------------------


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


def measured(raw: bytes, chunk: int = 1 << 20) -> Size:
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


# -- fields -----------------------------------------------------------------------------------------------------------


def packed(value: Any, arrays: dict[str, NDArray[Any]], name: str = "") -> Any:
    """Return a value as JSON has it; arrays go into ``arrays``, under the name of where they stand.

    Examples
    --------
    >>> arrays = {}
    >>> packed({"seed": 7, "weights": np.ones(2)}, arrays)
    {'seed': 7, 'weights': {'$array': 'weights'}}
    >>> arrays
    {'weights': array([1., 1.])}
    """
    if isinstance(value, Mapping):
        return {key: packed(each, arrays, f"{name}.{key}" if name else str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [packed(each, arrays, f"{name}.{i}") for i, each in enumerate(value)]
    if sp.issparse(value):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        arrays.update({f"{name}.{part}": array for part, array in parts.items()})
        return {_CSR: name, "shape": [int(n) for n in value.shape]}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {_ARRAY: name}
    return value.item() if isinstance(value, np.generic) else value


class Fields:
    """The fields of one JSON object, given out one by one, each checked.

    Parameters
    ----------
    values : dict
        The object.
    arrays : dict
        The arrays of the file; what is given out is taken out.
    where : str
        Where the object stands, for error messages.

    Examples
    --------
    >>> fields = Fields({"seed": 7, "rule": "vote"}, {}, "model")
    >>> fields.count("seed"), fields.text("rule")
    (7, 'vote')
    >>> fields.flag("converged")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The field 'model.converged' must be true or false. Got nothing instead.
    """

    def __init__(self, values: Any, arrays: dict[str, NDArray[Any]], where: str) -> None:
        if not isinstance(values, dict):
            raise ModelFileError(f"The field '{where}' must be a JSON object. Got {_shown(values)} instead.")
        self._values, self._arrays, self._where = dict(values), arrays, where

    # -- errors -------------------------------------------------------------------------------------------------------

    def wrong(self, name: str, what: str, got: Any) -> ModelFileError:
        """Return the error of a field that is not what it has to be."""
        field = f"{self._where}.{name}" if name else self._where
        return ModelFileError(f"The field '{field}' must be {what}. Got {_shown(got)} instead.")

    def end(self) -> None:
        """Refuse fields that nobody has asked for: they would be lost."""
        if self._values:
            name = next(iter(self._values))
            raise ModelFileError(f"The field '{self._where}.{name}' is not one that Votron knows.")

    def no_arrays_left(self) -> None:
        """Refuse arrays of the file that no field refers to."""
        if self._arrays:
            raise ModelFileError(f"The array {next(iter(self._arrays))!r} belongs to no field of the file.")

    # -- plain values -------------------------------------------------------------------------------------------------

    def _take(self, name: str, what: str, right: Callable[[Any], bool] = lambda value: True) -> Any:
        if name not in self._values or not right(self._values[name]):
            raise self.wrong(name, what, self._values.get(name, "nothing"))
        return self._values.pop(name)

    def has(self, name: str) -> bool:
        """Tell whether there is such a field, and it is not null."""
        if self._values.get(name, "") is None:
            del self._values[name]
        return name in self._values

    def count(self, name: str, least: int = 0, below: int = LARGEST) -> int:
        """Return a whole number in a range."""
        what = f"a whole number from {least} to {below - 1}"
        return int(self._take(name, what, lambda value: type(value) is int and least <= value < below))

    def number(self, name: str, least: float = -math.inf) -> float:
        """Return a finite number."""
        what = "a number" if least == -math.inf else f"a number of at least {least:g}"
        return float(self._take(name, what, lambda value: type(value) in (int, float) and least <= value < math.inf))

    def flag(self, name: str) -> bool:
        """Return true or false."""
        return bool(self._take(name, "true or false", lambda value: type(value) is bool))

    def text(self, name: str, among: Collection[str] | None = None) -> str:
        """Return a text, one of several if they are given."""
        what = "a text" if among is None else "one of " + ", ".join(map(repr, among))
        return str(self._take(name, what, lambda value: isinstance(value, str) and (among is None or value in among)))

    def texts(self, name: str, n: int | None = None) -> list[str]:
        """Return a list of texts."""
        what = "a list of texts" if n is None else f"a list of {n} texts"
        found = self.listed(name, what, lambda each: isinstance(each, str))
        if n is not None and len(found) != n:
            raise self.wrong(name, what, f"{len(found)} of them")
        return found

    def listed(self, name: str, what: str = "a list", right: Callable[[Any], bool] = lambda each: True) -> list[Any]:
        """Return a list of values that are right each, as they are."""
        found: list[Any] = self._take(name, what, lambda value: isinstance(value, list) and all(map(right, value)))
        return found

    def plain(self, name: str) -> Any:
        """Return whatever JSON value there is."""
        return self._take(name, "there")

    def object(self, name: str) -> dict[str, Any]:
        """Return a JSON object, whatever is in it."""
        return dict(self._take(name, "a JSON object", lambda value: isinstance(value, dict)))

    def peek(self, name: str) -> Any:
        """Return a JSON value, whatever it is, and leave it to be asked for."""
        return self._values.get(name)

    def names(self) -> list[str]:
        """Return the names of the fields that are left."""
        return list(self._values)

    # -- parts --------------------------------------------------------------------------------------------------------

    def part(self, name: str) -> Fields:
        """Return the fields of an object in this one."""
        return Fields(self._take(name, "a JSON object"), self._arrays, f"{self._where}.{name}")

    def parts(self, name: str) -> list[Fields]:
        """Return the fields of each object of a list."""
        return [Fields(each, self._arrays, f"{self._where}.{name}.{i}") for i, each in enumerate(self.listed(name))]

    # -- arrays -------------------------------------------------------------------------------------------------------

    def array(self, name: str, kinds: str, shape: tuple[int | None, ...], *, finite: bool = True) -> NDArray[Any]:
        """Return an array of some of numpy's kinds and a shape (None: any size), by default of finite numbers."""
        what = f"a reference to an array of shape {_sizes(shape)}"
        key = self._take(name, what, lambda value: isinstance(value, dict) and set(value) == {_ARRAY})[_ARRAY]
        return self._referred(name, key, kinds, shape, finite)

    def _referred(
        self, name: str, key: Any, kinds: str, shape: tuple[int | None, ...], finite: bool = True
    ) -> NDArray[Any]:
        if not (isinstance(key, str) and key in self._arrays):
            raise self.wrong(name, "a reference to an array of this file that stands nowhere else", key)
        found = self._arrays.pop(key)
        right = found.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape, strict=False))
        if found.dtype.kind not in kinds or not right:
            kind = "/".join({"i": "int", "u": "unsigned int", "f": "float", "b": "bool"}[k] for k in kinds)
            got = f"an array of {found.dtype} of shape {_sizes(found.shape)}"
            raise self.wrong(name, f"an array of {kind} of shape {_sizes(shape)}", got)
        if finite and found.dtype.kind == "f" and not _all_finite(found):
            raise self.wrong(name, "an array of finite numbers", "inf or nan")
        return found

    def exactly(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array of one type."""
        found = self.array(name, np.dtype(dtype).kind, shape)
        if found.dtype != np.dtype(dtype):
            raise self.wrong(name, f"an array of {np.dtype(dtype)}", f"an array of {found.dtype}")
        return found

    def rows(self, name: str, shape: tuple[int | None, int]) -> Rows:
        """Return a matrix of numbers, dense or CSR, all finite."""
        value = self._values.get(name)
        if not (isinstance(value, dict) and set(value) == {_CSR, "shape"}):
            return self.array(name, "iufb", shape)
        del self._values[name]
        size, key = value["shape"], value[_CSR]
        fits = isinstance(size, list) and len(size) == 2 and all(type(n) is int and 0 <= n < LARGEST for n in size)
        if not fits or size[1] != shape[1] or shape[0] not in (None, size[0]) or not isinstance(key, str):
            raise self.wrong(name, f"a matrix of shape {_sizes(shape)}", [key, size])
        indptr = self._referred(name, f"{key}.indptr", "i", (size[0] + 1,))
        data = self._referred(name, f"{key}.data", "iufb", (None,))
        indices = self._referred(name, f"{key}.indices", "i", (len(data),))
        return self._csr(name, data, indices, indptr, (size[0], size[1]))

    def _csr(self, name: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        """Return a CSR matrix in canonical form, if that is what these arrays are: nothing checks it later."""
        if indices.dtype != indptr.dtype or indices.dtype.itemsize < 4:  # scipy knows no other
            got = f"{indices.dtype} and {indptr.dtype}"
            raise self.wrong(name, "a CSR matrix with row starts and columns of type int32 or int64", got)
        starts_well = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < shape[1])
        if not (starts_well and inside):
            raise self.wrong(name, "a CSR matrix", "row starts or columns outside of it")
        rising = indices[1:] > indices[:-1]
        starts = indptr[1:-1]
        rising[starts[(starts > 0) & (starts < len(data))] - 1] = True  # another row begins there
        if not rising.all():
            raise self.wrong(name, "a CSR matrix with rising columns in each row", "columns out of order")
        # Not the constructor with arrays alone: it may copy them, and they may be mapped.
        made = sp.csr_matrix(shape, dtype=data.dtype)
        made.data, made.indices, made.indptr = data, indices, indptr
        made.has_sorted_indices = made.has_canonical_format = True
        return made


def _all_finite(array: NDArray[Any]) -> bool:
    flat = array.reshape(-1)
    return all(bool(np.isfinite(flat[i : i + _AT_ONCE]).all()) for i in range(0, flat.size, _AT_ONCE))


def _sizes(shape: tuple[int | None, ...]) -> str:
    return " x ".join("any" if n is None else str(n) for n in shape)


def _shown(value: Any) -> str:
    """Return a value for people to read, and no more of it than they will: it may be as long as the file."""
    text = value[: _SHOWN + 1] if isinstance(value, str) else _begin(value, 3)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _begin(value: Any, depth: int) -> str:
    """Return how a value of JSON begins, in Python's notation: at least as much of it as is shown."""
    if isinstance(value, str):
        return repr(value[: _SHOWN + 1])
    if not isinstance(value, list | dict):
        return repr(value)
    brackets = "[]" if isinstance(value, list) else "{}"
    if depth == 0:
        return f"{brackets[0]}...{brackets[1]}"
    first = itertools.islice(value.items() if isinstance(value, dict) else value, _SHOWN // 2)
    parts = [
        f"{_begin(e[0], 0)}: {_begin(e[1], depth - 1)}" if isinstance(value, dict) else _begin(e, depth - 1)
        for e in first
    ]
    return ", ".join(parts).join(brackets)
