"""The majority's error beside the model's."""

import numpy as np
from cli_files import run, run_json


def test_the_majority_stands_beside_the_model(tmp_path, monkeypatch, capsys):
    """Two features that say nothing, and one row in ten of the rarer label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'yes' if i % 10 == 0 else 'no'}" for i, (a, b) in enumerate(rng.normal(size=(120, 2)))]
    (tmp_path / "rare.csv").write_text("a,b,label\n" + "\n".join(rows) + "\n")
    train = ["train", "rare.csv", "--label", "label", "-o", "m.votron", "--random-state", "0"]
    out = run(capsys, *train, "--kernel", "rbf", "--gamma", "50", "--epochs", "none").out
    assert "majority        always saying no would be wrong on 10.0 %\n" in out
    assert "\nalways saying no would be wrong on 10.0 %\n" in run(capsys, "evaluate", "m.votron", "rare.csv").out
    out = run(capsys, *train, "--kernel", "linear", "--epochs", "1", "--test", "0.5").out
    assert "always saying no would be wrong on 10.0 %: this model is no better" in " ".join(out.split())
    found = run_json(capsys, "evaluate", "m.votron", "rare.csv")
    assert found["majority"] == {"label": "no", "wrong": 12, "error": 0.1}
    assert found["wrong"] >= 12
