"""The record: what follows from the list of mistakes, and what is no record."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron import MistakeRecord, VotronError


def record_of(**changes):
    """Two classes over six steps of three examples; at steps 1 and 4 both err."""
    parts = {
        "example": [0, 0, 2, 0, 0],
        "vector": [0, 1, 1, 0, 1],
        "sign": [1, -1, 1, 1, -1],
        "time": [1, 1, 3, 4, 4],
        "score": [0.0, 0.0, -1.5, -2.0, 0.25],
        "norm2": [4.0, 4.0, 5.0, 4.0, 8.5],
        "n_vectors": 2,
        "n_examples": 3,
        "n_steps": 6,
    }
    return MistakeRecord(**{**parts, **changes})


@st.composite
def records(draw):
    n_vectors, n_examples = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    n_steps = draw(st.integers(1, 30))
    keys = draw(st.lists(st.tuples(st.integers(1, n_steps), st.integers(0, n_vectors - 1)), unique=True, max_size=25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    time, vector = zip(*sorted(keys), strict=True) if keys else ((), ())
    k = len(keys)
    return MistakeRecord(
        example=[(t - 1) % n_examples for t in time], vector=vector, sign=rng.choice([-1, 1], k), time=time,
        score=rng.normal(size=k), norm2=rng.random(k), n_vectors=n_vectors, n_examples=n_examples, n_steps=n_steps,
    )  # fmt: skip


def test_what_follows_from_a_record():
    record = record_of()
    assert len(record) == 5
    assert record.support.tolist() == [0, 2]
    assert record.slot.tolist() == [0, 0, 1, 0, 0]
    assert record.survival.tolist() == [3, 2, 1, 3, 3]
    assert record.event_starts.tolist() == [0, 2, 3, 5]
    assert record.n_mistakes.tolist() == [2, 3]
    assert record.dual_coef().tolist() == [[2.0, 0.0], [-2.0, 1.0]]
    assert record.pocket().tolist() == [1, 4]


@settings(max_examples=100, deadline=None)
@given(records())
def test_survivals_are_counted_in_steps(record):
    """Each step is credited to the vector alive after it: survivals add up to all steps from the first mistake on."""
    written = oracle.AllVectors(record, lambda i, j: 0.0, 0)
    for c in range(record.n_vectors):
        mine = np.flatnonzero(record.vector == c)
        assert dict(enumerate(record.survival[mine].tolist(), start=1)) == written.survival(c, record.n_steps)
        if len(mine):
            assert record.survival[mine].sum() == record.n_steps + 1 - record.time[mine[0]]
            lived = record.survival[mine].tolist()
            assert record.pocket()[c] == record.time[mine[lived.index(max(lived))]]
        else:
            assert record.pocket()[c] == 0
    assert (record.survival >= 1).all()


@settings(max_examples=60, deadline=None)
@given(records(), st.data())
def test_until_is_the_record_of_a_shorter_run(record, data):
    time = data.draw(st.integers(0, record.n_steps))
    early = record.until(time)
    keep = record.time <= time
    for name in ("example", "vector", "sign", "time", "score", "norm2"):
        np.testing.assert_array_equal(getattr(early, name), getattr(record, name)[keep])
    assert (early.n_steps, early.n_vectors, early.n_examples) == (time, record.n_vectors, record.n_examples)
    later = data.draw(st.integers(time, record.n_steps))
    assert record.until(later).until(time).equals(early)
    assert record.until(record.n_steps).equals(record)


def test_no_mistakes_at_all():
    none = MistakeRecord([], [], [], [], [], [], n_vectors=3, n_examples=4, n_steps=8)
    assert len(none) == 0
    assert none.support.tolist() == none.slot.tolist() == none.survival.tolist() == []
    assert none.event_starts.tolist() == [0]
    assert none.n_mistakes.tolist() == none.pocket().tolist() == [0, 0, 0]
    assert none.dual_coef().shape == (3, 0)
    assert none.until(3).n_steps == 3


# -- the same to the last bit -----------------------------------------------------------------------------------------

NEXT = float(np.nextafter(-1.5, 0))


@pytest.mark.parametrize(
    "changes",
    [
        {"example": [0, 0, 1, 0, 0]},
        {"vector": [0, 1, 0, 0, 1]},
        {"sign": [1, -1, -1, 1, -1]},
        {"time": [1, 1, 2, 4, 4]},
        {"score": [0.0, 0.0, NEXT, -2.0, 0.25]},
        {"score": [-0.0, 0.0, -1.5, -2.0, 0.25]},
        {"norm2": [4.0, 4.0, 5.0, 4.0, float(np.nextafter(8.5, 9))]},
        {"n_vectors": 3},
        {"n_examples": 4},
        {"n_steps": 7},
    ],
)
def test_every_bit_counts(changes):
    assert record_of().equals(record_of())
    assert not record_of().equals(record_of(**changes))
    assert record_of().digest() != record_of(**changes).digest()


def test_the_digest_is_a_fixed_number():
    """SHA-256 of the counts and of the arrays, little-endian: the same on every machine."""
    assert record_of().digest() == "f411eca3c6ef1933fd4b678dec68b4fe0b25579e00e44720cc47bf54e66b6f78"
    strange = record_of(
        example=np.array([0, 0, 2, 0, 0], dtype=">i4"), score=np.array([0, 0, -1.5, -2, 0.25], dtype=">f4")
    )
    assert strange.equals(record_of())


def test_records_travel():
    record = record_of()
    assert record.survival.sum() == 12  # derived, and not to be pickled
    copy = pickle.loads(pickle.dumps(record))
    assert copy.equals(record)
    assert "survival" not in copy.__dict__
    assert not copy.score.flags.writeable
    np.testing.assert_array_equal(copy.survival, record.survival)


def test_records_cannot_be_changed():
    score = np.zeros(5)
    record = record_of(score=score)
    score[0] = 7.0
    assert record.score[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        record.time[0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.n_steps = 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": [0.0]}, "equally long"),
        ({"sign": [[1, -1, 1, 1, -1]]}, "one-dimensional"),
        ({"time": [1, 1, 4, 3, 4]}, "sorted"),
        ({"time": [0, 1, 3, 4, 4]}, "between 1 and n_steps"),
        ({"time": [1, 1, 3, 4, 7]}, "between 1 and n_steps"),
    ],
)
def test_what_is_no_record(changes, message):
    with pytest.raises(VotronError, match=message):
        record_of(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"vector": [0, 900_000, 1, 0, 1]},
        {"vector": [0, -1, 1, 0, 1]},
        {"sign": [1, -1, 0, 1, -1]},
        {"sign": [1, -1, 2, 1, -1]},
        {"example": [0, 1, 2, 0, 0]},  # two examples at one step
        {"vector": [0, 0, 1, 0, 1]},  # one vector twice at one step
        {"vector": [1, 0, 1, 0, 1]},  # out of order
    ],
)
def test_what_the_loops_could_not_survive_is_no_record(changes):
    with pytest.raises(VotronError, match=r"A (MistakeRecord|step of a MistakeRecord) has"):
        record_of(**changes)


def test_weights_of_a_record():
    """They multiply signs; where all are 1 there are none, so that the record is the same to the bit."""
    plain, weighted = record_of(), record_of(weight=[0.5, 1.0, 2.0, 0.25, 3.0])
    assert plain.weight is None
    assert record_of(weight=np.ones(5)).weight is None
    assert record_of(weight=np.ones(5)).equals(plain)
    assert not weighted.equals(plain)
    assert weighted.coefficient.tolist() == [0.5, -1.0, 2.0, 0.25, -3.0]
    assert plain.coefficient is plain.sign
    assert weighted.dual_coef().tolist() == [[0.75, 0.0], [-4.0, 2.0]]
    assert weighted.survival.tolist() == plain.survival.tolist()
    assert weighted.until(3).weight.tolist() == [0.5, 1.0, 2.0]
    assert weighted.until(6).equals(weighted)
    assert pickle.loads(pickle.dumps(weighted)).equals(weighted)
    for wrong in ([1.0], [0.0, 1.0, 1.0, 1.0, 1.0], [np.nan, 1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0, 1.0]):
        with pytest.raises(VotronError, match="weights of a MistakeRecord must be numbers above 0"):
            record_of(weight=wrong)
