"""What `votron train` says unasked: of labels, of long work, of mistakes that stay."""

import shlex

import numpy as np
import pytest

from votron import VotedPerceptronClassifier
from votron.cli import main
from votron.cli.reading import FileRows, refuse_quantity
from votron.cli.training import faster_linear
from votron.data import Examples


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
    assert out == ""
    assert err.endswith("add --discrete 'arrival delay'.\n")
    assert not (delays / "m.votron").exists()


@pytest.mark.parametrize(
    "labels",
    [
        np.repeat(np.arange(60) * 7, 40),
        np.repeat(np.arange(40), 10),
        np.repeat(np.arange(15) ** 3, 2),
        np.repeat([f"town {i}" for i in range(500)], 2),
        np.repeat([f"{i}" for i in range(500)], 2),
        np.tile([True, False], 300),
        np.arange(300) + 1,
        np.repeat(np.arange(50) * 3, 4),
    ],
)
def test_classes_are_classes(labels):
    refuse_quantity(labels, "kind")


def test_many_training_errors_are_remarked_upon(folder, capsys):
    rng = np.random.RandomState(0)
    write(folder / "noise.csv", rng.normal(size=(400, 2)), rng.choice(["yes", "no"], 400))
    train = ["train", "noise.csv", "--label", "label", *TRAIN, "--kernel", "linear"]
    assert main(train) == 0
    assert "votron train --tune looks for better parameters." in err_of(capsys)
    assert main([*train[:-2], "--estimator", "averaged"]) == 0
    assert "--estimator voted may help." in err_of(capsys)


def test_a_linear_model_that_does_as_well_is_named():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(900, 20))
    y = np.where(X.sum(axis=1) + rng.normal(size=900) > 0, "yes", "no")
    model = VotedPerceptronClassifier(gamma=1.0, margin=0.0, random_state=0).fit(X, y)
    rows = FileRows(Examples(X, y, "csv", "-"))
    [said] = faster_linear(model, rows, {"numeric": "keep"}, seconds=600.0, seed=0)
    assert "--estimator averaged errs as rarely" in said
    assert faster_linear(model, rows, {"numeric": "keep"}, seconds=1.0, seed=0) == []
    ring = np.where((X[:, :2] ** 2).sum(axis=1) > 1.4, "out", "in")
    model = VotedPerceptronClassifier(random_state=0).fit(X[:, :2], ring)
    rows = FileRows(Examples(X[:, :2], ring, "csv", "-"))
    assert faster_linear(model, rows, {"numeric": "keep"}, seconds=600.0, seed=0) == []


def test_a_rare_class_gets_the_remedy(folder, capsys):
    rng = np.random.RandomState(0)
    write(folder / "rare.csv", rng.normal(size=(200, 2)), np.where(np.arange(200) % 20 == 0, "yes", "no"))
    data = ["rare.csv", "--label", "label"]
    few = ["--kernels", "linear", "--margins", "0", "--epochs", "1", "--folds", "2"]
    for command in (["train", *data, *TRAIN], ["tune", *data, *few], ["compare", *data, "--estimator", "averaged"]):
        assert main(command) == 0
        assert "Only 5.00 % of the rows are 'yes'" in (said := err_of(capsys))
        assert "--class-weight balanced" in said
        assert main([*command, "--class-weight", "balanced"]) == 0
        assert "Only 5.00 %" not in err_of(capsys)
    assert main(["train", *data, *TRAIN, "--quiet"]) == 0
    assert main(["evaluate", "m.votron", "rare.csv"]) == 0
    assert "Training with --class-weight balanced finds more" in err_of(capsys)
    assert main(["train", *data, *TRAIN, "--class-weight", "yes=1,no=1"]) == 0
    assert main(["export", "m.votron", "--compact", "small.votron"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "small.votron", "rare.csv"]) == 0
    assert "--class-weight" not in err_of(capsys)


def test_nothing_is_said_of_clean_data(folder, capsys):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 2))
    write(folder / "clean.csv", X + np.sign(X[:, :1]), np.where(X[:, 0] > 0, "yes", "no"))
    assert main(["train", "clean.csv", "--label", "label", *TRAIN]) == 0
    assert capsys.readouterr().err == ""


def test_the_options_that_tune_prints_are_those_of_train(folder, capsys):
    rng = np.random.RandomState(0)
    write(folder / "rows.csv", rng.normal(size=(40, 2)), np.where(np.arange(40) % 2, "yes", "no"))
    data = ["rows.csv", "--label", "label"]
    assert main(["tune", *data, "--margins", "0", "--epochs", "1"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("The best")]
    assert main(["train", *data, *shlex.split(line.partition(": ")[2]), *TRAIN]) == 0


def test_a_table_with_fewer_rows_than_folds(folder, capsys):
    write(folder / "tiny.csv", np.arange(8.0).reshape(4, 2), np.array(["no", "yes", "no", "yes"]))
    assert main(["train", "tiny.csv", "--label", "label", "--tune", "1", *TRAIN]) == 0
    assert main(["tune", "tiny.csv", "--label", "label"]) == 1
    assert "--folds" in err_of(capsys)
