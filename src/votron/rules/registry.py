"""Rules by name."""

from __future__ import annotations

from typing import Any, TypeVar

from votron._registry import Registry
from votron.errors import VotronError
from votron.rules.base import DrawnRule, MomentRule, Rule, TallyRule

__all__ = ["RULES", "register_rule", "rule_named"]


def _admitted(rule: Any) -> tuple[str, Rule]:
    """Return a rule's name and the rule, given it or its class; or refuse what is none."""
    cls = rule if isinstance(rule, type) else type(rule)
    if not (issubclass(cls, TallyRule | MomentRule | DrawnRule) and cls.name):
        raise VotronError(
            "A rule to register must be a class derived from TallyRule, MomentRule or DrawnRule, with a name. "
            f"Got {rule!r} instead."
        )
    return cls.name, rule() if isinstance(rule, type) else rule


RULES: Registry[Rule] = Registry("rule", "votron.rules", _admitted)
"""The prediction rules, by name."""

RuleClass = TypeVar("RuleClass", bound=type[Rule])


def register_rule(cls: RuleClass) -> RuleClass:
    """Make a rule known by its name: to estimators, searches, model files and the command line.

    A package that brings rules names them as entry points of the group ``votron.rules``, by their names; then they are
    found without this call where users ask for them (but not where a model file does, which imports nothing).

    Parameters
    ----------
    cls : class
        A class derived from `TallyRule`, `MomentRule` or `DrawnRule`, with a ``name``; it takes no arguments.

    Returns
    -------
    class
        The same, so that this can stand above it as a decorator.

    Raises
    ------
    VotronError
        If it is no such class, or another rule has that name.

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
    RULES.register(cls)
    return cls


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
