"""Image sets are what they are said to be, wherever they came from."""

import gzip
import hashlib
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from requirements import requires
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from votron.data import load_image_set
from votron.data.formats import images as formats
from votron.errors import DataError

STEMS = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
N_TRAIN, N_TEST = 90, 30


def make_set(seed, shape=(28, 28)):
    """Return the content of the four files: images, labels, images, labels."""
    rng = np.random.default_rng(seed)
    pairs = [(rng.integers(0, 256, (n, *shape), np.uint8), rng.integers(0, 10, n)) for n in (N_TRAIN, N_TEST)]
    return [array.astype(np.uint8) for pair in pairs for array in pair]


def write_folder(folder, arrays, compress=False):
    folder.mkdir(parents=True, exist_ok=True)
    for stem, array in zip(STEMS, arrays, strict=True):
        content = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
        (folder / (f"{stem}.gz" if compress else stem)).write_bytes(gzip.compress(content, 1) if compress else content)
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


@pytest.fixture
def places(monkeypatch, tmp_path):
    """No set is on this machine; the cache is in a folder that goes away."""
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setitem(formats._FOLDERS, "fashion", (*formats._FOLDERS["fashion"][:-1], str(tmp_path / "debian")))
    monkeypatch.setattr(formats, "_N_TRAIN", N_TRAIN)
    return tmp_path


@pytest.fixture
def mnist(monkeypatch, places):
    """Return a small set that is MNIST for the test."""
    arrays = make_set(seed=1)
    monkeypatch.setitem(formats._DIGESTS, "mnist", plain_digest(arrays))
    return arrays


@pytest.fixture
def fashion(monkeypatch, places):
    arrays = make_set(seed=2)
    monkeypatch.setitem(formats._DIGESTS, "fashion", plain_digest(arrays))
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


def test_digits_are_scikit_learns():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=597, random_state=0, stratify=y)
    images = load_image_set("digits")
    assert images.X.dtype == images.X_test.dtype == np.uint8
    assert images.shape == (8, 8)
    for part, expected in zip((images.X, images.y, images.X_test, images.y_test), (X, y, X_test, y_test), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("compress", [False, True])
def test_any_folder(monkeypatch, places, compress):
    arrays = make_set(5, shape=(3, 5))
    write_folder(places / "mnist", arrays, compress)  # which is called so, and is not
    monkeypatch.chdir(places)
    assert_is(load_image_set("./mnist"), arrays)
    assert load_image_set("./mnist").name == "mnist-folder"
    with pytest.raises(DataError, match="'mnist' is not on this machine, and fetching it is switched off: set VOTRON"):
        load_image_set("mnist", fetch=False)
    (places / "mnist" / f"{STEMS[2]}{'.gz' * compress}").unlink()
    with pytest.raises(DataError, match=f"has no '{STEMS[2]}', plain or with"):
        load_image_set(Path("mnist"))
    with pytest.raises(DataError, match="The data must be 'digits'"):
        load_image_set("elsewhere")


@pytest.mark.parametrize("inside", [".", "fashion", "fashion-mnist", "../debian"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_known_set_in_votron_data(monkeypatch, places, fashion, inside, compress):
    write_folder(places / "data" / inside, fashion, compress)
    monkeypatch.setenv("VOTRON_DATA", str(places / "data"))
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


@requires(Path(formats._FOLDERS["fashion"][-1]).is_dir(), "Debian's package dataset-fashion-mnist")
def test_the_true_fashion_mnist(monkeypatch):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    images = load_image_set("fashion", fetch=False)
    assert images.X.shape == (60_000, 784)
    assert np.bincount(images.y).tolist() == [6000] * 10


def test_what_is_fetched_is_kept(places, openml, mnist):
    for fetch in (True, False):
        images = load_image_set("mnist", fetch=fetch)
        assert_is(images, mnist)
        assert images.source == f"the IDX files in '{places / 'home' / 'votron' / 'mnist'}'"
    assert openml.asked == 1


def test_what_cannot_be_fetched_is_said(places, openml, mnist):
    openml.arrays = [array.copy() for array in mnist]
    openml.arrays[2][-1, -1, -1] ^= 1
    with pytest.raises(DataError, match=r"^'mnist' is not on this machine, and what OpenML gave is another set"):
        load_image_set("mnist")
    openml.error = OSError("HTTP Error 404:\nNot Found")
    with pytest.raises(DataError, match=r"OpenML did not give it \(HTTP Error 404: Not Found\): set VOTRON_DATA"):
        load_image_set("mnist")


def test_a_cache_that_cannot_be_written_to(places, openml):
    (places / "home").touch()
    with pytest.raises(DataError, match=r"OpenML did not give it .*home"):
        load_image_set("mnist")
