"""Comparing learners on the same folds: how good each is, how fast and how large, and which differences are noise."""

from votron.evaluate._compare import compare
from votron.evaluate._result import Comparison, ComparisonRow
from votron.evaluate.candidates import CANDIDATES
from votron.evaluate.scores import SCORES

__all__ = ["CANDIDATES", "SCORES", "Comparison", "ComparisonRow", "compare"]
