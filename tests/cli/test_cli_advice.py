"""What `votron train` says unasked: of labels, of long work, of mistakes that stay."""

import json

import numpy as np
import pytest

from votron._util import forecast
from votron.cli import main
from votron.cli._advice import remark_on_label


def err_of(capsys):
    """Return what was said, on one line."""
    return " ".join(capsys.readouterr().err.split())


def write(path, X, y, label="label"):
    head = ",".join([*(f"x{j}" for j in range(X.shape[1])), label])
    rows = [",".join([*(f"{value:.3f}" for value in row), str(each)]) for row, each in zip(X, y, strict=True)]
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def delays(folder):
    """A quantity: many whole numbers, of which most are rare."""
    rng = np.random.RandomState(0)
    write(folder / "flights.csv", rng.normal(size=(600, 2)), np.arange(600) ** 2 // 40 - 15, "arrival delay")
    return folder


TRAIN = ("-o", "m.votron", "--random-state", "0")


@pytest.mark.parametrize("command", [("train", *TRAIN), ("train", "--tune", "5", *TRAIN), ("tune",)])
def test_a_quantity_as_label_is_refused_before_work_begins(delays, capsys, command):
    assert main([command[0], "flights.csv", "--label", "arrival delay", *command[1:]]) == 1
    out, err = capsys.readouterr()
    n = len(np.unique(np.arange(600) ** 2 // 40))
    assert out == ""
    assert f"The label 'arrival delay' holds {n} different numbers in 600 rows, from -15 to 8955; half of them" in err
    assert "choose another column, or cut this one into a few classes" in err
    assert err.endswith("add --discrete 'arrival delay'.\n")
    assert not (delays / "m.votron").exists()


def test_the_way_on_is_the_one_that_is_named(delays, capsys):
    named = ("--label", "arrival delay", "--discrete", "arrival delay")
    assert main(["train", "flights.csv", *named, "--estimator", "averaged", "--epochs", "1", *TRAIN]) == 0
    assert "holds" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "labels",
    [
        np.repeat(np.arange(60) * 7, 40),
        np.repeat(np.arange(40), 10),
        np.repeat(np.arange(15) ** 3, 2),
        np.repeat([f"town {i}" for i in range(500)], 2),
        np.repeat([f"{i}" for i in range(500)], 2),
        np.tile([True, False], 300),
    ],
    ids=["60 numbers", "40 numbers with ten rows each", "15 numbers", "texts", "numbers as texts", "truth values"],
)
def test_classes_are_classes(labels):
    assert remark_on_label(labels, "kind", is_table=True) is None


@pytest.mark.parametrize(
    ("labels", "label", "is_table"),
    [
        (np.repeat(np.arange(1000) * 3, 30), "kind", True),
        (np.arange(300) + 1, "kind", True),
        (np.repeat(np.arange(50) * 3, 4), "kind", True),
        (np.arange(500) ** 2, None, False),
    ],
    ids=["many rows each", "numbered from 1", "not too many", "no table"],
)
def test_doubtful_labels_get_a_remark_only(labels, label, is_table):
    remark = remark_on_label(labels, label, is_table=is_table)
    assert f"{len(np.unique(labels)):,} different numbers in {len(labels):,} rows" in remark
    assert "If they are a quantity, cut it" in remark


def test_long_work_is_announced_on_a_pipe_with_the_way_out(folder, capsys, monkeypatch):
    monkeypatch.setattr(forecast, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(forecast, "SETTLING_SECONDS", 0.0)
    rng = np.random.RandomState(0)
    write(folder / "noise.csv", rng.normal(size=(6000, 2)), rng.randint(0, 2, 6000))
    train = ["train", "noise.csv", "--label", "label", "--epochs", "2", *TRAIN]
    assert main(train) == 0
    err = err_of(capsys)
    assert err.count("Training takes about ") == 1
    assert "`--estimator averaged` is linear and takes seconds as a rule" in err
    assert main([*train, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_mistakes_that_stay_are_said(folder, capsys):
    rng = np.random.RandomState(0)
    write(folder / "noise.csv", rng.normal(size=(400, 2)), rng.choice(["yes", "no"], 400))
    train = ["train", "noise.csv", "--label", "label", *TRAIN]
    assert main([*train, "--test", "0.25", "--json"]) == 0
    out, err = capsys.readouterr()
    err = " ".join(err.split())
    assert json.loads(out)["rows"] == 300
    assert "Pass 10 still made mistakes on " in err
    assert " of 300 rows, and pass 1 on " in err
    assert "`votron train --tune` looks for better parameters, such as a larger --margin." in err
    assert main([*train, "--estimator", "averaged"]) == 0
    err = err_of(capsys)
    assert "a larger --margin or --estimator voted, which has kernels may help." in err
    assert main([*train, "--epochs", "4", "--kernel", "rbf", "--gamma", "scale", "--tune"]) == 0
    assert "with the best parameters that were tried" in err_of(capsys)


@pytest.mark.parametrize("margin", ["0", "2"])
def test_nothing_is_said_of_clean_data(folder, capsys, margin):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 2))
    write(folder / "clean.csv", X + np.sign(X[:, :1]), np.where(X[:, 0] > 0, "yes", "no"))
    assert main(["train", "clean.csv", "--label", "label", "--margin", margin, *TRAIN]) == 0
    assert capsys.readouterr().err == ""
