"""Users' own data: what is read is what is in the file, and what cannot be read gets a sentence that says where."""

import bz2
import csv
import gzip
import io
import lzma
import math
import os
import re
import struct
import subprocess
import sys
import threading
import time
from datetime import date

import fuzz_readers
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from votron.data import load_image_set, open_batches, read_examples, tabular_encoder
from votron.errors import DataError, VotronError

fixture_once = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refused(path, *words, **options):
    with pytest.raises(VotronError) as caught:
        read_examples(path, **options)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert re.fullmatch(r"[A-Z'].*\.", message), message
    assert len(message) < 500
    return message


# -- separated values -------------------------------------------------------------------------------------------------

columns = st.lists(st.tuples(st.sampled_from(["int", "float", "text"]), st.integers(0, 2**32)), min_size=1, max_size=4)


def random_table(kinds, n):
    """Columns of values, as Python has them."""
    table = {}
    for i, (kind, seed) in enumerate(kinds):
        rng = np.random.RandomState(seed % 2**32)
        if kind == "int":
            values = rng.randint(-(10 ** rng.randint(1, 9)), 10**9, n).tolist()
        elif kind == "float":
            values = (rng.randn(n) * 10.0 ** rng.randint(-9, 9)).tolist()
        else:
            letters = list("ab ,;|\"'\n\té")
            values = ["w" + "".join(rng.choice(letters, rng.randint(0, 8))).rstrip() for _ in range(n)]
        table[f"col {i}"] = values
    return table


@pytest.mark.slow
@given(columns, st.integers(1, 12), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.booleans())
@fixture_once
def test_tables_as_the_csv_module_writes_them(tmp_path, kinds, n, delimiter, end, bom):
    table = random_table(kinds, n)
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
    writer.writerow([*table, "y"])
    writer.writerows(zip(*table.values(), range(n), strict=True))
    path = tmp_path / "table.csv"
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + file.getvalue().encode())
    found = read_examples(path, label="y", delimiter=delimiter)
    assert found.columns == list(table)
    assert found.X.to_dict(as_series=False) == table
    assert found.y.tolist() == list(range(n))


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("name", ["table.csv", "table.txt", "table"])
def test_the_delimiter_is_found(write, delimiter, name):
    text = "a,b c,y\n1,x; y,p\n2,z,q\n".replace(",", "\0").replace(";", "," if delimiter != "," else ";")
    found = read_examples(write(name, text.replace("\0", delimiter)), label="y")
    assert found.columns == ["a", "b c"]
    assert found.y.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,y\n1,0\n2.5,1\n", [1.0, 2.5]),
        ("a,y\n 1 ,0\n+2, 1\n", [1, 2]),
        ("a;y\n1,5;0\n2;1\n", [1.5, 2.0]),
        ("a,y\ntrue,0\nFALSE,1\n", [True, False]),
        ('a,y\n"1",0\n"2",1\n', [1, 2]),
        ("a,y\n'x, 1',0\n'it',1\n", ["x, 1", "it"]),
        ("a,y\nit's,0\nb,1\n", ["it's", "b"]),
        ('a\ty\n5" disk\t0\nb\t1\n', ['5" disk', "b"]),
        ("a,y\n1,0\n\n2,1\n\n\n", [1, 2]),
        ("a,y\r1,0\r2,1\r", [1, 2]),
        ("a,y,\n1,0,\n2,1,\n", [1, 2]),
        ("a,y\n99999999999999999999,0\n2,1\n", [1e20, 2.0]),
        ("a,y\n" + "1,0\n" * 1500 + "x,1\n" * 1600, [1] * 0 + ["1"] * 1500 + ["x"] * 1600),
        ("a,y\n" + "1,0\n" * 1500 + "0.5,1\n", [1.0] * 1500 + [0.5]),
        ("a,y\n" + "1,0\n" * 1500 + "9007199254740993,1\n", [1] * 1500 + [9007199254740993]),
        ("a,b,y\n" + "1,1,0\n" * 1500 + "9007199254740993,0.5,1\n", [1] * 1500 + [9007199254740993]),
    ],
)
def test_values_of_a_column(write, text, expected):
    found = read_examples(write("table.csv", text), label="y")
    assert found.X["a"].to_list() == expected
    assert {type(value) for value in found.X["a"].to_list()} == {type(value) for value in expected}
    assert found.y.dtype == np.int64


def test_whole_numbers_are_kept_narrow(write):
    text = "a,b,c,d,y\n0,-1,40000,5000000000,0\n255,7,1.0,1,1\n"
    found = read_examples(write("table.csv", text), label="y")
    assert found.X.dtypes == [pl.UInt8, pl.Int16, pl.Int32, pl.Int64]
    assert found.X.rows() == [(0, -1, 40000, 5000000000), (255, 7, 1, 1)]


@pytest.mark.parametrize(
    ("labels", "expected", "kind"),
    [
        ("1 2 3", [1, 2, 3], "i"),
        ("1.0 2.0 3", [1, 2, 3], "i"),
        ("+1 -1 1", [1, -1, 1], "i"),
        ("a b a", ["a", "b", "a"], "U"),
        ("True false TRUE", [True, False, True], "b"),
        ("0.5 1 2", [0.5, 1.0, 2.0], "f"),
    ],
)
def test_labels(write, labels, expected, kind):
    text = "x,y\n" + "".join(f"{i},{one}\n" for i, one in enumerate(labels.split()))
    y = read_examples(write("table.csv", text), label="y").y
    assert y.tolist() == expected
    assert y.dtype.kind == kind
    assert kind != "i" or y.dtype == np.int64


def rows_of(found):
    return found.X.rows(), None if found.y is None else found.y.tolist()


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_codes_with_leading_zeros_are_text(write, end, quoted):
    lines = ["zip,n,share,y", "01234,10,0.5,01", "1234,20,0,1", "00501,0,00.25,01", "-07,5,1,2"]
    if quoted:
        lines = [",".join(f'"{field}"' for field in line.split(",")) for line in lines]
    found = read_examples(write("table.csv", end.join(lines)), label="y")
    assert found.X.columns == ["zip", "n", "share"]
    assert found.X["zip"].to_list() == ["01234", "1234", "00501", "-07"]
    assert found.X["n"].to_list() == [10, 20, 0, 5]
    assert found.X["share"].to_list() == ["0.5", "0", "00.25", "1"]
    assert found.y.tolist() == ["01", "1", "01", "2"]
    told = read_examples(write("table.csv", end.join(lines)), label="y", columns={"zip": "number"}, label_kind="number")
    assert rows_of(told) == ([(1234,), (1234,), (501,), (-7,)], [1, 1, 1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5000])
@given(st.lists(st.sampled_from(["7", "007", "0", "-0", "+05", "0.5", "1e05", "10", "00", "100", ""]), min_size=1))
@settings(fixture_once, max_examples=30)
def test_a_zero_before_a_digit_makes_text(tmp_path, n, values):
    values = (values * n)[:n] if n == 5000 else values
    path = tmp_path / "codes.csv"
    path.write_text("a,b\n" + "".join(f"{value},1\n" for value in values))
    column = read_examples(path, labels="none", missing="keep").X["a"]
    if any(re.match(r"[+-]?0\d", value) for value in values):
        assert column.to_list() == [value or None for value in values]
    else:
        assert [value for value in column.to_list() if value is not None] == [float(v) for v in values if v]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("0,5 1,234 2", [0.5, 1.234, 2.0]),
        ("0,123 12,345", [0.123, 12.345]),
        ("1234,567 1", [1234.567, 1.0]),
        ("1,5 -2,25", [1.5, -2.25]),
        ("1,234 1234.5", "Got '1234.5' in line 3 and '1,234' in line 2 instead"),
        ("0,5 1.234", "must have one decimal mark. Got '1.234' in line 3 and '0,5' in line 2 instead"),
        ("1,234 -12,345 7", "Got '1,234' in line 2 instead, whose comma may be a decimal comma or separate thousands"),
        ("1,234,567 x", ["1,234,567", "x"]),
    ],
)
def test_decimal_commas_are_no_thousands(write, values, expected):
    path = write("table.csv", "a;y\n" + "".join(f"{value};0\n" for value in values.split()))
    if isinstance(expected, str):
        refused(path, "The column 'a' of", expected, "as_text", label="y")
        assert read_examples(path, label="y", as_text=["a"]).X["a"].to_list() == values.split()
    else:
        assert read_examples(path, label="y").X["a"].to_list() == expected


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ("430 6.511", "'6.511' in line 3"),
        ("6.511 12.345 -1.000", "'6.511' in line 2"),
        ("430 1.234.567", "'1.234.567' in line 3"),
        ("1.234,5 430", "'1.234,5' in line 2"),
        ("430 7 6.511 1.234.567", "'6.511' in line 4"),
        ("2,5 1.234,5", "'1.234,5' in line 3"),
    ],
)
@pytest.mark.parametrize("n", [1, 2000])
def test_points_may_be_thousands_where_commas_are_decimal(write, values, got, n):
    lines = [f"0,76;{value};x\n" for value in values.split()] * n
    path = write("table.csv", "share;a;y\n" + "".join(lines))
    sentence = (
        f"The column 'a' of {str(path)!r} must have numbers that can be read in one way. Got {got} instead, whose"
    )
    refused(path, sentence, "point may separate thousands", "or say with as_text", label="y")
    of_model = refused(path, sentence, label="y", columns={"a": "number"})
    assert of_model.endswith("write numbers with one decimal mark and nothing between thousands.")
    assert read_examples(path, label="y", as_text=["a"]).X["a"].to_list() == values.split() * n
    assert read_examples(path, label="y", drop=["a"]).X["share"].to_list() == [0.76] * len(lines)


def test_where_the_decimal_comma_is(write):
    path = write("table.csv", "a;share\n6.511;1\n430;0,76\n")
    refused(path, "since there is a decimal comma in '0,76' in line 3, column 'share': write", labels="none")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("6.511 12.5", [6.511, 12.5]),
        ("6.511 0.25", [6.511, 0.25]),
        ("6.511 1234.567", [6.511, 1234.567]),
        ("6.5114 6.51", [6.5114, 6.51]),
        ("31.12.2024 1.1.2025", [date(2024, 12, 31), date(2025, 1, 1)]),
        ("1.100.200 1.2.3", ["1.100.200", "1.2.3"]),
        ("6.511 v7", ["6.511", "v7"]),
        ("430 6511", [430, 6511]),
    ],
)
def test_points_that_are_no_thousands(write, values, expected):
    path = write("table.csv", "share;a;y\n" + "".join(f"0,76;{value};x\n" for value in values.split()))
    assert read_examples(path, label="y").X["a"].to_list() == expected


@pytest.mark.parametrize("share", ["0.76", "1", "1,5 or 2", "1,234"])
def test_points_are_decimal_where_no_comma_is(write, share):
    path = write("table.csv", f"share;a\n{share};6.511\n{share};430\n")
    assert read_examples(path, labels="none", as_text=["share"]).X["a"].to_list() == [6.511, 430]
    tabs = write("table.tsv", path.read_text().replace(";", "\t"))
    assert read_examples(tabs, labels="none", drop=["share"]).X["a"].to_list() == [6.511, 430]


@pytest.mark.parametrize(
    ("text", "is_data"),
    [
        ("5,3,1,0,setosa\n4,3,1,1,virginica\n", True),
        ("ann,31\nbob,40\n", True),
        ("kind,2019,2020\na,5,6\nb,7,8\n", True),
        ("kind,2019,2020\na,x,y\nb,z,w\n", False),
        ("0,1,2,kind\n5,6,7,a\n8,9,1,b\n", False),
        ("a1,b2,kind\n5,6,a\n8,9,b\n", False),
    ],
)
def test_numbers_over_numbers_are_no_names(write, text, is_data):
    path = write("table.csv", text)
    n = text.count("\n")
    if is_data:
        refused(path, "The first line of", "must name the columns", "header=False", "header=True", label=-1)
        assert read_examples(path, label=-1, header=False).n_rows == n
    else:
        assert read_examples(path, label=-1).n_rows == n - 1
    assert read_examples(path, label=-1, header=True).n_rows == n - 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_in_one_column_are_missing_values(write, end):
    path = write("table.csv", end.join(["", "x", "1", "", "3", "", "", "4", "", ""]))
    kept = read_examples(path, labels="none", missing="keep")
    assert kept.X["x"].to_list() == [1, None, 3, None, None, 4]
    dropped = read_examples(path, labels="none", missing="drop")
    assert (dropped.X["x"].to_list(), dropped.dropped) == ([1, 3, 4], 3)
    refused(path, "and 3 of 6 rows have some: the first is in line 4, column 'x'", labels="none")
    quoted = write("table.csv", end.join(["x", '"a', 'b"', "", "c", ""]))
    assert read_examples(quoted, labels="none", missing="keep").X["x"].to_list() == [f"a{end}b", None, "c"]
    assert read_examples(write("table.csv", "x\n" + "\n" * 9 + "1"), labels="none", missing="keep").n_rows == 10


@pytest.mark.parametrize(
    ("text", "quote", "first"),
    [
        ("a,b\n'x, 1',0\nit,1\n", "'", "x, 1"),
        ("a,b\n'x',0\n\"y\",1\n", '"', "'x'"),
        ("a,b\n'x',0\n'tis,1\n", '"', "'x'"),
        ("a,b\n'x',0\n',1\n", '"', "'x'"),
        ("a,b\n'x',0\n',1\n',2\n", '"', "'x'"),
        ("a,b\nx,0\ny,1\n", '"', "x"),
        ('a\tb\n5" disk\t0\nb\t1\n', "", '5" disk'),
    ],
)
def test_what_quotes_fields(write, text, quote, first):
    path = write("table.csv", text)
    found = read_examples(path, labels="none")
    assert found.X["a"][0] == first
    assert (found.header, found.delimiter, found.quote) == (True, "\t" if "\t" in text else ",", quote)
    again = read_examples(path, labels="none", header=found.header, delimiter=found.delimiter, quote=found.quote)
    assert again.X.rows() == found.X.rows()


def test_the_layout_that_was_used_is_told(write):
    found = read_examples(write("a.csv", "1;x\n2;y\n"), label=-1, header=False)
    assert (found.header, found.delimiter, found.quote) == (False, ";", '"')
    other = read_examples(write("a.svm", "1 1:1\n"))
    assert (other.header, other.delimiter, other.quote) == (None, None, None)


def test_mixed_labels_are_text(write):
    found = read_examples(write("a.csv", "x,y\n1,1\n2,2\n3,3\n4,other\n"), label="y")
    assert found.y.tolist() == ["1", "2", "3", "other"]
    found = read_examples(write("a.csv", "x,y\n1,1\n2,0\n3,0\n4,true\n"), label="-1")
    assert found.y.tolist() == ["1", "0", "0", "true"]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["y", 1, -2, "1", "-2", np.int64(1)])
@pytest.mark.parametrize(
    ("written", "kind", "expected"),
    [
        ("01 1 1", "text", ["01", "1", "1"]),
        ("1 2 2", "text", ["1", "2", "2"]),
        ("1.0 2.0 1.0", "text", ["1.0", "2.0", "1.0"]),
        ("true TRUE false", "text", ["true", "TRUE", "false"]),
        ("true False TRUE", "truth", [True, False, True]),
        ("1 0 1", "truth", [True, False, True]),
        ("1 true 0", "truth", [True, True, False]),
        ("1.0 2.0 01", "number", [1, 2, 1]),
        ("1.5 2 1", "number", [1.5, 2.0, 1.0]),
        ("yes no yes", "truth", "must hold true and false, or 1 and 0, as when the model was trained. Got 'yes' in"),
        ("1 2 1", "truth", "must hold true and false, or 1 and 0, as when the model was trained. Got 2 in line 3"),
        ("1 a 1", "number", "must hold numbers, as when the model was trained. Got 'a' in line 3"),
        ("true false true", "number", "must hold numbers, as when the model was trained. Got 'true' in line 2"),
    ],
)
def test_kinds_of_labels(write, label, written, kind, expected):
    path = write("a.csv", "a,y,b\n" + "".join(f"{i},{one},w{i}\n" for i, one in enumerate(written.split())))
    for columns in (None, {"b": "text"}):
        options = {"label": label, "label_kind": kind, "columns": columns}
        if isinstance(expected, str):
            refused(path, "The column 'y' of", expected, **options)
            continue
        found = read_examples(path, **options)
        assert found.y.tolist() == expected
        assert found.y.dtype.kind == {"text": "U", "truth": "b"}.get(kind, "f" if 1.5 in expected else "i")
        assert (found.label, found.columns) == ("y", ["b"] if columns else ["a", "b"])


@pytest.mark.parametrize(
    ("y", "kind", "expected"),
    [
        (np.array([1, 0]), "text", ["1", "0"]),
        (np.array([True, False]), "text", ["true", "false"]),
        (np.array([1.0, 0.0]), "truth", [True, False]),
        (np.array(["True", "0"]), "truth", [True, False]),
        (np.array(["1", "2.0"]), "number", [1, 2]),
        (np.array(["1", "b"]), "number", "must be numbers, as those that the model learnt. Got 'b' instead"),
        (np.array([True, False]), "number", "must be numbers, as those that the model learnt. Got True instead"),
        (
            np.array([1, 2]),
            "truth",
            "must be true and false, or 1 and 0, as those that the model learnt. Got 2",
        ),
    ],
)
@pytest.mark.parametrize("format", ["npz", "parquet"])
def test_kinds_of_labels_of_other_formats(tmp_path, y, kind, expected, format):
    path = tmp_path / f"data.{format}"
    if format == "npz":
        np.savez(path, X=np.eye(2), y=y)
    else:
        pl.DataFrame({"a": [1, 2], "y": y.tolist()}).write_parquet(path)
    if isinstance(expected, str):
        refused(path, "The labels of", expected, label="y", label_kind=kind)
        return
    found = read_examples(path, label="y", label_kind=kind)
    assert found.y.tolist() == expected
    assert {type(value) for value in found.y.tolist()} == {type(value) for value in expected}


def test_the_column_of_the_labels_may_hold_anything_if_it_is_left_out(write):
    path = write("a.csv", "a,y\n1,\n2,\n")
    assert rows_of(read_examples(path, label="y", labels="none")) == ([(1,), (2,)], None)
    path = write("a.csv", "a,y\n1,5\n2,6\n3,x\n")
    for label in ("y", -1, "-1", "1"):
        found = read_examples(path, label=label, labels="none", columns={"a": "number"})
        assert rows_of(found) == ([(1,), (2,), (3,)], None)
    path = write("a.csv", "a,y\n1,5\n2,6\n")
    assert read_examples(path, label="7", labels="optional").y is None
    refused(path, "The label must be a column of", "Got '7' instead", label="7")


def test_the_label_is_no_feature(write):
    path = write("a.csv", "a,b\n1,x\n2,y\n")
    wanted = {"a": "number", "b": "text"}
    assert read_examples(path, label=-1, labels="none", columns=wanted).columns == ["a", "b"]  # no labels in the file
    refused(path, "The label must be another column of", "Got 'b' instead", label=-1, columns=wanted)


def test_a_delimiter_at_the_end_of_lines(write):
    path = write("a.csv", "a,b,y,\n1,2,p,\n3,4,q,\n")
    for label in (-1, "-1", "y", 2):
        assert rows_of(read_examples(path, label=label)) == ([(1, 2), (3, 4)], ["p", "q"])
    assert read_examples(path, label=-3).label == "a"
    refused(path, "The label must be a column of", "Got -4 instead", label=-4)


def test_truth_values_are_no_numbers(write):
    for text in ("a\ntrue\nfalse\n", "a\nTrue\nfalse\n", "a\n1\ntrue\n"):
        refused(
            write("a.csv", text),
            "The column 'a' of",
            "must hold numbers, as when the model was trained. Got '",
            labels="none",
            columns={"a": "number"},
        )


def test_long_labels_do_not_fill_memory(write):
    path = write("a.csv", "a,y\n1," + "k" * 201 + "\n2,b\n")
    refused(path, "must hold names of classes, of at most 200 characters. Got 201 instead", label="y")
    assert len(read_examples(write("a.csv", "a,y\n1," + "k" * 200 + "\n2,b\n"), label="y").y[0]) == 200
    wide = read_examples(write("a.npz", npz(X=np.eye(2), y=np.array(["a", "bc"], dtype="<U5000"))))
    assert (wide.y.tolist(), wide.y.dtype) == (["a", "bc"], np.dtype("<U2"))


@pytest.mark.slow
def test_wide_tables_take_time_that_grows_with_their_width(write):
    n = 12_000
    path = write("a.csv", ",".join(f"col{i}" for i in range(n)) + "\n" + (",".join(["1", "2"] * (n // 2)) + "\n") * 3)
    columns = {f"col{i}": "number" for i in range(n)}
    start = time.process_time()
    found = read_examples(path, label="y", labels="none", columns=columns)
    encoder = tabular_encoder(found.X)
    assert time.process_time() - start < 8, "seconds; twenty if each column looks at all others"
    assert found.X.row(1) == (1, 2) * (n // 2)
    assert len(encoder.transformers) == n


HEAD = "name,age,class\nann,31,a\n"
BAD_TABLES = {
    "empty": ("", "Cannot read", "the file is empty"),
    "blank": ("\n \n", "the file is empty"),
    "header only": ("name,age,class\n", "There are no examples in", "it has a header and no rows"),
    "too few fields": (HEAD + "bob,3\n", "Line 3 of", "must have 3 fields", "Got 2 instead"),
    "too many fields": (HEAD + "bob,3,a,b\n", "Line 3 of", "must have 3 fields", "Got 4 instead"),
    "fields after a quoted newline": (HEAD + '"b\nob",3,a\nx,y\n', "Line 5 of", "Got 2 instead"),
    "same names": ("a,b,a\n1,2,3\n", "The names of the columns of", "must differ. Got 'a' twice instead"),
    "no name": (",age,class\n1,2,a\n", "Each column of", "Got none for column 1", "drop=0"),
    "no header": (
        "5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n",
        "The first line of",
        "must name the columns",
        "header=False",
    ),
    "no header, numbers": ("5,3,1\n4,3,0\n", "must name the columns. Got 5, 3, 1 instead"),
    "NUL": (HEAD + "b\0b,3,a\n", "must be text in UTF-8: line 3 has a NUL byte."),
    "Latin-1": ((HEAD + "bé,3,a\n").encode("latin-1"), "must be text in UTF-8, and line 3 is not (byte 0xe9)"),
    "UTF-16": ((HEAD + "bob,3,a\n").encode("utf-16"), "(encoding='utf-16', perhaps)"),
    "open quote": (HEAD + '"bob,3,a\n', 'ends inside a quoted field: a quote " is not closed.'),
    "quote in a field": ('a,b,class\n"x",1,a\nb"o,2,a\n', "Line 3 of", 'has a quote " inside a field'),
    "text after a quote": ('a,b,class\n"x"y,1,a\n', "Line 2 of", 'has a quote " inside a field'),
    "missing": (HEAD + "bob,,a\n,4,b\n", "and 2 of 3 rows have some: the first is in line 3, column 'age'"),
    "missing, NA": (HEAD + "bob,NA,a\n", "and 1 of 2 rows has some: the first is in line 3, column 'age'"),
    "missing label": (HEAD + "bob,4,\n", "must have a label. Got none in column 'class' of line 3 instead"),
    "almost numbers": (
        HEAD + "bob,12x,b\ncid,4,a\n",
        "The column 'age' of",
        "Got '12x' in line 3 instead",
        "na_values",
        "as_text",
    ),
    "infinite": (HEAD + "bob,1e999,b\n", "The column 'age' of", "must hold finite numbers. Got inf in line 3 instead"),
    "infinity": (HEAD + "bob,inf,b\n", "The column 'age' of", "in line 3 instead"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(write, case):
    text, *words = BAD_TABLES[case]
    refused(write("table.csv", text), *words, label="class" if "class" in str(text) else -1)


def test_lines_are_those_of_the_file(write):
    text = 'a,b,y\n"x\ny",1,0\n\n\nz,2,1\nq,?,1\n'
    refused(write("table.csv", text), "the first is in line 7, column 'b'", label="y")


def test_missing_values(write):
    path = write("table.csv", "a,b,y\n1,x,0\n,y,1\n3,?,0\n4,z,1\n")
    dropped = read_examples(path, label="y", missing="drop")
    assert dropped.X.rows() == [(1, "x"), (4, "z")]
    assert (dropped.y.tolist(), dropped.dropped) == ([0, 1], 2)
    kept = read_examples(path, label="y", missing="keep")
    assert kept.X.rows() == [(1, "x"), (None, "y"), (3, None), (4, "z")]
    assert read_examples(path, label="y", missing="keep", na_values=["x"]).X["b"].to_list() == [None, "y", "?", "z"]
    refused(write("none.csv", "a,y\n,1\n?,2\n"), "There is no row of", label="y", missing="drop")


def test_columns_as_text(write):
    path = write("table.csv", "zip,y\n08001,0\n9000,1\n9000x,1\n")
    assert read_examples(path, label="y", as_text=["zip"]).X["zip"].to_list() == ["08001", "9000", "9000x"]
    path = write("table.csv", "zip,y\n8001,0\n9000,1\n9000x,1\n")
    assert read_examples(path, label="y", as_text=["zip"]).X["zip"].to_list() == ["8001", "9000", "9000x"]
    refused(path, "The column 'zip'", "'9000x' in line 4", label="y")


def test_columns_of_a_model(write):
    path = write("table.csv", "other,ok,size,zip\n?,1,5,08001\n,0,6,9000\n")
    found = read_examples(path, labels="none", columns={"zip": "text", "size": "number", "ok": "truth"})
    assert found.X.rows() == [("08001", 5, 1), ("9000", 6, 0)]
    assert found.y is None
    refused(
        path, "There must be a column 'age'", "as when the model was trained", labels="none", columns={"age": "number"}
    )
    refused(path, "must hold true and false, or 1 and 0", "Got 5 in line 2", labels="none", columns={"size": "truth"})
    words = write("words.csv", "size\nbig\n")
    refused(
        words,
        "'size'",
        "must hold numbers, as when the model was trained. Got 'big' in line 2",
        labels="none",
        columns={"size": "number"},
    )


def test_columns_that_are_left_out_may_hold_anything(write):
    path = write("table.csv", "id,a,y\n1,5,0\n2x,6,1\n3,7,0\n9,8,\n")
    options = {"label": "y", "missing": "drop", "drop_unlabelled": True}
    assert read_examples(path, drop=["id"], **options).X.rows() == [(5,), (6,), (7,)]
    assert read_examples(path, columns={"a": "number"}, **options).X.rows() == [(5,), (6,), (7,)]
    assert read_examples(path, columns={"a": "number"}, **options).y.tolist() == [0, 1, 0]
    refused(path, "The column 'id'", "Got '2x' in line 3", **options)


def test_numbers_of_numpy_are_numbers(write):
    assert read_examples(write("a.svm", "1 1:1\n"), n_features=np.int64(3)).X.shape == (1, 3)
    texts = read_examples(write("a.csv", "a,y\nx,1\n5,2\n"), label=-1, na_values=(one for one in "x"), missing="keep")
    assert texts.X["a"].to_list() == [None, 5]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("reader", [read_examples, lambda *args, **options: next(iter(open_batches(*args, **options)))])
@pytest.mark.parametrize("format", ["parquet", "arrow", "stream", "npz", "npy", "svm"])
def test_every_format_from_a_pipe(tmp_path, format, reader):
    frame, file = pl.DataFrame({"a": [1, 2], "y": [0, 1]}), io.BytesIO()
    if format in ("parquet", "arrow", "stream"):
        {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "stream": frame.write_ipc_stream}[format](file)
    elif format == "svm":
        file.write(b"0 1:1\n1 1:2\n")
    else:
        np.savez(file, X=[[1], [2]], y=[0, 1]) if format == "npz" else np.save(file, frame.to_numpy())
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(file.getvalue()))
    writer.start()
    options = {"label": {"npy": -1, "npz": None, "svm": None}.get(format, "y")}
    found = reader(tmp_path / "pipe", **options)
    writer.join()
    X = found.X.toarray() if sp.issparse(found.X) else found.X.to_numpy() if found.columns else found.X
    assert (X.tolist(), found.y.tolist()) == ([[1], [2]], [0, 1])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_pipes(tmp_path, compress):
    os.mkfifo(tmp_path / "pipe")
    data = compress(b"a,y\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(300_000)))
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writer.start()
    found = read_examples(tmp_path / "pipe", label="y")
    writer.join()
    assert found.X["a"].to_list() == list(range(300_000))


def test_labels_may_be_wanted_or_not(write):
    path = write("table.csv", "a,y\n1,0\n2,1\n")
    assert read_examples(path, label="y", labels="none").columns == ["a"]
    assert read_examples(path, label="y", labels="optional").y.tolist() == [0, 1]
    assert read_examples(path, label="z", labels="optional").y is None
    assert read_examples(path, labels="none").columns == ["a", "y"]
    assert read_examples(path, label=-1).label == "y"
    assert read_examples(path, label="0").y.tolist() == [1, 2]
    refused(path, "Say which column of", "it has 'a', 'y'")
    refused(path, "The label must be a column of", "Got 'z' instead", label="z")
    refused(path, "The column to drop must be a column of", "Got 'z' instead", label="y", drop="z")
    refused(path, "There must be a column of features", label="y", drop=["a"])


def test_without_a_header(write):
    found = read_examples(write("iris.data", "5.1,3.5,a\n4.9,3.0,b\n"), label=-1, header=False)
    assert found.X.rows() == [(5.1, 3.5), (4.9, 3.0)]
    assert found.columns == ["c0", "c1"]
    assert found.y.tolist() == ["a", "b"]
    numbered = read_examples(write("numbered.csv", "0,1,2\n5,6,7\n"), label="2")  # as pandas names columns
    assert numbered.columns == ["0", "1"]
    assert read_examples(write("years.csv", "1999,2001\n5,6\n"), label=-1, header=True).label == "2001"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "some"),
        ("missing", "mean"),
        ("format", "xls"),
        ("part", "third"),
        ("header", "yes"),
        ("columns", {"a": "colour"}),
        ("delimiter", ",,"),
        ("delimiter", ""),
        ("delimiter", "c"),
        ("delimiter", "0"),
        ("delimiter", '"'),
        ("quote", "c"),
        ("columns", ["a"]),
        ("columns", {5: "number"}),
        ("label_kind", "word"),
        ("na_values", [5]),
        ("na_values", 5),
        ("as_text", [["a"]]),
        ("drop", 1.5),
        ("zero_based", 1),
        ("resize", (0, 0)),
        ("resize", 5),
        ("resize", (2, 3, 4)),
        ("quote", "é"),
        ("max_bytes", 0),
        ("max_bytes", 1.5),
        ("n_features", -1),
    ],
)
def test_parameters(write, name, value):
    refused(write("table.csv", HEAD), f"The '{name}' parameter of read_examples must", "Got", **{name: value})


def test_a_panic_of_polars_is_a_sentence(write, monkeypatch):
    class Panic(BaseException):
        pass

    def panic(*_, **__):
        raise Panic("index out of bounds\nnote: run with a backtrace")

    monkeypatch.setattr("polars.read_csv", panic)
    refused(write("table.csv", HEAD), "Cannot read", "index out of bounds.", label="class")
    for kind in (KeyboardInterrupt, MemoryError):
        monkeypatch.setattr("polars.read_csv", lambda *_, kind=kind, **__: (_ for _ in ()).throw(kind()))
        with pytest.raises(kind):
            read_examples(write("table.csv", HEAD), label="class")


def test_what_is_not_installed_is_named(write, tmp_path, monkeypatch):
    path = write("a.csv", "a,y\n1,0\n")
    (tmp_path / "images" / "c").mkdir(parents=True)
    Image.new("L", (2, 2)).save(tmp_path / "images" / "c" / "1.png")
    for module in ("polars", "PIL"):
        monkeypatch.setitem(sys.modules, module, None)
    refused(path, 'Reading tables needs polars: pip install "votron[files]".', label="y")
    refused(tmp_path / "images", 'Reading images needs pillow: pip install "votron[files]".')


def test_the_names_of_formats_load_little(tmp_path):
    code = """
import sys
from votron.data.formats import FORMATS, choosable_formats, written_formats
print(sorted({"polars", "sklearn", "PIL", "pandas"} & set(sys.modules)), set(written_formats()) <= set(FORMATS))
print(set(choosable_formats()) < set(FORMATS))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True", "True"]


# -- columns in binary ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
def test_parquet_and_arrow(tmp_path, format):
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, math.nan, 1.5], "y": ["p", "q", "p"]})
    path = tmp_path / f"table.{'parquet' if format == 'parquet' else 'arrow'}"
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "stream": frame.write_ipc_stream}[format](path)
    found = read_examples(path, label="y", missing="drop")
    assert found.X.rows() == [(1, "x", 0.5), (3, "z", 1.5)]
    assert (found.y.tolist(), found.dropped) == (["p", "p"], 1)
    refused(path, "the first is in row 2 (the first is 1), column 'b'", label="y")
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "Cannot read", "table", label="y")


@pytest.mark.parametrize("format", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("in_batches", [False, True])
def test_the_hidden_index_of_pandas_is_left_out(tmp_path, format, in_batches):
    frame = pl.DataFrame({"a": [1, 2], "y": ["p", "q"], "__index_level_0__": [7, 3], "__index_level_1__": [1, 1]})
    path = tmp_path / f"table.{'parquet' if format == 'parquet' else 'arrow'}"
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "stream": frame.write_ipc_stream}[format](path)

    def read(**options):
        return next(iter(open_batches(path, **options))) if in_batches else read_examples(path, **options)

    found = read(label=-1)
    assert (found.columns, found.label) == (["a"], "y")
    assert re.search(r"the columns '__index_level_0__', '__index_level_1__', an index of pandas", found.notes[0])
    index = "__index_level_0__"
    trained_with = read(label="y", columns={"a": "number", index: "number"})
    assert (trained_with.columns, trained_with.notes) == (["a", index], ())
    assert read(label="y", columns={"a": "number"}).notes == ()
    assert read(label="y", as_text=[index]).columns == ["a", index]
    assert read(label=index).y.tolist() == [7, 3]
    assert read(label="y", drop=[index, "__index_level_1__"]).notes == ()


def test_a_file_that_is_an_index_alone_is_read(tmp_path):
    pl.DataFrame({"__index_level_0__": [7, 3]}).write_parquet(tmp_path / "index.parquet")
    assert read_examples(tmp_path / "index.parquet", labels="none").X.rows() == [(7,), (3,)]


def test_pandas_writes_such_an_index(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": range(9), "y": [0, 1, 1] * 3}).sample(frac=1, random_state=0).to_parquet(tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").columns == ["a", "y", "__index_level_0__"]
    assert read_examples(tmp_path / "a.parquet", label="y").columns == ["a"]


def test_columns_of_a_model_in_parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pl.DataFrame({"zip": [8001, 9000], "size": ["1.5", "x"]}).write_parquet(path)
    assert read_examples(path, labels="none", columns={"zip": "text"}).X["zip"].to_list() == ["8001", "9000"]
    refused(path, "'size'", "Got 'x' in row 2", labels="none", columns={"size": "number"})


def test_a_small_parquet_file_with_many_rows(tmp_path):
    path = tmp_path / "bomb.parquet"
    pl.DataFrame({"a": np.zeros(2_000_000), "y": np.zeros(2_000_000, dtype=np.int8)}).write_parquet(path)
    assert path.stat().st_size < 100_000
    refused(
        path,
        "There are 2,000,000 rows with 4,000,000 values in",
        "the 1 MiB that max_bytes allows",
        label="y",
        max_bytes=1 << 20,
    )


# -- svmlight ---------------------------------------------------------------------------------------------------------


def textbook_svmlight(text):
    """Labels, and a dictionary of features a row."""
    labels, rows = [], []
    for line in text.splitlines():
        parts = line.split("#")[0].split()
        if parts:
            labels.append(float(parts[0]))
            rows.append({int(index): float(value) for index, value in (part.split(":") for part in parts[1:])})
    return labels, rows


numbers = st.one_of(
    st.integers(-99, 99).map(str), st.floats(-1e6, 1e6).map(repr), st.sampled_from(["+1", "-.5", "1e3", "2."])
)
lines = st.tuples(
    numbers, st.dictionaries(st.integers(1, 40), numbers, max_size=5), st.sampled_from(["", " # 1:x", "#"])
)


@given(st.lists(lines, min_size=1, max_size=8), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
@fixture_once
def test_svmlight(tmp_path, rows, zero_based, end):
    shift = 1 if zero_based else 0
    if zero_based:
        rows = [("1", {1: "5"}, ""), *rows]
    text = end.join(
        f"{label} {' '.join(f'{i - shift}:{v}' for i, v in sorted(features.items()))}{comment}"
        for label, features, comment in rows
    )
    path = tmp_path / "data.svm"
    path.write_bytes(text.encode())
    found = read_examples(path)
    labels, expected = textbook_svmlight(text)
    assert found.y.tolist() == labels
    assert found.zero_based is zero_based
    X = found.X.toarray() if sp.issparse(found.X) else found.X
    assert X.shape == (len(expected), max([1, *(index + shift for row in expected for index in row)]))
    for vector, row in zip(X, expected, strict=True):
        assert {i - shift + 1: v for i, v in enumerate(vector) if v} == {i: v for i, v in row.items() if v}


BAD_LINES = {
    "no label": ("1:2 2:3", "must begin with a label", "Got '1:2' instead"),
    "words": ("spam 1:2", "must begin with a label", "Got 'spam' instead"),
    "several labels": ("1,2 1:2", "must begin with a label", "Got '1,2' instead"),
    "infinite label": ("1e999 1:2", "must begin with a label"),
    "no colon": ("1 1:2 7", "must have number:value", "Got '7' instead"),
    "words for features": ("1 a:2", "must have number:value", "Got 'a:2' instead"),
    "negative": ("1 -1:2", "must have number:value", "Got '-1:2' instead"),
    "three numbers": ("1 1:2:3", "must have number:value", "Got '1:2:3' instead"),
    "no value": ("1 1: 2", "must have number:value", "Got '1:' instead"),
    "underscore": ("1 1:1_0", "must have number:value", "Got '1:1_0' instead"),
    "NaN": ("1 1:nan", "must have number:value", "Got '1:nan' instead"),
    "infinite": ("1 1:1e999", "must be finite numbers", "Got '1:1e999' instead"),
    "order": ("1 3:1 2:1", "must be in ascending order, each once. Got 2 after 3 instead"),
    "twice": ("1 3:1 3:1", "must be in ascending order, each once. Got 3 after 3 instead"),
    "huge": ("1 1000000000000:1", "must have numbers up to 2147483646", "Got '1000000000000:1' instead"),
    "beyond 31 bits": ("1 2147483647:1", "must have numbers up to 2147483646"),
    "digits without end": ("1 " + "9" * 5000 + ":1", "must have numbers up to 2147483646"),
    "queries": ("1 qid:3 1:2", "has 'qid:3'"),
    "NUL": ("1 1:2 \0", "must have number:value"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_of_svmlight(write, case):
    line, *words = BAD_LINES[case]
    refused(write("data.svm", f"1 1:1\n# comment\n\n{line}\n-1 1:1\n"), "line 4 of ", *words)


def test_svmlight_is_recognised_by_its_first_line(write):
    found = read_examples(write("a9a", "# heart\n+1 3:1 11:1\n-1 2:0.5\n"))
    assert (found.format, found.X.shape) == ("svmlight", (2, 11))
    refused(write("empty.svm", "# nothing\n"), "it has no examples")
    refused(write("data.svm", "1 1:1\n"), "The labels of", "leave label out", label="y")


def test_the_features_of_a_model(write):
    path = write("data.svm", "1 1:1 4:1\n-1 2:3 9:1\n")
    found = read_examples(path, n_features=4)
    assert np.array_equal(found.X if not sp.issparse(found.X) else found.X.toarray(), [[1, 0, 0, 1], [0, 3, 0, 0]])
    assert len(found.notes) == 1
    assert "5 features of" in found.notes[0]
    assert read_examples(path, n_features=20).X.shape == (2, 20)
    assert read_examples(path, zero_based=True).X.shape == (2, 10)
    zero = write("zero.svm", "1 1:1\n1 0:1\n")
    refused(zero, "must be numbered from 1", "feature 0 in example 2", zero_based=False)


def test_svmlight_is_dense_where_it_fits(write):
    dense = "".join(f"1 {' '.join(f'{i}:{i}' for i in range(1, 21))}\n" for _ in range(20))
    assert isinstance(read_examples(write("dense.svm", dense)).X, np.ndarray)
    assert sp.issparse(read_examples(write("dense.svm", dense), max_bytes=1000).X)
    assert sp.issparse(read_examples(write("sparse.svm", "1 20:1\n-1 1:1\n")).X)
    wide = read_examples(write("wide.svm", "1 2147483646:1\n-1 1:1\n"))  # no memory for what is 0
    assert sp.issparse(wide.X)
    assert wide.X.shape == (2, 2147483646)


# -- arrays -----------------------------------------------------------------------------------------------------------


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 0, 1])


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i2", "u1", "f2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(write, dtype, order):
    found = read_examples(write("data.npy", npy(np.asarray(X, dtype=dtype, order=order))), label=-1)
    expected = X.astype(dtype)
    assert np.array_equal(found.X, expected[:, :2])
    assert np.array_equal(found.y, expected[:, 2])
    assert found.X.dtype.isnative


def test_images_in_npy(write):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    found = read_examples(write("data.npy", npy(images)), labels="none")
    assert found.image_shape == (3, 4)
    assert np.array_equal(found.X, images.reshape(2, 12))


@pytest.mark.parametrize(
    ("arrays", "label"),
    [
        ({"X": X, "y": Y}, None),
        ({"data": X, "target": Y}, None),
        ({"M": X, "labels": Y}, None),
        ({"M": X, "kind": Y}, "kind"),
        ({"X": X, "y": Y.astype(np.str_)}, None),
        ({"X": X, "y": Y.astype("S1")}, None),
        ({"X": X, "y": Y[:, None]}, None),
        ({"X": X, "y": Y.astype(bool)}, None),
    ],
)
def test_npz(write, arrays, label):
    found = read_examples(write("data.npz", npz(**arrays)), label=label)
    assert np.array_equal(found.X, X)
    assert found.y.astype(np.int64).tolist() == Y.tolist()


def test_sparse_matrices_in_npz(write):
    matrix = sp.random(5, 7, density=0.4, format="csr", random_state=0)
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    found = read_examples(write("data.npz", file.getvalue()), labels="optional")
    assert (matrix != found.X).nnz == 0
    assert found.y is None
    parts = {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": matrix.shape,
        "format": b"csr",
    }
    assert read_examples(write("data.npz", npz(**parts, y=np.arange(5)))).y.tolist() == [0, 1, 2, 3, 4]
    for name, value in {
        "indices": matrix.indices + 5,
        "indptr": matrix.indptr[::-1],
        "shape": (5, 2**40),
        "data": matrix.data[1:],
        "format": b"coo",
    }.items():
        refused(write("bad.npz", npz(**parts | {name: value})), "The sparse matrix in", labels="none")


BAD_ARRAYS = {
    "objects": ("a.npy", npy(np.array([[1, "a"]], dtype=object)), "Got Python objects instead, which only pickle"),
    "records": ("a.npy", npy(np.zeros(2, dtype=[("a", "f8")])), "must hold numbers or text"),
    "complex": ("a.npy", npy(X * 1j), "must hold numbers or text. Got values of type 'complex128'"),
    "dates": ("a.npy", npy(np.array([["2020-01-01"]], dtype="M8[D]")), "must hold numbers or text"),
    "text": ("a.npy", npy(X.astype(np.str_)), "The features in", "must be numbers"),
    "one dimension": ("a.npy", npy(X[0]), "must have two dimensions or more. Got 1 instead"),
    "short": ("a.npy", npy(X)[:-1], "promises 4 x 3 values of type float64, 96 bytes, but 95 bytes follow"),
    "long": ("a.npy", npy(X) + b"x", "96 bytes, but 97 bytes follow"),
    "huge claim": ("a.npy", npy(X).replace(b"(4, 3)", b"(4" + b"0" * 15 + b", 3)"), "The header of"),
    "no header": ("a.npy", b"\x93NUMPY\1\0v\0" + b"(" * 118, "The header of", "is damaged"),
    "NaN": ("a.npy", npy(np.where(X == 7, np.nan, X)), "must be finite numbers. Got nan in row 3, column 2, instead"),
    "empty": ("a.npy", npy(X[:0]), "There must be examples and features"),
    "infinity in npz": ("a.npz", npz(X=np.where(X == 7, np.inf, X)), "Got inf in row 3, column 2"),
    "objects in npz": ("a.npz", npz(X=np.array([[1, "a"]], dtype=object)), "array 'X' in", "Got Python objects"),
    "no zip": ("a.npz", b"PK\3\4 and nothing", "The archive", "is damaged"),
    "cut zip": ("a.npz", npz(X=X)[:-30], "The archive", "is damaged"),
    "two matrices": ("a.npz", npz(A=X, B=X), "must have the features as 'X', or as its only matrix"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(write, case):
    name, content, *words = BAD_ARRAYS[case]
    refused(write(name, content), *words, labels="none")


def test_labels_of_arrays(write):
    refused(write("a.npy", npy(X)), "Say which column of", "-1 for the last one")
    refused(write("a.npy", npy(X)), "must be the number of one of the 3 columns", "Got 3 instead", label=3)
    refused(write("a.npz", npz(X=X, y=Y[:3])), "There must be one label for each of the 4 examples of", "Got 3 instead")
    refused(write("a.npz", npz(X=X, z=Y)), "must have the labels as 'y', or say which array with label, of 'z'")
    refused(write("a.npz", npz(X=X, z=Y)), "Got 'q' instead", label="q")
    refused(write("a.npz", npz(X=X, y=Y + np.nan)), "The labels of", "must be finite")


def test_archives_do_not_expand_without_limit(write):
    path = write("a.npz", npz(X=np.zeros((1000, 1000)), y=np.zeros(1000)))
    refused(path, "expands to more than the 1 MiB that max_bytes allows", max_bytes=1 << 20)
    assert read_examples(path).X.shape == (1000, 1000)


# -- compression ------------------------------------------------------------------------------------------------------

COMPRESSIONS = {"gzip": (".gz", gzip.compress), "bzip2": (".bz2", bz2.compress), "xz": (".xz", lzma.compress)}
CONTENTS = {
    "csv": ("a.csv", b"a,y\n1,0\n2,1\n", {"label": "y"}),
    "svmlight": ("a.svm", b"0 1:1\n1 1:2\n", {}),
    "npy": ("a.npy", npy(np.array([[1, 0], [2, 1]])), {"label": 1}),
    "npz": ("a.npz", npz(X=[[1], [2]], y=[0, 1]), {}),
}


@pytest.mark.parametrize("how", COMPRESSIONS)
@pytest.mark.parametrize("what", CONTENTS)
def test_compressed_files(write, how, what):
    suffix, compress = COMPRESSIONS[how]
    name, content, options = CONTENTS[what]
    half = len(content) // 2
    for data in (compress(content), compress(content[:half]) + compress(content[half:])):  # also in two members
        for called in (name + suffix, name):  # also under a name that does not say
            found = read_examples(write(called, data), **options)
            assert np.asarray(found.X.to_numpy() if found.columns else found.X).tolist() == [[1], [2]]
            assert found.y.tolist() == [0, 1]
    refused(write(name + suffix, compress(content)[:-5]), f"The {how} compression of", "is damaged", **options)


@pytest.mark.slow
@pytest.mark.parametrize("how", COMPRESSIONS)
def test_compressed_files_do_not_expand_without_limit(write, how):
    suffix, compress = COMPRESSIONS[how]
    path = write("a.csv" + suffix, compress(b"a,y\n" + b"1,0\n" * 500_000))
    said = f"The {how} compression of"
    refused(path, said, "expands to more than the 1 MiB that max_bytes allows", label="y", max_bytes=1 << 20)
    assert read_examples(path, label="y").n_rows == 500_000


def test_zstd_without_its_library(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    refused(
        write("a.csv.zst", b"\x28\xb5\x2f\xfd123"), "compressed with zstd, needs Python 3.14 or zstandard", label="y"
    )


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(monkeypatch, compress):
    data = b"a,y\n" + b"1,0\n2,1\n" * 200_000
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(data))))
    found = read_examples("-", label="y")
    assert (found.source, found.format, found.n_rows) == ("-", "csv", 400_000)
    assert found.X["a"].to_list() == [1, 2] * 200_000
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(data))))
    refused("-", "more than the 1 MiB that max_bytes allows", label="y", max_bytes=1 << 20)


def test_files_that_cannot_be_read(tmp_path):
    refused(tmp_path / "none.csv", "Cannot read", "No such file or directory", label="y")
    refused(str(tmp_path / "a\0b"), "Cannot read", label="y")
    refused("", "The data must be a file", label="y")
    refused(3, "The data must be a file", "Got 3 instead", label="y")


# -- images -----------------------------------------------------------------------------------------------------------


def idx(array):
    return (
        bytes([0, 0, 0x08, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(np.uint8).tobytes()
    )


IMAGES = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_idx(write, compress):
    path = write("train-images-idx3-ubyte" + (".gz" if compress is gzip.compress else ""), compress(idx(IMAGES)))
    refused(path, "Say which IDX file has the labels of", "There is no 'train-labels-idx1-ubyte' beside it")
    labels = write("train-labels-idx1-ubyte", idx(Y))
    for options in ({}, {"label": labels}, {"label": str(labels)}):
        found = read_examples(path, **options)
        assert np.array_equal(found.X, IMAGES.reshape(4, 6))
        assert (found.y.tolist(), found.image_shape, found.format) == ([0, 1, 0, 1], (3, 2), "idx")
    assert read_examples(path, labels="none").y is None
    write("train-labels-idx1-ubyte", idx(Y[:3]))
    refused(path, "There must be one label for each of the 4 examples of")


def test_idx_does_not_expand_without_limit(write):
    path = write("a.idx.gz", gzip.compress(idx(np.zeros((2000, 1000)))))
    refused(path, "expands to more than the 1 MiB that max_bytes allows", labels="none", max_bytes=1 << 20)


def test_a_folder_like_that_of_mnist(write, tmp_path):
    for part, images in (("train", IMAGES), ("t10k", IMAGES[:2])):
        write(f"set/{part}-images-idx3-ubyte", idx(images))
        write(f"set/{part}-labels-idx1-ubyte.gz", gzip.compress(idx(Y[: len(images)])))
    assert read_examples(tmp_path / "set").n_rows == 4
    assert read_examples(tmp_path / "set", part="test").n_rows == 2


@pytest.mark.parametrize("part", ["train", "test"])
def test_known_sets(part):
    digits = load_image_set("digits")
    found = read_examples("digits", part=part)
    assert np.array_equal(found.X, digits.X if part == "train" else digits.X_test)
    assert np.array_equal(found.y, digits.y if part == "train" else digits.y_test)
    assert found.image_shape == (8, 8)
    assert read_examples("digits", part=part, resize=(8, 8)).image_shape == (8, 8)
    refused("digits", "Only images in folders", "16 x 8", "with images of 8 x 8 instead", part=part, resize=(16, 8))


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.RandomState(0)
    pixels = {}
    for name in ("b/2.png", "a/1.png", "b/10.bmp", "a/3.gif", "a/note.txt", ".hidden/1.png"):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".txt":
            path.write_text("not an image")
        else:
            pixels[name] = rng.randint(0, 256, (3, 5)).astype(np.uint8)
            Image.fromarray(pixels[name]).save(path)
    return tmp_path / "pictures", pixels


@pytest.mark.parametrize("name", ["part-0.parquet", "part-0.csv.gz", "year=2024/part-0.parquet"])
def test_a_folder_of_tables_is_none_of_images(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"")
    (tmp_path / ".hidden.png").write_bytes(b"")
    for options in ({"label": "churn"}, {"labels": "optional"}):
        message = refused(tmp_path, f"is a folder of tables, such as {name!r}, and has no images", **options)
        assert message.endswith("name one of its files, or join them into one.")
    refused(tmp_path, "There are no images", format="images")


def test_a_table_beside_images_is_passed_over(pictures):
    folder, _ = pictures
    (folder / "labels.csv").write_text("a,y\n1,0\n")
    assert read_examples(folder).format == "images"


def test_images_in_folders(pictures):
    folder, pixels = pictures
    found = read_examples(folder)
    assert found.y.tolist() == ["a", "a", "b", "b"]
    expected = [pixels[name].ravel() for name in ("a/1.png", "a/3.gif", "b/10.bmp", "b/2.png")]
    assert np.array_equal(found.X, expected)
    assert (found.image_shape, found.X.dtype) == ((3, 5), np.uint8)
    assert read_examples(folder, labels="none").y is None
    rgb = read_examples(folder, rgb=True)
    assert rgb.image_shape == (3, 5, 3)
    assert np.array_equal(rgb.X.reshape(4, 15, 3)[:, :, 0], expected)
    assert read_examples(folder, resize=(2, 4)).image_shape == (2, 4)
    refused(folder, "more than the 20 bytes that max_bytes allows", max_bytes=20)
    loose = read_examples(folder / "a", labels="optional")
    assert (loose.n_rows, loose.y) == (2, None)
    refused(folder / "a", "must be in folders called after their classes")


def test_folders_called_by_numbers(tmp_path):
    for name in ("0", "10", "9"):
        (tmp_path / name).mkdir()
        Image.new("L", (2, 2)).save(tmp_path / name / "1.png")
    assert sorted(read_examples(tmp_path).y.tolist()) == [0, 9, 10]
    (tmp_path / "9").rename(tmp_path / "09")
    assert sorted(read_examples(tmp_path).y.tolist()) == ["0", "09", "10"]


def test_bad_images(pictures, monkeypatch):
    folder, _ = pictures
    odd = folder / "b" / "3.png"
    Image.new("L", (7, 3)).save(odd)
    refused(folder, "All images must be of one size", "1.png' of 3 x 5 and", "3.png' of 3 x 7 pixels instead")
    Image.new("I;16", (5, 3)).save(odd)
    refused(folder, "3.png' must have 8 bits a channel")
    odd.write_bytes(odd.read_bytes()[:40])
    refused(folder, "Cannot read the image", "3.png'")
    odd.write_bytes(b"no image")
    refused(folder, "Cannot read the image", "3.png'")
    monkeypatch.setattr("votron.data.formats.images._MAX_PIXELS", 10)
    refused(folder, "1.png' has 5 x 3 pixels, which is too many")
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    refused(folder, "There are no images")


def test_formats_where_they_do_not_belong(tmp_path, write):
    refused(tmp_path, "Data of format 'csv' are read from a file. Got the folder", format="csv")
    refused(write("a.csv", HEAD), "Images are read from a folder. Got the file", format="images")
    refused(write("a.csv", HEAD), "There is no part 'test' of", label="class", part="test")


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_damaged_files_are_read_or_refused_with_a_sentence():
    found = list(fuzz_readers.run_in_children(300))
    assert [one["failure"] for one in found if one["failure"] is not None] == []
    assert [one["seed"] for one in found] == list(range(300))
    assert 20 <= sum(one["read"] for one in found) <= 250  # the mutator neither spares nor destroys them all


def test_the_fuzzer_notices(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_readers, "read_examples", lambda *_, **__: 1 // 0)
    monkeypatch.setattr(fuzz_readers.tempfile, "gettempdir", lambda: str(tmp_path))
    [found] = fuzz_readers.run(1, seed=5)
    assert "ZeroDivisionError" in found["failure"]
    assert (tmp_path / "votron-fuzz-5").exists()
    with pytest.raises(AssertionError, match="no sentence"):
        fuzz_readers.check_sentence(DataError("oops"))


@pytest.mark.slow
def test_the_fuzzer_notices_that_a_process_ends_or_hangs(tmp_path, monkeypatch):
    """Each time at once, at the second of its cases."""
    monkeypatch.setattr(fuzz_readers.tempfile, "gettempdir", lambda: str(tmp_path))
    first = "import json, os, sys, time; seed = int(sys.argv[1]); n = int(sys.argv[2]);"
    first += "print(json.dumps({'seed': seed, 'read': True, 'failure': None, 'grown': 0, 'seconds': 0.0}), flush=True);"
    monkeypatch.setattr(fuzz_readers, "CHILD", [sys.executable, "-c", first + "n > 1 and os.abort()"])
    found = list(fuzz_readers.run_in_children(3))
    assert [one["failure"] for one in found] == [None, "the process ended with status -6", None]
    monkeypatch.setattr(fuzz_readers, "CHILD", [sys.executable, "-c", first + "n > 1 and time.sleep(600)"])
    monkeypatch.setattr(fuzz_readers, "SECONDS_TO_DIE", 0.5)
    assert [one["failure"] for one in fuzz_readers.run_in_children(2)] == [None, "the process hung"]


FOREIGN = {
    "a.xlsx": (b"PK\3\4 workbook", "is a workbook of a spreadsheet: save the sheet as CSV"),
    "a.xls": (b"\xd0\xcf\x11\xe0", "is a workbook of a spreadsheet"),
    "a.png": (b"\x89PNG\r\n\x1a\n", "is one image: give the folder of images"),
    "a.votron": (b"\x10\0\0\0\0\0\0\0" + b'{"__metadata__":{"votron":"{}"}}', "is a model file, not data"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_that_are_something_else_are_told_by_name(write, name):
    content, sentence = FOREIGN[name]
    refused(write(name, content), sentence, label="y")
