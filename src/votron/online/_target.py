"""The target u that a game may have: kept unscaled, in the form of the guess, its length beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from votron.errors import Parameter, VotronError
from votron.kernels import Kernel
from votron.online._examples import OWNER, has_names, read_named, read_row, refuse_names_with_kernel
from votron.online._guesses import Guess, KernelGuess, NamedGuess, VectorGuess


@dataclass(frozen=True)
class Target:
    """A vector that is not divided by its length; what is shown of its products is."""

    u: Guess
    norm2: float

    @property
    def length(self) -> float:
        """Return ‖u‖ as it was given."""
        return math.sqrt(self.norm2)

    def dot(self, x: Any) -> float:
        """Return u·x."""
        return self.u.dot(x)

    def like_mine(self) -> Guess:
        """Return the zero vector in the same form."""
        if isinstance(self.u, VectorGuess):
            return VectorGuess(self.u.n_features)
        return KernelGuess(self.u.kernel, self.u.n_features) if isinstance(self.u, KernelGuess) else NamedGuess()


def read_target(target: Any, kernel: Kernel | None) -> Target:
    """Return a target, or refuse what is none."""
    if kernel is not None:
        return _target(*_expansion(target, kernel))
    if has_names(target):
        named = NamedGuess()
        x = read_named(target, "The target")
        named.add(1.0, x)
        return _target(named, named.square(x))
    row = read_row(target, what="The target")
    vector = VectorGuess(row.shape[-1])
    vector.add(1.0, row)
    return _target(vector, vector.square(row))


def _target(u: Guess, norm2: float) -> Target:
    if not 0 < norm2 < math.inf:
        raise VotronError(
            Parameter("target", of=OWNER),
            f" must be a vector of positive length, and its square a float64. "
            f"Got one whose squared length is {norm2:g} instead.",
        )
    return Target(u, norm2)


def _expansion(target: Any, kernel: Kernel) -> tuple[KernelGuess, float]:
    """Return Σ c_j Φ(z_j) and its squared length."""
    try:
        coefficients, examples = target
        coefficients = list(coefficients)
        rows = [_row_of_expansion(z) for z in examples]
        fits = len(coefficients) == len(rows) > 0 and len({row.shape[-1] for row in rows}) == 1
        fits &= all(isinstance(c, Real) and math.isfinite(c) for c in coefficients)
    except (TypeError, ValueError, OverflowError) as error:  # the last of whole numbers of hundreds of digits
        if isinstance(error, VotronError):
            raise
        fits = False
    if not fits:
        raise VotronError(
            Parameter("target", of=OWNER),
            f" with a kernel must be a pair (coefficients, examples), as many finite "
            f"numbers as vectors of one length. Got {type(target).__name__} instead.",
        )
    u = KernelGuess(kernel, rows[0].shape[-1])
    for c, row in zip(coefficients, rows, strict=True):
        u.add(float(c), u.read(row))
    with np.errstate(over="ignore", invalid="ignore"):
        return u, float(sum(float(c) * u.dot(row) for c, row in zip(coefficients, rows, strict=True)))


def _row_of_expansion(z: Any) -> Any:
    if has_names(z):
        refuse_names_with_kernel()
    return read_row(z, what="An example of the target")
