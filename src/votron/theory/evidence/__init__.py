"""Evidence for certificates: what a fitted model shows of its training, as theorems see it.

An estimator hands over a `TrainedModel`, plain numbers and arrays (`votron.theory.evidence.gathering`). The data are
compared with those of training, by the record of mistakes or by what else a model keeps (`weights`, `maximal_margin`),
and what agrees becomes `Evidence`, which `votron.theory.statements` turn into bounds. Three margins are told apart by
name: ``tau`` is the parameter τ up to which a perceptron updates, an *attained* margin is that of a vector on the data,
and γ (``gamma``) is the one that a theorem is applied with.
"""

from votron.theory.evidence.training import (
    AVERAGE,
    LAST,
    MAXIMAL,
    MEAN_RANDOM,
    ONE_RANDOM,
    ONE_VOTE,
    Assumption,
    Evidence,
    Measured,
    Run,
)

__all__ = [
    "AVERAGE",
    "LAST",
    "MAXIMAL",
    "MEAN_RANDOM",
    "ONE_RANDOM",
    "ONE_VOTE",
    "Assumption",
    "Evidence",
    "Measured",
    "Run",
]
