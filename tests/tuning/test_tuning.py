"""Tuning: its table is that of plain cross-validation with freshly fitted models, and it can be stopped."""

import dataclasses
import itertools
import json
import math
import signal
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import thorough

from votron import VotedPerceptronClassifier, VotedPerceptronClassifierCV, VotronError, __version__, tabular_encoder
from votron.estimators._search.choosing import ORDERED, best_first, steadied
from votron.estimators._search.folds import Folds
from votron.estimators._search.grids import FREE, GROWTH, KEPT_SHARE, LEAST_KEPT, STARTS, moments_until
from votron.estimators._search.settings import Candidate, beyond, multiple_of_scale
from votron.estimators._validation import resolved_gamma
from votron.kernels import CallableKernel, GaussianKernel, NormalizedKernel
from votron.tuning import ESTIMATORS, TuningResult, TuningRow, default_grid, tune

IRIS = load_iris(return_X_y=True)
GAMMAS = default_grid("voted", "rbf")["gamma"]
N_SETTINGS = len(GAMMAS) * len(STARTS["voted"]["margin"])
SMALL = {"kernel": ["poly"], "degree": [1], "normalize_kernel": [True], "margin": [0.0], "epochs": [1]}


def folds_of(y, k, seed):
    return StratifiedKFold(k, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)


def plain_errors(make, X, y, k, seed):
    """The textbook: fit on the other folds, count the errors on this one."""
    return tuple(
        float(np.mean(make(X[train]).fit(X[train], y[train]).predict(X[test]) != y[test]))
        for train, test in folds_of(y, k, seed)
    )


def maker(estimator, params, seed):
    """A new classifier with a row's parameters, for training data that say what the scale is."""

    def make(X):
        chosen = dict(params)
        if str(chosen.get("gamma")).startswith("scale*"):
            chosen["gamma"] = float(chosen["gamma"].split("*")[1]) * resolved_gamma("scale", X)
        model = ESTIMATORS[estimator](**chosen)
        return model.set_params(random_state=seed) if "random_state" in model.get_params() else model

    return make


@st.composite
def problems(draw):
    n, n_classes = draw(st.integers(24, 60)), draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + np.eye(4)[y]
    X = draw(st.sampled_from([X, np.rint(3 * X), sp.csr_matrix(np.maximum(X, 0) + 0.01)]))
    labels = draw(st.sampled_from([np.arange(n_classes), np.array(["c", "a", "b"][:n_classes])]))
    grid = {
        "kernel": draw(st.lists(st.sampled_from(["poly", "rbf", "linear"]), min_size=1, max_size=2, unique=True)),
        "degree": [draw(st.integers(1, 3))],
        "gamma": draw(st.lists(st.sampled_from(["scale", "scale*10", 0.5, "auto"]), min_size=1, max_size=2)),
        "normalize_kernel": [draw(st.booleans())],
        "margin": [draw(st.sampled_from([0.0, 0.1, 1.0]))],
        "epochs": draw(st.lists(st.sampled_from([0.5, 1, 2, 7, 3.3]), min_size=1, max_size=3)),
        "rule": draw(st.lists(st.sampled_from(["vote", "average", "last", "random", "pocket"]), min_size=1)),
        "normalize_vectors": draw(st.sampled_from([[False], [False, True], [True]])),
    }
    return X, labels[y], grid, draw(st.integers(2, 4)), draw(st.integers(0, 99))


@pytest.mark.slow
@given(problem=problems())
@thorough(10)
def test_the_table_is_that_of_plain_cross_validation(problem):
    X, y, grid, folds, seed = problem
    result = tune(X, y, grid=grid, folds=folds, random_state=seed)
    assert not result.skipped
    assert len({str(row.params) for row in result.table}) == len(result.table)
    for row in result.table:
        assert row.errors == plain_errors(maker("voted", row.params, seed), X, y, folds, seed)
        assert row.error == pytest.approx(sum(row.errors) / folds, abs=1e-12)
        spread = math.sqrt(sum((e - row.error) ** 2 for e in row.errors) / (folds - 1) / folds)
        assert row.standard_error == pytest.approx(spread, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "params"), [("averaged", {}), ("adatron", {}), ("winnow", {"binarize": 1.5})])
def test_the_table_of_the_other_classifiers(estimator, params):
    X, y = IRIS
    result = tune(X, y, estimator=estimator, params=params, folds=3, random_state=7)
    assert len(result.table) >= result.n_tried == result.n_settings > 2
    for row in result.table[:: max(1, len(result.table) // 8)]:
        assert row.errors == plain_errors(maker(estimator, row.params, 7), X, y, 3, 7)
    ESTIMATORS[estimator](**result.best).fit(X, y)


def test_it_is_what_scikit_learn_says():
    X, y = load_breast_cancer(return_X_y=True)
    result = tune(X, y, estimator="naive-bayes", encoder=StandardScaler(), folds=4, random_state=1)
    splits = StratifiedKFold(4, shuffle=True, random_state=1)
    for row in result.table:
        model = make_pipeline(StandardScaler(), ESTIMATORS["naive-bayes"](**row.params))
        assert row.errors == pytest.approx(1 - cross_val_score(model, X, y, cv=splits), abs=1e-12)


def test_one_fit_a_fold_gives_all_epochs_and_rules(monkeypatch):
    fitted = []
    fit = VotedPerceptronClassifier.fit
    monkeypatch.setattr(
        VotedPerceptronClassifier, "fit", lambda self, X, y: (fitted.append(self.epochs), fit(self, X, y))[1]
    )
    grid = {
        "kernel": ["poly"],
        "degree": [1, 2],
        "margin": [0.0],
        "epochs": [1, 8, 3],
        "rule": ["vote", "average", "last"],
        "normalize_vectors": [False, True],
    }
    result = tune(*IRIS, grid=grid, folds=3)
    assert fitted == [8] * 6
    assert len(result.table) == 2 * 3 * 5  # two degrees, three moments; vote, and average and last with lengths or not


# -- choosing ---------------------------------------------------------------------------------------------------------


def result_of(*rows, **changes):
    table = tuple(TuningRow(params, errors, 0.0) for params, errors in rows)
    made = TuningResult("voted", table, 2, 100, 100, len(rows), len(rows), (), 0.0)
    return dataclasses.replace(made, **changes)


def test_the_best_has_the_least_error_averaged_with_its_neighbours():
    errors = {9: (0.0, 0.1), 2: (0.1, 0.1), 1: (0.1, 0.2), 3: (0.0, 0.2), 8: (0.5, 0.5)}
    result = result_of(*[({"epochs": epochs}, each) for epochs, each in errors.items()])
    # the means 0.15, 0.1, 0.1, 0.5, 0.05 of 1, 2, 3, 8, 9 become 0.1375, 0.1125, 0.2, 0.2875, 0.1625
    assert result.best == {"epochs": 2}
    assert result.best_error == 0.1  # its own, and not the least
    assert [row.params["epochs"] for row in result.ranked()] == [2, 1, 9, 3, 8]
    alone = result_of(*[({"rule": rule}, each) for rule, each in zip("abcde", errors.values(), strict=True)])
    assert [row.params["rule"] for row in alone.ranked()] == ["a", "b", "d", "c", "e"]  # no neighbours: by themselves
    more_rows = result_of(({"epochs": 1}, (0.1, 0.1)), ({"epochs": 2}, (0.1, 0.1)))
    more = dataclasses.replace(more_rows.table[0], errors=(0.3, 0.3), n_rows=9)
    assert dataclasses.replace(more_rows, table=(*more_rows.table, more)).best_row == more


def test_of_equal_ones_the_best_has_the_larger_margin_and_fewer_epochs():
    margins = [({"margin": m, "epochs": e}, (0.1, 0.2)) for m, e in ((0.5, 1), (2.0, 5), (2.0, 2), (0.0, 1))]
    assert result_of(*margins).best == {"margin": 2.0, "epochs": 2}
    assert result_of(({"margin": 0.5}, (0.1,)), ({"margin": {0: 1.0}}, (0.1,))).best == {"margin": {0: 1.0}}


NO_NUMBERS = {
    "kernel": st.sampled_from(["rbf", "poly"]),
    "rule": st.sampled_from(["vote", "last"]),
    "gamma": st.just("auto"),
    "margin": st.sampled_from([{"a": 1.0}, {"a": 2.0}]),
    "multiclass": st.sampled_from(["joint", "ovr"]),
}
NUMBERS = {
    "epochs": st.sampled_from([0.5, 1, 2, 3]),
    "gamma": st.sampled_from(["scale", "scale*4", "scale*0.25", 0.25, 1.0, "auto"]),
    "margin": st.sampled_from([0.5, 2.0, 8.0, {"a": 1.0}]),
    "degree": st.integers(1, 3),
    "C": st.sampled_from([1.0, 10.0]),
}


@st.composite
def scored(draw, values):
    """Settings that differ from each other in few parameters, so that many are neighbours; scores; numbers of rows."""
    varied = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=3, unique=True))
    params = st.fixed_dictionaries({name: values[name] for name in varied})
    each = st.tuples(params, st.sampled_from([500, 1500]))
    found = draw(st.lists(each, min_size=1, max_size=30, unique_by=lambda one: str((sorted(one[0].items()), one[1]))))
    scores = draw(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=len(found), max_size=len(found)))
    return [params for params, _ in found], scores, [n for _, n in found]


@given(found=scored(NO_NUMBERS | NUMBERS), shuffle=st.randoms(use_true_random=False), constant=st.floats(-1, 1))
@thorough(200)
def test_steady_scores(found, shuffle, constant):
    params, scores, n_rows = found
    steady = steadied(params, scores, n_rows)
    assert steadied(params, [constant] * len(params), n_rows) == pytest.approx([constant] * len(params))
    order = shuffle.sample(range(len(params)), len(params))
    again = steadied([params[i] for i in order], [scores[i] for i in order], [n_rows[i] for i in order])
    assert again == [steady[i] for i in order]
    for n in set(n_rows):  # those on other rows have no say
        mine = [i for i in range(len(params)) if n_rows[i] == n]
        assert min(scores[i] for i in mine) <= min(steady[i] for i in mine)
        assert max(steady[i] for i in mine) <= max(scores[i] for i in mine)
        alone = steadied([params[i] for i in mine], [scores[i] for i in mine], [n] * len(mine))
        assert alone == [steady[i] for i in mine]
    assert sorted(best_first(params, scores, n_rows)) == list(range(len(params)))


@given(found=scored(NO_NUMBERS))
@thorough(200)
def test_what_is_no_number_has_no_neighbours(found):
    params, scores, n_rows = found
    assert steadied(params, scores, n_rows) == scores


@given(scores=st.lists(st.floats(-1, 1), min_size=3, max_size=8), name=st.sampled_from(ORDERED))
@thorough(200)
def test_a_steady_score_is_half_its_own_and_a_quarter_of_each_neighbours(scores, name):
    params = [{name: 2.0**k, "rule": "vote"} for k in range(len(scores))]
    padded = [scores[0], *scores, scores[-1]]
    assert steadied(params, scores, [9] * len(scores)) == pytest.approx(np.convolve(padded, [0.25, 0.5, 0.25], "valid"))
    apart = [params[0], params[1] | {"rule": "last"}, *params[2:]]
    assert steadied(apart, scores, [9] * len(scores))[1] == scores[1]


def test_multiples_of_the_scale_are_no_neighbours_of_numbers():
    params = [{"gamma": gamma} for gamma in ("scale", 2.0, "scale*4", 8.0)]
    assert steadied(params, [0.0, 0.25, 1.0, 0.25], [9] * 4) == [0.25, 0.25, 0.75, 0.25]


def test_nan_is_worse_than_any_score_and_no_neighbour():
    nan = float("nan")
    params = [{"epochs": epochs} for epochs in (1, 2, 4, 8)]
    assert steadied(params, [0.5, nan, 1.0, 0.0], [9] * 4) == pytest.approx([0.625, nan, 0.625, 0.25], nan_ok=True)
    assert best_first(params, [0.5, nan, 1.0, 0.0], [9] * 4) == [2, 0, 3, 1]
    assert best_first(params, [nan, -1.0, nan, -2.0], [9, 9, 27, 27]) == [3, 1, 0, 2]  # also on more rows


def product_kernel(factor):
    """Functions of one name, and different."""

    def product(A, B):
        return factor + A @ B.T

    return product


@pytest.mark.parametrize("wrapped", [lambda f: f, CallableKernel])
def test_kernels_of_one_name_are_different_settings(wrapped):
    X, y = IRIS
    kernels = [wrapped(product_kernel(factor)) for factor in (1.0, 400.0)]
    free = {"margin": [0.0], "epochs": [1, 2], "rule": ["vote"], "normalize_kernel": [False]}
    result = tune(X, y, grid={"kernel": kernels, **free}, folds=3)
    assert result.n_tried == result.n_settings == len(result.settings()) == 2
    for kernel in kernels:
        alone = tune(X, y, grid={"kernel": [kernel], **free}, folds=3)
        mine = [row.errors for row in result.table if row.params["kernel"] == kernel]
        assert mine == [row.errors for row in alone.table]
    params = [{"kernel": kernel, "epochs": epochs} for kernel, epochs in zip(kernels, (1, 2), strict=True)]
    assert steadied(params, [0.25, 0.75], [9, 9]) == [0.25, 0.75]


def test_within_one_standard_error_the_simplest_is_chosen():
    rows = [
        ({"kernel": "rbf", "epochs": 5}, (0.1, 0.12)),  # 0.11 ± 0.01
        ({"kernel": "poly", "degree": 3, "epochs": 1, "margin": 0.0}, (0.11, 0.115)),
        ({"kernel": "poly", "degree": 2, "epochs": 9, "margin": 0.1}, (0.12, 0.12)),
        ({"kernel": "poly", "degree": 2, "epochs": 9, "margin": 0.0}, (0.12, 0.119)),
        ({"kernel": "linear", "epochs": 1}, (0.12, 0.125)),
    ]
    assert result_of(*rows).best == rows[0][0]
    assert result_of(*rows, one_standard_error=True).best == rows[3][0]


def test_a_multiple_of_the_scale_becomes_the_number_it_is_on_all_rows():
    X, y = IRIS
    grid = {"kernel": ["rbf"], "gamma": ["scale*10"], "margin": [0.0], "epochs": [2], "rule": ["vote"]}
    result = tune(X, y, grid=grid, folds=3)
    assert result.best_row.params["gamma"] == "scale*10"
    assert result.best["gamma"] == 10 * resolved_gamma("scale", X)
    scaled = tune(X, y, grid=grid, encoder=StandardScaler(), folds=3)
    assert scaled.best["gamma"] == pytest.approx(10 / X.shape[1])
    assert VotedPerceptronClassifier(**result.best).fit(X, y).score(X, y) > 0.9


# -- what is tried ----------------------------------------------------------------------------------------------------


def test_the_default_grid_is_small_and_varies_nothing_that_does_not_matter():
    result = tune(*IRIS, folds=2)
    assert result.n_settings == result.n_tried == N_SETTINGS <= 12
    settings = {str({k: v for k, v in row.params.items() if k not in ("epochs", "rule", "normalize_vectors")})
                for row in result.table}  # fmt: skip
    assert len(settings) == N_SETTINGS
    assert all(("degree" in row.params) == (row.params["kernel"] == "poly") for row in result.table)
    for estimator in ESTIMATORS:
        assert set(default_grid(estimator)) <= set(ESTIMATORS[estimator]().get_params())


def test_the_heads_of_the_lists_come_first():
    grid = {"degree": [3, 1], "margin": [0.5, 0.0, 0.1], "kernel": ["poly"], "normalize_kernel": [True]}
    result = tune(*IRIS, grid=grid, folds=2)
    tried = list(dict.fromkeys((row.params["degree"], row.params["margin"]) for row in result.table))
    assert tried == [(3, 0.5), (3, 0.0), (1, 0.5), (3, 0.1), (1, 0.0), (1, 0.1)]


def test_what_cannot_be_fitted_is_left_out_with_its_reason():
    X, y = IRIS
    result = tune(1e40 * X, y, grid=SMALL | {"degree": [9, 1], "gamma": [1.0]}, folds=2)
    assert result.n_tried == 1
    [(params, why)] = result.skipped
    assert params["degree"] == 9
    assert "float64" in why
    assert "Left out: kernel=poly, degree=9" in result.to_text()
    with pytest.raises(VotronError, match="float64"):
        tune(1e40 * X, y, grid=SMALL | {"degree": [9], "gamma": [1.0]}, folds=2)


def test_large_data_are_drawn_from():
    X, y = IRIS
    result = tune(X, y, grid=SMALL, folds=3, max_rows=60)
    assert (result.n_rows, result.n_used) == (150, 60)
    assert "3 folds of 60 rows drawn from 150" in result.to_text()
    assert tune(X, y, grid=SMALL, folds=3, max_rows=None).n_used == 150
    assert result.table[0].errors == tune(X, y, grid=SMALL, folds=3, max_rows=60).table[0].errors


def test_rows_without_weight_are_not_called_drawn():
    result = tune(*IRIS, grid=SMALL, folds=3, sample_weight=np.arange(150) % 3 > 0)
    assert "3 folds of 100 rows (50 of weight 0 left out)," in result.to_text()
    assert result.to_dict()["rows_without_weight"] == 50


def test_rare_classes_are_drawn():
    """Of labels as pandas has them, which are objects."""
    X, labels = np.random.RandomState(0).normal(size=(1000, 2)), np.repeat(["a", "b", "c"], [600, 394, 6])
    result = tune(X, pd.Series(labels, dtype=object), grid=SMALL, folds=5, max_rows=100, refit=False)
    assert result.n_used == 100
    assert len(result.table[0].errors) == 5
    labels[-5:] = "b"
    with pytest.raises(VotronError, match="Got one row of class 'c' instead: leave it out"):
        tune(X, pd.Series(labels, dtype=object), grid=SMALL, folds=5, max_rows=100)


# -- data of all kinds ------------------------------------------------------------------------------------------------


class Spy(StandardScaler):
    """A scaler that tells what it was fitted on."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None):
        Spy.seen.append((len(X), len(y)))
        return super().fit(X)

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)


def test_an_encoder_is_fitted_on_the_training_part_of_each_fold_only():
    Spy.seen.clear()
    encoder = Spy()
    tune(*IRIS, grid=SMALL | {"degree": [1, 2]}, encoder=encoder, folds=3)
    assert Spy.seen == [(100, 100)] * 3
    assert not hasattr(encoder, "mean_")


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_with_words(library):
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 90)]
    frame = library.DataFrame(
        {"city": np.where(y == "yes", "Rome", "Oslo").tolist(), "income": rng.normal(size=90).tolist()}
    )
    labels = library.Series(y.tolist())
    result = tune(frame, labels, grid=SMALL, encoder=tabular_encoder(frame, numeric="standard"), folds=3)
    assert result.best_error < 0.1
    with pytest.raises(VotronError, match="tabular_encoder turns a table with words into them"):
        tune(frame, labels, grid=SMALL, folds=3)


def test_texts_and_sparse_matrices():
    texts = ["rain and wind", "wind, then rain", "sun all day", "a day of sun"] * 9
    y = ["rain", "rain", "sun", "sun"] * 9
    assert tune(texts, y, grid=SMALL, encoder=TfidfVectorizer(), folds=3).best_error == 0
    X = TfidfVectorizer().fit_transform(texts)
    assert tune(X, y, estimator="averaged", folds=3).best_error == 0


def test_a_class_may_have_fewer_rows_than_folds():
    X, y = IRIS
    few = np.r_[0:100, 100:103]
    assert tune(X[few], y[few], grid=SMALL, folds=5).folds == 5


def test_a_setting_with_more_epochs_counts_once():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=120) > 0
    result = tune(X, y, grid={"kernel": ["rbf"], "margin": [0.5]}, folds=2, extend=True)
    assert result.n_tried == result.n_settings == len(result.settings(once=True)) == 4


# -- stopping ---------------------------------------------------------------------------------------------------------


def test_time_runs_out():
    result = tune(*IRIS, folds=2, max_seconds=1e-9)
    assert (result.n_tried, result.stopped) == (1, "out of time")
    assert f"1 of {N_SETTINGS} settings (out of time)" in result.to_text()


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_complete(monkeypatch):
    whole = tune(*IRIS, folds=2)
    fit, fitted = VotedPerceptronClassifier.fit, []

    def interrupted(self, X, y):
        fitted.append(1)
        if len(fitted) == 8:  # in the second fold of the fourth setting
            signal.raise_signal(signal.SIGINT)
        return fit(self, X, y)

    monkeypatch.setattr(VotedPerceptronClassifier, "fit", interrupted)
    result = tune(*IRIS, folds=2)
    assert (result.n_tried, result.stopped) == (3, "interrupted")
    assert [row.errors for row in result.table] == [row.errors for row in whole.table[: len(result.table)]]
    fitted[:] = [1] * 7
    with pytest.raises(KeyboardInterrupt):
        tune(*IRIS, folds=2)


def test_progress_and_callback(capsys):
    seen: ClassVar[list] = []
    tune(*IRIS, grid=SMALL | {"degree": [1, 2]}, folds=2, verbose=1, callback=lambda *news: seen.append(news))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["tune 1/2", "tune 2/2"]
    assert [(done, total) for done, total, _, _ in seen] == [(1, 2), (2, 2)]
    assert seen[1][3].error == min(seen[0][2].error, seen[1][2].error)


# -- as text and JSON -------------------------------------------------------------------------------------------------


def test_as_json_and_as_text():
    grid = SMALL | {"kernel": ["rbf", VotedPerceptronClassifier("poly").fit(*IRIS).kernel_], "gamma": [0.5, "scale*10"]}
    result = tune(*IRIS, grid=grid, folds=2)
    found = json.loads(json.dumps(result.to_dict()))
    assert found["best_error"] == min(row["error"] for row in found["table"]) == result.best_error
    assert len(found["table"]) == len(result.table)
    assert any(row["kernel"].startswith("PolynomialKernel(") for row in found["table"])
    text = result.to_text(3)
    assert f"... and {len(result.table) - 3} more rows" in text
    assert f"{100 * result.best_error:.2f} %" in text
    assert len(pd.DataFrame(found["table"])) == len(result.table)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"estimator": "svm"}, r"The 'estimator' parameter of tune must be one of 'voted', .* Got 'svm' instead\."),
        (
            {"grid": {"depth": [1]}},
            r"The 'grid' parameter .* which are class_weight, coef0, degree, .* Got 'depth' instead\.",
        ),
        ({"params": {"random_state": 1}}, r"The 'params' parameter of tune .* Got 'random_state' instead\."),
        ({"grid": {"degree": 2}}, r"a list of values for 'degree'\. Got 2 instead\."),
        ({"grid": {"rule": "vote"}}, r"a list of values for 'rule'\. Got 'vote' instead\."),
        ({"grid": {"degree": []}}, r"a list of values for 'degree'\. Got \[\] instead\."),
        ({"grid": [1]}, r"The 'grid' parameter of tune must be a dict .* Got \[1\] instead\."),
        ({"grid": {"epochs": [None]}}, r"epochs that tune tries must be positive numbers\. Got None instead\."),
        ({"grid": {"rule": ["holdout"]}}, r"The rule 'holdout' sets data of its own aside"),
        ({"grid": {"rule": ["best"]}}, r"The rules that tune tries must be among .* Got 'best' instead\."),
        ({"grid": {"kernel": ["precomputed"]}}, r"a kernel other than 'precomputed'\."),
        ({"grid": {"gamma": ["scale*-1"]}}, r"or a multiple such as 'scale\*0\.1'\. Got 'scale\*-1' instead\."),
        ({"folds": 1}, r"The 'folds' parameter of tune must be an int of at least 2\. Got 1 instead\."),
        ({"folds": 51}, r"The 'folds' parameter of tune must be at most 50, .* Got 51 instead\."),
        ({"random_state": None}, r"The 'random_state' parameter of tune must be an int .* Got None instead\."),
        ({"max_rows": 2.5}, r"The 'max_rows' parameter of tune must be an int of at least 4\. Got 2\.5 instead\."),
        (
            {"max_seconds": 0},
            r"The 'max_seconds' parameter of tune must be a positive number or None\. Got 0 instead\.",
        ),
    ],
)
def test_bad_options(options, said):
    with pytest.raises(VotronError, match=said) as caught:
        tune(*IRIS, **options)
    assert "\n" not in str(caught.value)


def test_bad_labels():
    X, y = IRIS
    with pytest.raises(VotronError, match=r"one label for each of the 150 rows of X\. Got y of shape \(149,\) instead"):
        tune(X, y[1:])
    with pytest.raises(VotronError, match=r"two rows of every class at least.* Got one row of class .*2.* instead"):
        tune(X[:101], y[:101])
    with pytest.raises(VotronError, match="at least 2 classes"):
        tune(X[:50], y[:50])


@pytest.mark.parametrize(
    ("estimator", "grid", "sentence"),
    [
        ("voted", {"kernel": ["poly"], "degree": [1, 0]}, "The 'degree' parameter of VotedPerceptronClassifier"),
        ("voted", {"normalize_vectors": ["x"]}, "The 'normalize_vectors' parameter"),
        ("winnow", {"promotion": [2.0, 0.5]}, "The 'promotion' parameter of WinnowClassifier"),
    ],
)
def test_bad_values_are_refused_before_the_first_fit(estimator, grid, sentence, monkeypatch):
    X, y = load_iris(return_X_y=True)
    home = "votron.estimators._search.searching.fold_scores"
    monkeypatch.setattr(home, lambda *_: pytest.fail("something was fitted"))
    with pytest.raises(VotronError, match=sentence):
        tune(X, y, estimator=estimator, grid=grid)


def test_arrays_can_stand_in_a_grid():
    X, y = load_iris(return_X_y=True)
    priors = [np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])]
    assert tune(X, y, estimator="naive-bayes", grid={"class_prior": priors, "alpha": [1.0]}).n_tried == 2


# -- grids that go on -------------------------------------------------------------------------------------------------


def circles(n=240):
    """Rings that are told apart by the distance from the middle, among features of another scale."""
    rng = np.random.default_rng(0)
    angle, ring = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 6
    X = np.c_[(1 + ring) * np.cos(angle), (1 + ring) * np.sin(angle)]
    return np.r_[X, X + np.array([20, 0])], np.r_[ring % 2, ring % 2]


def test_default_lists_go_on_where_the_best_is_at_their_edge():
    X, y = circles()
    grid = {"kernel": ["rbf"], "rule": ["last"], "epochs": [10], "normalize_vectors": [False], "margin": [0.0]}
    plain = tune(X, y, grid=grid, folds=3)
    assert {row.params["gamma"] for row in plain.table} == {"scale", "scale*4", "scale*0.25"}
    wide = tune(X, y, grid=grid, folds=3, extend=True)
    assert wide.n_settings == wide.n_tried > 3
    assert wide.best_row.params["gamma"] in ("scale*16", "scale*64", "scale*256", "scale*1024")
    assert wide.best_error < plain.best_error
    assert wide.best["gamma"] == pytest.approx(float(wide.best_row.params["gamma"][6:]) * resolved_gamma("scale", X))
    assert [row.errors for row in wide.table[: len(plain.table)]] == [row.errors for row in plain.table]
    given = tune(X, y, grid=grid | {"gamma": ["scale"]}, folds=3, extend=True)
    assert given.n_tried == 1


def test_margins_degrees_and_epochs_go_on():
    every = frozenset(GROWTH)
    setting = {"kernel": "poly", "degree": 4, "margin": 0.5, "gamma": "auto"}
    best = Candidate("voted", setting, {"epochs": [1, 10], "rule": ["last"], "normalize_vectors": [False]})
    point = {"epochs": 10, "rule": "last", "normalize_vectors": False}
    tried = [replace(best, setting=setting | {"margin": 0.0, "degree": 2}), best]
    margin, degree, longer = beyond(best, point, tried, every)
    assert margin.setting == setting | {"margin": 0.5 * GROWTH["margin"].step}
    assert degree.setting == setting | {"degree": 5}
    assert (longer.setting, longer.free["epochs"]) == (setting, moments_until(10 * GROWTH["epochs"].step, after=10))
    assert longer.free["epochs"] == [12, 16, 24, 32, 40]
    assert beyond(best, point | {"epochs": 1}, tried, frozenset({"epochs"})) == []
    assert beyond(best, point, [*tried, longer], frozenset({"epochs"})) == []
    most = GROWTH["epochs"].most
    nearly = replace(best, free=best.free | {"epochs": [most / 2]})
    [last] = beyond(nearly, point | {"epochs": most / 2}, [nearly], frozenset({"epochs"}))
    assert max(last.free["epochs"]) == most
    longest = replace(best, free=best.free | {"epochs": [most]})
    assert beyond(longest, point | {"epochs": most}, [longest], frozenset({"epochs"})) == []
    inner = replace(best, setting={"kernel": "poly", "degree": 5, "margin": 1.0})
    top = replace(best, setting={"kernel": "poly", "degree": GROWTH["degree"].most, "margin": GROWTH["margin"].most})
    bottom = replace(best, setting={"kernel": "poly", "degree": 1, "margin": GROWTH["margin"].least})
    for end in (top, bottom):
        assert beyond(end, point | {"epochs": 1}, [top, inner, bottom], every) == []
    low = replace(best, setting={"kernel": "poly", "degree": 1, "margin": 0.5})
    [lower] = beyond(low, point | {"epochs": 1}, [low, inner], every)
    assert lower.setting == low.setting | {"margin": 0.5 / GROWTH["margin"].step}
    uneven = replace(best, setting={"kernel": "rbf", "gamma": 4.0, "margin": {"a": 1.0}})
    found = beyond(uneven, point, [uneven], frozenset({"gamma", "margin"}))
    assert [each.setting["gamma"] for each in found] == [16, 1]
    small = replace(best, setting={"kernel": "rbf", "gamma": 0.01, "margin": 2.0})
    found = beyond(small, point, [small], frozenset({"gamma", "margin"}), scale=1e-5)  # gamma ends at 1024 of these
    expected = [(0.0025, 2.0), (0.01, 2.0 * GROWTH["margin"].step), (0.01, 2.0 / GROWTH["margin"].step)]
    assert [(each.setting["gamma"], each.setting["margin"]) for each in found] == expected


def test_alpha_goes_on():
    X, y = load_breast_cancer(return_X_y=True)
    result = tune(X, y, estimator="naive-bayes", encoder=StandardScaler(), folds=3, extend=True)
    tried = {row.params["alpha"]: row.error for row in result.table}
    best = result.best["alpha"]
    assert best == max(tried) or tried[10 * best] >= tried[best]


def test_what_is_only_as_good_is_not_followed_far():
    X = np.r_[np.zeros((30, 2)), np.ones((30, 2))] + np.random.default_rng(0).normal(size=(60, 2)) / 50
    result = tune(X, np.repeat([0, 1], 30), folds=3, extend=True)
    assert result.best_error == 0
    starts, step = STARTS["voted"]["margin"], GROWTH["margin"].step
    margins = {row.params["margin"] for row in result.table}
    assert min(starts) / step <= min(margins) <= max(margins) <= max(starts) * step < GROWTH["margin"].most
    scales = [multiple_of_scale(gamma) or 1.0 for gamma in GAMMAS]
    gammas = {multiple_of_scale(row.params["gamma"]) or 1.0 for row in result.table}
    assert min(scales) / 4 <= min(gammas) <= max(gammas) <= max(scales) * 4


@pytest.mark.parametrize("seed", range(4))
def test_no_better_edge_is_left_unfollowed(seed):
    X, y = make_classification(200, 6, n_informative=3, flip_y=0.2, random_state=seed)
    grid = {"kernel": ["rbf"], "gamma": ["scale"], "epochs": [1, 2, 4]}
    result = tune(X, y, grid=grid, folds=3, extend=True)
    margins, growth, best = {row.params["margin"] for row in result.table}, GROWTH["margin"], result.best_row
    scores = [-row.error for row in result.table]
    steady = steadied([row.params for row in result.table], scores, [row.n_rows for row in result.table])
    others = [s for row, s in zip(result.table, steady, strict=True) if row.params["margin"] != best.params["margin"]]
    better = steady[result.table.index(best)] > max(others) + 1e-12
    for edge, end in ((max(margins), growth.most), (min(margins), growth.least)):
        assert best.params["margin"] != edge or edge == end or not better


# -- one search, all faces --------------------------------------------------------------------------------------------


def names(rows):
    return {row.estimator for row in rows}


def setting_of(row):
    return str((row.estimator, {k: v for k, v in row.params.items() if k not in FREE[row.estimator]}))


def test_halving_and_several_classifiers():
    X, y = make_classification(2400, 6, n_informative=4, flip_y=0.1, random_state=0)
    few = {"voted": {"kernel": ["rbf"], "gamma": ["scale", "scale*4"], "epochs": [2], "rule": ["last", "vote"]}}
    result = tune(X, y, estimator=["voted", "averaged"], grid=few, folds=3, halving=True)
    assert sorted({row.n_rows for row in result.table}) == [533, 1600]
    last = [row for row in result.settings() if row.n_rows == 1600]
    assert {row.estimator for row in last} == {"voted", "averaged"}
    averaged = STARTS["averaged"]
    n_voted = 2 * len(STARTS["voted"]["margin"])  # gammas and margins
    n_averaged = len(averaged["margin"]) * len(averaged["epochs"])  # of two classes there is one way
    first = [row for row in result.settings() if row.n_rows == 533]
    assert [row.estimator for row in result.table if row.n_rows == 533 and row in first].count("voted") == n_voted
    assert len(first) == n_voted + n_averaged
    n_kept = max(LEAST_KEPT, math.ceil(len(first) / KEPT_SHARE))
    going_on = [first[k] for k in range(len(first)) if k < n_kept or first[k].estimator not in names(first[:k])]
    assert sorted(map(setting_of, last)) == sorted(map(setting_of, going_on))
    assert result.best_row == last[0]
    assert result.estimator == last[0].estimator
    row = next(row for row in last if row.estimator == "voted")
    assert row.errors == plain_errors(maker("voted", row.params, 0), X, y, 3, 0)
    with pytest.raises(VotronError, match="dicts by the names of these, 'voted', 'averaged'"):
        tune(X, y, estimator=["voted", "averaged"], grid={"degree": [1]})


def test_a_part_of_a_fold_has_every_class():
    X, y = np.arange(3000.0)[:, None], np.r_[np.zeros(2996), np.ones(2), np.full(2, 2)]
    weight = np.arange(3000.0)
    data = Folds(X, y, [(np.arange(0, 3000, 2), np.arange(1, 3000, 2))], 0, None, weight, weight)
    part, whole = data.fold(0, 100), data.fold(0, 1500)
    assert (len(part.y), len(part.y_test), len(whole.y), len(whole.y_test)) == (100, 200, 1500, 1500)
    assert set(part.y) == set(part.y_test) == {0, 1, 2}
    for rows, labels, weights in ((part.X, part.y, part.weight), (part.X_test, part.y_test, part.test_weight)):
        at = rows[:, 0].astype(int)
        assert (np.diff(at) > 0).all()
        assert np.array_equal(labels, y[at])
        assert np.array_equal(weights, weight[at])


def test_it_is_the_search_of_the_classifier():
    X, y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)
    model = VotedPerceptronClassifierCV(kernels=["rbf"], gammas=[0.1, 0.5], random_state=0)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    model.set_params(cv=list(folds_of(y, 5, seed))).fit(X, y)
    grid = {"kernel": ["rbf"], "gamma": [0.1, 0.5]}
    result = tune(X, y, grid=grid, random_state=seed, extend=True, halving=True, refit=True)
    assert {**model.best_params_, "normalize_vectors": False} == result.best
    assert model.best_score_ == pytest.approx(1 - result.best_error)
    assert model.best_estimator_.record_.equals(result.model.record_)


def test_refit_is_the_best_behind_its_encoder():
    X, y = IRIS
    result = tune(X, y, grid=SMALL | {"gamma": ["scale*4"]}, encoder=StandardScaler(), folds=3, refit=True, max_rows=90)
    scaled = StandardScaler().fit_transform(X)
    plain = VotedPerceptronClassifier(**result.best, random_state=0).fit(scaled, y)
    assert result.best["gamma"] == pytest.approx(4 / X.shape[1])
    assert plain.record_.equals(result.model[-1].record_)
    assert result.model[0].n_samples_seen_ == 150


def test_weights_count_in_fits_and_errors():
    X, y = make_classification(200, 5, flip_y=0.2, weights=[0.8], random_state=0)
    weight = np.random.default_rng(0).integers(0, 4, 200).astype(float)
    result = tune(X, y, grid=SMALL, folds=3, sample_weight=weight)
    kept = weight > 0
    X_kept, y_kept, w_kept = X[kept], y[kept], weight[kept]
    for row in result.table[:3]:
        for (train, test), error in zip(folds_of(y_kept, 3, 0), row.errors, strict=True):
            model = maker("voted", row.params, 0)(X_kept[train])
            wrong = model.fit(X_kept[train], y_kept[train], w_kept[train]).predict(X_kept[test]) != y_kept[test]
            assert error == pytest.approx(np.average(wrong, weights=w_kept[test]))
    balanced = tune(X, y, grid=SMALL, folds=3, params={"class_weight": "balanced"})
    assert balanced.table[0].errors != tune(X, y, grid=SMALL, folds=3).table[0].errors


# -- going on ---------------------------------------------------------------------------------------------------------


def test_a_search_goes_on_from_its_file(tmp_path, monkeypatch):
    X, y = IRIS
    path, whole = tmp_path / "search.jsonl", tune(X, y, folds=3, extend=True)
    fit, fitted = VotedPerceptronClassifier.fit, []

    def counted(self, X, y):
        fitted.append(1)
        if len(fitted) == 20:
            raise MemoryError
        return fit(self, X, y)

    monkeypatch.setattr(VotedPerceptronClassifier, "fit", counted)
    with pytest.raises(MemoryError):
        tune(X, y, folds=3, extend=True, resume=path)
    with open(path, "ab") as file:
        file.write(b'{"key": "torn')
    result = tune(X, y, folds=3, extend=True, resume=path)
    assert len(fitted) == 1 + 3 * whole.n_tried
    assert [(row.params, row.errors) for row in result.table] == [(row.params, row.errors) for row in whole.table]
    assert tune(X, y, folds=3, extend=True, resume=str(path)).best == whole.best
    assert len(fitted) == 1 + 3 * whole.n_tried  # nothing anew
    assert b"torn" not in path.read_bytes()


@pytest.mark.parametrize(
    "change", [{"X": IRIS[0] + 1}, {"folds": 4}, {"random_state": 1}, {"encoder": StandardScaler()}]
)
def test_a_file_of_another_search_is_refused(tmp_path, change):
    path = tmp_path / "search.jsonl"
    options = {"X": IRIS[0], "y": IRIS[1], "grid": SMALL, "folds": 3, "resume": path}
    tune(**options)
    with pytest.raises(VotronError, match="the data, the folds or the encoder are not what they were") as caught:
        tune(**options | change)
    assert "\n" not in str(caught.value)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "notes.txt"
    for content in ("hello", "hello\n", "[]\n", '{"kind": "other"}\n', '{"kind": "votron search 1"}\n[]\n'):
        path.write_text(content)
        with pytest.raises(VotronError, match="is no file of a search"):
            tune(*IRIS, grid=SMALL, folds=2, resume=path)
        assert path.read_text() == content
    with pytest.raises(VotronError, match="Cannot read the file of a search"):
        tune(*IRIS, grid=SMALL, folds=2, resume=tmp_path)


@pytest.mark.parametrize("written", [{}, {"votron": "0.0.9"}])
def test_a_file_of_another_version_is_refused(tmp_path, written):
    path = tmp_path / "search.jsonl"
    tune(*IRIS, grid=SMALL, folds=2, resume=path)
    first, *others = path.read_text().splitlines(keepends=True)
    assert json.loads(first) == {"kind": "votron search 1", "votron": __version__}
    content = json.dumps({"kind": "votron search 1", **written}) + "\n" + "".join(others)
    path.write_text(content)
    with pytest.raises(VotronError, match=f"wrote it and this is Votron {__version__}"):
        tune(*IRIS, grid=SMALL, folds=2, resume=path)
    assert path.read_text() == content


def test_a_file_takes_kernels_with_names_only(tmp_path):
    path, function = tmp_path / "search.jsonl", product_kernel(1.0)
    for kernel in (function, CallableKernel(function), NormalizedKernel(CallableKernel(function))):
        with pytest.raises(VotronError, match=r"With resume, kernels must have names.* Got .*product"):
            tune(*IRIS, grid={"kernel": ["linear", kernel]}, folds=2, resume=path)
        assert not path.exists()
    named = ["linear", GaussianKernel(0.5), NormalizedKernel(GaussianKernel(0.25))]
    assert tune(*IRIS, grid={"kernel": named, "margin": [0.0]}, folds=2, resume=path).n_tried >= 3


def test_sparse_rows_of_another_width_are_other_data():
    rows, y, splits = sp.csr_matrix(np.eye(4)), np.array([0, 1, 0, 1]), [(np.array([0, 1]), np.array([2, 3]))]
    wider = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(4, 5))
    same = sp.csr_matrix(np.eye(4))
    digests = [Folds(X, y, splits, 0).digest() for X in (rows, wider, same)]
    assert digests[0] == digests[2] != digests[1]


def test_degrees_beyond_the_list_are_whole_numbers():
    X = np.random.RandomState(0).uniform(-1, 1, (240, 3))
    y = (np.sign(X).prod(axis=1) > 0).astype(int)  # of degree 3 at least
    given = {"kernel": ["poly"], "gamma": ["scale"], "margin": [0.5], "epochs": [1, 8]}
    result = tune(X, y, grid=given, folds=3, extend=True)
    assert result.skipped == ()
    assert {type(row.params["degree"]) for row in result.table} == {int}
    assert max(row.params["degree"] for row in result.table) >= 4


def test_the_table_is_in_the_order_of_steady_errors():
    X, y = make_classification(2400, 6, n_informative=4, flip_y=0.1, random_state=0)
    few = {"voted": {"kernel": ["rbf"], "gamma": ["scale", "scale*4"], "epochs": [1, 2], "rule": ["last", "vote"]}}
    result = tune(X, y, estimator=["voted", "averaged"], grid=few, folds=3, halving=True)
    steady = {id(row): error for row, error in zip(result.table, result.steady_errors(), strict=True)}
    ranked = result.ranked()
    for one, other in itertools.pairwise(ranked):
        assert one.n_rows > other.n_rows or (
            one.n_rows == other.n_rows and steady[id(one)] <= steady[id(other)] + 1e-12
        )
    once = result.settings(once=True)
    assert len({setting_of(row) for row in once}) == len(once) == result.n_tried
    assert once[0] == ranked[0]
    most = {setting_of(row): row.n_rows for row in sorted(result.table, key=lambda row: row.n_rows)}
    assert {setting_of(row): row.n_rows for row in once} == most
