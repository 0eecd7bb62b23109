"""Pipelines that users have, of scikit-learn's transformers: what they predict after a file is what they did before."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from forging import content_of, fresh, write
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, load, save
from votron.cli import main
from votron.data import encoder_columns, unseen_values
from votron.errors import ModelFileError
from votron.saving import read_manifest

WORDS = st.sampled_from(["a", "b", "cc", "d d"])
GAPS = st.one_of(st.none(), WORDS)
NUMBERS = st.one_of(st.just(float("nan")), st.integers(-3, 3).map(float))


@st.composite
def frames(draw):
    n = draw(st.integers(4, 12))
    column = {
        "word": st.lists(WORDS, min_size=n, max_size=n),
        "gappy": st.lists(GAPS, min_size=n, max_size=n),
        "code": st.lists(st.integers(1, 3), min_size=n, max_size=n),
        "flag": st.lists(st.booleans(), min_size=n, max_size=n),
        "size": st.lists(NUMBERS, min_size=n, max_size=n),
        "age": st.lists(st.integers(-2, 9), min_size=n, max_size=n),
        "text": st.lists(st.sampled_from(["red wine", "blue sky", "wine sky"]), min_size=n, max_size=n),
    }
    frame = pd.DataFrame({name: draw(values) for name, values in column.items()})
    frame["gappy"] = pd.Series([np.nan if value is None else value for value in frame["gappy"]], dtype=object)
    frame.loc[0, "size"], frame.loc[0, "gappy"] = 1.0, "a"
    return frame


@st.composite
def one_hots(draw):
    drop = draw(st.sampled_from([None, "first", "if_binary"]))
    rare = draw(st.sampled_from([{}, {"min_frequency": 2}, {"max_categories": 2}]))
    unknown = draw(st.sampled_from(["ignore", "infrequent_if_exist"]))
    sparse = draw(st.booleans())
    return OneHotEncoder(drop=drop, handle_unknown=unknown, sparse_output=sparse, **rare)


@st.composite
def ordinals(draw):
    rare = draw(st.sampled_from([{}, {"min_frequency": 2}, {"max_categories": 2}]))
    unknown = draw(st.sampled_from([-1, -9]))
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=unknown, encoded_missing_value=-2, **rare)


@st.composite
def columns(draw):
    """Return a ColumnTransformer of parts that stand for all there are."""
    filled = st.sampled_from(
        [
            SimpleImputer(strategy="most_frequent"),
            SimpleImputer(strategy="constant", fill_value="none"),
        ]
    )
    scaler = draw(st.sampled_from([StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]))
    parts = [
        ("word", draw(st.one_of(one_hots(), ordinals())), ["word"]),
        ("gappy", make_pipeline(draw(filled), draw(one_hots())), ["gappy"]),
        ("holes", draw(ordinals()), ["gappy", "word"]),
        ("code", draw(one_hots()), ["code", "flag"]),
        ("number", make_pipeline(SimpleImputer(strategy=draw(st.sampled_from(["mean", "median"]))), scaler), ["size"]),
        ("filled", SimpleImputer(strategy="constant", fill_value=0), ["size"]),
        ("same", "passthrough", ["age"]),
        ("out", "drop", ["text"]),
        ("words", TfidfVectorizer(), "text"),
        ("all", StandardScaler(), make_column_selector(dtype_include="int64")),
        ("slice", "passthrough", slice(5, 6)),
        ("mask", MaxAbsScaler(), [False, False, True, False, False, True, False]),
        ("none", StandardScaler(), []),
    ]
    chosen = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=5, unique_by=lambda part: part[0]))
    named = {name for _, _, names in chosen for name in ([names] if isinstance(names, str) else _names(names))}
    number_left = {"word", "gappy", "text", "size"} <= named
    remainder = draw(st.sampled_from(["drop", "passthrough", MinMaxScaler()])) if number_left else "drop"
    if all(part == "drop" or names == [] for _, part, names in chosen):
        chosen.append(("always", "passthrough", ["age"]))
    return ColumnTransformer(chosen, remainder=remainder, sparse_threshold=draw(st.sampled_from([0.0, 0.3, 1.0])))


def _names(columns):
    order = ["word", "gappy", "code", "flag", "size", "age", "text"]
    if isinstance(columns, slice):
        return order[columns]
    if callable(columns):
        return ["code", "age"]
    if columns and isinstance(columns[0], bool):
        return [name for name, there in zip(order, columns, strict=True) if there]
    return columns


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("own") / "m.votron"


@settings(max_examples=60, deadline=None)
@given(frames(), frames(), columns())
def test_what_they_predict_stays(path, train, test, transformer):
    y = np.arange(len(train)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assume(transformer.fit_transform(train).shape[1] > 0)  # encoders that drop a category may leave none
        model = Pipeline([("columns", transformer), ("model", AveragedPerceptronClassifier(random_state=0))]).fit(
            train, y
        )
        save(model, path)
        again = load(path)
        for frame in (train, test, test[list(test.columns[::-1])].assign(more=1)):
            before, after = model[:-1].transform(frame), again[:-1].transform(frame)
            assert type(before) is type(after)
            np.testing.assert_array_equal(_dense(before), _dense(after))
            if np.isfinite(_dense(before)).all():
                np.testing.assert_array_equal(model.decision_function(frame), again.decision_function(frame))
        assert model[:-1].get_feature_names_out().tolist() == again[:-1].get_feature_names_out().tolist()
    save(again, path)
    assert read_manifest(path).columns.keys() <= {*train.columns}


def _dense(matrix):
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)


ARRAY = np.array([["a", 1.0, 3], ["b", 2.0, 4], ["a", 9.0, 5], ["c", 4.0, 3]], dtype=object)


def test_columns_without_names_stay_by_number(tmp_path):
    parts = [("w", OneHotEncoder(handle_unknown="ignore"), [0]), ("n", StandardScaler(), slice(1, 3))]
    model = make_pipeline(ColumnTransformer(parts), AveragedPerceptronClassifier(random_state=0))
    model.fit(ARRAY, [0, 1, 0, 1])
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(ARRAY), model.decision_function(ARRAY))
    assert read_manifest(tmp_path / "m").columns == {}
    with pytest.raises(ValueError, match="features"):
        again.predict(ARRAY[:, :2])


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(drop=["b", 2.0], sparse_output=False),
        OneHotEncoder(categories=[["b", "a", "c"], [1.0, 2.0, 4.0, 9.0]]),
        OneHotEncoder(max_categories=3, drop=["a", 9.0], handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(min_frequency=2, dtype=np.int64),
        OrdinalEncoder(categories=[["c", "a", "b"], [1.0, 2.0, 4.0, 9.0]]),
    ],
)
def test_an_encoder_has_all_that_a_fit_would_give_it(encoder, tmp_path):
    X = pd.DataFrame(ARRAY[:, :2], columns=["w", "n"]).astype({"n": float})
    save(make_pipeline(encoder, AveragedPerceptronClassifier()).fit(X, [0, 1, 0, 1]), tmp_path / "m")
    ours, theirs = load(tmp_path / "m")[0].__dict__, encoder.__dict__
    assert set(ours) == set(theirs)
    for name in set(theirs) - {"categories", "drop"}:
        same = (
            [np.asarray(each, dtype=object) for each in (ours[name], theirs[name])] if name != "categories_" else None
        )
        if same is None:
            for mine, other in zip(ours[name], theirs[name], strict=True):
                assert mine.dtype == other.dtype
                assert mine.tolist() == other.tolist()
        elif name in ("_infrequent_indices", "_default_to_infrequent_mappings"):
            assert str(ours[name]) == str(theirs[name])
        else:
            assert str(same[0]) == str(same[1]), name


def test_functions_cannot_be_saved_and_the_sentence_says_what_to_do(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    model = make_pipeline(FunctionTransformer(np.sqrt), AveragedPerceptronClassifier()).fit(frame, [0, 1, 0, 1])
    with pytest.raises(ModelFileError, match=r"cannot hold a function\. Apply it to the data before"):
        save(model, tmp_path / "m")
    weighted = ColumnTransformer([("a", StandardScaler(), ["a"])], transformer_weights={"a": 2.0})
    with pytest.raises(ModelFileError, match="transformer_weights"):
        save(make_pipeline(weighted, AveragedPerceptronClassifier()).fit(frame, [0, 1, 0, 1]), tmp_path / "m")
    dates = pd.DataFrame({"d": pd.to_datetime(["2024-01-01", "2024-01-02"] * 2)})
    with pytest.raises(ModelFileError, match="must be numbers, truth values or text"):
        save(make_pipeline(OneHotEncoder(), AveragedPerceptronClassifier()).fit(dates, [0, 1, 0, 1]), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def penguins():
    frame = pd.read_csv("tests/data/tables/penguins.csv").dropna(subset=["Species"])
    return frame.drop(columns="Species"), frame["Species"].to_numpy(dtype=str)


def test_the_usual_pipeline_on_penguins_goes_from_python_to_the_shell(tmp_path, capsys):
    X, y = penguins()
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )
    model = make_pipeline(columns, VotedPerceptronClassifier(random_state=0)).fit(X, y)
    path, table = tmp_path / "m.votron", tmp_path / "t.csv"
    save(model, path)
    assert encoder_columns(load(path)) == {
        **{name: "number" for name in X.columns if X[name].dtype.kind == "f"},
        "Island": "text",
        "Sex": "text",
    }
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    whole = X.dropna()
    whole.to_csv(table, index=False)
    assert main(["predict", str(path), str(table), "--quiet"]) == 0
    assert capsys.readouterr().out.split()[1:] == model.predict(whole).tolist()
    whole.iloc[:3].assign(Island="Elba").to_csv(table, index=False)
    assert main(["predict", str(path), str(table)]) == 0
    assert "'Elba' (3 rows)" in capsys.readouterr().err
    assert unseen_values(load(path), whole.assign(Island="Elba")).values["Island"]["Elba"] == len(whole)
    polars = pl.DataFrame({name: whole[name].tolist() for name in whole})
    assert load(path).predict(polars).tolist() == model.predict(whole).tolist()


FORGERIES = {
    "a value twice": lambda step: step["values"][0]["values"].append(step["values"][0]["values"][0]),
    "no values": lambda step: step["values"][0].update(values=[]),
    "a list of values": lambda step: step["values"][0]["values"].append([]),
    "other columns": lambda step: step["values"].append(step["values"][0]),
    "a type": lambda step: step["values"][0].update(dtype="<M8[ns]"),
    "an output": lambda step: step.update(dtype="|O"),
    "a place beyond": lambda step: step.update(drop=[99]),
    "rare ones that are not": lambda step: step.update(rare=[[0]]),
    "a drop": lambda step: step.update(drop="all"),
    "a word of a parameter": lambda step: step["params"].update(handle_unknown="import"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_values_are_refused(name, tmp_path):
    content = fresh("onehot")
    FORGERIES[name](content["steps"]["before"][0]["step"]["columns"][0]["part"])
    with pytest.raises(ModelFileError, match=r"^[^\n]{10,400}\.$"):
        load(write(tmp_path / "m", content))


def test_a_forged_content_that_is_left_alone_opens(tmp_path):
    path = write(tmp_path / "m", fresh("onehot"))
    assert content_of(path)["steps"]["before"][0]["step"]["class"] == "ColumnTransformer"
    assert len(load(path).steps) == 2
