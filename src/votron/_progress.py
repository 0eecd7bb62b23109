"""Progress of a long training: a bar on a terminal, plain lines elsewhere; and the Ctrl-C that ends it early."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TextIO

__all__ = ["Progress", "Watch", "watching"]

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0
_LINE_SHARE = 0.1
_DEFAULT_WIDTH = 80
_MAX_BAR = 30
_MIN_BAR = 5
_SMOOTHING = 0.3  # the weight of the newest speed: later epochs are much faster than the first


class Progress:
    """Show how far a long training is.

    On a terminal it is one line, redrawn at most ten times a second and never wider than the terminal, in
    colour unless ``NO_COLOR`` is set. Elsewhere (a file, a pipe, a dumb terminal) it is a plain line for each
    tenth of the work, or after five seconds without one.

    Parameters
    ----------
    total_steps : int
        How many examples training will present, epochs times examples.
    enabled : bool
        If false, nothing is ever written and `update` returns at once.
    stream : text file, optional
        Where to write, by default ``sys.stderr``.
    label : str, default="fit"
        What stands first on the line.
    clock : callable, default=time.monotonic
        Gives the time in seconds.

    Examples
    --------
    >>> import sys
    >>> from votron._progress import Progress
    >>> seconds = iter([0, 2, 4])
    >>> with Progress(1000, enabled=True, stream=sys.stdout, clock=lambda: next(seconds)) as progress:
    ...     progress.update(500, epoch=1, mistakes=70)
    ...     progress.update(1000, epoch=2, mistakes=81)
    fit  50%, epoch 1, 70 mistakes, 250 examples/s, 0:02 left
    fit 100%, epoch 2, 81 mistakes, 250 examples/s, 0:00 left
    """

    def __init__(
        self,
        total_steps: int,
        enabled: bool,
        stream: TextIO | None = None,
        label: str = "fit",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._enabled = enabled and self._stream is not None  # there is no stderr under pythonw
        if not self._enabled:
            return
        self._total = max(1, total_steps)
        self._label = label
        self._clock = clock
        self._on_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = not os.environ.get("NO_COLOR") and sys.platform != "win32"
        self._full, self._empty = ("━", "─") if _can_write(self._stream, "━─") else ("#", "-")
        self._shown_at = clock()
        self._shown_step = 0
        self._speed = 0.0  # examples per second, smoothed
        self._drawn = False
        self._pending: tuple[int, int, int] | None = None  # the newest state, where it is not shown

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Tell how far training is; shown only when it is time to.

        Parameters
        ----------
        step : int
            Examples presented so far, over all epochs.
        epoch : int
            The number of the current epoch.
        mistakes : int
            Mistakes so far, over all epochs and classes.

        Examples
        --------
        >>> from votron._progress import Progress
        >>> Progress(1000, enabled=False).update(500, epoch=1, mistakes=70)
        """
        if not self._enabled:
            return
        now = self._clock()
        waited = now - self._shown_at
        if self._on_terminal:
            due = waited >= _REDRAW_SECONDS or not self._drawn
        else:
            due = waited >= _LINE_SECONDS or step - self._shown_step >= _LINE_SHARE * self._total
        if due:
            self._show(now, step, epoch, mistakes)
        else:
            self._pending = (step, epoch, mistakes)

    def close(self) -> None:
        """Show the newest state if it is not shown yet, and end the line. A second call does nothing.

        Examples
        --------
        >>> from votron._progress import Progress
        >>> Progress(1000, enabled=False).close()
        """
        if not self._enabled:
            return
        if self._pending:
            self._show(self._clock(), *self._pending)
        if self._on_terminal and self._drawn:
            self._stream.write("\n")
            self._stream.flush()
        self._enabled = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, now: float, step: int, epoch: int, mistakes: int) -> None:
        elapsed = now - self._shown_at
        if elapsed > 0:
            speed = (step - self._shown_step) / elapsed
            self._speed = self._speed + _SMOOTHING * (speed - self._speed) if self._speed else speed
        share = min(1.0, step / self._total)
        head = f"{self._label} {int(100 * share):3d}%"
        tail = f"epoch {epoch}, {mistakes:,} mistakes"
        if self._speed > 0:
            left = max(0, self._total - step) / self._speed
            tail += f", {self._speed:,.0f} examples/s, {_minutes(left)} left"
        if self._on_terminal:
            self._stream.write("\r" + self._bar_line(head, share, tail))
        else:
            self._stream.write(f"{head}, {tail}\n")
        self._stream.flush()
        self._shown_at, self._shown_step, self._pending, self._drawn = now, step, None, True

    def _bar_line(self, head: str, share: float, tail: str) -> str:
        """Fit head, bar and tail into the terminal's width, less the last column, where some wrap."""
        width = _width(self._stream) - 1
        size = min(_MAX_BAR, width - len(head) - len(tail) - 3)
        if size < _MIN_BAR:
            return f"{head} {tail}"[:width].ljust(width)
        n_full = int(size * share)
        full, empty = self._full * n_full, self._empty * (size - n_full)
        if self._colour:
            full, empty = f"\x1b[36m{full}\x1b[0m", f"\x1b[2m{empty}\x1b[0m"
        return f"{head} {full}{empty}  {tail}" + " " * (width - len(head) - len(tail) - 3 - size)


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


# -- Ctrl-C ----------------------------------------------------------------------------------------------------------


class Watch:
    """Tells a progress bar where training is, and training whether the user wants it to stop."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.interrupted = False

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Pass the news on."""
        self._progress.update(step, epoch, mistakes)

    def should_stop(self) -> bool:
        """Tell whether Ctrl-C was pressed."""
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop after this block; at a second Ctrl-C, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


@contextmanager
def watching(total_steps: int, verbose: bool) -> Iterator[Watch]:
    """Watch a training run; Ctrl-C asks it to end after the current block, instead of breaking into the middle."""
    with Progress(total_steps, enabled=verbose) as progress:
        watch = Watch(progress)
        mine = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT) if mine else None
        if before is not signal.default_int_handler:
            yield watch  # somebody else handles Ctrl-C, or nobody can from this thread
            return
        signal.signal(signal.SIGINT, watch.interrupt)
        try:
            yield watch
        finally:
            signal.signal(signal.SIGINT, before)
