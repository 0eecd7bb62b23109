"""What the classifiers that learn in passes over the data share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.exceptions import ConvergenceWarning

from votron._resources import available_memory
from votron._sentences import rounded_bytes
from votron.engine import TrainingRun
from votron.errors import Parameter, VotronError
from votron.estimators._inputs import check_same_classes, read_classes
from votron.estimators._kept import KeptClassifier
from votron.estimators._scores import ScoreClassifier
from votron.estimators._watch import Watch, watching

_WORTH_ASKING = 64 << 20
"""Bytes of weights from which it is asked whether there is room for them."""
_LONGEST = 2**62
"""Steps that can be counted."""


class EpochClassifier(KeptClassifier, ScoreClassifier):
    """A classifier that learns in ``epochs`` passes."""

    MAX_EPOCHS: ClassVar[int] = 1000
    """Passes after which ``epochs=None`` gives up, with a warning."""

    epochs: float | None
    verbose: int

    @property
    def _passes(self) -> float:
        """Passes over the data: calls of partial_fit with new rows are parts of one."""
        n_epochs = float(getattr(self, "n_epochs_", 0.0))
        return min(1.0, n_epochs) if getattr(self, "_once", False) else n_epochs

    def _n_steps(self, n_examples: int) -> int:
        """Return how many examples to present."""
        if self.epochs is None:
            return self.MAX_EPOCHS * n_examples
        n_steps = round(float(self.epochs) * n_examples)
        if not 1 <= n_steps <= _LONGEST:
            raise VotronError(
                Parameter("epochs", of=type(self).__name__),
                f" must present between 1 and 2^62 examples, of {n_examples} in an epoch. Got {self.epochs!r} instead.",
            )
        return n_steps

    def _watched(self, n_steps: int, train: Callable[[Watch], TrainingRun]) -> TrainingRun:
        """Train under a progress bar; Ctrl-C ends training early, and what happened says so."""
        with watching(n_steps, bool(self.verbose)) as watch:
            run = train(watch)
        return replace(run, interrupted=watch.interrupted)

    def _check_trained(self) -> None:
        """Refuse to show what a trainer has learnt before there is one."""
        if not hasattr(self, "_trainer"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first.")

    def _check_room(self, n_bytes: int) -> None:
        """Refuse weights for which there is no memory, before the system finds out in its own way."""
        if n_bytes > _WORTH_ASKING and n_bytes > (free := available_memory()):
            raise VotronError(
                f"The weights of {self.n_features_in_:,} features and {len(self.classes_):,} classes take "
                f"{rounded_bytes(n_bytes)} in training, and {rounded_bytes(free)} are free: select or hash features, "
                "or take fewer classes."
            )

    def _check_same_classes(self, classes: Any) -> None:
        """Refuse other classes than those of the first call of ``partial_fit``."""
        if classes is not None:
            check_same_classes(read_classes(classes), self.classes_)

    def _raise_if(self, interrupted: bool, steps: int) -> None:
        """Hand the user's Ctrl-C on, now that the model is fitted."""
        if interrupted:
            raise KeyboardInterrupt(
                f"Training stopped after {steps:,} examples; the model has what it learnt until then."
            )

    def _warn_if(self, given_up: bool, advice: str) -> None:
        """Say that training did not converge, where it was to go on until then."""
        if self.epochs is None and given_up:
            warnings.warn(
                f"Training made mistakes in each of {self.MAX_EPOCHS} epochs, the most that epochs=None allows: "
                f"{advice}.",
                ConvergenceWarning,
                stacklevel=3,
            )
