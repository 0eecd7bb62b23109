"""The majority's error beside the model's, and the weights and margins that the command line has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from votron.cli import main
from votron.saving.models import load_with_manifest


@pytest.fixture
def rare(tmp_path, monkeypatch):
    """Two features that say nothing, and one row in ten of the rarer label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'yes' if i % 10 == 0 else 'no'}" for i, (a, b) in enumerate(rng.normal(size=(120, 2)))]
    (tmp_path / "rare.csv").write_text("a,b,label\n" + "\n".join(rows) + "\n")
    return tmp_path


def load_provenance(path):
    return load_with_manifest(path)[1].provenance


def run(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_majority_stands_beside_the_model(rare, capsys):
    train = ["train", "rare.csv", "--label", "label", "-o", "m.votron", "--random-state", "0"]
    out = run(capsys, *train, "--kernel", "rbf", "--gamma", "50", "--epochs", "none")
    assert "majority        always saying no would be wrong on 10.0 %\n" in out
    out = run(capsys, "evaluate", "m.votron", "rare.csv")
    assert "\nalways saying no would be wrong on 10.0 %\n" in out
    out = run(capsys, *train, "--kernel", "linear", "--epochs", "1", "--test", "0.5")
    assert "always saying no would be wrong on 10.0 %: this model is no better" in " ".join(out.split())
    out = run(capsys, "evaluate", "m.votron", "rare.csv")
    assert "always saying no would be wrong on 10.0 %: this model is no better\n" in out
    found = json.loads(run(capsys, "evaluate", "m.votron", "rare.csv", "--json"))
    assert found["majority"] == {"label": "no", "wrong": 12, "error": 0.1}
    assert found["wrong"] >= 12
    found = json.loads(run(capsys, *train, "--json"))
    assert found["training_error"]["majority"]["error"] == 0.1
