"""The encoder of tables against the textbook: every column by itself, in both libraries of frames."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from votron.errors import DataError, VotronError
from votron.tables import TableEncoder

FRAMES = [pd.DataFrame, pl.DataFrame]
DAYS = {
    "Outlook": ["Rainy", "Sunny", None, "Sunny ", "Cloudy"],
    "Temp": [85.0, 87.0, None, 71.0, 71.0],
    "Holiday": [True, False, None, False, False],
    "Rain": [0.5, 0.25, 0.125, None, 1.0],
    "Zip": [8001, 9000, 8001, 8001, 8001],
    "Note": ["warm rain all day", None, "rain at night", "a warm day", "night"],
}
ROLES = {"discrete": ["Zip"], "probabilities": ["Rain"], "text": "Note"}
FILLED = {
    "mean": np.nanmean,
    "median": np.nanmedian,
    "most-frequent": lambda v: max(sorted(v[~np.isnan(v)]), key=v.tolist().count),
}
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def one(values, **params):
    """The features of a table of one column."""
    frame = pd.DataFrame({"x": values})
    encoder = TableEncoder(**params).fit(frame)
    return encoder, dense(encoder.transform(frame))


def textbook(numeric, missing, words):
    """The vectors, a column at a time."""
    parts = []
    for name, values in DAYS.items():
        if name in ("Outlook", "Zip"):
            plain = [value.strip() if isinstance(value, str) else value for value in values]
            known = [value for value in dict.fromkeys(plain) if value is not None]
            parts.append(np.array([[value == each for each in known] for value in plain], dtype=float))
        elif name == "Note":
            parts.append(words.fit_transform([value or "" for value in values]).toarray())
        else:
            numbers = np.array([np.nan if value is None else float(value) for value in values])
            numbers[np.isnan(numbers)] = FILLED[missing](numbers) if missing in FILLED else np.nan
            numbers = numbers[:, None]
            parts.append(
                SCALERS[numeric]().fit_transform(numbers) if name == "Temp" and numeric in SCALERS else numbers
            )
    return np.hstack(parts)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("numeric", ["standard", "minmax", "maxabs", "keep"])
@pytest.mark.parametrize("missing", ["keep", "mean", "median", "most-frequent"])
def test_vectors_are_the_textbooks(frame, numeric, missing):
    for text_features, words in (
        ("tfidf", TfidfVectorizer()),
        ("hashing", HashingVectorizer(n_features=64, alternate_sign=False)),
    ):
        options = {"numeric": numeric, "missing": missing, "text_features": text_features, "n_text_features": 64}
        encoder = TableEncoder(**options, **ROLES, rare=1)
        expected = textbook(numeric, missing, words)
        found = clone(encoder).fit_transform(frame(DAYS))
        assert sp.issparse(found) == (text_features == "hashing")
        np.testing.assert_allclose(dense(found), expected)
        assert len(clone(encoder).fit(frame(DAYS)).get_feature_names_out()) == expected.shape[1]


@pytest.mark.parametrize(("fitted", "used"), [FRAMES, FRAMES[::-1]])
def test_the_libraries_can_be_mixed_and_columns_come_in_any_order(fitted, used):
    encoder = TableEncoder(missing="mean", **ROLES).fit(fitted(DAYS))
    other = used(DAYS | {"Other": range(5)})[["Other", *reversed(DAYS)]]
    np.testing.assert_array_equal(dense(encoder.transform(other)), dense(encoder.transform(fitted(DAYS))))


@given(st.data())
def test_batches_make_the_encoder_of_all_rows(data):
    n = data.draw(st.integers(2, 30))
    drawn = {
        "n": data.draw(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=n, max_size=n)),
        "w": data.draw(st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", " c"])), min_size=n, max_size=n)),
        "d": data.draw(st.lists(st.one_of(st.none(), st.dates()), min_size=n, max_size=n)),
    }
    for values in drawn.values():
        values[0] = next((value for value in values if value is not None), None)
    if any(values[0] is None for values in drawn.values()):
        return
    frame = pl.DataFrame(drawn, schema={"n": pl.Float64, "w": pl.String, "d": pl.Date})
    cut = data.draw(st.integers(1, n))
    options = {"missing": "mean", "numeric": data.draw(st.sampled_from(["standard", "minmax", "keep"]))}
    whole, parts = TableEncoder(**options).fit(frame), TableEncoder(**options).partial_fit(frame[:cut])
    if cut < n:
        parts.partial_fit(frame[cut:])
    assert whole.get_feature_names_out().tolist() == parts.get_feature_names_out().tolist()
    np.testing.assert_allclose(dense(whole.transform(frame)), dense(parts.transform(frame)), rtol=1e-6, atol=1e-6)


def test_robust_scaling_keeps_outliers_near():
    encoder, found = one([*range(100), 1e9], numeric="robust")
    assert abs(found).max() <= 3.0
    assert np.std(found[:100]) == pytest.approx(0.75, abs=0.2)
    assert encoder.columns_[0].in_units(0, float(found[7, 0])) == pytest.approx(7)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["$1,234.50", "$7", "-$2.5"], [1234.5, 7, -2.5]),
        (["6.1%", "12 %", None], [6.1, 12, np.nan]),
        (["1.234,50 €", "-12 €", "3,5"], [1234.5, -12, 3.5]),
        (["1'234.5", "(7.25)", "+3"], [1234.5, -7.25, 3]),
        (["1,234", "12,345", "$1"], [1234, 12345, 1]),
        (["1,234,567", "2.5"], [1234567, 2.5]),
        (["1 234,5", "7,25"], [1234.5, 7.25]),
    ],
)
def test_numbers_in_disguise(texts, expected):
    encoder, found = one(texts, numeric="keep", missing="keep")
    np.testing.assert_array_equal(found[:, 0], expected)
    assert "numbers written as text" in encoder.remarks_[0]


@given(st.lists(st.decimals(-(10**7), 10**7, places=2), min_size=1, max_size=10), st.booleans())
def test_written_numbers_are_read_back(values, comma):
    texts = [f"{value:,.2f} €" for value in values]
    if comma:
        texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    _, found = one(texts, numeric="keep")
    np.testing.assert_allclose(found[:, 0], [float(value) for value in values])


@pytest.mark.parametrize("texts", [["007", "12"], ["12", "13"], ["1.5", "n/a"], ["$5", "5 €"], ["1,5", "1.5"]])
def test_other_texts_stay_text(texts):
    encoder, _ = one(texts)
    assert encoder.get_feature_names_out().tolist() == [f"x={text}" for text in texts]


def test_probabilities_are_kept_and_checked():
    with pytest.raises(DataError, match=r"'x' must hold probabilities, from 0 to 1. Got 1.5 instead"):
        one([0.5, 1.5], probabilities="x")
    encoder, found = one([0.5, 0.25], probabilities="x")
    assert found.tolist() == [[0.5], [0.25]]
    with pytest.raises(DataError, match=r"from 0 to 1\. Got -1 instead"):
        encoder.transform(pd.DataFrame({"x": [0.5, -1.0]}))


def test_rare_values_share_a_feature_which_new_values_set_too():
    encoder, found = one(["a"] * 5 + ["b"] * 5 + ["c", "d"], rare=2)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=b", "x=(rare)"]
    assert found[-1].tolist() == [0, 0, 1]
    assert dense(encoder.transform(pd.DataFrame({"x": ["new", None]}))).tolist() == [[0, 0, 1], [0, 0, 0]]
    assert encoder.unseen(pd.DataFrame({"x": ["new", "c"]})) == {("x", "new"): 1}


def test_values_that_differ_in_case_or_blanks_are_named():
    encoder, _ = one(["New York", "new york", "NewYork", "Bern"], rare=1)
    assert "'New York' and 'new york' and 'NewYork'" in encoder.remarks_[0]


def test_declared_categories_keep_their_order_and_number():
    declared = pd.Categorical(["b", "a"], categories=["c", "b", "a"])
    encoder = TableEncoder().fit(pd.DataFrame({"x": declared}))
    enum = TableEncoder().fit(pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Enum(["c", "b", "a"]))}))
    for each in (encoder, enum):
        assert each.get_feature_names_out().tolist() == ["x=c", "x=b", "x=a"]


def test_many_values_become_counts_of_trigrams():
    cities = [f"{name} {i}" for i in range(30) for name in ("Bern", "Lyon")]
    encoder, found = one(cities)
    names = encoder.get_feature_names_out().tolist()
    assert {"x~ber", "x~lyo"} <= set(names)
    for text, row in zip(cities, found, strict=True):
        padded = f" {text.lower()} "
        assert [padded.count(name[2:]) / 2 for name in names] == row.tolist()  # 7 or 8 trigrams: about 2 squared
    assert dense(encoder.transform(pd.DataFrame({"x": [None]}))).sum() == 0


@pytest.mark.parametrize(
    ("texts", "remark"),
    [
        (["2017-01-13", "2017-03-01T09:30:00Z"], "dates, year first."),
        (["01/13/2017 06:00", "03/01/2017 9:30"], "dates, month first."),
        (["13/01/2017", "01/03/2017"], "dates, day first."),
        (["13.1.2017", "1.3.2017"], "dates, day first."),
        (["13-Jan-2017", "1-Mar-2017"], "dates, day, month by name."),
        (["January 13, 2017", "Mar 1 2017 9:30 PM"], "dates, month by name, day."),
        (["1/13/17", "3/1/17"], "dates, month first."),
    ],
)
def test_dates_as_people_write_them(texts, remark):
    encoder, _ = one(texts)
    frame = pd.DataFrame({"x": texts})
    days = [encoder.columns_[0].value_of(row)[:10] for row in encoder.transform(frame)]
    assert days == ["2017-01-13", "2017-03-01"]
    assert encoder.remarks_ == [f"The column 'x' holds {remark}"]


def test_an_ambiguous_order_is_assumed_said_and_an_option():
    encoder, _ = one(["1/2/2017", "3/4/2017"])
    assert encoder.remarks_ == [
        "The column 'x' holds dates, month first (assumed: day_first=True reads them the other way)."
    ]
    assert one(["1/2/2017", "3/4/2017"], day_first=True)[0].columns_[0].order == "day first"


@given(st.lists(st.datetimes(), min_size=2, max_size=10))
def test_dates_are_days_and_circles(moments):
    moments = [moment.replace(microsecond=0) for moment in moments]
    column = TableEncoder().fit(pl.DataFrame({"x": moments})).columns_[0]
    found = column.transform(pl.DataFrame({"x": moments})["x"])
    first, last = min(moments).date(), max(moments).date()
    for moment, row in zip(moments, found, strict=True):
        assert row[0] == pytest.approx((moment.date() - first).days / max(1, (last - first).days))
        turns = [(moment.timetuple().tm_yday - 1) / 366, moment.weekday() / 7, moment.hour / 24]
        for i, turn in enumerate(turns[: (len(row) - 1) // 2]):
            expected = [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]
            assert row[1 + 2 * i : 3 + 2 * i] == pytest.approx(expected, abs=1e-9)
        assert column.value_of(row).startswith(str(moment.date()))


def test_dates_as_indicators():
    encoder, found = one(["2012-12-31", "2013-01-01", None], dates="onehot", missing="mean")
    names = encoder.get_feature_names_out()
    assert [sorted(names[row == 1]) for row in found] == [
        ["month of x: December", "weekday of x: Monday", "year of x: 2012"],
        ["month of x: January", "weekday of x: Tuesday", "year of x: 2013"],
        [],
    ]
    assert encoder.columns_[0].value_of(found[0]) == "2012 December Monday"


def test_indicators_stand_for_missing_values_of_training():
    frame = pd.DataFrame(
        {"a": [1.0, None], "b": ["x", None], "c": [True, None], "d": ["2017-01-01", None], "e": [1, 2]}
    )
    encoder = TableEncoder(missing="mean", add_indicator=True).fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert [name for name in names if name.endswith("is missing")] == [f"{c} is missing" for c in "abcd"]
    found = dense(encoder.transform(frame))
    assert found[:, [names.index(f"{c} is missing") for c in "abcd"]].tolist() == [[0.0] * 4, [1.0] * 4]


def test_missing_values_are_refused_by_column():
    with pytest.raises(DataError, match="The column 'a' has 2 missing values: fill them in with missing='mean'"):
        TableEncoder().fit(pd.DataFrame({"b": ["x", None, "y"], "a": [1.0, None, None]}))
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(DataError, match="The column 'a' has 1 missing value"):
        encoder.transform(pd.DataFrame({"a": [1.0, None]}))


@pytest.mark.parametrize(
    ("frame", "params", "words"),
    [
        ({"x": [None, None]}, {}, "The column 'x' has no value in any row"),
        ({"x": [[1], [2]]}, {}, "The column 'x' must hold numbers, text, truth values or dates"),
        ({"x": [1, 2]}, {"discrete": ["y"]}, "must name columns of the table, which has 'x'"),
        ({"x": [1, 2]}, {"discrete": "x", "probabilities": "x"}, "in both 'discrete' and 'probabilities'"),
        ({"x": ["!", "?"]}, {"text": "x"}, "The column 'x' has no word in any row"),
    ],
)
def test_refusals(frame, params, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(**params).fit(pd.DataFrame(frame))


def test_rows_without_a_column_or_of_another_kind_are_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"Temp": [1, 2]}))
    with pytest.raises(DataError, match=r"without 'Temp' instead\. Did you mean 'temp'"):
        encoder.transform(pd.DataFrame({"temp": [1]}))
    with pytest.raises(DataError, match="'Temp' must hold numbers, as in training"):
        encoder.transform(pd.DataFrame({"Temp": ["warm"]}))
    with pytest.raises(VotronError, match="must be a DataFrame of pandas or polars"):
        encoder.transform([[1]])


PRICES = [f"${1000 + 37 * i:,}.50" for i in range(40)]
DATES = [f"{1 + i % 12:02d}/{13 + i % 15}/2020" for i in range(40)]


@pytest.mark.parametrize(
    ("name", "odd"), [("income", "50.000,00 €"), ("income", "5,5"), ("income", "lots"), ("day", "3.2.2020")]
)
def test_numbers_and_dates_written_otherwise_than_in_training_are_refused(name, odd):
    encoder = TableEncoder(missing="mean").fit(pd.DataFrame({"income": PRICES, "day": DATES}))
    sound = {"income": ["$50,000", None], "day": [None, DATES[3]]}
    encoder.transform(pd.DataFrame(sound))
    with pytest.raises(DataError, match=re.escape(f"Got {odd!r} instead")):
        encoder.transform(pd.DataFrame(sound | {name: [odd, None]}))


@pytest.mark.parametrize(("texts", "odd"), [(PRICES, "lots"), (PRICES, "-"), (DATES, "soon"), (DATES, "2020-13-45")])
def test_an_odd_value_among_numbers_or_dates_is_named(texts, odd):
    column = pd.DataFrame({"value": [*texts, odd]})
    with pytest.raises(DataError, match=re.escape(repr(odd))):
        TableEncoder().fit(column)
    assert TableEncoder(discrete=["value"]).fit(column).remarks_ == []
