"""The interface of river's classifiers, so that a learner can be the last step of its pipelines.

river is not needed for any of it. It tells a classifier by ``isinstance(model, river.base.Classifier)``; the learner
does not inherit from that class, which would make river a dependency, but is registered with it once river is loaded.
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
        """Accept an example."""
        raise NotImplementedError

    def predict(self, x: Example) -> int:
        """Predict a label."""
        raise NotImplementedError

    def learn_one(self, x: Example, y: Labels, w: float = 1.0) -> None:
        """Accept an example, as river's classifiers do.

        Parameters
        ----------
        x : dict, or whatever ``update`` takes
            The example.
        y : bool or int
            True or False, 1 or 0, +1 or -1.
        w : float, default=1.0
            The weight of the example.
        """
        self.update(x, read_truth(y), w)

    def predict_one(self, x: Example) -> bool:
        """Predict a label, as river's classifiers do.

        Parameters
        ----------
        x : dict, or whatever ``predict`` takes
            The example.

        Returns
        -------
        bool
            Whether the prediction is +1.
        """
        return self.predict(x) > 0

    def predict_proba_one(self, x: Example) -> dict[bool, float]:
        """Refuse: a perceptron predicts labels, not probabilities. river takes this for an answer."""
        raise NotImplementedError(
            f"{type(self).__name__} predicts labels, not probabilities, which river's OneVsRestClassifier, its "
            "ensembles, and metrics such as ROCAUC ask for: use it in pipelines, in OneVsOneClassifier for several "
            "classes, and with metrics of labels, such as Accuracy."
        )

    def clone(self, new_params: Params | None = None, include_attributes: bool = False) -> Self:
        """Return a new learner with the same parameters, which has seen no example.

        Parameters
        ----------
        new_params : dict, optional
            Parameters to have instead.
        include_attributes : bool, default=False
            Return one that has learnt what this one has; then there can be no new parameters.
        """
        if include_attributes:
            if new_params:
                raise VotronError(
                    f"A {type(self).__name__} cannot keep what it learnt with other parameters. Got {new_params!r}."
                )
            return copy.deepcopy(self)
        return type(self)(**copy.deepcopy(self._get_params() | (new_params or {})))

    def mutate(self, new_attrs: Params) -> None:
        """Refuse to change parameters in place, as river does of all attributes that are not named mutable."""
        if new_attrs:
            raise VotronError(
                f"The parameters of {type(self).__name__} cannot be changed once it is made: use clone({new_attrs!r})."
            )

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
        base.Classifier.register(RiverClassifier)  # type: ignore[union-attr]  # it has been asked for
