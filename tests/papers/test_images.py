"""Images as rows: deskewing and shifting against their textbook versions, pixel by pixel."""

import math
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from strategies import thorough

from votron import VotronError
from votron.papers.images import EIGHT, FOUR, Deskew, Shift, Thicken, _moments, with_copies

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6))
TYPES = (np.uint8, np.int16, np.float32, np.float64)


def images(types=TYPES, least=0):
    return st.tuples(st.integers(1, 4), SIZES, st.sampled_from(types)).flatmap(
        lambda drawn: hnp.arrays(drawn[2], (drawn[0], *drawn[1]), elements=st.integers(least, 255))
    )


def flat(many):
    return many.reshape(len(many), -1)


def textbook_moments(image):
    """Mass, centre of mass and slant, by loops over the pixels; None without mass."""
    pixels = [(i, j, max(0.0, float(v))) for (i, j), v in np.ndenumerate(image)]
    mass = sum(m for _, _, m in pixels)
    if mass == 0:
        return None
    down, right = sum(i * m for i, _, m in pixels) / mass, sum(j * m for _, j, m in pixels) / mass
    spread = sum((i - down) ** 2 * m for i, _, m in pixels)
    covariance = sum((i - down) * (j - right) * m for i, j, m in pixels)
    return down, right, (covariance / spread if spread > 1e-9 * mass else 0.0)


def textbook_read(image, where):
    """Each new pixel (i, j) is read at where(i, j), by linear interpolation between four neighbours."""
    height, width = image.shape

    def pixel(i, j):
        return float(image[i, j]) if 0 <= i < height and 0 <= j < width else 0.0

    out = np.empty(image.shape)
    for i, j in np.ndindex(image.shape):
        at = where(i - (height - 1) / 2, j - (width - 1) / 2)
        low = [math.floor(part) for part in at]
        share = [part - floor for part, floor in zip(at, low, strict=True)]
        out[i, j] = sum(
            (share[0] if a else 1 - share[0]) * (share[1] if b else 1 - share[1]) * pixel(low[0] + a, low[1] + b)
            for a in (0, 1)
            for b in (0, 1)
        )
    return out


def textbook_deskew(image, spread=(0, 0, 0, 0), moved=(0, 0)):
    moments = textbook_moments(image)
    if moments is None:
        return np.array(image, dtype=float)
    down, right, slant = moments
    a, b, c, d = spread

    def where(lines, columns):
        i, j = lines - moved[0], columns - moved[1]
        i, j = i + a * i + b * j, j + c * i + d * j
        return down + i, right + slant * i + j

    return textbook_read(image, where)


def textbook_shift(image, down, right):
    out = np.zeros_like(image)
    for (i, j), value in np.ndenumerate(image):
        if 0 <= i + down < image.shape[0] and 0 <= j + right < image.shape[1]:
            out[i + down, j + right] = value
    return out


# -- deskewing --------------------------------------------------------------------------------------------------------


@thorough(150)
@given(images(least=0))
def test_deskew_is_the_textbooks(many):
    before = many.copy()
    got = Deskew(shape=many.shape[1:]).transform(flat(many)).reshape(many.shape)
    assert got.dtype == many.dtype
    assert np.array_equal(many, before)
    off = 0.5 + 1e-6 if many.dtype.kind in "iu" else 1e-3 if many.dtype == np.float32 else 1e-9
    for image, found in zip(many, got, strict=True):
        assert np.abs(textbook_deskew(image) - found).max() <= off


@thorough(60)
@given(images(types=(np.int16, np.float64), least=-255))
def test_values_below_zero_have_no_mass(many):
    got = Deskew(shape=many.shape[1:]).transform(flat(many)).reshape(many.shape)
    for image, found in zip(many, got, strict=True):
        assert np.abs(textbook_deskew(image) - found).max() <= 0.5 + 1e-6


@thorough(100)
@given(images(), st.floats(0, 0.3), st.floats(0, 2), st.integers(0, 2**31))
def test_what_is_left_askew_is_drawn_for_each_image(many, spread, shift, seed):
    got = Deskew(spread, shift, seed, many.shape[1:]).transform(flat(many)).reshape(many.shape)
    assert got.dtype == many.dtype
    for image, found in zip(many, got, strict=True):
        drawn = np.random.default_rng([seed, zlib.crc32(image.astype(np.float64).tobytes())]).standard_normal(6)
        expected = textbook_deskew(image, spread * drawn[:4], shift * drawn[4:])
        assert np.abs(expected - found).max() <= (0.5 + 1e-6 if many.dtype.kind in "iu" else 1e-3)


def test_the_map_of_an_image_is_not_fused_on_any_processor(monkeypatch):
    """Each product is rounded before it is added, as Python's numbers are."""
    many, maps = np.random.default_rng(0).random((200, 7, 9)), []
    monkeypatch.setattr(ndimage, "affine_transform", lambda image, *args, **_: maps.append(args) or image)
    Deskew(0.1, 0.7, shape=(7, 9)).transform(flat(many))
    _, centres, slants = _moments(many)
    for image, (matrix, offset), centre, slant in zip(many, maps, centres.tolist(), slants.tolist(), strict=True):
        drawn = np.random.default_rng([0, zlib.crc32(image.tobytes())]).standard_normal(6).tolist()
        first, second = [1.0 + 0.1 * drawn[0], 0.1 * drawn[1]], [0.1 * drawn[2], 1.0 + 0.1 * drawn[3]]
        second = [slant * a + b for a, b in zip(first, second, strict=True)]
        assert matrix.tolist() == [first, second]
        down, right = 3.0 + 0.7 * drawn[4], 4.0 + 0.7 * drawn[5]
        assert offset.tolist() == [
            at - (row[0] * down + row[1] * right) for at, row in zip(centre, (first, second), strict=True)
        ]


def test_another_seed_another_copy():
    many = np.random.default_rng(0).integers(0, 256, (5, 36), dtype=np.uint8)
    one, other = (Deskew(0.1, 0.7, seed).transform(many) for seed in (1, 2))
    assert (one != other).any(axis=1).all()


@thorough(40)
@given(images(types=(np.uint8, np.float64)), st.sampled_from([0.0, 0.1]))
def test_an_image_is_the_same_alone_and_among_others(many, spread):
    deskew = Deskew(spread, spread, shape=many.shape[1:])
    alone = np.concatenate([deskew.transform(row[None]) for row in flat(many)])
    assert np.array_equal(deskew.transform(flat(many)), alone)


@thorough(40)
@given(st.integers(0, 2**31 - 1), st.floats(-0.4, 0.4))
def test_a_slanted_stroke_stands_upright_in_the_centre(seed, slant):
    """Of images with room at the edges: afterwards the centre is the middle, and what is left of the slant is small."""
    rng = np.random.default_rng(seed)
    image = np.zeros((28, 28))
    top = rng.integers(6, 10)
    for i in range(top, top + 13):
        at = round(12 + slant * (i - top - 6))
        image[i, at : at + 3] = rng.integers(100, 256, 3)
    down, right, left = textbook_moments(Deskew().transform(image.reshape(1, -1)).reshape(28, 28))
    assert abs(down - 13.5) < 0.01
    assert abs(right - 13.5) < 0.01
    assert abs(left) < 0.01


def test_more_images_than_are_taken_at_once(monkeypatch):
    many = np.random.default_rng(0).integers(0, 256, (23, 36), dtype=np.uint8)
    expected = Deskew().transform(many)
    monkeypatch.setattr("votron.papers.images._AT_ONCE", 5)
    assert np.array_equal(Deskew().transform(many), expected)


def test_masses_that_overflow_in_sums():
    image = np.full((1, 9), 1e308)
    assert np.isfinite(Deskew().transform(image)).all()


# -- shifting ---------------------------------------------------------------------------------------------------------


@thorough(100)
@given(images(), st.integers(-7, 7), st.integers(-7, 7))
def test_shift_is_the_textbooks(many, down, right):
    got = Shift(down, right, many.shape[1:]).transform(flat(many))
    assert got.dtype == many.dtype
    assert np.array_equal(got, flat(np.array([textbook_shift(image, down, right) for image in many])))


@thorough(50)
@given(images(), st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=3))
def test_copies_are_shifts_with_the_same_labels(many, offsets):
    y = np.arange(len(many)) * 7
    got, labels = with_copies(flat(many), y, [Shift(*offset, many.shape[1:]) for offset in offsets])
    parts = [flat(many), *(flat(np.array([textbook_shift(image, *by) for image in many])) for by in offsets)]
    assert got.dtype == many.dtype
    assert np.array_equal(got, np.concatenate(parts))
    assert labels.tolist() == y.tolist() * (1 + len(offsets))


def test_four_and_eight_neighbours():
    around = {(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(0, 0)}
    assert sorted(EIGHT) == sorted(around)
    assert sorted(FOUR) == sorted(offset for offset in around if 0 in offset)


# -- thickness --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@thorough(60)
@given(images(), st.integers(-3, 3))
def test_thicken_takes_the_largest_or_smallest_of_a_square(many, by):
    got = Thicken(by, many.shape[1:]).transform(flat(many)).reshape(many.shape)
    assert got.dtype == many.dtype
    best, n = (max if by > 0 else min), abs(by)
    for image, found in zip(many, got, strict=True):
        around = np.pad(image, ((n, 0), (n, 0)))
        for i, j in np.ndindex(image.shape):
            assert found[i, j] == best(around[i : i + n + 1, j : j + n + 1].ravel())


# -- as scikit-learn's transformers -----------------------------------------------------------------------------------


class DeskewLines(Deskew):
    """The checks have rows of any length: each is an image of one line."""

    def _shape_of(self, n_pixels):
        return 1, n_pixels


class ShiftLines(Shift):
    def _shape_of(self, n_pixels):
        return 1, n_pixels


class ThickenLines(Thicken):
    def _shape_of(self, n_pixels):
        return 1, n_pixels


@pytest.mark.parametrize("transformer", [DeskewLines(), ShiftLines(right=1), DeskewLines(0.1, 0.5), ThickenLines()])
def test_check_estimator(transformer):
    results = check_estimator(transformer, on_skip=None)  # raises at the first failure
    assert len(results) > 30
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}


@pytest.mark.parametrize(
    "transformer", [Deskew(shape=(2, 3)), Shift(1, -1, (2, 3)), Deskew(0.1, 0.5, shape=(2, 3)), Thicken(1, (2, 3))]
)
def test_frames_names_and_no_fit(transformer):
    X = np.arange(12).reshape(2, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    expected = transformer.transform(X)
    fitted = clone(transformer).fit(frame)
    assert np.array_equal(fitted.transform(frame), expected)
    assert fitted.get_feature_names_out().tolist() == list("abcdef")


# -- bad input --------------------------------------------------------------------------------------------------------

X = np.zeros((3, 12))
BAD = {
    "shape of one": (
        lambda: Deskew(shape=(12,)).fit(X),
        "The 'shape' parameter of Deskew must be None or",
        "Got (12,) instead.",
    ),
    "shape of 0": (lambda: Deskew(shape=(12, 0)).fit(X), "two ints of at least 1. Got (12, 0) instead."),
    "shape of floats": (lambda: Shift(shape=(3.0, 4)).transform(X), "The 'shape' parameter of Shift must"),
    "shape of truth": (lambda: Shift(shape=(True, 12)).fit(X), "Got (True, 12) instead."),
    "not square": (lambda: Deskew().fit(X), "must be square where 'shape' is None", "Got 12 features instead."),
    "does not fit": (
        lambda: Shift(shape=(3, 5)).fit(X),
        "The 'shape' parameter of Shift must fit the images, of 12 features each. Got (3, 5) instead, which is 15.",
    ),
    "down": (lambda: Shift(0.5, 0, (3, 4)).fit(X), "The 'down' parameter of Shift must be an int. Got 0.5 instead."),
    "right": (lambda: Shift(0, None, (3, 4)).fit(X), "The 'right' parameter of Shift must be an int."),
    "NaN": (lambda: Deskew(shape=(3, 4)).transform(X + np.nan), "Input X contains NaN."),
    "sparse": (lambda: Deskew(shape=(3, 4)).fit(sp.csr_matrix(X)), "Sparse data was passed"),
    "by": (lambda: Thicken(0.5, (3, 4)).fit(X), "The 'by' parameter of Thicken must be an int. Got 0.5 instead."),
    "spread": (lambda: Deskew(-0.1, shape=(3, 4)).fit(X), "The 'spread' parameter of Deskew", "Got -0.1 instead."),
    "shift": (lambda: Deskew(shift=np.nan, shape=(3, 4)).fit(X), "must be a number of at least 0. Got nan instead."),
    "seed": (lambda: Deskew(seed=-1, shape=(3, 4)).fit(X), "must be an int of at least 0. Got -1 instead."),
    "no seed": (lambda: Deskew(seed=None, shape=(3, 4)).fit(X), "The 'seed' parameter of Deskew", "Got None instead."),
    "labels": (lambda: with_copies(X, [0] * 2, []), "one label for each. Got arrays of the shapes (3, 12) and (2,)"),
    "no matrix": (lambda: with_copies(X[0], [0], []), "takes a matrix of examples", "the shapes (12,) and (1,)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    act, *words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        act()
    for word in words:
        assert word in str(caught.value)
    if case not in ("NaN", "sparse"):  # scikit-learn's own words
        assert isinstance(caught.value, VotronError)
        assert "\n" not in str(caught.value)


def test_nothing_half_done_after_an_error():
    deskew = Deskew(shape=(3, 4)).fit(X)
    deskew.set_params(shape=(5, 5))
    before = dict(deskew.__dict__)
    with pytest.raises(VotronError, match="must fit the images, of 16 features each"):
        deskew.fit(np.zeros((2, 16)))
    assert deskew.__dict__ == before
    shift = Shift(down="x", shape=(3, 4))
    with pytest.raises(VotronError, match="The 'down' parameter of Shift"):
        shift.fit(X)
    assert not hasattr(shift, "n_features_in_")
