"""Classifiers of tables: the same from Python and from the shell, with what their classifier has."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Perceptron
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from votron import (
    AveragedPerceptronClassifier,
    VotedPerceptronClassifier,
    estimators,
    load,
    table_classifier,
)
from votron.cli import main
from votron.data import read_examples
from votron.errors import DataError
from votron.estimators import ESTIMATORS, ClassifierPipeline

TABLES = "tests/data/tables"
CASES = {
    "penguins": ("Species", {"missing": "mean"}),
    "seattle-weather": ("weather", {}),
    "birdstrikes": ("Effect Amount of damage", {"missing": "median", "text": ["Aircraft Airline Operator"]}),
    "zipcodes": ("state", {"discrete": ["zip_code"], "numeric": "minmax"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("estimator", ["averaged", "naive-bayes"])
def test_python_and_the_shell_give_the_same(name, estimator, tmp_path, capsys):
    label, options = CASES[name]
    path, model = f"{TABLES}/{name}.csv", str(tmp_path / "m.votron")
    typed = []
    for key, value in options.items():
        typed += [word for each in ([value] if isinstance(value, str) else value) for word in (f"--{key}", each)]
    arguments = ["--label", label, "--estimator", estimator, "--random-state", "3", "--drop-unlabelled"]
    assert main(["train", path, *arguments, *typed, "-o", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    text = (*options.get("discrete", ()), *options.get("text", ()))
    data = read_examples(path, label=label, missing="keep", drop_unlabelled=True, as_text=text)
    classifier = getattr(estimators, ESTIMATORS[estimator])()
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=3)
    ours = table_classifier(data.X, classifier, **options).fit(data.X, data.y)
    theirs = load(model)
    np.testing.assert_array_equal(ours.predict(data.X), theirs.predict(data.X))
    np.testing.assert_array_equal(ours[:-1].get_feature_names_out(), theirs[:-1].get_feature_names_out())
    if hasattr(ours[-1], "coef_"):
        np.testing.assert_array_equal(ours[-1].coef_, theirs[-1].coef_)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 10, 100]
    y = (X[:, 0] * 10 + X[:, 1] > 0).astype(int)
    steps = [("scale", StandardScaler()), ("model", VotedPerceptronClassifier(random_state=0))]
    return ClassifierPipeline(steps).fit(X, y), X, y


def test_a_pipeline_has_what_its_classifier_has(fitted, tmp_path):
    model, X, _ = fitted
    rows = model[:-1].transform(X)
    last = model.with_rule("last")
    assert isinstance(last, ClassifierPipeline)
    np.testing.assert_array_equal(last.predict(X), model[-1].with_rule("last").predict(rows))
    assert model.explain(X[:1])[0].label == model.predict(X[:1])[0]
    compact = model.compact()
    np.testing.assert_array_equal(compact.predict(X), model.predict(X))
    model.save(tmp_path / "m.votron")
    assert load(tmp_path / "m.votron")[-1].record_.equals(model[-1].record_)


@pytest.mark.parametrize("choose", [("with_rule", "holdout"), ("with_rule", "auto"), ("with_best_moment",)])
def test_rows_to_choose_by_go_through_the_steps(fitted, choose):
    model, X, y = fitted
    method, rows, rng = choose[0], model[:-1].transform(X), np.random.default_rng(1)
    y = np.where(rng.random(len(y)) < 0.3, 1 - y, y)
    through = getattr(model, method)(*choose[1:], X_val=X, y_val=y)
    expected = getattr(model[-1], method)(*choose[1:], X_val=rows, y_val=y)
    assert through[-1].history_ == expected.history_
    np.testing.assert_array_equal(through.decision_function(X), expected.decision_function(rows))


def test_it_is_a_pipeline_and_no_more_where_that_matters(fitted):
    model, X, y = fitted
    assert isinstance(clone(model), ClassifierPipeline)
    for name in ("partial_fit", "transform", "no_such_thing"):
        assert not hasattr(model, name), name
    assert Pipeline(model.steps).score(X, y) == model.score(X, y)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_holes_are_refused_by_the_name_of_their_column(library):
    rows = {"sky": ["sun", None, "rain", "sun"], "temp": [1.0, None, None, 4.0], "wind": [None, 2, 3, 4]}
    holes, whole = library(rows), library({**rows, "temp": [1.0, 2, 3, 4], "wind": [1, 2, 3, 4]})
    model = table_classifier(holes, AveragedPerceptronClassifier(random_state=0))
    sentence = r"The column 'temp' has 2 missing values: fill them in with missing='mean'"
    with pytest.raises(DataError, match=sentence):
        model.fit(holes, [0, 1, 0, 1])
    model.fit(whole, [0, 1, 0, 1])
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba", "explain"):
        assert len(getattr(model, method)(whole)) == 4
        with pytest.raises(DataError, match=sentence):
            getattr(model, method)(holes)
    with pytest.raises(DataError, match=sentence):
        model.score(holes, [0, 1, 0, 1])
    voted = table_classifier(holes, VotedPerceptronClassifier(random_state=0)).fit(whole, [0, 1, 0, 1])
    with pytest.raises(DataError, match=sentence):
        voted.agreement(holes)
    assert not hasattr(table_classifier(whole, Perceptron()), "predict_proba")
    for method in (model.predict, model.decision_function, voted.agreement):
        with pytest.raises(ValueError, match="Got a frame without 'wind' instead"):
            method(whole[["sky", "temp"]])
    assert len(table_classifier(holes, HistGradientBoostingClassifier()).fit(holes, [0, 1, 0, 1]).predict(holes)) == 4


METHODS = ("fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "explain", "agreement")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("library", [pd, pl])
def test_what_is_no_table_of_the_columns_is_refused_by_every_method(method, library, tmp_path):
    people = {"age": [20.0, 30.0, 40.0, 50.0], "city": list("abca"), "income": [1.0, 2.0, 3.0, 4.0]}
    frame, y = library.DataFrame(people), ["no", "yes", "no", "yes"]
    made = table_classifier(frame, VotedPerceptronClassifier(random_state=0)).fit(frame, y)
    made.save(tmp_path / "m.votron")
    more = [y] if method in ("fit", "score") else []
    for model in (made, load(tmp_path / "m.votron")):
        call = getattr(model, method)
        for rows in (pd.DataFrame(people).iloc[1], np.zeros((4, 3))):
            with pytest.raises(ValueError, match=r"must be a (DataFrame|table of rows)"):
                call(rows, *more)
        if method != "fit":
            with pytest.raises(DataError, match="without 'age', 'income' instead"):
                call(library.DataFrame({"city": people["city"]}), *more)
            with pytest.raises(DataError, match="without 'age' instead"):
                call(frame.rename(columns={"age": "Age"}) if library is pd else frame.rename({"age": "Age"}), *more)
        call(library.DataFrame({**people, "other": [1, 2, 3, 4]}), *more)
