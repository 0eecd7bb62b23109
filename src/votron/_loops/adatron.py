"""The loop of the adatron: coordinate steps towards the maximal margin.

Symbols
-------
K[i, j]      kernel value of examples i and j of the working set
a[i]         the example's multiplier, between 0 and cap[i]
f[i]         its score, Σ a_j y_j K[i, j]
"""

from __future__ import annotations

from votron._loops._llvm import compiled


@compiled
def sweep(K, n, y, cap, a, f):
    """Take each multiplier in turn to where its own constraint y f = 1 holds, within its range; count the changes."""
    changes = 0
    for i in range(n):
        gap = 1.0 - y[i] * f[i]
        if (a[i] <= 0.0 and gap <= 0.0) or (a[i] >= cap[i] and gap >= 0.0):
            continue
        new = min(max(a[i] + gap / K[i, i], 0.0), cap[i])
        change = (new - a[i]) * y[i]
        if change == 0.0:
            continue
        a[i] = new
        changes += 1
        for j in range(n):
            f[j] += change * K[i, j]
    return changes
