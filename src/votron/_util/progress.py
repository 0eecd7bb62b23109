"""Progress of long work: a line that is redrawn on a terminal, plain lines in a pipe or a file."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self, TextIO

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0
_LINE_SHARE = 0.1


class Watcher(Protocol):
    """Receives the progress of training, and may stop it."""

    def update(self, step: int, epoch: int, mistakes: int) -> None: ...

    def should_stop(self) -> bool:
        """Return whether to stop after this block."""


class Progress:
    """Show how far long work is: a line that is redrawn on a terminal, plain lines elsewhere.

    ``total`` may be set later. The time left follows from the speed in the later half of the time so far.
    """

    def __init__(
        self,
        total: float | None,
        enabled: bool,
        stream: TextIO | None = None,
        label: str = "fit",
        *,
        unit: str = "",
        erase: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self._label, self._unit, self._erase = total, label, unit, erase
        self._stream, self._clock = stream or sys.stderr, clock
        self._enabled = enabled and self._stream is not None  # there is no stderr under pythonw
        self._on_terminal = self._enabled and self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start = clock()
        self._shown = deque([(self._start, 0.0)])
        self._drawn = False
        self._pending: tuple[float, str] | None = None  # the newest state, where it is not shown

    def update(self, done: float, note: str = "") -> None:
        """Take note of how much is done; show it when it is time to."""
        if not self._enabled:
            return
        now = self._clock()
        shown_at, shown = self._shown[-1]
        due = now - shown_at >= (_REDRAW_SECONDS if self._on_terminal else _LINE_SECONDS)
        due |= not self._drawn and (self._on_terminal or done == 0)
        if not self._on_terminal and self.total is not None:
            due |= done - shown >= _LINE_SHARE * max(1, self.total)
        if due:
            self._show(now, done, note)
        else:
            self._pending = done, note

    def close(self) -> None:
        """Show the newest state if it is not shown yet, and end the line."""
        if not self._enabled:
            return
        erase = self._on_terminal and self._erase
        if self._pending and not erase:
            self._show(self._clock(), *self._pending)
        if self._on_terminal and self._drawn:
            self._write("\r" + " " * (self._width() - 1) + "\r" if erase else "\n")
        self._enabled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _show(self, now: float, done: float, note: str) -> None:
        share = "" if self.total is None else f" {int(100 * min(1.0, done / max(1, self.total))):3d}%"
        head = self._label + share
        facts = [note] if note else []
        if self._unit and done and now > self._start:
            facts.append(f"{done / (now - self._start):,.0f} {self._unit}/s")
        self._shown.append((now, done))
        while len(self._shown) > 2 and self._shown[1][0] <= (self._start + now) / 2:
            self._shown.popleft()
        then, done_then = self._shown[0]
        if self.total is not None and done > done_then and now > then:
            facts.append(f"{_minutes(max(0, self.total - done) * (now - then) / (done - done_then))} left")
        line = ", ".join([head, *facts])
        if self._on_terminal:  # some wrap in the last column
            width = self._width() - 1
            self._write("\r" + line[:width].ljust(width))
        else:
            self._write(line + "\n")
        self._pending, self._drawn = None, True

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except OSError:  # a console without a file number, as in editors
            return 80

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@contextmanager
def counting(total: int, things: str, *, enabled: bool = True) -> Iterator[Callable[[int], None]]:
    """Show how many of a few large things are done; yield a function to report their number."""
    with Progress(total, enabled, label="Training", erase=True) as progress:
        yield lambda done: progress.update(done, f"{done} of {total} {things}")


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
