"""Records and scores are what they were, to the bit. README.md beside this says what is frozen."""

import json
import math
from pathlib import Path

import frozen_results
import pytest

HERE = Path(__file__).parent
ITERATED = ("adatron", "soft adatron")
"""Found by iteration up to a tolerance, with sums by BLAS."""
SUMMED = ("naive Bayes", "Winnow", "online, Gaussian")
"""Logarithms and sums by numpy and BLAS, whose last bits are the processor's."""


def written(name):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scores():
    return dict(frozen_results.scores())


def test_records():
    expected = written("records.json")
    found = dict(frozen_results.records())
    assert list(found) == list(expected)
    assert {name: case for name, case in found.items() if case != expected[name]} == {}


def test_the_same_cases(scores):
    assert list(scores) == list(written("scores.json"))


@pytest.mark.parametrize("name", list(written("scores.json")))
def test_scores(name, scores):
    expected, found = written("scores.json")[name], scores[name]
    who = name.partition(":")[0]
    if who in ITERATED + SUMMED:
        close = {"rel_tol": 1e-4, "abs_tol": 1e-5} if who in ITERATED else {"rel_tol": 1e-10, "abs_tol": 1e-10}
        pairs = list(zip(flat(found), flat(expected), strict=True))
        assert pairs
        assert all(math.isclose(ours, theirs, **close) for ours, theirs in pairs)
    else:
        assert found == expected


def flat(values):
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value
