"""
Two parallel lines: one support vector, or all
==============================================

The examples of each class are on a line of their own, in the unit ball, √2 apart, with the origin half-way between
them. The vector u across the lines has margin γ = 1/√2 on examples of length R ≤ 1, so the perceptron makes at most
(R/γ)² = 2 mistakes, in whatever order the examples come. All examples are on the margin of u, the widest: each of them
is a support vector by that definition. A solver needs fewer with a coefficient that is not 0, since the expansion of u
is not unique. With a threshold, the constant 1 as one more coordinate, R² is 2 and the bound 4.

Reference: Graepel, Herbrich & Williamson (2000), "From margin to sparsity", footnote 2.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from votron import KernelAdatronClassifier, VotedPerceptronClassifier

HALF = 0.5**0.5
SIZES = (20, 60, 200, 600, 2000)
PERMUTATIONS = 20


def lines(n, order):
    """Return examples on both lines, the four ends of the lines among them, in a random order."""
    along = np.random.default_rng([0, n]).uniform(-HALF, HALF, n)
    along[:4] = -HALF, -HALF, HALF, HALF
    y = np.where(np.arange(n) % 2, 1, -1)
    permuted = np.random.default_rng(order).permutation(n)
    return np.column_stack([along, HALF * y])[permuted], y[permuted]


def perceptron(X, y, **kernel):
    """Train until a pass makes no mistake, on the examples in this order."""
    return VotedPerceptronClassifier(**kernel, margin=0.0, epochs=None, shuffle=False).fit(X, y)


# %%
# Count, for growing samples, over twenty orders of each.
THRESHOLD = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 1.0}
counts = {}
for n in SIZES:
    for order in range(PERMUTATIONS):
        X, y = lines(n, order)
        through_origin, with_threshold = perceptron(X, y, kernel="linear"), perceptron(X, y, **THRESHOLD)
        adatron, svc = KernelAdatronClassifier(kernel="linear", tol=1e-6), SVC(kernel="linear", C=1e6, tol=1e-5)
        found = {
            "mistakes": through_origin.n_mistakes_[0],
            "mistakes, threshold": with_threshold.n_mistakes_[0],
            "adatron α ≠ 0": len(adatron.fit(X, y).support_),
            "SVC α ≠ 0": len(svc.fit(X, y).support_),
            "on the margin": np.sum(np.abs(y * svc.decision_function(X) - 1) < 1e-3),
        }
        for name, count in found.items():
            counts.setdefault(name, {}).setdefault(n, []).append(count)

print("| examples | " + " | ".join(counts) + " |")
for n in SIZES:
    spans = [sorted({min(by_size[n]), max(by_size[n])}) for by_size in counts.values()]
    print(f"| {n:,} | " + " | ".join("–".join(f"{count:,}" for count in span) for span in spans) + " |")

# %%
# The order of the twenty examples that takes the perceptron furthest from the widest margin, and the counts.
samples = [lines(SIZES[0], order) for order in range(PERMUTATIONS)]
models = [perceptron(X, y, kernel="linear") for X, y in samples]
vectors = [model.dual_coef_[0] @ model.support_vectors_ for model in models]
drawn = max(range(PERMUTATIONS), key=lambda i: abs(vectors[i][0] / vectors[i][1]))
(X, y), model, v = samples[drawn], models[drawn], vectors[drawn]

figure, (plane, growth) = plt.subplots(1, 2, figsize=(10.4, 5), layout="constrained")
plane.add_patch(plt.Circle((0, 0), 1, facecolor="none", edgecolor="#e6e6e6"))
for sign, marker, colour in ((1, "+", "#009e73"), (-1, "_", "#b5588a")):
    plane.scatter(*X[y == sign].T, marker=marker, color=colour)
plane.scatter(*X.T, s=110, facecolors="none", edgecolors="#0072b2", label="on the margin of the SVM")
plane.scatter(*X[model.support_].T, s=110, color="#c8500a", label="mistakes of the perceptron")
plane.axline((0, 0), (1, 0), color="#0072b2", linestyle="--", label="widest margin")
plane.axline((0, 0), (-v[1], v[0]), color="#c8500a", label="perceptron")
plane.set_xlim(-1.3, 1.3)
plane.set_ylim(-1.3, 1.3)
plane.set_aspect("equal")
plane.axis("off")
plane.legend(loc="lower center", ncols=2, frameon=False)
plane.set_title("Support vectors: all, or hardly any")

colours = {"mistakes": "#c8500a", "adatron α ≠ 0": "#999999", "SVC α ≠ 0": "#666666", "on the margin": "#0072b2"}
for name, colour in colours.items():
    values = np.array([counts[name][n] for n in SIZES])
    growth.fill_between(SIZES, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.16)
    growth.plot(SIZES, values.mean(axis=1), "o-", color=colour, label=name)
growth.axhline(2, color="#333333", linestyle="--", label="bound (R/γ)² = 2")
growth.loglog()
growth.grid(color="#e6e6e6")
growth.set_xlabel("examples")
growth.legend(frameon=False)
growth.set_title(f"More examples, no more mistakes ({PERMUTATIONS} orders)")

figure.savefig("parallel-lines.svg")
plt.show()
