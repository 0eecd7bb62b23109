"""Early stopping: training ends when some passes in a row have not predicted held-out rows better."""

from __future__ import annotations

from collections.abc import Callable

from votron.engine.run import Watcher
from votron.record import MistakeRecord
from votron.rules.held_out import HeldOutRows, moments_within


class EarlyStop:
    """A watcher that ends training when ``patience`` passes have brought no better prediction of held-out rows."""

    watcher: Watcher

    def __init__(
        self,
        held_out: HeldOutRows,
        record_at: Callable[[int], MistakeRecord],
        n_examples: int,
        n_steps: int,
        patience: int,
    ) -> None:
        self.held_out, self.record_at = held_out, record_at
        self.n_examples, self.n_steps, self.patience = n_examples, n_steps, patience
        self.looked, self.over = 0, False

    def beside(self, watcher: Watcher) -> EarlyStop:
        self.watcher = watcher
        return self

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        self.watcher.update(step, epoch, mistakes)
        if step % self.n_examples == 0 or step >= self.n_steps:
            self.look(step)

    def should_stop(self) -> bool:
        return self.watcher.should_stop() or self.over

    def look(self, step: int) -> None:
        """Look at the moments up to this step, and judge whether that was long enough."""
        if step <= self.looked:
            return
        self.held_out.look(self.record_at(step), moments_within(self.looked, step, self.n_examples))
        self.looked = step
        best = self.held_out.times[self.held_out.best[0]]
        self.over = -(-step // self.n_examples) - -(-best // self.n_examples) >= self.patience

    def look_on(self, steps: int) -> None:
        """Look at the passes that were left out since the last made no mistake: sums go on to grow in them."""
        while not self.over and self.looked < steps:
            self.look(min(self.looked - self.looked % self.n_examples + self.n_examples, steps))
