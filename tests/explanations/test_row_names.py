"""What rows are called: training rows as the rows that are explained, by the index of the frame that they came in."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votron import (
    KernelAdatronClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    explain,
    load,
    table_classifier,
)

TABLE = pd.read_csv("tests/data/tables/penguins.csv").query("Sex in ('MALE', 'FEMALE')")[::3]
X, y = TABLE.drop(columns="Sex"), TABLE["Sex"]
NUMBERS = X.select_dtypes("number")
DAYS = pd.date_range("2024-01-01", periods=len(TABLE))
assert TABLE.index.tolist() != list(range(len(TABLE)))


def voted(**params):
    return VotedPerceptronClassifier(random_state=0, **params)


def called(model, frame, i=0):
    """Return what the explained row and the training rows are called, by position."""
    (why,) = explain(model, frame[i : i + 1], top=None)
    return why.name, {term.index: term.name for term in why.examples.largest}


@pytest.mark.parametrize(
    "fitted",
    [
        lambda: voted().fit(NUMBERS, y),
        lambda: KernelAdatronClassifier(kernel="rbf", C=1.0).fit(NUMBERS, y),
        lambda: VotedPerceptronClassifierCV(kernels=["rbf"], epochs=2, cv=2, random_state=0).fit(NUMBERS, y),
        lambda: make_pipeline(StandardScaler(), voted()).fit(NUMBERS, y),
        lambda: table_classifier(X, voted()).fit(X, y).compact(),
    ],
)
def test_training_rows_are_called_as_the_row_that_is_explained(fitted):
    model = fitted()
    rows = X if "Species" in getattr(model, "feature_names_in_", ()) else NUMBERS
    name, others = called(model, rows)
    assert name == f"index {TABLE.index[0]}"
    assert others
    assert all(other == f"index {TABLE.index[row]}" for row, other in others.items())


def test_suspects_are_called_so_too():
    for model in (voted().fit(NUMBERS, y), table_classifier(X, voted()).fit(X, y)):
        found = model.suspects(5)
        assert found.names == [f"index {TABLE.index[row]}" for row in found.row]


@pytest.mark.parametrize("index", [pd.RangeIndex(len(TABLE)), pd.Index(np.arange(len(TABLE)))])
def test_an_index_that_counts_from_0_is_the_position_and_is_not_kept(index):
    frame = NUMBERS.set_axis(index)
    model = voted().fit(frame, y.to_numpy())
    assert not hasattr(model, "row_names_")
    name, others = called(model, frame, 7)
    assert name == "row 7"
    assert all(other == f"row {row}" for row, other in others.items())


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.Index([f"bird {i}" for i in range(len(TABLE))]), [f"bird {i}" for i in range(len(TABLE))]),
        (DAYS, DAYS.strftime("%Y-%m-%d")),
        (pd.MultiIndex.from_arrays([["a"] * len(TABLE), range(len(TABLE))]), [f"a, {i}" for i in range(len(TABLE))]),
        (pd.Index(["twice"] * len(TABLE)), ["twice"] * len(TABLE)),
    ],
    ids=["texts", "days", "levels", "not unique"],
)
def test_labels_of_every_kind(index, names, tmp_path):
    frame = NUMBERS.set_axis(index)
    model = voted().fit(frame, y.to_numpy())
    name, others = called(model, frame)
    assert (name, others) == (names[0], {row: names[row] for row in others})
    model.save(tmp_path / "m.votron")
    for each in (load(tmp_path / "m.votron"), pickle.loads(pickle.dumps(model))):
        assert called(each, frame) == (name, others)


def test_rows_of_weight_0_do_not_shift_names():
    weights = np.arange(len(TABLE)) % 4 > 0
    search = VotedPerceptronClassifierCV(kernels=["rbf"], epochs=2, cv=2, random_state=0)
    for estimator in (voted(), search):
        estimator.fit(NUMBERS, y, sample_weight=weights)
        model = getattr(estimator, "best_estimator_", estimator)
        assert model.row_names_ == {row: f"index {TABLE.index[row]}" for row in model.support_.tolist()}
        assert all(weights[row] for row in model.row_names_)


def test_rows_that_come_later_are_numbered_by_presentation():
    half = len(TABLE) // 2
    model = voted(gamma=0.1).fit(NUMBERS[:half], y[:half])
    named = dict(model.row_names_)
    model.partial_fit(NUMBERS[half:], y[half:])
    _, others = called(model, NUMBERS)
    assert all(other == named.get(row, f"row {row}") for row, other in others.items())
    assert any(row >= half for row in others)
