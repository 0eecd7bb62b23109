"""What a record guarantees: margins, bounds, certificates."""

from votron.theory.bounds import (
    BestMargin,
    best_inseparable_bound,
    compression_bound,
    inseparable_bound,
    leave_one_out_bound,
    log_binomial,
    margin_bound,
    margin_bound_simple,
    novikoff_bound,
    one_pass_bound,
    pac_margin_bound,
    sparsity_bound,
    unit_length_bound,
    vapnik_chervonenkis_bound,
    voted_bound,
)
from votron.theory.conversions import (
    deterministic_leave_one_out,
    prefix_votes,
    randomized_leave_one_out,
    survival_counts,
)
from votron.theory.geometry import Margins, margins
from votron.theory.winnow import disjunction_mistake_bound

__all__ = [
    "BestMargin",
    "Margins",
    "best_inseparable_bound",
    "compression_bound",
    "deterministic_leave_one_out",
    "disjunction_mistake_bound",
    "inseparable_bound",
    "leave_one_out_bound",
    "log_binomial",
    "margin_bound",
    "margin_bound_simple",
    "margins",
    "novikoff_bound",
    "one_pass_bound",
    "pac_margin_bound",
    "prefix_votes",
    "randomized_leave_one_out",
    "sparsity_bound",
    "survival_counts",
    "unit_length_bound",
    "vapnik_chervonenkis_bound",
    "voted_bound",
]
