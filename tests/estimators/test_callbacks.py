"""Callbacks of scikit-learn: they hear of every epoch, and its progress bar works."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from paper import paper_averaged, paper_perceptron
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from votron import (
    KernelAdatronClassifier,
    WinnowClassifier,
    load,
)

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

X, y = load_iris(return_X_y=True)
FEATURES = np.hstack([X.mean(axis=0) < X, X.mean(axis=0) >= X]).astype(int)


class Heard:
    """A callback that writes down what it hears."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")

    def teardown(self, estimator, context):
        self.heard.append("teardown")


MODELS = [
    paper_perceptron(epochs=3, random_state=0),
    paper_perceptron("linear", epochs=3, random_state=0),
    paper_averaged(epochs=3, random_state=0),
    WinnowClassifier(epochs=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_they_hear_of_every_epoch(model):
    heard = Heard()
    model.set_callbacks(heard).fit(FEATURES, y)
    epochs = ["begin epoch", "end epoch"] * 3
    assert heard.heard == ["setup", "begin fit", *epochs, "end fit", "teardown"]
    assert not hasattr(model, "_callback_fit_ctx")


def test_part_of_an_epoch_and_more_data():
    heard = Heard()
    model = paper_perceptron(epochs=1.5, gamma=0.1, random_state=0).set_callbacks(heard).fit(X, y)
    assert heard.heard.count("end epoch") == 2
    model.set_callbacks(again := Heard()).partial_fit(X, y)
    assert again.heard.count("begin epoch") == again.heard.count("end epoch") == 1


def test_the_adatron_has_a_task_for_each_class():
    heard = Heard()
    KernelAdatronClassifier(C=10.0).set_callbacks(heard).fit(X, y)
    classes = ["begin class", "end class"] * 3
    assert heard.heard == ["setup", "begin fit", *classes, "end fit", "teardown"]


def test_nothing_else_changes(tmp_path):
    plain = paper_perceptron(random_state=0).fit(X, y)
    with_one = paper_perceptron(random_state=0).set_callbacks(Heard()).fit(X, y)
    assert with_one.record_.digest() == plain.record_.digest()
    with_one.save(tmp_path / "model.votron")
    for again in (load(tmp_path / "model.votron"), pickle.loads(pickle.dumps(with_one))):
        np.testing.assert_array_equal(again.decision_function(X), plain.decision_function(X))


def test_an_error_reaches_the_user_and_ends_what_was_begun():
    class Broken(Heard):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no more")

    heard = Broken()
    model = paper_perceptron(random_state=0).set_callbacks(heard)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, y)
    assert heard.heard[-1] == "teardown"
    assert model.set_callbacks().fit(X, y).score(X, y) > 0.9


def test_the_bar_of_scikit_learn(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    pytest.importorskip("rich", reason="scikit-learn's bar needs it")
    paper_perceptron(epochs=3, random_state=0).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "100%" in capsys.readouterr().out
    search = GridSearchCV(paper_perceptron(epochs=2, random_state=0), {"degree": [1, 2]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=1)).fit(X, y)
    out = capsys.readouterr().out
    assert out.count("VotedPerceptronClassifier") == 5  # four fits, and the one of the best


@pytest.mark.slow
def test_without_callbacks_in_scikit_learn():
    """As before 1.9: classifiers train, and have no set_callbacks."""
    code = (
        "import sys, sklearn.model_selection, sklearn.pipeline, sklearn.linear_model, sklearn.preprocessing\n"
        "sys.modules['sklearn.callback'] = None\n"
        "from votron import KernelAdatronClassifier, VotedPerceptronClassifier\n"
        "for model in (VotedPerceptronClassifier(), KernelAdatronClassifier()):\n"
        "    assert not hasattr(model, 'set_callbacks')\n"
        "    assert model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[1.0, 0.0]]).tolist() == [1]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
