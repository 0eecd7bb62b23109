"""``evaluate --held-out`` finds the rows again that ``train --test`` held out."""

import csv
import json

import pytest
from cli_files import run

PENGUINS = "tests/data/tables/penguins.csv"
MESSY = ["--label", "Sex", "--drop-unlabelled", "--missing", "mean"]


def trained(capsys, model, *options, data=PENGUINS):
    return json.loads(run(capsys, "train", data, *options, "--random-state", 3, "--json", "-o", model).out)


@pytest.mark.parametrize("estimator", ["voted", "averaged"])
@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_the_error_is_that_of_training(tmp_path, capsys, estimator, missing):
    model, wrong = tmp_path / "m.votron", tmp_path / "wrong.csv"
    options = ["--label", "Sex", "--drop-unlabelled", "--missing", missing, "--test", 0.25, "--estimator", estimator]
    before = trained(capsys, model, *options)["test_error"]
    said = run(capsys, "evaluate", model, PENGUINS, "--held-out", "--json", "--wrong", wrong)
    found = json.loads(said.out)
    assert (found["wrong"], found["rows"]) == (before["wrong"], before["rows"])
    assert found["rows"] in (83, 84)
    assert "than on new rows" not in said.err
    with open(PENGUINS, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(wrong, newline="") as file:
        listed = list(csv.DictReader(file))
    assert len(listed) == found["wrong"] > 0
    for each in listed:
        row = rows[int(each["row"]) - 1]
        assert (each["true"], each["Species"], int(each["line"])) == (row["Sex"], row["Species"], int(each["row"]) + 1)


def test_rows_of_weight_0_are_not_counted(tmp_path, capsys):
    data, model = tmp_path / "t.csv", tmp_path / "m.votron"
    lines = [f"{i % 7},{(i * i) % 11},{int(i % 5 > 0)},{'ab'[i % 2]}" for i in range(100)]
    data.write_text("x,z,w,y\n" + "\n".join(lines) + "\n")
    before = trained(capsys, model, "--label", "y", "--sample-weight", "w", "--test", 0.3, data=data)["test_error"]
    found = json.loads(run(capsys, "evaluate", model, data, "--held-out", "--json").out)
    assert (found["wrong"], found["rows"]) == (before["wrong"], before["rows"]) == (before["wrong"], 24)


def test_errors_on_the_training_data_are_remarked_upon(tmp_path, capsys):
    model = tmp_path / "m.votron"
    trained(capsys, model, *MESSY, "--test", 0.25)
    said = run(capsys, "evaluate", model, PENGUINS, "--drop-unlabelled").err.replace("\n", " ")
    assert "trained on penguins.csv, so it does better here than on new rows: --held-out takes the rows" in said
    trained(capsys, model, *MESSY)
    said = run(capsys, "evaluate", model, PENGUINS, "--drop-unlabelled").err.replace("\n", " ")
    assert "than on new rows: measure it on other rows" in said


def test_it_is_refused_where_nothing_was_held_out_and_for_other_data(tmp_path, capsys):
    model, others = tmp_path / "m.votron", tmp_path / "others.csv"
    trained(capsys, model, *MESSY)
    said = run(capsys, "evaluate", model, PENGUINS, "--held-out", status=2).err
    assert "--held-out is for models trained with --test FRACTION" in said
    trained(capsys, model, *MESSY, "--test", 0.25)
    with open(PENGUINS) as file:
        others.write_text("".join(file.readlines()[:40]))
    said = run(capsys, "evaluate", model, others, "--held-out", status=1).err.replace("\n", " ")
    assert "--held-out needs the training data of" in said
