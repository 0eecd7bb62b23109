"""Progress of long work: a bar on a terminal, plain lines in a pipe or a file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0
_LINE_SHARE = 0.1
_DEFAULT_WIDTH = 80
_MAX_BAR = 30
_MIN_BAR = 5

Left = Callable[[], tuple[float, float] | None]
"""Returns how many seconds are left, at least and at most, if it is known."""


class Progress:
    """Show how far long work is.

    On a terminal it is one line, redrawn at most ten times a second. Elsewhere it is a plain line for each tenth of the
    work or every five seconds. ``total`` may be set later; a ``unit`` adds how many are done in a second.
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
        self._start = self._shown_at = clock()
        self._shown, self._drawn = 0.0, False
        self._pending: tuple[float, str, Left | None] | None = None  # the newest state, where it is not shown

    def update(self, done: float, note: str = "", left: Left | None = None) -> None:
        """Take note of how much is done; show it when it is time to."""
        if not self._enabled:
            return
        now = self._clock()
        waited = now - self._shown_at
        if self._on_terminal:
            due = waited >= _REDRAW_SECONDS or not self._drawn
        else:
            due = waited >= _LINE_SECONDS or (done == 0 and not self._drawn)
            due = due or (self.total is not None and done - self._shown >= _LINE_SHARE * max(1, self.total))
        if due:
            self._show(now, done, note, left)
        else:
            self._pending = (done, note, left)

    def clear(self) -> None:
        """Make room on a terminal for something else; the line is there again at the next update."""
        if self._on_terminal and self._drawn:
            self._write("\r" + " " * (self._width() - 1) + "\r")
            self._drawn = False

    def close(self) -> None:
        """Show the newest state if it is not shown yet, and end the line."""
        if not self._enabled:
            return
        if self._erase and self._on_terminal:
            self.clear()
        else:
            if self._pending:
                self._show(self._clock(), *self._pending)
            if self._on_terminal and self._drawn:
                self._write("\n")
        self._enabled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, now: float, done: float, note: str, left: Left | None) -> None:
        speed = done / (now - self._start) if now > self._start else 0.0
        share = None if self.total is None else min(1.0, done / max(1, self.total))
        head = self._label if share is None else f"{self._label} {int(100 * share):3d}%"
        facts = [note] if note else []
        if self._unit and speed > 0:
            facts.append(f"{speed:,.0f} {self._unit}/s")
        span = None if left is None else left()
        if span is None and self.total is not None and speed > 0:
            rest = max(0, self.total - done) / speed
            span = rest, rest
        if span is not None:
            facts.append(f"{' to '.join(dict.fromkeys(map(_minutes, span)))} left")
        if self._on_terminal:
            self._write("\r" + self._bar_line(head, share, ", ".join(facts)))
        else:
            self._write(", ".join([head, *facts]) + "\n")
        self._shown_at, self._shown, self._pending, self._drawn = now, done, None, True

    def _bar_line(self, head: str, share: float | None, tail: str) -> str:
        """Fit head, bar and tail into the terminal's width, less the last column, where some wrap."""
        width = self._width() - 1
        size = min(_MAX_BAR, width - len(head) - len(tail) - 3)
        if share is not None and size >= _MIN_BAR:
            full, empty = "━─" if (self._stream.encoding or "").lower().startswith("utf") else "#-"
            n_full = int(size * share)
            head += f" {full * n_full}{empty * (size - n_full)} "
        return f"{head} {tail}"[:width].ljust(width)

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _DEFAULT_WIDTH
        except OSError:
            return _DEFAULT_WIDTH

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
