"""The base of all prediction rules: what a rule is asked, in three kinds; and the rules by name.

A rule is one object. It derives from one of

* `TallyRule`: each vector adds its share for every step that it survived,
* `MomentRule`: one vector a class predicts, the one alive at a time that the rule names,
* `DrawnRule`: the same, but with a time of its own for each row,

and is made known by `votron.rules.register_rule`. The scan over the record (`votron.rules.scan`) asks it for no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from votron._registry import Registry, objects_of
from votron._types import Floats, Index
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.rules.vectors import Vectors

__all__ = ["RULES", "DrawnRule", "MomentRule", "Rule", "TallyRule", "register_rule", "rule_named"]


class Rule:
    """How the vectors of a training run predict.

    Examples
    --------
    >>> from votron.rules import RULES
    >>> {name: rule.one_vector for name, rule in RULES.items()}
    {'vote': False, 'average': True, 'last': True, 'random': False, 'pocket': True, 'holdout': True}
    """

    name: ClassVar[str] = ""
    """What users, model files and the command line call it."""
    words: ClassVar[str] = ""
    """The prediction, as help texts show it."""
    one_vector: ClassVar[bool] = False
    """Whether it scores by one vector a class, so that it has coefficients of its own (`expansion`)."""
    needs_lengths: ClassVar[bool] = True
    """Whether the lengths of vectors change its scores where vectors are normalised."""
    unsteady: ClassVar[bool] = False
    """Whether its error swings from one mistake to the next, as long as training makes some."""
    needs_held_out: ClassVar[bool] = False
    """Whether it chooses by rows that training has not seen, so that it does not follow from the record alone."""

    def predictor(self, training: str, normalized: bool) -> str:
        """Return what certificates call this rule after a training of, say, "one epoch"."""
        return f"{self.name} after {training}"

    def lengths_matter(self, n_vectors: int) -> bool:
        """Tell whether normalising vectors changes labels: of one vector alone it changes no sign."""
        return self.needs_lengths and n_vectors > 1

    def expansion(self, vectors: Vectors, normalized: bool) -> tuple[Floats, Floats] | None:
        """Return coefficients of the support rows, and what to divide scores by; None unless it is ``one_vector``."""
        return None

    def check(self, vectors: Vectors) -> None:
        """Raise where the rule lacks what it needs."""


class TallyRule(Rule, ABC):
    """A rule by which all vectors predict together, each with its share for every step it survived; the mean counts.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.rules import RULES
    >>> RULES["vote"].share(np.array([-2.0, 0.0, 5.0]), 1.0, False)
    array([-1.,  1.,  1.])
    """

    compiled: ClassVar[tuple[str, str] | None] = None
    """Tallies that the compiled scan keeps for this rule, for vectors as they are and for normalised ones."""

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
        """Return the vectors' coefficients, without weights whole numbers, so that scores of 0 stay 0; and lengths."""
        record = vectors.record
        out, divisor = np.zeros((record.n_vectors, len(record.support))), np.ones(record.n_vectors)
        kept = record.time <= self.times(vectors, record.n_steps)[record.vector]
        np.add.at(out, (record.vector[kept], record.slot[kept]), record.coefficient[kept].astype(np.float64))
        if normalized:
            divisor[record.vector[kept]] = record.lengths[kept]  # of each vector the last one stays
            divisor[divisor == 0] = 1.0  # whose scores are 0 anyway
        return out, divisor


class DrawnRule(Rule, ABC):
    """A rule by which the vectors of one moment predict, with a moment for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.rules import RULES
    >>> RULES["random"].times(np.array([0.0, 0.5, 0.99]), until=9)
    array([0, 5, 9])
    """

    @abstractmethod
    def times(self, uniform: Floats, until: int) -> Index:
        """Return a time from 0 to ``until`` for each row, from a number in [0, 1) that its content gives."""


# -- by name -----------------------------------------------------------------------------------------------------------

RULES: Registry[Rule] = Registry("rule", "votron.rules", objects_of("rule", TallyRule, MomentRule, DrawnRule))
"""The prediction rules, by name."""

RuleClass = TypeVar("RuleClass", bound=type[Rule])


def register_rule(cls: RuleClass) -> RuleClass:
    """Make a rule known by its name: to estimators, searches, model files and the command line.

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


def rule_named(name: str) -> Rule:
    """Return a rule, or refuse a name that is none's.

    Examples
    --------
    >>> rule_named("median")
    Traceback (most recent call last):
        ...
    votron.errors.VotronError: The rule must be one of 'vote', 'average', 'last', 'random', 'pocket', 'holdout'. Got
    'median' instead.
    """
    found = RULES.find(name)
    if found is None:
        raise VotronError(f"The rule must be one of {', '.join(map(repr, RULES))}. Got {name!r} instead.")
    return found
