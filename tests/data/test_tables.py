"""Tables as vectors: Cohen's table, a textbook encoder over random tables, and what is refused."""

import datetime
import decimal
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from strategies import thorough

from votron.data import tabular_encoder
from votron.errors import DataError, VotronError
from votron.estimators import WinnowClassifier
from votron.estimators.voted import VotedPerceptronClassifier

KINDS = [pd.DataFrame, pl.DataFrame]
both = pytest.mark.parametrize("kind", KINDS)

DAYS = {"Outlook": ["Rainy", "Sunny", "Cloudy"], "Temp": [85, 87, 75]}
PLAY = ["No", "No", "Yes"]


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


# -- Cohen's table ----------------------------------------------------------------------------------------------------


@both
def test_the_table_of_the_notes(kind):
    """As printed there, but for day 2, where he sets the feature of Rainy for a sunny day."""
    days = kind(DAYS)
    encoder = tabular_encoder(days)
    assert isinstance(encoder, ColumnTransformer)
    vectors = encoder.fit_transform(days)
    assert np.array_equal(vectors, [[1, 0, 0, 85], [0, 1, 0, 87], [0, 0, 1, 75]])
    assert vectors.dtype == np.float64
    assert list(encoder.get_feature_names_out()) == ["Outlook=Rainy", "Outlook=Sunny", "Outlook=Cloudy", "Temp"]
    assert np.array_equal(encoder.transform(kind({"Outlook": ["Snowy"], "Temp": [20]})), [[0, 0, 0, 20]])


@both
@pytest.mark.parametrize("numeric", ["keep", "standard"])
def test_the_chance_of_rain_instead(kind, numeric):
    days = kind({"Chance of rain": [0.9, 0.01, 0.3], "Temp": DAYS["Temp"]})
    encoder = tabular_encoder(days, numeric=numeric, probabilities=["Chance of rain"]).fit(days)
    day_2 = encoder.transform(days)[1]
    assert day_2[0] == 0.01
    assert (day_2[1] == 87) == (numeric == "keep")
    assert list(encoder.get_feature_names_out()) == ["Chance of rain", "Temp"]


@both
@pytest.mark.parametrize(
    ("numeric", "scaler"), [("standard", StandardScaler()), ("minmax", MinMaxScaler()), ("maxabs", MaxAbsScaler())]
)
def test_scaled_numbers(kind, numeric, scaler):
    days = kind({**DAYS, "Windy": [True, False, True]})
    encoder = tabular_encoder(days, numeric=numeric).fit(days)
    vectors = encoder.transform(days)
    scaled = scaler.fit_transform(np.array(DAYS["Temp"], dtype=float)[:, None])
    assert np.array_equal(vectors[:, 3:4], scaled)
    assert np.array_equal(vectors[:, 4], [1, 0, 1])  # truth values are not scaled
    assert encoder.get_feature_names_out()[3] == "Temp"


# -- the textbook encoder ---------------------------------------------------------------------------------------------


def textbook(table, new, discrete):
    """Features and their names, one value at a time."""
    names, rows = [], [[] for _ in next(iter(new.values()))]
    for column, values in table.items():
        present = [v for v in values if v is not None]
        if column in discrete or isinstance(present[0], str):
            distinct = list(dict.fromkeys(present))
            names += [f"{column}={value}" for value in distinct]
            for row, value in zip(rows, new[column], strict=True):
                row += [float(value is not None and value == other) for other in distinct]
        else:
            names.append(column)
            for row, value in zip(rows, new[column], strict=True):
                row.append(float("nan") if value is None else float(value))
    return names, np.array(rows, dtype=float).reshape(len(rows), len(names))


WORDS = ["Rainy", "Sunny", "Cloudy", "", "1", "nan", "None", "Þoka", "a=b"]
COLUMNS = {
    "text": (st.sampled_from(WORDS), st.sampled_from([*WORDS, "Snowy", "x" * 40])),
    "number": (st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)),
    "integer": (st.integers(-(2**40), 2**40), st.integers(-9, 9)),
    "boolean": (st.booleans(), st.booleans()),
    "code": (st.integers(0, 12), st.integers(0, 20)),
    "chance": (st.floats(0, 1), st.floats(0, 1)),
}
NAMES = ["Outlook", "Temp", "n_jobs", "a__b", "a_b", "", "remainder", "Outlook 2", "transformers", "Þ"]


@st.composite
def problems(draw):
    """A table to make the encoder from, one to encode, and the names of columns of codes and of probabilities."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    roles = {name: draw(st.sampled_from(sorted(COLUMNS))) for name in names}
    tables = []
    for i in (0, 1):
        n = draw(st.integers(1, 8))
        tables.append({})
        for name, role in roles.items():
            values = draw(st.lists(COLUMNS[role][i] | st.none(), min_size=n, max_size=n))
            if role == "number":  # floats throughout, as a column of a frame has one type
                values = [None if v is None else float(v) for v in values]
            if i == 0 and not any(v is not None for v in values):
                values[0] = draw(COLUMNS[role][0].map(float if role == "number" else lambda v: v))
            tables[i][name] = values
    codes = [name for name in names if roles[name] == "code"]
    return *tables, codes, [name for name in names if roles[name] == "chance"]


def frame_of(kind, table, like=None):
    """A frame; columns without a value get the type they have in another."""
    frame = kind(table)
    if kind is pl.DataFrame and like is not None:
        return frame.cast({name: like.schema[name] for name in frame.columns if frame.schema[name] == pl.Null})
    return frame


@pytest.mark.parametrize("kind", KINDS)
@given(problem=problems())
@thorough(120)
def test_every_table_as_in_the_textbook(kind, problem):
    table, new, codes, chances = problem
    frame = frame_of(kind, table)
    encoder = tabular_encoder(frame, discrete=codes, probabilities=chances).fit(frame)
    for other in (table, new):
        names, expected = textbook(table, other, codes)
        assert list(encoder.get_feature_names_out()) == names
        assert np.array_equal(dense(encoder.transform(frame_of(kind, other, frame))), expected, equal_nan=True)


# -- types of columns -------------------------------------------------------------------------------------------------

NOTHING = {
    "object": pd.Series(["a", None, "b", np.nan, pd.NA], dtype=object),
    "str": pd.Series(["a", None, "b", None, None], dtype="str"),
    "string": pd.Series(["a", None, "b", None, pd.NA], dtype="string"),
    "category": pd.Series(["a", None, "b", None, None], dtype="category"),
    "polars": pl.Series(["a", None, "b", None, None]),
    "polars Categorical": pl.Series(["a", None, "b", None, None], dtype=pl.Categorical),
    "polars Enum": pl.Series(["a", None, "b", None, None], dtype=pl.Enum(["a", "b"])),
}


@pytest.mark.parametrize("case", NOTHING)
def test_missing_values_of_text_set_no_feature(case):
    kind = pl.DataFrame if "polars" in case else pd.DataFrame
    frame = kind({"v": NOTHING[case]})
    expected = [[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    assert np.array_equal(tabular_encoder(frame).fit_transform(frame), expected)
    full = frame[[0, 2]] if kind is pl.DataFrame else frame.iloc[[0, 2]]
    encoder = tabular_encoder(full).fit(full)  # has seen no missing value
    assert np.array_equal(encoder.transform(frame), expected)


NUMBERS = {
    "float": pd.Series([1.5, np.nan, 2.0]),
    "float32": pd.Series([1.5, np.nan, 2.0], dtype="float32"),
    "Float64": pd.Series([1.5, pd.NA, 2.0], dtype="Float64"),
    "object": pd.Series([1.5, None, 2], dtype=object),
    "object with NA": pd.Series([1.5, pd.NA, 2], dtype=object),
    "decimals": pd.Series([decimal.Decimal("1.5"), None, decimal.Decimal(2)]),
    "sparse": pd.Series([1.5, np.nan, 2.0], dtype="Sparse[float]"),
    "polars": pl.Series([1.5, None, 2.0]),
    "polars NaN": pl.Series([1.5, float("nan"), 2.0]),
    "polars Decimal": pl.Series([1.5, None, 2.0]).cast(pl.Decimal(10, 2)),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_missing_numbers_stay_missing(case):
    kind = pl.DataFrame if "polars" in case else pd.DataFrame
    frame = kind({"v": NUMBERS[case], "w": ["a", "b", "a"]})
    encoder = tabular_encoder(frame)
    assert np.array_equal(encoder.fit_transform(frame)[:, 0], [1.5, np.nan, 2.0], equal_nan=True)
    filled = make_pipeline(encoder, SimpleImputer()).fit_transform(frame)
    assert np.array_equal(filled, [[1.5, 1, 0], [1.75, 0, 1], [2, 1, 0]])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        make_pipeline(encoder, VotedPerceptronClassifier()).fit(frame, [0, 1, 0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype=object),
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([True, None, False]),
    ],
)
def test_truth_values(column):
    frame = (pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame)({"v": column})
    vectors = tabular_encoder(frame, numeric="standard").fit_transform(frame)
    assert np.array_equal(vectors, [[1], [np.nan], [0]], equal_nan=True)
    vectors = tabular_encoder(frame, discrete="v").fit_transform(frame)
    assert np.array_equal(vectors, [[1, 0], [0, 0], [0, 1]])


def test_integers_of_any_width():
    for dtype in ("int8", "uint64", "Int64"):
        frame = pd.DataFrame({"v": pd.Series([3, 1], dtype=dtype)})
        assert np.array_equal(tabular_encoder(frame).fit_transform(frame), [[3], [1]])
    for dtype in (pl.Int8, pl.UInt64, pl.Int128):
        frame = pl.DataFrame({"v": pl.Series([3, 1], dtype=dtype)})
        assert np.array_equal(tabular_encoder(frame).fit_transform(frame), [[3], [1]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["low", "high"], dtype=pd.CategoricalDtype(["high", "mid", "low"])),
        pl.Series(["low", "high"], dtype=pl.Enum(["high", "mid", "low"])),
    ],
)
def test_declared_values_come_in_their_order(column):
    frame = (pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame)({"v": column})
    encoder = tabular_encoder(frame)
    assert np.array_equal(encoder.fit_transform(frame), [[0, 0, 1], [1, 0, 0]])
    assert list(encoder.get_feature_names_out()) == ["v=high", "v=mid", "v=low"]


def test_other_declared_values():
    bins = pd.DataFrame({"Temp": pd.cut(pd.Series([85, 87, 75, None]), [70, 80, 90])})
    encoder = tabular_encoder(bins)
    assert np.array_equal(encoder.fit_transform(bins), [[0, 1], [0, 1], [1, 0], [0, 0]])
    assert list(encoder.get_feature_names_out()) == ["Temp=(70, 80]", "Temp=(80, 90]"]
    codes = pd.DataFrame({"v": pd.Series([3, 1, 3], dtype="category")})
    assert np.array_equal(tabular_encoder(codes).fit_transform(codes), [[0, 1], [1, 0], [0, 1]])


@both
def test_codes(kind):
    frame = kind({"zip": [94110, None, 10001, 94110]})  # floats in pandas, for the missing one
    encoder = tabular_encoder(frame, discrete=["zip"])
    assert np.array_equal(encoder.fit_transform(frame), [[1, 0], [0, 0], [0, 1], [1, 0]])
    assert list(encoder.get_feature_names_out()) == ["zip=94110", "zip=10001"]
    assert np.array_equal(encoder.transform(kind({"zip": [10001, 5]})), [[0, 1], [0, 0]])


@both
def test_a_value_of_two_columns_is_two_features(kind):
    frame = kind({"Morning": ["Sunny", "Rainy"], "Evening": ["Rainy", "Sunny"]})
    encoder = tabular_encoder(frame)
    assert np.array_equal(encoder.fit_transform(frame), [[1, 0, 1, 0], [0, 1, 0, 1]])
    assert list(encoder.get_feature_names_out()) == ["Morning=Sunny", "Morning=Rainy", "Evening=Rainy", "Evening=Sunny"]


# -- with the rest of scikit-learn ------------------------------------------------------------------------------------


@both
def test_columns_are_found_by_name(kind):
    days = kind(DAYS)
    encoder = tabular_encoder(days).fit(days)
    turned = kind({"Day": [2], "Temp": [87], "Outlook": ["Sunny"]})
    assert np.array_equal(encoder.transform(turned), [[0, 1, 0, 87]])
    with pytest.raises(ValueError, match="Temp"):
        encoder.transform(kind({"Outlook": ["Sunny"]}))


@both
def test_transformers_have_the_names_of_columns(kind):
    frame = kind({"Outlook": ["Rainy"], "a__b": [1], "a_b": [2], "n_jobs": [3], "n_jobs (2)": [4], "___": [5]})
    encoder = tabular_encoder(frame)
    names = [name for name, _, _ in encoder.transformers]
    assert names == ["Outlook", "a_b (2)", "a_b", "n_jobs (3)", "n_jobs (2)", "_"]
    assert list(encoder.fit(frame).get_feature_names_out()) == ["Outlook=Rainy", *list(frame.columns)[1:]]


@both
def test_many_values_give_sparse_vectors(kind):
    frame = kind({"word": [f"w{i}" for i in range(50)], "length": [float(i + 1) for i in range(50)]})
    encoder = tabular_encoder(frame)
    vectors = encoder.fit_transform(frame)
    assert sp.issparse(vectors)
    assert vectors.format == "csr"
    assert np.array_equal(vectors.toarray(), np.c_[np.eye(50), np.arange(1.0, 51)])
    assert sp.issparse(encoder.fit(frame[:1]).transform(frame))  # whatever part of the table it is fitted on
    few = kind({"word": ["a", "b"], "length": [0.0, 0.0]})
    assert isinstance(tabular_encoder(few).fit_transform(few), np.ndarray)


@both
@pytest.mark.parametrize("n_values", [3, 30])
def test_cross_validation_with_values_that_a_fold_lacks(kind, n_values):
    rng = np.random.RandomState(0)
    words = [f"w{i}" for i in rng.randint(0, n_values, 60)]
    words[7] = "only here"
    y = np.array([int(word < "w2") for word in words])
    frame = kind({"word": words, "noise": rng.randn(60)})
    encoder, model = tabular_encoder(frame), VotedPerceptronClassifier(kernel="linear", random_state=0)
    scores = cross_val_score(make_pipeline(encoder, model), frame, y, cv=4, error_score="raise")
    assert np.array_equal(scores, cross_val_score(model, encoder.fit_transform(frame), y, cv=4))
    assert scores.mean() > 0.6


@both
def test_learns_the_notes_example_in_a_pipeline(kind):
    days = kind(DAYS)
    pipe = make_pipeline(tabular_encoder(days, numeric="minmax"), VotedPerceptronClassifier(random_state=0))
    assert list(pipe.fit(days, PLAY).predict(days)) == PLAY


@both
def test_cloned_and_stored(kind):
    days = kind({**DAYS, "Rain": [0.9, 0.01, 0.3]})
    encoder = tabular_encoder(days, numeric="standard", probabilities=["Rain"])
    expected = encoder.fit_transform(days)
    assert np.array_equal(clone(encoder).fit_transform(days), expected)
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(days), expected)
    assert list(again.get_feature_names_out()) == list(encoder.get_feature_names_out())


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [KINDS, KINDS[::-1]])
@given(problem=problems())
@thorough(60)
def test_made_on_frames_of_one_library_and_used_on_those_of_the_other(kinds, problem):
    """No warning, and the same vectors."""
    table, _, codes, chances = problem
    first, second = (frame_of(kind, table) for kind in kinds)
    encoder = tabular_encoder(first, discrete=codes, probabilities=chances, numeric="maxabs").fit(first)
    expected = dense(encoder.transform(first))
    assert np.array_equal(dense(encoder.transform(second)), expected, equal_nan=True)
    assert np.array_equal(dense(clone(encoder).fit(second).transform(first)), expected, equal_nan=True)


@both
def test_shown_in_short(kind):
    days = kind({**DAYS, "Rain": [0.9, 0.01, 0.3], "Windy": [True, False, True]})
    encoder = tabular_encoder(days, probabilities="Rain")
    shown = {name: repr(part) for name, part, _ in encoder.transformers}
    assert shown == {
        "Outlook": "_Discrete(values=['Rainy', 'Sunny', 'Cloudy'])",
        "Temp": "_Number()",
        "Rain": "_Chance()",
        "Windy": "_Truth()",
    }
    assert "<function" not in repr(encoder)
    assert repr(encoder.fit(days)) == repr(clone(encoder)) == repr(pickle.loads(pickle.dumps(encoder)))
    words = kind({"word": [f"word {i}" for i in range(1000)]})
    many = repr(tabular_encoder(words).transformers[0][1])
    assert "['word 0', 'word 1', " in many
    assert many.endswith(" more])")
    assert len(many) < 140
    named = words["word"][:7].to_list() if kind is pl.DataFrame else list(words["word"][:7])
    assert f"[{', '.join(map(repr, named))}, ... 993 more]" in many
    long = repr(tabular_encoder(kind({"v": ["x" * 500, "y"]})).transformers[0][1])
    assert long == f"_Discrete(values=['{'x' * 56}..., ... 1 more])"


@both
def test_parameters_of_a_part(kind):
    days = kind(DAYS)
    encoder = tabular_encoder(days)
    assert encoder.get_params()["Outlook__values"] == ("Rainy", "Sunny", "Cloudy")
    vectors = encoder.set_params(Outlook__values=("Cloudy", "Rainy")).fit_transform(days)
    assert np.array_equal(vectors, [[0, 1, 85], [0, 0, 87], [1, 0, 75]])


@both
def test_missing_truth_values_before_winnow(kind):
    """Which wants 0 and 1: the most frequent value is one of them, where a mean is not."""
    frame = kind({"a": [True, True, False, None], "b": ["x", "y", "x", "y"]})
    refused_mean = make_pipeline(tabular_encoder(frame), SimpleImputer(), WinnowClassifier())
    with pytest.raises(VotronError, match="must be Boolean, 0 or 1"):
        refused_mean.fit(frame, [1, 1, 0, 1])
    filled = make_pipeline(tabular_encoder(frame), SimpleImputer(strategy="most_frequent"), WinnowClassifier())
    assert filled.fit(frame, [1, 1, 0, 1]).predict(frame).tolist() == [1, 1, 0, 1]


@both
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_as_output(kind, output):
    days = kind({**DAYS, "Evening": ["Sunny", None, "Rainy"], "Windy": [True, False, True]})
    if kind is pd.DataFrame:
        days.index = ["Day1", "Day2", "Day3"]
    for numeric in ("keep", "standard"):
        encoder = tabular_encoder(days, numeric=numeric)
        expected = clone(encoder).fit_transform(days)
        found = encoder.set_output(transform=output).fit_transform(days)
        assert type(found).__module__.startswith(output)
        assert list(found.columns) == list(encoder.get_feature_names_out())
        assert np.array_equal(found.to_numpy(), expected)
        if output == "pandas" and kind is pd.DataFrame:
            assert list(found.index) == ["Day1", "Day2", "Day3"]


def test_the_frame_is_not_written_to():
    days = pd.DataFrame({"Outlook": pd.Series(["Rainy", None], dtype=object), "Temp": [85.0, np.nan]})
    before = days.copy(deep=True)
    tabular_encoder(days).fit_transform(days)
    pd.testing.assert_frame_equal(days, before)
    assert days["Outlook"][1] is None


# -- bad input --------------------------------------------------------------------------------------------------------


def refused(kind, words, act):
    with pytest.raises(kind) as caught:
        act()
    message = str(caught.value)
    assert isinstance(caught.value, VotronError)
    assert words in message
    assert "\n" not in message
    assert re.fullmatch(r"[A-Zt].*(\.|instead\. Did you mean .*\?)", message)


@pytest.mark.parametrize(
    "thing", [np.eye(2), [[1, 2]], {"a": [1]}, None, "days.csv", pd.Series([1]), pl.DataFrame(DAYS).lazy()]
)
def test_no_frame(thing):
    words = f"takes a DataFrame of pandas or polars. Got an object of type {type(thing).__name__} instead."
    refused(VotronError, words, lambda: tabular_encoder(thing))


@both
def test_empty_frames(kind):
    refused(VotronError, "Got one of shape (0, 0) instead.", lambda: tabular_encoder(kind()))
    refused(VotronError, "Got one of shape (0, 2) instead.", lambda: tabular_encoder(kind(DAYS)[:0]))


def test_names_of_columns():
    refused(VotronError, "must be of type str. Got 0 instead.", lambda: tabular_encoder(pd.DataFrame([[1, 2]])))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    refused(VotronError, "must differ. Got 'a' twice instead.", lambda: tabular_encoder(twice))


@both
def test_parameters(kind):
    days = kind({**DAYS, "Rain": [0.9, 0.01, 0.3]})
    for numeric in ("robust", None, ["keep"], 1):
        words = "The 'numeric' parameter of tabular_encoder must be one of 'keep', 'standard', 'minmax', 'maxabs'. Got "
        refused(VotronError, f"{words}{numeric!r}", lambda numeric=numeric: tabular_encoder(days, numeric=numeric))
    for parameter in ("probabilities", "discrete"):
        for names, bad in ((["Temp", "rain"], "rain"), ("rain", "rain"), (3, 3), ([["Rain"]], ["Rain"])):
            words = f"The '{parameter}' parameter of tabular_encoder must be names of columns of the frame, which has '"
            refused(VotronError, words, lambda p=parameter, n=names: tabular_encoder(days, **{p: n}))
            refused(VotronError, f"Got {bad!r} instead.", lambda p=parameter, n=names: tabular_encoder(days, **{p: n}))
    words = "must not share a column. Got 'Rain' in both instead."
    refused(VotronError, words, lambda: tabular_encoder(days, probabilities=["Rain"], discrete=["Rain", "Temp"]))


SECONDS = "turn it into numbers, such as hours or seconds, or leave it out"
CONVERT = "convert it, or leave it out"
OTHERS = {
    "hours": ([datetime.time(8), None], SECONDS, "datetime.time(8, 0) in row 0"),
    "durations": ([datetime.timedelta(1)] * 2, SECONDS, "Timedelta('1 days 00:00:00') in row 0"),
    "lists": ([[1], [2, 3]], CONVERT, "[1] in row 0"),
    "structures": ([{"a": 1}] * 2, CONVERT, "{'a': 1} in row 0"),
    "bytes": ([b"a", b"b"], CONVERT, "b'a' in row 0"),
}


@both
@pytest.mark.parametrize("case", OTHERS)
def test_types_that_are_no_feature(kind, case):
    values, remedy, got = OTHERS[case]
    if kind is pl.DataFrame and got.startswith("Time"):  # a type of pandas
        got = f"{values[0]!r} in row 0"
    frame = kind({"Temp": [1, 2], "When": values})
    words = "The column 'When' must hold either numbers, or truth values, or text: "
    refused(DataError, f"{words}{remedy}. Got {got} instead.", lambda: tabular_encoder(frame))
    words += f"{CONVERT}. Got {got} instead."
    refused(DataError, words, lambda: tabular_encoder(frame, discrete=["When"]))
    for held, what in ((["a", "b"], "discrete values"), ([3, 4], "numbers")):
        before = kind({"Temp": [1, 2], "When": held})
        words = (
            f"The column 'When' must hold {what}, as in the frame that made the encoder: convert it. Got {got} instead."
        )
        refused(DataError, words, lambda before=before: tabular_encoder(before).fit(before).transform(frame))


@pytest.mark.parametrize(
    ("column", "got"),
    [
        (["x", 2], "2 in row 1, after 'x' in row 0,"),
        ([None, 1, "a"], "'a' in row 2, after 1 in row 1,"),
        ([1.5, "a", None], "'a' in row 1, after 1.5 in row 0,"),
        ([True, "a"], "'a' in row 1, after True in row 0,"),
        ([decimal.Decimal(1), 1.5], "1.5 in row 1, after Decimal('1') in row 0,"),
        ([1j, 2j], "1j in row 0"),
        (["a", (1, 2)], "(1, 2) in row 1"),
        ([np.arange(80).reshape(20, 4), 1], "array([[ 0, 1, 2, 3], [ 4, 5, 6, 7], [ 8, 9, 10, 11], [12... in row 0"),
    ],
)
def test_mixed_columns_of_pandas(column, got):
    frame = pd.DataFrame({"v": pd.Series(column, dtype=object)})
    words = f"or text: convert it, or leave it out. Got {got} instead."
    refused(DataError, words, lambda: tabular_encoder(frame))


def test_mixed_categories():
    for mixed, got in (
        (pd.Categorical([1, "a"]), "'a' in row 1, after 1 in row 0,"),
        (pd.Categorical([1], categories=[1, "a"]), "values of type category"),
    ):
        words = f"The column 'v' must hold values of one type: convert it, or leave it out. Got {got} instead."
        refused(DataError, words, lambda mixed=mixed: tabular_encoder(pd.DataFrame({"v": mixed})))


@both
def test_other_things_where_truth_values_were(kind):
    frame = kind({"v": [True, False, None]})
    encoder = tabular_encoder(frame, numeric="standard").fit(frame)
    words = "The column 'v' must hold True and False, as in the frame that made the encoder, or 1 and 0"
    for bad, got in (
        (["yes", "no"], ": convert it. Got 'yes' in row 0"),
        ([1, 7], ". Got 7 in row 1"),
        ([None, 0.5, 0.0], ". Got 0.5 in row 1"),
        ([1.0, -1.0], ". Got -1.0 in row 1"),
    ):
        refused(DataError, f"{words}{got} instead.", lambda bad=bad: encoder.transform(kind({"v": bad})))
    assert np.array_equal(encoder.transform(kind({"v": [1.0, 0.0, None]})), [[1], [0], [np.nan]], equal_nan=True)
    assert np.array_equal(encoder.transform(kind({"v": [0, 1]})), [[0], [1]])


@both
@pytest.mark.parametrize("values", [[None, None], [np.nan, np.nan]])
def test_columns_without_a_value(kind, values):
    frame = kind({"Temp": [1, 2], "v": values})
    words = "The column 'v' must have a value in some row: leave it out. Got missing values instead."
    refused(DataError, words, lambda: tabular_encoder(frame))
    refused(DataError, words, lambda: tabular_encoder(frame, discrete=["v"]))
    refused(DataError, words, lambda: tabular_encoder(frame, probabilities=["v"]))


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Float64, pl.Enum([])])
def test_typed_columns_without_a_value(dtype):
    frame = pl.DataFrame({"v": pl.Series([None, None], dtype=dtype)})
    refused(DataError, "The column 'v' must have a value in some row", lambda: tabular_encoder(frame))


@both
def test_probabilities_outside_of_0_to_1(kind):
    words = "The column 'Rain' must hold probabilities, from 0 to 1. Got 1.5 in row 2 instead."
    good, bad = kind({"Rain": [0.0, 1.0, 0.5]}), kind({"Rain": [0.5, None, 1.5]})
    refused(DataError, words, lambda: tabular_encoder(bad, probabilities=["Rain"]))
    encoder = tabular_encoder(good, probabilities=["Rain"])
    refused(DataError, words, lambda: encoder.fit(bad))
    refused(DataError, words, lambda: encoder.fit(good).transform(bad))
    refused(DataError, "Got -0.5 in row 0", lambda: encoder.transform(kind({"Rain": [-0.5]})))
    refused(DataError, "Got 1.0000000001 in row 0", lambda: encoder.transform(kind({"Rain": [1.0000000001]})))
    assert np.array_equal(encoder.transform(good), [[0], [1], [0.5]])
    text = kind({"Rain": ["0.5", "likely"]})
    words = (
        "The column 'Rain' must hold probabilities, from 0 to 1: convert it, or leave it out. "
        "Got '0.5' in row 0 instead."
    )
    refused(DataError, words, lambda: tabular_encoder(text, probabilities=["Rain"]))


@both
def test_text_where_numbers_were(kind):
    days = kind(DAYS)
    encoder = tabular_encoder(days).fit(days)
    words = (
        "The column 'Temp' must hold numbers, as in the frame that made the encoder: convert it. "
        "Got '87' in row 0 instead."
    )
    refused(DataError, words, lambda: encoder.transform(kind({"Outlook": ["Sunny"], "Temp": ["87"]})))
    assert np.array_equal(encoder.transform(kind({"Outlook": [3], "Temp": [87]})), [[0, 0, 0, 87]])


@both
def test_features_of_the_same_name(kind):
    words = "Two features would be called 'a=b=c', from column 'a' and column 'a=b': rename a column, or a value."
    refused(DataError, words, lambda: tabular_encoder(kind({"a": ["b=c"], "a=b": ["c"]})))
    words = "Two features would be called 'a=b', from column 'a' and column 'a=b'"
    refused(DataError, words, lambda: tabular_encoder(kind({"a": ["b"], "a=b": [1]})))
