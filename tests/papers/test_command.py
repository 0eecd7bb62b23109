"""``votron reproduce``: what it prints and writes, and what it refuses."""

import csv
import io
import json
import struct
import subprocess
import sys

import numpy as np
import pytest

from votron import cli
from votron.errors import VotronError
from votron.papers import Settings, parse_degrees
from votron.papers.reproduce import reproduce, write_tables


def test_degrees():
    assert [parse_degrees(text) for text in ("1-3", "4", "2,4-5")] == [(1, 2, 3), (4,), (2, 4, 5)]


@pytest.mark.parametrize("text", ["0", "a", "3-2", "1-", "", "4;5", "1-99"])
def test_degrees_that_are_none(text):
    with pytest.raises(VotronError) as caught:
        parse_degrees(text)
    assert caught.value.parameter == "degrees"


def test_files_have_the_numbers(digits, tmp_path):
    settings = Settings(what=("table1", "table2", "claims"), degrees=(1, 4), permutations=2, epochs=1.0, jobs=1)
    made = reproduce(settings, digits, tmp_path / "runs", command="votron reproduce", quiet=True)
    written = write_tables(made, tmp_path)
    assert {path.name for path in written} == {
        "table1.csv", "table1.md", "table2.csv", "table2.md", "claims.md", "results.json"
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table1.csv").read_text(encoding="utf-8"))))
    first = made.tables[0].rows[0]
    assert float(rows[0]["ours"]) == first.cells[0].value
    everything = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert everything["tables"]["table1"][0]["ours"] == first.cells[0].value
    assert len(everything["runs"]) == 4
    assert everything["runs"][0]["digest"] == made.results.runs[1][0].digest
    assert len(everything["claims"]) == 10
    assert f"| {first.cells[0].text} ±" in (tmp_path / "table1.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    arguments = ["reproduce", "table1", "figure2", "--degrees", "1-2", "--permutations", "2", "--epochs", "1"]
    arguments += ["--jobs", "1", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert "Table 1: rules, epochs and degrees" in out
    assert "4 of 4 runs" in err
    assert out.rstrip().endswith(f"Report: {tmp_path / 'report.html'}")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"runs", "report.html", "table1.csv", "table1.md", "results.json", "figure2.svg", "figure2.png"} <= names
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "votron reproduce table1 figure2" in page
    assert cli.main([*arguments, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"Report: {tmp_path / 'report.html'}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table9"], "table9"),
        (["--degrees", "x"], "degrees must be such as 4, 1-6"),
        (["--permutations", "0"], "--permutations"),
        (["--epochs", "-1"], "--epochs"),
        (["--epochs", "many"], "--epochs"),
        (["--jobs", "0"], "--jobs"),
        (["--data", "no-such-folder"], "no-such-folder"),
    ],
)
def test_bad_input(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_folders_of_ones_own(tmp_path, capsys, n_classes, digits):
    """Called like a known set, with two classes or few; and images that are not square."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, X, y in (("train", digits.X[:80], digits.y[:80]), ("t10k", digits.X_test, digits.y_test)):
        head = struct.pack(">HBB3I", 0, 8, 3, len(X), 4, 16)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + X.tobytes())
        head = struct.pack(">HBB1I", 0, 8, 1, len(y))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(head + (y % n_classes).astype(np.uint8).tobytes())
    arguments = ["reproduce", "--data", str(folder), "--degrees", "2,4", "--permutations", "1", "--epochs", "2"]
    assert cli.main([*arguments, "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "not the papers' data" in out
    assert "The frontier is left out." in out
    assert f"Table 3: {n_classes - 1} against the rest" in out
    json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert cli.main([*arguments, "table1", "--jobs", "1", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert (tmp_path / "out" / "table1.csv").exists()


def test_help_is_light():
    """It imports nothing that takes long."""
    code = "import sys; from votron.cli import main; main(['reproduce', '--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: votron reproduce" in done.stdout
    loaded = done.stdout.splitlines()[-1]
    assert not any(f"'{name}'" in loaded for name in ("numpy", "sklearn", "numba", "scipy", "matplotlib"))
