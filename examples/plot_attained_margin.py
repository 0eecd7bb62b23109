"""
The margin that the perceptron attains
======================================

With ``margin=τ`` the perceptron updates where y · score ≤ τ K(x, x), until a pass makes no update. On examples of
length 1 each update adds at least γ*, the largest margin that any vector has, to v·u, and at most 1 + 2τ to ‖v‖². So
there are k ≤ (1 + 2τ)/γ*² updates, hence ‖v‖ ≤ (1 + 2τ)/γ*, and the attained margin is above τ/‖v‖ ≥ γ* τ/(1 + 2τ).
The kernel adatron finds γ* itself. The data are the digit 8 against the rest, with a normalised kernel of degree 4.

Reference: Krauth & Mézard (1987), "Learning algorithms with optimal stability in neural networks", for the margin;
Friess, Cristianini & Campbell (1998), "The Kernel-Adatron".
"""

import matplotlib.pyplot as plt
import numpy as np

from votron import KernelAdatronClassifier, VotedPerceptronClassifier
from votron.data import load_image_set
from votron.theory import margins

TAUS = np.array([0, 0.1, 0.3, 1, 3, 10, 30])
PERMUTATIONS = 5

digits = load_image_set("digits")
X, y, X_test, y_test = digits.X, digits.y == 8, digits.X_test, digits.y_test == 8
kernel = {"kernel": "poly", "degree": 4, "gamma": 1.0, "normalize_kernel": True}

# %%
# The largest margin, and the margin after training on some permutations with each τ.
adatron = KernelAdatronClassifier(**kernel).fit(X, y)
best = float(adatron.margin_[0])
shape = (PERMUTATIONS, len(TAUS))
fraction, updates, support, error = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
for seed in range(PERMUTATIONS):
    for j, tau in enumerate(TAUS):
        model = VotedPerceptronClassifier(**kernel, margin=tau, epochs=None, rule="last", random_state=seed).fit(X, y)
        fraction[seed, j] = margins(model, X, y).unnormalized[0] / best
        updates[seed, j], support[seed, j] = model.n_mistakes_[0], model.n_support_[0]
        error[seed, j] = 100 * np.mean(model.predict(X_test) != y_test)
guaranteed, most = TAUS / (1 + 2 * TAUS), (1 + 2 * TAUS) / best**2

print("| τ | of γ* | least | guaranteed | updates | bound | support | test error % |")
for j, tau in enumerate(TAUS):
    print(
        f"| {tau:g} | {fraction[:, j].mean():.3f} | {fraction[:, j].min():.3f} | {guaranteed[j]:.3f} "
        f"| {updates[:, j].mean():,.0f} | {most[j]:,.0f} | {support[:, j].mean():,.0f} | {error[:, j].mean():.2f} |"
    )
adatron_error = 100 * np.mean(adatron.predict(X_test) != y_test)
print(f"γ* = {best:.4f}, (R/γ*)² = {1 / best**2:,.0f}; the adatron's test error is {adatron_error:.2f} %.")

# %%
# τ = 0 has no place on a logarithmic axis; it is drawn half a decade below the rest.
at = np.where(TAUS > 0, TAUS, TAUS[1] / 10**0.5)
figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
for axes, values in ((left, fraction), (right, updates)):
    axes.fill_between(at, values.min(axis=0), values.max(axis=0), color="#c8641b", alpha=0.22)
    axes.plot(at, values.mean(axis=0), "o-", color="#c8641b", label="measured")
    axes.set_xscale("log")
    axes.set_xticks(at, [f"{tau:g}" for tau in TAUS], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("τ (log scale)")
    axes.grid(color="#e6e6e6")
left.plot(at, guaranteed, "--", color="#666666", label="guaranteed, τ/(1 + 2τ)")
left.axhline(1, color="#1f4e9c", label="adatron")
left.set_title("A larger τ, a larger margin: attained margin / γ*")
right.plot(at, most, "--", color="#666666", label="bound (1 + 2τ)/γ*²")
right.set_yscale("log")
right.set_title("More updates to get there")
for axes in (left, right):
    axes.legend(frameon=False)

figure.savefig("attained-margin.svg")
plt.show()
