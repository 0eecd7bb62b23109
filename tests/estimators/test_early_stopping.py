"""Early stopping of the voted perceptron: moment and rule are those of brute force over all of them."""

import signal

import numpy as np
import pytest
from paper import paper_perceptron
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils import check_random_state

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, VotronError, certify, load, save
from votron.estimators._data import TrainingData
from votron.estimators._training import presentation

DIGITS = load_digits(return_X_y=True)
NOISY = make_classification(240, 6, n_informative=4, flip_y=0.3, random_state=1)
PATIENCE = VotedPerceptronClassifier.PATIENCE


def model(**params):
    return paper_perceptron(**{"random_state": 3, "validation_fraction": 0.25} | params)


def parts(X, y, fraction=0.25, seed=3):
    """The rows that are learnt, in their order, and those that are held out, drawn as fit draws them."""
    rng = check_random_state(seed)
    codes = np.unique(y, return_inverse=True)[1]
    codes = 1 - codes if codes.max() == 1 else codes
    data = TrainingData(X, codes, len(y), None, None, None)
    return presentation(model(validation_fraction=fraction), np.arange(len(y)), data, rng, hold_out=True)


def brute_force(X, y, rules, epochs, **params):
    """Fit for every moment and rule anew, look at the held-out part, and stop as the docstring says."""
    order, held_out = parts(X, y)
    n, n_steps = len(order), round(epochs * len(order))
    found = []
    for quarter in range(1, 4 * int(np.ceil(epochs)) + 1):
        steps = min(round(quarter * n / 4), n_steps)
        if found and steps == found[-1][0]:
            continue
        short = model(epochs=steps / n, shuffle=False, rule="last", **params).fit(X[order], y[order])
        scores = [short.with_rule(rule).score(X[held_out], y[held_out]) for rule in rules]
        found.append((steps, scores))
        best = max(range(len(found)), key=lambda i: (max(found[i][1]), -i))
        whole_pass = steps % n == 0 or steps == n_steps
        if whole_pass and np.ceil(steps / n) - np.ceil(found[best][0] / n) >= PATIENCE:
            break
    steps, scores = found[best]
    return steps, rules[int(np.argmax(scores))], [max(each) for _, each in found]


@pytest.mark.parametrize("data", ["digits", "noisy"])
@pytest.mark.parametrize("rule", ["vote", "average", "last", "pocket", "auto"])
@pytest.mark.parametrize("params", [{"kernel": "rbf", "gamma": 0.05, "margin": 0.5}, {"kernel": "linear"}])
def test_it_is_brute_force_over_moments_and_rules(data, rule, params):
    X, y = (DIGITS[0][:160], DIGITS[1][:160]) if data == "digits" else NOISY
    rules = VotedPerceptronClassifier.AUTO_RULES if rule == "auto" else (rule,)
    steps, chosen, scores = brute_force(X, y, rules, 6.5, **params)
    found = model(early_stopping=True, rule=rule, epochs=6.5, **params).fit(X, y)
    assert (found.record_.n_steps, found.rule_) == (steps, chosen)
    assert max(found.validation_scores_) == max(scores)
    assert len(found.validation_scores_) == len(found.validation_moments_) == len(scores)
    order, held_out = parts(X, y)
    short = model(epochs=steps / len(order), shuffle=False, rule=chosen, **params).fit(X[order], y[order])
    assert np.array_equal(short.decision_function(X), found.decision_function(X))
    assert found.score(X[held_out], y[held_out]) == max(scores)


def test_passes_after_convergence_count_as_if_they_were_run():
    X, y = DIGITS[0][:100], DIGITS[1][:100]
    steps, chosen, scores = brute_force(X, y, ("vote",), 40, kernel="poly", degree=4, gamma=1.0)
    found = model(early_stopping=True, epochs=40, degree=4, gamma=1.0).fit(X, y)
    assert (found.record_.n_steps, found.rule_, found.validation_scores_) == (steps, chosen, scores)


@pytest.mark.parametrize("rule", ["vote", "holdout", "auto"])
def test_files_compact_models_and_copies(tmp_path, rule):
    X, y = DIGITS[0][:200], DIGITS[1][:200]
    found = model(early_stopping=True, rule=rule, gamma=1.0).fit(X, y)
    save(found, tmp_path / "model.votron")
    opened = load(tmp_path / "model.votron")
    assert opened.rule_ == found.rule_
    assert opened.validation_scores_ == found.validation_scores_
    assert np.array_equal(opened.decision_function(X), found.decision_function(X))
    small = found.compact()
    assert np.array_equal(small.predict(X), found.predict(X))
    assert small.rule_ == found.rule_
    assert not hasattr(found.set_params(early_stopping=False, rule="vote").fit(X, y), "validation_scores_")


def test_a_rule_is_chosen_without_early_stopping_too():
    X, y = NOISY
    found = model(rule="auto", kernel="rbf", epochs=4).fit(X, y)
    order, held_out = parts(X, y)
    assert found.record_.n_examples == len(order)
    scores = {rule: found.with_rule(rule).score(X[held_out], y[held_out]) for rule in found.AUTO_RULES}
    assert found.rule_ == max(scores, key=scores.get)
    assert np.array_equal(found.predict(X), found.with_rule(found.rule_).predict(X))
    # and by data that are given
    trained = model(kernel="rbf", epochs=4).fit(X[::2], y[::2])
    chosen = trained.with_rule("auto", X_val=X[1::2], y_val=y[1::2])
    scores = {rule: trained.with_rule(rule).score(X[1::2], y[1::2]) for rule in found.AUTO_RULES}
    assert chosen.rule_ == max(scores, key=scores.get)
    streamed = model(rule="auto", gamma=1.0).partial_fit(X, y)
    with pytest.raises(VotronError, match="The rule 'auto' needs held-out data"):
        streamed.predict(X)
    assert not hasattr(streamed, "rule_")


def test_the_best_moment_by_data_that_are_given():
    X, y = NOISY
    trained = model(kernel="rbf", epochs=5, rule="last").fit(X[::2], y[::2])
    best = trained.with_best_moment(X[1::2], y[1::2])
    scores = {
        moment: float(np.mean(trained.classes_[(found["last"] >= 0).astype(int)] == y[1::2]))
        for moment, found in trained.staged_decision_function(X[1::2], at=np.arange(1, 21) / 4, rules=["last"])
    }
    assert best.record_.n_steps / best.record_.n_examples == max(scores, key=scores.get)
    assert best.score(X[1::2], y[1::2]) == max(scores.values())
    both = trained.with_best_moment(X[1::2], y[1::2], rule="auto")
    assert both.score(X[1::2], y[1::2]) >= best.score(X[1::2], y[1::2])
    assert trained.record_.n_steps == 5 * 120
    assert trained.with_best_moment(X[1::2], y[1::2], rule="holdout").rule_ == "holdout"


@pytest.mark.parametrize(
    "params", [{"early_stopping": True}, {"rule": "auto"}, {"early_stopping": True, "rule": "auto"}]
)
def test_certificates_say_that_held_out_data_chose(params):
    X, y = NOISY
    found = certify(model(gamma=1.0, **params).fit(X, y), X, y, comparators=())
    assert not any(bound.applies for bound in found.bounds if bound.kind == "guarantee")
    because = {each.because for bound in found.bounds for each in bound.assumptions}
    assert any("chosen by held-out rows" in each for each in because)


def test_holdout_ends_training_and_finds_its_own_moment():
    X, y = DIGITS[0][:300], DIGITS[1][:300]
    found = model(early_stopping=True, rule="holdout", epochs=50).fit(X, y)
    again = model(rule="holdout", epochs=found.n_epochs_).fit(X, y)
    assert np.array_equal(found.decision_function(X), again.decision_function(X))
    with pytest.raises(VotronError, match="'holdout' and 'auto' only"):
        found.with_rule("vote", X_val=X, y_val=y)


def test_ctrl_c_leaves_the_best_so_far():
    X, y = NOISY
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) == 30:
            signal.raise_signal(signal.SIGINT)
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    found = model(kernel=kernel, early_stopping=True, rule="auto", n_jobs=1, epochs=40)
    with pytest.raises(KeyboardInterrupt, match="the model has what it learnt until then"):
        found.fit(X, y)
    assert found.n_epochs_ < 40
    assert found.record_.n_steps <= found.n_epochs_ * found.record_.n_examples
    assert max(found.validation_scores_) == found.score(X[parts(X, y)[1]], y[parts(X, y)[1]])


@pytest.mark.parametrize(
    "params", [{"early_stopping": True}, {"early_stopping": True, "rule": "auto"}, {"rule": "auto"}]
)
def test_rows_of_weight_0_are_left_out(params):
    X, y = NOISY
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = weights > 0
    for precomputed in (False, True):
        rows = polynomial_kernel(X, degree=2) if precomputed else X
        more = {"kernel": "precomputed"} if precomputed else {"kernel": "rbf", "gamma": 0.1}
        few = rows[np.ix_(kept, kept)] if precomputed else rows[kept]
        whole = model(**params, **more).fit(rows, y, sample_weight=weights)
        part = model(**params, **more).fit(few, y[kept], sample_weight=weights[kept])
        assert (whole.record_.n_steps, whole.rule_) == (part.record_.n_steps, part.rule_)
        assert np.array_equal(whole.support_, np.flatnonzero(kept)[part.support_])
        tested = rows[:, kept] if precomputed else rows
        assert np.array_equal(whole.decision_function(rows), part.decision_function(tested))


@pytest.mark.parametrize("classifier", [VotedPerceptronClassifier(gamma=0.1), AveragedPerceptronClassifier()])
def test_further_training_drops_the_validation_scores(classifier):
    X, y = NOISY
    stopped = classifier.set_params(early_stopping=True, random_state=0).fit(X, y)
    assert stopped.validation_scores_
    stopped.partial_fit(X, y)
    assert not [name for name in vars(stopped) if name.startswith("validation_") and name.endswith("_")]
