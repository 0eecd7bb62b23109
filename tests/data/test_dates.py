"""Dates in files: texts that are all dates, read as such, and encoded as from every other format."""

import pandas as pd
import pytest

from votron import TableEncoder
from votron.data import read_examples, write_examples
from votron.data.reading import open_batches
from votron.errors import DataError

WEATHER = "tests/data/tables/seattle-weather.csv"


def test_every_format_and_frame_gives_the_same_vectors(tmp_path):
    weather = read_examples(WEATHER, label="weather")
    encoder = TableEncoder().fit(weather.X)
    expected = encoder.transform(weather.X).tolist()
    frame = pd.read_csv(WEATHER).drop(columns="weather")
    for other in (frame, frame.assign(date=pd.to_datetime(frame["date"]))):
        assert encoder.transform(other).tolist() == expected
    for end in ("csv", "tsv", "json", "jsonl", "parquet", "arrow"):
        write_examples(weather, tmp_path / f"w.{end}")
        again = read_examples(tmp_path / f"w.{end}", label="weather", columns=encoder.column_kinds_)
        assert encoder.transform(again.X).tolist() == expected, end


def test_later_rows_must_be_dates_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,y\n2024-01-31,1\n2024-02-01,2\nsoon,1\n")
    assert read_examples(path, label="y").X["d"].to_list()[2] == "soon"
    with pytest.raises(DataError, match=r"must hold dates.*Got 'soon' in line 4"):
        list(open_batches(path, label="y", batch_bytes=15))
    with pytest.raises(DataError, match=r"must hold dates.*Got 'soon' in line 4"):
        read_examples(path, label="y", columns={"d": "date"})


def test_dates_can_be_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,y\n2024-01-31,1\n2024-02-01,2\n")
    assert read_examples(path, label="y", as_text=["d"]).X["d"].to_list() == ["2024-01-31", "2024-02-01"]
    assert read_examples(path, label="d").y.tolist() == ["2024-01-31", "2024-02-01"]
