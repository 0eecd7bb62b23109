"""Cohen's encoding of tables, and the encoder as scikit-learn's transformers are."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from votron import VotedPerceptronClassifier, tabular_encoder
from votron.errors import DataError
from votron.tables import TableEncoder

both = pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
DAYS = {"Outlook": ["Rainy", "Sunny", "Cloudy"], "Temp": [85, 87, 75]}


@both
def test_the_table_of_the_notes(kind):
    """As printed there, but for day 2, where he sets the feature of Rainy for a sunny day."""
    encoder = tabular_encoder(kind(DAYS))
    vectors = encoder.fit_transform(kind(DAYS))
    assert np.array_equal(vectors, [[1, 0, 0, 85], [0, 1, 0, 87], [0, 0, 1, 75]])
    assert vectors.dtype == np.float64
    assert encoder.get_feature_names_out().tolist() == ["Outlook=Rainy", "Outlook=Sunny", "Outlook=Cloudy", "Temp"]
    assert np.array_equal(encoder.transform(kind({"Outlook": ["Snowy"], "Temp": [20]})), [[0, 0, 0, 20]])


@both
@pytest.mark.parametrize("n_values", [3, 60])
def test_cross_validation_with_values_that_a_fold_lacks(kind, n_values):
    rng = np.random.default_rng(0)
    values = rng.integers(n_values, size=200)
    frame = kind({"x": [f"v{i}" for i in values], "n": rng.normal(size=200)})
    model = make_pipeline(TableEncoder(), VotedPerceptronClassifier(random_state=0))
    assert np.mean(cross_val_score(model, frame, values % 2, cv=4, error_score="raise")) > 0.6


@both
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_as_output(kind, output):
    days = kind({**DAYS, "Windy": [True, False, True]})
    encoder = tabular_encoder(days)
    expected = clone(encoder).fit_transform(days)
    found = encoder.set_output(transform=output).fit_transform(days)
    assert type(found).__module__.startswith(output)
    assert list(found.columns) == list(encoder.get_feature_names_out())
    assert np.array_equal(found.to_numpy(), expected)


@both
def test_cloned_and_pickled(kind):
    encoder = TableEncoder(numeric="minmax", missing="mean").fit(kind(DAYS))
    expected = encoder.transform(kind(DAYS))
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).transform(kind(DAYS)), expected)
    assert np.array_equal(clone(encoder).fit_transform(kind(DAYS)), expected)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        pl.Series([True, None, False]),
    ],
    ids=["nullable", "objects", "polars"],
)
def test_truth_values_of_every_type(column):
    frame = pd.DataFrame({"x": column}) if isinstance(column, pd.Series) else pl.DataFrame({"x": column})
    encoder = tabular_encoder(frame).fit(frame)
    assert np.array_equal(encoder.transform(frame)[:, 0], [1, np.nan, 0], equal_nan=True)
    assert encoder.transform(pd.DataFrame({"x": [0, 1]}))[:, 0].tolist() == [0, 1]
    with pytest.raises(DataError, match="must hold True and False, or 1 and 0"):
        encoder.transform(pd.DataFrame({"x": [2, 1]}))


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint64", "float32", "Int32", "Float64", pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(10, 2)],
)
def test_numbers_of_every_type(dtype):
    if isinstance(dtype, str):
        frame = pd.DataFrame({"x": pd.Series([1, 2, 3]).astype(dtype)})
    else:
        frame = pl.DataFrame({"x": pl.Series([1, 2, 3]).cast(dtype)})
    assert tabular_encoder(frame).fit_transform(frame)[:, 0].tolist() == [1, 2, 3]


MOMENTS = [datetime.datetime(2024, 1, 31, 23), None, datetime.datetime(2024, 2, 1)]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(MOMENTS)),
        pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Asia/Tokyo"),
        pd.Series(MOMENTS, dtype=object),
        pl.Series(MOMENTS),
        pl.Series(MOMENTS).dt.replace_time_zone("Asia/Tokyo"),
        pl.Series(["2024-01-31 23:00", None, "2024-02-01"]),
    ],
    ids=["pandas", "zone", "objects", "polars", "polars zone", "text"],
)
def test_dates_of_every_type_are_those_of_the_clock(column):
    frame = pd.DataFrame({"x": column}) if isinstance(column, pd.Series) else pl.DataFrame({"x": column})
    encoder = TableEncoder(missing="keep").fit(frame)
    told = [encoder.columns_[0].value_of(row) for row in encoder.transform(frame)]
    assert told == ["2024-01-31, hour 23", "", "2024-02-01, hour 0"]
