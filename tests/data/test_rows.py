"""Rows know their numbers and lines; those without a label are refused, or left out and counted."""

import json
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron.cli import main
from votron.data import open_batches, read_examples
from votron.errors import DataError

RECORDS = st.lists(
    st.tuples(st.sampled_from(["plain", "two lines", "hole"]), st.booleans()), min_size=1, max_size=12
).filter(lambda records: any(kind != "hole" for kind, _ in records))


def written(records):
    """Return a file, and the number and line of each row that is whole, as one counts them who writes it."""
    text, line, numbers, lines = "text,number,label\n", 2, [], []
    for i, (kind, blank_before) in enumerate(records):
        if blank_before:
            text, line = text + "\n", line + 1
        if kind != "hole":
            numbers.append(i + 1)
            lines.append(line)
        text += {"plain": f"word,{i},a\n", "two lines": f'"two\nlines",{i},b\n', "hole": f",{i},a\n"}[kind]
        line += 2 if kind == "two lines" else 1
    return text, numbers, lines


@given(RECORDS, st.integers(8, 60))
def test_numbers_and_lines_of_csv(records, batch_bytes):
    text, numbers, lines = written(records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_text(text, encoding="utf-8")
        options = {"label": "label", "missing": "drop", "as_text": ("text",)}
        whole = read_examples(path, **options)
        batches = list(open_batches(path, batch_bytes=batch_bytes, **options))
    assert whole.row_numbers.tolist() == numbers
    assert list(whole.lines) == lines
    assert np.concatenate([batch.row_numbers for batch in batches]).tolist() == numbers
    assert np.concatenate([np.asarray(batch.lines) for batch in batches]).tolist() == lines


def test_numbers_and_lines_of_json(tmp_path):
    rows = [{"a": 1, "y": "p"}, {"a": None, "y": "q"}, {"a": 3, "y": "q"}]
    lines, whole = tmp_path / "rows.jsonl", tmp_path / "rows.json"
    lines.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    whole.write_text(json.dumps(rows), encoding="utf-8")
    found = read_examples(lines, label="y", missing="drop")
    assert (found.row_numbers.tolist(), list(found.lines)) == ([1, 3], [1, 5])
    found = read_examples(whole, label="y", missing="drop")
    assert (found.row_numbers.tolist(), found.lines) == ([1, 3], None)
    batches = list(open_batches(whole, label="y", missing="drop", batch_bytes=1))
    assert [batch.row_numbers.tolist() for batch in batches] == [[1], [3]]


CELLS = st.sampled_from(["", "NA", "1", "2.5"])
LABELS = st.sampled_from(["", "NA", "a", "b"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("unlabelled")


@settings(deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS, LABELS), min_size=1, max_size=12), st.sampled_from(["keep", "drop"]))
def test_rows_without_a_label_are_left_out_and_counted(folder, rows, missing):
    path = folder / "t.csv"
    rows = [("1", "1", "a"), *rows]
    path.write_text("p,q,y\n" + "".join(f"{p},{q},{y}\n" for p, q, y in rows))
    hole = {"", "NA"}
    labelled = [row for row in rows if row[2] not in hole]
    wanted = [row for row in labelled if missing == "keep" or not hole & {*row[:2]}]
    found = read_examples(path, label="y", missing=missing, drop_unlabelled=True, header=True)
    assert found.y.tolist() == [y for _, _, y in wanted]
    assert [tuple(row) for row in found.X.rows()] == [
        tuple(None if cell in hole else float(cell) for cell in row[:2]) for row in wanted
    ]
    assert (found.dropped, found.unlabelled) == (len(rows) - len(wanted), len(rows) - len(labelled))
    batches = list(open_batches(path, label="y", missing=missing, drop_unlabelled=True, header=True, batch_bytes=12))
    assert [label for batch in batches for label in batch.y] == found.y.tolist()


def test_a_missing_label_is_refused_with_the_option_that_leaves_it_out(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\n4,\n")
    with pytest.raises(DataError, match=r"2 have none, the first in line 3 of column 'y'.*drop_unlabelled=True\."):
        read_examples(path, label="y", missing="keep")
    with pytest.raises(DataError, match=r"drop_unlabelled=True\."):  # features are another matter
        read_examples(path, label="y", missing="drop")
    for command in (["train", "-o", str(tmp_path / "m")], ["tune"]):
        assert main([*command, str(path), "--label", "y"]) == 1
        assert "--drop-unlabelled: " in capsys.readouterr().err


def test_numbers_without_a_label_in_arrays(tmp_path):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0.0, np.nan, 1.0, np.nan])
    np.savez(tmp_path / "t.npz", X=X, y=y)
    found = read_examples(tmp_path / "t.npz", drop_unlabelled=True)
    assert found.y.tolist() == [0, 1]
    assert found.unlabelled == 2
    np.testing.assert_array_equal(found.X, X[[0, 2]])
    pl.DataFrame({"x": X[:, 0], "y": y}).write_parquet(tmp_path / "t.parquet")
    assert read_examples(tmp_path / "t.parquet", label="y", drop_unlabelled=True).y.tolist() == [0, 1]
