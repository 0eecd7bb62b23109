"""On-line learning, one example at a time: predict, then accept the example with its label.

Problem: player A gives examples x_1, x_2, ... with labels +1 and -1; player B predicts each label before it is told.
Output: B's guess v, with few mistakes k. Reference: Cohen, "Linear Classifiers and the Perceptron", sections 3.1-3.4;
Graepel, Herbrich & Williamson (2000), Definition 1.

A mistake is ``y · score ≤ 0``, and a score of 0 predicts +1: so the first example is a mistake even where +1 was right,
and an example of length 0 is one whenever it comes, though it teaches nothing. Cohen's R, with ‖x‖² < R, is R² here.

==========  =======================================================================================
``v``       the guess: v + η w y x after a mistake, w being the weight of the example, 1 unless it is given
``k``       mistakes so far, of ``t`` examples
``u``       the target, of length 1
γ           the margin: the least y (u·x) so far
lemma 1     η k γ ≤ v·u: the guess comes closer to the target with every mistake
lemma 2     ‖v‖² ≤ η² k R²: but it does not become long quickly
theorem     k ≤ R²/γ²
==========  =======================================================================================

With weights lemma 1 has Σw over the mistakes in the place of k, and lemma 2 has Σw², by the same proofs. Together they
say that (Σw)²/Σw² ≤ R²/γ². For weights from a to b the left side is at least k · 4ab/(a + b)² (Pólya and Szegő), and so
k ≤ (a + b)²/(4ab) · R²/γ². Weights that are all the same leave the theorem as it is.

What is computed: sums have neither η nor 1/‖u‖ in them; both are multiplied in when numbers are shown. So η changes no
prediction, to the bit, and on integer data (below 2^53) the lemmas hold exactly, not up to rounding.
"""

from votron.online._game import Round
from votron.online._learner import OnlinePerceptron

__all__ = ["OnlinePerceptron", "Round"]
