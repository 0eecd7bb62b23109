"""Progress of anything that takes long: a bar on a terminal, plain lines elsewhere, nothing when it is not wanted.

Training, tuning, streams, downloads and experiments all report to `Progress`. It is written by hand, since it must work
without any package beyond the core, on a terminal and in a log; scikit-learn's own bar, for those who have rich, is a
callback of the classifiers (``set_callbacks``).
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

__all__ = ["Progress", "counting"]

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0
_LINE_SHARE = 0.1
_DEFAULT_WIDTH = 80
_MAX_BAR = 30
_MIN_BAR = 5
_SMOOTHING = 0.3  # the weight of the newest speed: later epochs are much faster than the first


Left = Callable[[], tuple[float, float] | None]
"""Returns how many seconds are left, at least and at most, if it is known."""


class Progress:
    """Show how far something is that takes long.

    On a terminal it is one line, redrawn at most ten times a second and never wider than the terminal, in
    colour unless ``NO_COLOR`` is set. Elsewhere (a file, a pipe, a dumb terminal) it is a plain line for each
    tenth of the work, or after five seconds without one, and one at the beginning if work is reported to be at 0.

    Parameters
    ----------
    total : float or None
        How much there is to do, in any unit; None if nobody knows. It may be set later, as ``total``.
    enabled : bool
        If false, nothing is ever written and `update` returns at once.
    stream : text file, optional
        Where to write, by default ``sys.stderr``.
    label : str, default="fit"
        What stands first on the line.
    unit : str, optional
        Of what so many are done in a second; if there is none, no speed is shown, and the time that is left follows
        from all that is done so far, and not from what was done of late.
    erase : bool, default=False
        Whether a terminal's line is gone at the end.
    clock : callable, default=time.monotonic
        Gives the time in seconds.

    Examples
    --------
    >>> import sys
    >>> from votron._util.progress import Progress
    >>> seconds = iter([0, 2, 4])
    >>> with Progress(1000, True, sys.stdout, unit="examples", clock=lambda: next(seconds)) as progress:
    ...     progress.update(500, "epoch 1, 70 mistakes")
    ...     progress.update(1000, "epoch 2, 81 mistakes")
    fit  50%, epoch 1, 70 mistakes, 250 examples/s, 0:02 left
    fit 100%, epoch 2, 81 mistakes, 250 examples/s, 0:00 left
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
        self.total = total
        self._stream = sys.stderr if stream is None else stream
        self._enabled = enabled and self._stream is not None  # there is no stderr under pythonw
        if not self._enabled:
            return
        self._label, self._unit, self._erase = label, unit, erase
        self._clock = clock
        self._on_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = not os.environ.get("NO_COLOR") and sys.platform != "win32"
        self._full, self._empty = ("━", "─") if _can_write(self._stream, "━─") else ("#", "-")
        self._start = self._shown_at = clock()
        self._shown: float = 0
        self._speed = 0.0  # in a second
        self._drawn = False
        self._pending: tuple[float, str, Left | None] | None = None  # the newest state, where it is not shown

    def update(self, done: float, note: str = "", left: Left | None = None) -> None:
        """Tell how far it is; shown only when it is time to.

        Parameters
        ----------
        done : float
            How much is done, of the total.
        note : str
            What else there is to say.
        left : callable, optional
            Returns the seconds that are left, at least and at most, or None; by default they follow from the speed.

        Examples
        --------
        >>> from votron._util.progress import Progress
        >>> Progress(1000, enabled=False).update(500, "epoch 1, 70 mistakes")
        """
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
        """Make room on a terminal for something else; the line is there again at the next update.

        Examples
        --------
        >>> from votron._util.progress import Progress
        >>> Progress(1000, enabled=False).clear()
        """
        if self._enabled and self._on_terminal and self._drawn:
            self._stream.write("\r" + " " * (_width(self._stream) - 1) + "\r")
            self._stream.flush()
            self._drawn = False

    def close(self) -> None:
        """Show the newest state if it is not shown yet, and end the line. A second call does nothing.

        Examples
        --------
        >>> from votron._util.progress import Progress
        >>> Progress(1000, enabled=False).close()
        """
        if not self._enabled:
            return
        gone = self._erase and self._on_terminal
        if self._pending and not gone:
            self._show(self._clock(), *self._pending)
        if gone:
            self.clear()
        elif self._on_terminal and self._drawn:
            self._stream.write("\n")
            self._stream.flush()
        self._enabled = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, now: float, done: float, note: str, left: Left | None = None) -> None:
        self._measure(now, done)
        share = None if self.total is None else min(1.0, done / max(1, self.total))
        head = self._label if share is None else f"{self._label} {int(100 * share):3d}%"
        facts = [note] if note else []
        if self._unit and self._speed > 0:
            facts.append(f"{self._speed:,.0f} {self._unit}/s")
        if forecast := None if left is None else left():
            facts.append(f"{_span(*forecast)} left")
        elif self.total is not None and self._speed > 0:
            facts.append(f"{_minutes(max(0, self.total - done) / self._speed)} left")
        if self._on_terminal:
            self._stream.write("\r" + self._bar_line(head, share, ", ".join(facts)))
        else:
            self._stream.write(", ".join([head, *facts]) + "\n")
        self._stream.flush()
        self._shown_at, self._shown, self._pending, self._drawn = now, done, None, True

    def _measure(self, now: float, done: float) -> None:
        """Find out the speed: of late where it is shown, else from the beginning, since large parts come unevenly."""
        if not self._unit:
            self._speed = done / (now - self._start) if now > self._start else 0.0
        elif now > self._shown_at:
            speed = (done - self._shown) / (now - self._shown_at)
            self._speed = self._speed + _SMOOTHING * (speed - self._speed) if self._speed else speed

    def _bar_line(self, head: str, share: float | None, tail: str) -> str:
        """Fit head, bar and tail into the terminal's width, less the last column, where some wrap."""
        width = _width(self._stream) - 1
        size = min(_MAX_BAR, width - len(head) - len(tail) - 3)
        if share is None or size < _MIN_BAR:
            return f"{head} {tail}"[:width].ljust(width)
        n_full = int(size * share)
        full, empty = self._full * n_full, self._empty * (size - n_full)
        if self._colour:
            full, empty = f"\x1b[36m{full}\x1b[0m", f"\x1b[2m{empty}\x1b[0m"
        return f"{head} {full}{empty}  {tail}" + " " * (width - len(head) - len(tail) - 3 - size)


@contextmanager
def counting(
    total: int, things: str, *, label: str = "Training", enabled: bool = True, stream: TextIO | None = None
) -> Iterator[Callable[[int], None]]:
    """Show how many of a few large things are done; yield what is told so.

    Examples
    --------
    >>> import sys
    >>> with counting(2, "permutations", stream=sys.stdout) as report:
    ...     report(0)
    Training   0%, 0 of 2 permutations
    """
    with Progress(total, enabled, stream, label, erase=True) as progress:
        yield lambda done: progress.update(done, f"{done} of {total} {things}")


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return _DEFAULT_WIDTH


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _span(low: float, high: float) -> str:
    """Return a range of times, or one where both ends read the same.

    Examples
    --------
    >>> _span(40, 71), _span(0.6, 1.4)
    ('0:40 to 1:11', '0:01')
    """
    ends = _minutes(low), _minutes(high)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
