"""The outcome of a training run, and its watcher while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Watcher(Protocol):
    """Who looks on while training runs: told of progress, asked whether to stop."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Hear where training is."""

    def should_stop(self) -> bool:
        """Answer whether to stop after this block."""


@dataclass(frozen=True)
class TrainingRun:
    """What one call of a trainer's ``run`` did.

    Attributes
    ----------
    steps : int
        Examples presented.
    converged : bool
        Whether the last pass made no mistake.
    interrupted : bool
        Whether the watcher stopped it.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.engine import PrimalTrainer
    >>> PrimalTrainer(n_features=2, n_vectors=1).run(np.eye(2), np.array([0, 1]), np.arange(2), n_steps=1)
    TrainingRun(steps=1, converged=False, interrupted=False)
    """

    steps: int
    converged: bool
    interrupted: bool
