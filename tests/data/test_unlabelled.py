"""Rows without a label: refused, or left out and counted, whatever is missing elsewhere."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron.cli import main
from votron.data import describe_examples, open_batches, read_examples
from votron.errors import DataError

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
    for command in ("train", "tune"):
        assert main([command, str(path), "--label", "y", "-o", str(tmp_path / "m")]) == 1
        assert "--drop-unlabelled: " in capsys.readouterr().err


def test_without_any_label_there_is_nothing_to_learn_and_something_to_describe(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,\n2,\n")
    with pytest.raises(DataError, match="None of the 2 rows"):
        read_examples(path, label="y", drop_unlabelled=True)
    assert main(["data", "describe", str(path), "--label", "y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 2


def test_description_counts_them(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n,\n3,b\n4,\n")
    assert main(["data", "describe", str(path), "--label", "y"]) == 0
    assert "2; left out: 2 rows without a label" in capsys.readouterr().out
    assert describe_examples(read_examples(path, label="y", drop_unlabelled=True))["unlabelled"] == 2


def test_training_evaluation_and_certification_leave_them_out(tmp_path, capsys):
    path, model = tmp_path / "t.csv", str(tmp_path / "m.votron")
    path.write_text("x,z,y\n" + "1,0,a\n5,1,b\n,0,a\n2,1,\n" * 5)
    assert main(["train", str(path), "--label", "y", "--drop-unlabelled", "--missing", "mean", "-o", model]) == 0
    assert "5 rows without a label\n" in capsys.readouterr().out
    assert main(["evaluate", model, str(path), "--drop-unlabelled", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 15
    assert main(["certify", model, str(path)]) == 0
    capsys.readouterr()
    stream = ["--stream", "--estimator", "averaged"]
    assert (
        main(["train", str(path), "--label", "y", "--drop-unlabelled", "--missing", "drop", "-o", model, *stream]) == 0
    )
    assert "5 rows without a label, 5 rows with missing values" in capsys.readouterr().out


def test_numbers_without_a_label_in_arrays(tmp_path):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0.0, np.nan, 1.0, np.nan])
    np.savez(tmp_path / "t.npz", X=X, y=y)
    found = read_examples(tmp_path / "t.npz", drop_unlabelled=True)
    assert found.y.tolist() == [0, 1]
    assert found.unlabelled == 2
    np.testing.assert_array_equal(found.X, X[[0, 2]])
    pl.DataFrame({"x": X[:, 0], "y": y}).write_parquet(tmp_path / "t.parquet")
    assert read_examples(tmp_path / "t.parquet", label="y", drop_unlabelled=True).y.tolist() == [0, 1]
