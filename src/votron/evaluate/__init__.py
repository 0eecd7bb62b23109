"""Evaluating a classifier on labelled rows, and comparing several on the same folds."""

from votron.evaluate._compare import compare
from votron.evaluate._result import Comparison, ComparisonRow
from votron.evaluate.candidates import CANDIDATES
from votron.evaluate.evaluation import Evaluation
from votron.evaluate.scores import SCORES

__all__ = ["CANDIDATES", "SCORES", "Comparison", "ComparisonRow", "Evaluation", "compare"]
