"""Comparing learners on the same folds: how good each is, how fast and how large, and which differences are noise."""

from votron.comparing._compare import compare
from votron.comparing._result import Comparison, ComparisonRow
from votron.comparing.candidates import CANDIDATES
from votron.comparing.scores import SCORES

__all__ = ["CANDIDATES", "SCORES", "Comparison", "ComparisonRow", "compare"]
