"""Behaviour that all classifiers share: what they refuse, and what is left after a failure or Ctrl-C."""

import copy
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotronError,
    WinnowClassifier,
)
from votron.estimators import _training

X, Y = load_digits(return_X_y=True)
X, Y = X[:400], Y[:400]
VOTED = VotedPerceptronClassifier(gamma=0.001, shuffle=False, epochs=3, n_jobs=1)
AVERAGED = AveragedPerceptronClassifier(shuffle=False, epochs=3, n_jobs=1)
WINNOW = WinnowClassifier(binarize=5.0, shuffle=False, epochs=3)
BAYES = NaiveBayesLinearClassifier(binarize=5.0)
ADATRON = KernelAdatronClassifier(C=1.0, tol=0.1)
IN_BATCHES = [VOTED, AVERAGED, WINNOW, BAYES]
ALL = [*IN_BATCHES, ADATRON]
WATCHED = [VOTED, AVERAGED, WINNOW]

each = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
each_in_batches = pytest.mark.parametrize("model", IN_BATCHES, ids=lambda model: type(model).__name__)
each_watched = pytest.mark.parametrize("model", WATCHED, ids=lambda model: type(model).__name__)

WITH_NAN = X.copy()
WITH_NAN[7, 3] = np.nan
BAD = {
    "a missing value": (WITH_NAN, Y, "contains NaN"),
    "measured labels": (X, X[:, 2] + 0.5, "Unknown label type: continuous"),
    "a missing label": (X, np.where(np.arange(400) == 5, np.nan, Y), "contains NaN"),
    "one class": (X, np.zeros(400), "at least 2 classes"),
    "labels of several types": (X, np.array([1, "a"] * 200, dtype=object), "Unknown label type|of one type|mix of"),
    "texts": (["a text"] * 400, Y, "Expected 2D array"),
}


@each
@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_refused_and_leave_the_model_as_it_was(model, name):
    rows, labels, words = BAD[name]
    model = clone(model).fit(X, Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.fit(rows, labels)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("model", "wrong", "words"),
    [
        (VOTED, {"kernel": "polly"}, "must be .* Did you mean 'poly'"),
        (VOTED, {"degree": 0}, r"'degree' parameter of VotedPerceptronClassifier must be an int in the range \[1"),
        (VOTED, {"margin": -1.0}, "'margin' parameter"),
        (VOTED, {"memory_limit": "2XB"}, "memory_limit"),
        (AVERAGED, {"multiclass": "all"}, "'multiclass' parameter"),
        (WINNOW, {"promotion": 1.0}, "'promotion' parameter"),
        (BAYES, {"alpha": -1.0}, "'alpha' parameter"),
        (ADATRON, {"tol": 1.0}, "'tol' parameter"),
    ],
)
def test_parameters_out_of_range_are_refused(model, wrong, words):
    with pytest.raises(ValueError, match=words):
        clone(model).set_params(**wrong).fit(X, Y)


@each
def test_rows_to_predict(model):
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    model = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(X[:, :5])


@each_in_batches
def test_labels_that_the_first_batch_did_not_name(model):
    model = clone(model).partial_fit(X[:100], np.minimum(Y[:100], 4), classes=range(5))
    before = model.decision_function(X)
    with pytest.raises(VotronError, match=r"among the classes \[0, 1, 2, 3, 4\].* Got 9 instead"):
        model.partial_fit(X[:2], [1, 9])
    with pytest.raises(VotronError, match=r"'classes' parameter of .* must be the same at every call"):
        model.partial_fit(X[:2], [1, 2], classes=range(6))
    assert np.array_equal(model.decision_function(X), before)
    model.partial_fit(X[:2], [1, 2], classes=[4, 3, 2, 1, 0])


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        (VOTED, {"degree": 2, "kernel": "poly"}),
        (AVERAGED, {"margin": 1.0}),
        (AVERAGED, {"multiclass": "ovr"}),
        (AVERAGED, {"fit_intercept": False}),
        (WINNOW, {"promotion": 3.0}),
        (WINNOW, {"binarize": 1.0}),
        (BAYES, {"alpha": 0.5}),
        (BAYES, {"binarize": 1.0}),
    ],
)
def test_parameters_that_may_not_change_between_batches(model, changed):
    model = clone(model).partial_fit(X[:100], Y[:100], classes=range(10))
    with pytest.raises(VotronError, match="must be the same at every call of partial_fit"):
        model.set_params(**changed).partial_fit(X, Y)
    model.fit(X, Y)


@each_in_batches
def test_a_batch_that_fails_is_forgotten(model):
    model = clone(model).partial_fit(X[:100], Y[:100], classes=range(10))
    before = copy.deepcopy(model)
    for rows in (WITH_NAN, X[:, :5]):
        with pytest.raises(ValueError, match=r"NaN|features"):
            model.partial_fit(rows, Y)
    assert model.history_ == before.history_
    assert np.array_equal(model.partial_fit(X, Y).decision_function(X), before.partial_fit(X, Y).decision_function(X))


def interrupting(monkeypatch, times):
    """Press Ctrl-C when training first reports progress."""
    report, pressed = _training.Watch.update, []

    def update(self, *where):
        report(self, *where)
        if not pressed:
            pressed.append(where)
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_training.Watch, "update", update)


@each_watched
def test_ctrl_c_leaves_a_fitted_model_of_what_was_learnt(model, monkeypatch):
    model = clone(model)
    with monkeypatch.context() as patched:
        interrupting(patched, times=1)
        with pytest.raises(KeyboardInterrupt, match="the model has what it learnt until then"):
            model.fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert model.history_.interrupted
    shorter = clone(model).set_params(epochs=model.n_epochs_).fit(X, Y)
    assert np.array_equal(model.decision_function(X), shorter.decision_function(X))


@each_watched
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_second_ctrl_c_leaves_the_model_as_it_was(model, method, monkeypatch):
    model = clone(model).fit(X[:200], Y[:200])
    before = pickle.dumps(model)
    interrupting(monkeypatch, times=2)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(X, Y)
    assert pickle.dumps(model) == before


@each_watched
def test_progress_is_shown_on_standard_error(model, capsys):
    clone(model).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    clone(model).set_params(verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fit 100%, epoch 3, " in err
