"""What pages say where a class is rare, or classes were weighed: probabilities by class, and how much is found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier
from votron.report import write_report


@pytest.fixture(scope="module")
def rare():
    """Rows of which about 3 % are yes, as far as two features tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    score = X.sum(axis=1) + rng.normal(size=6000)
    return X, np.where(score > np.quantile(score, 0.97), "yes", "no")


def page(model, X, y, folder):
    text = write_report(model, X, y, folder / "report.html").read_text(encoding="utf-8")
    return text.replace("\u00a0", " ").replace("&#39;", "'")


OFF = r"on average the model gives 'yes' ([\d.]+) %, and ([\d.]+) % of the rows are 'yes'"


@pytest.mark.parametrize(
    "options", [{"class_weight": "balanced"}, {"margin": {"no": 0.2, "yes": 8.0}}], ids=["weights", "margins"]
)
def test_probabilities_of_weighed_classes_are_not_called_right(rare, tmp_path, options):
    X, y = rare
    model = AveragedPerceptronClassifier(random_state=0, **options).fit(X[:3000], y[:3000])
    text = page(model, X[3000:], y[3000:], tmp_path)
    found = re.search(OFF, text)
    assert float(found[1]) == pytest.approx(100 * model.predict_proba(X[3000:])[:, 1].mean(), rel=0.01)
    assert float(found[2]) == pytest.approx(100 * (y[3000:] == "yes").mean(), rel=0.01)
    assert "well calibrated" not in text


def test_weights_of_rows_are_known_from_the_record(rare, tmp_path):
    X, y = rare
    model = VotedPerceptronClassifier(random_state=0, epochs=2, kernel="linear")
    model.fit(X[:2000], y[:2000], sample_weight=np.where(y[:2000] == "yes", 30.0, 1.0))
    text = page(model, X[3000:], y[3000:], tmp_path)
    assert re.search(OFF, text)


def test_probabilities_that_are_right_are_called_so(rare, tmp_path):
    X, _ = rare
    y = np.where(X.sum(axis=1) + np.random.default_rng(1).normal(size=len(X)) > 0, "yes", "no")
    text = page(AveragedPerceptronClassifier(random_state=0).fit(X[:2000], y[:2000]), X[3000:], y[3000:], tmp_path)
    assert "well calibrated" in text
    assert "the rarest class" not in text


def test_the_headline_says_how_much_of_a_rare_class_is_found(rare, tmp_path):
    X, y = rare
    model = AveragedPerceptronClassifier(random_state=0, class_weight="balanced").fit(X[:3000], y[:3000])
    text = page(model, X[3000:], y[3000:], tmp_path)
    predicted, true = model.predict(X[3000:]) == "yes", y[3000:] == "yes"
    assert f"{(predicted & true).sum()} of {true.sum()} rows of 'yes', the rarest class, are found" in text
