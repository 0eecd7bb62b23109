"""Rows that are spread over shards give the record of the textbook, to the bit, however they are spread."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from in_process import train
from sklearn.datasets import load_digits
from strategies import FAMILIES, PLENTY, How, Problem, problems, thorough

from votron import VotedPerceptronClassifier
from votron.cluster.rows import witnesses_of
from votron.cluster.shard import Numbers
from votron.cluster.workers import Chunk, part_of
from votron.errors import VotronError
from votron.kernels import GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel
from votron.products import describe
from votron.products import squares as squared_lengths

FEATURES = sorted(name for name in FAMILIES if "precomputed" not in name)


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows


def short_intervals(fewest: int, nearby: float) -> Any:
    """Few rows have short intervals then, and the walk misses some that turn wrong."""

    def change(run: Any) -> None:
        run.wanted = run.size = fewest
        run.nearby = nearby

    return change


@thorough(150)
@given(data=st.data())
def test_is_the_textbook_record(data):
    family, weighted = data.draw(st.sampled_from(FEATURES)), data.draw(st.booleans())
    problem = data.draw(problems(family, weights=weighted))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    owner = rng.integers(0, data.draw(st.integers(1, 5)), len(problem.codes))
    often = data.draw(st.sampled_from([0.0, 0.2]))
    found, trainer, _ = train(
        problem,
        owner,
        page_size=data.draw(st.sampled_from([1, 3, 8, 64])),
        memory=data.draw(st.sampled_from([0, PLENTY])),
        n_threads=data.draw(st.integers(1, 2)),
        lost=lambda step: [int(rng.integers(0, 5))] if rng.random() < often else [],
        tweak=short_intervals(data.draw(st.sampled_from([1, 7, 4096])), data.draw(st.sampled_from([0.0, 0.1, 10.0]))),
    )
    run, local = problem.run(How(None))
    assert trainer.record(len(problem.order), problem.n_steps).equals(problem.textbook())
    assert (found.steps, found.converged) == (run.steps, run.converged)
    assert np.array_equal(trainer.norm2, local.norm2)
    assert np.array_equal(dense(trainer.support_rows), dense(local.support_rows))


@pytest.mark.parametrize("kernel", [PolynomialKernel(4), NormalizedKernel(PolynomialKernel(2)), GaussianKernel(1e-3)])
@pytest.mark.parametrize("real", [False, True])
def test_digits(kernel, real):
    X, y = load_digits(return_X_y=True)
    X = X / 7 if real else X
    problem = Problem(kernel, X, y, 2 * len(X), n_vectors=10, margin=0.0)
    expected = problem.train(How(None))
    for n_shards, memory, fewest in ((1, PLENTY, 2048), (3, 0, 200), (4, 1 << 20, 200)):
        owner = np.random.default_rng(n_shards).integers(0, n_shards, len(X))
        how = {"page_size": 128, "memory": memory, "tweak": short_intervals(fewest, 0.1)}
        how["n_threads"] = 1 if n_shards > 1 else 3  # the walk of long intervals is worth several
        _, trainer, run = train(problem, owner, **how)
        assert trainer.record(len(X), problem.n_steps).equals(expected)
        pairs = run.account.pairs
        assert min(pairs) > 0.5 * sum(pairs) / n_shards


def test_rows_that_have_changed_are_refused():
    rows = np.arange(12.0).reshape(4, 3)
    numbers = Numbers(LinearKernel(), describe(rows), 1, 0.0, 64, rows[:0])
    what = numbers, Chunk(7, np.arange(4)), np.zeros(4), (rows**2).sum(axis=1)
    assert np.array_equal(part_of(rows, *what).rows, rows)
    for changed in (rows + 1e-9, rows[::-1]):
        with pytest.raises(VotronError, match="Chunk 7 of X has other rows than when it was first read"):
            part_of(changed, *what)


def test_witnesses_stand_for_all_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.integers(-3, 4, rng.integers(1, 30, 2)) * rng.choice([1, 1, 0.5], 1)
        X = X * (rng.random(X.shape) < 0.5)
        for rows in (X, sp.csr_matrix(X), X.astype(np.float32)):
            few = witnesses_of(rows, squared_lengths(rows))
            assert few.shape[0] <= 5
            for gamma in (1e-3, 1e3):
                assert (
                    GaussianKernel(gamma).suited_to(few).arithmetic == GaussianKernel(gamma).suited_to(rows).arithmetic
                )
            one, all_of_them = describe(few), describe(rows)
            assert (one.integer, one.low, one.high) == (all_of_them.integer, all_of_them.low, all_of_them.high)


def test_without_a_client(monkeypatch):
    monkeypatch.setattr("distributed.get_client", Mock(side_effect=ValueError("no client")))
    with pytest.raises(VotronError, match=r"takes a client: distributed\.Client\(\) starts a cluster"):
        VotedPerceptronClassifier().fit(da.zeros((4, 2), chunks=(2, 2)), np.array([0, 1, 0, 1]))
