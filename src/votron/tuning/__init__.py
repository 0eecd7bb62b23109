"""Choosing parameters by cross-validation: kernel, degree, scale and margin, and, for free, epochs and rule.

A fit of the voted perceptron to the most epochs holds every rule at every earlier moment, so each setting of the rest
is fitted once a fold, and one scan over its record gives the whole table of epochs and rules. The search is that of
`votron.VotedPerceptronClassifierCV`, for all classifiers.
"""

from votron.estimators import ESTIMATORS
from votron.estimators._search.grids import default_grid, grid_in_words
from votron.tuning._result import TuningResult, TuningRow
from votron.tuning._tune import tune

__all__ = ["ESTIMATORS", "TuningResult", "TuningRow", "default_grid", "grid_in_words", "tune"]
