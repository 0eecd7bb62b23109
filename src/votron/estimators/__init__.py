"""The scikit-learn faces of Votron."""

from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.winnow import WinnowClassifier

__all__ = [
    "AveragedPerceptronClassifier",
    "CompactClassifier",
    "KernelAdatronClassifier",
    "NaiveBayesLinearClassifier",
    "VotedPerceptronClassifier",
    "WinnowClassifier",
]
