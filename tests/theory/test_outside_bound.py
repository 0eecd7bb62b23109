"""A bound from outside the package, of public names only: certificates have it, in all their forms."""

import json
from pathlib import Path

import numpy as np
import pytest
from installed_packages import run_beside
from paper import paper_perceptron
from sklearn.datasets import load_iris

from votron import certify, load, save
from votron.theory.evidence import LAST
from votron.theory.statements import GUARANTEE, Statement, register_bound

TABLE = Path("tests/data/tables/penguins.csv").resolve()
X, y = load_iris(return_X_y=True)
MODEL = paper_perceptron(gamma=1.0, degree=2, rule="last", random_state=0).fit(X, y > 0)


def occam(facts, c, delta):
    """Langford's bound for a predictor that is described in d examples of m, made cruder."""
    d, m = facts.runs[c].support, facts.m
    return (d * np.log(2 * m) + np.log(1 / delta)) / m, f"{d} examples"


CRUDE = Statement(
    "crude Occam", "(d ln 2m + ln(1/δ))/m", GUARANTEE, "error", LAST, ("i.i.d.", "kernel fixed", "its rule"), occam
)


def test_it_is_in_the_certificate(tmp_path):
    register_bound(CRUDE)
    found = certify(MODEL, X, y > 0)
    [bound] = [bound for bound in found.bounds if bound.name == "crude Occam"]
    support = len(MODEL.support_)
    assert bound.error == pytest.approx((support * np.log(300) + np.log(20)) / 150)
    assert bound.applies
    assert "crude Occam" in json.dumps(found.to_dict())
    save(MODEL, tmp_path / "m.votron", certificate=found)
    assert load(tmp_path / "m.votron").predict(X).tolist() == MODEL.predict(X).tolist()


def test_it_speaks_of_its_predictor_only():
    register_bound(CRUDE)
    found = certify(MODEL.with_rule("vote"), X, y > 0)
    [bound] = [bound for bound in found.bounds if bound.name == "crude Occam"]
    assert [each.name for each in bound.failing] == ["its rule"]


@pytest.mark.slow
def test_a_package_that_brings_it(tmp_path):
    done = run_beside(
        tmp_path,
        "from votron.theory.evidence import LAST\nfrom votron.theory.statements import GUARANTEE, Statement\n"
        "one = Statement('always one', '1', GUARANTEE, 'error', LAST, (), lambda e, c, delta: (1.0, 'by nature'))\n",
        "votron.bounds",
        "always one = brought:one",
        (["train", str(TABLE), "--label", "Species", "--missing", "mean", "-o", "m.votron", "--quiet"], 0),
        (["certify", "m.votron", str(TABLE), "--bound", "always one", "--json"], 0),
    )
    assert "always one" in done.stdout
