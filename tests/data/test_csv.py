"""CSV and TSV: what is read is what is in the file, and what cannot be read gets a sentence that says where."""

import csv
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from votron.data import read_examples

fixture_once = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
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
    assert found.X.to_dict(as_series=False) == table
    assert found.y.tolist() == list(range(n))


@pytest.mark.parametrize("delimiter", list(",;\t|"))
def test_the_delimiter_is_found(write, delimiter):
    text = "a,b c,y\n1,x; y,p\n2,z,q\n".replace(",", "\0").replace(";", "," if delimiter != "," else ";")
    found = read_examples(write("table.txt", text.replace("\0", delimiter)), label="y")
    assert (found.columns, found.y.tolist()) == (["a", "b c"], ["p", "q"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,y\n1,0\n2.5,1\n", [1.0, 2.5]),
        ("a,y\n 1 ,0\n+2, 1\n", [1, 2]),
        ("a,y\ntrue,0\nFALSE,1\n", [True, False]),
        ('a,y\n"1",0\n"2",1\n', [1, 2]),
        ("a,y\nit's,0\nb,1\n", ["it's", "b"]),
        ("\n\na,y\n1,0\n\n2,1\n\n\n", [1, 2]),
        ("a,y,\n1,0,\n2,1,\n", [1, 2]),
        ("a,y\n99999999999999999999,0\n2,1\n", [1e20, 2.0]),
        ("a,y\n" + "1,0\n" * 1500 + "x,1\n" * 1600, ["1"] * 1500 + ["x"] * 1600),
        ("a,y\n" + "1,0\n" * 1500 + "0.5,1\n", [1.0] * 1500 + [0.5]),
        ("a,b,y\n" + "1,1,0\n" * 1500 + "9007199254740993,0.5,1\n", [1] * 1500 + [9007199254740993]),
        ("*,a,y\nx,1,0\nz,2,1\n", [1, 2]),
    ],
)
def test_values_of_a_column(write, text, expected):
    found = read_examples(write("table.csv", text), label="y")
    assert found.X["a"].to_list() == expected
    assert {type(value) for value in found.X["a"].to_list()} == {type(value) for value in expected}
    assert found.y.dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("1 2 3", [1, 2, 3]),
        ("1.0 2.0 3", [1, 2, 3]),
        ("a b a", ["a", "b", "a"]),
        ("True false TRUE", [True, False, True]),
        ("0.5 1 2", [0.5, 1.0, 2.0]),
        ("1 2 3 other", ["1", "2", "3", "other"]),
        ("1 0 0 true", ["1", "0", "0", "true"]),
    ],
)
def test_labels(write, labels, expected):
    text = "x,y\n" + "".join(f"{i},{one}\n" for i, one in enumerate(labels.split()))
    y = read_examples(write("table.csv", text), label="y").y.tolist()
    assert y == expected
    assert {type(value) for value in y} == {type(value) for value in expected}


@pytest.mark.parametrize("quoted", [False, True])
def test_codes_with_leading_zeros_are_text(write, quoted):
    lines = ["zip,n,share,y", "01234,10,0.5,01", "1234,20,0,1", "00501,0,00.25,01", "-07,5,1,2"]
    if quoted:
        lines = [",".join(f'"{field}"' for field in line.split(",")) for line in lines]
    path = write("table.csv", "\n".join(lines))
    found = read_examples(path, label="y")
    assert found.X["zip"].to_list() == ["01234", "1234", "00501", "-07"]
    assert found.X["n"].to_list() == [10, 20, 0, 5]
    assert found.X["share"].to_list() == ["0.5", "0", "00.25", "1"]
    assert found.y.tolist() == ["01", "1", "01", "2"]
    told = read_examples(path, label="y", columns={"zip": "number"}, label_kind="number")
    assert (told.X["zip"].to_list(), told.y.tolist()) == ([1234, 1234, 501, -7], [1, 1, 1, 2])


# -- decimal marks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("1,5 2", [1.5, 2.0]),
        ("0,5 1,234 2", [0.5, 1.234, 2.0]),
        ("1,234 -12,345 7", [1.234, -12.345, 7.0]),
        ("1,5 -2,25 ?", [1.5, -2.25, None]),
        ("1 6.511", [1.0, 6.511]),
        ("1,234,567 x", ["1,234,567", "x"]),
        ("0,5 1.234", ["0,5", "1.234"]),
        ("1,5 2 1.234,5", "must hold numbers alone, as most of its values are. Got '1.234,5' in line 4 instead"),
    ],
)
def test_the_decimal_mark_is_that_of_the_column(write, refused, values, expected):
    path = write("table.csv", "a;b;y\n" + "".join(f"{value};6.511;0\n" for value in values.split()))
    if isinstance(expected, str):
        refused(path, "The column 'a' of", expected, "as_text", label="y")
        assert read_examples(path, label="y", as_text=["a"]).X["a"].to_list() == values.split()
    else:
        found = read_examples(path, label="y", missing="keep").X
        assert found["a"].to_list() == expected
        assert set(found["b"].to_list()) == {6.511}


def test_the_decimal_mark_can_be_given(write, refused):
    path = write("table.csv", 'a,y\n"1,5",0\n"2,25",1\n')
    assert read_examples(path, label="y", decimal=",").X["a"].to_list() == [1.5, 2.25]
    assert read_examples(path, label="y").X["a"].to_list() == ["1,5", "2,25"]
    path = write("table.csv", "a;y\n1,5;0\n2,25;1\n3.5;1\n")
    refused(path, "Got '3.5' in line 4 instead", label="y", decimal=",")
    refused(path, "The 'decimal' parameter of read_examples must be one of", label="y", decimal="'")


# -- header and layout ------------------------------------------------------------------------------------------------


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
def test_numbers_over_numbers_are_not_names(write, refused, text, is_data):
    path = write("table.csv", text)
    n = text.count("\n")
    if is_data:
        refused(path, "The first line of", "must name the columns", "header=False", "header=True", label=-1)
    else:
        assert read_examples(path, label=-1).n_rows == n - 1
    if is_data:
        without = read_examples(path, label=-1, header=False)
        assert (without.n_rows, without.columns[0]) == (n, "c0")
    assert read_examples(path, label=-1, header=True).n_rows == n - 1


@pytest.mark.parametrize("title", ["Sales of 2024", "Sales of 2024,,,", '"Sales, by month"'])
def test_a_title_above_the_header_is_named(write, refused, title):
    path = write("table.csv", f"{title}\nmonth,n,share,y\nMay,5,1.5,a\nJune,7,2.5,b\n")
    refused(path, "Got one field, 'Sales", "above lines of 4, which seems to be a title: delete", label="y")


def test_single_quotes_are_characters_like_others(write):
    path = write("table.csv", "a,b\n'x',0\n'tis,1\n")
    assert read_examples(path, labels="none").X["a"].to_list() == ["'x'", "'tis"]


# -- missing values and labels ----------------------------------------------------------------------------------------


def test_missing_values(write, refused):
    path = write("table.csv", "a,b,y\n1,x,0\n,y,1\n3,?,0\n4,z,1\n")
    dropped = read_examples(path, label="y", missing="drop")
    assert (dropped.X.rows(), dropped.y.tolist(), dropped.dropped) == ([(1, "x"), (4, "z")], [0, 1], 2)
    kept = read_examples(path, label="y", missing="keep")
    assert kept.X.rows() == [(1, "x"), (None, "y"), (3, None), (4, "z")]
    assert read_examples(path, label="y", missing="keep", na_values=["x"]).X["b"].to_list() == [None, "y", "?", "z"]
    more = read_examples(path, label="y", missing="keep", na_values="x", only_na_values=False)
    assert more.X["b"].to_list() == [None, "y", None, "z"]
    path = write("table.csv", "a,b,y\n" + "-999,0.5,0\n1,-999,1\n" * 50_000)
    found = read_examples(path, label="y", missing="keep", na_values=["-999"]).X
    assert (found["a"].to_list()[:2], found["b"].to_list()[:2], found.height) == ([None, 1], [0.5, None], 100_000)
    refused(write("none.csv", "a,y\n,1\n?,2\n"), "There is no row of", label="y", missing="drop")


def test_columns_of_a_model(write, refused):
    path = write("table.csv", "other,ok,size,zip\n?,1,5,08001\n,0,6,9000\n")
    found = read_examples(path, labels="none", columns={"zip": "text", "size": "number", "ok": "truth"})
    assert found.X.rows() == [("08001", 5, True), ("9000", 6, False)]
    refused(
        path, "There must be a column 'age'", "as when the model was trained", labels="none", columns={"age": "number"}
    )
    refused(path, "must hold true and false", "Got 5 in line 2", labels="none", columns={"size": "truth"})
    path = write("words.csv", "size,day\n3,5\nbig,6\n")
    refused(path, "must hold numbers, as when", "Got 'big' in line 3", labels="none", columns={"size": "number"})
    refused(path, "must hold dates", "Got 5 in line 2", labels="none", columns={"day": "date"})


def test_columns_that_are_left_out_may_hold_anything(write, refused):
    path = write("table.csv", "id,a,y\n1,5,0\n2x,6,1\n3,7,0\n9,8,\n")
    options = {"label": "y", "missing": "drop", "drop_unlabelled": True}
    assert read_examples(path, drop=["id"], **options).X.rows() == [(5,), (6,), (7,)]
    found = read_examples(path, columns={"a": "number"}, **options)
    assert (found.X.rows(), found.y.tolist(), found.unlabelled) == ([(5,), (6,), (7,)], [0, 1, 0], 1)
    assert read_examples(path, as_text=["id"], **options).X["id"].to_list() == ["1", "2x", "3"]
    refused(path, "The column 'id'", "Got '2x' in line 3", **options)


@pytest.mark.parametrize("label", ["y", 1, -2, "1", "-2"])
def test_the_label_is_a_column_by_name_or_number(write, label):
    found = read_examples(write("a.csv", "a,y,b\n1,p,x\n2,q,z\n"), label=label)
    assert (found.label, found.y.tolist(), found.columns) == ("y", ["p", "q"], ["a", "b"])


@pytest.mark.parametrize(
    ("written", "kind", "expected"),
    [
        ("01 1 1", "text", ["01", "1", "1"]),
        ("1 true 0", "truth", [True, True, False]),
        ("1.0 2.0 01", "number", [1, 2, 1]),
        (
            "yes no yes",
            "truth",
            "must be true and false, or 1 and 0, as those that the model learnt. Got 'yes' in",
        ),
        ("1 a 1", "number", "must be numbers, as those that the model learnt. Got 'a' in line 3"),
    ],
)
def test_kinds_of_labels(write, refused, written, kind, expected):
    path = write("a.csv", "a,y,b\n" + "".join(f"{i},{one},w{i}\n" for i, one in enumerate(written.split())))
    if isinstance(expected, str):
        refused(path, "The labels of", expected, label="y", label_kind=kind)
    else:
        assert read_examples(path, label="y", label_kind=kind).y.tolist() == expected


def test_labels_may_be_wanted_or_not(write, refused):
    path = write("table.csv", "a,y\n1,0\n2,1\n")
    assert read_examples(path, label="y", labels="none").columns == ["a"]
    assert read_examples(path, label="z", labels="optional").y is None
    assert read_examples(path, labels="none").columns == ["a", "y"]
    refused(path, "Say which column of", "it has 'a', 'y'")
    refused(path, "The label must be a column of", "Got 'z' instead", label="z")
    refused(path, "The column to drop must be a column of", "Got 'z' instead", label="y", drop="z")
    refused(path, "There must be a column of features", label="y", drop=["a"])
    refused(path, "must be another column", label="a", columns={"a": "number"})


# -- refusals ---------------------------------------------------------------------------------------------------------

HEAD = "name,age,class\nann,31,a\n"
BAD_TABLES = {
    "empty": ("", "Cannot read", "the file is empty"),
    "header only": ("name,age,class\n", "There are no examples in", "it has a header and no rows"),
    "too few fields": (HEAD + "bob,3\n", "Line 3 of", "must have 3 fields", "Got 2 instead"),
    "too few, with quotes": (HEAD + '"bob, x",3\n', "Line 3 of", "must have 3 fields", "Got 2 instead"),
    "too many fields": (HEAD + "bob,3,a,b\n", "Line 3 of", "must have 3 fields", "Got 4 instead"),
    "fields after a quoted newline": (HEAD + '"b\nob",3,a\nx,y\n', "Line 5 of", "Got 2 instead"),
    "same names": ("a,b,a\n1,2,3\n", "The names of the columns of", "must differ. Got 'a' twice instead"),
    "names of patterns": ("^a$,b,class\n1,2,3\n", "The column '^a$' of", "must have another name"),
    "no name": (",age,class\n1,2,a\n", "Each column of", "Got none for column 1", "drop=0"),
    "no header": ("5.1,3.5,setosa\n4.9,3.0,setosa\n", "The first line of", "must name the columns", "header=False"),
    "NUL": (HEAD + "b\0b,3,a\n", "is not text in UTF-8: line 3 has the byte 0x00"),
    "Latin-1": ((HEAD + "bé,3,a\n").encode("latin-1"), "is not text in UTF-8: line 3 has the byte 0xe9"),
    "UTF-16": ((HEAD + "bob,3,a\n").encode("utf-16"), "encoding='utf-16'"),
    "open quote": (HEAD + '"bob,3,a\n', "unexpected end of data after line 2", "quote=''"),
    "quote in a field": ('a,b,class\n"x",1,a\nb"o,2,a\n', "its quotes do not fit together", "quote=''"),
    "text after a quote": ('a,b,class\n"x"y,1,a\n', "after line 1", "quote=''"),
    "missing": (HEAD + "bob,,a\n,4,b\n", "and 2 of 3 rows have some: the first is in line 3, column 'age'"),
    "missing label": (HEAD + "bob,4,\n", "in line 3 of column 'class'"),
    "almost numbers after a missing value": (HEAD + "bob,,a\ncid,4,a\ndee,4o,b\n", "Got '4o' in line 5 instead"),
    "almost numbers": (
        HEAD + "bob,12x,b\ncid,4,a\n",
        "The column 'age' of",
        "Got '12x' in line 3 instead",
        "na_values",
    ),
    "infinite": (HEAD + "bob,1e999,b\n", "The column 'age' of", "must hold finite numbers. Got inf in line 3"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(write, refused, case):
    text, *words = BAD_TABLES[case]
    refused(write("table.csv", text), *words, label="class" if "class" in str(text) else -1)


def test_lines_are_those_of_the_file(write, refused):
    text = 'a,b,y\n"x\ny",1,0\n\n\nz,2,1\nq,?,1\n'
    path = write("table.csv", text)
    refused(path, "the first is in line 7, column 'b'", label="y")
    assert list(read_examples(path, label="y", missing="keep").lines) == [2, 6, 7]


def test_a_panic_of_polars_is_a_sentence(write, refused, monkeypatch):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("index out of bounds\nnote: run with a backtrace")

    monkeypatch.setattr("polars.read_csv", panic)
    refused(write("table.csv", HEAD), "Cannot read", "index out of bounds.", label="class")
    monkeypatch.setattr("polars.read_csv", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        read_examples(write("table.csv", HEAD), label="class")


def test_labels_that_are_numbers_can_be_read_as_text(write):
    path = write("table.csv", "a,y\n1,1\n2,2\n")
    assert read_examples(path, label="y", as_text="y").y.tolist() == ["1", "2"]
