"""Guarantees of a record: margins, bounds, evidence, certificates."""

from votron.theory.bounds import (
    agnostic_compression_bound,
    best_inseparable_bound,
    compression_bound,
    disjunction_mistake_bound,
    fixed_draw_bound,
    held_out_bound,
    inseparable_bound,
    leave_one_out_bound,
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
from votron.theory.certificate import Bound, Certificate, certify
from votron.theory.conversions import (
    deterministic_leave_one_out,
    randomized_leave_one_out,
    survival_counts,
)
from votron.theory.essential import (
    EssentialSupport,
    essential_support_vectors,
    separating_vector,
    svm_leave_one_out,
    vapnik_svm_bound,
)
from votron.theory.geometry import Margins, margins

__all__ = [
    "Bound",
    "Certificate",
    "EssentialSupport",
    "Margins",
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
    "margin_bound",
    "margin_bound_simple",
    "margins",
    "novikoff_bound",
    "one_pass_bound",
    "pac_margin_bound",
    "randomized_leave_one_out",
    "separating_vector",
    "sparsity_bound",
    "survival_counts",
    "svm_leave_one_out",
    "unit_length_bound",
    "vapnik_chervonenkis_bound",
    "vapnik_svm_bound",
    "voted_bound",
]
