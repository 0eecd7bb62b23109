"""
A certificate: what the theorems say about a model
==================================================

A perceptron that tells the digit 0 from the rest, trained until a pass makes no mistake. Its certificate lists the
bounds of the literature, by the predictor that each is about, tells guarantees from estimates, and says which do not
apply and why. The measured errors stand beside them.

Reference: Freund & Schapire (1999), "Large Margin Classification Using the Perceptron Algorithm", sections 4 and 5;
Graepel, Herbrich & Williamson (2000), "From margin to sparsity".
"""

import matplotlib.pyplot as plt

from votron import VotedPerceptronClassifier
from votron.data import load_image_set
from votron.theory import certify

digits = load_image_set("digits")
X, y, X_test, y_test = digits.X, digits.y == 0, digits.X_test, digits.y_test == 0

model = VotedPerceptronClassifier(
    kernel="poly", degree=2, gamma=1.0, normalize_kernel=True, margin=0.0, epochs=None, rule="last", random_state=0
).fit(X, y)
certificate = certify(model, X, y, X_test=X_test, y_test=y_test)
print(certificate)

# %%
# The bounds on errors by predictor, on a logarithmic axis.
certificate.plot().figure.savefig("certificate.svg")
plt.show()
