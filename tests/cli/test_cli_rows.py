"""Rows have the numbers that they have in the file, whatever was left out on the way."""

import csv
import json

import pytest
from cli_files import run

from votron.cli import main

N = 30
UNLABELLED, HOLES, WEIGHTLESS = {2, 9, 21}, {5, 14}, {7, 8}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table whose first column is the number of the row, and whose 11th row has the wrong label."""
    monkeypatch.chdir(tmp_path)
    lines = ["number,x,z,w,y"]
    for i in range(1, N + 1):
        label = "" if i in UNLABELLED else "a" if (i % 2) ^ (i == 11) else "b"
        x = "" if i in HOLES else i % 2
        lines.append(f"{i},{x},{1 + i / 100},{0 if i in WEIGHTLESS else 1},{label}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def train(capsys, *more):
    options = ["--label", "y", "--drop-unlabelled", "--missing", "drop", "--sample-weight", "w", "--random-state", "0"]
    return run(capsys, "train", "t.csv", *options, "--margin", "2", "-o", "m.votron", *more)


@pytest.mark.parametrize("held_out", [[], ["--test", "0.2"]])
def test_suspects(table, capsys, held_out):
    train(capsys, *held_out)
    found = json.loads(run(capsys, "data", "suspects", "m.votron", "t.csv", "--json").out)["suspects"]
    assert found
    for each in found:
        assert each["row"] == each["values"]["number"]
        assert each["name"] == f"row {each['row']}"


def test_wrong_rows_and_explanations(table, capsys):
    train(capsys)
    run(capsys, "evaluate", "m.votron", "t.csv", "--missing", "drop", "--drop-unlabelled", "--wrong", "wrong.csv")
    with open("wrong.csv", newline="") as file:
        wrong = list(csv.DictReader(file))
    assert wrong
    for row in wrong:
        assert row["row"] == row["number"]
        assert int(row["line"]) == int(row["row"]) + 1
    rows = json.loads(run(capsys, "explain", "m.votron", "t.csv", "--row", "12,3,2", "--json").out)["rows"]
    assert [row["row"] for row in rows] == ["row 12", "row 3", "row 2"]
    alone = table / "alone.csv"
    lines = (table / "t.csv").read_text().splitlines()
    alone.write_text("\n".join([lines[0], lines[12]]) + "\n")
    found = json.loads(run(capsys, "explain", "m.votron", "alone.csv", "--row", "1", "--json").out)["rows"][0]
    assert found["score"] == rows[0]["score"]


def test_a_row_with_a_hole_is_not_explained(table, capsys):
    train(capsys)
    assert main(["explain", "m.votron", "t.csv", "--row", "4,5"]) == 1
    assert "Row 5 of 't.csv' has missing values" in capsys.readouterr().err
    assert main(["explain", "m.votron", "t.csv", "--row", "31"]) == 1
    assert "There are 30 rows" in capsys.readouterr().err
