"""A bound from outside the package, of public names only: certificates have it, in all their forms."""

import json

import numpy as np
import pytest
from paper import paper_perceptron
from sklearn.datasets import load_iris

from votron import certify, load, save
from votron.theory.evidence import LAST
from votron.theory.statements import GUARANTEE, Statement, register_bound

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
