"""Reasons: which examples, features and vectors made a score, and which training rows a record casts doubt on.

A score is a sum. By the rules "last", "average", "pocket", "holdout" and "random" it is one over examples,
Σ_j α_j K(x_j, x), over a divisor; with a linear kernel, and in linear models, it is also one over features. By a vote
it is one over vectors, each with its sign for every step that it survived, and no sum over examples: there the vectors
explain the score, and the examples the mean of the vectors' scores, which stands beside it. `explain` returns these
sums, the largest terms one by one and the others together, so that what is shown adds up to the score: to rounding, and
exactly where the numbers are whole and below 2^53. With other kernels features have no share in the score; what each
column does to it, by itself, stands in their place.
"""

from votron.explanations.explanation import Explanation, Explanations, History, Term, Terms
from votron.explanations.features import Effect, strongest_features
from votron.explanations.models import explain, suspects
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
    "suspects",
]
