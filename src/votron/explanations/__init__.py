"""Explanations: which examples, features and vectors made a score, and which training rows a record casts doubt on.

A score is a sum: over examples, Σ_j α_j K(x_j, x), with a linear kernel also over features, and by a vote over vectors,
each with its sign for every step that it survived. Beside a vote stands the mean of the vectors' scores as a sum over
examples. With other kernels features have no share in the score; what each column does to it stands in their place.
"""

from votron.explanations.explanation import Explanation, Explanations, History, Term, Terms
from votron.explanations.features import Effect, strongest_features
from votron.explanations.models import explain
from votron.explanations.suspicion import Suspects

__all__ = [
    "Effect",
    "Explanation",
    "Explanations",
    "History",
    "Suspects",
    "Term",
    "Terms",
    "explain",
    "strongest_features",
]
