"""Evidence for certificates: what a fitted model shows of its training, as theorems see it.

An estimator hands over a `TrainedModel`, plain numbers and arrays; `votron.theory.evidence.same_data` compares the data
at hand with those of training, `votron.theory.evidence.gathering` makes `Evidence` of what agrees, and
`votron.theory.statements` turn that into bounds. Three margins are told apart by name: ``tau`` is the parameter τ up to
which a perceptron updates, an *attained* margin is that of a vector on the data, and γ (``gamma``) is the one that a
theorem is applied with.
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
