"""The classifiers of Votron, in scikit-learn's interface."""

from votron.estimators._by_name import ESTIMATORS
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
