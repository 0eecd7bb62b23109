"""Training: in the dual, on kernel values, and in the primal, on weight vectors; and by multiplication."""

from votron.engine.adatron import MaximalMargin, solve_adatron
from votron.engine.dual import DualTrainer
from votron.engine.linear import LinearTrainer
from votron.engine.primal import PrimalTrainer
from votron.engine.winnow import WinnowTrainer
from votron.history import TrainingRun

__all__ = [
    "DualTrainer",
    "LinearTrainer",
    "MaximalMargin",
    "PrimalTrainer",
    "TrainingRun",
    "WinnowTrainer",
    "solve_adatron",
]
