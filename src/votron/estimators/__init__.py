"""The scikit-learn faces of Votron."""

from votron.estimators.voted import VotedPerceptronClassifier

__all__ = ["VotedPerceptronClassifier"]
