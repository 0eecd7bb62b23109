"""Values and words that training has not seen: counted and named, and nothing said of clean data."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from votron import AveragedPerceptronClassifier, load, save, table_classifier
from votron.cli import main
from votron.data import Unseen, unseen_values

WORDS = st.sampled_from(["a", "b", "c", "d"])
COLUMN = st.lists(st.none() | WORDS, min_size=2, max_size=9).filter(any)


@settings(deadline=None)
@given(COLUMN, COLUMN, st.sampled_from([pd.DataFrame, pl.DataFrame]))
def test_values_are_counted_as_one_would_by_hand(train, test, kind):
    frame, other = kind({"w": train, "n": range(len(train))}), kind({"w": test, "n": range(len(test))})
    labels = [i % 2 for i in range(len(train))]
    model = table_classifier(frame, AveragedPerceptronClassifier(random_state=0)).fit(frame, labels)
    expected = Counter(word for word in test if word is not None and word not in train)
    assert unseen_values(model, other).values == ({"w": expected} if expected else {})
    assert not unseen_values(model, frame)
    parts = [("w", OneHotEncoder(handle_unknown="ignore"), ["w"]), ("n", StandardScaler(), ["n"])]
    own = make_pipeline(ColumnTransformer(parts), AveragedPerceptronClassifier(random_state=0)).fit(frame, labels)
    assert unseen_values(own, other).values == ({"w": expected} if expected else {})


def test_words_are_counted_in_total(tmp_path):
    texts = pl.DataFrame({"t": ["red wine", "blue sky", None], "m": ["one", "two", "one"]})
    model = table_classifier(texts, AveragedPerceptronClassifier(random_state=0), text=["t", "m"])
    model.fit(texts, [0, 1, 0])
    save(model, tmp_path / "m")
    new = pl.DataFrame({"t": ["red sky, red sun", "sun"], "m": ["one", "one"]})
    found = unseen_values(load(tmp_path / "m"), new)
    assert (found.words, found.n_words) == ({"t": 2}, {"t": 5, "m": 2})
    assert found.sentences() == [
        "Of the 5 words in the texts of column 't', 2 are not in the training data, and passed over."
    ]
    alone = make_pipeline(CountVectorizer(), AveragedPerceptronClassifier()).fit(["red wine", "blue"], [0, 1])
    assert unseen_values(alone, ["red sun"]).sentences() == [
        "Of the 2 words in the texts, 1 is not in the training data, and passed over."
    ]
    hashed = table_classifier(texts, AveragedPerceptronClassifier(), text=["t"], text_features="hashing")
    assert not unseen_values(hashed.fit(texts, [0, 1, 0]), new.with_columns(m=pl.lit("two")))


def test_steps_before_an_encoder_and_codes_of_numbers():
    frame = pd.DataFrame({"w": pd.Series(["a", np.nan, "b"], dtype=object), "k": [1, 2, 1]})
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder())
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = ColumnTransformer([("w", words, ["w"]), ("k", codes, ["k"])]).fit(frame)
    found = unseen_values(model, pd.DataFrame({"w": pd.Series(["z", np.nan, "a"], dtype=object), "k": [7, 1, 7]}))
    assert found.values == {"w": Counter({"z": 1}), "k": Counter({7: 2})}
    assert not unseen_values(make_pipeline(StandardScaler()).fit([[1.0], [2.0]]), [[3.0]])


def test_batches_are_added_up_and_sentences_stay_short():
    found = Unseen()
    for i in range(20):
        found.update(Unseen({"c": Counter({f"v{i:02d}": 20 - i})}))
    [sentence] = found.sentences()
    assert "has 20 values, in 210 rows" in sentence
    assert sentence.endswith("'v04' (16 rows), and 15 more.")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_commands_say_what_the_model_has_not_seen(tmp_path, capsys, command):
    model, train, new = str(tmp_path / "m.votron"), tmp_path / "train.csv", tmp_path / "new.csv"
    train.write_text("city,n,y\n" + "Rome,1,a\nOslo,2,b\n" * 5)
    new.write_text("city,n,y\n" + "Rome,1,a\nParis,2,b\n" * 3)
    assert main(["train", str(train), "--label", "y", "-o", model]) == 0
    capsys.readouterr()
    assert main([command, model, str(train)]) == 0
    assert "not in the training data" not in " ".join(capsys.readouterr().err.split())
    assert main([command, model, str(new)]) == 0
    assert " ".join(capsys.readouterr().err.split()) == (
        "The column 'city' has 1 value, in 3 rows, that is not in the training data, and sets no feature there: "
        "'Paris' (3 rows)."
    )
    assert main([command, model, str(new), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
