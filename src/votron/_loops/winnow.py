"""The loops of Winnow: linear thresholds over Boolean features, learnt by multiplication (Littlestone, 1988).

Problem: present rows of active features with their classes to one threshold a class. Input: the rows as CSR without
values, indices in rising order. Output: weights and counts, filled in place.

Symbols
-------
w[c, i]      weight of literal i for class c: feature i, and with complements (2n columns) i - n negated for i >= n
θ            threshold: class c is predicted where the sum of its active literals' weights is at least θ
α            promotion: what weights are multiplied by after a missed positive

A sum runs over the literals in rising order, in float64. Its terms are not negative, so no rounding makes it less than
any of them: where the sum is below θ each active weight is below θ too, and after a promotion below αθ. Weights cannot
grow beyond that, so they never overflow where αθ and their sum do not.
"""

from __future__ import annotations

import numpy as np

from votron._loops._llvm import compiled


@compiled
def literals_of(features, n_features, out):
    """Fill ``out`` with the active literals of a row among 2n: its features, then its absent features negated."""
    n_filled = len(features)
    out[:n_filled] = features
    absent = 0
    for k in range(len(features) + 1):
        until = features[k] if k < len(features) else n_features
        for i in range(absent, until):
            out[n_filled] = n_features + i
            n_filled += 1
        absent = until + 1


@compiled
def total(weights, literals):
    """Return the sum of these literals' weights, first to last."""
    found = 0.0
    for i in literals:
        found += weights[i]
    return found


@compiled
def score(indptr, indices, n_features, weights, threshold, out):
    """Fill ``out[r, c]`` with the sum of row r's active weights for class c, less the threshold."""
    complement = weights.shape[1] > n_features
    both = np.empty(n_features if complement else 0, dtype=indices.dtype)
    for r in range(len(indptr) - 1):
        active = indices[indptr[r] : indptr[r + 1]]
        if complement:
            literals_of(active, n_features, both)
            active = both
        for c in range(weights.shape[0]):
            out[r, c] = total(weights[c], active) - threshold


@compiled
def walk(
    indptr, indices, n_features, codes, order, weights, threshold, promotion, divisor, least, promotions, demotions
):
    """Present the rows ``order``; return how many were presented up to the last mistake, 0 if there was none.

    A demotion divides by ``divisor``, but to no less than ``least``: α and the least normal number for Winnow2,
    infinity and 0 for Winnow1.
    """
    complement = weights.shape[1] > n_features
    both = np.empty(n_features if complement else 0, dtype=indices.dtype)
    last_mistake = 0
    for t in range(len(order)):
        r = order[t]
        active = indices[indptr[r] : indptr[r + 1]]
        if complement:
            literals_of(active, n_features, both)
            active = both
        for c in range(weights.shape[0]):
            w = weights[c]
            positive = codes[r] == c
            if (total(w, active) >= threshold) == positive:
                continue
            last_mistake = t + 1
            if positive:
                promotions[c] += 1
                for i in active:
                    w[i] *= promotion
            else:
                demotions[c] += 1
                for i in active:
                    w[i] = max(w[i] / divisor, least)
    return last_mistake
