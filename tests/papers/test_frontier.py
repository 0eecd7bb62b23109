"""The frontier and the images it trains on: what is measured is what was trained, pixel by pixel."""

import itertools
import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from paper import paper_perceptron
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from strategies import thorough

from votron import VotronError
from votron.data import load_image_set
from votron.papers import frontier
from votron.papers.figures import PUBLISHED, unbeaten
from votron.papers.figures import frontier as draw
from votron.papers.frontier import Point, Setting, explore, measure
from votron.papers.images import deskew, shift, thicken
from votron.papers.runs import Store

FEATURES = ("raw", "unit", "deskewed raw", "deskewed unit")
DIGITS = load_image_set("digits")
SMALL = replace(DIGITS, X=DIGITS.X[:300], y=DIGITS.y[:300], X_test=DIGITS.X_test[:200], y_test=DIGITS.y_test[:200])
AROUND = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


@pytest.fixture(autouse=True)
def scikit_learns(monkeypatch):
    """The same numbers whether sklearnex is installed or not."""
    monkeypatch.setattr(frontier, "fast_svc", lambda: None)


# -- images, by loops over their pixels -------------------------------------------------------------------------------


def images(types=(np.uint8, np.int16, np.float32, np.float64), least=0):
    drawn = st.tuples(st.integers(1, 4), st.integers(1, 6), st.sampled_from(types))
    return drawn.flatmap(
        lambda d: hnp.arrays(d[2], (d[0], d[1], d[1]), elements=st.integers(0 if d[2] == np.uint8 else least, 255))
    )


def flat(many):
    return many.reshape(len(many), -1)


def textbook_moments(image):
    """Centre of mass and slant; None without mass."""
    pixels = [(i, j, max(0.0, float(v))) for (i, j), v in np.ndenumerate(image)]
    mass = sum(m for _, _, m in pixels)
    if mass == 0:
        return None
    down, right = sum(i * m for i, _, m in pixels) / mass, sum(j * m for _, j, m in pixels) / mass
    spread = sum((i - down) ** 2 * m for i, _, m in pixels)
    covariance = sum((i - down) * (j - right) * m for i, j, m in pixels)
    return down, right, (covariance / spread if spread > 1e-9 * mass else 0.0)


def textbook_deskew(image, spread=(0, 0, 0, 0), moved=(0, 0)):
    """Each new pixel is read by linear interpolation between four neighbours."""
    moments = textbook_moments(image)
    if moments is None:
        return np.array(image, dtype=float)
    (down, right, slant), (a, b, c, d), side = moments, spread, len(image)
    out = np.zeros(image.shape)
    for at in np.ndindex(image.shape):
        i, j = at[0] - (side - 1) / 2 - moved[0], at[1] - (side - 1) / 2 - moved[1]
        i, j = i + a * i + b * j, j + c * i + d * j
        i, j = down + i, right + slant * i + j
        for line, column in itertools.product((math.floor(i), math.floor(i) + 1), (math.floor(j), math.floor(j) + 1)):
            if 0 <= line < side and 0 <= column < side:
                out[at] += (1 - abs(i - line)) * (1 - abs(j - column)) * float(image[line, column])
    return out


@thorough(100)
@given(images(least=-20), st.sampled_from([(0.0, 0.0), (0.2, 1.5)]), st.integers(0, 2**31))
def test_deskew_is_the_textbooks(many, askew, seed):
    """Also where it leaves images askew: what is drawn for an image depends on the seed and the image alone."""
    before = many.copy()
    got = deskew(flat(many), spread=askew[0], offset=askew[1], seed=seed).reshape(many.shape)
    assert got.dtype == many.dtype
    assert np.array_equal(many, before)
    off = 0.5 + 1e-6 if many.dtype.kind in "iu" else 1e-3 if many.dtype == np.float32 else 1e-9
    for image, found in zip(many, got, strict=True):
        drawn = np.random.default_rng([seed, zlib.crc32(image.astype(np.float64).tobytes())]).standard_normal(6)
        expected = textbook_deskew(image, askew[0] * drawn[:4], askew[1] * drawn[4:])
        assert np.abs(expected - found).max() <= off


@thorough(60)
@given(images(), st.integers(-7, 7), st.integers(-7, 7))
def test_shift_is_the_textbooks(many, down, right):
    expected = np.zeros_like(many)
    for (n, i, j), value in np.ndenumerate(many):
        if 0 <= i + down < many.shape[1] and 0 <= j + right < many.shape[2]:
            expected[n, i + down, j + right] = value
    assert np.array_equal(shift(flat(many), down, right), flat(expected))


@thorough(60)
@given(images(), st.booleans())
def test_thicken_takes_the_largest_or_smallest_of_a_square(many, thinner):
    got = thicken(flat(many), thinner=thinner).reshape(many.shape)
    for (n, i, j), value in np.ndenumerate(got):
        square = [many[n, a, b] if a >= 0 and b >= 0 else 0 for a in (i - 1, i) for b in (j - 1, j)]
        assert value == (min(square) if thinner else max(square))


def test_images_that_are_not_square():
    with pytest.raises(VotronError, match=r"must be square\. Got rows of 12 pixels"):
        deskew(np.zeros((2, 12)))


# -- settings, trained by hand ----------------------------------------------------------------------------------------


def as_features(features, images, training):
    """The rows that a kernel without division gets, as float64."""
    if features.startswith("deskewed"):
        images, training = deskew(images), deskew(training)
    if features.endswith("unit"):
        return normalize(images.astype(float))
    return images / np.sqrt((training.astype(float) ** 2).sum(axis=1).mean())


def errors(predicted, labels):
    return 100 * np.mean(predicted != labels)


def measured(setting):
    upright = replace(SMALL, X=deskew(SMALL.X), X_test=deskew(SMALL.X_test))
    return measure(setting, upright if setting.deskewed else SMALL, SMALL.X)


@pytest.mark.slow
@pytest.mark.parametrize(("features", "degree"), list(itertools.product(FEATURES, [3, None])))
def test_both_learners_get_these_features_and_this_kernel(features, degree):
    """Trained by hand on rows that are scaled, not by the kernel: the same support vectors and errors."""
    mine = measured(Setting(features=features, degree=degree, gamma=2.0, tau=0.1, epochs=3.0))
    theirs = measured(Setting("SVC", features, degree, 2.0))
    rows, rows_test = as_features(features, SMALL.X, SMALL.X), as_features(features, SMALL.X_test, SMALL.X)

    kernel = {"kernel": "rbf"} if degree is None else {"kernel": "poly", "degree": degree}
    model = paper_perceptron(**kernel, gamma=2.0, margin=0.1, epochs=3, random_state=0).fit(rows, SMALL.y)
    assert mine.n_support == len(model.support_)
    assert mine.errors == {
        rule: pytest.approx(errors(model.with_rule(rule).predict(rows_test), SMALL.y_test))
        for rule in ("vote", "average", "last")
    }
    assert mine.error == mine.errors["vote"]

    machine = SVC(**kernel, gamma=2.0, coef0=1.0, C=10.0).fit(rows.astype(np.float32), SMALL.y)
    assert abs(theirs.n_support - len(machine.support_)) <= 2  # float32 rows, rounded differently
    assert theirs.error == pytest.approx(errors(machine.predict(rows_test.astype(np.float32)), SMALL.y_test), abs=0.51)
    assert mine.n_examples == theirs.n_examples == 300


@pytest.mark.parametrize("copies", ["shifts", "all"])
def test_the_second_round_is_on_the_support_vectors_and_their_copies(copies):
    setting = Setting(features="deskewed unit", degree=4, gamma=1.0, tau=0.1, epochs=2.0, copies=copies, first_tau=0.3)
    both, upright = measured(setting), deskew(SMALL.X)
    model = paper_perceptron(kernel="poly", degree=4, gamma=1.0, margin=0.3, epochs=10, random_state=0)
    support = model.fit(normalize(upright.astype(float)), SMALL.y).support_
    parts = [upright[support], *(shift(upright[support], *by) for by in AROUND)]
    if copies == "all":
        parts += [thicken(upright[support], thinner=thinner) for thinner in (True, False)]
        parts += [deskew(SMALL.X[support], spread=0.08, offset=0.7, seed=seed) for seed in range(8)]
    model.set_params(margin=0.1, epochs=2)
    model.fit(normalize(np.concatenate(parts).astype(float)), np.tile(SMALL.y[support], len(parts)))
    assert (both.n_examples, both.n_support) == (len(parts) * len(support), len(model.support_))
    expected = model.predict(normalize(deskew(SMALL.X_test).astype(float)))
    assert both.error == pytest.approx(errors(expected, SMALL.y_test))


def test_five_looks():
    point = measured(Setting(features="unit", degree=4, gamma=1.0, epochs=3.0, looks=True))
    rows = normalize(SMALL.X.astype(float))
    model = paper_perceptron(kernel="poly", degree=4, gamma=1.0, epochs=3, random_state=0).fit(rows, SMALL.y)
    scores = np.zeros((200, 10))
    for weight, *by in ((1, 0, 0), (0.25, 1, 0), (0.25, -1, 0), (0.25, 0, 1), (0.25, 0, -1)):
        rows = normalize(shift(SMALL.X_test, *by).astype(float))
        scores += weight * model.with_rule("average", True).decision_function(rows)
    assert point.error == point.errors["looks"] == pytest.approx(errors(scores.argmax(axis=1), SMALL.y_test))


def test_what_was_measured_is_kept(tmp_path, monkeypatch):
    few = [Setting(degree=2, epochs=1.0), Setting("SVC", degree=2)]
    monkeypatch.setattr(frontier, "settings", lambda quick: few)
    found = explore(DIGITS, Store(tmp_path), quiet=True)
    assert [point.setting for point in found] == few
    monkeypatch.setattr(frontier, "measure", lambda *args: pytest.fail("measured again"))
    assert explore(DIGITS, Store(tmp_path), quiet=True) == found


# -- the table and the figure -----------------------------------------------------------------------------------------


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
        setting = Setting(learner, str(rng.choice(FEATURES)), copies=copies)
        yield Point(setting, found, int(rng.integers(100, 9000)), 9000, rng.uniform(0.1, 90), 0.1)


@pytest.mark.parametrize("mnist", [True, False])
def test_labels_of_the_figure_do_not_overlap(mnist):
    figure = draw(list(made_up(24)), "digits", mnist=mnist)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        texts = [t for t in [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()] if t.get_text()]
        boxes = [text.get_window_extent(renderer) for text in texts if text.get_visible()]
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    shown = "".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert all((name in shown) is mnist for name in PUBLISHED)
