"""The fast engine makes the record of the one-example-at-a-time algorithm, to the bit, on all data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    CALLABLE,
    CONTAINERS,
    FAMILIES,
    PLENTY,
    WAYS,
    How,
    Problem,
    contained,
    problems,
    scattered,
    tables,
    thorough,
    ways,
)

from votron.engine import DualTrainer
from votron.errors import IndefiniteKernelError, NotRepresentableError
from votron.kernels import (
    CallableKernel,
    ConjunctionKernel,
    GaussianKernel,
    LinearKernel,
    NormalizedKernel,
    PolynomialKernel,
    PrecomputedKernel,
)
from votron.products import DenseProducts, PanelProducts
from votron.record import MistakeRecord


def assert_equal(record: MistakeRecord, expected: MistakeRecord) -> None:
    """Bit for bit; the first difference in words if there is one."""
    for name in ("time", "vector", "example", "sign", "score", "norm2"):
        mine, theirs = getattr(record, name), getattr(expected, name)
        k = min(len(mine), len(theirs))
        differ = np.flatnonzero(mine[:k] != theirs[:k])
        assert not len(differ), (
            f"{name} of mistake {differ[0]}: {mine[differ[0]]!r}, the textbook has {theirs[differ[0]]!r}"
        )
    assert len(record) == len(expected)
    assert record.equals(expected)
    assert record.digest() == expected.digest()


# -- integers: bit for bit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", sorted(FAMILIES))
@thorough(40)
@given(data=st.data())
def test_blocked_training_is_the_textbook(family, data):
    """With weights a mistake adds weight times the row; and a row's margin may be that of its class."""
    problem = data.draw(problems(family, weights=data.draw(st.booleans())))
    expected = problem.textbook()
    assert_equal(problem.train(data.draw(ways)), expected)
    assert_equal(problem.train(data.draw(ways)), expected)


@thorough(40)
@given(problems(weights=True), ways, ways, st.integers(1, 100))
def test_weighted_training_goes_on_from_its_record(problem, how, other, first_steps):
    """In two runs as in one, whether the weights come with the first, the second or both."""
    X, order, ids = problem.X[problem.order], np.arange(len(problem.order)), problem.order
    if isinstance(getattr(problem.kernel, "base", problem.kernel), PrecomputedKernel):
        return
    cut = min(first_steps, len(order))
    for weights in (problem.weights, np.where(np.arange(len(problem.codes)) <= ids[cut - 1], 1.0, problem.weights)):
        whole = replace(problem, weights=weights, n_steps=len(order)).textbook()
        trainer = DualTrainer(problem.kernel, problem.n_vectors, problem.margin)
        parts = [(np.arange(cut), how), (np.arange(cut, len(order)), other)]
        for part, way in parts:
            if not len(part):
                continue
            with way.in_force():
                w = weights[ids[part]]
                trainer.run(
                    X[part], problem.codes[ids[part]], np.arange(len(part)), len(part), ids=ids[part],
                    weights=None if (w == 1).all() else w, memory=way.memory, block_size=way.block_size,
                )  # fmt: skip
            record = trainer.record(len(order))
            trainer = DualTrainer.resume(problem.kernel, problem.margin, record, trainer.support_rows)
        assert_equal(trainer.record(len(order), len(order)), whole)


@thorough(25)
@given(problems(max_rows=230, max_epochs=2, margins=False), ways, st.sampled_from([64, 65, 200]), st.integers(1, 3))
def test_blocked_training_is_the_textbook_with_wide_blocks(problem, how, block_size, n_threads):
    how = replace(how, block_size=block_size, n_threads=n_threads, worth_a_thread=0)
    assert_equal(problem.train(how), problem.textbook())


BIG_PROBLEMS = {
    "bytes poly 4": ("bytes", PolynomialKernel(4), 1),
    "bytes poly 6": ("bytes", PolynomialKernel(6), 3),
    "bytes linear": ("bytes", LinearKernel(), 3),
    "small rbf": ("small", GaussianKernel(0.02), 3),
    "bits conjunction": ("bits", ConjunctionKernel(), 3),
    "int16 poly 3": ("int16", PolynomialKernel(3), 1),
    "wide poly 2": ("wide", PolynomialKernel(2), 1),
    "bytes normalized poly 3": ("bytes", NormalizedKernel(PolynomialKernel(3)), 3),
    "small callable": ("small", CALLABLE, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG_PROBLEMS)
def test_many_distinct_rows_in_every_way(name):
    """Rows enough that several threads share a block, and mistakes again and again, so that the cache fills."""
    kind, kernel, n_vectors = BIG_PROBLEMS[name]
    X, codes = scattered(140, 11, kind, n_classes=max(2, n_vectors), seed=1)
    problem = Problem(
        kernel, contained(X, CONTAINERS[kind][1]), codes, n_steps=round(2.6 * len(X)), n_vectors=n_vectors
    )
    expected = problem.textbook()
    assert len(expected) > 60
    assert len(expected.support) < len(expected)
    for form in ("int64", "csr float64"):
        for how in WAYS:
            assert_equal(problem.held_in(form).train(how), expected)


@thorough(40)
@given(st.data(), ways)
def test_the_form_of_the_data_does_not_matter(data, how):
    problem = data.draw(problems("poly"))
    kinds = [kind for kind, forms in CONTAINERS.items() if kind != "bits" or oracle.dense(problem.X).max() <= 1]
    values = oracle.dense(problem.X).astype(np.int64)
    fits = [
        f
        for kind in kinds
        for f in CONTAINERS[kind]
        if np.array_equal(oracle.dense(contained(values, f)).astype(np.int64), values)
    ]
    expected = replace(problem, X=values).train(how)
    for form in data.draw(st.lists(st.sampled_from(sorted(set(fits))), min_size=2, max_size=3, unique=True)):
        assert_equal(replace(problem, X=contained(values, form)).train(how), expected)
    assert_equal(replace(problem, X=np.asfortranarray(values)).train(how), expected)
    assert_equal(replace(problem, X=np.repeat(values, 2, axis=0)[::2, ::-1][:, ::-1]).train(how), expected)


def test_wide_sparse_rows_in_blocks_of_the_engine_s_own_choice():
    """More than 4096 features, few of them in a block: blocks are smaller then, and the last one is narrower."""
    rng = np.random.default_rng(6)
    columns = rng.choice(9001, 300, replace=False)
    X = np.zeros((300, 9001), dtype=np.int16)
    X[:, columns] = rng.integers(-3, 4, (300, 300)) * (rng.random((300, 300)) < 0.05)
    codes = (X[:, columns] @ rng.normal(size=300) > 0).astype(np.int64)
    problem = Problem(PolynomialKernel(2), sp.csr_matrix(X), codes, n_steps=700)
    narrow = replace(problem, X=X[:, np.sort(columns)])
    gram = problem.kernel(narrow.X).tolist()
    expected = oracle.perceptron(lambda i, j: gram[i][j], np.diagonal(gram), codes, oracle.present(range(300), 700))
    for how in (How(None), How(None, 2, PLENTY, worth_a_thread=0, at_once=True)):
        assert_equal(problem.train(how), expected)
        assert_equal(narrow.train(how), expected)


# -- what a run is ----------------------------------------------------------------------------------------------------


@thorough(30)
@given(problems(max_rows=25), ways)
def test_several_classes_are_independent_runs(problem, how):
    n_classes = int(problem.codes.max()) + 1
    problem = replace(problem, n_vectors=max(3, n_classes))
    together = problem.train(how)
    for c in range(problem.n_vectors):
        alone = replace(problem, n_vectors=1, codes=(problem.codes != c).astype(np.int64)).train(how)
        mine = together.vector == c
        for name in ("example", "sign", "time", "score", "norm2"):
            np.testing.assert_array_equal(getattr(together, name)[mine], getattr(alone, name))


@thorough(30)
@given(problems(max_rows=25), ways, st.data())
def test_a_shorter_run_is_a_beginning_of_a_longer_one(problem, how, data):
    n = data.draw(st.integers(1, problem.n_steps))
    assert_equal(replace(problem, n_steps=n).train(how), problem.train(how).until(n))


@thorough(40)
@given(problems(max_rows=20, max_epochs=12), ways)
def test_training_ends_after_a_clean_pass_and_not_before(problem, how):
    expected, m = problem.textbook(), len(problem.order)
    last = int(expected.time[-1])
    run, trainer = problem.run(how)
    first_clean_end = -(-last // m) * m + m
    assert run.steps == trainer.time == min(problem.n_steps, first_clean_end)
    assert run.converged == (run.steps - last >= m)
    assert not run.interrupted
    assert trainer.n_mistakes == len(expected)
    assert trainer.n_support == len(expected.support)
    np.testing.assert_array_equal(
        trainer.norm2, [expected.norm2[expected.vector == c][-1] for c in range(problem.n_vectors)]
    )


@thorough(30)
@given(problems("poly", max_rows=25), ways, ways, st.booleans())
def test_going_on_is_one_long_presentation(problem, how, later, resume):
    """Two runs, by one trainer or by one that resumes from the record, are the concatenated presentation."""
    n, m = problem.X.shape[0], len(problem.order)
    _, trainer = problem.run(how)
    trainer.time = problem.n_steps
    if resume:
        record = trainer.record(m, problem.n_steps)
        trainer = DualTrainer.resume(problem.kernel, problem.margin, record, trainer.support_rows)
    with later.in_force():
        trainer.run(
            problem.X, problem.codes, problem.order, 2 * m, ids=np.arange(n) + 1000,
            n_threads=later.n_threads, memory=later.memory, block_size=later.block_size,
        )  # fmt: skip
    twice = np.concatenate([np.arange(n), np.arange(n)])
    K = oracle.pairs(problem.kernel, problem.X)
    presentation = oracle.present(problem.order, problem.n_steps) + oracle.present(problem.order + n, 2 * m)
    expected = oracle.perceptron(
        lambda i, j: K(twice[i], twice[j]),
        problem.kernel.diag(problem.X)[twice],
        problem.codes[twice],
        presentation,
        n_vectors=problem.n_vectors,
        margin=problem.margin,
        names=np.concatenate([np.arange(n), np.arange(n) + 1000]),
        n_examples=m,
    )
    assert_equal(trainer.record(m, len(presentation)), expected)
    rows = oracle.dense(trainer.support_rows)
    np.testing.assert_array_equal(rows, oracle.dense(problem.X)[expected.support % 1000])


class _StopAfter:
    def __init__(self, n_blocks):
        self.left, self.heard = n_blocks, []

    def update(self, step, epoch, mistakes):
        self.heard.append((step, epoch, mistakes))

    def should_stop(self):
        self.left -= 1
        return self.left == 0


@pytest.mark.parametrize("n_blocks", [1, 3, 4, 7])
def test_a_watcher_hears_and_stops(n_blocks):
    X, codes = scattered(32, 5, seed=2)
    problem = Problem(PolynomialKernel(2), X, codes, n_steps=96)
    whole = problem.textbook()
    watcher, trainer = _StopAfter(n_blocks), DualTrainer(problem.kernel, 1)
    run = trainer.run(X, codes, np.arange(32), 96, block_size=10, watcher=watcher)
    steps = [10, 20, 30, 32, 42, 52, 62, 64][:n_blocks]
    assert run.interrupted
    assert run.steps == steps[-1]
    assert watcher.heard == [(s, 1 if s <= 32 else 2, int((whole.time <= s).sum())) for s in steps]
    assert_equal(trainer.record(32), whole.until(steps[-1]))


# -- dual and primal --------------------------------------------------------------------------------------------------


def _primal(phi, weights, y, presentation):
    """The perceptron on explicit integer features: time, score and squared norm of each mistake, all integers."""
    v, found = [0] * len(weights), []
    for t, i in enumerate(presentation, start=1):
        score = sum(w * a * b for w, a, b in zip(weights, v, phi[i], strict=True))
        if y[i] * score <= 0:
            v = [a + y[i] * b for a, b in zip(v, phi[i], strict=True)]
            found.append((t, score, sum(w * a * a for w, a in zip(weights, v, strict=True))))
    return found


@thorough(40)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1), ways)
def test_dual_with_a_polynomial_kernel_is_primal_on_its_monomials(degree, d, seed, how):
    """All monomials with their multinomial coefficients as weights: integers throughout, so the two agree exactly."""
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(-3, 4, (24, d)), rng.integers(0, 2, 24)
    kernel = PolynomialKernel(degree)
    monomials, weights = zip(*oracle.monomials(d, degree), strict=True)
    phi = [[math.prod(row[k] for k in chosen) for chosen in monomials] for row in X.tolist()]
    problem = Problem(kernel, X, codes, n_steps=60)
    record = problem.train(how)
    expected = _primal(phi, weights, 1 - 2 * codes, oracle.present(problem.order, 60))
    assert list(zip(record.time.tolist(), record.score.tolist(), record.norm2.tolist(), strict=True)) == expected


@thorough(30)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), ways, ways)
def test_dual_with_the_conjunction_kernel_is_primal_on_all_conjunctions(d, seed, how, other):
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(0, 2, (30, d)), rng.integers(0, 3, 30)
    problem = Problem(ConjunctionKernel(), X, codes, n_steps=75, n_vectors=3)
    record = problem.train(how)
    phi = oracle.conjunctions(X)
    assert_equal(replace(problem, kernel=LinearKernel(), X=phi).train(other), record)
    for c in range(3):
        expected = _primal(phi.tolist(), [1] * 2**d, np.where(codes == c, 1, -1), oracle.present(range(30), 75))
        mine = record.vector == c
        found = zip(record.time[mine].tolist(), record.score[mine].tolist(), record.norm2[mine].tolist(), strict=True)
        assert list(found) == expected


# -- real numbers -----------------------------------------------------------------------------------------------------


def reals(n, d, density, dtype, seed, *, grid=False):
    """Real rows, some of them twice; on a grid of tenths many scores are ties but for rounding."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, (n, d)) / 10 if grid else rng.normal(size=(n, d))
    X = (X * (rng.random((n, d)) < density)).astype(dtype)
    X[~X.any(axis=1), 0] = 0.7
    X[n // 2 : n // 2 + 5] = X[:5]
    return X, rng.integers(0, 2, n)


REAL_KERNELS = {
    "linear": LinearKernel(),
    "poly": PolynomialKernel(3, 0.5, 1.0),
    "rbf": GaussianKernel(0.3),
    "normalized": NormalizedKernel(PolynomialKernel(2, 1.0, 0.2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", REAL_KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("density", "products"), [(0.2, PanelProducts), (0.9, DenseProducts)])
@thorough(8)
@given(seed=st.integers(0, 2**32 - 1), grid=st.booleans(), margin=st.sampled_from([0.0, 0.5]), how=ways, other=ways)
def test_real_data_have_one_record_too(kernel, dtype, density, products, seed, grid, margin, how, other):
    """The same bits dense or CSR, whatever the blocks, the cache and the threads; and those of K(X, X), added up."""
    X, codes = reals(70, 12, density, dtype, seed, grid=grid)
    problem = Problem(REAL_KERNELS[kernel], X, codes, n_steps=170, margin=margin)
    assert type(problem.kernel.products_for(X)) is products
    gram, diagonal = problem.kernel(X).tolist(), problem.kernel.diag(X)
    expected = oracle.perceptron(
        lambda i, j: gram[i][j], diagonal, codes, oracle.present(range(70), 170), margin=margin
    )
    assert_equal(problem.train(how), expected)
    assert_equal(replace(problem, X=sp.csr_matrix(X)).train(other), expected)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_data_one_pair_at_a_time(dtype):
    """The textbook with 1×1 kernel evaluations, as for integers."""
    X, codes = reals(60, 10, 0.5, dtype, 4)
    for kernel in REAL_KERNELS.values():
        problem = Problem(kernel, X, codes, n_steps=130)
        K = oracle.pairs(kernel, X)
        expected = oracle.perceptron(K, kernel.diag(X), codes, oracle.present(range(60), 130))
        for how in WAYS:
            assert_equal(problem.train(how), expected)


# -- what cannot be learnt --------------------------------------------------------------------------------------------


def test_kernel_values_beyond_float64_are_refused():
    X = np.array([[1e30, 0.0], [0.0, 1.0]])
    with pytest.raises(NotRepresentableError, match="exceeds the largest float64"):
        DualTrainer(PolynomialKernel(6), 1).run(X, np.array([0, 1]), np.arange(2), 2)
    X = np.array([[0.9 * 2.0**85], [-(2.0**85)]] * 5)  # K is up to 2^1020: the values fit, sums of them do not
    with pytest.raises(NotRepresentableError, match="Sums of"):
        DualTrainer(PolynomialKernel(6, 1.0, 0.0), 1).run(X, np.arange(10) % 2, np.arange(10), 100)


def test_a_function_that_is_no_kernel_is_refused():
    X, codes = scattered(40, 5, seed=0)

    def indefinite(A, B):
        return -np.asarray(A, dtype=np.float64) @ np.asarray(B, dtype=np.float64).T + 5.0 * (A[:, None] == B[None]).all(
            axis=2
        )

    with pytest.raises(IndefiniteKernelError, match="not positive semi-definite"):
        DualTrainer(CallableKernel(indefinite), 1).run(X, codes, np.arange(40), 200)


@thorough(60)
@given(tables(max_distinct=6), st.integers(3, 6), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4, 5]))
def test_cancelled_vectors_are_no_sign_of_an_indefinite_kernel(table, degree, seed, block_size):
    """Rows that come again with the other label leave a vector of rounding errors, whose ‖v‖² may be below 0."""
    _, rows = table
    rng = np.random.default_rng(seed)
    X = np.concatenate([rows, rows, np.zeros_like(rows[:1])])
    codes = np.concatenate([half := rng.integers(0, 2, len(rows)), 1 - half, [0]])
    problem = Problem(PolynomialKernel(degree), X, codes, n_steps=3 * len(X))
    assert_equal(problem.train(How(block_size)), problem.textbook())
