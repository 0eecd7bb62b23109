"""Evaluating a classifier on labelled rows, and comparing several on the same folds."""

from votron.evaluate._compare import CANDIDATES, SCORES, compare
from votron.evaluate.comparison import Comparison, ComparisonRow
from votron.evaluate.evaluation import Evaluation

__all__ = ["CANDIDATES", "SCORES", "Comparison", "ComparisonRow", "Evaluation", "compare"]
