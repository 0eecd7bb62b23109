"""The former home of score functions, for files that name it; they are in `votron.estimators._score_functions`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.estimators._score_functions", "Expansion", "Linear", "Sequence")
