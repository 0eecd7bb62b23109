"""Models that were trained on frames and saved in Python: the commands take them as Python does."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cli_files import run

from votron import VotedPerceptronClassifier, save, table_classifier

PENGUINS = Path(__file__).parents[1] / "data" / "tables" / "penguins.csv"
NAMED = pd.read_csv(PENGUINS).dropna(subset="Sex").query("Sex in ('MALE', 'FEMALE')").reset_index(drop=True)
LABELS = {
    "text": NAMED["Sex"],
    "truth": NAMED["Sex"] == "MALE",
    "number": (NAMED["Sex"] == "MALE").astype(int) + 3,
}
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}

pytestmark = pytest.mark.filterwarnings("error")


def trained(frame, label, **options):
    X = frame.drop(columns=label) if isinstance(frame, pd.DataFrame) else frame.drop(label)
    clf = VotedPerceptronClassifier(random_state=0)
    return table_classifier(X, clf, **options).fit(X, frame[label])


@pytest.mark.parametrize(("kind", "library"), [("text", "pandas"), ("truth", "polars"), ("number", "pandas")])
def test_labels_of_frames(library, kind, tmp_path, capsys):
    frame = FRAMES[library](NAMED.assign(Sex=LABELS[kind]))
    model = trained(frame, "Sex", missing="mean")
    rows = tmp_path / "rows.csv"
    NAMED.assign(Sex=LABELS[kind]).to_csv(rows, index=False)
    save(model, tmp_path / "m.votron")
    found = json.loads(run(capsys, "evaluate", tmp_path / "m.votron", rows, "--label", "Sex", "--json").out)
    wrong = int(np.count_nonzero(model.predict(NAMED.drop(columns="Sex")) != LABELS[kind].to_numpy()))
    assert (found["rows"], found["wrong"]) == (len(NAMED), wrong)


@pytest.mark.parametrize("library", FRAMES)
def test_holes_are_filled_in_as_in_python(library, tmp_path, capsys):
    model = trained(FRAMES[library](NAMED), "Sex", missing="mean")
    save(model, tmp_path / "m.votron")
    everything = pd.read_csv(PENGUINS)
    assert everything.drop(columns="Sex").isna().any(axis=None)
    run(capsys, "predict", tmp_path / "m.votron", PENGUINS, "-o", tmp_path / "x.csv")
    predicted = pd.read_csv(tmp_path / "x.csv").iloc[:, -1].tolist()
    assert predicted == model.predict(everything.drop(columns="Sex")).tolist()
