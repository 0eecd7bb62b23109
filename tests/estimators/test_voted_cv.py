"""The voted perceptron by cross-validation: its table is that of plain fits, its grids go on, its time is kept to."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_classification, make_moons
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import thorough

from votron import (
    KernelAdatronClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    VotronError,
    certify,
    load,
    save,
)
from votron.estimators._search import LIMITS, Setting, beyond, steady_scores
from votron.estimators._training import OutOfTime

IRIS = load_iris(return_X_y=True)
NOISY = make_classification(300, 8, n_informative=4, flip_y=0.2, random_state=0)
FEW = {"kernels": ["rbf"], "gammas": [0.1, 1.0], "margins": [0.0, 1.0], "epochs": 4, "cv": 3, "random_state": 0}


@pytest.fixture
def fits(monkeypatch):
    """A list that grows with each fit."""
    fit, made = VotedPerceptronClassifier.fit, []

    def counted(self, *args, **more):
        made.append(self)
        return fit(self, *args, **more)

    monkeypatch.setattr(VotedPerceptronClassifier, "fit", counted)
    return made


def test_the_table_is_that_of_plain_cross_validation():
    X, y = IRIS
    model = VotedPerceptronClassifierCV(**FEW).fit(X, y)
    results = model.cv_results_
    assert len(results["params"]) == 4
    seed = model.best_estimator_.random_state
    for k, params in enumerate(results["params"]):
        plain = VotedPerceptronClassifier(**params, random_state=seed)
        scores = cross_val_score(plain, X, y, cv=StratifiedKFold(3))
        assert [results[f"split{i}_test_score"][k] for i in range(3)] == pytest.approx(scores)
        assert results["mean_test_score"][k] == pytest.approx(scores.mean())
    best = VotedPerceptronClassifier(**model.best_params_, random_state=seed)
    for rule, table in model.scores_.items():
        for moment, column in zip(model.moments_, table.T, strict=True):
            other = best.set_params(epochs=moment, rule=rule)
            assert cross_val_score(other, X, y, cv=StratifiedKFold(3)) == pytest.approx(column)
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert results["params"][model.best_index_] == model.best_params_
    again = VotedPerceptronClassifier(**model.best_params_, random_state=seed).fit(X, y)
    assert again.record_.equals(model.best_estimator_.record_)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))


def test_the_result_does_not_depend_on_threads_or_form():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    params = {"kernels": ["poly"], "degrees": [2, 3], "margins": [0.0, 0.5], "cv": 3, "random_state": 1}
    one = VotedPerceptronClassifierCV(n_jobs=1, **params).fit(X, y)
    two = VotedPerceptronClassifierCV(n_jobs=2, **params).fit(sp.csr_matrix(X), y)
    assert one.best_params_ == two.best_params_
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert one.best_estimator_.record_.equals(two.best_estimator_.record_)


def test_grids_go_on_where_the_best_is_at_their_edge():
    X, y = make_moons(400, noise=0.05, random_state=0)
    X = 0.02 * np.hstack([X, np.random.default_rng(0).normal(size=(400, 1)) * 50])  # the scale is that of the noise
    model = VotedPerceptronClassifierCV(kernels=["rbf"], margins=[0.0], cv=3, random_state=0).fit(X, y)
    gammas = sorted(set(model.cv_results_["param_gamma"]))
    assert len(gammas) > 3
    assert np.allclose(np.diff(np.log(gammas)), np.log(4))
    assert gammas[0] < model.best_params_["gamma"] < gammas[-1] or len(gammas) == 11
    noisy = VotedPerceptronClassifierCV(kernels=["rbf"], gammas=["scale"], cv=3, random_state=0).fit(*NOISY)
    margins = sorted(set(noisy.cv_results_["param_margin"]))
    assert noisy.best_params_["margin"] < margins[-1] or margins[-1] == LIMITS["margin"][1]
    assert len({*noisy.cv_results_["param_gamma"]}) == 1  # what was given stays as it was given


def test_margins_degrees_and_epochs_go_on():
    def found(best, moment, others=(), given=()):
        tried = [Setting({"kernel": "poly", **params}, 32.0) for params in (*others, best)]
        return [(each.params, each.epochs) for each in beyond(tried[-1], moment, tried, given, 1.0)]

    poly = {"kernel": "poly"}
    assert found({"degree": 4, "margin": 0.5}, 32, [{"degree": 2, "margin": 0.0}]) == [
        (poly | {"degree": 4, "margin": 2.0}, 32),
        (poly | {"degree": 5, "margin": 0.5}, 32),
        (poly | {"degree": 4, "margin": 0.5}, 128),
    ]
    assert found({"degree": 4}, 32, given=[*LIMITS, "epochs"]) == []
    assert found({"degree": 4}, 24, [{"degree": 2}, {"degree": 5}]) == []
    assert found({"gamma": 0.25, "margin": {"a": 1.0}}, 1) == [
        (poly | {"gamma": gamma, "margin": {"a": 1.0}}, 32) for gamma in (1.0, 0.0625)
    ]


def test_halving_goes_on_with_the_best_third():
    X, y = make_classification(3000, 6, n_informative=4, flip_y=0.1, random_state=0)
    gammas, margins = [0.01, 0.1, 1.0], [0.0, 0.5, 1.0, 2.0]
    params = {"kernels": ["rbf"], "gammas": gammas, "margins": margins, "epochs": 2, "cv": 2, "random_state": 0}
    model = VotedPerceptronClassifierCV(**params).fit(X, y)
    results = pd.DataFrame(model.cv_results_)
    assert sorted(set(results["n_resources"])) == [500, 1500]
    assert np.bincount(results["iter"]).tolist() == [12, 4]
    first = results[results["iter"] == 0].sort_values("steady_test_score", ascending=False)
    last = results[results["iter"] == 1]
    setting = ["param_gamma", "param_margin"]
    assert set(map(tuple, last[setting].values)) == set(map(tuple, first[setting].values[:4]))
    assert results["iter"][model.best_index_] == results["rank_test_score"][model.best_index_] == 1
    whole = VotedPerceptronClassifierCV(**params, halving=False).fit(X, y)
    assert set(whole.cv_results_["n_resources"]) == {1500}
    on_all = dict(zip(map(str, whole.cv_results_["params"]), whole.cv_results_["mean_test_score"], strict=True))
    shared = last[last["params"].map(str).isin(on_all)]
    assert len(shared) >= 3  # the best moment depends on the neighbours as well
    assert all(shared["mean_test_score"] == shared["params"].map(str).map(on_all))


def test_large_data_are_drawn_from():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    y = np.repeat(["a", "b", "c"], [600, 394, 6]).astype(object)
    model = VotedPerceptronClassifierCV(**{**FEW, "cv": 5}, max_rows=100).fit(X, y)
    assert set(model.cv_results_["n_resources"]) == {80}
    assert model.best_estimator_.record_.n_examples == 1000
    assert model.scores_["vote"].shape[0] == model.n_splits_ == 5


def test_without_refit_there_is_no_model():
    model = VotedPerceptronClassifierCV(**FEW, refit=False).fit(*IRIS)
    assert model.best_params_ == VotedPerceptronClassifierCV(**FEW).fit(*IRIS).best_params_
    with pytest.raises(VotronError, match="refit=False"):
        model.predict(IRIS[0])


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy"])
def test_scorers_by_name(scoring):
    X, y = NOISY
    model = VotedPerceptronClassifierCV(**FEW, scoring=scoring).fit(X, y)
    plain = VotedPerceptronClassifier(**model.best_params_, random_state=model.best_estimator_.random_state)
    expected = cross_val_score(plain, X, y, cv=StratifiedKFold(3), scoring=scoring).mean()
    assert model.best_score_ == pytest.approx(expected)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", get_scorer("neg_brier_score")])
def test_what_needs_probabilities_is_refused_before_the_first_fit(scoring, monkeypatch):
    fitted = []
    monkeypatch.setattr(VotedPerceptronClassifier, "fit", lambda *args, **more: fitted.append(1))
    with pytest.raises(VotronError, match="probabilities"):
        VotedPerceptronClassifierCV(**FEW, scoring=scoring).fit(*NOISY)
    assert not fitted


def right(model, X, y):
    return float(np.mean(model.predict(X) == y))


def weighted(model, X, y, sample_weight=None):
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def test_scorers_get_weights_if_they_take_them():
    X, y = make_classification(200, 5, weights=[0.8], flip_y=0.2, random_state=0)
    found = {}
    scorers = {"function": right, "metric": make_scorer(lambda y, p: np.mean(y == p)), "weighted": weighted}
    for name, scoring in {**scorers, "accuracy": None}.items():
        model = VotedPerceptronClassifierCV(**FEW, class_weight="balanced", scoring=scoring).fit(X, y)
        found[name] = [model.cv_results_["mean_test_score"].tolist(), model.best_score_]
    assert found["function"] == found["metric"]
    assert found["weighted"] == found["accuracy"] != found["function"]


def test_settings_whose_score_is_nan_come_last():
    X, y = IRIS

    def some(model, X, y):
        share = right(model, X, y)
        return share if share < 0.95 else float("nan")

    def none(model, X, y):
        return float("nan")

    model = VotedPerceptronClassifierCV(**{**FEW, "gammas": [1e-4, 1.0]}, scoring=some).fit(X, y)
    scores, ranks = model.cv_results_["mean_test_score"], model.cv_results_["rank_test_score"]
    assert np.isfinite(model.best_score_)
    assert np.isnan(scores).any()
    assert ranks[model.best_index_] < ranks[np.isfinite(scores)].max() + 1 == ranks[np.isnan(scores)].min()
    with pytest.raises(VotronError, match="No setting could be scored: the score of each is NaN"):
        model.set_params(scoring=none).fit(X, y)


# -- which is best ----------------------------------------------------------------------------------------------------


@given(scores=st.lists(st.floats(-1, 1), min_size=3, max_size=8))
@thorough(50)
@pytest.mark.parametrize("name", ["epochs", "gamma", "margin", "degree"])
def test_a_steady_score_is_half_its_own_and_a_quarter_of_each_neighbours(name, scores):
    params = [{name: 2.0**k, "rule": "vote"} for k in range(len(scores))]
    padded = [scores[0], *scores, scores[-1]]
    expected = np.convolve(padded, [0.25, 0.5, 0.25], "valid")
    assert steady_scores(params, scores, [0] * len(scores)) == pytest.approx(expected)
    apart = [params[0], params[1] | {"rule": "last"}, *params[2:]]
    assert steady_scores(apart, scores, [0] * len(scores))[1] == scores[1]


# -- time and refusals ------------------------------------------------------------------------------------------------


def test_the_training_at_the_end_is_complete_when_time_is_over():
    X, y = make_classification(600, 20, flip_y=0.3, random_state=0)
    model = VotedPerceptronClassifierCV(time_limit=1e-6, epochs=40, random_state=0)
    with pytest.warns(UserWarning, match="ended the search"):
        model.fit(X, y)
    again = VotedPerceptronClassifier(**model.best_params_, random_state=model.best_estimator_.random_state).fit(X, y)
    assert model.best_estimator_.n_epochs_ == model.best_params_["epochs"]
    assert model.best_estimator_.record_.equals(again.record_)
    assert model.stopped_ == "out of time"


def test_time_for_the_training_at_the_end_is_kept_free(fits, monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 10.0 * len(fits))
    monkeypatch.setattr(time, "perf_counter", lambda: 10.0 * len(fits))  # each fit takes ten seconds
    for refit, n_settings in ((True, 2), (False, 3)):  # it is expected to take 1.2 * 10 * 1.5² = 27 seconds
        fits.clear()
        with pytest.warns(UserWarning, match=f"The time limit of 98 s ended the search after {n_settings} settings"):
            VotedPerceptronClassifierCV(**FEW, time_limit=98, refit=refit).fit(*NOISY)


def test_certificates_say_that_the_data_chose_the_parameters(tmp_path):
    X, y = IRIS
    best = VotedPerceptronClassifierCV(**FEW).fit(X, y).best_estimator_
    save(best, tmp_path / "best.votron")
    for each in (best, load(tmp_path / "best.votron")):
        found = certify(each, X, y, comparators=())
        assert not any(bound.applies for bound in found.bounds if bound.kind == "guarantee")
        assert "chosen by cross-validation" in str(found)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernels": ["precomputed"]}, "'kernels'"),
        ({"kernels": []}, "'kernels'"),
        ({"rules": ["holdout"]}, "'rules'"),
        ({"gammas": ["scales"]}, "'gammas'"),
        ({"margins": [-1.0]}, "'margin'"),
    ],
)
def test_refusals(params, words):
    with pytest.raises(ValueError, match=words):
        VotedPerceptronClassifierCV(**{**FEW, **params}).fit(*IRIS)


def test_settings_that_cannot_be_fitted_are_left_out():
    X, y = IRIS
    X = 1e60 * X
    model = VotedPerceptronClassifierCV(**{**FEW, "kernels": ["poly", "rbf"], "degrees": [6], "gammas": [1.0]})
    model.fit(X, y)
    assert {params["kernel"] for params, _ in model.skipped_} == {"poly"}
    assert model.best_params_["kernel"] == "rbf"
    with pytest.raises(VotronError, match="No setting could be fitted"):
        model.set_params(kernels=["poly"]).fit(X, y)


# -- weights ----------------------------------------------------------------------------------------------------------


def test_weights_count_in_fits_and_scores():
    X, y = NOISY
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = VotedPerceptronClassifierCV(**FEW, class_weight={1: 2.0}).fit(X, y, sample_weight=weight)
    kept = weight > 0
    X_kept, y_kept, w_kept = X[kept], y[kept], weight[kept]
    seed, scores = model.best_estimator_.random_state, []
    for train, test in StratifiedKFold(3).split(X_kept, y_kept):
        plain = VotedPerceptronClassifier(**model.best_params_, class_weight={1: 2.0}, random_state=seed)
        right = plain.fit(X_kept[train], y_kept[train], w_kept[train]).predict(X_kept[test]) == y_kept[test]
        scores.append(np.average(right, weights=w_kept[test] * np.where(y_kept[test] == 1, 2.0, 1.0)))
    assert model.best_score_ == pytest.approx(np.mean(scores))


def test_rows_of_weight_0_are_left_out():
    X, y = NOISY
    weight = np.ones(len(y))
    weight[::4] = 0
    splits = list(StratifiedKFold(3).split(X, y))
    of_kept = np.cumsum(weight > 0) - 1
    inner = [tuple(of_kept[part[weight[part] > 0]] for part in pair) for pair in splits]
    for cv, cv_kept in ((3, 3), (splits, inner)):
        model = VotedPerceptronClassifierCV(**{**FEW, "cv": cv}).fit(X, y, weight)
        without = VotedPerceptronClassifierCV(**{**FEW, "cv": cv_kept}).fit(X[weight > 0], y[weight > 0])
        assert model.best_params_ == without.best_params_
        assert np.array_equal(model.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])
        assert np.array_equal(model.decision_function(X), without.decision_function(X))


# -- files, rules and ends --------------------------------------------------------------------------------------------


def test_a_file_holds_the_best(tmp_path):
    X, y = IRIS
    model = VotedPerceptronClassifierCV(**FEW).fit(X, y)
    path = tmp_path / "search.votron"
    model.save(path)
    opened = load(path)
    assert type(opened) is VotedPerceptronClassifier
    assert np.array_equal(opened.decision_function(X), model.decision_function(X))
    assert opened.history_.n_settings == model.n_settings_ == 4
    save(make_pipeline(StandardScaler().fit(X), model), path)
    assert type(load(path)[-1]) is VotedPerceptronClassifier


def test_a_search_goes_on_where_it_ended(tmp_path, fits, monkeypatch):
    X, y = IRIS
    whole, counted = VotedPerceptronClassifierCV(**FEW).fit(X, y), VotedPerceptronClassifier.fit

    def interrupted(self, *args, **more):
        found = counted(self, *args, **more)
        if len(fits) == 13 + 6:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(VotedPerceptronClassifier, "fit", interrupted)
    model = VotedPerceptronClassifierCV(**FEW, resume=tmp_path)
    with pytest.raises(KeyboardInterrupt, match="after 1 setting; the model is the best of what was tried"):
        model.fit(X, y)
    assert model.stopped_ == "interrupted"
    assert model.predict(X).shape == y.shape
    fits.clear()
    model.fit(X, y)
    assert len(fits) == 12 - 5 + 1  # five folds were complete, and the best is trained at the end
    assert model.best_params_ == whole.best_params_
    assert np.array_equal(model.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))


def test_other_data_are_tried_anew(tmp_path, fits):
    X, y = IRIS
    rows = sp.csr_matrix(np.rint(10 * X).astype(np.int64))
    wider = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(150, 5))
    few = {**FEW, "gammas": [0.1], "margins": [0.5]}
    for data in ((X, y), (X + 1, y), (X, y % 2), (rows, y), (wider, y)):
        fits.clear()
        for _ in range(2):
            VotedPerceptronClassifierCV(**few, resume=tmp_path, refit=False).fit(*data)
        assert len(fits) == 3


@pytest.mark.parametrize(
    "model", [VotedPerceptronClassifier(epochs=1000, random_state=0), KernelAdatronClassifier(C=1.0, tol=0.1)]
)
def test_at_a_deadline_training_is_given_up_and_the_model_is_as_before(model):
    X, y = IRIS
    model.fit(X, y)
    kept, model._deadline = model.support_, 0.0
    with pytest.raises(OutOfTime):
        model.fit(*NOISY)
    assert model.support_ is kept
