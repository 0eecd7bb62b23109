"""Effects of columns on the score of a kernel model, which is a sum over examples and not over features.

Problem: by how much does the value of one column speak for the label of a row? Output: for each column, the score
of the row less the mean of its scores with that column's value taken from other rows, those that the model keeps:
what a value of no particular row would leave. Effects do not add up to the score, for a kernel lets columns work
together. Reference: E. Strumbelj and I. Kononenko, Knowledge and Information Systems 41 (2014), 647-665, of which
this is the first term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from votron._util.frames import dense
from votron._util.types import Floats, Index, Rows
from votron.explanations._sums import dense_row
from votron.explanations.features import Features

MOST_COLUMNS = 200
"""Columns beyond which there are no effects: of texts and images each is next to nothing."""
_MOST_ROWS = 64
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Effect:
    """The effect of the value of one column on a score.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron import VotedPerceptronClassifier
    >>> X = pd.DataFrame({"width": [1.0, 1.2, 3.0, 3.3], "noise": [0.1, 0.0, 0.1, 0.0]})
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X, ["thin", "thin", "wide", "wide"])
    >>> [(effect.column, effect.change > 0) for effect in model.explain(X[:1])[0].columns][0]
    ('width', True)
    """

    name: str
    """The column, and its value: of frames as it came, or that it is missing; of other rows where it is one feature."""
    column: str
    """The column alone."""
    change: float
    """By how much the score would fall, in the mean, with the value of another row: above 0 where it speaks for the
    class that is explained."""
    missing: bool = False
    """Whether the row, which came in a frame, had no value there."""


class ColumnEffects:
    """The effects of columns on the scores of rows, with what is the same for all rows made once."""

    def __init__(self, others: Rows, features: Features | None, scores: Callable[[Rows], Floats]) -> None:
        self.features, self._scores = features, scores
        places = {} if features is None else features.places
        # With a precomputed kernel no rows are kept, and the features are training examples.
        known = features is not None and others.shape[0] and others.shape[1] == len(features)
        self.columns = places if known and 1 < len(places) <= MOST_COLUMNS else {}
        spread = np.unique(np.linspace(0, others.shape[0] - 1, _MOST_ROWS).round().astype(np.int64))
        self._others: Rows = others[spread] if self.columns else others[:0]
        if not sp.issparse(self._others):
            fits = max(1, _CELLS_AT_ONCE // max(1, others.shape[1]))
            self._others = self._others[:: -(-len(self._others) // fits) or 1]

    def of(self, row: Rows, mix: Floats, i: int) -> tuple[Effect, ...]:
        """Return the effects on the score of row ``i``, the largest first; none where columns are unknown."""
        if self.features is None or not self.columns:
            return ()
        own, whole = dense_row(row), float(_mixed(self._scores(row), mix)[0])
        found = []
        for column, places in self.columns.items():
            others = _mixed(self._scores(self._changed(row, places)), mix)
            change = float((whole - others).mean())  # exactly 0 where no value makes a difference
            missing = self.features.is_missing(int(places[0]), i)
            found.append(Effect(self.features.in_words(column, own, i), column, change, missing))
        return tuple(sorted(found, key=lambda effect: -abs(effect.change)))

    def _changed(self, row: Rows, places: Index) -> Rows:
        """Return the row once for each of the others, with their values at these places."""
        n = self._others.shape[0]
        if not sp.issparse(row):
            theirs = dense(self._others[:, places])
            changed = np.repeat(np.asarray(row), n, axis=0)
            changed = changed.astype(np.result_type(changed, theirs))  # whole numbers would cut off their fractions
            changed[:, places] = theirs
            return changed
        here = np.zeros(row.shape[1])
        here[places] = 1.0
        # As many features as words, of which a row has few: no array has a cell for each.
        theirs = sp.csr_matrix(self._others) @ sp.diags(here, format="csr")
        changed = sp.csr_matrix(np.ones((n, 1))) @ (row @ sp.diags(1.0 - here, format="csr")) + theirs
        changed = sp.csr_matrix(changed)
        changed.eliminate_zeros()
        changed.sort_indices()
        return changed


def _mixed(scores: Floats, mix: Floats) -> Floats:
    """Return the scores that are explained, of each row one."""
    found: Floats = np.asarray(scores).reshape(len(scores), -1) @ mix
    return found
