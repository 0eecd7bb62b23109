"""`votron compare`: the table, its files, and what is refused, in a sentence each."""

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from votron.cli import main

TABLES = Path(__file__).parent.parent / "data" / "tables"
PENGUINS = ["compare", str(TABLES / "penguins.csv"), "--label", "Species", "--missing", "mean", "--quiet"]
QUICK = ["--estimator", "averaged", "--estimator", "majority", "--folds", "3", "--repeats", "1"]


@pytest.fixture
def table(tmp_path):
    """A table of numbers with a label that its first column decides, with weights of rows."""
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(60, 2)).round(3)
    lines = [f"{a},{b},{'yes' if a > 0 else 'no'},{1 + k % 2}" for k, (a, b) in enumerate(rows)]
    path = tmp_path / "table.csv"
    path.write_text("a,b,y,w\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_real_table_from_end_to_end(tmp_path, capsys):
    figure, out = tmp_path / "compared.png", tmp_path / "compared.csv"
    assert main([*PENGUINS, *QUICK, "--figure", str(figure), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    first, _, head, best, worst = said.split("\n")[:5]
    assert first.startswith("3 folds of 344 rows, ")
    assert head.split()[0] == "accuracy"
    assert best.startswith("averaged")
    assert worst.startswith("majority")
    with Image.open(figure) as image:
        assert image.size[0] > 1000
    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["averaged", "majority"]
    assert [row["verdict"] for row in rows] == ["best", "worse"]
    assert float(rows[1]["behind_low"]) > 0.3


def test_lines_fit_the_terminal(monkeypatch, capsys):
    for columns, words in ((80, "noise"), (120, ": noise")):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main([*PENGUINS, "--max-rows", "60", "--folds", "2", "--repeats", "1"]) == 0
        said = capsys.readouterr().out
        assert max(map(len, said.split("\n"))) <= columns
        assert words in said


def test_options_of_other_commands(table, capsys):
    common = ["compare", str(table), "--label", "y", *QUICK, "--quiet", "--json"]
    assert main([*common, "--sample-weight", "w", "--class-weight", "yes=2,no=1", "--score", "balanced_accuracy"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weighted"]
    assert main([*common, "--drop", "w", "--discrete", "b", "--n-jobs", "1", "--random-state", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_threads"], found["random_state"]) == (1, 3)


@pytest.mark.parametrize(
    ("more", "status", "sentence"),
    [
        (["--estimator", "nobody"], 1, "majority"),
        (["--folds", "50"], 1, "--folds: must be at most"),
        (["-o", "table.csv"], 2, "-o must be another file than DATA"),
        (["--label", "z"], 1, "'z'"),
        (["--class-weight", "maybe=2"], 2, "--class-weight must name labels of the data. Got 'maybe'"),
        (["--sample-weight", "v"], 2, "--sample-weight: table.csv has no column 'v'"),
    ],
)
def test_what_is_refused_is_refused_in_a_sentence(table, more, status, sentence, capsys, monkeypatch):
    monkeypatch.chdir(table.parent)
    assert main(["compare", "table.csv", "--label", "y", *QUICK[:4], *more]) == status
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("votron compare: ")
    assert sentence in said
    assert said.count("\n") == 1


def read_until(terminal, pattern):
    """Return what a process has written to its terminal when such words are there, or when it is gone."""
    said = b""
    with contextlib.suppress(OSError):  # which Linux raises at the end
        while not re.search(pattern, said) and (more := os.read(terminal, 4096)):
            said += more
    return said


@pytest.mark.slow
def test_ctrl_c_prints_what_is_finished(tmp_path):
    """A real process is stopped after its first estimator: that one is printed, and no file written."""
    rng = np.random.RandomState(0)
    path, out = tmp_path / "noise.csv", tmp_path / "compared.csv"
    rows = "".join(f"{a:.3f},{b:.3f},{rng.randint(9)}\n" for a, b in rng.normal(size=(3000, 2)))
    path.write_text("a,b,y\n" + rows, encoding="utf-8")
    names = [f"--estimator={name}" for name in ("majority", "averaged", "adatron")]
    terminal, end = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "votron", "compare", str(path), "--label", "y", *names, "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TERM": "dumb"},  # a line for each tenth of the work
    )
    os.close(end)
    read_until(terminal, rb"averaged, \d+ of 30 fits")
    process.send_signal(signal.SIGINT)
    read_until(terminal, rb"no\s+file\s+was\s+written\.")
    printed, _ = process.communicate(timeout=120)
    os.close(terminal)
    assert process.returncode == 130
    assert b"(interrupted)" in printed
    assert b"majority" in printed
    assert not out.exists()


def test_holes_are_refused_as_in_training(capsys):
    data = str(TABLES / "penguins.csv")
    assert main(["compare", data, "--label", "Species", "--folds", "3"]) == 1
    assert capsys.readouterr().err.startswith("votron compare: There must be no missing values in ")
