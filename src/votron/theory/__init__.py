"""What a record guarantees: margins, bounds, certificates."""

from votron.theory.winnow import disjunction_mistake_bound

__all__ = ["disjunction_mistake_bound"]
