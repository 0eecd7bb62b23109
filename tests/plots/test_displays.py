"""Displays show what the model and scikit-learn say, on axes that are given or new ones."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import StandardScaler

from votron import VotedPerceptronClassifier, VotronError, plots
from votron.estimators import ClassifierPipeline

mpl.use("Agg")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    model = VotedPerceptronClassifier(random_state=0, epochs=4).fit(X[:700], y[:700])
    return model, X[1200:], y[1200:]


@pytest.fixture(scope="module")
def two_classes(digits):
    _, X, y = digits
    X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    return VotedPerceptronClassifier(random_state=0, epochs=2).fit(X[:60], y[:60]), X[60:], y[60:]


OF_ROWS = ("Rules", "Confusions", "Reliability", "Margins", "WrongImages")


@pytest.mark.parametrize("name", [*OF_ROWS, "Votes", "Mistakes", "SupportImages"])
def test_they_draw_on_new_axes_and_on_those_that_are_given(two_classes, name):
    model, X, y = two_classes
    data = (X, y) if name in OF_ROWS else (X[[0]],) if name == "Votes" else ()
    draw = getattr(plots, f"{name}Display").from_estimator
    shown = draw(model, *data)
    assert shown.ax_.figure is shown.figure_
    assert shown.ax_.get_title(loc="left")
    figure = Figure()
    ax = figure.subplots()
    shown = draw(model, *data, ax=ax)
    assert (shown.ax_, shown.figure_) == (ax, figure)
    assert ax.has_data() or ax.images


def test_rules_over_time_are_those_of_staged_scores(digits):
    model, X, y = digits
    shown = plots.RulesDisplay.from_estimator(model, X, y)
    for rule in ("vote", "average", "last"):
        assert shown.errors[rule][-1] == np.mean(model.with_rule(rule).predict(X) != y)
    assert shown.epochs[-1] == model.n_epochs_
    own = plots.RulesDisplay.from_estimator(model, X, y, at=[1, 2], rules=["vote", ("last", True)])
    assert own.epochs.tolist() == [1, 2]
    names = {text.get_text() for text in own.ax_.texts}
    assert {"vote", "last, normalised"} <= names


def test_votes_of_two_classes_are_opposite(two_classes):
    model, X, _ = two_classes
    shown = plots.VotesDisplay.from_estimator(model, X[[4]], at=[0.5, 2])
    np.testing.assert_array_equal(shown.votes[3], -shown.votes[8])
    assert shown.votes[8][-1] == pytest.approx(model.decision_function(X[[4]])[0])


def test_mistakes_are_counted_as_a_plain_loop_counts_them(digits):
    record = digits[0].record_
    shown = plots.MistakesDisplay.from_estimator(digits[0])
    for at in (0, 40, -1):
        until = [i for i, time in enumerate(record.time) if time <= round(shown.epochs[at] * record.n_examples)]
        assert shown.mistakes[at] == len(until)
        assert shown.support[at] == len({int(record.example[i]) for i in until})


def test_confusions_are_those_of_scikit_learn(digits):
    model, X, y = digits
    shown = plots.ConfusionsDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(shown.counts, confusion_matrix(y, model.predict(X)))
    many = np.arange(60)
    assert len(plots.ConfusionsDisplay.from_predictions(many, many).ax_.get_xticks()) <= 20


def test_reliability_has_all_rows_in_equal_parts(digits):
    model, X, y = digits
    p = model.predict_proba(X)
    shown = plots.ReliabilityDisplay.from_predictions(y, p, classes=model.classes_, n_bins=1)
    assert shown.probability == pytest.approx([p.max(axis=1).mean()])
    assert shown.share == pytest.approx([model.score(X, y)])


def test_margins_tell_right_from_wrong(digits, two_classes):
    for model, X, y in (digits, two_classes):
        margins = plots.MarginsDisplay.from_estimator(model, X, y).margins
        clear = margins != 0
        np.testing.assert_array_equal(margins[clear] > 0, (model.predict(X) == y)[clear])
    model, X, y = two_classes
    signed = np.where(y == 8, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(plots.MarginsDisplay.from_estimator(model, X, y).margins, signed)


def test_support_images_have_their_labels_and_their_mistakes(digits):
    X, y = load_digits(return_X_y=True)
    model = digits[0]
    shown = plots.SupportImagesDisplay.from_estimator(model, n=12)
    for image, label, n in zip(shown.images, shown.labels, shown.mistakes, strict=True):
        rows = np.flatnonzero((X[:700] == image.reshape(-1)).all(axis=1))
        assert str(y[rows[0]]) == label
        assert n == np.isin(model.record_.example, rows).sum()


def test_wrong_images_are_the_wrong_ones_worst_first(digits):
    model, X, y = digits
    shown = plots.WrongImagesDisplay.from_estimator(model, X, y, n=3)
    given = model.predict(X)
    assert (len(shown.images), shown.n_wrong) == (3, int((given != y).sum()))
    margins = plots.MarginsDisplay.from_estimator(model, X, y).margins
    worst = int(margins.argmin())
    np.testing.assert_array_equal(shown.images[0], X[worst].reshape(8, 8))
    in_frame = plots.WrongImagesDisplay.from_estimator(model, pd.DataFrame(X), y, n=3)
    np.testing.assert_array_equal(in_frame.images, shown.images)
    assert (shown.true[0], shown.given[0]) == (y[worst], given[worst])
    with pytest.raises(VotronError, match="as many pixels as rows have features, 3"):
        plots.WrongImagesDisplay.from_predictions([0], [1], np.ones((1, 3)))


def test_colours_and_pipelines(two_classes):
    _, X, y = two_classes
    coloured = np.linspace(0, 255, 2 * 48).reshape(2, 48)
    shown = plots.WrongImagesDisplay.from_predictions(["a", "b"], ["b", "a"], coloured, image_shape=(4, 4, 3))
    assert shown.images.shape == (2, 4, 4, 3)
    steps = [("scale", StandardScaler()), ("model", VotedPerceptronClassifier(random_state=0))]
    model = ClassifierPipeline(steps).fit(X, y)
    assert plots.RulesDisplay.from_estimator(model, X, y).errors["vote"][-1] == 1 - model.score(X, y)


def test_one_row_is_one_row(digits):
    model, X, _ = digits
    with pytest.raises(VotronError, match=r"shows one row, as in X\[\[7\]\]. Got 2 rows instead"):
        plots.VotesDisplay.from_estimator(model, X[:2])


def test_matplotlib_is_imported_when_something_is_drawn():
    ask = (
        "import sys; sys.modules['matplotlib'] = None; from votron.plots import MarginsDisplay\n"
        "try: MarginsDisplay.from_predictions([0, 1], [-1, 1])\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == 'Drawing needs matplotlib: pip install "votron[plot]".\n'
