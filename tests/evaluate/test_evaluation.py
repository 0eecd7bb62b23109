"""An evaluation counts what scikit-learn's metrics say of all rows, for any classifier, whatever the batches."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from votron import AveragedPerceptronClassifier, KernelAdatronClassifier, VotedPerceptronClassifier, VotronError
from votron.evaluate import Evaluation
from votron.evaluate.evaluation import clopper_pearson
from votron.evaluate.figures import EvaluationFigure

CLASSIFIERS = {
    "voted": VotedPerceptronClassifier(random_state=0),
    "averaged": AveragedPerceptronClassifier(random_state=0),
    "adatron": KernelAdatronClassifier(kernel="rbf", C=10.0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_iter=3),
    "ridge": RidgeClassifier(),
    "calibrated": CalibratedClassifierCV(LinearSVC()),
    "search": GridSearchCV(SVC(), {"C": [1.0]}, cv=2),
}


def evaluated(model, X, y, parts=1):
    found = Evaluation(model)
    for part in np.array_split(np.arange(len(y)), parts):
        found.add(X[part], y[part])
    return found


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer])
def test_numbers_are_scikit_learns(name, data):
    X, y = data(return_X_y=True)
    model = CLASSIFIERS[name].fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    found, predicted = evaluated(model, X, y, parts=3), model.predict(X)
    document = found.to_dict()
    assert document["error"] == pytest.approx(1 - model.score(X, y))
    assert document["confusion"] == confusion_matrix(y, predicted).tolist()
    assert document["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert document["macro_f1"] == pytest.approx(f1_score(y, predicted, average="macro"))
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        area = roc_auc_score(y, p if p.shape[1] > 2 else p[:, 1], multi_class="ovr")
        assert document["auc"] == pytest.approx(area, abs=1e-3)  # probabilities may round to 1, and tie
        assert document["log_loss"] == pytest.approx(log_loss(y, p), rel=1e-6)
    elif data is load_breast_cancer:
        assert document["auc"] == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    assert f"AUC {document['auc']:.4f}" in found.to_text()


def test_scores_of_pairs_have_no_area():
    X, y = load_iris(return_X_y=True)
    assert evaluated(SVC(decision_function_shape="ovo").fit(X, y), X, y).auc is None


def test_several_rules_need_a_record():
    X, y = load_iris(return_X_y=True)
    found = Evaluation(VotedPerceptronClassifier(random_state=0).fit(X[::2], y[::2]), all_rules=True)
    found.add(X[1::2], y[1::2])
    [vote] = [each for each in found.to_dict()["rules"] if (each["rule"], each["normalize_vectors"]) == ("vote", False)]
    assert vote["wrong"] == found.counts.wrong
    with pytest.raises(VotronError, match="Several rules are for models that keep their record"):
        Evaluation(RidgeClassifier().fit(X, y), all_rules=True)


def test_probabilities_that_are_off_everywhere_are_found():
    y = np.array(["no"] * 95 + ["yes"] * 5)
    X = np.zeros((100, 1))
    even = DummyClassifier(strategy="prior").fit(X, np.array(["no", "yes"])[np.arange(100) % 2])
    [gap] = evaluated(even, X, y).gaps()
    assert gap == ("yes", 0.5, 0.05)
    assert evaluated(DummyClassifier(strategy="prior").fit(X, y), X, y).gaps() == []


@pytest.mark.parametrize(("name", "titles"), [
    ("voted", {"Reliability", "ROC curve", "Precision and recall", "Rules over time"}),
    ("ridge", {"ROC curve", "Precision and recall"}),
])  # fmt: skip
def test_two_classes_have_curves(name, titles):
    X, y = load_breast_cancer(return_X_y=True)
    model = CLASSIFIERS[name].fit(X[::2], y[::2])
    found, page = evaluated(model, X, y), EvaluationFigure(model)
    if page.rules is not None:
        page.rules.add(X, y)
    figure = page.draw("heading", found)
    shown = {ax.get_title(loc="left"): ax for ax in figure.axes}
    assert set(shown) == {"Confusions", *titles}
    known, scores = found.ranking()
    assert f"area {roc_auc_score(known, scores):.4f}" in shown["ROC curve"].texts[0].get_text()


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (1, 1), (0, 50), (3, 50), (25, 50), (49, 50), (50, 50), (7, 1000)])
def test_the_interval_is_exact(wrong, n, confidence):
    """At its ends, as many errors and more, or as few and fewer, have just the probability that is allowed."""
    low, high = clopper_pearson(wrong, n, confidence)
    assert 0 <= low <= wrong / n <= high <= 1
    tail = (1 - confidence) / 2
    assert low == 0 if wrong == 0 else binom.sf(wrong - 1, n, low) == pytest.approx(tail)
    assert high == 1 if wrong == n else binom.cdf(wrong, n, high) == pytest.approx(tail)
