"""One scan over the record gives every rule at every time: the same as with all vectors written out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import FAMILIES, How, Problem, contained, problems, scattered, thorough

from votron.errors import NotRepresentableError, VotronError
from votron.kernels import GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel, PrecomputedKernel
from votron.record import MistakeRecord
from votron.rules import RULES, Vectors, scan

KNOWN = [family for family in sorted(FAMILIES) if family != "normalized precomputed"]
"""Kernels whose every value is known when rows are scored."""
CHOICES = [(rule, normalized) for rule in RULES for normalized in (False, True)]


@contextmanager
def small_pieces(rows_at_once=256, events_at_once=128, dots_kept=16 << 20):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_ROWS_AT_ONCE", rows_at_once)
        patch.setattr(scan, "EVENTS_AT_ONCE", events_at_once)
        patch.setattr(scan, "DOTS_KEPT", dots_kept)
        yield


pieces = st.fixed_dictionaries(
    {
        "rows_at_once": st.sampled_from([1, 3, 256]),
        "events_at_once": st.sampled_from([1, 3, 128]),
        "dots_kept": st.sampled_from([0, 16 << 20]),
    }
)


class Fitted:
    """A training run, rows to score with labels, and both ways to score them."""

    def __init__(self, problem, rows, codes, seed=0):
        _, trainer = problem.run(How())
        self.problem, self.record, self.rows, self.codes, self.seed = (
            problem,
            trainer.record(9, problem.n_steps),
            rows,
            codes,
            seed,
        )
        self.fast = Vectors(self.record, problem.kernel, trainer.support_rows, seed)
        self.drawn = [oracle.draw(row, seed) for row in oracle.dense(rows)]

    @cached_property
    def slow(self):
        K = oracle.pairs(self.problem.kernel, self.problem.X, self.rows)
        return oracle.AllVectors(self.record, K, self.rows.shape[0])

    def with_holdout(self):
        self.fast = Vectors(
            self.record,
            self.problem.kernel,
            self.fast.support_rows,
            self.seed,
            self.fast.holdout_curve(self.rows, self.codes),
        )
        return self

    def textbook(self, rule, normalized, time):
        holdout = self.slow.best_time(self.codes, time) if rule == "holdout" else 0
        return self.slow.rule(rule, normalized, time, drawn=self.drawn, holdout=holdout)


@st.composite
def fitted(draw, family=None):
    """A small run, and rows to score: some of the training rows (a precomputed kernel knows no others), or new ones."""
    problem = draw(
        problems(family or draw(st.sampled_from(KNOWN)), max_rows=10, max_epochs=2.5, weights=draw(st.booleans()))
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = problem.X.shape[0]
    rows = problem.X[np.concatenate([rng.permutation(n)[:5], rng.integers(0, n, 2)])] if n > 1 else problem.X
    names = repr(problem.kernel)
    if "Precomputed" not in names and draw(st.booleans()):
        values = oracle.dense(rows)
        other = values[::-1, ::-1] if "Conjunction" in names else values[:, ::-1].astype(np.int64) * 3 - 1
        rows = contained(other, draw(st.sampled_from(["int64", "float64", "csr float64"])))
    codes = rng.integers(0, max(2, problem.n_vectors), rows.shape[0])
    return Fitted(problem, rows, codes, draw(st.sampled_from([0, 1, 12345, 2**31 - 2])))


@pytest.mark.parametrize("family", KNOWN)
@thorough(10)
@given(data=st.data())
def test_one_scan_is_all_vectors_written_out(family, data):
    """Every rule, normalised or not, at several times: all at once from one scan, and each for itself; to the bit."""
    run = data.draw(fitted(family)).with_holdout()
    n_steps = run.record.n_steps
    times = [*sorted(data.draw(st.lists(st.integers(0, n_steps), min_size=1, max_size=3))), n_steps]
    n_threads = data.draw(st.integers(1, 3))
    with small_pieces(**data.draw(pieces)):
        stages = list(run.fast.staged(run.rows, data.draw(st.permutations(times)), CHOICES, n_threads=n_threads))
    assert [stage.time for stage in stages] == times
    for stage in stages:
        assert list(stage.scores) == CHOICES
        for choice, scores in stage.scores.items():
            np.testing.assert_array_equal(
                scores, run.textbook(*choice, stage.time), err_msg=f"{choice} at {stage.time}"
            )
    stage = data.draw(st.sampled_from(stages))
    with small_pieces(**data.draw(pieces)):
        for choice, scores in stage.scores.items():
            alone = run.fast.scores(run.rows, *choice, time=stage.time, n_threads=n_threads)
            np.testing.assert_array_equal(alone, scores, err_msg=f"{choice} at {stage.time}")
    rule, normalized = data.draw(st.sampled_from(CHOICES))
    at_end = run.fast.scores(run.rows, rule, normalized)
    np.testing.assert_array_equal(at_end, stages[-1].scores[rule, normalized])


def test_many_rows_many_events_several_threads():
    """More rows than one block of a scan, more events than one chunk, nothing made small for the test."""
    X, codes = scattered(400, 8, n_classes=3, seed=4)
    problem = Problem(PolynomialKernel(2), X, codes, n_steps=1000, n_vectors=3)
    run = Fitted(problem, X[:300], codes[:300])
    assert len(run.record.event_starts) > 2 * 128
    K = run.problem.kernel(X, X[:300])
    F, votes = np.zeros((300, 3)), np.zeros((300, 3))
    for t in range(1, 1001):
        for k in np.flatnonzero(run.record.time == t):
            F[:, run.record.vector[k]] += run.record.sign[k] * K[run.record.example[k]]
        born = [(run.record.time[run.record.vector == c] <= t).any() for c in range(3)]
        votes += np.where(F >= 0, 1, -1) * born
    for n_threads in (1, 2):
        np.testing.assert_array_equal(run.fast.scores(X[:300], "vote", n_threads=n_threads), votes / 1000)
        np.testing.assert_array_equal(run.fast.scores(X[:300], "last", n_threads=n_threads), F)


# -- what the rules have to do with each other ------------------------------------------------------------------------


@thorough(30)
@given(fitted(), st.data())
def test_normalising_changes_nothing_for_votes_and_no_sign_of_single_vectors(run, data):
    time = data.draw(st.integers(1, run.record.n_steps))
    (stage,) = run.with_holdout().fast.staged(run.rows, [time], CHOICES)
    np.testing.assert_array_equal(stage.scores["vote", True], stage.scores["vote", False])
    assert (np.abs(stage.scores["vote", False]) <= 1).all()
    for rule in ("last", "random", "pocket", "holdout"):
        plain, unit = stage.scores[rule, False], stage.scores[rule, True]
        assert (np.sign(plain[unit != 0]) == np.sign(unit[unit != 0])).all()


@thorough(30)
@given(fitted("poly"), st.data())
def test_a_row_has_one_answer_alone_or_among_others_dense_or_sparse(run, data):
    time = data.draw(st.integers(0, run.record.n_steps))
    dense = oracle.dense(run.rows).astype(np.float64)
    with small_pieces(**data.draw(pieces)):
        together = run.fast.scores(dense, "random", time=time)
        np.testing.assert_array_equal(run.fast.scores(sp.csr_matrix(dense), "random", time=time), together)
        order = np.random.default_rng(0).permutation(len(dense))
        np.testing.assert_array_equal(run.fast.scores(dense[order], "random", time=time), together[order])
        for i in range(len(dense)):
            np.testing.assert_array_equal(run.fast.scores(dense[i : i + 1], "random", time=time)[0], together[i])


def test_the_random_rule_draws_every_time_equally_often():
    """One vector a step, of rising length: the score tells which was drawn, and 0 to t come about equally often."""
    n = 9
    record = MistakeRecord(
        example=np.zeros(n), vector=np.zeros(n), sign=np.ones(n), time=np.arange(1, n + 1), score=np.zeros(n),
        norm2=np.ones(n), n_vectors=1, n_examples=1, n_steps=n,
    )  # fmt: skip
    rows = np.ones((4000, 2))
    rows[:, 1] = np.arange(4000)
    counts = {}
    for seed in (0, 1):
        vectors = Vectors(record, LinearKernel(), np.array([[1.0, 0.0]]), seed)
        drawn = vectors.scores(rows, "random", time=7)[:, 0].astype(int)
        counts[seed] = np.bincount(drawn, minlength=8)
        assert len(counts[seed]) == 8
        assert (np.abs(counts[seed] - 500) < 5 * np.sqrt(500)).all()
    assert counts[0].tolist() != counts[1].tolist()


@thorough(30)
@given(fitted(), st.data())
def test_the_holdout_curve_is_brute_force(run, data):
    n_steps = run.record.n_steps
    errors = [len(run.codes) + 1] + [run.slow.errors(run.codes, t) for t in range(1, n_steps + 1)]
    falls = [t for t in range(1, n_steps + 1) if errors[t] < min(errors[:t])]
    with small_pieces(**data.draw(pieces)):
        curve = run.fast.holdout_curve(run.rows, run.codes, n_threads=data.draw(st.integers(1, 3)))
    assert curve.times.tolist() == falls
    assert curve.errors.tolist() == [errors[t] for t in falls]
    assert curve.n_examples == len(run.codes)
    for until in range(n_steps + 1):
        assert curve.best(until) == run.slow.best_time(run.codes, until)


def test_ties_go_to_the_first_class_and_zero_is_positive():
    """Held-out rows that nothing is known of: the first class wins, and of two classes the one of the vector."""
    record = MistakeRecord([0], [1], [1], [1], [0.0], [1.0], n_vectors=3, n_examples=1, n_steps=1)
    row = np.array([[1.0, 0.0], [0.0, 1.0]])
    curve = Vectors(record, LinearKernel(), row[:1]).holdout_curve(row[[1, 1, 1]], np.array([0, 1, 2]))
    assert curve.errors.tolist() == [2]
    binary = MistakeRecord([0], [0], [1], [1], [0.0], [1.0], n_vectors=1, n_examples=1, n_steps=1)
    vectors = Vectors(binary, LinearKernel(), row[:1])
    assert vectors.holdout_curve(row[[1, 1]], np.array([0, 1])).errors.tolist() == [1]
    assert vectors.scores(row[[1]], "vote").tolist() == [[1.0]]


def test_a_vector_that_came_back_to_zero():
    """Length 0, so it scores 0 normalised, and 0 votes +1 like any other 0."""
    X = np.array([[2.0], [2.0], [3.0]])
    record = Problem(LinearKernel(), X, np.array([0, 1, 1]), n_steps=3).train(How())
    assert record.norm2.tolist() == [4.0, 0.0, 9.0]
    vectors = Vectors(record, LinearKernel(), X)
    (stage,) = vectors.staged(
        np.array([[5.0]]), [2], [("vote", True), ("last", True), ("average", True), ("average", False)]
    )
    assert {choice: scores.item() for choice, scores in stage.scores.items()} == {
        ("vote", True): 1.0, ("last", True): 0.0, ("average", True): 2.5, ("average", False): 5.0
    }  # fmt: skip


# -- data of another kind than the training data ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(
    "kernel", [PolynomialKernel(3), GaussianKernel(0.1), NormalizedKernel(PolynomialKernel(2))], ids=repr
)
def test_real_rows_scored_by_integer_supports(dtype, form, kernel):
    X, codes = scattered(30, 6, "small", seed=2)
    rows = np.random.default_rng(0).normal(size=(8, 6)).astype(dtype)
    run = Fitted(Problem(kernel, X, codes, n_steps=45), rows, np.zeros(8, dtype=int))
    scored = sp.csr_matrix(rows) if form == "csr" else rows
    for _ in range(2):  # real rows, integer rows, and again: the supports are kept in both forms in turn
        for rule in ("vote", "average", "last"):
            np.testing.assert_array_equal(run.fast.scores(scored, rule), run.textbook(rule, False, 45))
        integers = Fitted(run.problem, X[:5], codes[:5])
        np.testing.assert_array_equal(run.fast.scores(X[:5].astype(np.uint8), "last").shape, (5, 1))
        np.testing.assert_array_equal(run.fast.scores(X[:5], "last"), integers.textbook("last", False, 45))


@thorough(15)
@given(problems("normalized precomputed", max_rows=10, max_epochs=2.5))
def test_a_normalised_precomputed_kernel_predicts_the_same_labels(problem):
    """K(x, x) of a row to predict is not known: scores lack a positive factor, which changes no sign but at ties."""
    run = Fitted(problem, problem.X, np.zeros(problem.X.shape[0], dtype=int))
    lengths = np.sqrt(np.diagonal(problem.X))[:, None]
    for rule in ("average", "last", "pocket"):
        found, expected = run.fast.scores(problem.X, rule), run.textbook(rule, False, problem.n_steps)
        np.testing.assert_allclose(found, expected * lengths, rtol=1e-9, atol=1e-9 * np.abs(found).max())
    votes, expected = run.fast.scores(problem.X, "vote"), run.textbook("vote", False, problem.n_steps)
    for c in range(problem.n_vectors):
        ties = (np.abs(run.slow.scores[c][1:]) < 1e-9).any(axis=0) & (lengths[:, 0] > 0)
        np.testing.assert_array_equal(votes[~ties, c], expected[~ties, c])


# -- objects and errors -----------------------------------------------------------------------------------------------


def small_run():
    X, codes = scattered(20, 5, seed=7)
    return Fitted(Problem(PolynomialKernel(2), X, codes, n_steps=40), X[:6], codes[:6])


def test_rules_that_cannot_be_followed():
    run = small_run()
    with pytest.raises(VotronError, match=r"must be one of 'vote', 'average'.* Got 'votes'"):
        run.fast.scores(run.rows, "votes")
    with pytest.raises(VotronError, match="'holdout' needs held-out data"):
        run.fast.scores(run.rows, "holdout")


@pytest.mark.parametrize("rule", ["vote", "average", "last", "random", "pocket"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_scores_too_large_for_a_number_are_refused(rule, normalized, n_threads):
    """Never inf or NaN, nor votes made from them."""
    run = small_run()
    rows = np.concatenate([run.rows] * 60).astype(np.float64)
    rows[-1] = 1e160
    with pytest.raises(NotRepresentableError, match="exceed the largest float64"):
        run.fast.scores(rows, rule, normalized, n_threads=n_threads)
    with pytest.raises(NotRepresentableError, match="exceed the largest float64"):
        run.fast.holdout_curve(rows, np.zeros(len(rows)), n_threads=n_threads)
    rows[-1] = 1e120
    assert np.isfinite(run.fast.scores(rows, rule, normalized, n_threads=n_threads)).all()


def test_sums_too_large_for_a_number_are_refused():
    run = small_run()
    huge = replace(run.problem, kernel=LinearKernel()).train(How())
    vectors = Vectors(huge, LinearKernel(), run.problem.X[huge.support] * 1.0)
    row = np.full((1, 5), 1e304)
    assert np.isfinite(vectors.scores(row, "last")).all()
    far = Vectors(replace(huge, n_steps=10**7), LinearKernel(), run.problem.X[huge.support] * 1.0)
    with pytest.raises(NotRepresentableError):
        far.scores(row, "average")


def test_precomputed_rows_are_columns_by_name():
    """A support is a column of the matrix; rows to predict have a column for each training row."""
    X, codes = scattered(25, 5, seed=3)
    kernel = PolynomialKernel(2)
    direct = Fitted(Problem(kernel, X[:18], codes[:18], n_steps=40), X[18:], codes[18:])
    given_as_numbers = replace(direct.problem, kernel=PrecomputedKernel(), X=kernel(X[:18]))
    _, trainer = given_as_numbers.run(How())
    vectors = Vectors(trainer.record(18, 40), PrecomputedKernel(), trainer.support_rows)
    for choice in [c for c in CHOICES if c[0] not in ("random", "holdout")]:
        found = vectors.scores(kernel(X[18:], X[:18]), *choice)
        np.testing.assert_array_equal(found, direct.fast.scores(X[18:], *choice))
