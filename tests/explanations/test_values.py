"""Values in words: of training rows as far as features tell, of rows that are explained as they came, or missing."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from votron import (
    AveragedPerceptronClassifier,
    VotedPerceptronClassifier,
    VotronError,
    explain,
    load,
    table_classifier,
    tabular_encoder,
)
from votron.data._columns import _Date
from votron.explanations.features import names_after

WEATHER = pd.read_csv("tests/data/tables/seattle-weather.csv")[::5].reset_index(drop=True)
X, y = WEATHER.drop(columns="weather"), WEATHER["weather"]
PENGUINS = pd.read_csv("tests/data/tables/penguins.csv").query("Sex in ('MALE', 'FEMALE')")


def voted(**params):
    return VotedPerceptronClassifier(random_state=0, epochs=2, **params)


def averaged():
    return AveragedPerceptronClassifier(random_state=0)


def in_words(day, hours=False):
    day = pd.Timestamp(day)
    return f"{day.day_name()} in {day.month_name()} {day.year}" + (f", hour {day.hour}" if hours else "")


# -- dates of training rows -------------------------------------------------------------------------------------------


def dates_told(model, rows):
    """Return for each training row that is named what is told of its date."""
    (why,) = explain(model, rows[:1], top=None)
    told = {term.index: term.about for term in why.examples.largest}
    assert not any("sine" in about or " of date" in about for about in told.values())
    found = {row: about.split("date = ")[1].removesuffix(", ...") for row, about in told.items() if "date = " in about}
    assert len(found) > 10
    return found


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("columns", [["date", "wind"], ["wind", "date"]])
def test_dates_of_training_rows_are_one_value_and_no_day(how, kernel, columns, tmp_path):
    rows = X[columns]
    model = table_classifier(rows, voted(kernel=kernel), dates=how).fit(rows, y)
    model.save(tmp_path / "m.votron")
    for each in (model, load(tmp_path / "m.votron")):
        for row, told in dates_told(each, rows).items():
            assert told.startswith(in_words(X["date"][row]))


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
@pytest.mark.parametrize("after", [MaxAbsScaler(), StandardScaler(), SimpleImputer(), "passthrough"], ids=str)
def test_dates_are_read_through_steps_that_can_be_undone(how, after):
    rows = X[["wind", "date"]]
    model = make_pipeline(tabular_encoder(rows, dates=how), after, voted()).fit(rows, y)
    for row, told in dates_told(model, rows).items():
        assert told.startswith(in_words(X["date"][row]))


@pytest.mark.parametrize("after", [Normalizer(), SelectKBest(k=3)], ids=str)
def test_what_other_steps_leave_is_not_read_as_a_date(after):
    rows = X[["wind", "date"]]
    model = make_pipeline(tabular_encoder(rows), after, voted()).fit(rows, y)
    assert names_after([step for _, step in model.steps[:-1]]).readers == {}
    (why,) = explain(model, rows[:1])
    assert not any(day in term.about for term in why.examples.largest for day in (" in 2012", "day in "))


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_hours_are_told_and_every_date_is_read_as_it_was_encoded(how, library):
    times = pd.date_range("1999-12-31 23:30", "2004-03-01", freq="997h")
    frame = library({"when": [str(each) for each in times]})
    encoder = tabular_encoder(frame, dates=how).fit(frame)
    names, rows = names_after([encoder], frame), np.asarray(encoder.transform(frame))
    reader = names.readers["when"]
    for row, time in zip(rows, times, strict=True):
        told = reader.words([names.original(i, row[i]) for i in reader.places])
        assert told == in_words(time, hours=True)


def test_only_the_parts_that_are_known_are_told():
    cyclic, onehot = _Date("cyclic", 2012, 2015), _Date("onehot", 2012, 2015)
    assert cyclic.column_in_words([2013.4, 0.01, 0.02, -0.03, 0.0]) == ""
    assert cyclic.column_in_words([2013.4, 0.5, round(math.sqrt(3) / 2, 12), 0.0, 1.0]) == ""
    assert cyclic.column_in_words([2013.0, 0.5, round(math.sqrt(3) / 2, 12), 0.0, 1.0]) == "Monday in February 2013"
    assert cyclic.column_in_words([math.nan] * 5) == ""
    of_2020 = onehot._features(pd.Series(["2020-02-07"]), "day")[0]
    assert onehot.column_in_words(of_2020) == "Friday in February"
    assert onehot.column_in_words([0.0] * len(of_2020)) == ""


def test_a_training_row_without_a_date_has_none():
    rows = X[["date", "wind"]].copy()
    rows.loc[::2, "date"] = None
    model = table_classifier(rows, voted(), missing="mean").fit(rows, y)
    (why,) = model.explain(rows[1:2], top=None)
    abouts = {term.index: term.about for term in why.examples.largest}
    for row, about in abouts.items():
        told = "date missing" if row % 2 == 0 else f"date = {in_words(X['date'][row])}"
        assert told in about or "date" not in about
    assert any("date missing" in about for about in abouts.values())


def test_a_date_that_is_explained_is_shown_as_a_day_whatever_its_type():
    texts = X[["date", "wind"]]
    for rows in (texts, texts.assign(date=pd.to_datetime(texts["date"])), pl.from_pandas(texts)):
        model = table_classifier(rows, voted()).fit(rows, y)
        (why,) = model.explain(rows[3:4])
        assert {each.column: each.name for each in why.columns}["date"] == f"date = {texts['date'][3]}"


def test_training_rows_of_words_and_numbers_are_told_as_before_by_columns():
    rows, labels = PENGUINS.drop(columns=["Sex"]), PENGUINS["Sex"]
    model = table_classifier(rows, voted(), missing="mean").fit(rows, labels)
    (why,) = model.explain(rows[:1], top=None)
    for term in why.examples.largest:
        held = rows.iloc[term.index]
        for item in term.about.removesuffix(", ...").split(", "):
            column, value = item.replace(" = ", "=").split("=")
            assert str(held[column]) == value or float(value.replace(",", "")) == pytest.approx(held[column], rel=1e-3)
    assert all(len(line) <= 120 for line in str(why).splitlines())


# -- what is missing --------------------------------------------------------------------------------------------------

LINEAR = [averaged, lambda: voted(kernel="linear", rule="average"), lambda: voted(kernel="linear")]


@pytest.mark.parametrize("make", LINEAR)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_linear_models_say_what_was_missing_and_taken_as_what(make, library):
    rows = library(
        {
            "size": [1.0, 2.0, None, 5.0, 9.0] * 4,
            "city": ["Lyon", "Oslo", "Rome", "Oslo", None] * 4,
            "day": ["2024-01-31", "2024-02-01", None, "2024-03-01", "2023-05-05"] * 4,
        }
    )
    model = table_classifier(rows, make(), missing="median").fit(rows, ["a", "b", "a", "b", "b"] * 4)
    (there,) = model.explain(rows[:1], top=None)
    assert there.missing == {}
    assert not any(term.missing for term in there.features.largest)
    (why,) = model.explain(rows[2:3], top=None)
    assert why.missing["size"] == "size missing, taken as 3.5"
    missing = {term.name: term.missing for term in why.features.largest}
    assert missing["size"]
    assert not missing["city=Rome"]
    assert all(gone for name, gone in missing.items() if name.endswith(("sine)", "of day")))
    assert "size missing, taken as 3.5" in str(why)
    assert "city missing" not in str(why)
    (wordless,) = model.explain(rows[4:5])
    assert "not shown above: city missing" in str(wordless)
    frame = model.explain(rows[2:3], top=None).to_frame()
    told = frame[frame["kind"] == "features"].set_index("name")["missing"].to_dict()
    assert {name: told[name] for name in missing} == missing
    document = why.to_dict()
    assert document["missing"] == why.missing
    terms = [term for side in ("for", "against") for term in document["features"][side]]
    assert {term["name"] for term in terms if term.get("missing")} == {name for name, gone in missing.items() if gone}


@pytest.mark.parametrize("make", [*LINEAR, voted])
def test_what_is_taken_as_a_mean_adds_nothing_and_is_said_nevertheless(make):
    rows = PENGUINS.drop(columns=["Sex"]).copy()
    model = table_classifier(rows, make(), missing="mean").fit(rows, PENGUINS["Sex"])
    mean = rows["Beak Depth (mm)"].mean()
    one = rows[:1].assign(**{"Beak Depth (mm)": np.nan})
    (why,) = model.explain(one)
    assert str(why).count(f"Beak Depth (mm) missing, taken as {mean:.4g}") == 1


def test_steps_of_scikit_learn_fill_in_too():
    numbers = PENGUINS.select_dtypes("number").copy()
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), averaged()).fit(numbers, PENGUINS["Sex"])
    median = numbers["Body Mass (g)"].median()
    (why,) = explain(model, numbers[:1].assign(**{"Body Mass (g)": np.nan}), top=None)
    terms = {term.name: term for term in why.features.largest}
    assert terms["Body Mass (g)"].missing
    assert terms["Body Mass (g)"].value == pytest.approx(median)
    assert f"Body Mass (g) missing, taken as {median:.4g}" in str(why)
    assert [term.name for term in terms.values() if term.missing] == ["Body Mass (g)"]


def test_a_number_that_is_1_is_shown():
    rows = pd.DataFrame({"children": [1, 2, 3, 1, 5, 6] * 3, "cabin": ["A", "B"] * 9})
    model = table_classifier(rows, averaged()).fit(rows, ["yes", "no"] * 9)
    text = str(model.explain(rows[:1]))
    assert "children = 1" in text
    assert "cabin=A " in text


# -- one row ----------------------------------------------------------------------------------------------------------


def sentence(what):
    return (
        "The X of explain must be a table of rows, one or more: of a frame pass frame.loc[[label]], of an array "
        f"X[[i]]. Got {what} instead."
    )


@pytest.mark.parametrize("make", [voted, averaged])
@pytest.mark.parametrize(
    ("row", "what"),
    [
        (lambda frame: frame.iloc[0], "a Series of 4 values"),
        (lambda frame: frame.to_numpy()[0], "an array of 4 values"),
        (lambda frame: frame.to_numpy()[0].tolist(), "a list of 4 values"),
        (lambda frame: frame.iloc[0].to_dict(), "a dict of 4 values"),
        (lambda frame: pl.from_pandas(frame)[:, 0], "a Series of 333 values"),
    ],
    ids=["series", "array", "list", "dict", "polars"],
)
def test_one_row_is_refused_with_what_to_pass(make, row, what):
    numbers = PENGUINS.select_dtypes("number")
    alone = make().fit(numbers, PENGUINS["Sex"])
    plain = make_pipeline(StandardScaler(), make()).fit(numbers, PENGUINS["Sex"])
    table = table_classifier(numbers, make()).fit(numbers, PENGUINS["Sex"])
    for model in (alone, plain, table):
        with pytest.raises(VotronError) as caught:
            explain(model, row(numbers))
        assert str(caught.value) == sentence(what)
    for model in (alone, table):
        with pytest.raises(VotronError) as caught:
            model.explain(row(numbers))
        assert str(caught.value) == sentence(what)


def test_texts_come_one_by_one():
    texts = pd.Series(["rain wind", "sun day", "wind", "day"])
    model = make_pipeline(TfidfVectorizer(), averaged()).fit(texts, list("nyny"))
    for rows in (texts, texts.tolist(), texts.to_numpy(dtype=object)):
        assert len(explain(model, rows)) == 4
