"""Steps before a classifier in model files: one object for each class of transformers, which says all about it.

It says what is written down of a step, how the step is built again, what it takes and what it gives. A new class needs
one such object, in the module of its kind or in one of its own that is imported here.
"""

from votron.saving.steps import categories, composed, tables, texts  # noqa: F401  # each registers its classes
from votron.saving.steps.base import (
    ANY_DATA,
    STEPS,
    Flow,
    StoredStep,
    after,
    check_fits,
    step_from,
    step_state,
    steps_from,
    steps_state,
    stored,
)

__all__ = [
    "ANY_DATA",
    "STEPS",
    "Flow",
    "StoredStep",
    "after",
    "check_fits",
    "step_from",
    "step_state",
    "steps_from",
    "steps_state",
    "stored",
]
