"""The arrays of a model file by name: what is put into them, and what is taken out, each checked.

Beside plain arrays there are CSR matrices (three arrays), lists of texts (their bytes in UTF-8, and where each ends),
and values of any of Python's plain types. An array is taken once, and none may be left at the end.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.types import Rows
from votron.errors import ModelFileError
from votron.saving.container import Arrays

NUMBERS = "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8"
"""Types of rows."""
WIDEST = 1 << 26
"""Features that sparse rows may have: predicting takes some bytes for each, whatever the file has."""
_SLACK, _MULTIPLE = 32 << 20, 6
"""Memory that may be taken beyond the arrays themselves: so many bytes, and so many for each of the file."""
_DEEPEST = 8
_A_TEXT = 72
"""Bytes that Python takes for a text beside its letters."""
_PLAIN = (type(None), bool, int, float, str)
_READERS: tuple[Any, ...] = (lambda text: None, lambda text: text == "True", int, float, str)
_LONGEST_NUMBER = 30
_AT_ONCE = 1 << 22


class Tensors:
    """Arrays by name, below a prefix.

    Parameters
    ----------
    arrays : dict
        The arrays.
    n_bytes : int
        Size of the file that they are from; memory to be taken is in proportion to it.

    Examples
    --------
    >>> tensors = Tensors({})
    >>> tensors.at("model").put_texts("names", ["rain", "sun"])
    >>> Tensors(tensors.arrays).at("model").texts("names")
    ['rain', 'sun']
    """

    def __init__(self, arrays: Arrays, n_bytes: int = 0) -> None:
        self.arrays, self._prefix = arrays, ""
        self._room = [_SLACK + _MULTIPLE * n_bytes]

    def at(self, name: str) -> Tensors:
        """Return the arrays of a part."""
        other = Tensors(self.arrays)
        other._prefix, other._room = f"{self._prefix}{name}.", self._room
        if other._prefix.count(".") > 2 * _DEEPEST:
            raise ModelFileError("its parts are nested too deeply.")
        return other

    def wrong(self, name: str, what: str) -> ModelFileError:
        """Return the error of an array that is not what it has to be."""
        return ModelFileError(f"its array {self._prefix + name!r} must have {what}.")

    def spend(self, n_bytes: int) -> None:
        """Refuse what would take more memory than a file of this size may."""
        self._room[0] -= n_bytes
        if self._room[0] < 0:
            raise ModelFileError("it would take much more memory than the file has bytes.")

    # -- writing ------------------------------------------------------------------------------------------------------

    def put(self, name: str, value: Any) -> None:
        """Add an array or a CSR matrix."""
        if sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                self.put(f"{name}.{part}", getattr(value, part))
        else:
            self.arrays[self._prefix + name] = np.asarray(value)

    def put_all(self, source: Any, *names: str) -> None:
        """Add attributes that are arrays or matrices."""
        for name in names:
            self.put(name, getattr(source, name))

    def put_texts(self, name: str, texts: list[str]) -> None:
        """Add a list of texts."""
        content = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.put(name, np.frombuffer(b"".join(content), dtype=np.uint8))
        self.put(f"{name}.ends", np.cumsum([len(each) for each in content], dtype=np.int64))

    def put_values(self, name: str, values: NDArray[Any]) -> None:
        """Add labels or categories: numbers, truth values or texts; in an array of objects also None and NaN."""
        if values.dtype.kind in "biuf":
            self.put(name, values)
            return
        plain = [each.item() if isinstance(each, np.generic) else each for each in values.tolist()]
        odd = next((each for each in plain if type(each) not in _PLAIN), None)
        if values.dtype.kind not in "UO" or odd is not None:
            raise ModelFileError(
                "Labels and categories in a model file must be numbers, truth values or text. "
                f"Got {plain[0] if odd is None else odd!r} instead."
            )
        self.put_texts(name, [str(each) for each in plain])
        if values.dtype.kind == "O":
            self.put(f"{name}.types", np.array([_PLAIN.index(type(each)) for each in plain], dtype=np.uint8))

    # -- reading ------------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self.arrays or f"{self._prefix}{name}.indptr" in self.arrays

    def take(
        self,
        name: str,
        types: str,
        shape: tuple[int | None, ...],
        *,
        least: float = -np.inf,
        finite: bool = True,
    ) -> NDArray[Any]:
        """Return an array of one of several types and a shape (None: any size), by default of finite numbers."""
        found = self.arrays.pop(self._prefix + name, np.empty((0, 0, 0)))
        if len(shape) != found.ndim or not all(n in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            sizes = " x ".join("any" if n is None else str(n) for n in shape)
            raise self.wrong(name, f"the shape {sizes}")
        if found.dtype.str[1:] not in types.split():
            raise self.wrong(name, f"numbers of type {types}, and not {found.dtype.str[1:]}")
        flat = found.reshape(-1)
        for i in range(0, flat.size if finite and found.dtype.kind == "f" else 0, _AT_ONCE):
            if not np.isfinite(flat[i : i + _AT_ONCE]).all():
                raise self.wrong(name, "finite numbers")
        if least > -np.inf and found.size and found.min() < least:
            raise self.wrong(name, f"no numbers below {least:g}")
        return found

    def take_if_there(self, name: str, types: str, shape: tuple[int | None, ...]) -> NDArray[Any] | None:
        """Return an array of finite numbers, or None."""
        return self.take(name, types, shape) if name in self else None

    def rows(self, name: str, shape: tuple[int, int], types: str = NUMBERS) -> Rows:
        """Return a matrix, dense or CSR."""
        if f"{self._prefix}{name}.indptr" not in self.arrays:
            return self.take(name, types, shape)
        indptr = self.take(f"{name}.indptr", "i4 i8", (shape[0] + 1,))
        data = self.take(f"{name}.data", types, (None,))
        indices = self.take(f"{name}.indices", indptr.dtype.str[1:], (len(data),))
        starts_well = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < shape[1])
        if not (starts_well and inside and shape[1] < WIDEST):
            raise self.wrong(name, f"row starts and columns of a CSR matrix of shape {shape[0]} x {shape[1]}")
        rising = indices[1:] > indices[:-1]
        starts = indptr[1:-1]
        rising[starts[(starts > 0) & (starts < len(data))] - 1] = True  # another row begins there
        if not rising.all():
            raise self.wrong(name, "columns in rising order")
        made = sp.csr_matrix(shape, dtype=data.dtype)  # its constructor may copy arrays, and these may be mapped
        made.data, made.indices, made.indptr = data, indices, indptr
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def texts(self, name: str, n: int | None = None) -> list[str]:
        """Return a list of texts."""
        ends = self.take(f"{name}.ends", "i8", (n,), least=0)
        content = self.take(name, "u1", (int(ends[-1]) if len(ends) else 0,)).tobytes()
        if (ends[1:] < ends[:-1]).any():
            raise self.wrong(f"{name}.ends", "rising numbers")
        self.spend(_A_TEXT * len(ends))
        begins = itertools.chain([0], ends.tolist())
        try:
            return [content[a:b].decode("utf-8", "surrogatepass") for a, b in zip(begins, ends.tolist(), strict=False)]
        except UnicodeDecodeError:
            raise self.wrong(name, "texts in UTF-8") from None

    def values(self, name: str) -> NDArray[Any]:
        """Return labels or categories."""
        if f"{name}.ends" not in self:
            return self.take(name, NUMBERS, (None,))
        texts = self.texts(name)
        if f"{name}.types" not in self:
            self.spend(4 * len(texts) * max(map(len, texts), default=0))
            return np.array(texts, dtype=str)
        types = self.take(f"{name}.types", "u1", (len(texts),))
        made = np.empty(len(texts), dtype=object)
        try:
            made[:] = [self._plain(text, kind) for text, kind in zip(texts, types.tolist(), strict=True)]
        except (ValueError, IndexError):
            raise self.wrong(name, "values of plain types") from None
        return made

    def _plain(self, text: str, kind: int) -> Any:
        """Return a value of a plain type; the digits of an int, in particular, are limited."""
        if _PLAIN[kind] is not str and len(text) > _LONGEST_NUMBER:
            raise ValueError
        return _READERS[kind](text)

    def labels(self, name: str) -> NDArray[Any]:
        """Return two or more distinct labels in order."""
        found = self.values(name)
        try:
            fits = len(found) >= 2 and all(a < b for a, b in itertools.pairwise(found.tolist()))
        except TypeError:
            fits = False
        if not fits:
            raise self.wrong(name, "two or more labels in rising order")
        return found

    def none_left(self) -> None:
        """Refuse arrays that nothing has asked for: they would be lost."""
        if self.arrays:
            raise ModelFileError(f"its array {next(iter(self.arrays))[:60]!r} is not one that Votron knows.")
