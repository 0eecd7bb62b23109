"""Batches: together they are the whole, in memory they are a batch, and one pass finds out what an encoder needs."""

import gzip
import os
import struct

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from votron import TableEncoder
from votron.data import open_batches, read_examples, scan_stream
from votron.errors import DataError, VotronError

fixture_once = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


def together(batches):
    """The batches as one: features and labels."""
    parts = list(batches)
    first = parts[0].X
    if parts[0].columns is not None:
        X = pl.concat([part.X for part in parts], how="vertical_relaxed")
    else:
        X = (
            sp.vstack([part.X for part in parts]).tocsr()
            if sp.issparse(first)
            else np.vstack([part.X for part in parts])
        )
    rows = np.cumsum([0, *(part.n_rows + part.dropped for part in parts)])
    assert [part.first_row for part in parts] == rows[:-1].tolist()
    return X, None if parts[0].y is None else np.concatenate([part.y for part in parts])


def assert_same(batches, whole):
    X, y = together(batches)
    if whole.columns is not None:
        assert X.columns == whole.X.columns
        assert X.rows() == whole.X.rows()
    else:
        dense = [one.toarray() if sp.issparse(one) else one for one in (X, whole.X)]
        assert np.array_equal(*dense)
    assert (y is None and whole.y is None) or (y.tolist() == whole.y.tolist() and y.dtype.kind == whole.y.dtype.kind)


# -- the whole --------------------------------------------------------------------------------------------------------


def csv_of(n, seed=0):
    rng = np.random.RandomState(seed)
    words = ['"a, b"', "c", '"d\ne"', '"f""g"', "h"]
    rows = [f"{rng.choice(words)},{rng.randint(1000)},{rng.randn():.4f},{'xyz'[rng.randint(3)]}" for _ in range(n)]
    return "name,size,weight,kind\n" + "\n".join(rows) + "\n"


@pytest.mark.slow
@given(st.integers(1, 60), st.integers(1, 500), st.integers(0, 9), st.sampled_from(["plain", "gz", "crlf", "no end"]))
@fixture_once
def test_batches_of_a_table(tmp_path, n, batch_bytes, seed, how):
    data = csv_of(n, seed).encode()
    data = {"crlf": data.replace(b"\n", b"\r\n"), "no end": data[:-1]}.get(how, data)
    path = tmp_path / "table.csv"
    path.write_bytes(gzip.compress(data) if how == "gz" else data)
    batches = open_batches(path, label="kind", batch_bytes=batch_bytes)
    assert batches.bounded
    whole = read_examples(path, label="kind")
    assert_same(batches, whole)
    assert_same(batches, whole)  # once more


@pytest.fixture
def sources(tmp_path):
    """Files of every format, with 50 examples."""
    rng = np.random.RandomState(0)
    X, y = rng.randint(0, 9, (50, 6)), np.arange(50) % 3
    frame = pl.DataFrame({f"c{i}": X[:, i] for i in range(6)}).with_columns(pl.Series("y", y))
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_ipc_stream(tmp_path / "stream.arrow")
    np.save(tmp_path / "a.npy", np.c_[X, y])
    np.save(tmp_path / "f.npy", np.asfortranarray(np.c_[X, y].astype(">f4")))
    np.savez(tmp_path / "a.npz", X=X, y=y)
    lines = "".join(f"{y[i]} {' '.join(f'{j + 1}:{X[i, j]}' for j in range(6))}\n" for i in range(50))
    (tmp_path / "a.svm").write_text("# fifty\n" + lines)
    images = bytes([0, 0, 8, 3]) + struct.pack(">3I", 50, 2, 3) + X.astype(np.uint8).tobytes()
    labels = bytes([0, 0, 8, 1]) + struct.pack(">I", 50) + y.astype(np.uint8).tobytes()
    (tmp_path / "train-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(labels)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("batch_bytes", [1, 100, 10_000])
@pytest.mark.parametrize(
    ("name", "options", "bounded"),
    [
        ("a.csv", {"label": "y"}, True),
        ("a.tsv", {"label": "y"}, True),
        ("a.parquet", {"label": "y"}, True),
        ("a.arrow", {"label": "y"}, True),
        ("stream.arrow", {"label": "y"}, False),
        ("a.npy", {"label": -1}, True),
        ("f.npy", {"label": -1}, True),
        ("a.npz", {}, False),
        ("a.svm", {"n_features": 6}, True),
        ("train-images-idx3-ubyte", {}, False),
        ("train-images-idx3-ubyte.gz", {}, False),
        ("", {}, False),
    ],
)
def test_batches_of_every_format(sources, name, options, bounded, batch_bytes):
    batches = open_batches(sources / name, batch_bytes=batch_bytes, **options)
    assert batches.bounded is bounded
    assert_same(batches, read_examples(sources / name, **options))


# -- what does not fit ------------------------------------------------------------------------------------------------


ROWS = "a,b,y\n" + "1,x,0\n" * 100
BAD_LATER = {
    "text among numbers": ("z,x,0\n", "The column 'a' of", "as in the rows before it", "Got 'z' in line 102 instead"),
    "missing": ("1,,0\n", "the first is in line 102, column 'b'"),
    "fields": ("1,x\n", "Line 102 of", "must have 3 fields"),
    "quote": ('1,"x,0\n', "unexpected end of data after line 101"),
    "Latin-1": (b"1,\xe9,0\n", "line 102 has the byte 0xe9"),
    "infinite": ("1e999,x,0\n", "Got inf in line 102"),
    "label": ("1,x,z\n", "The column 'y' of", "Got 'z' in line 102 instead"),
}


@pytest.mark.parametrize("case", BAD_LATER)
def test_later_rows_that_do_not_fit(tmp_path, case, refused):
    line, *words = BAD_LATER[case]
    path = tmp_path / "table.csv"
    path.write_bytes(ROWS.encode() + (line if isinstance(line, bytes) else line.encode()) + b"1,x,0\n")
    refused(path, *words, label="y", batch_bytes=70)


def test_columns_that_are_left_out_may_change(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(ROWS + "z,x,0\n")
    for options in ({"drop": ["a"]}, {"columns": {"b": "text"}}):
        X, _ = together(open_batches(path, label="y", batch_bytes=70, **options))
        assert X.columns == ["b"]


def test_batches_that_are_dropped_whole(tmp_path, refused):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "1,0\n" * 10 + ",0\n" * 100 + "2,1\n" * 10)
    batches = list(open_batches(path, label="y", batch_bytes=30, missing="drop"))
    assert sum(batch.n_rows for batch in batches) == 20
    path.write_text("a,y\n" + ",0\n" * 100)
    refused(path, "There are no examples in", "or none is left", label="y", batch_bytes=30, missing="drop")


def test_svmlight_that_changes_its_mind(tmp_path, refused):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1\n" * 20 + "1 0:1\n")
    refused(path, "must be numbered from 1", "Got a feature 0:", batch_bytes=30)
    assert sum(len(batch) for batch in open_batches(path, batch_bytes=30, zero_based=True)) == 21
    path.write_text("1 1:1\n" * 20 + "1 x:1\n")
    refused(path, "Line 21 of", batch_bytes=30)


@pytest.mark.parametrize(
    ("first", "later", "words"),
    [
        ("1\n0", "true\nother", "must hold numbers, as in the rows before it"),
        ("true\nfalse", "1\n2", "must hold true and false, as in the rows before it"),
    ],
)
@pytest.mark.parametrize("label", ["a", None])
def test_what_the_first_batch_holds_is_asked_of_the_others(tmp_path, first, later, words, label, refused):
    path = tmp_path / "table.csv"
    rows = "\n".join([first] * 10 + [later] * 30).split("\n")
    path.write_text("a;b\n" + "".join(f"{row};w\n" for row in rows))
    options = {"label": label, "labels": "optional", "batch_bytes": 30}
    refused(path, "The column 'a' of", words, "line", **options)
    whole, _ = together(open_batches(path, **options | {"label": None, "as_text": ["a"]}))
    assert whole["a"].to_list() == rows


def test_what_was_seen_before_holds(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;z;b\n" + "0,5;007;w\n" * 10 + "1,234;8;w\n" * 10 + "2;9;w\n" * 10)
    X, _ = together(open_batches(path, labels="none", batch_bytes=30))
    assert X["a"].to_list() == [0.5] * 10 + [1.234] * 10 + [2.0] * 10
    assert X["z"].to_list() == ["007"] * 10 + ["8"] * 10 + ["9"] * 10
    assert X.rows() == read_examples(path, labels="none").X.rows()


def test_kinds_of_labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "1,01\n" * 10 + "2,1\n" * 10 + "3,true\n" * 10)
    for label in ("y", -1, "-1", "1"):
        _, y = together(open_batches(path, label=label, label_kind="text", batch_bytes=30))
        assert y.tolist() == ["01"] * 10 + ["1"] * 10 + ["true"] * 10
    path.write_text("a,y\n" + "1,0\n" * 10 + "2,1\n" * 10 + "3,true\n" * 10)
    _, y = together(open_batches(path, label="y", label_kind="truth", batch_bytes=30))
    assert y.tolist() == [False] * 10 + [True] * 20


@pytest.mark.parametrize("batch_bytes", [1, 2, 4, 9, 1000])
def test_lines_are_counted_where_a_batch_ends_between_their_ends(tmp_path, batch_bytes, refused):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,y\r\n1,0\r\n2,1\r\n,1\r\n")
    refused(path, "the first is in line 4, column 'a'", label="y", batch_bytes=batch_bytes)
    path.write_bytes(b"\xef\xbb\xbfa,y\n1,0\n2,1\n,1\n")
    refused(path, "the first is in line 4, column 'a'", label="y", batch_bytes=batch_bytes)


def test_features_of_a_stream_count_from_0_or_1(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1 4:2\n" * 20 + "-1 2:1\n")
    facts = scan_stream(open_batches(path, batch_bytes=40))
    assert (facts.zero_based, facts.n_features, facts.n_rows) == (False, 4, 21)
    assert scan_stream(open_batches(path, batch_bytes=40, zero_based=True)).n_features == 5
    assert scan_stream(open_batches(path, batch_bytes=40, n_features=9)).n_features == 9


# -- one pass ---------------------------------------------------------------------------------------------------------


def frame_of(n, seed, holes):
    """A table of numbers, constants, truth values and words, some of them missing."""
    rng = np.random.RandomState(seed)
    there = rng.rand(n) >= (0.3 if holes else 0.0)
    there[rng.randint(n)] = True
    numbers = [
        float(v) if ok else None for v, ok in zip(rng.randn(n) * 10.0 ** rng.randint(-3, 6) + 5, there, strict=True)
    ]
    return pl.DataFrame(
        {
            "a": numbers,
            "b": rng.randint(0, 300, n),
            "constant": np.full(n, 0.1),
            "word": [f"w{i}" for i in rng.randint(0, 5, n)],
            "code": rng.randint(0, 4, n),
            "ok": rng.rand(n) < 0.5,
            "chance": rng.rand(n).round(3),
            "note": [f"word{i} and word{j}" for i, j in rng.randint(0, 9, (n, 2))],
            "last": rng.randn(n),
        }
    )


@pytest.mark.slow
@given(
    st.integers(2, 40),
    st.integers(50, 800),
    st.integers(0, 99),
    st.sampled_from(["standard", "minmax", "maxabs", "keep"]),
    st.sampled_from(["refuse", "keep", "mean"]),
)
@settings(fixture_once, max_examples=20)
def test_the_encoder_of_a_stream_is_that_of_all_rows(tmp_path, n, batch_bytes, seed, numeric, missing):
    frame = frame_of(n, seed, holes=missing != "refuse")
    labels = np.arange(n) % 3
    path = tmp_path / "table.csv"
    frame.with_columns(pl.Series("y", labels)).write_csv(path)
    options = {
        "numeric": numeric,
        "discrete": ["code"],
        "probabilities": ["chance"],
        "text": ["note"],
        "missing": missing,
    }
    reading = {"label": "y", "missing": "refuse" if missing == "refuse" else "keep"}
    facts = scan_stream(open_batches(path, batch_bytes=batch_bytes, **reading), n_text_features=32, **options)
    whole = read_examples(path, **reading)
    expected = TableEncoder(text_features="hashing", n_text_features=32, **options).fit(whole.X)
    vectors, wanted = facts.encoder.transform(whole.X).toarray(), expected.transform(whole.X).toarray()
    assert vectors.shape[1] == facts.n_features
    assert np.allclose(vectors, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)
    assert facts.classes.tolist() == np.unique(labels).tolist()
    assert facts.n_rows == n


def test_streams_that_cannot_be_encoded(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,p,y\n" + "".join(f"w{i},{i / 50},{i % 2}\n" for i in range(100)))
    batches = open_batches(path, label="y", batch_bytes=100)
    with pytest.raises(DataError, match=r"probabilities, from 0 to 1. Got 1.98 instead"):
        scan_stream(batches, probabilities=["p"])
    with pytest.raises(VotronError, match="missing='median' needs all rows at once"):
        scan_stream(batches, missing="median")
    with pytest.raises(VotronError, match="The 'text' parameter of TableEncoder must name columns"):
        scan_stream(batches, text=["z"])
    path.write_text("a,b,y\n" + ",1,0\n" * 9)
    with pytest.raises(DataError, match="The column 'a' has no value in any row"):
        scan_stream(open_batches(path, label="y", missing="keep"), missing="mean")
    with pytest.raises(DataError, match="no examples"):
        scan_stream([])


@pytest.mark.parametrize(
    "values",
    [
        [*range(20), *range(300, 320)],
        [None] * 20 + [*range(300, 320)],
        [None] * 20 + [f"w{i}" for i in range(20)],
        [1] * 20 + [1.5] * 20 + [70_000] * 20,
    ],
)
def test_discrete_values_of_later_batches(tmp_path, values):
    path = tmp_path / "table.csv"
    path.write_text("zip,y\n" + "".join(f"{'' if value is None else value},a\n" for value in values))
    options = {"label": "y", "missing": "keep"}
    facts = scan_stream(open_batches(path, batch_bytes=40, **options), discrete=["zip"], missing="keep")
    whole = read_examples(path, **options).X
    expected = TableEncoder(discrete=["zip"], missing="keep").fit(whole)
    assert list(facts.encoder.get_feature_names_out()) == list(expected.get_feature_names_out())
    vectors = [encoder.transform(whole) for encoder in (facts.encoder, expected)]
    assert np.array_equal(*[one.toarray() if sp.issparse(one) else one for one in vectors])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to see which files are open")
def test_leaving_early_closes_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(ROWS)
    batches = iter(open_batches(path, label="y", batch_bytes=30))
    next(batches)
    during = len(os.listdir("/proc/self/fd"))
    batches.close()
    assert len(os.listdir("/proc/self/fd")) == during - 1
