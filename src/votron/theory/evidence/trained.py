"""A fitted model on its training data, and the assumptions that its history decides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Array, Classes, Floats, Index, Label, Rows, RowsLike
from votron.errors import VotronError
from votron.history import Fingerprint, TrainingHistory
from votron.theory.evidence import Assumption, Evidence
from votron.theory.geometry import Margins

_BY_CHANCE = 20
"""Two samples with up to this many different rows may have the same counts by chance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """A fitted model and its vectors on its training data.

    ``vectors`` has the model's own vectors by name, the final ones first; ``comparators`` returns y (u·x), ‖u‖ = 1, of
    other vectors by name, given whether the data are known to be separable. ``row_hashes`` are equal for equal rows, or
    None where rows cannot be compared. The other attributes are as in `Evidence`.
    """

    name: str
    predictor: str
    classes: Classes
    history: TrainingHistory
    vectors: Mapping[str, Margins]
    comparators: Callable[[bool], Mapping[str, Floats]]
    lengths_known: bool
    switches: Mapping[str, str]
    row_hashes: Array | None = None

    @property
    def last(self) -> Margins:
        """The final vectors."""
        return next(iter(self.vectors.values()))

    @property
    def kept(self) -> Array:
        """A mask of the rows that can be learnt."""
        return np.asarray(self.last.lengths > 0)

    @property
    def labels(self) -> list[Label]:
        """The class of each vector; two classes have one vector, for the second of them."""
        labels: list[Label] = self.classes.tolist()
        return labels[1:] if len(labels) == 2 else labels

    def candidates(self) -> dict[str, Floats]:
        """Return y (u·x) for all vectors at hand, on the rows that can be learnt."""
        separable = bool(np.max([found.unnormalized for found in self.vectors.values()], axis=0).min() > 0)
        own = {name: found.each for name, found in self.vectors.items()}
        return {name: each[self.kept] for name, each in {**own, **self.comparators(separable)}.items()}

    def evidence(self, assumptions: list[Assumption], **fields: Any) -> Evidence:
        """Return the evidence, with the fields that depend on the kind of model."""
        history = self.history
        always = []
        if history.fingerprint is None:
            because = "these are the rows and labels of training, which was on a cluster: your claim"
            always.append(Assumption("same data", None, because))
        if history.from_file:
            always.append(Assumption("model file", None, "training went as the model file says: not verified"))
        hashes = None if self.row_hashes is None else self.row_hashes[self.kept]
        return Evidence(
            model=self.name,
            predictor=self.predictor,
            left_out=int((~self.kept).sum()),
            epochs=history.passes,
            presentations=math.ceil(history.n_epochs) if history.rows_repeated else 1,
            lengths=self.last.lengths[self.kept],
            lengths_known=self.lengths_known,
            assumptions=(*_kernel_fixed(history), *assumptions),
            switches=self.switches,
            always=tuple(always),
            most_repeated=None if hashes is None else int(np.unique(hashes, return_counts=True)[1].max()),
            weighted=history.weighted,
            **fields,
        )


def check_training_data(history: TrainingHistory, rows: Rows, codes: Index) -> None:
    """Refuse data that the model was not trained on, and a training for which no theorem holds."""
    if history.presented_unequally:
        raise VotronError(
            "A model trained by fit for several epochs and then by partial_fit has no certificate: train it by one of "
            "the two."
        )
    if history.n_zero_weight:
        raise VotronError(
            f"A model trained with rows of weight 0, here {history.n_zero_weight:,}, has no certificate: train it "
            "without them, which gives the same model."
        )
    difference = None
    if history.fingerprint is not None:
        difference = history.fingerprint.difference(Fingerprint.of(rows, np.asarray(codes)))
    elif rows.shape[0] != history.n_rows:
        difference = f"there are {rows.shape[0]:,} rows, and training had {history.n_rows:,}"
    if difference is not None:
        raise VotronError(
            "The X and y of certify must be the training data, as they were given to fit, or to all calls of "
            f"partial_fit one after another. Got others: {difference}."
        )


def check_test_data(X: RowsLike, X_test: RowsLike) -> Assumption:
    """Refuse the training data as test data; return the user's claim, with the number of rows in both."""
    claim = "they are independent draws from the same distribution, and were not used for training: your claim"
    try:
        tested, known = Counter(_contents(X_test)), Counter(_contents(X))
    except (TypeError, ValueError):  # not numbers, or not a matrix: the model will say so
        return Assumption("test data", None, claim)
    if X is X_test or (tested == known and len(tested) > _BY_CHANCE):
        raise VotronError(
            "X_test and y_test must be data that were not used for training. Got the training data instead."
        )
    n = sum(times for row, times in tested.items() if row in known)
    if n:
        claim = f"{n:,} of the {tested.total():,} rows are in the training data too; {claim}"
    return Assumption("test data", None, claim)


def _contents(X: RowsLike) -> list[tuple[bytes, bytes]]:
    """Return the nonzero columns and values of each row."""
    rows = sp.csr_matrix(X if sp.issparse(X) else np.asarray(X, dtype=np.float64), dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    columns = rows.indices.astype(np.int64)
    return [(columns[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in pairwise(rows.indptr)]


def _kernel_fixed(history: TrainingHistory) -> list[Assumption]:
    name, found = "kernel fixed", []
    if history.gamma_from == "scale":
        because = "gamma='scale' was computed from these data"
        found.append(Assumption(name, False, because, "a gamma not computed from these data", another_run=True))
    if history.n_settings:
        because = "kernel and parameters were chosen by cross-validation on these data"
        found.append(Assumption(name, False, because, "parameters chosen without these data", another_run=True))
    because = "features, kernel, parameters and seed were chosen without these data: your claim"
    return found or [Assumption(name, None, because)]


def one_epoch(history: TrainingHistory) -> Assumption:
    if history.rows_repeated:
        return Assumption("one epoch", False, f"{history.n_epochs:g} epochs were run", "epochs=1")
    return Assumption("one epoch", True, "no example was presented twice")


def planned_end(history: TrainingHistory, chosen: str = "", change: str = "") -> list[Assumption]:
    """Return whether the end of training was fixed beforehand and all examples are independent draws.

    ``chosen`` says what held-out rows chose, if anything, and ``change`` how to avoid that.
    """
    name, found = "planned end", []
    if history.interrupted:
        found.append(Assumption(name, False, "training was interrupted", "training to its end"))
    if chosen:
        found.append(Assumption(name, False, f"the {chosen} chosen by held-out rows", change))
    if chosen or history.n_held_out:
        because = "a share of every class was held out, so the other rows are not independent draws"
        found.append(Assumption("i.i.d.", False, because, change or "another rule in training"))
    if not history.interrupted and not chosen:
        because = "training ended as planned"
        if history.n_batches > 1:
            because += f" after {history.n_batches} calls of partial_fit: your claim"
        found.append(Assumption(name, None if history.n_batches > 1 else True, because))
    return found


def about_weights(trained: Trained, balanced: bool, tau: float) -> list[Assumption]:
    """Return that updates were weighted, and whether the weights were fixed; nothing without weights."""
    if not trained.history.weighted:
        return []
    because = "mistakes were added with weights, and the proof counts updates of weight 1"
    switch = trained.switches.get("unweighted", "")
    return [Assumption("unweighted", False, because, switch, another_run=True), weights_fixed(balanced, tau)]


def weights_fixed(balanced: bool, tau: float = 0.0) -> Assumption:
    """Return whether the weight of an example depends on no other example, as far as the parameters tell."""
    name = "weights fixed"
    if balanced:
        because = "class_weight='balanced' counted the labels of these data"
        return Assumption(name, False, because, "class weights not computed from these data", another_run=True)
    if tau > 0:  # without a margin, scaling all weights changes no mistake
        because = "weights were divided by their mean over these data, and with a margin their scale matters"
        return Assumption(name, False, because, "margin=0", another_run=True)
    return Assumption(name, None, "the weight of an example depends on no other example: your claim")
