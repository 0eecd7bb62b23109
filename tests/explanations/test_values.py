"""Values in words: of rows that are explained as they came, of training rows as their features tell, or missing."""

import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron import (
    AveragedPerceptronClassifier,
    TableEncoder,
    VotedPerceptronClassifier,
    explain,
    load,
    table_classifier,
)
from votron.explanations import strongest_features

WEATHER = pd.read_csv("tests/data/tables/seattle-weather.csv")[::5].reset_index(drop=True)
X, y = WEATHER[["date", "wind"]], WEATHER["weather"]
PENGUINS = pd.read_csv("tests/data/tables/penguins.csv").query("Sex in ('MALE', 'FEMALE')")
NUMBERS = PENGUINS.select_dtypes("number").dropna()
SEX = PENGUINS["Sex"][NUMBERS.index]


def voted(**params):
    return VotedPerceptronClassifier(random_state=0, epochs=2, **params)


def averaged(**params):
    return AveragedPerceptronClassifier(random_state=0, **params)


LINEAR = [averaged, lambda: voted(kernel="linear", rule="average")]


def values_of(model, rows):
    (why,) = explain(model, rows, top=None)
    return {term.name: term.value for term in why.features.largest}


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [MinMaxScaler(), RobustScaler()],
        [SimpleImputer(), StandardScaler(), VarianceThreshold()],
        [StandardScaler(), SelectKBest(k=2)],
    ],
    ids=str,
)
def test_scaling_is_undone_step_by_step(steps):
    model = make_pipeline(*steps, averaged()).fit(NUMBERS, SEX)
    found = values_of(model, NUMBERS[:1])
    assert len(found) >= 2
    assert found == pytest.approx({name: NUMBERS[name].iloc[0] for name in found})


@pytest.mark.parametrize("numeric", ["standard", "robust", "minmax", "maxabs", "keep"])
def test_the_scaling_of_tables_is_undone(numeric):
    model = table_classifier(NUMBERS, averaged(), numeric=numeric).fit(NUMBERS, SEX)
    assert values_of(model, NUMBERS[:1]) == pytest.approx(NUMBERS.iloc[0].to_dict())


@pytest.mark.parametrize(
    "words",
    [TfidfVectorizer(), make_pipeline(CountVectorizer(), TfidfTransformer()), HashingVectorizer(n_features=64)],
    ids=["tfidf", "counts", "hashing"],
)
def test_words_are_features(words):
    texts = pd.Series(["rain wind", "sun day", "wind", "day"])
    model = make_pipeline(words, averaged()).fit(texts, list("nyny"))
    assert set(values_of(model, texts[:1])) == {"rain", "wind"}
    assert strongest_features(model)["y"][0][0] == "day" or isinstance(words, HashingVectorizer)


@pytest.mark.parametrize("text_features", ["tfidf", "hashing"])
def test_words_of_a_column_are_called_by_it(text_features):
    frame = pd.DataFrame({"text": ["rain wind", "sun", "sun day", "wind rain"] * 3, "temp": [5.0, 8.0, 9.0, 4.0] * 3})
    encoder = TableEncoder(text="text", text_features=text_features, n_text_features=64)
    model = make_pipeline(encoder, averaged()).fit(frame, list("nyyn") * 3)
    assert set(values_of(model, frame[:1])) == {"text: rain", "text: wind", "temp"}


@pytest.mark.parametrize("dates", ["cyclic", "onehot"])
@pytest.mark.parametrize("after", ["passthrough", StandardScaler()], ids=str)
def test_dates_of_training_rows_are_told_from_their_features(dates, after):
    model = make_pipeline(TableEncoder(dates=dates), after, voted()).fit(X, y)
    (why,) = explain(model, X[:1], top=None)
    told = {term.index: term.about.split("date = ")[1] for term in why.examples.largest if "date = " in term.about}
    assert len(told) > 10
    for row, words in told.items():
        day = pd.Timestamp(X["date"][row])
        assert words.startswith(X["date"][row] if dates == "cyclic" else f"{day.year} {day:%B} {day:%A}")


def test_what_other_steps_leave_is_not_read_as_a_date():
    model = make_pipeline(TableEncoder(), Normalizer(), voted()).fit(X, y)
    (why,) = explain(model, X[:1])
    assert not any("date = 201" in term.about for term in why.examples.largest)


def test_training_rows_are_told_by_columns_after_loading_too(tmp_path):
    rows, labels = PENGUINS.drop(columns=["Sex"]), PENGUINS["Sex"]
    model = table_classifier(rows, voted(), missing="mean").fit(rows, labels)
    model.save(tmp_path / "m.votron")
    for each in (model, load(tmp_path / "m.votron")):
        (why,) = each.explain(rows[:1], top=None)
        for term in why.examples.largest:
            for item in term.about.removesuffix(", ...").split(", "):
                column, value = item.split(" = ")
                held = rows.iloc[term.index][column]
                assert str(held) == value or float(value) == pytest.approx(held, rel=1e-3)


@pytest.mark.parametrize("make", LINEAR)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_linear_models_say_what_was_missing_and_taken_as_what(make, library):
    rows = library({"size": [1.0, 2.0, None, 5.0, 9.0] * 4, "city": ["Lyon", "Oslo", "Rome", "Oslo", None] * 4})
    model = table_classifier(rows, make(), missing="median").fit(rows, ["a", "b", "a", "b", "b"] * 4)
    assert model.explain(rows[:1])[0].missing == {}
    (why,) = model.explain(rows[2:3], top=None)
    assert why.missing == {"size": "size missing, taken as 3.5"}
    assert {term.name: term.missing for term in why.features.largest} == {"size": True, "city=Rome": False}
    assert "city missing" in str(model.explain(rows[4:5])[0])
    assert why.to_dict()["missing"] == why.missing
