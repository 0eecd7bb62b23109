"""The contract: records, scores, names, errors and help are what they were. README.md beside this says what it is."""

import json
import math
from pathlib import Path

import frozen_results
import frozen_words
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


def test_names():
    assert list(frozen_words.names()) == (HERE / "names.txt").read_text(encoding="utf-8").splitlines()


def test_errors(tmp_path):
    lines = (HERE / "errors.txt").read_text(encoding="utf-8").splitlines()
    expected = dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))
    with frozen_words.inside(tmp_path):
        found = dict(frozen_words.errors(tmp_path))
    assert list(found) == list(expected)
    assert {what: sentence for what, sentence in found.items() if sentence != expected[what]} == {}


def test_each_error_is_a_sentence():
    sentences = (HERE / "errors.txt").read_text(encoding="utf-8").splitlines()[1::2]
    assert not [each for each in sentences if "error in Votron" in each or "no error" in each]
    assert not [each for each in sentences if not each.endswith((".", "?"))]
