"""Memory and threads that this process may use: limits, arrays in pieces, arrays that grow, and teams of threads."""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from votron._util.types import Array, Params, Rows
from votron.errors import VotronError

AUTO_SHARE = 0.25  # of the memory that is available, for ``memory_limit="auto"``
AUTO_TIMES, AUTO_LEAST = 16, 1 << 30  # times the data, and bytes: more than the larger would not pay
_UNKNOWN_MEMORY = 4 << 30  # where the system does not tell
_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*(?:([kmgt])(i?))?b?\s*", re.ASCII | re.IGNORECASE)
_CHUNK_BYTES = 8 << 20
_LEAST_ROOM = 8  # of an array that grows
_MULTIPLE = 64  # rows of a block that stay together

T = TypeVar("T")


def available_memory() -> int:
    """Return the bytes that this process can allocate now without driving the system into swap."""
    if limits := list(_linux_memory(Path("/"))):
        return max(0, min(limits))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # macOS
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MEMORY


def _linux_memory(root: Path) -> Iterator[int]:
    """Yield the limits on new memory that Linux sets, for the machine and for the control groups of this process."""
    available = _number_after("MemAvailable:", root / "proc/meminfo")
    if available is None:
        return
    yield 1024 * available
    mount = root / "sys/fs/cgroup"
    group = mount / _read(root / "proc/self/cgroup").rpartition("0::/")[2].strip()
    for folder in (group, *group.parents):  # a limit on any group above binds too
        limit, usage = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
        if limit.isdecimal() and usage.isdecimal():  # not "max", and not absent
            # pages of files that were not used lately count as used, but make room when asked to
            yield int(limit) - int(usage) + (_number_after("inactive_file", folder / "memory.stat") or 0)
        if folder == mount:
            return


def _number_after(name: str, path: Path) -> int | None:
    found = re.search(rf"^{name}\s+(\d+)", _read(path), re.MULTILINE)
    return None if found is None else int(found[1])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parse_memory_limit(
    value: int | str, owner: str = "VotedPerceptronClassifier", *, data_bytes: int | None = None
) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return int(value)
    if value == "auto":
        worth = math.inf if data_bytes is None else max(AUTO_TIMES * data_bytes, AUTO_LEAST)
        return int(min(AUTO_SHARE * available_memory(), worth))
    if isinstance(value, str) and (size := _SIZE.fullmatch(value)):
        power = " kmgt".index((size[2] or " ").lower())
        return int(Fraction(size[1]) * (1024 if size[3] else 1000) ** power)
    raise VotronError(
        f"The 'memory_limit' parameter of {owner} must be an int in the range [0, inf), a size such as '2GB' or "
        f"'1.5GiB', or 'auto'. Got {value!r} instead.",
        parameter="memory_limit",
    )


def rows_in_bytes(X: Rows) -> int:
    """Return how many rows of X, as float64 numbers, take a few megabytes."""
    per_row = X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1] if X.ndim > 1 else 1
    return max(1, _CHUNK_BYTES // (8 * max(1, per_row)))


def n_bytes(X: Rows) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes)


def chunks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def grown(array: Array, used: int, needed: int) -> Array:
    """Return the array with room for ``needed`` entries along its first axis, the first ``used`` of them kept."""
    if needed <= array.shape[0]:
        return array
    out = np.empty((max(needed, 2 * array.shape[0], _LEAST_ROOM), *array.shape[1:]), dtype=array.dtype)
    out[:used] = array[:used]
    return out


class Growing:
    """An array that grows at its end, along its first axis; each entry has this type and shape."""

    def __init__(self, dtype: DTypeLike = np.float64, *shape: int) -> None:
        self._data: Array = np.empty((0, *shape), dtype=dtype)
        self.n = 0

    @property
    def values(self) -> Array:
        return self._data[: self.n]

    def extend(self, more: ArrayLike) -> None:
        more = np.asarray(more)
        needed = self.n + len(more)
        self._data = grown(self._data, self.n, needed)
        self._data[self.n : needed] = more
        self.n = needed

    def truncate(self, n: int) -> None:
        self.n = min(self.n, n)

    def __getstate__(self) -> Params:
        return {"_data": self.values.copy(), "n": self.n}


def effective_threads(n_jobs: int | None, owner: str = "votron") -> int:
    if n_jobs is None:
        openmp = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list for nested threads
        return min(_n_cores(), max(1, int(openmp))) if openmp.isdecimal() else _n_cores()
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise VotronError(
            f"The 'n_jobs' parameter of {owner} must be None or an int other than 0. Got {n_jobs!r} instead.",
            parameter="n_jobs",
        )
    return int(n_jobs) if n_jobs > 0 else max(1, _n_cores() + 1 + int(n_jobs))


def _n_cores() -> int:
    import joblib  # most callers can do without

    return int(joblib.cpu_count())  # knows about affinity and control groups


def pieces(width: int, n: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut ``range(width)`` into at most n pieces of about the same length, cut at multiples of a number."""
    units = width // multiple
    n = max(1, min(n, units))
    return list(pairwise([*(multiple * (units * i // n) for i in range(n)), width]))


class Team:
    """Runs a function over the pieces of a range of rows, or over items, several at a time."""

    def __init__(self, n_threads: int, pool: ThreadPoolExecutor | None) -> None:
        self.n_threads, self._pool = n_threads, pool

    def over(self, width: int, work: Callable[[int, int], None], *, worth_it: bool = True) -> None:
        """Call ``work(low, high)`` for pieces that cover ``range(width)``; bounds are multiples of 64."""
        self.each(pieces(width, self.n_threads if worth_it else 1, _MULTIPLE), lambda piece: work(*piece))

    def each(self, items: Iterable[T], work: Callable[[T], None]) -> None:
        """Call ``work(item)`` for every item, the caller's own thread included, and raise an error of it."""
        known = list(items)
        left = iter(known)  # whose next item goes to one thread only

        def drain() -> None:
            try:
                for item in left:
                    work(item)
            finally:
                deque(left, maxlen=0)  # nobody begins another item after a failure

        n_others = min(self.n_threads, len(known)) - 1
        futures = [self._pool.submit(drain) for _ in range(n_others)] if self._pool else []
        try:
            drain()
        finally:
            wait(futures)
        for future in futures:
            future.result()


@contextmanager
def team(n_threads: int) -> Iterator[Team]:
    if n_threads <= 1:
        yield Team(1, None)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield Team(n_threads, pool)
