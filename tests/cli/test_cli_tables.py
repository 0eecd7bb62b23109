"""Tables as users bring them, at the command line: encodings, holes, odd names, large models, slips of options."""

import json

import pytest
from cli_files import run

from votron.cli import main

PENGUINS = "tests/data/tables/penguins.csv"


# -- encodings ---------------------------------------------------------------------------------------------------------


def test_the_encoding_of_training_is_kept(tmp_path, capsys):
    data, model = tmp_path / "t.csv", tmp_path / "m.votron"
    data.write_bytes(("w,y\n" + "é,1\nx,2\n" * 5).encode("latin-1"))
    assert "--encoding: " in run(capsys, "train", data, "--label", "y", "-o", model, status=1).err
    run(capsys, "train", data, "--label", "y", "-o", model, "--encoding", "latin-1")
    assert run(capsys, "predict", model, data).out.split()[1:] == ["1", "2"] * 5


# -- holes -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "m.votron"
    assert main(["train", PENGUINS, "--label", "Species", "--missing", "drop", "-o", str(path), "--quiet"]) == 0
    return path


def test_errors_do_not_list_every_column(model, tmp_path, capsys):
    data = tmp_path / "t.csv"
    names = [f"column {i}" for i in range(64)]
    data.write_text(",".join([*names, "y"]) + "\n" + ",".join(["1"] * 65) + "\n" + ",".join(["2"] * 65) + "\n")
    for options in (["--label", "Y"], ["--label", "y", "--discrete", "colum 7"], ["--label", "y", "--text", "t"]):
        error = run(capsys, "train", data, *options, "-o", tmp_path / "m", status=1).err
        assert "..." in error
        assert "column 20" not in error.replace("Did you mean", "")
    (tmp_path / "t.svm").write_text("1 1:1 2:1\n")
    assert "takes tables with the columns" in run(capsys, "predict", model, tmp_path / "t.svm", status=1).err


# -- what marks missing values ----------------------------------------------------------------------------------------


@pytest.fixture
def marked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["1,north,p", ".,south,q", "NA,north,p", "4,NA,q", "5,south,NA"] * 8
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


def kinds(capsys, *options):
    found = json.loads(run(capsys, "data", "describe", "t.csv", "--label", "y", "--json", *options).out)
    return {column["name"]: (column["kind"], column["missing"]) for column in found["columns"]}, found["unlabelled"]


def test_na_values_are_added_to_the_usual_ones(marked, capsys):
    assert kinds(capsys, "--na-values", ".") == ({"a": ("number", 16), "b": ("text", 8)}, 8)
    only = ("--only-na-values", "--na-values", ".", "--na-values", "NA")
    assert kinds(capsys, *only) == ({"a": ("number", 16), "b": ("text", 8)}, 8)
    assert kinds(capsys, "--only-na-values", "--discrete", "a") == ({"a": ("text", 0), "b": ("text", 0)}, 0)


def test_models_keep_what_marked_missing_values(marked, capsys):
    options = ("--label", "y", "--na-values", ".", "--drop-unlabelled", "--missing", "mean", "-o", "m.votron")
    run(capsys, "train", "t.csv", *options)
    reading = json.loads(run(capsys, "inspect", "m.votron", "--json").out)["provenance"]["reading"]
    assert (reading["na_values"], reading["only_na_values"]) == (["."], False)
    assert len(run(capsys, "predict", "m.votron", "t.csv").out.split()) == 41
