"""Guarantees of a record: margins, bounds, evidence, certificates."""

from votron.theory.bounds import (
    BestMargin,
    agnostic_compression_bound,
    best_inseparable_bound,
    compression_bound,
    held_out_bound,
    inseparable_bound,
    leave_one_out_bound,
    log_binomial,
    margin_bound,
    margin_bound_simple,
    novikoff_bound,
    pac_margin_bound,
    sparsity_bound,
    unit_length_bound,
    vapnik_chervonenkis_bound,
    voted_bound,
)
from votron.theory.certificate import Bound, Certificate, certify
from votron.theory.conversions import (
    deterministic_leave_one_out,
    prefix_votes,
    randomized_leave_one_out,
    survival_counts,
)
from votron.theory.essential import (
    EssentialSupport,
    LeftOut,
    Sphere,
    essential_support_vectors,
    smallest_sphere,
    svm_leave_one_out,
    vapnik_svm_bound,
)
from votron.theory.evidence import Assumption, Measured
from votron.theory.geometry import Margins, margins
from votron.theory.one_pass import fixed_draw_bound, one_pass_bound
from votron.theory.winnow import disjunction_mistake_bound

__all__ = [
    "Assumption",
    "BestMargin",
    "Bound",
    "Certificate",
    "EssentialSupport",
    "LeftOut",
    "Margins",
    "Measured",
    "Sphere",
    "agnostic_compression_bound",
    "best_inseparable_bound",
    "certify",
    "compression_bound",
    "deterministic_leave_one_out",
    "disjunction_mistake_bound",
    "essential_support_vectors",
    "fixed_draw_bound",
    "held_out_bound",
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
    "smallest_sphere",
    "sparsity_bound",
    "survival_counts",
    "svm_leave_one_out",
    "unit_length_bound",
    "vapnik_chervonenkis_bound",
    "vapnik_svm_bound",
    "voted_bound",
]
