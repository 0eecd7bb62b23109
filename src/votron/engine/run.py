"""The outcome of a training run, and its watcher while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Watcher(Protocol):
    """Receives progress, and may stop the run."""

    def update(self, step: int, epoch: int, mistakes: int) -> None: ...

    def should_stop(self) -> bool:
        """Return whether to stop after this block."""


@dataclass(frozen=True)
class TrainingRun:
    """The outcome of a trainer's ``run``: examples presented, and whether it converged or was interrupted."""

    steps: int
    converged: bool
    interrupted: bool
