"""The classifiers of Votron, in scikit-learn's interface.

Names are loaded when they are first used: the command line lists classifiers without importing them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from votron.estimators._training import held_out_split as held_out_split
    from votron.estimators.adatron import KernelAdatronClassifier as KernelAdatronClassifier
    from votron.estimators.averaged import AveragedPerceptronClassifier as AveragedPerceptronClassifier
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


ESTIMATORS = {
    "voted": "VotedPerceptronClassifier",
    "averaged": "AveragedPerceptronClassifier",
    "adatron": "KernelAdatronClassifier",
    "winnow": "WinnowClassifier",
    "naive-bayes": "NaiveBayesLinearClassifier",
}
"""The classifiers that can be trained, by their names on the command line."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'votron.estimators' has no attribute {name!r}")
    return getattr(importlib.import_module(f"votron.estimators.{_HOMES[name]}"), name)
