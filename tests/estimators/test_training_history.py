"""The history of training: what estimators write down of how they came about."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    WinnowClassifier,
)
from votron.history import Fingerprint

X, Y = load_iris(return_X_y=True)
VOTED = VotedPerceptronClassifier(gamma=0.5, random_state=3)
ALL = [
    VOTED,
    AveragedPerceptronClassifier(random_state=3),
    WinnowClassifier(binarize=1.0, random_state=3),
    NaiveBayesLinearClassifier(binarize=1.0),
    KernelAdatronClassifier(C=1.0),
]
IN_BATCHES = ALL[:4]


@pytest.mark.parametrize("model", IN_BATCHES, ids=lambda model: type(model).__name__)
def test_batches_add_up(model):
    whole, stream = clone(model).fit(X, Y), clone(model)
    for start in range(0, 150, 40):
        stream.partial_fit(X[start : start + 40], Y[start : start + 40], classes=[0, 1, 2])
    history = stream.history_
    assert (history.n_rows, history.n_batches, history.n_epochs, history.passes) == (150, 4, 4.0, 1.0)
    assert history.fingerprint.difference(whole.history_.fingerprint) is None
    assert not history.rows_repeated
    if not isinstance(model, NaiveBayesLinearClassifier):
        assert not history.presented_unequally
        assert whole.partial_fit(X[:5], Y[:5]).history_.presented_unequally


@pytest.mark.parametrize("model", [ALL[0], ALL[1], ALL[4]], ids=lambda model: type(model).__name__)
def test_rows_of_weight_0_count_as_given(model):
    weights = np.where(np.arange(150) % 7 == 0, 0.0, 2.0)
    history = clone(model).fit(X, Y, sample_weight=weights).history_
    assert (history.n_rows, history.n_zero_weight, history.n_examples) == (150, 22, 128)
    codes = np.where(weights > 0, Y, -1)
    assert history.fingerprint.difference(Fingerprint.of(X, codes)) is None


def test_choices_and_how_training_went_are_told():
    model = clone(VOTED).set_params(gamma="scale", rule="auto", early_stopping=True).fit(X, Y)
    history = model.history_
    assert (history.gamma_from, history.end_chosen_by, history.seed) == ("scale", "early_stopping", 3)
    assert history.chosen_rule == model.rule_
    assert history.n_held_out == 15
    assert history.n_examples == model.record_.n_examples == 135
    best = clone(VOTED).fit(X, Y).with_best_moment(X, Y)
    assert best.history_.end_chosen_by == "with_best_moment"
    unseeded = clone(VOTED).set_params(random_state=None, epochs=0.5).fit(X, Y)
    assert unseeded.history_.shuffled
    assert unseeded.history_.seed is None
    assert not unseeded.history_.rows_repeated
    with pytest.raises(dataclasses.FrozenInstanceError):
        history.n_rows = 7


def test_rows_that_cannot_be_learnt_are_counted():
    rows = np.where(np.arange(150)[:, None] % 10 == 0, 0.0, X)
    with pytest.warns(UserWarning, match="15 of 150 rows have K"):
        history = VotedPerceptronClassifier(kernel="linear", random_state=0).fit(rows, Y).history_
    assert (history.n_rows, history.n_unlearnable, history.n_examples) == (150, 15, 135)
