"""Weights and margins at the command line: by label, and as a column of the data."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from votron import TableEncoder, VotedPerceptronClassifierCV, load
from votron.cli import main

WEIGHTS = np.array([0, 0.5, 1, 3])[np.arange(120) // 3 % 4]
ESTIMATORS = ["voted", "averaged"]


def write(path, names, weights=WEIGHTS, header="a,b,w,label"):
    """Two features, a weight, and one row in ten of the second label."""
    rng = np.random.default_rng(0)
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    rows = [
        f"{a + (i % 10 == 0):.3f},{b:.3f},{weights[i]:g},{quoted[i % 10 == 0]}"
        for i, (a, b) in enumerate(rng.normal(size=(120, 2)))
    ]
    path.write_text(header + "\n" + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rare.csv", ["no", "yes"])
    return tmp_path


TRAIN = ["train", "rare.csv", "--label", "label", "-o", "m.votron", "--random-state", "0"]


def run(capsys, *arguments):
    """Return what is printed, with single spaces where tables and ends of lines have more."""
    assert main(list(arguments)) == 0, capsys.readouterr().err
    return " ".join(capsys.readouterr().out.split())


def refused(capsys, *arguments):
    assert main(list(arguments)) != 0
    return capsys.readouterr().err


def classifier():
    model = load("m.votron")
    return model[-1] if isinstance(model, Pipeline) else model


# -- by label ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_and_margins_by_label(here, capsys, estimator):
    by_label = ["--class-weight", "yes=5,no=0.5", "--margin", "yes=1", "--drop", "w"]
    run(capsys, *TRAIN, "--estimator", estimator, *by_label)
    assert classifier().class_weight == {"yes": 5.0, "no": 0.5}
    assert classifier().margin == {"yes": 1.0}
    found = json.loads(run(capsys, *TRAIN, "--estimator", estimator, *by_label, "--json"))
    assert found["params"]["class_weight"] == {"yes": 5.0, "no": 0.5}


def test_labels_that_are_none(here, capsys):
    sentence = "--margin must name labels of the data. Got 'yse' instead. Did you mean 'yes'?\n"
    assert refused(capsys, *TRAIN, "--margin", "yse=1") == f"votron train: {sentence}"
    write(here / "rare.csv", ["1", "2"])
    assert "--class-weight must be numbers" in refused(capsys, *TRAIN, "--class-weight", "yes=1")
    assert "Got 1.5 instead" in refused(capsys, *TRAIN, "--class-weight", "1.5=1")
    assert "must have finite numbers of 0 or more" in refused(capsys, *TRAIN, "--class-weight", "1=-2")
    assert "--margin: must be a number or numbers by label such as yes=5,no=0.5. Got 'x'." in refused(
        capsys, *TRAIN, "--margin", "x"
    )
    assert not (here / "m.votron").exists()


# -- as a column ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_column_of_weights(here, capsys, estimator):
    """It is no feature; the model is that of the rows with a weight, and knows their weights."""
    out = run(capsys, *TRAIN, "--estimator", estimator, "--sample-weight", "w")
    assert "data rare.csv: 90 rows, 2 features " in out
    assert "weights of rows by w " in out
    found = load("m.votron")
    write(here / "kept.csv", ["no", "yes"])
    lines = (here / "rare.csv").read_text().splitlines()
    kept = [lines[0], *(line for line, weight in zip(lines[1:], WEIGHTS, strict=True) if weight)]
    (here / "kept.csv").write_text("\n".join(kept) + "\n")
    run(capsys, "train", "kept.csv", *TRAIN[2:], "--estimator", estimator, "--sample-weight", "w")
    again = load("m.votron")
    rows = np.random.default_rng(1).normal(size=(50, 2))
    assert np.array_equal(found[-1].decision_function(rows), again[-1].decision_function(rows))
    run(capsys, "train", "kept.csv", *TRAIN[2:], "--estimator", estimator, "--drop", "w")
    plain = load("m.votron")
    assert not np.array_equal(found[-1].decision_function(rows), plain[-1].decision_function(rows))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_comes_after_training_with_a_column(here, capsys, estimator):
    weighted = [*TRAIN, "--estimator", estimator, "--sample-weight", "w", "--test", "0.25"]
    document = json.loads(run(capsys, *weighted, "--json"))
    assert document["provenance"]["sample_weight"] == {"column": "w"}
    assert document["test_error"]["rows"] == 23
    out = run(capsys, "certify", "m.votron", "rare.csv", "--verbose")
    assert ", 67 examples" in out
    run(capsys, "predict", "m.votron", "rare.csv", "-o", "labels.csv")
    (here / "new.csv").write_text("a,b\n1,2\n")
    run(capsys, "predict", "m.votron", "new.csv", "-o", "labels.csv")


def test_streams_with_weights(here, capsys):
    """Batch by batch, with the column and without it among the features; the same model as in one batch."""
    stream = ["--estimator", "averaged", "--sample-weight", "w", "--stream", "--class-weight", "yes=3"]
    run(capsys, *TRAIN, *stream, "--passes", "2", "--batch", "500")
    first = classifier()
    run(capsys, *TRAIN, *stream, "--passes", "2")
    np.testing.assert_allclose(first.coef_, classifier().coef_, rtol=1e-9)  # scales are sums over batches
    assert classifier()._trainer.largest_weight == 9.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sample-weight", "W"], "--sample-weight: rare.csv has no column 'W'"),
        (["--sample-weight", "label"], "--sample-weight: rare.csv has no column 'label'"),
        (["--sample-weight", "w", "--estimator", "winnow"], "--sample-weight is not for --estimator winnow"),
        (["--sample-weight", "a"], "--sample-weight: must be finite and not negative. Got -"),
        (["--sample-weight", "W", "--stream", "--estimator", "averaged"], "rare.csv has no column"),
    ],
)
def test_columns_that_are_none(here, capsys, arguments, sentence):
    assert sentence in refused(capsys, *TRAIN, *arguments)
    assert not (here / "m.votron").exists()


def test_tune_takes_the_weights_that_train_takes(here, capsys):
    grid = ["--kernels", "rbf", "--gammas", "scale", "--margins", "0.5", "--epochs", "4", "--folds", "3"]
    weights = ["--sample-weight", "w", "--class-weight", "yes=4"]
    found = json.loads(run(capsys, "tune", "rare.csv", "--label", "label", *grid, *weights, "--json"))
    frame = pl.read_csv("rare.csv")
    kept = frame.filter(pl.col("w") > 0)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    search = VotedPerceptronClassifierCV(
        ["rbf"], ["scale"], margins=[0.5], epochs=4, cv=splitter, class_weight={"yes": 4.0}, random_state=0
    )
    encoded = TableEncoder().fit_transform(kept[["a", "b"]])
    search.fit(encoded, kept["label"].to_numpy(), sample_weight=kept["w"].to_numpy())
    assert found["score"] == search.best_score_
