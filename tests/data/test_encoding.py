"""Encoders of users' tables: numbers scaled, texts counted, holes filled in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from votron import AveragedPerceptronClassifier, tabular_encoder
from votron.data import encoder_columns, make_encoder, read_examples, unseen_values
from votron.data._columns import _Chance, _Discrete, _Number, _Text, _Truth
from votron.errors import DataError, VotronError

DAYS = pl.DataFrame(
    {
        "Outlook": ["Rainy", "Sunny", "Cloudy", "Sunny"],
        "Temp": [85.0, 87.0, None, 71.0],
        "Wind": [3, 4, 5, 9],
        "Holiday": [True, False, None, False],
        "Rain": [0.5, 0.25, 0.125, None],
        "Zip": [8001, 9000, 8001, 8001],
        "Note": ["warm rain all day", None, "rain at night", "a warm day"],
    }
)
OPTIONS = {"discrete": ["Zip"], "probabilities": ["Rain"], "text": ["Note"]}
FILLED = {"mean": np.nanmean, "median": np.nanmedian, "most-frequent": lambda v: min(v[~np.isnan(v)])}
FRAMES = [pl.DataFrame, lambda data: pd.DataFrame(data.to_dict(as_series=False))]


def textbook(frame, numeric, missing, words):
    """The vectors, a column at a time."""
    parts = []
    for name in frame.columns:
        values = frame[name].to_list()
        if name in ("Outlook", "Zip"):
            parts.append(np.array([[value == one for one in dict.fromkeys(values)] for value in values], dtype=float))
        elif name == "Note":
            parts.append(words.fit_transform([value or "" for value in values]).toarray())
        else:
            numbers = np.array([np.nan if value is None else float(value) for value in values])
            if missing in FILLED:
                numbers[np.isnan(numbers)] = FILLED[missing](numbers)
            if name in ("Temp", "Wind") and numeric == "standard":
                numbers = (numbers - np.nanmean(numbers)) / np.nanstd(numbers)
            if name in ("Temp", "Wind") and numeric == "minmax":
                numbers = (numbers - np.nanmin(numbers)) / (np.nanmax(numbers) - np.nanmin(numbers))
            parts.append(numbers[:, None])
    return np.hstack(parts)


@pytest.mark.slow
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("numeric", ["standard", "minmax", "keep"])
@pytest.mark.parametrize("missing", ["keep", "mean", "median", "most-frequent"])
@pytest.mark.parametrize("text_features", ["hashing", "tfidf"])
def test_vectors(frame, numeric, missing, text_features):
    frame_in = frame(DAYS)
    encoder = make_encoder(
        frame_in, numeric=numeric, missing=missing, text_features=text_features, n_text_features=64, **OPTIONS
    )
    words = TfidfVectorizer() if text_features == "tfidf" else HashingVectorizer(n_features=64, alternate_sign=False)
    expected = textbook(DAYS, numeric, missing, words)
    found = clone(encoder).fit_transform(frame_in)
    assert sp.issparse(found)
    assert np.allclose(found.toarray(), expected, equal_nan=True)
    again = encoder.fit(frame_in).transform(frame_in[::-1])
    assert np.allclose(again.toarray(), expected[::-1], equal_nan=True)
    assert not (found.data < 0).any() or numeric == "standard"


def test_without_texts_it_is_the_tabular_encoder():
    frame = DAYS.drop("Note", "Temp", "Rain", "Holiday")
    ours = make_encoder(frame, numeric="minmax", discrete=["Zip"]).fit(frame)
    theirs = tabular_encoder(frame, numeric="minmax", discrete=["Zip"]).fit(frame)
    assert np.array_equal(ours.transform(frame), theirs.transform(frame))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_numbers_side_by_side_are_one_part():
    rng = np.random.RandomState(0)
    frame = pl.DataFrame({f"p{i}": rng.randint(0, 256, 20) for i in range(50)})
    encoder = make_encoder(frame).fit(frame)
    assert [(key, len(columns)) for key, _, columns in encoder.transformers_] == [("p0..p49", 50)]
    assert np.allclose(encoder.transform(frame), StandardScaler().fit_transform(frame.to_numpy().astype(float)))
    assert encoder.get_feature_names_out().tolist() == frame.columns
    with pytest.raises(DataError, match="The column 'p7' must hold numbers, as in the frame that made the encoder"):
        encoder.transform(frame.with_columns(pl.lit("x").alias("p7")))


def test_only_what_a_model_file_can_hold():
    known = (ColumnTransformer, Pipeline, StandardScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer)
    known += (HashingVectorizer, TfidfVectorizer, _Number, _Chance, _Truth, _Discrete, _Text)
    for numeric in ("standard", "minmax", "maxabs", "keep"):
        for text_features in ("hashing", "tfidf"):
            encoder = make_encoder(DAYS, numeric=numeric, missing="mean", text_features=text_features, **OPTIONS)
            parts = [part for _, part, _ in encoder.transformers]
            parts += [step for part in parts if isinstance(part, Pipeline) for _, step in part.steps]
            assert {type(part) for part in parts} <= set(known)
            for part in parts:
                if not isinstance(part, Pipeline):
                    assert not [
                        value for value in part.get_params().values() if callable(value) and not isinstance(value, type)
                    ]


def test_columns_of_an_encoder():
    expected = {
        "Outlook": "text",
        "Temp": "number",
        "Wind": "number",
        "Holiday": "truth",
        "Rain": "number",
        "Zip": "number",
        "Note": "text",
    }
    encoder = make_encoder(DAYS, missing="mean", **OPTIONS)
    assert encoder_columns(encoder) == expected
    assert encoder_columns(encoder.fit(DAYS)) == expected
    assert encoder_columns(make_pipeline(encoder, SimpleImputer())) == expected
    words = DAYS.with_columns(pl.col("Zip").cast(pl.String))
    assert encoder_columns(make_encoder(words, **OPTIONS))["Zip"] == "text"
    assert encoder_columns(tabular_encoder(DAYS.drop("Note"), discrete=["Holiday"]))["Holiday"] == "truth"
    with pytest.raises(
        VotronError, match=r"encoder_columns takes what make_encoder made. Got an object of type StandardScaler"
    ):
        encoder_columns(StandardScaler())


def test_a_table_to_predict_is_read_as_the_one_to_train_on(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("zip,size,ok,note,y\n08001,1,true,good day,a\n09000,2.5,false,bad day,b\n08001,1.5,true,good,a\n")
    test.write_text("extra,note,ok,zip,size\n?,bad,0,09000,2\n?,good,1,08001,1\n")
    examples = read_examples(train, label="y", as_text=["zip"])
    encoder = make_encoder(examples.X, text=["note"])
    model = make_pipeline(encoder, AveragedPerceptronClassifier(random_state=0)).fit(examples.X, examples.y)
    found = read_examples(test, labels="none", columns=encoder_columns(model))
    assert model.predict(found.X).tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"numeric": "log"}, "The 'numeric' parameter of tabular_encoder must be one of"),
        ({"missing": "zero"}, "The 'missing' parameter of a table's encoder must be one of"),
        (
            {"text_features": "bm25"},
            "The 'text_features' parameter of a table's encoder must be one of 'auto', 'hashing', 'tfidf'",
        ),
        ({"n_text_features": 0}, "The 'n_text_features' parameter of a table's encoder must be an int"),
        ({"text": ["Body"]}, "The 'text' parameter of tabular_encoder must be names of columns"),
        (
            {"text": ["Temp"]},
            "The column 'Temp' must hold texts: leave it out, or take it as discrete. Got 85.0 in row 0",
        ),
        ({"text": ["Outlook"], "discrete": ["Outlook"]}, "The 'discrete' parameter of tabular_encoder must be names"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(VotronError) as caught:
        make_encoder(DAYS, **options)
    assert words in str(caught.value)


def test_bad_frames():
    with pytest.raises(
        VotronError, match=r"make_encoder takes a DataFrame of pandas or polars. Got an object of type list"
    ):
        make_encoder([[1.0]])
    with pytest.raises(DataError, match="The texts in column 'a' must have a word of two letters somewhere"):
        make_encoder(pl.DataFrame({"a": ["x", "", "!"]}), text=["a"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_blanks_at_the_ends_of_words_are_those_of_no_file(library, tmp_path):
    """A model of a frame takes a file, and one of a file a frame, whatever blanks there are."""
    rows = {
        "city": ["Lyon", " Lyon ", "Oslo", "Oslo", "  "],
        "day": [" 2024-01-31", "2024-02-01 ", *["2024-03-01"] * 3],
    }
    frame, plain = library(rows), library({name: [each.strip() for each in values] for name, values in rows.items()})
    frame, plain = frame[:4], plain[:4]
    encoder = tabular_encoder(frame)
    assert encoder.fit(frame).get_feature_names_out().tolist()[:3] == ["city=Lyon", "city=Oslo", "year of day"]
    vectors = encoder.transform(frame)
    assert np.array_equal(vectors, encoder.transform(plain))
    assert np.array_equal(vectors, tabular_encoder(plain).fit(plain).transform(frame))
    assert not unseen_values(encoder, frame)
    assert not unseen_values(encoder, plain)
    assert list(unseen_values(encoder, library({"city": [" Rome "], "day": ["2024-03-01"]})).values) == ["city"]
    path = tmp_path / "a.csv"
    path.write_text("city,day\n" + "".join(f"{a},{b}\n" for a, b in zip(*rows.values(), strict=True)))
    read = read_examples(path, labels="none", missing="keep").X
    assert np.array_equal(encoder.transform(read[:4]), vectors)
    assert tabular_encoder(library(rows)).fit(library(rows)).get_feature_names_out().tolist()[2] == "city=  "
