"""The classifiers of Votron, in scikit-learn's interface."""

from typing import Any

from votron.estimators._validation import held_out_split
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.voted_cv import VotedPerceptronClassifierCV
from votron.estimators.winnow import WinnowClassifier

__all__ = [
    "ESTIMATORS",
    "AveragedPerceptronClassifier",
    "CompactClassifier",
    "KernelAdatronClassifier",
    "NaiveBayesLinearClassifier",
    "VotedPerceptronClassifier",
    "VotedPerceptronClassifierCV",
    "WinnowClassifier",
    "held_out_split",
]

ESTIMATORS: dict[str, type[Any]] = {
    "voted": VotedPerceptronClassifier,
    "averaged": AveragedPerceptronClassifier,
    "adatron": KernelAdatronClassifier,
    "winnow": WinnowClassifier,
    "naive-bayes": NaiveBayesLinearClassifier,
}
"""The classifiers that can be trained, by the names they have on the command line."""
