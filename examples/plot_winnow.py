"""
Winnow beside the perceptron
============================

The target is a disjunction of 3 of n Boolean attributes, which are on as often as makes half of the examples positive;
each of the n − 3 others is on in half of the examples, whatever the label. Winnow's mistakes grow with log n, the
perceptron's with n: the length of an example, and with it the noise that each addition brings along, grows with √n.
Both see the same sample in the same order until a pass makes no mistake. It has four times as many examples as the
largest n: about 2n could be told apart whatever their labels, and the perceptron would learn them by heart.

Reference: Littlestone (1988), "Learning quickly when irrelevant attributes abound"; Kivinen, Warmuth & Auer (1997),
"The Perceptron algorithm versus Winnow".
"""

import matplotlib.pyplot as plt
import numpy as np

from votron import AveragedPerceptronClassifier, WinnowClassifier
from votron.theory import disjunction_mistake_bound

SIZES = (16, 32, 64, 128, 256, 512)
RUNS = 3


def sample(n_features, seed, n_examples=2048, n_literals=3):
    """Return random examples, and whether any of their first attributes is on."""
    rng = np.random.default_rng([seed, n_features])
    X = rng.integers(0, 2, (n_examples, n_features), dtype=np.uint8)
    X[:, :n_literals] = rng.random((n_examples, n_literals)) < 1 - 0.5 ** (1 / n_literals)
    return X, X[:, :n_literals].any(axis=1)


# %%
# Count the mistakes of both.
winnow, perceptron = np.empty((RUNS, len(SIZES))), np.empty((RUNS, len(SIZES)))
for run in range(RUNS):
    for j, n in enumerate(SIZES):
        X, y = sample(n, run)
        winnow[run, j] = WinnowClassifier(epochs=None, shuffle=False).fit(X, y).n_mistakes_[0]
        model = AveragedPerceptronClassifier(margin=0.0, epochs=None, shuffle=False).fit(X, y)
        perceptron[run, j] = model.n_mistakes_[0]
bound = [disjunction_mistake_bound(n, 3) for n in SIZES]

print("| attributes n | Winnow | Littlestone's bound | perceptron | perceptron / n |")
for n, ours, most, theirs in zip(SIZES, winnow.mean(axis=0), bound, perceptron.mean(axis=0), strict=True):
    print(f"| {n:,} | {ours:.1f} | {most:g} | {theirs:,.1f} | {theirs / n:.2f} |")

# %%
# The same twice: against n, and close up against log n.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
for axes in (left, right):
    for name, values, colour in (("perceptron", perceptron, "#c8641b"), ("Winnow", winnow, "#1f4e9c")):
        axes.fill_between(SIZES, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.22)
        axes.plot(SIZES, values.mean(axis=0), "o-", color=colour, label=name)
    axes.grid(color="#e6e6e6")
left.set_xlabel("attributes n")
left.set_title("The perceptron's mistakes grow with n")
right.plot(SIZES, bound, "--", color="#666666", label="Littlestone's bound")
right.set_xscale("log", base=2)
right.set_ylim(0, 1.12 * bound[-1])
right.set_xlabel("attributes n (log scale)")
right.set_title("Winnow's mistakes grow with log n")
right.legend(frameon=False)

figure.savefig("winnow.svg")
plt.show()
