"""On-line learning, one example at a time: predict, then accept the example with its label.

Problem: player A gives examples x_1, x_2, ... with labels +1 and -1; player B predicts each label before it is told.
Output: B's guess v, with few mistakes k. Reference: Cohen, "Linear Classifiers and the Perceptron", sections 3.1-3.4;
Graepel, Herbrich & Williamson (2000), Definition 1. Cohen's R, with ‖x‖² < R, is R² here.

==========  ==============================================================================
``v``       the guess: v + η w y x after a mistake, where w is the weight of the example
``k``       mistakes so far, of ``t`` examples
``u``, γ    the target, of length 1, and the margin: the least y (u·x) so far
lemma 1     η k γ ≤ v·u: every mistake brings the guess closer to the target
lemma 2     ‖v‖² ≤ η² k R²: but its length grows slowly
theorem     k ≤ R²/γ²
==========  ==============================================================================

With weights, lemma 1 has Σw over the mistakes in the place of k, and lemma 2 has Σw². Together they say that
(Σw)²/Σw² ≤ R²/γ². For weights from a to b the left side is at least k · 4ab/(a + b)² (Pólya and Szegő).

Sums are kept without η and 1/‖u‖, which are multiplied in when numbers are shown. So η changes no prediction, to the
bit, and on integer data (below 2^53) the lemmas hold exactly, not up to rounding.
"""

from votron.online._learner import OnlinePerceptron, Round

__all__ = ["OnlinePerceptron", "Round"]
