"""The classifiers of Votron, in scikit-learn's interface.

Names are loaded when they are first used: the command line lists classifiers without importing them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from votron.estimators._training import held_out_split as held_out_split
    from votron.estimators.adatron import KernelAdatronClassifier as KernelAdatronClassifier
    from votron.estimators.averaged import AveragedPerceptronClassifier as AveragedPerceptronClassifier
    from votron.estimators.base import VotronClassifier
    from votron.estimators.compact import CompactClassifier as CompactClassifier
    from votron.estimators.naive_bayes import NaiveBayesLinearClassifier as NaiveBayesLinearClassifier
    from votron.estimators.pipelines import ClassifierPipeline as ClassifierPipeline
    from votron.estimators.pipelines import encoder_for as encoder_for
    from votron.estimators.pipelines import table_classifier as table_classifier
    from votron.estimators.pipelines import table_options as table_options
    from votron.estimators.voted import VotedPerceptronClassifier as VotedPerceptronClassifier
    from votron.estimators.voted_cv import VotedPerceptronClassifierCV as VotedPerceptronClassifierCV
    from votron.estimators.winnow import WinnowClassifier as WinnowClassifier

_HOMES = {
    "AveragedPerceptronClassifier": "averaged",
    "ClassifierPipeline": "pipelines",
    "CompactClassifier": "compact",
    "KernelAdatronClassifier": "adatron",
    "NaiveBayesLinearClassifier": "naive_bayes",
    "VotedPerceptronClassifier": "voted",
    "VotedPerceptronClassifierCV": "voted_cv",
    "WinnowClassifier": "winnow",
    "encoder_for": "pipelines",
    "held_out_split": "_training",
    "table_classifier": "pipelines",
    "table_options": "pipelines",
}

__all__ = ["ESTIMATORS", *_HOMES]


class _Estimators(Mapping[str, "type[VotronClassifier]"]):
    """Classes by name, each imported when it is looked up."""

    _names = {  # noqa: RUF012
        "voted": "VotedPerceptronClassifier",
        "averaged": "AveragedPerceptronClassifier",
        "adatron": "KernelAdatronClassifier",
        "winnow": "WinnowClassifier",
        "naive-bayes": "NaiveBayesLinearClassifier",
    }

    def __getitem__(self, name: str) -> type[VotronClassifier]:
        found: type[VotronClassifier] = __getattr__(self._names[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


ESTIMATORS = _Estimators()
"""The classifiers that can be trained, by their names on the command line."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'votron.estimators' has no attribute {name!r}")
    return getattr(importlib.import_module(f"votron.estimators.{_HOMES[name]}"), name)
