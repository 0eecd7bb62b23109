"""Suspects: rows that were mistaken by much, often and late, ranked by the record alone."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from strategies import thorough

from votron import VotedPerceptronClassifier

X, y = load_digits(return_X_y=True)


def planted(n, share, seed=0):
    rng = np.random.RandomState(seed)
    labels, wrong = y[:n].copy(), np.zeros(n, dtype=bool)
    wrong[rng.choice(n, round(share * n), replace=False)] = True
    labels[wrong] = (labels[wrong] + rng.randint(1, 10, wrong.sum())) % 10
    return labels, wrong


def textbook(model):
    """Suspicion, number of mistakes and last epoch of each row, by hand."""
    record, found = model.record_, {}
    vectors = [np.zeros(record.n_examples) for _ in range(record.n_vectors)]  # as coefficients
    gram = model.kernel_(X[: record.n_examples])
    for k in range(len(record)):
        v, j, sign = vectors[record.vector[k]], record.example[k], record.sign[k]
        length, epoch = math.sqrt(max(0.0, v @ gram @ v)), record.time[k] / record.n_examples
        cosine = -sign * (v @ gram[j]) / (length * math.sqrt(gram[j, j])) if length else 0.0
        total, times, _ = found.get(j, (0.0, set(), 0.0))
        found[j] = total + max(0.0, cosine) * math.sqrt(epoch), times | {record.time[k]}, epoch
        v[j] += sign * (1.0 if record.weight is None else record.weight[k])
    return {int(j): (total, len(times), last) for j, (total, times, last) in found.items()}


@thorough(20)
@given(st.integers(2, 10), st.sampled_from([0.0, 0.5]), st.booleans(), st.integers(0, 5))
def test_suspicion_is_that_of_the_textbook(n_classes, margin, weighted, seed):
    labels, _ = planted(80, 0.1, seed)
    weights = np.random.RandomState(seed).uniform(0.5, 2.0, 80) if weighted else None
    model = VotedPerceptronClassifier(kernel="poly", degree=2, gamma=0.01, epochs=3, margin=margin, random_state=seed)
    model.fit(X[:80], labels % n_classes, sample_weight=weights)
    found, expected = model.suspects(), textbook(model)
    assert sorted(found.row.tolist()) == sorted(expected)
    for i, row in enumerate(found.row.tolist()):
        assert found.suspicion[i] == pytest.approx(expected[row][0], rel=1e-6, abs=1e-6)
        assert (found.mistakes[i], found.last[i]) == expected[row][1:]
    assert (np.diff(found.suspicion) <= 0).all()
    known = [(row, label) for row, label in zip(found.row, found.labels, strict=True) if label is not None]
    assert all(label == labels[row] % n_classes for row, label in known)
    assert all(a is None or a != b for a, b in zip(found.taken_for, found.labels, strict=True))


def test_planted_labels_are_found_and_the_right_ones_named():
    labels, wrong = planted(1000, 0.05)
    model = VotedPerceptronClassifier(kernel="rbf", epochs=3, margin=2.0, random_state=0).fit(X[:1000], labels)
    found, doubt = model.suspects(), np.zeros(1000)
    doubt[found.row] = found.suspicion
    assert roc_auc_score(wrong, doubt) > 0.99
    first = found.row[:40]
    assert wrong[first].mean() > 0.9
    named = [
        (row, taken) for row, taken in zip(first, found.taken_for, strict=False) if wrong[row] and taken is not None
    ]
    assert len(named) > 30
    assert np.mean([taken == y[row] for row, taken in named]) > 0.9


def test_suspects_print_and_convert():
    model = VotedPerceptronClassifier(random_state=0).fit(X[:200], planted(200, 0.05)[0])
    found = model.suspects(top=3)
    assert len(found) == len(str(found).splitlines()) - 1 == len(found.to_frame()) == 3
    assert json.loads(json.dumps(found.to_dict()))["suspects"][0]["row"] == found.row[0]
    assert len(model.suspects(0)) == 0


@pytest.mark.parametrize("n_new", [1, 30])
def test_epochs_are_those_of_fit_after_partial_fit(n_new):
    labels, _ = planted(100, 0.1)
    model = VotedPerceptronClassifier(degree=1, kernel="poly", gamma=0.01, random_state=0).fit(X[:100], labels)
    before = {each["row"]: each for each in model.suspects().rows()}
    assert max(each["last"] for each in before.values()) > 5
    for start in (100, 100 + n_new):
        model.partial_fit(X[start : start + n_new], y[start : start + n_new])
    after = {each["row"]: each for each in model.suspects().rows()}
    assert {row: after[row] for row in before} == before
    assert all(each["last"] > 10 for row, each in after.items() if row not in before)


def test_all_calls_of_partial_fit_are_one_epoch():
    model = VotedPerceptronClassifier(gamma=0.001, random_state=0)
    for start in (0, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50], classes=range(10))
    found = model.suspects()
    assert {each["row"]: each["last"] for each in found.rows()} == {row: (row + 1) / 100 for row in found.row.tolist()}
