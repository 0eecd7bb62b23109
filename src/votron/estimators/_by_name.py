"""The classifiers that can be trained, by the names that they have in searches and on the command line."""

from __future__ import annotations

from typing import Any

from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.winnow import WinnowClassifier

ESTIMATORS: dict[str, type[Any]] = {
    "voted": VotedPerceptronClassifier,
    "averaged": AveragedPerceptronClassifier,
    "adatron": KernelAdatronClassifier,
    "winnow": WinnowClassifier,
    "naive-bayes": NaiveBayesLinearClassifier,
}
"""The classifiers that can be trained, by the names they have on the command line."""
