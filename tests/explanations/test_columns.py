"""What columns do to a score, beside the definition spelt out with `decision_function`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import thorough

from votron import (
    VotedPerceptronClassifier,
    table_classifier,
)

TABLE = pd.read_csv("tests/data/tables/penguins.csv").dropna(subset="Sex").query("Sex != '.'").reset_index(drop=True)
X, y = TABLE.drop(columns=["Sex", "Species"]), TABLE["Species"]


def textbook(model, rows, i, support, columns):
    """Return for each column the score of the row less its mean score with that column of other rows."""
    scores = model.decision_function(rows[[i]])[0]
    label, against = np.argsort(-scores, kind="stable")[:2]
    others = support[np.unique(np.linspace(0, len(support) - 1, 64).round().astype(int))]
    found = {}
    for name, places in columns.items():
        changed = np.array([rows[i]] * len(others))
        for row, other in zip(changed, others, strict=True):
            row[places] = other[places]
        changed = model.decision_function(changed)
        found[name] = float(np.mean(scores[label] - scores[against] - (changed[:, label] - changed[:, against])))
    return found


@thorough(20)
@given(seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(["vote", "average", "last"]))
def test_effects_are_those_of_the_definition(seed, rule):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(24, 4)).round(2)
    labels = np.arange(24) % 3
    rng.shuffle(labels)
    model = VotedPerceptronClassifier(rule=rule, epochs=2, random_state=0).fit(data, labels)
    found = model.explain(data[:3], feature_names=list("abcd"))
    columns = {name: [i] for i, name in enumerate("abcd")}
    for i in range(3):
        expected = textbook(model, data, i, data[model.support_], columns)
        assert {each.column: each.change for each in found[i].columns} == pytest.approx(expected, abs=1e-9)
        sizes = [abs(each.change) for each in found[i].columns]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_whole_numbers_take_the_fractions_of_others(dtype, sparse):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(80, 3))
    model = VotedPerceptronClassifier(random_state=0).fit(data, data[:, 0] + 0.3 * data[:, 1] > 0)
    row = np.array([[1.0, 0.0, 1.0]])
    as_given = sp.csr_matrix(row.astype(dtype)) if sparse else row.astype(dtype)
    found, expected = (model.explain(x, feature_names=list("abc"))[0] for x in (as_given, row))
    assert [(each.column, each.change) for each in found.columns] == [
        (each.column, pytest.approx(each.change)) for each in expected.columns
    ]


def test_a_column_of_words_is_one_column():
    model = table_classifier(X, VotedPerceptronClassifier(random_state=0), missing="mean").fit(X, y)
    why = model.explain(X[:1])[0]
    assert {each.column for each in why.columns} == set(X.columns)
    encoded = np.asarray(model[:-1].transform(X))
    width = encoded.shape[1]
    columns = {"Island": [i for i in range(width) if set(np.unique(encoded[:, i])) <= {0.0, 1.0}]}
    assert len(columns["Island"]) == 3
    expected = textbook(model[-1], encoded, 0, encoded[model[-1].support_], columns)
    found = {each.column: each for each in why.columns}
    assert found["Island"].change == pytest.approx(expected["Island"], abs=1e-9)
    assert found["Island"].name == "Island = Torgersen"
    assert found["Beak Length (mm)"].name == "Beak Length (mm) = 39.1"


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_are_told_by_what_the_row_held(library):
    """Also where a step filled in what was missing, or made several features of a value."""
    rows = library(
        {
            "size": [1.0, 2.0, None, 4.0] * 5,
            "city": ["Lyon", "Oslo", "Rome", None] * 5,
            "day": ["2024-01-31", "2024-02-01", None, "2024-03-01"] * 5,
        }
    )
    model = table_classifier(rows, VotedPerceptronClassifier(random_state=0), missing="mean").fit(rows, [0, 1] * 10)
    told = [{effect.column: effect.name for effect in why.columns} for why in model.explain(rows[:4])]
    assert told[1] == {"size": "size = 2", "city": "city = Oslo", "day": "day = 2024-02-01"}
    assert told[2] == {
        "size": "size missing, taken as 2.333",
        "city": "city = Rome",
        "day": "day missing, taken as 2024-02-10",
    }
    assert told[3] == {"size": "size = 4", "city": "city missing", "day": "day = 2024-03-01"}
