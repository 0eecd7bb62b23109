"""Parameters that may not change between calls of partial_fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from votron.errors import Parameter, VotronError


def check_unchanged(estimator: BaseEstimator, fixed: Mapping[str, Any]) -> None:
    """Refuse to go on from what was learnt with other values of these parameters."""
    for name, value in fixed.items():
        if getattr(estimator, name) != value:
            raise VotronError(
                Parameter(name, of=type(estimator).__name__),
                f" must be the same at every call of partial_fit: {value!r}. Got {getattr(estimator, name)!r} instead.",
            )
