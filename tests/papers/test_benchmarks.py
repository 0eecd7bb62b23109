import argparse
import json
import re
import sys
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


def test_digests_are_kept_for_every_degree():
    from benchmarks import exact

    kept = json.loads(exact.DIGESTS.read_text(encoding="utf-8"))
    assert sorted(kept["digests"]) == ["1", "2", "3", "4", "5", "6"]
    for degree, entry in kept["digests"].items():
        assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])
        assert entry["epochs"] == exact.EPOCHS[int(degree)]
    assert {"numpy", "numba"} <= set(kept["made with"])


def test_floor_and_pairs(counts):
    from benchmarks import _common

    X, y = counts
    assert _common.sgemm_seconds(X, X[:5], threads=1, repeats=2) > 0
    model = paper_perceptron(degree=2, gamma=1.0, epochs=1, random_state=0).fit(X, y)
    record = model.record_
    presented = np.argsort(np.random.RandomState(0).permutation(150))  # when each row comes, from 0 on
    after = sum(np.count_nonzero(presented > presented[i]) for i in model.support_)
    assert _common.pairs_of_one_epoch(record) == after


def test_results_are_kept_and_tell_no_folder(tmp_path, capsys, monkeypatch):
    from benchmarks import _common

    monkeypatch.setattr(sys, "argv", ["speed", "--data", "/somebody's/folder", "--json"])
    args = argparse.Namespace(data="/somebody's/folder", threads=1, json=str(tmp_path / "new" / "speed.json"))
    results = _common.Results("speed", args)
    results.table("A table", [{"name": "a", "seconds": 1.0, "support": 1234}, {"name": "b", "ratio": 2.0}])
    results.close()
    assert "a        1.00    1,234" in capsys.readouterr().out
    kept = json.loads((tmp_path / "new" / "speed.json").read_text(encoding="utf-8"))
    assert kept["command"] == 'python -m benchmarks.speed --data "$VOTRON_DATA" --json'
    assert kept["tables"]["A table"][1] == {"name": "b", "ratio": 2.0}


def test_exponent_of_a_power_law():
    from benchmarks import scaling

    assert scaling.exponent([10, 20, 40], [3 * n**1.5 for n in (10, 20, 40)]) == pytest.approx(1.5)


def test_wekas_output_is_read():
    from benchmarks import _weka

    text = """
    VotedPerceptron: Number of perceptrons=124
    Time taken to build model: 0.31 seconds
    === Error on training data ===
    Incorrectly Classified Instances        27                1.35   %
    === Error on test data ===
    Incorrectly Classified Instances        59                2.9633 %
    """
    assert _weka.parse(text) == {"error %": 2.9633, "train s": 0.31, "vectors": 124}


def test_verdicts_pick_the_fastest_that_is_good_enough():
    from benchmarks import peers

    ours = [
        {"model": "ours: a", "features": "unit", "error %": 2.0, "average %": 1.4, "last %": 3.0, "train s": 2.0},
        {"model": "ours: b", "features": "unit", "error %": 1.6, "average %": 1.6, "last %": 1.6, "train s": 1.0},
        {"model": "ours: c", "features": "raw", "error %": 1.5, "average %": 1.6, "last %": 1.6, "train s": 0.5},
    ]
    same, any_features = peers.verdicts(ours, [{"model": "SVC", "features": "unit", "error %": 1.5, "train s": 10.0}])
    assert (same["fastest"], same["times faster"]) == ("unit, a, average", 5.0)
    assert (any_features["fastest"], any_features["times faster"]) == ("raw, c, vote", 20.0)
