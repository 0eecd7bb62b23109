"""Prediction rules: their base classes, the rules of the literature, and all of them by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np

from votron._util.registry import Registry, objects_of
from votron._util.types import Floats, Index
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.rules.vectors import Vectors


class Combination(NamedTuple):
    """A score as a combination of training examples, Σ_j coefficient_j K(x_j, x) / divisor."""

    coefficients: Floats
    divisor: Floats
    words: str
    exact: bool  # whether this is the rule's own score, and not that of a vector that stands for many


class Rule:
    """The base class of prediction rules.

    Examples
    --------
    >>> from votron.rules import RULES
    >>> {name: rule.one_vector for name, rule in RULES.items()}
    {'vote': False, 'average': True, 'last': True, 'random': False, 'pocket': True, 'holdout': True}
    """

    name: ClassVar[str] = ""  # its name for users, model files and the command line
    words: ClassVar[str] = ""  # a description for help texts
    one_vector: ClassVar[bool] = False  # whether it scores by one vector per class, and so has an `expansion`
    needs_lengths: ClassVar[bool] = True  # whether its scores change where vectors are normalised
    needs_held_out: ClassVar[bool] = False  # whether it depends on held-out rows, and not on the record alone
    by_row: ClassVar[bool] = False  # whether each row is scored by vectors of its own
    certified_as: ClassVar[str] = "{rule} after {training}"  # its name in certificates
    compiled: ClassVar[tuple[str, ...] | None] = ()
    """Tallies of the compiled scan, for vectors as they are and normalised ones; None: Python keeps them."""

    def predictor(self, training: str, normalized: bool) -> str:
        return self.certified_as.format(rule=self.name, training=training)

    def lengths_matter(self, n_vectors: int) -> bool:
        """Tell whether normalising vectors changes labels; of one vector alone it changes no sign."""
        return self.needs_lengths and n_vectors > 1

    def expansion(self, vectors: Vectors, normalized: bool) -> tuple[Floats, Floats] | None:
        """Return coefficients of the support rows, and what to divide scores by; None unless it is ``one_vector``."""
        return None

    def combination(self, vectors: Vectors, normalized: bool, uniform: float) -> Combination:
        """Return how examples make up the score of a row, whose content gives ``uniform`` in [0, 1)."""
        found = self.expansion(vectors, normalized)
        if found is not None:
            return Combination(*found, self.words, exact=True)
        return Combination(*mean_expansion(vectors, normalized), "the mean of the vectors' scores", exact=False)


class TallyRule(Rule, ABC):
    """A rule by which all vectors predict together, each with its share for every step it survived; the mean counts.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.rules import RULES
    >>> RULES["vote"].share(np.array([-2.0, 0.0, 5.0]), 1.0, False)
    array([-1.,  1.,  1.])
    """

    compiled: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def share(self, scores: Floats, length: float, normalized: bool) -> Floats:
        """Return what a vector of this length adds for one step, from its scores of some rows."""


class MomentRule(Rule, ABC):
    """A rule by which one vector a class predicts: the one alive at a time.

    Examples
    --------
    >>> from votron.rules import RULES, Vectors
    >>> RULES["last"].one_vector
    True
    """

    one_vector: ClassVar[bool] = True

    @abstractmethod
    def times(self, vectors: Vectors, until: int) -> Index:
        """Return the time of each class's vector, given training up to a time; 0 is before the first mistake."""

    def expansion(self, vectors: Vectors, normalized: bool) -> tuple[Floats, Floats] | None:
        return expansion_at(vectors, self.times(vectors, vectors.record.n_steps), normalized)


class DrawnRule(Rule, ABC):
    """A rule by which the vectors of one moment predict, with a moment for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.rules import RULES
    >>> RULES["random"].times(np.array([0.0, 0.5, 0.99]), until=9)
    array([0, 5, 9])
    """

    by_row: ClassVar[bool] = True

    @abstractmethod
    def times(self, uniform: Floats, until: int) -> Index:
        """Return a time from 0 to ``until`` for each row, from a number in [0, 1) that its content gives."""

    def combination(self, vectors: Vectors, normalized: bool, uniform: float) -> Combination:
        record = vectors.record
        time = int(self.times(np.array([uniform]), record.n_steps)[0])
        found = expansion_at(vectors, np.full(record.n_vectors, time), normalized)
        return Combination(*found, f"{self.words}: here after example {time:,} of {record.n_steps:,}", exact=True)


def expansion_at(vectors: Vectors, times: Index, normalized: bool) -> tuple[Floats, Floats]:
    """Return the vectors alive at times, one a class, as coefficients of the support rows, and what to divide by."""
    record = vectors.record
    out, divisor = np.zeros((record.n_vectors, len(record.support))), np.ones(record.n_vectors)
    kept = record.time <= times[record.vector]
    np.add.at(out, (record.vector[kept], record.slot[kept]), record.coefficient[kept].astype(np.float64))
    if normalized:
        divisor[record.vector[kept]] = record.lengths[kept]  # of each vector the last one stays
        divisor[divisor == 0] = 1.0  # whose scores are 0 anyway
    return out, divisor


def mean_expansion(vectors: Vectors, normalized: bool) -> tuple[Floats, Floats]:
    """Return the sum of the vectors, each as often as it survived, and the number of steps."""
    record = vectors.record
    alive = record.n_steps + 1.0 - record.time  # a mistake is part of every vector from its own on
    if normalized:
        lengths = record.lengths
        shares = np.divide(record.survival, lengths, out=np.zeros(len(record)), where=lengths > 0)
        for mine in record.of_each_vector.values():
            alive[mine] = np.cumsum(shares[mine][::-1])[::-1]
    out = np.zeros((record.n_vectors, len(record.support)))
    np.add.at(out, (record.vector, record.slot), record.coefficient * alive)
    return out, np.ones(record.n_vectors) * max(1, record.n_steps)


RULES: Registry[Rule] = Registry("rule", "votron.rules", objects_of("rule", TallyRule, MomentRule, DrawnRule))
"""The prediction rules, by name."""

RuleClass = TypeVar("RuleClass", bound=type[Rule])


def register_rule(cls: RuleClass) -> RuleClass:
    """Register a rule under its name, for estimators, searches, model files and the command line.

    It is a class derived from `TallyRule`, `MomentRule` or `DrawnRule`, with a ``name``; it takes no arguments, and is
    returned. Packages bring rules as entry points of the group ``votron.rules``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.rules import MomentRule, register_rule
    >>> @register_rule
    ... class Halfway(MomentRule):
    ...     name, words = "halfway", "the vector alive half-way through training"
    ...     def times(self, vectors, until):
    ...         return np.full(vectors.record.n_vectors, until // 2)
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(rule="halfway", epochs=4, random_state=0).fit(X, y)
    >>> until = VotedPerceptronClassifier(rule="last", epochs=2, random_state=0).fit(X, y)
    >>> bool((model.decision_function(X) == until.decision_function(X)).all())
    True
    """
    return RULES.register(cls)


def rules_that_differ(n_classes: int) -> list[tuple[str, bool]]:
    """Return the rules that differ, and whether vectors are normalised, which changes nothing for a vote."""
    n_vectors = 1 if n_classes == 2 else n_classes
    rules = {name: rule for name, rule in RULES.items() if not rule.needs_held_out}
    normalised = [name for name, rule in rules.items() if rule.lengths_matter(n_vectors)]
    return [*((name, False) for name in rules), *((name, True) for name in normalised)]


@register_rule
class Vote(TallyRule):
    name = "vote"
    words = "the vectors vote with ±1, each as often as it survived"
    compiled = ("votes", "votes")
    needs_lengths = False

    def share(self, scores: Floats, length: float, normalized: bool) -> Floats:
        return np.where(scores >= 0, 1.0, -1.0)


@register_rule
class Average(TallyRule):
    name = "average"
    words = "the mean of the vectors' scores, each counted as often as it survived"
    compiled = ("sums", "unit_sums")
    one_vector = True

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
    name = "last"
    words = "the last vector"
    certified_as = "last vector"

    def times(self, vectors: Vectors, until: int) -> Index:
        return np.full(vectors.record.n_vectors, until, dtype=np.int64)


@register_rule
class Random(DrawnRule):
    name = "random"
    words = "for each row one moment of training, drawn at random"
    certified_as = "random vector of {training}"

    def times(self, uniform: Floats, until: int) -> Index:
        return np.floor((until + 1.0) * uniform).astype(np.int64)


@register_rule
class Pocket(MomentRule):
    name = "pocket"
    words = "the vector that survived longest"
    certified_as = "longest-lived vector"

    def times(self, vectors: Vectors, until: int) -> Index:
        return vectors.record.until(until).pocket()


@register_rule
class Holdout(MomentRule):
    name = "holdout"
    words = "the moment with the fewest errors on a held-out part"
    certified_as = "held-out choice"
    needs_held_out = True

    def times(self, vectors: Vectors, until: int) -> Index:
        if vectors.holdout is None:
            raise VotronError(
                "The rule 'holdout' needs held-out data: fit with rule='holdout', "
                "or give X_val and y_val to with_rule('holdout', ...)."
            )
        return np.full(vectors.record.n_vectors, vectors.holdout.best(until), dtype=np.int64)
