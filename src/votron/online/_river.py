"""The interface of river's classifiers.

River checks ``isinstance(model, river.base.Classifier)``. Inheriting from that class would make river a dependency, so
learners are registered with it once river is loaded.
"""

from __future__ import annotations

import copy
import inspect
import sys
from typing import Self

from votron._util.types import Labels, Params
from votron.errors import VotronError
from votron.online._reading import Example, read_truth


class RiverClassifier:
    """The ``learn_one`` and ``predict_one`` of river, over ``update`` and ``predict``."""

    _supervised = True
    _multiclass = False
    _is_stochastic = False
    _mutable_attributes: frozenset[str] = frozenset()

    def update(self, x: Example, y: Labels, weight: float = 1.0) -> bool:
        raise NotImplementedError

    def predict(self, x: Example) -> int:
        raise NotImplementedError

    def learn_one(self, x: Example, y: Labels, w: float = 1.0) -> None:
        """Accept an example with a label of True or False, 1 or 0, +1 or -1, and its weight."""
        self.update(x, read_truth(y), w)

    def predict_one(self, x: Example) -> bool:
        """Predict a label: whether it is +1."""
        return self.predict(x) > 0

    def predict_proba_one(self, x: Example) -> dict[bool, float]:
        """Refuse: a perceptron predicts labels, not probabilities. River expects this error."""
        raise NotImplementedError(
            f"{type(self).__name__} predicts labels, not probabilities, which river's OneVsRestClassifier, ensembles, "
            "and metrics such as ROCAUC need: use OneVsOneClassifier for several classes, and metrics such as Accuracy."
        )

    def clone(self, new_params: Params | None = None, include_attributes: bool = False) -> Self:
        """Return a new learner with the same parameters, or with ``include_attributes`` a copy of this one.

        Parameters
        ----------
        new_params : dict, optional
            Parameters to change; not in a copy.
        include_attributes : bool, default=False
            Whether to copy what was learnt.
        """
        if include_attributes:
            return copy.deepcopy(self)
        return type(self)(**copy.deepcopy(self._get_params() | (new_params or {})))

    def mutate(self, new_attrs: Params) -> None:
        """Refuse to change parameters in place."""
        if new_attrs:
            raise VotronError(f"The parameters of {type(self).__name__} cannot be changed: use clone({new_attrs!r}).")

    def _get_params(self) -> Params:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def _tags(self) -> set[str]:
        return set()

    @property
    def _raw_memory_usage(self) -> int:
        from river import base

        return int(base.Base._raw_memory_usage.fget(self))


def announce() -> None:
    """Tell river, if it is loaded, that learners are classifiers."""
    base = sys.modules.get("river.base")
    if hasattr(base, "Classifier"):
        base.Classifier.register(RiverClassifier)  # type: ignore[union-attr]
