"""Learners on the same folds: scores are those of plain cross-validation, and what goes wrong with one stays there."""

import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib import pyplot as plt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, VotronError, table_classifier
from votron.data import read_examples
from votron.evaluate import SCORES, Comparison, ComparisonRow, compare
from votron.plots import ComparisonDisplay

IRIS = load_iris(return_X_y=True)
TABLES = Path(__file__).parent.parent / "data" / "tables"


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the rows that it was given, of data whose first column is the number of the row."""

    def __init__(self, log=None):
        self.log = log

    def __sklearn_clone__(self):
        return Recorder(self.log)  # the same log

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.log.append(("fit", X[:, 0].tolist()))
        return self

    def predict(self, X):
        self.log.append(("predict", X[:, 0].tolist()))
        return np.full(len(X), self.classes_[0])


class Failing(ClassifierMixin, BaseEstimator):
    """Fails, or sends Ctrl-C, when it is trained."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y):
        if self.error == "Ctrl-C":
            signal.raise_signal(signal.SIGINT)
        raise ValueError(f"{self.error}\nand more")

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def folds_of(y, folds, repeats, seed=0):
    for k in range(repeats):
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed + k).split(np.zeros(len(y)), y)


def test_all_learners_have_the_same_folds():
    y = IRIS[1]
    X = np.column_stack([np.arange(len(y)), IRIS[0]])
    logs = {"one": [], "other": []}
    compare(X, y, {name: Recorder(log) for name, log in logs.items()}, folds=3, repeats=2, random_state=5)
    assert logs["one"] == logs["other"]
    fitted = [rows for what, rows in logs["one"] if what == "fit"]
    timed = [sorted(set(rows)) for what, rows in logs["one"] if what == "predict" and len(rows) >= 1000]
    expected = [(train.tolist(), test.tolist()) for train, test in folds_of(y, 3, 2, seed=5)]
    assert list(zip(fitted, timed, strict=True)) == expected


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer])
def test_scores_are_those_of_scikit_learn(score, data):
    X, y = data(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = compare(X, y, {"one": model}, score=score, folds=4, repeats=1).best.scores
    scoring = {"roc_auc": "roc_auc_ovr"}.get(score, score)
    assert found == pytest.approx(cross_val_score(model, X, y, cv=list(folds_of(y, 4, 1)), scoring=scoring))


def test_tables_go_through_the_recipe_of_training():
    data = read_examples(TABLES / "penguins.csv", label="Species", missing="keep", drop_unlabelled=True)
    found = compare(data.X, data.y, ["averaged"], encoding={"missing": "mean"}, folds=3, repeats=1)
    expected = []
    for train, test in folds_of(data.y, 3, 1):
        model = table_classifier(data.X, AveragedPerceptronClassifier(random_state=0), missing="mean")
        expected.append(model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test]))
    assert found.best.scores == pytest.approx(expected)
    assert found.n_rows == len(data.y)


def test_the_usual_candidates_on_a_real_table():
    data = read_examples(TABLES / "seattle-weather.csv", label="weather")
    found = compare(data.X, data.y, max_rows=300, folds=3, repeats=1)
    assert {"majority", "averaged", "voted", "voted-poly", "adatron"} == {row.name for row in found.rows}
    assert found.rows[-1].name == "majority"
    assert (found.n_rows, found.n_used) == (1461, 297)
    assert all(row.n_bytes > 100 for row in found.rows)


def rows_with_rare_classes(counts=(600, 360, 6, 2)):
    """Rows of classes a, b, c and d, in disorder, as frames have them; the first column numbers the rows."""
    y = np.random.RandomState(0).permutation(np.repeat(list("abcd")[: len(counts)], counts))
    return np.column_stack([np.arange(len(y)), np.arange(len(y)) % 7]), pd.Series(y, dtype=object)


def test_rare_classes_are_drawn():
    X, y = rows_with_rare_classes()
    logs = [[], [], []]
    for log, seed in zip(logs, (0, 0, 1), strict=True):
        found = compare(X, y, {"one": Recorder(log)}, max_rows=100, folds=3, repeats=1, random_state=seed)
        assert (found.n_rows, found.n_used) == (968, 103)
    drawn = [sorted({int(row) for what, rows in log if what == "predict" for row in rows}) for log in logs]
    assert y[drawn[0]].value_counts().to_dict() == {"a": 61, "b": 37, "c": 3, "d": 2}
    assert drawn[0] == drawn[1] != drawn[2]


def test_scikit_learns_take_text_and_sparse_rows():
    rng = np.random.RandomState(0)
    words = np.array(["rain wind", "sun sky", "goal team", "team wins game"])
    topics = np.array(["weather", "weather", "sport", "sport"])
    at = rng.randint(0, 4, 60)
    frame = pd.DataFrame({"text": words[at], "n": rng.normal(size=60)})
    found = compare(frame, topics[at], sklearn=True, encoding={"text": ["text"]}, folds=3, repeats=1)
    assert found.left_out == {}
    assert {"naive-bayes", "sgd", "logistic"} <= {row.name for row in found.rows}
    assert "boosting" not in {row.name for row in found.rows}
    sparse = sp.random_array((60, 30), density=0.2, rng=0, format="csr")
    named = compare(sparse, at % 2, ["boosting", "averaged"], folds=3, repeats=1)
    assert named.left_out == {}
    assert {row.estimator for row in named.rows} == {"HistGradientBoostingClassifier", "AveragedPerceptronClassifier"}


def test_one_that_fails_is_reported_and_the_rest_go_on():
    models = {"good": GaussianNB(), "bad": Failing("Cannot do it"), "majority": DummyClassifier()}
    found = compare(*IRIS, models, repeats=1)
    assert found.left_out == {"bad": "ValueError: Cannot do it and more."}
    assert [row.name for row in found.rows] == ["good", "majority"]
    assert "Left out: bad. ValueError: Cannot do it and more." in found.to_text()
    with pytest.raises(VotronError, match=r"No candidate could be compared\. bad: ValueError: Cannot do it"):
        compare(*IRIS, {"bad": Failing("Cannot do it")})


def noise(n=200):
    rng = np.random.RandomState(0)
    return rng.normal(size=(n, 5)), rng.randint(0, 2, n)


def stopping_at(n_fits):
    """A callback that sends Ctrl-C after so many fits."""

    def tell(done, total, name):
        if done == n_fits:
            signal.raise_signal(signal.SIGINT)

    return tell


@pytest.mark.parametrize(("n_fits", "names"), [(9, ["good"]), (19, ["good", "tree"])])
def test_ctrl_c_leaves_what_is_finished(n_fits, names):
    models = {"good": GaussianNB(), "tree": DecisionTreeClassifier(), "third": DummyClassifier()}
    found = compare(*IRIS, models, folds=4, callback=stopping_at(n_fits))
    assert found.stopped == "interrupted"
    assert {row.name for row in found.rows} == set(names)
    assert found.rows[0].scores == compare(*IRIS, {"good": GaussianNB()}, folds=4).best.scores
    assert found.left_out == dict.fromkeys(set(models) - set(names), "It was not finished.")
    assert "(interrupted)" in found.to_text()


def test_ctrl_c_ends_a_fit_of_ours_at_once():
    """Alone, it would keep what it has learnt so far."""
    endless = VotedPerceptronClassifier(kernel="linear", epochs=1e7)
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    found = compare(*noise(), {"majority": DummyClassifier(), "endless": endless}, folds=2, repeats=1)
    assert [row.name for row in found.rows] == ["majority"]
    with pytest.raises(KeyboardInterrupt):
        compare(*IRIS, {"stops": Failing("Ctrl-C")})


def test_time_is_checked_between_fits():
    fits = []

    def slowly(done, total, name):
        fits.append(name)
        time.sleep(1.0 if name == "late" else 0.0)

    models = {"good": GaussianNB(), "late": GaussianNB(), "later": GaussianNB()}
    found = compare(*IRIS, models, max_seconds=1.0, callback=slowly)
    assert found.stopped == "out of time"
    assert [row.name for row in found.rows] == ["good"]
    assert fits == ["good"] * 10 + ["late"]
    with pytest.raises(VotronError, match=r"No candidate could be compared\. good: It was not finished\."):
        compare(*IRIS, {"good": GaussianNB()}, max_seconds=1e-9)


def test_weights_count_in_training_and_in_the_score():
    X, y = IRIS
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0 + (y == 2))
    models = {"averaged": AveragedPerceptronClassifier(), "neighbours": KNeighborsClassifier()}
    found = compare(X, y, models, sample_weight=weight, folds=3, repeats=1)
    assert found.left_out == {"neighbours": "It takes no weights of rows."}
    assert found.n_used == 100
    kept = weight > 0
    Z, z, w = X[kept], y[kept], weight[kept]
    expected = []
    for train, test in folds_of(z, 3, 1):
        model = AveragedPerceptronClassifier(random_state=0).fit(Z[train], z[train], sample_weight=w[train])
        expected.append(np.average(model.predict(Z[test]) == z[test], weights=w[test]))
    assert found.best.scores == pytest.approx(expected)


def test_a_score_of_probabilities_leaves_out_those_without():
    found = compare(*IRIS, ["voted", "adatron", "majority"], score="neg_log_loss", folds=3, repeats=1)
    assert [row.name for row in found.rows] == ["voted", "majority"]
    assert set(found.left_out) == {"adatron"}
    assert found.best.score < 0 < found.difference("majority").low


def test_scores_of_pairs_are_no_scores_of_classes():
    models = {"pairs": make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")), "classes": SVC()}
    found = compare(*IRIS, models, score="roc_auc", folds=3, repeats=1)
    assert set(found.left_out) == {"pairs"}
    assert found.best.score > 0.9
    assert compare(*noise(100), models, score="roc_auc", folds=3, repeats=1).left_out == {}


def test_results_are_repeated_and_do_not_depend_on_the_others():
    alone = compare(*IRIS, ["voted"], repeats=1)
    [voted] = [row for row in compare(*IRIS, ["averaged", "voted", "majority"], repeats=1).rows if row.name == "voted"]
    assert voted.scores == alone.best.scores


def test_dict_is_json_and_records_are_a_frame():
    found = compare(*IRIS, ["averaged", "majority"], repeats=1)
    document = json.loads(json.dumps(found.to_dict()))
    assert document["best"] == "averaged"
    assert document["as_good"] == ["averaged"]
    frame = pd.DataFrame(found.records())
    assert frame.verdict.tolist() == ["best", "worse"]
    assert (frame.low <= frame.score).all()
    assert (frame.score <= frame.high).all()
    assert frame.behind_low[1] > 0


def test_no_better_than_the_majority():
    found = compare(*noise(), ["majority", "averaged"])
    assert found.baseline == "majority"
    assert len(found.summary()) == 2


@pytest.mark.parametrize(
    "given",
    [
        *({"score": "luck"}, {"folds": 51}, {"n_jobs": 0}, {"y": [1, 2]}),
        *({"estimators": ["nobody"]}, {"estimators": []}, {"estimators": {"a": 1}}),
    ],
)
def test_values_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=r"parameter of compare must|one label for each of the 150 rows"):
        compare(IRIS[0], given.pop("y", IRIS[1]), **given)


# -- the picture ------------------------------------------------------------------------------------------------------


def test_the_display_shows_the_numbers_of_the_result():
    found = compare(*IRIS, ["averaged", "voted", "majority"], repeats=1)
    figure, axes = plt.subplots(1, 2)
    shown = ComparisonDisplay(found).plot(axes[1])
    assert shown.figure_ is figure
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == [row.name for row in found.rows]
    assert shown.time_ax_.get_xscale() == "log"
    assert found.plot().ax_.get_xlabel() == "accuracy, %"
    plt.close("all")


@pytest.mark.parametrize(("far", "words"), [(0.1, "10.0"), (0.99, "99.0")])
def test_one_that_is_far_away_is_an_arrow_with_its_score(far, words):
    about = {"estimator": "Any", "train_seconds": (1.0,), "predict_seconds": (0.0,), "n_bytes": 1}
    scores = {"a": (0.59, 0.61, 0.60), "b": (0.58, 0.60, 0.59), "c": (far, far, far)}
    rows = sorted((ComparisonRow(name=n, scores=s, **about) for n, s in scores.items()), key=lambda row: row.name)
    found = Comparison(tuple(rows), "accuracy", {}, 3, 1, 0, 9000, 9000, 1)
    shown = found.plot()
    assert words in [text.get_text() for text in shown.ax_.texts]
    low, high = shown.ax_.get_xlim()
    assert 50 < low < 58 < 61 < high < 70
    plt.close("all")
