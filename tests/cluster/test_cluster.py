"""On a real cluster: the record of one machine, whatever the workers, chunks and forms of the data."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clusters import cluster_of
from sklearn.base import clone
from sklearn.datasets import load_digits

import votron
from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def client(cluster):
    return cluster[1]


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X.astype(np.uint8), y


def spread(X: Any, y: Any, size: Any) -> tuple[da.Array, da.Array]:
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=(size,))


def voted(**parameters: Any) -> VotedPerceptronClassifier:
    return VotedPerceptronClassifier(**{"epochs": 2, "random_state": 0, "kernel": "poly", **parameters})


def assert_same(model: Any, X: Any, y: Any, *spread_over: Any, **more: Any) -> Any:
    local, remote = clone(model).fit(X, y, **more), clone(model)
    remote.fit(*spread_over, **{name: da.from_array(v, chunks=450) for name, v in more.items()})
    assert remote.kernel_ == local.kernel_
    assert remote.record_.equals(local.record_)
    assert np.array_equal(dense(remote.support_vectors_), dense(local.support_vectors_))
    assert remote.support_vectors_.dtype == local.support_vectors_.dtype
    assert (remote.n_epochs_, remote.converged_) == (local.n_epochs_, local.converged_)
    return remote


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_each_worker_does_its_share(cluster, digits, n):
    X, y = digits
    with nullcontext(cluster) if n == 2 else cluster_of(n):
        remote = assert_same(voted(degree=4, gamma=1.0, epochs=3), X, y, *spread(X, y, 450 // n))
    pairs = dict.fromkeys(remote.cluster_account_.workers, 0)
    for worker, mine in zip(remote.cluster_account_.workers, remote.cluster_account_.pairs, strict=True):
        pairs[worker] += mine
    assert len(pairs) == n
    assert min(pairs.values()) >= 0.5 * sum(pairs.values()) / n


@pytest.mark.parametrize("size", [1797, 600, (1, 1000, 0, 796)])
def test_chunks_do_not_matter(client, digits, size):
    X, y = digits
    X = (X / 7).astype(np.float32)
    rows, labels = spread(X, y, size)
    assert_same(voted(kernel="rbf"), X, y, rows if size == 600 else rows.rechunk({1: 32}), labels)


def test_csr_chunks(client, digits):
    X, y = digits
    X = sp.csr_matrix(X / 3)
    chunks = [da.from_delayed(dask.delayed(X[i : i + 450]), (X[i : i + 450].shape), dtype=X.dtype, meta=X[:0])
              for i in range(0, 1797, 450)]  # fmt: skip
    assert_same(voted(), X, y, da.concatenate(chunks), da.from_array(y, chunks=450))


def test_frames_of_unknown_lengths(client, digits):
    X, y = digits
    frame = pd.DataFrame(X / 5, columns=[f"pixel{i}" for i in range(64)]).assign(digit=y)
    table = dd.from_pandas(frame, npartitions=3)
    table = table[table["digit"] != 3]
    kept = frame[frame["digit"] != 3]
    remote = assert_same(
        voted(), kept.drop(columns="digit"), kept["digit"], table.drop(columns="digit"), table["digit"]
    )
    assert remote.feature_names_in_[5] == "pixel5"
    predicted = remote.predict(table.drop(columns="digit"))
    assert isinstance(predicted, da.Array)
    assert np.array_equal(predicted.compute(), remote.predict(kept.drop(columns="digit")))


def test_weights_margins_and_two_classes(client, digits):
    X, y = digits
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(y))
    model = voted(class_weight="balanced", margin={True: 0.5})
    assert_same(model, X / 3, y == 3, *spread(X / 3, y == 3, 450), sample_weight=weights)


def test_rows_that_cannot_be_learnt_are_left_out(client, digits):
    X, y = digits[0].copy(), digits[1]
    X[[5, 900]] = 0
    with pytest.warns(UserWarning, match="2 of 1797 rows have K"):
        local = voted(kernel="linear").fit(X, y)
    with pytest.warns(UserWarning, match="2 of 1797 rows have K"):
        remote = voted(kernel="linear").fit(*spread(X, y, 450))
    assert remote.record_.equals(local.record_)


def test_partial_fit(client, digits):
    X, y = digits
    model = voted(gamma=0.001)
    local, remote = clone(model), clone(model)
    for part in (slice(0, 700), slice(700, 1797)):
        local.partial_fit(X[part] / 3, y[part], classes=range(10))
        remote.partial_fit(*spread(X[part] / 3, y[part], 300), classes=range(10))
    assert remote.record_.equals(local.record_)
    assert not hasattr(remote.partial_fit(X[:50] / 3, y[:50]), "cluster_account_")


def test_partial_fit_of_the_averaged_perceptron(client, digits, tmp_path):
    X, y = digits
    local, remote = AveragedPerceptronClassifier(), AveragedPerceptronClassifier()
    for part in (slice(0, 700), slice(700, 1797)):
        local.partial_fit(X[part], y[part], classes=range(10))
        remote.partial_fit(*spread(X[part], y[part], 300), classes=range(10))
        remote.save(tmp_path / "model.votron")
        remote = votron.load(tmp_path / "model.votron")
    assert np.array_equal(remote.coef_, local.coef_)
    assert np.array_equal(remote.n_mistakes_, local.n_mistakes_)


def test_prediction_is_lazy_and_blockwise(client, digits):
    X, y = digits
    model = voted().fit(X, y)
    rows = da.from_array(X, chunks=(450, -1))
    calls = [model.predict(rows), model.decision_function(rows)]
    stages = dict(model.staged_decision_function(rows, at=[0.5, 2], rules=["vote", ("last", True)]))
    assert all(isinstance(call, da.Array) and call.chunks[0] == rows.chunks[0] for call in calls)
    labels, scores = dask.compute(*calls)
    assert np.array_equal(labels, model.predict(X))
    assert np.array_equal(scores, model.decision_function(X))
    for moment, expected in model.staged_decision_function(X, at=[0.5, 2], rules=["vote", ("last", True)]):
        for name, values in expected.items():
            assert np.array_equal(stages[moment][name].compute(), values)
    assert np.array_equal(model.predict_proba(rows).compute(), model.predict_proba(X))
    assert np.array_equal(voted().fit(rows, y).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="features"):
        model.predict(rows[:, :5])


def test_the_averaged_perceptron(client, digits):
    X, y = digits
    for parameters in ({"epochs": 3, "shuffle": False}, {"epochs": 1.5, "shuffle": False, "fit_intercept": False}):
        local = AveragedPerceptronClassifier(**parameters).fit(X, y)
        remote = AveragedPerceptronClassifier(**parameters).fit(*spread(X, y, 450))
        assert np.array_equal(remote.coef_, local.coef_)
        assert np.array_equal(remote.intercept_, local.intercept_)
        assert np.array_equal(remote.n_mistakes_, local.n_mistakes_)
    shuffled = AveragedPerceptronClassifier(random_state=0).fit(*spread(X, y, 450))
    assert np.array_equal(shuffled.predict(da.from_array(X, chunks=(450, -1))).compute(), shuffled.predict(X))
    assert shuffled.score(X, y) > 0.9


def test_rows_do_not_come_together(client):
    n, d, size = 160_000, 500, 20_000

    def made(block_info: Any = None) -> np.ndarray:
        start, stop = block_info[None]["array-location"][0]
        rng = np.random.default_rng(start)
        rows = rng.integers(0, 200, (stop - start, d), dtype=np.uint8)
        rows[:, 0] = np.where(np.arange(start, stop) % 2, 255, 0)
        return rows

    X = da.map_blocks(made, chunks=((size,) * 8, (d,)), dtype=np.uint8, meta=np.empty((0, 0), np.uint8))
    y = da.from_array(np.arange(n) % 2, chunks=size)
    voted(epochs=1, degree=1, gamma=1.0).fit(X, y)  # what a first run takes for good is not counted
    with open("/proc/self/clear_refs", "w") as kernel:
        kernel.write("5")  # the peak is what is used now: tests before this one may have used more
    before = peak()
    model = voted(epochs=1, degree=1, gamma=1.0).fit(X, y)
    grown = peak() - before
    most = 4 * (model.support_vectors_.nbytes + 64 * len(model.record_)) + 32 * n + (20 << 20)
    assert n * d > 2 * most  # else this would say nothing
    assert grown < most  # the model, what is known of each row, and the rows of one interval


def peak() -> int:
    with open(f"/proc/{os.getpid()}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_what_does_not_go_together_is_told_in_a_sentence(client, digits):
    X, y = digits
    rows, labels = spread(X, y, 450)
    other = da.from_array(y, chunks=500)
    for told, act in {
        r"The labels must have chunks as long as those of X": lambda: voted().fit(rows, other),
        r"The sample_weight must have chunks": lambda: voted().fit(rows, labels, sample_weight=other + 1),
        r"as many as the rows of X, 1797\. Got 1796": lambda: voted().fit(rows, y[1:]),
        r"no Dask collections with kernel='precomputed'": lambda: voted(kernel="precomputed").fit(rows, labels),
        r"No rows can be held out of Dask": lambda: voted(early_stopping=True).fit(rows, labels),
        r"two dimensions\. Got a Dask array of 1": lambda: voted().fit(labels, labels),
        r"NaN": lambda: voted().fit(rows / rows, labels),
    }.items():  # fmt: skip
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=told):
            act()


def test_what_does_not_take_collections_says_so(digits):
    X, y = digits
    rows, labels = spread(X, y, 450)
    model = voted().fit(X[:300], y[:300])
    for act in (
        lambda: WinnowClassifier(binarize=0.5).fit(rows, labels),
        lambda: KernelAdatronClassifier().fit(rows, labels),
        lambda: VotedPerceptronClassifierCV().fit(rows, labels),
        lambda: model.agreement(rows),
        lambda: model.explain(rows),
        lambda: votron.certify(model, rows, labels),
        lambda: model.with_rule("holdout", X_val=rows, y_val=labels),
        lambda: model.with_best_moment(rows, labels),
    ):
        with pytest.raises(votron.VotronError, match="no Dask collections here"):
            act()


def test_scattered_data(client, digits):
    X, y = digits
    held = client.scatter([X[:900], X[900:]])
    parts = [da.from_delayed(dask.delayed(h), (n, 64), dtype=X.dtype) for h, n in zip(held, (900, 897), strict=True)]
    rows, labels = da.concatenate(parts), da.from_array(y, chunks=((900, 897),))
    assert voted().fit(rows, labels).record_.equals(voted().fit(X, y).record_)
