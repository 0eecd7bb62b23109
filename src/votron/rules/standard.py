"""The rules of the literature.

References: Freund & Schapire (1999), section 5, for vote, average, last and random; Gallant (1986) for the pocket,
Littlestone (1989) for the held-out part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from votron._util.types import Floats, Index
from votron.errors import VotronError
from votron.rules.base import DrawnRule, MomentRule, TallyRule, mean_expansion, register_rule

if TYPE_CHECKING:
    from votron.rules.vectors import Vectors


@register_rule
class Vote(TallyRule):
    """The vectors vote with ±1, each as often as it survived."""

    name: ClassVar[str] = "vote"
    words: ClassVar[str] = "the vectors vote with ±1, each as often as it survived"
    compiled: ClassVar[tuple[str, str]] = ("votes", "votes")
    needs_lengths: ClassVar[bool] = False

    def share(self, scores: Floats, length: float, normalized: bool) -> Floats:
        return np.where(scores >= 0, 1.0, -1.0)


@register_rule
class Average(TallyRule):
    """The mean of the vectors' scores, each counted as often as it survived."""

    name: ClassVar[str] = "average"
    words: ClassVar[str] = "the mean of the vectors' scores, each counted as often as it survived"
    compiled: ClassVar[tuple[str, str]] = ("sums", "unit_sums")
    one_vector: ClassVar[bool] = True

    def share(self, scores: Floats, length: float, normalized: bool) -> Floats:
        if not normalized:
            return scores
        return scores / length if length > 0 else np.zeros_like(scores)

    def predictor(self, training: str, normalized: bool) -> str:
        return "average of unit vectors" if normalized else "average"

    def lengths_matter(self, n_vectors: int) -> bool:
        return True

    def expansion(self, vectors: Vectors, normalized: bool) -> tuple[Floats, Floats] | None:
        return mean_expansion(vectors, normalized)


@register_rule
class Last(MomentRule):
    """The last vector."""

    name: ClassVar[str] = "last"
    words: ClassVar[str] = "the last vector"
    unsteady: ClassVar[bool] = True

    def predictor(self, training: str, normalized: bool) -> str:
        return "last vector"

    def times(self, vectors: Vectors, until: int) -> Index:
        return np.full(vectors.record.n_vectors, until, dtype=np.int64)


@register_rule
class Random(DrawnRule):
    """For each row one moment of training, drawn at random, the same for all classes."""

    name: ClassVar[str] = "random"
    words: ClassVar[str] = "for each row one moment of training, drawn at random"

    def predictor(self, training: str, normalized: bool) -> str:
        return f"random vector of {training}"

    def times(self, uniform: Floats, until: int) -> Index:
        return np.floor((until + 1.0) * uniform).astype(np.int64)


@register_rule
class Pocket(MomentRule):
    """For each class the vector that survived longest."""

    name: ClassVar[str] = "pocket"
    words: ClassVar[str] = "the vector that survived longest"

    def predictor(self, training: str, normalized: bool) -> str:
        return "longest-lived vector"

    def times(self, vectors: Vectors, until: int) -> Index:
        return vectors.record.until(until).pocket()


@register_rule
class Holdout(MomentRule):
    """The moment with the fewest errors on a held-out part, the same for all classes."""

    name: ClassVar[str] = "holdout"
    words: ClassVar[str] = "the moment with the fewest errors on a held-out part"
    needs_held_out: ClassVar[bool] = True

    def predictor(self, training: str, normalized: bool) -> str:
        return "held-out choice"

    def times(self, vectors: Vectors, until: int) -> Index:
        if vectors.holdout is None:
            raise VotronError(
                "The rule 'holdout' needs held-out data: fit with rule='holdout', "
                "or give X_val and y_val to with_rule('holdout', ...)."
            )
        return np.full(vectors.record.n_vectors, vectors.holdout.best(until), dtype=np.int64)
