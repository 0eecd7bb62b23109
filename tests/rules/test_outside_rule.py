"""Rules from outside the package, of public names only: they work wherever a rule of Votron's does."""

import numpy as np
import pytest
from paper import paper_perceptron
from sklearn.datasets import load_iris

from votron import VotedPerceptronClassifierCV, VotronError, certify, load
from votron.rules import RULES, MomentRule, TallyRule, register_rule

X, y = load_iris(return_X_y=True)


class Halfway(MomentRule):
    name, words = "halfway", "the vector alive half-way through training"

    def times(self, vectors, until):
        return np.full(vectors.record.n_vectors, until // 2)


class Shy(TallyRule):
    """As the vote, but scores near 0 say little."""

    name, words = "shy", "the vectors vote with their scores, cut at ±1"

    def share(self, scores, length, normalized):
        return np.clip(scores / length if normalized and length > 0 else scores, -1.0, 1.0)


class Votes(TallyRule):
    """The vote, asked for in Python: what the compiled tally must agree with."""

    name = "votes"

    def share(self, scores, length, normalized):
        return RULES["vote"].share(scores, length, normalized)


@pytest.fixture(autouse=True)
def _registered():
    for rule in (Halfway, Shy, Votes):
        register_rule(rule)


def fitted(**parameters):
    return paper_perceptron(random_state=0, **parameters).fit(X, y)


def test_half_way_is_the_end_of_half_the_training():
    half = fitted(epochs=2, rule="last").decision_function(X)
    np.testing.assert_array_equal(fitted(epochs=4, rule="halfway").decision_function(X), half)


def test_shares_are_added_up_as_by_the_compiled_loops():
    model = fitted(epochs=3)
    np.testing.assert_array_equal(model.with_rule("votes").decision_function(X), model.decision_function(X))
    for _, scores in model.staged_decision_function(X, at=[0.5, 1, 3], rules=["vote", "votes", "average", "shy"]):
        np.testing.assert_array_equal(scores["vote"], scores["votes"])
        assert (np.abs(scores["shy"]) <= 1).all()


@pytest.mark.parametrize("rule", ["halfway", "shy"])
@pytest.mark.parametrize("compact", [False, True])
def test_files(rule, compact, tmp_path):
    model = fitted(rule=rule, normalize_vectors=True)
    scores, path = model.decision_function(X), tmp_path / "model.votron"
    (model.compact() if compact else model).save(path)
    np.testing.assert_allclose(load(path).decision_function(X), scores, rtol=1e-9, atol=1e-9)


def test_search_certificate_explanation_and_onnx():
    search = VotedPerceptronClassifierCV(["poly"], degrees=[2], rules=["halfway", "shy"], epochs=2, cv=3).fit(X, y)
    assert set(search.scores_) == {"halfway", "shy"}
    assert certify(fitted(rule="shy", gamma=1.0), X, y).best() is not None
    assert all(fitted(rule=rule).explain(X[:1])[0].sums for rule in ("halfway", "shy"))
    from votron.export import to_onnx

    assert to_onnx(fitted(rule="halfway")) is not None
    with pytest.raises(VotronError, match="shy"):
        to_onnx(fitted(rule="shy"))
