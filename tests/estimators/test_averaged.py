"""AveragedPerceptronClassifier and the primal engine against the outline in Cohen's section 3.6, one step at a time.

Several classes are one against the rest, or joint as in Crammer & Singer (2003) and Collins (2002).
"""

import pickle
import tracemalloc
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_averaged
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from strategies import thorough

from votron import AveragedPerceptronClassifier, certify
from votron.engine import PrimalTrainer, presentation, primal

# -- the textbook -----------------------------------------------------------------------------------------------------


def textbook(X, codes, presentation, n_vectors, bias, margin=0.0, joint=False, row_weights=None):
    """Last vectors, sums of the vectors after each step, and mistakes; the bias weight comes last in a vector.

    ``margin`` may be an array by code: a row has that of its own.
    """
    v = [[0.0] * (X.shape[1] + 1) for _ in range(n_vectors)]
    sums = [[0.0] * (X.shape[1] + 1) for _ in range(n_vectors)]
    mistakes = [0] * n_vectors
    for row in presentation:
        x = [*X[row].astype(float).tolist(), 1.0 if bias else 0.0]
        limit = (margin if np.ndim(margin) == 0 else float(margin[codes[row]])) * reduce(
            add, [value * value for value in x]
        )
        scores = [score(v[c], x, n_parts=4 if n_vectors == 1 else 1) for c in range(n_vectors)]
        if joint and n_vectors > 1:
            own = codes[row]
            best = max((c for c in range(n_vectors) if c != own), key=lambda c: scores[c])  # the first among equals
            updates = [(own, 1), (best, -1)] if scores[own] - scores[best] <= limit else []
        else:
            signs = [1 if codes[row] == c else -1 for c in range(n_vectors)]
            updates = [(c, y) for c, y in enumerate(signs) if y * scores[c] <= limit]
        for c, y in updates:
            step = y if row_weights is None else y * row_weights[row]
            v[c] = [weight + step * value for weight, value in zip(v[c], x, strict=True)]
            mistakes[c] += 1
        for c in range(n_vectors):
            sums[c] = [total + weight for total, weight in zip(sums[c], v[c], strict=True)]
    return np.array(v), np.array(sums), mistakes


def score(weights, x, n_parts):
    """The sum over values other than 0, dealt out to four sums where there is one vector only; the bias comes last."""
    parts = [0.0] * n_parts
    terms = [weight * value for weight, value in zip(weights[:-1], x[:-1], strict=True) if value != 0]
    for k, term in enumerate(terms):
        parts[k % n_parts] += term
    total = (parts[0] + parts[1]) + (parts[2] + parts[3]) if n_parts == 4 else parts[0]
    return total + weights[-1] * x[-1]


FORMS = {
    "float64": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": lambda X: _read_only(X.copy()),
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csr, long indices": lambda X: _long_indices(sp.csr_matrix(X)),
    "csr, strided": lambda X: _strided(sp.csr_matrix(X)),
}
FOR_SINGLE = {
    "float32": lambda X: X.astype(np.float32),
    "csr float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
FOR_INTEGERS = {
    "csr, zeros written down": lambda X: _explicit_zeros(X),
    "int8": lambda X: X.astype(np.int8),
    "int64": lambda X: X.astype(np.int64),
    "csr int16": lambda X: sp.csr_matrix(X.astype(np.int16)),
    **FOR_SINGLE,
}
MARGINS = [0.0, 0.1, 0.5, 2, 1e300]


def _read_only(X):
    X.flags.writeable = False
    return X


def _long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _strided(X):
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    return X


def _explicit_zeros(X):
    n, d = X.shape
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=(n, d))


@st.composite
def problems(draw):
    """Data, codes, order and steps; values repeat, so that scores of exactly 0 and contradictions are common."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    n_vectors = draw(st.sampled_from([1, 1, 3, 4, 8, 9, 33, 70]))
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    numbers = draw(st.sampled_from(["integer", "single", "double"]))
    X = rng.randint(-2, 3, (n, d)).astype(float)
    if numbers != "integer":
        X *= rng.choice([1.0, 0.1, 1 / 3, 1e-3], (n, d))
    if numbers == "single":
        X = X.astype(np.float32).astype(float)
    codes = rng.randint(0, max(2, n_vectors), n)
    order = np.arange(n) if draw(st.booleans()) else rng.permutation(n)
    order = order[draw(st.integers(0, n - 1)) :]
    return X, codes, n_vectors, order, draw(st.integers(1, 5 * n)), numbers


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@thorough(60)
@given(
    problem=problems(),
    margin=st.sampled_from([*MARGINS, "by code"]),
    weights=st.sampled_from([None, None, [1.0], [0.25, 1.0, 3.5], [0.1, 1 / 3, 7.0, 1e-200]]),
    at_once=st.sampled_from([1, 7, 1 << 19]),
    kept=st.sampled_from([0, 200, 1 << 20]),
    n_threads=st.integers(1, 3),
    data=st.data(),
)
def test_as_the_textbook_to_the_last_bit(joint, bias, problem, margin, weights, at_once, kept, n_threads, data):
    X, codes, n_vectors, order, n_steps, numbers = problem
    rng = np.random.RandomState(data.draw(st.integers(0, 2**31)))
    if isinstance(margin, str):
        margin = rng.choice(MARGINS[:4], max(2, n_vectors))
    exact = numbers == "integer" and weights != [0.1, 1 / 3, 7.0, 1e-200]
    row_weights = None if weights is None else rng.choice(weights, len(X))
    forms = {**FORMS, **{"integer": FOR_INTEGERS, "single": FOR_SINGLE, "double": {}}[numbers]}
    form = data.draw(st.sampled_from([*forms]))
    presented = [order[t % len(order)] for t in range(n_steps)]
    v, sums, mistakes = textbook(X, codes, presented, n_vectors, bias, margin, joint, row_weights)
    trainer = PrimalTrainer(X.shape[1], n_vectors, bias=bias, margin=margin, joint=joint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presentation, "VALUES_AT_ONCE", at_once)
        patch.setattr(presentation, "KEPT_BYTES", kept)
        patch.setattr(primal, "WORTH_A_THREAD", 0)
        run = trainer.run(forms[form](X), codes, order, n_steps, weights=row_weights, n_threads=n_threads)
    assert run.steps == n_steps or (run.converged and run.steps % len(order) == 0)
    trainer.time = n_steps  # had it gone on, nothing would have changed
    last, intercept = trainer.last()
    assert np.array_equal(last, v[:, :-1])
    assert np.array_equal(intercept, v[:, -1])
    assert trainer.n_mistakes.tolist() == mistakes
    average, intercept = trainer.average()
    if exact:
        assert np.array_equal(average, sums[:, :-1] / n_steps)
        assert np.array_equal(intercept, sums[:, -1] / n_steps)
    else:
        assert np.allclose(average, sums[:, :-1] / n_steps, rtol=1e-12, atol=1e-12 * n_steps)


@thorough(40)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=6),
    n_classes=st.sampled_from([2, 3, 10]),
    seed=st.integers(0, 2**31),
    data=st.data(),
)
def test_batches_are_one_unshuffled_pass(cuts, n_classes, seed, data):
    rng = np.random.RandomState(seed)
    X, y = rng.randint(-9, 10, (60, 5)) / data.draw(st.sampled_from([1, 3, 7])), rng.permutation(60) % n_classes
    bounds = [0, *sorted(cuts), 60]
    params = {"margin": data.draw(st.sampled_from(MARGINS)), "multiclass": data.draw(st.sampled_from(["ovr", "joint"]))}
    stream = paper_averaged(n_jobs=1, **params)
    for low, high in pairwise(bounds):
        if low < high:
            form = FORMS[data.draw(st.sampled_from([*FORMS]))]
            stream.partial_fit(form(X[low:high]), y[low:high], classes=range(n_classes))
    whole = paper_averaged(epochs=1, shuffle=False, **params).fit(X, y)
    assert np.array_equal(stream.coef_, whole.coef_)
    assert np.array_equal(stream.intercept_, whole.intercept_)
    assert np.array_equal(stream.n_mistakes_, whole.n_mistakes_)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


# -- several classes at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_two_classes_are_the_same_either_way(digits, margin):
    X, y = digits[0] / 3, digits[1] % 2
    models = [paper_averaged(margin=margin, multiclass=how, random_state=0).fit(X, y) for how in ("ovr", "joint")]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert np.array_equal(models[0].n_mistakes_, models[1].n_mistakes_)
    assert certify(models[0], X, y, comparators=()).to_dict() == certify(models[1], X, y, comparators=()).to_dict()


def test_joint_vectors_add_up_to_nothing(digits):
    """What a class gains another loses; and what is learnt jointly to the end is right by more than τ ‖x‖²."""
    X, y = digits[0][:500], digits[1][:500]
    model = paper_averaged(epochs=None, average=False, margin=0.5, multiclass="joint", random_state=0)
    model.fit(X, y)
    assert model.converged_
    assert not model.coef_.sum(axis=0).any()
    assert model.n_mistakes_.sum() % 2 == 0
    scores = model.decision_function(X)
    own = scores[np.arange(500), y]
    scores[np.arange(500), y] = -np.inf
    assert (own - scores.max(axis=1) > 0.5 * ((X**2).sum(axis=1) + 1)).all()


# -- what training reports --------------------------------------------------------------------------------------------

SEPARABLE = np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 0.0], [4.0, 1.0]]), np.array(["a", "a", "b", "b"])
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def test_convergence_ends_training_but_not_the_average():
    X, y = SEPARABLE
    until = paper_averaged(epochs=None, shuffle=False).fit(X, y)
    assert until.converged_
    longer = paper_averaged(epochs=50, shuffle=False).fit(X, y)
    assert longer.n_epochs_ == until.n_epochs_
    _, sums, _ = textbook(X, (y == "a").astype(int), list(range(4)) * 50, 1, True)
    assert np.array_equal(longer.coef_, sums[:, :-1] / 200)
    assert np.array_equal(longer.intercept_, sums[:, -1] / 200)
    assert (longer.predict(X) == y).all()


def test_what_never_converges_is_given_up(monkeypatch):
    monkeypatch.setattr(AveragedPerceptronClassifier, "MAX_EPOCHS", 20)
    with pytest.warns(ConvergenceWarning, match="in each of 20 epochs.*give a number"):
        model = paper_averaged(epochs=None).fit(*XOR)
    assert model.n_epochs_ == 20
    assert not model.converged_


def test_a_fraction_of_an_epoch():
    X, y = XOR
    model = paper_averaged(epochs=1.5, shuffle=False).fit(X, y)
    _, sums, mistakes = textbook(X, 1 - y, [0, 1, 2, 3, 0, 1], 1, True)
    assert np.array_equal(model.coef_, sums[:, :-1] / 6)
    assert model.n_mistakes_.tolist() == mistakes
    assert model.n_epochs_ == 1.5


@pytest.mark.parametrize(
    ("n_classes", "how"), [(2, {}), (2, {"margin": 0.5}), (3, {"margin": 0.1, "multiclass": "joint"})]
)
def test_early_stopping_keeps_the_best_pass(n_classes, how):
    X, y = make_classification(300, 20, n_informative=5, n_classes=n_classes, flip_y=0.3, random_state=1)
    params = {"average": False, "early_stopping": True, "random_state": 0, **how}
    model = paper_averaged(epochs=60, **params).fit(X, y)
    scores = model.validation_scores_
    best = int(np.argmax(scores))
    assert len(scores) == model.n_epochs_ == best + 1 + model.PATIENCE < 60
    assert max(scores) > scores[-1]  # else nothing was chosen
    again = paper_averaged(epochs=best + 1, **params).fit(X, y)
    assert np.array_equal(again.coef_, model.coef_)
    assert again.validation_scores_ == scores[: best + 1]
    assert np.array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_the_held_out_part_is_not_trained_on(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = paper_averaged(epochs=None, early_stopping=True, validation_fraction=0.5, random_state=0)
    model.fit(X, y)
    assert 0.7 < max(model.validation_scores_) < 1  # the training data would all be right
    assert not hasattr(model.set_params(early_stopping=False, epochs=3).fit(X, y), "validation_scores_")


# -- the face ---------------------------------------------------------------------------------------------------------


def test_averages_belong_to_prediction(digits):
    model = paper_averaged(random_state=0).fit(*digits)
    average = model.coef_
    assert not np.array_equal(model.set_params(average=False).coef_, average)
    assert np.array_equal(model.coef_, paper_averaged(average=False, random_state=0).fit(*digits).coef_)
    assert np.array_equal(model.set_params(average=True).coef_, average)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_score_of_0_predicts_the_second_of_two_classes(n_classes):
    y = np.arange(6) % n_classes
    model = paper_averaged(fit_intercept=False).fit(np.eye(6), y)
    scores = model.decision_function(np.zeros((1, 6)))
    assert model.predict(np.zeros((1, 6))) == [1 if n_classes == 2 else 0]
    assert scores.shape == ((1,) if n_classes == 2 else (1, 3))
    assert (scores > 0).all() if n_classes == 2 else (scores == 0).all()


@pytest.mark.parametrize("average", [True, False])
def test_sparsify_and_densify(average):
    rng = np.random.RandomState(0)
    X = sp.random(200, 3000, density=0.002, random_state=rng, format="csr")
    y = rng.randint(0, 12, 200)
    model = paper_averaged(average=average, random_state=0).fit(X, y)
    coefficients, scores, size = model.coef_, model.decision_function(X), len(pickle.dumps(model))
    assert model.sparsify() is model
    assert np.array_equal(model.coef_.toarray(), coefficients)
    assert np.allclose(model.decision_function(X), scores)
    assert len(pickle.dumps(model)) < size / 5
    later = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    assert model.densify() is model
    assert np.array_equal(model.coef_, coefficients)
    assert np.array_equal(model.partial_fit(X, y).coef_, later.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["one pass", "unshuffled", "no room"])
def test_data_are_neither_copied_nor_changed(what, monkeypatch):
    """Beside the data two batches of 6 MB are at work, or none, where no rows are kept for later passes."""
    rng, n = np.random.RandomState(0), 40_000
    columns = np.tile(np.arange(0, 1000, 10), n) + rng.randint(0, 10, 100 * n)
    X = sp.csr_matrix((rng.rand(100 * n), columns, np.arange(0, 100 * n + 1, 100)), shape=(n, 1000))  # 48 MB
    y = rng.randint(0, 2, n)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    parameters = {"epochs": 1 if what == "one pass" else 3, "shuffle": what != "unshuffled", "random_state": 0}
    if what == "no room":
        monkeypatch.setattr(presentation, "available_memory", lambda: 0)
    paper_averaged(epochs=1).fit(X[:10], np.arange(10) % 2)  # compiles
    tracemalloc.start()
    try:
        paper_averaged(**parameters).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (8e6 if what == "unshuffled" else 20e6)
    for array, values in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert np.array_equal(array, values)


# -- bad input --------------------------------------------------------------------------------------------------------


def test_rows_of_zeros_are_left_out_without_a_bias():
    X, y = np.vstack([np.zeros((3, 2)), SEPARABLE[0]]), np.append(["b", "a", "b"], SEPARABLE[1])
    for form in (np.asarray, sp.csr_matrix, _explicit_zeros):
        with pytest.warns(UserWarning, match="3 of 7 rows"):
            model = paper_averaged(fit_intercept=False, epochs=2, shuffle=False).fit(form(X), y)
        plain = paper_averaged(fit_intercept=False, epochs=2, shuffle=False).fit(*SEPARABLE)
        assert np.array_equal(model.coef_, plain.coef_)
        with pytest.warns(UserWarning, match="1 of 1 rows"):
            model.partial_fit(form(np.zeros((1, 2))), ["a"])
        assert np.array_equal(model.coef_, plain.coef_)
