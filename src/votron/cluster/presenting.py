"""Weight vectors that go from chunk to chunk: how the averaged perceptron learns from rows on a cluster.

They learn from the rows of a chunk where these are. A task makes new vectors, and leaves those that it got as they are,
so that it can be done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.progress import Watcher
from votron._util.types import Client, Floats, Index, Rows
from votron.cluster.client import results_of
from votron.engine.primal import PrimalTrainer
from votron.history import TrainingRun


def present(
    client: Client,
    chunks: Sequence[Any],
    starts: Index,
    trainer: PrimalTrainer,
    codes: NDArray[np.int64],
    order: Index,
    given: Index,
    n_steps: int,
    weights: Floats | None,
    watcher: Watcher | None,
) -> TrainingRun:
    """Present rows chunk after chunk, within a chunk in the given order, as the ``run`` of `PrimalTrainer` does.

    ``starts`` has the number of the first row of each chunk, and the end; ``given`` the rows of ``order`` by their
    numbers in the chunks.
    """
    chunk = np.searchsorted(starts, given, "right") - 1
    by_chunk = np.argsort(chunk, kind="stable")
    parts = np.split(by_chunk, np.searchsorted(chunk[by_chunk], np.arange(1, len(chunks))))
    state = client.scatter(trainer, broadcast=True, hash=False)
    n, done, mistakes, interrupted, converged = len(order), 0, int(trainer.n_mistakes.sum()), False, False
    while done < n_steps and not (interrupted or converged):
        left = min(n, n_steps - done)
        for k, part in enumerate(parts):
            mine = part[:left]
            if len(mine):
                rows, of = given[mine] - starts[k], order[mine]
                what = codes[of], None if weights is None else weights[of]
                state = client.submit(_learnt, state, chunks[k], rows, *what, pure=False, retries=3)
            left -= len(mine)
        done += min(n, n_steps - done)
        (total,) = results_of(client, [client.submit(_n_mistakes, state, pure=False)])
        converged, mistakes = total == mistakes and done % n == 0, total
        if watcher is not None:
            watcher.update(done, (done - 1) // n + 1, total)
            interrupted = watcher.should_stop()
    (learnt,) = results_of(client, [state])
    trainer.take_over(learnt)
    return TrainingRun(done, converged, interrupted)


def _learnt(
    trainer: PrimalTrainer, rows: Rows, order: Index, codes: NDArray[np.int64], weights: Floats | None
) -> PrimalTrainer:
    """Return a trainer that has learnt from rows in this order, whose codes and weights come in the same."""
    every, new = np.arange(len(order)), trainer.copy()
    new.run(rows[order], codes, every, len(every), weights=weights)
    return new


def _n_mistakes(trainer: PrimalTrainer) -> int:
    return int(trainer.n_mistakes.sum())
