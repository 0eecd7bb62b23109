"""Explanations: shares as the textbook has them, which add up to the score, for every rule, kernel and classifier."""

import json
import math

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from strategies import thorough

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotronError,
    WinnowClassifier,
    explain,
    tabular_encoder,
)
from votron.explanations import strongest_features
from votron.kernels import PolynomialKernel

X, y = load_digits(return_X_y=True)
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 1.0},
    "poly 1": {"kernel": "poly", "degree": 1, "gamma": 2.0, "coef0": 3.0},
    "conjunction": {"kernel": "conjunction"},
}
RULES = ["vote", "average", "last", "random", "pocket"]


def textbook(model, row, rule):
    """Sums by hand, step by step: of each class the share of every example, and what the vectors add in each step."""
    record, rows = model.record_, model._vectors.support_rows
    K = {int(j): float(model.kernel_(rows[i : i + 1], row)[0, 0]) for i, j in enumerate(record.support)}
    alpha = [dict.fromkeys(K, 0.0) for _ in range(record.n_vectors)]
    total = [dict.fromkeys(K, 0.0) for _ in range(record.n_vectors)]
    votes, k = [[] for _ in range(record.n_vectors)], 0
    for time in range(1, record.n_steps + 1):
        while k < len(record) and record.time[k] == time:
            alpha[record.vector[k]][int(record.example[k])] += float(record.coefficient[k])
            k += 1
        for c in range(record.n_vectors):
            score = sum(a * K[j] for j, a in alpha[c].items())
            votes[c].append(1.0 if score >= 0 else -1.0)
            for j, a in alpha[c].items():
                total[c][j] += a
    chosen, divisor = (alpha, 1.0) if rule == "last" else (total, record.n_steps)
    return [{j: a * K[j] for j, a in each.items() if a} for each in chosen], divisor, votes


@st.composite
def small_models(draw):
    n_classes = draw(st.integers(2, 4))
    n = draw(st.integers(n_classes, 12))
    values = draw(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=n, max_size=n))
    rows = np.array(values, dtype=np.float64)
    labels = np.array([*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))][:n])
    rows[:, 0] = 1.0  # so that each row can be learnt
    sparse = draw(st.booleans())
    params = draw(st.sampled_from(sorted(KERNELS)))
    model = VotedPerceptronClassifier(**KERNELS[params], epochs=draw(st.integers(1, 3)), random_state=0)
    given = sp.csr_matrix(rows) if sparse else rows
    return model.fit(given, labels), given


@thorough(30)
@given(small_models(), st.sampled_from(["last", "average"]))
def test_shares_are_those_of_the_textbook_and_add_up_exactly(drawn, rule):
    model, rows = drawn
    model = model.with_rule(rule)
    scores = np.asarray(model.decision_function(rows)).reshape(rows.shape[0], -1)
    by_label = [model.explain(rows, label=label, top=None) for label in model.classes_.tolist()]
    for i in range(rows.shape[0]):
        expected, divisor, _ = textbook(model, rows[i : i + 1], rule)
        for c, explanations in enumerate(by_label):
            why = explanations[i]
            mine = expected[c] if len(expected) > 1 else expected[0]
            sign = -1 if len(expected) == 1 and c == 0 else 1
            assert {t.index: t.amount for t in why.examples.largest} == {j: sign * a for j, a in mine.items() if a}
            assert why.examples.divisor == divisor
            score = float(scores[i, c] if len(expected) > 1 else sign * scores[i, 0])
            assert why.examples.score == why.score
            assert why.score == (0.0 if abs(score) < 1e-300 else score)  # of two classes 0 is shown as 2.2e-308


@thorough(30)
@given(small_models())
def test_vectors_vote_as_in_the_textbook_and_their_votes_add_up_exactly(drawn):
    model, rows = drawn
    for i, why in enumerate(model.explain(rows, top=None)):
        _, n_steps, votes = textbook(model, rows[i : i + 1], "vote")
        for history in why.history:
            c = 0 if len(votes) == 1 else model.classes_.tolist().index(history.label)
            sign = -1 if len(votes) == 1 and why.label == model.classes_[0] else 1
            each = np.repeat(history.credits, history.survival)
            assert each.tolist() == [sign * vote for vote in votes[c]]
            assert history.score == sign * sum(votes[c]) / n_steps
        total = math.fsum(h.sign * float((h.credits * h.survival).sum()) for h in why.history) / n_steps
        assert total == pytest.approx(why.score, abs=1e-15)
        assert not why.examples.exact
        average = model.with_rule("average").explain(rows[i : i + 1], why.label, why.against, top=None)[0]
        assert why.examples.score == average.examples.score


@thorough(30)
@given(small_models(), st.sampled_from(RULES), st.booleans())
def test_sums_that_are_exact_have_the_models_score(drawn, rule, unit):
    model, rows = drawn
    model = model.with_rule(rule, unit)
    for why in model.explain(rows, top=1):
        for terms in why.sums:
            rest = sum(terms.others(side)[1] for side in (True, False))
            shown = sum(term.share for term in terms.largest) + terms.constant / terms.divisor
            assert rest + shown == pytest.approx(terms.score, abs=1e-9)
            if terms.exact:
                assert terms.score == pytest.approx(why.score, rel=1e-9, abs=1e-9)
        if why.history:
            assert sum(h.sign * h.score for h in why.history) == pytest.approx(why.score, abs=1e-12)
        assert why.predicted == model.predict(rows[why.row : why.row + 1])[0] == why.label


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf"},
        {"kernel": "precomputed"},
        {"degree": 3, "normalize_kernel": True},
        {"kernel": lambda a, b: (1 + a @ b.T) ** 2},
        {"class_weight": {0: 3.0}, "kernel": "linear"},
        {"rule": "holdout"},
    ],
)
def test_every_kernel_and_weights(params):
    rows = PolynomialKernel(2)(X[:150]) if params.get("kernel") == "precomputed" else X[:150]
    model = VotedPerceptronClassifier(**{"rule": "last", "random_state": 0, **params}).fit(rows, y[:150])
    for why in model.explain(rows[:5]):
        for terms in why.sums:
            assert not terms.exact or terms.score == pytest.approx(why.score, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        AveragedPerceptronClassifier(random_state=0),
        AveragedPerceptronClassifier(average=False, multiclass="joint", margin=1.0, random_state=0),
        KernelAdatronClassifier(kernel="poly", degree=2),
        NaiveBayesLinearClassifier(binarize=8),
        WinnowClassifier(binarize=8, random_state=0),
        VotedPerceptronClassifier(random_state=0),
        VotedPerceptronClassifier(kernel="linear", rule="average", random_state=0),
        VotedPerceptronClassifier(rule="random", normalize_vectors=True, random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_all_classifiers_and_their_compact_forms(model, n_classes):
    some = np.flatnonzero(y < n_classes)[:200]
    model.fit(X[some], y[some])
    for each in (model, model.compact()):
        scores = np.asarray(each.decision_function(X[some[:6]])).reshape(6, -1)
        for i, why in enumerate(each.explain(X[some[:6]], top=2)):
            ordered = np.sort(scores[i])
            assert why.score == pytest.approx(abs(scores[i, 0]) if n_classes == 2 else ordered[-1] - ordered[-2])
            for terms in why.sums:
                assert not terms.exact or terms.score == pytest.approx(why.score, rel=1e-7)
            assert why.sums


def test_a_class_that_is_asked_for_alone_and_against_another():
    model = VotedPerceptronClassifier(rule="last", random_state=0).fit(X[:300], y[:300])
    scores = model.decision_function(X[300:301])[0]
    (alone,) = model.explain(X[300:301], label=3)
    (pair,) = model.explain(X[300:301], label=3, against=5)
    assert (alone.against, pair.against, pair.label) == (None, 5, 3)
    assert alone.score == scores[3]
    assert pair.score == scores[3] - scores[5]
    assert alone.predicted == model.predict(X[300:301])[0]


@pytest.mark.parametrize(
    "arguments",
    [{"label": 11}, {"label": 1, "against": "x"}, {"against": 1}, {"label": 1, "against": 1}, {"top": -1}],
    ids=str,
)
def test_what_cannot_be_explained_is_refused(arguments):
    iris = load_iris(return_X_y=True)
    model = VotedPerceptronClassifier(random_state=0).fit(*iris)
    with pytest.raises(ValueError, match=r"must be|must differ|goes with"):
        model.explain(iris[0][:1], **arguments)


def test_tables_are_explained_by_the_names_of_columns_in_their_own_units():
    days = pl.DataFrame({"Outlook": ["Rainy", "Sunny", "Cloudy", "Sunny", "Rainy"], "Temp": [55, 80, 70, 85, 60]})
    linear = VotedPerceptronClassifier(kernel="linear", rule="average", random_state=0)
    model = make_pipeline(tabular_encoder(days, numeric="standard"), linear)
    model.fit(days, ["no", "yes", "yes", "yes", "no"])
    (why,) = explain(model, days[:1])
    features = {term.name: term.value for term in why.features.largest}
    assert features["Temp"] == pytest.approx(55)
    assert features["Outlook=Rainy"] == 1
    assert why.features.score == pytest.approx(why.score)
    examples = {term.index: term.about for term in why.examples.largest}
    assert all(f"Outlook = {days['Outlook'][row]}" in about for row, about in examples.items())


def test_features_that_are_not_named_are_numbered():
    model = AveragedPerceptronClassifier(random_state=0).fit([[0.0, 2.0], [1.0, 0.0]], [0, 1])
    assert {t.name for t in model.explain([[1.0, 1.0]])[0].features.largest} <= {"feature 0", "feature 1"}
    assert {t.name for t in model.explain([[1.0, 1.0]], first=1)[0].features.largest} <= {"feature 1", "feature 2"}


def test_rows_have_the_names_that_they_were_given():
    model = VotedPerceptronClassifier(rule="average", random_state=0).fit(X[:200], y[:200])
    model.name_rows([f"digit {i}" for i in range(200)])
    assert set(model.row_names_) == set(model.support_.tolist())
    for each in (model, model.compact(), model.with_rule("last")):
        (why,) = each.explain(X[7:8])
        assert all(term.name == f"digit {term.index}" for term in why.examples.largest)
    with pytest.raises(VotronError, match="Got 3"):
        model.name_rows(["a", "b", "c"])


@pytest.mark.parametrize("rows", [X[:300], sp.csr_matrix(X[:300])], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "params", [{"kernel": "linear"}, {"kernel": "poly", "degree": 1, "gamma": 0.5, "coef0": 2.0}], ids=str
)
@pytest.mark.parametrize("rule", ["last", "average", "pocket"])
def test_coefficients_of_linear_kernels(rows, params, rule):
    model = VotedPerceptronClassifier(rule=rule, random_state=0, **params).fit(rows, y[:300])
    np.testing.assert_allclose(
        rows @ model.coef_.T + model.intercept_, model.decision_function(rows), rtol=1e-9, atol=1e-6
    )


@pytest.mark.parametrize("params", [{"rule": "last"}, {"kernel": "linear"}])
def test_no_coefficients_without_weights(params):
    model = VotedPerceptronClassifier(random_state=0, **params).fit(X[:100], y[:100])
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=f"has no '{name}'"):
            getattr(model, name)
    assert strongest_features(model) is None


def test_the_strongest_features_are_those_with_the_largest_weights():
    model = VotedPerceptronClassifier(kernel="linear", rule="average", random_state=0).fit(X[:300], y[:300])
    found = strongest_features(model, 3)
    assert list(found) == list(range(10))
    for c, features in found.items():
        order = np.argsort(-model.coef_[c], kind="stable")[:3]
        assert features == [(f"feature {i}", float(model.coef_[c, i])) for i in order]


def test_explanations_print_and_convert():
    model = VotedPerceptronClassifier(kernel="linear", random_state=0).fit(X[:300], y[:300])
    found = model.explain(X[300:302], top=2)
    assert f"row 0: {found[0].label} rather than {found[0].against}" in str(found)
    frame = found.to_frame()
    sums = frame[frame["kind"] == "features"].groupby("row")["share"].sum()
    np.testing.assert_allclose(sums.to_numpy(), [why.features.score for why in found])
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [each["label"] for each in document["rows"]] == model.predict(X[300:302]).tolist()
    assert len(found[:1]) == 1


@pytest.mark.parametrize("params", [{}, {"kernel": "linear", "rule": "last"}], ids=str)
def test_pictures_show_terms_and_images(params):
    from matplotlib import pyplot as plt

    model = VotedPerceptronClassifier(random_state=0, **params).fit(X[:300], y[:300])
    (why,) = model.explain(X[300:301], top=3)
    _, ax = plt.subplots()
    assert why.plot(ax, image_shape=(4, 16)) is ax
    assert len(ax.patches) == 6
    assert len(ax.artists) == 7  # six examples, and the row itself
    with pytest.raises(VotronError, match="64"):
        why.plot(image_shape=(3, 3))
    pixels = AveragedPerceptronClassifier(random_state=0).fit(X[:300], y[:300]).explain(X[300:301], top=None)[0].plot()
    assert len(pixels.images) == 2
    plt.close("all")
