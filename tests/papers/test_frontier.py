"""The frontier: what is measured is what was trained, and the command shows it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_perceptron
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from strategies import thorough

from votron import VotronError
from votron._util.plotting import pyplot
from votron.data import load_image_set
from votron.papers import _frontier_points, frontier
from votron.papers._frontier_points import (
    FEATURES,
    Point,
    Setting,
    measure,
    settings,
    validated,
    virtual_examples,
)
from votron.papers._one_vs_rest import images
from votron.papers.frontier import cells, draw, unbeaten
from votron.papers.images import Deskew, Shift, Thicken
from votron.papers.runs import RunStore

X, y, X_test, y_test = images()
SMALL = X[:300], y[:300], X_test[:200], y_test[:200]


@pytest.fixture(autouse=True)
def scikit_learns(monkeypatch):
    """The same numbers whether sklearnex is installed or not."""
    monkeypatch.setattr(_frontier_points, "fast_svc", lambda: None)
    monkeypatch.setattr(frontier, "fast_svc", lambda: None)


def as_features(features, images, training):
    """The rows that a kernel without division gets, as float64."""
    if features.startswith("deskewed"):
        images, training = Deskew().transform(images), Deskew().transform(training)
    if features.endswith("unit"):
        return normalize(images.astype(float))
    return images / np.sqrt((training.astype(float) ** 2).sum(axis=1).mean())


def errors(predicted, labels):
    return 100 * np.mean(predicted != labels)


@pytest.mark.slow
@pytest.mark.parametrize(("features", "degree"), list(itertools.product(FEATURES, [3, None])))
def test_both_learners_get_these_features_and_this_kernel(features, degree):
    """Trained by hand on rows that are scaled, not by the kernel: the same support vectors and errors."""
    setting = Setting(features=features, degree=degree, gamma=2.0, tau=0.1, epochs=3.0, seed=1)
    mine, theirs = measure([setting, Setting("SVC", features, degree, 2.0, C=3.0)], SMALL)
    rows, rows_test = as_features(features, SMALL[0], SMALL[0]), as_features(features, SMALL[2], SMALL[0])

    kernel = {"kernel": "rbf"} if degree is None else {"kernel": "poly", "degree": degree}
    model = paper_perceptron(**kernel, gamma=2.0, margin=0.1, epochs=3, random_state=1).fit(rows, SMALL[1])
    assert mine.n_support == len(model.support_)
    assert mine.errors == {
        rule: pytest.approx(errors(model.with_rule(rule).predict(rows_test), SMALL[3]))
        for rule in ("vote", "average", "last")
    }
    assert mine.error == mine.errors["vote"]

    machine = SVC(**kernel, gamma=2.0, coef0=1.0, C=3.0).fit(rows.astype(np.float32), SMALL[1])
    assert abs(theirs.n_support - len(machine.support_)) <= 2  # float32 rows, rounded differently
    assert theirs.error == pytest.approx(errors(machine.predict(rows_test.astype(np.float32)), SMALL[3]), abs=0.51)
    for point in (mine, theirs):
        assert point.n_examples == 300
        assert point.train_seconds > 0
        assert point.predict_seconds > 0


def test_the_second_round_is_on_the_support_vectors_and_their_copies():
    setting = Setting(features="unit", degree=4, gamma=1.0, tau=0.1, epochs=2.0, copies="shifts", first_tau=0.3)
    [both] = measure([setting], SMALL)
    rows = normalize(SMALL[0].astype(float))
    model = paper_perceptron(kernel="poly", degree=4, gamma=1.0, margin=0.3, epochs=10, random_state=0)
    support = model.fit(rows, SMALL[1]).support_
    model.set_params(margin=0.1, epochs=2)
    around = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    images = [SMALL[0][support], *(Shift(*by).transform(SMALL[0][support]) for by in around)]
    again = np.concatenate(images).astype(float)
    model.fit(normalize(again), np.tile(SMALL[1][support], 9))
    assert both.n_examples == 9 * len(support)
    assert both.n_support == len(model.support_)
    assert both.error == pytest.approx(errors(model.predict(normalize(SMALL[2].astype(float))), SMALL[3]))


def test_all_copies_are_made_of_the_images_before_and_after_deskewing():
    raw, labels = SMALL[0][:7], SMALL[1][:7]
    upright = Deskew().transform(raw)
    got, y_got = virtual_examples(upright, labels, raw, "all")
    around = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    parts = [upright, *(Shift(*by).transform(upright) for by in around)]
    parts += [Thicken(by).transform(upright) for by in (-1, 1)]
    parts += [Deskew(0.08, 0.7, seed).transform(raw) for seed in range(8)]
    assert np.array_equal(got, np.concatenate(parts))
    assert np.array_equal(y_got, np.tile(labels, 19))


def test_five_looks():
    [point] = measure([Setting(features="unit", degree=4, gamma=1.0, epochs=3.0, looks=True)], SMALL)
    rows = normalize(SMALL[0].astype(float))
    model = paper_perceptron(kernel="poly", degree=4, gamma=1.0, epochs=3, random_state=0).fit(rows, SMALL[1])
    scores = np.zeros((200, 10))
    for weight, *by in ((1, 0, 0), (0.25, 1, 0), (0.25, -1, 0), (0.25, 0, 1), (0.25, 0, -1)):
        images = Shift(*by).transform(SMALL[2])
        scores += weight * model.with_rule("average", True).decision_function(normalize(images.astype(float)))
    assert point.error == point.errors["looks"] == pytest.approx(errors(scores.argmax(axis=1), SMALL[3]))
    assert point.errors["vote"] == pytest.approx(errors(model.predict(normalize(SMALL[2].astype(float))), SMALL[3]))


def test_settings_that_cannot_be_run():
    with pytest.raises(VotronError, match="The 'looks' of a Setting are the perceptron's"):
        Setting("SVC", looks=True)
    for name in ("learner", "features", "copies", "rule"):
        with pytest.raises(VotronError, match=f"The '{name}' of a Setting must be one of .* Got 'x' instead"):
            Setting(**{name: "x"})
    with pytest.raises(VotronError, match="The copies 'all' are of deskewed images"):
        Setting(features="unit", copies="all")


def test_validation_uses_the_last_part_of_the_training_data_only():
    todo = [Setting(degree=1, epochs=1.0), Setting(degree=4)]
    best = validated(todo, X[:400], y[:400], n_held_out=100)
    assert [point.error for point in best] == sorted(point.error for point in best)
    by_hand = measure(todo, (X[:300], y[:300], X[300:400], y[300:400]))
    assert {p.setting: p.errors for p in best} == {p.setting: p.errors for p in by_hand}


def test_what_is_run():
    full, quick = settings(quick=False), settings(quick=True)
    assert len(set(full)) == len(full)
    assert len(set(quick)) == len(quick)
    for features in ("raw", "unit", "deskewed unit"):
        some = [s for s in full if s.features == features and s.learner == "perceptron" and s.copies == "none"]
        assert {(s.degree, s.tau > 0) for s in some} >= {(d, t) for d in [*range(2, 10), None] for t in (True, False)}
    kinds = {("perceptron", "none"), ("perceptron", "shifts"), ("perceptron", "all"), ("SVC", "none")}
    assert {(s.learner, s.copies) for s in full} == kinds
    assert {(s.learner, s.copies) for s in quick} == {*kinds, ("SVC", "shifts")}


@thorough(100)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_unbeaten(points):
    expected = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert unbeaten(points) == sorted(expected)


def made_up(n):
    rng = np.random.default_rng(0)
    learners = itertools.cycle([("perceptron", "none"), ("SVC", "none"), ("perceptron", "all"), ("SVC", "shifts")])
    for (learner, copies), error in zip(learners, rng.uniform(0.5, 3, n), strict=False):
        found = {"SVC": error} if learner == "SVC" else {"vote": error, "average": error + 0.1, "last": error + 0.5}
        features = str(rng.choice(FEATURES[2:] if copies == "all" else FEATURES))
        setting = Setting(learner, features, copies=copies)
        yield Point(setting, found, int(rng.integers(100, 9000)), 9000, rng.uniform(0.1, 90), 0.1)


def test_the_table_is_sorted_by_error():
    points = list(made_up(13))
    head, *rows = cells(points)
    assert {len(row) for row in rows} == {len(head)}
    shown = [float(row[head.index("error %")]) for row in rows]
    assert shown == sorted(shown)
    assert len(rows) == 13
    assert {row[head.index("average")] == "" for row in rows if row[0] == "SVC"} == {True}


@pytest.mark.parametrize("published", [None, frontier.PUBLISHED])
def test_labels_of_the_figure_do_not_overlap(published):
    figure = draw(list(made_up(24)), "digits", published)
    try:
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        for axes in figure.axes:
            texts = [t for t in [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()] if t.get_text()]
            boxes = [text.get_window_extent(renderer) for text in texts if text.get_visible()]
            for one, other in itertools.combinations(boxes, 2):
                assert not one.overlaps(other)
    finally:
        pyplot().close(figure)


def test_what_was_measured_is_kept(tmp_path, monkeypatch):
    few = [Setting(degree=2, epochs=1.0), Setting("SVC", degree=2)]
    monkeypatch.setattr(frontier, "settings", lambda quick: few)
    data, store = load_image_set("digits"), RunStore(tmp_path)
    found = frontier.explore(data, store, quiet=True)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    monkeypatch.setattr(_frontier_points, "_measured", lambda *args: pytest.fail("measured again"))
    assert frontier.explore(data, store, quiet=True) == found
    assert [row.name for row in found.table.rows] == [str(point.setting) for point in found.points]
    assert {len(row.cells) for row in found.table.rows} == {len(found.table.columns)}
    pyplot().close(found.figure())
    files[0].write_text("{}")
    monkeypatch.undo()
    monkeypatch.setattr(frontier, "settings", lambda quick: few)
    monkeypatch.setattr(_frontier_points, "fast_svc", lambda: None)
    again = frontier.explore(data, store, quiet=True)
    assert {p.setting: p.errors for p in again.points} == {p.setting: p.errors for p in found.points}


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    virtual = Setting(features="deskewed raw", degree=2, epochs=1.0, copies="all")
    few = [Setting(degree=2, epochs=1.0), Setting("SVC", degree=2), virtual]
    monkeypatch.setattr(frontier, "settings", lambda quick: few)
    assert frontier.main(["--out", str(tmp_path / "here" / "figure")]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split()[:3] == ["learner", "features", "kernel"]
    assert len(out.splitlines()) == 1 + 3 + 2
    assert [line.split(",")[1] for line in err.splitlines()] == [f" {done} of 3 settings" for done in range(4)]
    assert (tmp_path / "here" / "figure.svg").stat().st_size > 1000
    assert (tmp_path / "here" / "figure.png").stat().st_size > 1000


def test_the_command_without_data(tmp_path, capsys):
    assert frontier.main(["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "figure")]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "figure.svg").exists()
