"""The outcome of a training run, and its watcher while it goes on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol


class Watcher(Protocol):
    """Receives progress, and may stop the run."""

    def update(self, step: int, epoch: int, mistakes: int) -> None: ...

    def should_stop(self) -> bool:
        """Return whether to stop after this block."""


class Watch:
    """Hands progress on, and tells the engine to stop after this block when Ctrl-C is pressed; at a second one, now."""

    def __init__(self) -> None:
        self.report: Callable[[int, int, int], None] | None = None
        self.interrupted = False
        self.before = 0
        """Steps of earlier parts, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        if self.report is not None:
            self.report(self.before + step, epoch, mistakes)

    def should_stop(self) -> bool:
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    @contextmanager
    def minding_ctrl_c(self) -> Iterator[None]:
        """Handle Ctrl-C, unless somebody else does, or nobody can from this thread."""
        mine = threading.current_thread() is threading.main_thread()
        if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self.interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class TrainingRun:
    """The outcome of a trainer's ``run``: examples presented, and whether it converged or was interrupted."""

    steps: int
    converged: bool
    interrupted: bool
