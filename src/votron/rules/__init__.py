"""Prediction rules: one scan over the mistakes gives every rule at every moment of training.

The vectors of class c after its mistakes are v_1, v_2, ...; v_{j+1}·x = v_j·x + y_j K(x_j, x), so carrying one score
along the record visits them all. With t the time of the moment, and survival counts c_j up to it:

=======  ====================================================  ===================================
rule     score of class c                                      with ``normalize_vectors=True``
=======  ====================================================  ===================================
vote     Σ c_j sign(v_j·x) / t                                 the same
average  Σ c_j v_j·x / t                                       Σ c_j v_j·x/‖v_j‖ / t
last     v·x, v alive at time t                                v·x/‖v‖
random   v·x, v alive at a time r uniform in {0, ..., t}       v·x/‖v‖
pocket   v·x, v the longest-lived vector of this class         v·x/‖v‖
holdout  v·x, v alive at the time with the least held-out      v·x/‖v‖
         error
=======  ====================================================  ===================================

Boundary conventions: sign(0) = +1, and a score of 0 predicts +1; the zero vector before the first mistake has count
0, and scores 0. The r of the random rule is the same for all classes and drawn from the seed and the content of the
row, so a row has one answer, alone or among others. Reference: Freund & Schapire (1999), section 5; Gallant (1986)
for the pocket, Littlestone (1989) for the held-out part.
"""

from votron.rules.base import RULES, DrawnRule, MomentRule, Rule, TallyRule, register_rule
from votron.rules.vectors import HoldoutCurve, Vectors

__all__ = [
    "RULES",
    "DrawnRule",
    "HoldoutCurve",
    "MomentRule",
    "Rule",
    "TallyRule",
    "Vectors",
    "register_rule",
]

for _cls in (DrawnRule, HoldoutCurve, MomentRule, Rule, TallyRule, Vectors):
    _cls.__module__ = __name__  # where pickles and other files of theirs find them, whatever module they are written in
