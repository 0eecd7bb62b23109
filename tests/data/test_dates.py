"""Dates: recognised in every format, as numbers that the textbook would write down, whole and in batches."""

import datetime
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron import (
    AveragedPerceptronClassifier,
    VotedPerceptronClassifier,
    WinnowClassifier,
    load,
    save,
    table_classifier,
)
from votron.cli import main
from votron.data import encoder_columns, make_encoder, open_batches, read_examples, scan_stream, write_examples
from votron.data.dates import are_dates, date_in, dates_in
from votron.errors import DataError, VotronError
from votron.export import to_onnx

FORMS = (
    "%Y-%m-%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S.250+02:00",
    "%d.%m.%Y %H:%M",
    "%b %d, %Y %H:%M",
    "%d %b %Y %H:%M",
)
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)
GAPS = st.lists(st.none() | MOMENTS, min_size=1, max_size=8).filter(any)


@settings(deadline=None)
@given(GAPS, st.sampled_from(FORMS))
def test_texts_are_dates_however_they_are_written(moments, form):
    texts = [None if moment is None else moment.strftime(form) for moment in moments]
    assert dates_in(pl.Series("d", texts)).cast(pl.Datetime("us")).to_list() == moments
    assert [None if text is None else date_in(text) for text in texts] == moments


@pytest.mark.parametrize(
    "text",
    [
        "1/2/2024",
        "2024-02-30",
        "2024-13-01",
        "24-01-01",
        "2024-01-01 25:00",
        "Foo 1 2024",
        "2024",
        "",
        "2024-\u0660\u0661-01",
    ],
)
def test_what_is_no_date_or_more_than_one(text):
    assert date_in(text) is None
    assert dates_in(pl.Series("d", ["2024-01-01", text])) is None
    assert dates_in(pl.Series("d", [text])) is None


def textbook(moments, how, hours):
    """Return the features of dates, one at a time."""
    years = [moment.year for moment in moments if moment is not None]
    first, last = min(years), max(years)
    cycles = [(lambda m: m.month - 1, 12), (lambda m: m.weekday(), 7), *([(lambda m: m.hour, 24)] if hours else [])]
    rows = []
    for moment in moments:
        row = []
        if how == "cyclic":
            row.append(math.nan if moment is None else (moment.year - first) / max(1, last - first))
            for part, n in cycles:
                angle = math.nan if moment is None else 2 * math.pi * part(moment) / n
                row += [math.sin(angle), math.cos(angle)]
        else:
            row += [float(moment is not None and moment.year == year) for year in range(first, last + 1)]
            for part, n in cycles:
                row += [float(moment is not None and part(moment) == i) for i in range(n)]
        rows.append(row)
    return np.array(rows)


@settings(deadline=None)
@given(GAPS, st.sampled_from(["cyclic", "onehot"]), st.booleans())
def test_features_are_those_of_the_textbook(moments, how, whole_days):
    if whole_days:
        moments = [None if moment is None else moment.replace(hour=0, minute=0) for moment in moments]
    hours = any(moment is not None and moment.hour for moment in moments)
    expected = textbook(moments, how, hours)
    for frame in (
        pl.DataFrame({"d": pl.Series(moments, dtype=pl.Datetime("us"))}),
        pd.DataFrame({"d": pd.Series(moments, dtype="datetime64[us]")}),
        pd.DataFrame({"d": pd.Series(moments, dtype=object)}),
    ):
        encoder = make_encoder(frame, dates=how).fit(frame)
        assert np.allclose(encoder.transform(frame), expected, atol=1e-11, equal_nan=True)
        assert len(encoder.get_feature_names_out()) == expected.shape[1]
        texts = pd.DataFrame({"d": [None if m is None else m.isoformat(" ") for m in moments]})
        assert np.allclose(encoder.transform(texts), expected, atol=1e-11, equal_nan=True)


WEATHER = "tests/data/tables/seattle-weather.csv"


def test_every_format_and_frame_gives_the_same_vectors(tmp_path):
    weather = read_examples(WEATHER, label="weather")
    encoder = make_encoder(weather.X).fit(weather.X)
    assert encoder_columns(encoder)["date"] == "date"
    expected = encoder.transform(weather.X)
    frame = pd.read_csv(WEATHER).drop(columns="weather")
    for other in (frame, frame.assign(date=pd.to_datetime(frame["date"]))):
        assert np.array_equal(encoder.transform(other), expected)
    for end in ("csv", "tsv", "json", "jsonl", "parquet", "arrow"):
        write_examples(weather, tmp_path / f"w.{end}")
        again = read_examples(tmp_path / f"w.{end}", label="weather", columns=encoder_columns(encoder))
        assert np.array_equal(encoder.transform(again.X), expected), end
        assert again.X["date"].dtype.is_temporal()


@settings(deadline=None)
@given(st.lists(st.none() | MOMENTS, min_size=2, max_size=30).filter(any), st.integers(30, 200), st.booleans())
def test_the_encoder_of_a_stream_is_that_of_all_rows(tmp_path_factory, moments, batch_bytes, filled):
    path = tmp_path_factory.getbasetemp() / "stream.csv"
    texts = ["" if moment is None else moment.strftime("%Y-%m-%d %H:%M") for moment in moments]
    path.write_text("d,n,y\n" + "".join(f"{text},1,{i % 2}\n" for i, text in enumerate(texts)))
    how = {"dates": "cyclic" if filled else "onehot", "missing": "mean" if filled else "keep"}
    reading = {"label": "y", "missing": "keep", "columns": {"d": "date", "n": "number"}}
    whole = read_examples(path, **reading)
    expected = make_encoder(whole.X, **how).fit(whole.X).transform(whole.X)
    facts = scan_stream(open_batches(path, batch_bytes=batch_bytes, **reading), **how)
    assert np.allclose(facts.encoder.transform(whole.X), expected, atol=1e-9)


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
@pytest.mark.parametrize("texts", [["2024-01-31", None, "2025-02-01 10:00"], ["2024-01-31", None, "1.2.2025"]])
def test_texts_of_columnar_files_are_dates_in_streams_as_in_one_piece(texts, how, tmp_path):
    frame = pl.DataFrame({"d": texts * 5, "n": range(15), "y": [0, 1, 1] * 5})
    frame.write_parquet(tmp_path / "t.parquet")
    reading = {"label": "y", "missing": "keep"}
    whole = read_examples(tmp_path / "t.parquet", **reading).X
    expected = make_encoder(whole, missing="mean", dates=how).fit(whole)
    stream = open_batches(tmp_path / "t.parquet", batch_bytes=32, **reading)
    found = scan_stream(stream, missing="mean", dates=how).encoder
    assert encoder_columns(found) == encoder_columns(expected)
    assert np.allclose(found.transform(whole), expected.transform(whole), atol=1e-9)


def test_later_rows_must_be_dates_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,y\n2024-01-31,1\n2024-02-01,2\nsoon,1\n")
    assert read_examples(path, label="y").X["d"].to_list()[2] == "soon"
    with pytest.raises(DataError, match=r"must hold dates, .* as in the rows before it. Got 'soon' in line 4"):
        list(open_batches(path, label="y", batch_bytes=15))
    with pytest.raises(DataError, match=r"must hold dates.*as when the model was trained\. Got 'soon' in line 4"):
        read_examples(path, label="y", columns={"d": "date"})
    path.write_text("d,y\n2024,1\n2025,2\n")
    with pytest.raises(DataError, match=r"must hold dates.*Got 2024 in line 2"):
        read_examples(path, label="y", columns={"d": "date"})


def test_dates_can_be_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,y\n2024-01-31,1\n2024-02-01,2\n")
    assert read_examples(path, label="y", as_text=["d"]).X["d"].to_list() == ["2024-01-31", "2024-02-01"]
    assert read_examples(path, label="y", columns={"d": "text"}).X["d"].to_list() == ["2024-01-31", "2024-02-01"]
    assert read_examples(path, label="d").y.tolist() == ["2024-01-31", "2024-02-01"]
    frame = pl.DataFrame({"d": [datetime.date(2024, 1, 31)]})
    with pytest.raises(DataError, match="must hold either numbers, or truth values, or text"):
        make_encoder(frame, discrete=["d"])
    with pytest.raises(VotronError, match="The 'dates' parameter of tabular_encoder must be one of 'cyclic', 'onehot'"):
        make_encoder(frame, dates="weekly")
    frame.with_columns(y=pl.lit(1)).write_parquet(tmp_path / "t.parquet")
    assert read_examples(tmp_path / "t.parquet", label="y", as_text=["d"]).X["d"].to_list() == ["2024-01-31"]


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
def test_models_of_dates_come_back_and_onnx_says_why_not(how, tmp_path):
    weather = read_examples(WEATHER, label="weather")
    model = table_classifier(weather.X, AveragedPerceptronClassifier(random_state=0), dates=how)
    model.fit(weather.X, weather.y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(weather.X), model.decision_function(weather.X))
    assert encoder_columns(again) == encoder_columns(model)
    with pytest.raises(VotronError, match="The column 'date' holds dates, which ONNX has no operators for"):
        to_onnx(again)
    unknown = weather.X.with_columns(date=pl.lit("1999-12-31"))
    assert len(again.predict(unknown)) == len(unknown)
    soon = weather.X.with_columns(date=pl.lit("soon"))  # is a missing value
    if how == "onehot":
        missing = weather.X.with_columns(date=pl.lit(None, dtype=pl.Date))
        np.testing.assert_array_equal(again.predict(soon), again.predict(missing))
    else:
        with pytest.raises(DataError, match=r"nor texts that are neither, and 'date' has 1,461: fill them in"):
            again.predict(soon)
    with pytest.raises(DataError, match="must hold dates, as in the frame that made the encoder"):
        again.predict(weather.X.with_columns(date=pl.lit(7)))


def test_winnow_gets_features_of_0_and_1():
    frame = pl.DataFrame({"d": [datetime.date(2024, 1, 31), datetime.date(2025, 7, 1)] * 3})
    model = table_classifier(frame, WinnowClassifier(random_state=0)).fit(frame, [0, 1] * 3)
    assert model.predict(frame).tolist() == [0, 1] * 3


def test_the_command_line_says_what_becomes_of_dates(tmp_path, capsys):
    model = str(tmp_path / "m.votron")
    assert main(["train", WEATHER, "--label", "weather", "--estimator", "averaged", "-o", model]) == 0
    assert "The column 'date' holds dates" in capsys.readouterr().err
    assert main(["predict", model, WEATHER, "--quiet"]) == 0
    first = capsys.readouterr().out
    assert first.count("\n") == 1462
    for end in ("json", "parquet"):
        assert main(["data", "convert", WEATHER, str(tmp_path / f"w.{end}")]) == 0
        assert main(["predict", model, str(tmp_path / f"w.{end}"), "--quiet"]) == 0
        assert capsys.readouterr().out == first
    assert main(["data", "describe", WEATHER]) == 0
    assert "2012-01-01 to 2015-12-31" in capsys.readouterr().out
    stream = ["--stream", "--batch", "4KB", "--estimator", "averaged", "-o", model]
    assert main(["train", WEATHER, "--label", "weather", *stream]) == 0


@pytest.mark.parametrize("how", ["cyclic", "onehot"])
def test_explanations_call_dates_by_their_names(how, tmp_path, capsys):
    path = tmp_path / "t.csv"
    days = [f"{2020 + i % 3}-{1 + 5 * i % 12:02}-{1 + i % 28:02}" for i in range(40)]
    path.write_text("day,x,y\n" + "".join(f"{day},{i % 3},{'ab'[int(day[5:7]) > 6]}\n" for i, day in enumerate(days)))
    model = str(tmp_path / "m.votron")
    train = ["train", str(path), "--label", "y", "--dates", how, "--kernel", "linear", "-o", model, "--quiet"]
    assert main(train) == 0
    capsys.readouterr()
    assert main(["explain", model, str(path), "--row", "3", "--json", "--top", "30"]) == 0  # the 3rd of November 2022
    features = json.loads(capsys.readouterr().out)["rows"][0]["features"]
    said = {term["name"]: term.get("about", term["value"]) for side in ("for", "against") for term in features[side]}
    if how == "onehot":
        assert {name for name in said if " of day" in name} <= {
            "year of day: 2022",
            "month of day: November",
            "weekday of day: Thursday",
        }
        assert "month of day: November" in said
    else:
        assert said["month of day (sine)"] == "September or November"
        assert said["month of day (cosine)"] == "March or November"
        assert said["weekday of day (sine)"] == "Thursday"
        assert said["year of day"] == 2022


ORDERS = ("%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y", "%Y-%m-%d %H:%M")


@settings(deadline=None)
@given(GAPS, st.lists(st.sampled_from((*FORMS, *ORDERS, "soon %Y", "%Y", "%m/%d/%Y")), min_size=1, max_size=2))
def test_frames_of_both_libraries_recognise_what_files_do(moments, forms):
    texts = [None if moment is None else moment.strftime(forms[i % len(forms)]) for i, moment in enumerate(moments)]
    expected = dates_in(pl.Series(texts, dtype=pl.String)) is not None
    for column in (pl.Series(texts, dtype=pl.String), pd.Series(texts, dtype=object), pd.Series(texts, dtype="string")):
        assert are_dates(column) == expected
    assert not are_dates(pl.Series(texts, dtype=pl.Categorical))
    assert not are_dates(pd.Series(texts, dtype="category"))


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
@pytest.mark.parametrize("how", ["cyclic", "onehot"])
def test_texts_of_frames_are_the_dates_that_the_shell_sees(form, read, how, tmp_path, capsys):
    path, theirs, ours = (str(tmp_path / name) for name in ("orders.csv", "shell.votron", "python.votron"))
    start = datetime.datetime(2021, 3, 1, 7)
    days = [start + datetime.timedelta(hours=701 * i) for i in range(40)]
    rows = [[day.strftime(form), i % 7, "late" if day.month > 6 else "soon"] for i, day in enumerate(days)]
    pl.DataFrame(rows, schema=["day", "n", "y"], orient="row").write_csv(path)
    options = ["--label", "y", "--dates", how, "--random-state", "0", "--quiet"]
    assert main(["train", path, *options, "-o", theirs]) == 0
    frame = read(path)
    X = frame[["day", "n"]]
    model = table_classifier(X, VotedPerceptronClassifier(random_state=0), dates=how).fit(X, frame["y"])
    save(model, ours)
    shell, python = load(theirs), load(ours)
    assert encoder_columns(python) == encoder_columns(shell) == {"day": "date", "n": "number"}
    assert model[:-1].get_feature_names_out().tolist() == shell[:-1].get_feature_names_out().tolist()
    np.testing.assert_array_equal(model[:-1].transform(X), shell[:-1].transform(X))
    for name in ("example", "vector", "sign", "time", "score"):
        np.testing.assert_array_equal(getattr(model.record_, name), getattr(shell.record_, name))
    np.testing.assert_array_equal(python.decision_function(X), shell.decision_function(X))
    found = []
    capsys.readouterr()
    for file in (theirs, ours):
        assert main(["predict", file, path, "--scores", "--quiet"]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_texts_that_are_no_dates_are_missing_and_discrete_dates_are_names(library):
    days = library({"d": ["2024-01-31", "2025-02-01", None, "2024-07-01"]})
    encoder = make_encoder(days, missing="mean").fit(days)
    odd, missing = library({"d": ["2024-01-31", "soon"]}), library({"d": ["2024-01-31", None]})
    np.testing.assert_array_equal(encoder.transform(odd), encoder.transform(missing))
    assert np.isfinite(encoder.transform(odd)).all()
    names = make_encoder(days, discrete=["d"]).fit(days).get_feature_names_out().tolist()
    assert names == ["d=2024-01-31", "d=2025-02-01", "d=2024-07-01"]
