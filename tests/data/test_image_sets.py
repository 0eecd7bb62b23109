"""Image sets are what they are said to be, wherever they came from."""

import gzip
import hashlib
import re
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from requirements import requires
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from votron.data import load_image_set
from votron.data.formats import idx
from votron.errors import DataError

STEMS = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
SHAPE = (28, 28)
N_TRAIN, N_TEST = 90, 30


def make_set(seed, n_train=N_TRAIN, n_test=N_TEST, shape=SHAPE, n_classes=10):
    """Return the content of the four files: images, labels, images, labels."""
    rng = np.random.default_rng(seed)
    return [
        array
        for n in (n_train, n_test)
        for array in (rng.integers(0, 256, (n, *shape), np.uint8), rng.integers(0, n_classes, n).astype(np.uint8))
    ]


def write_folder(folder, arrays, compress=False):
    folder.mkdir(parents=True, exist_ok=True)
    for stem, array in zip(STEMS, arrays, strict=True):
        content = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
        if compress:
            (folder / f"{stem}.gz").write_bytes(gzip.compress(content, 1))
        else:
            (folder / stem).write_bytes(content)
    return folder


def plain_digest(arrays):
    X, y, X_test, y_test = arrays
    parts = [(len(X), X[0].size), (len(y),), (len(X_test), X[0].size), (len(y_test),)]
    labels = [struct.pack(f"<{len(part)}q", *part.tolist()) for part in (y, y_test)]
    content = [X.tobytes(), labels[0], X_test.tobytes(), labels[1]]
    return hashlib.sha256(b"".join(str(a).encode() + b for a, b in zip(parts, content, strict=True))).hexdigest()


def assert_is(images, arrays):
    X, y, X_test, y_test = arrays
    for pixels, expected in ((images.X, X), (images.X_test, X_test)):
        assert pixels.dtype == np.uint8
        np.testing.assert_array_equal(pixels, expected.reshape(len(expected), -1))
    for labels, expected in ((images.y, y), (images.y_test, y_test)):
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(labels, expected)
    assert images.shape == X.shape[1:]
    assert images.digest == plain_digest(arrays)


def assert_refused(which, *matches, **options):
    """One or two sentences on one line, with no other error shown beneath."""
    with pytest.raises(DataError) as caught:
        load_image_set(which, **options)
    message = str(caught.value)
    for match in matches:
        assert re.search(match, message), message
    assert "\n" not in message
    assert message.endswith(".")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return message


@pytest.fixture
def places(monkeypatch, tmp_path):
    """No set is on this machine; the cache is in a folder that goes away."""
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setitem(idx._FOLDERS, "fashion", (*idx._FOLDERS["fashion"][:-1], str(tmp_path / "debian")))
    monkeypatch.setattr(idx, "_N_TRAIN", N_TRAIN)
    return tmp_path


@pytest.fixture
def mnist(monkeypatch, places):
    """Return a small set that is MNIST for the test."""
    arrays = make_set(seed=1)
    monkeypatch.setitem(idx._DIGESTS, "mnist", plain_digest(arrays))
    return arrays


@pytest.fixture
def fashion(monkeypatch, places):
    arrays = make_set(seed=2)
    monkeypatch.setitem(idx._DIGESTS, "fashion", plain_digest(arrays))
    return arrays


@pytest.fixture
def openml(monkeypatch, mnist):
    """OpenML, which has that MNIST: `asked` counts what it was asked for, `error` is what it answers instead."""
    openml = SimpleNamespace(asked=0, error=None, arrays=mnist)

    def fetch_openml(name, **options):
        openml.asked += 1
        if openml.error is not None:
            raise openml.error
        assert (name, options["version"], options["as_frame"]) == ("mnist_784", 1, False)
        X = np.concatenate([openml.arrays[0], openml.arrays[2]]).reshape(N_TRAIN + N_TEST, -1)
        return X.astype(np.float64), np.concatenate([openml.arrays[1], openml.arrays[3]]).astype(str).astype(object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return openml


# Digits, and folders.


def test_digits_are_scikit_learns():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=597, random_state=0, stratify=y)
    images = load_image_set("digits")
    assert images.X.dtype == images.X_test.dtype == np.uint8
    assert images.shape == (8, 8)
    for part, expected in zip((images.X, images.y, images.X_test, images.y_test), (X, y, X_test, y_test), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    n_train=st.integers(1, 9),
    n_test=st.integers(1, 5),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    n_classes=st.integers(1, 256),
    compress=st.booleans(),
    as_text=st.booleans(),
)
def test_any_folder(tmp_path_factory, seed, n_train, n_test, shape, n_classes, compress, as_text):
    arrays = make_set(seed, n_train, n_test, shape, n_classes)
    folder = write_folder(tmp_path_factory.mktemp("sets") / "letters", arrays, compress)
    images = load_image_set(str(folder) if as_text else folder)
    assert_is(images, arrays)
    assert images.name == "letters"
    assert images.source == f"the IDX files in '{folder}'"


def test_a_folder_called_mnist_is_any_folder(monkeypatch, places):
    arrays = make_set(5)
    write_folder(places / "mnist", arrays)
    monkeypatch.chdir(places)
    assert_is(load_image_set("./mnist"), arrays)
    assert_is(load_image_set(Path("mnist")), arrays)
    assert_refused("mnist", "^'mnist' is not on this machine, and fetching it is switched off", fetch=False)


@pytest.mark.parametrize("stem", STEMS)
def test_a_folder_that_lacks_a_file_is_refused(tmp_path, stem):
    (write_folder(tmp_path, make_set(0)) / stem).unlink()
    assert_refused(tmp_path, rf"^The folder '.*' has no '{stem}', plain or with '.gz'")


# Known sets on this machine.


@pytest.mark.parametrize("inside", [".", "fashion", "fashion-mnist"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_known_set_in_votron_data(monkeypatch, places, fashion, inside, compress):
    write_folder(places / inside, fashion, compress)
    monkeypatch.setenv("VOTRON_DATA", str(places))
    images = load_image_set("fashion", fetch=False)
    assert_is(images, fashion)
    assert images.name == "fashion"


def test_sets_are_known_by_their_content(monkeypatch, places, mnist, fashion):
    """The file names are the same: a folder that has the other set is passed over."""
    write_folder(places, mnist)
    write_folder(places / "mnist", fashion)
    write_folder(places / "fashion-mnist", fashion)
    monkeypatch.setenv("VOTRON_DATA", str(places))
    assert_is(load_image_set("mnist", fetch=False), mnist)
    assert_is(load_image_set("fashion", fetch=False), fashion)


def test_debians_folder(monkeypatch, places, fashion):
    write_folder(Path(idx._FOLDERS["fashion"][-1]), fashion, compress=True)
    assert_is(load_image_set("fashion", fetch=False), fashion)


@requires(Path(idx._FOLDERS["fashion"][-1]).is_dir(), "Debian's package dataset-fashion-mnist")
def test_the_true_fashion_mnist(monkeypatch):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    images = load_image_set("fashion", fetch=False)
    assert images.X.shape == (60_000, 784)
    assert np.bincount(images.y).tolist() == [6000] * 10
    assert np.bincount(images.y_test).tolist() == [1000] * 10


# Known sets from OpenML.


def test_what_is_fetched_is_kept(places, openml, mnist):
    for fetch in (True, False):
        images = load_image_set("mnist", fetch=fetch)
        assert_is(images, mnist)
        assert images.source == f"the IDX files in '{places / 'home' / 'votron' / 'mnist'}'"
    assert openml.asked == 1


def test_another_set_is_not_mnist(places, openml, mnist):
    openml.arrays = [array.copy() for array in mnist]
    openml.arrays[2][-1, -1, -1] ^= 1
    assert_refused("mnist", "^'mnist' is not on this machine, and what OpenML gave is another set")
    openml.error = OSError("HTTP Error 404:\nNot Found")
    assert_refused("mnist", r"and OpenML did not give it \(HTTP Error 404: Not Found\): set VOTRON_DATA")


def test_without_fetching_openml_is_not_asked(monkeypatch, places, openml, mnist):
    assert_refused("mnist", "and fetching it is switched off: set VOTRON_DATA", fetch=False)
    monkeypatch.setenv("VOTRON_DATA", str(write_folder(places / "here", mnist)))
    assert_is(load_image_set("mnist"), mnist)
    assert openml.asked == 0


def test_a_cache_that_cannot_be_written_to(places, openml):
    (places / "home").touch()
    assert_refused("mnist", "OpenML did not give it .*home")
