"""Who looks on while an estimator trains: a progress bar, and the user's Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from votron._progress import Progress


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
