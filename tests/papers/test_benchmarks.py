from pathlib import Path

import numpy as np
import pytest
from paper import paper_perceptron

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch):
    """``benchmarks`` is no part of the package; it is run from the root of the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


# -- the benchmarks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def counts():
    """A little data set of integers with three labels."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, size=(150, 12), dtype=np.uint8)
    return X, (X[:, 0].astype(int) + X[:, 1]) // 140


def test_every_way_of_training_gives_one_digest(counts):
    from benchmarks import exact

    X, y = counts
    digest, same, rows = exact.compare(X, y, degree=4, epochs=3)
    assert same
    assert {row["digest"] for row in rows} == {digest[:16]}
    assert [row["cached"] > 0 for row in rows] == [way.memory > 0 and way.block_size < 150 for way in exact.WAYS]
    as_textbook, row = exact.against_textbook(X, y, degree=4)
    assert as_textbook
    assert row["rows"] == 150


def test_a_different_record_is_noticed(counts, monkeypatch):
    from benchmarks import exact

    X, y = counts
    train = exact.train

    def off_by_one(X, y, order, degree, n_steps, way):
        return train(X, y, order, degree, n_steps - (way.block_size == 64), way)

    monkeypatch.setattr(exact, "train", off_by_one)
    _, same, rows = exact.compare(X, y, degree=2, epochs=2)
    assert not same
    assert [row["same"] for row in rows] == ["yes" if way.block_size != 64 else "NO" for way in exact.WAYS]


def test_floor_and_pairs(counts):
    from benchmarks import _common

    X, y = counts
    assert _common.sgemm_seconds(X, X[:5], threads=1, repeats=2) > 0
    model = paper_perceptron(degree=2, gamma=1.0, epochs=1, random_state=0).fit(X, y)
    record = model.record_
    presented = np.argsort(np.random.RandomState(0).permutation(150))  # when each row comes, from 0 on
    after = sum(np.count_nonzero(presented > presented[i]) for i in model.support_)
    assert _common.pairs_of_one_epoch(record) == after
