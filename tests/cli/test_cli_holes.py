"""Missing values that a model fills in are remarked upon."""

from __future__ import annotations

import numpy as np
import pytest

from votron.cli import main
from votron.saving.models import load_with_manifest


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A table with holes in one column, and another with holes in three."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        [f"{a:.2f}", f"{b:.2f}", "xyz"[i % 3], "ab"[int(a > b)]] for i, (a, b) in enumerate(rng.normal(size=(60, 2)))
    ]
    rows[3][1] = ""
    _write(tmp_path / "known.csv", rows)
    for i in (0, 1, 2):
        rows[i][0] = ""
    rows[2][2] = rows[5][2] = ""
    _write(tmp_path / "new.csv", rows)
    return rows


def _write(path, rows):
    path.write_text("left,right,word,label\n" + "\n".join(map(",".join, rows)) + "\n")


def run(capsys, *arguments):
    assert main(list(arguments)) == 0
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("estimator", ["averaged", "voted"])
def test_holes_that_are_filled_in_are_counted_and_named(tables, capsys, estimator):
    fill = ["--missing", "median", "--estimator", estimator, "--random-state", "0"]
    run(capsys, "train", "known.csv", "--label", "label", *fill, "-o", "m.votron")
    assert load_with_manifest("m.votron")[1].provenance["holes"] == {"right": 1}
    rows = np.genfromtxt("known.csv", delimiter=",", skip_header=1, usecols=(0, 1))
    left, right = np.nanmedian(rows, axis=0)
    for command in (["predict", "m.votron", "new.csv", "-o", "out.csv"], ["evaluate", "m.votron", "new.csv"]):
        assert (
            "5 rows have missing values, which were filled in: "
            f"'left' in 3 rows (as {left:.4g}, though none was missing in training), "
            "'word' in 2 rows (no feature is set, though none was missing in training), "
            f"'right' in 1 row (as {right:.4g})."
        ) in run(capsys, *command)
    assert "filled in" not in run(capsys, "predict", "m.votron", "new.csv", "--missing", "blank", "-o", "out.csv")
    assert run(capsys, "predict", "m.votron", "new.csv", "--quiet", "-o", "out.csv") == ""


def test_a_table_without_holes_is_not_remarked_upon(tables, capsys):
    fill = ["--missing", "mean", "--random-state", "0"]
    run(capsys, "train", "known.csv", "--label", "label", "--drop", "right", *fill, "-o", "m.votron")
    assert load_with_manifest("m.votron")[1].provenance["holes"] == {}
    assert "filled in" not in run(capsys, "predict", "m.votron", "known.csv", "-o", "out.csv")
