"""
Many permutations, many consistent classifiers
==============================================

"For a given training sample Z it is not unlikely that by permutation of Z there exist O(C(m, κ)) many different
consistent sparse classifiers." The digit 8 against the rest, raw pixels, the kernel (1 + x·z)⁴: on each of 100
permutations the perceptron is trained until a pass makes no mistake, so each of the classifiers is consistent with the
whole sample. Beside them stands the support vector machine with the same kernel and a hard margin.

Reference: Graepel, Herbrich & Williamson (2000), "From margin to sparsity", section 4 and the bound (7).
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom
from sklearn.svm import SVC

from votron import VotedPerceptronClassifier
from votron.data import load_image_set
from votron.theory import compression_bound

digits = load_image_set("digits")
X, y, X_test, y_test = digits.X, digits.y == 8, digits.X_test, digits.y_test == 8
m, permutations = len(X), 100

# %%
# Which examples each classifier depends on, and where it errs.
support, wrong, mistakes = np.zeros((permutations, m), dtype=bool), [], []
for seed in range(permutations):
    model = VotedPerceptronClassifier(
        kernel="poly", degree=4, gamma=1.0, margin=0.0, epochs=None, rule="last", random_state=seed
    ).fit(X, y)
    support[seed, model.support_] = True
    wrong.append(model.predict(X_test) != y_test)
    mistakes.append(model.n_mistakes_[0])
sizes, errors = support.sum(axis=1), 100 * np.mean(wrong, axis=1)
bounds = np.array([100 * compression_bound(m, int(size), 0.05) for size in sizes])

scale = 1 / np.mean(np.sum(X.astype(float) ** 2, axis=1) + 1)  # the same planes, with kernel values near 1
svm = SVC(kernel="poly", degree=4, gamma=scale, coef0=scale, C=1e9, tol=1e-5).fit(X.astype(float), y)
svm_error = 100 * np.mean(svm.predict(X_test.astype(float)) != y_test)
svm_bound = 100 * compression_bound(m, len(svm.support_), 0.05)

print("|  | least | mean | most | SVM |")
rows = (
    ("support", sizes, ".4g", len(svm.support_)),
    ("mistakes", np.array(mistakes), ".4g", ""),
    ("test error %", errors, ".2f", f"{svm_error:.2f}"),
    ("bound (7) %", bounds, ".1f", f"{svm_bound:.1f}"),
)
for name, values, form, other in rows:
    print(f"| {name} | {values.min():{form}} | {values.mean():{form}} | {values.max():{form}} | {other} |")

# %%
# What the supports share: the mean Jaccard index of two of them, and how often predictions agree.
both = support.astype(float) @ support.T
pairs = np.triu_indices(permutations, k=1)
jaccard = (both / (sizes[:, None] + sizes - both))[pairs].mean()
agreement = 100 * np.mean([np.mean(wrong[i] == wrong[j]) for i, j in zip(*pairs, strict=True)])
times = support.sum(axis=0)
core = np.flatnonzero(times == permutations)
print(f"{len(np.unique(support, axis=0))} different supports of {permutations}; mean Jaccard index {jaccard:.3f}")
print(f"{np.sum(times > 0)} of {m} examples are in some support, {len(core)} in every support,")
print(f"{len(np.intersect1d(core, svm.support_))} of these are support vectors of the SVM")
print(f"two classifiers agree on {agreement:.2f} % of the test examples")

# %%
# In how many supports each example is, beside what chance would make of it, and the errors.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
edges = np.array([-1, 0, *range(10, 101, 10)])
names = ["0", *(f"{low + 1}–{high}" for low, high in pairwise(edges[1:]))]
bars = left.bar(names, np.histogram(times, edges + 0.5)[0], color="#c8641b", label="perceptrons")
left.bar_label(bars, fontsize=9)
chance = m * np.diff(binom(permutations, support.mean()).cdf(edges))
left.plot(names, chance, "_", color="#666666", markersize=22, markeredgewidth=2, label="by chance")
left.tick_params(axis="x", rotation=40)
left.set_xlabel("in so many supports")
left.set_ylabel("examples")
left.legend(frameon=False)
left.set_title("Each permutation has its own support")

label = f"perceptrons, bound (7) {bounds.min():.0f} to {bounds.max():.0f} %"
right.scatter(sizes, errors, color="#c8641b", alpha=0.5, label=label)
right.plot(len(svm.support_), svm_error, "*", color="#1f4e9c", markersize=17, label=f"SVM, bound (7) {svm_bound:.0f} %")
right.set_ylim(bottom=0)
right.grid(color="#e6e6e6")
right.set_xlabel("support: examples that the classifier depends on")
right.set_ylabel("test error in %")
right.legend(frameon=False, loc="lower right")
right.set_title("Each is consistent; their errors vary")

figure.savefig("permutations.svg")
plt.show()
