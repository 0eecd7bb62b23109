"""How a record is made."""

from votron.engine.dual import DualTrainer, TrainingRun

__all__ = ["DualTrainer", "TrainingRun"]
