"""A few threads that share one block at a time, or one list of blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

_MULTIPLE = 64


def pieces(width: int, n: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut ``range(width)`` into at most n pieces of about the same length, cut at multiples of a number.

    Examples
    --------
    >>> pieces(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    >>> pieces(150, 4, multiple=64)
    [(0, 64), (64, 150)]
    """
    units = width // multiple
    n = max(1, min(n, units))
    return list(pairwise([*(multiple * (units * i // n) for i in range(n)), width]))


class Team:
    """Runs a function over the pieces of a range of rows, one piece a thread, the caller's own thread included.

    Compiled loops release the interpreter's lock, so plain threads are enough, and several fits may run at once.
    """

    def __init__(self, n_threads: int, pool: ThreadPoolExecutor | None) -> None:
        self.n_threads = n_threads if pool is not None else 1
        self._pool = pool

    def over(self, width: int, work: Callable[[int, int], Any], *, worth_it: bool = True) -> None:
        """Call ``work(low, high)`` for pieces that cover ``range(width)``; bounds are multiples of 64."""
        mine, *others = pieces(width, self.n_threads if worth_it else 1, _MULTIPLE)
        if self._pool is None or not others:
            work(0, width)
            return
        futures = [self._pool.submit(work, low, high) for low, high in others]
        _together(lambda: work(*mine), futures)

    def each(self, items: Iterable[Any], work: Callable[[Any], Any]) -> None:
        """Call ``work(item)`` for every item, several at a time."""
        if self._pool is None:
            for item in items:
                work(item)
            return
        queue = list(items)[::-1]
        lock = threading.Lock()

        def drain() -> None:
            while True:
                with lock:
                    if not queue:
                        return
                    item = queue.pop()
                try:
                    work(item)
                except BaseException:
                    with lock:
                        queue.clear()  # nobody begins another item after a failure
                    raise

        futures = [self._pool.submit(drain) for _ in range(min(self.n_threads, len(queue)) - 1)]
        _together(drain, futures)


def _together(work: Callable[[], Any], futures: Sequence[Future[Any]]) -> None:
    """Do one's own part, wait for the others, and raise the first error: one's own, if there is one."""
    try:
        work()
    finally:
        wait(futures)
    for future in futures:
        future.result()


@contextmanager
def team(n_threads: int) -> Iterator[Team]:
    """Open a team."""
    if n_threads <= 1:
        yield Team(1, None)
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        yield Team(n_threads, pool)
