"""Image sets are what they are said to be, wherever they came from.

OpenML is played by a server on this machine, which answers scikit-learn's fetch_openml as the true one does.
"""

import gzip
import hashlib
import json
import re
import struct
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest
import sklearn.datasets._openml as sklearn_openml
from hypothesis import given
from hypothesis import strategies as st
from requirements import requires
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from votron.data import load_image_set
from votron.data.formats.image_sets import _KNOWN
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


# The server that plays OpenML.


class OpenML:
    """What the server has and how it behaves; `asked` are the paths asked for."""

    def __init__(self):
        self.asked = []
        self.encoding = "gzip"
        self.missing = None  # a path that gives 404
        self.cut = None  # bytes of the data that are sent, of those promised

    def offer(self, name, arrays, pixel=str):
        X = np.concatenate([arrays[0], arrays[2]]).reshape(N_TRAIN + N_TEST, -1)
        y = np.concatenate([arrays[1], arrays[3]])
        lines = [f"@RELATION {name}", *(f"@ATTRIBUTE pixel{i + 1} real" for i in range(X.shape[1]))]
        lines += ["@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}", "@DATA"]
        lines += [",".join([*map(pixel, row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
        self.name, self.n_pixels, self.arff = name, X.shape[1], "\n".join([*lines, ""]).encode()

    def features(self):
        flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        kinds = [(f"pixel{i + 1}", "numeric", "false") for i in range(self.n_pixels)] + [("class", "nominal", "true")]
        return [
            {"index": f"{i}", "name": name, "data_type": kind, "is_target": target, **flags}
            for i, (name, kind, target) in enumerate(kinds)
        ]

    def answer(self, path):
        """Return the JSON that belongs to a path, or the data, or None."""
        if path == f"/api/v1/json/data/list/data_name/{self.name.lower()}/limit/2/data_version/1":
            return {"data": {"dataset": [{"did": 554, "name": self.name, "version": 1, "status": "active"}]}}
        if path == "/api/v1/json/data/554":
            description = {"id": "554", "name": self.name, "version": "1", "description": "", "format": "ARFF"}
            place = {"status": "active", "file_id": "52667", "url": f"{self.root}/data/v1/download/52667"}
            checksum = {"md5_checksum": hashlib.md5(self.arff).hexdigest()}
            return {"data_set_description": description | place | checksum}
        if path == "/api/v1/json/data/features/554":
            return {"data_features": {"feature": self.features()}}
        if path == "/api/v1/json/data/qualities/554":
            quality = {"name": "NumberOfInstances", "value": f"{N_TRAIN + N_TEST}.0"}
            return {"data_qualities": {"quality": [quality]}}
        return self.arff if path == "/data/v1/download/52667" else None

    def downloads(self):
        return [path for path in self.asked if "/download/" in path]


def handler_of(openml):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            openml.asked.append(self.path)
            answer = openml.answer(self.path)
            if answer is None or (openml.missing and openml.missing in self.path):
                self.send_error(404)
                return
            data = isinstance(answer, bytes)
            body = answer if data else json.dumps(answer).encode()
            self.send_response(200)
            if openml.encoding == "gzip":
                body = gzip.compress(body, 1)
                self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", f"{len(body)}")
            if data:
                openml.sent = len(body)
            self.end_headers()
            self.wfile.write(body[: openml.cut] if data else body)

        def log_message(self, *args):
            pass

    return Handler


@pytest.fixture
def places(monkeypatch, tmp_path):
    """No set is on this machine; the cache is in a folder that goes away."""
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setitem(_KNOWN, "fashion", replace(_KNOWN["fashion"], debian=("dataset-fashion-mnist", tmp_path / "x")))
    return tmp_path


@pytest.fixture
def mnist(monkeypatch, places):
    """Return a small set that is MNIST for the test."""
    arrays = make_set(seed=1)
    known = replace(_KNOWN["mnist"], digest=plain_digest(arrays), n_train=N_TRAIN)
    monkeypatch.setitem(_KNOWN, "mnist", known)
    return arrays


@pytest.fixture
def fashion(monkeypatch, places):
    arrays = make_set(seed=2)
    known = replace(_KNOWN["fashion"], digest=plain_digest(arrays), n_train=N_TRAIN)
    monkeypatch.setitem(_KNOWN, "fashion", known)
    return arrays


@pytest.fixture
def openml(monkeypatch, mnist):
    """The server, which has that MNIST; `shut` ends it."""
    openml = OpenML()
    openml.offer("mnist_784", mnist)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(openml))
    server.daemon_threads = False  # server_close waits for them
    openml.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def shut():
        if thread.is_alive():
            server.shutdown()
            thread.join()
            server.server_close()

    openml.shut = shut
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(sklearn_openml, "time", SimpleNamespace(sleep=lambda seconds: None))  # between its retries
    for name, value in vars(sklearn_openml).copy().items():  # one prefix, or a prefix to each address
        if isinstance(value, str) and re.match(r"https://(www|api)\.openml\.org/", value):
            monkeypatch.setattr(sklearn_openml, name, re.sub(r"https://[^/]*", openml.root, value))
    yield openml
    shut()


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
    assert images.source == "the IDX files in the folder 'letters'"
    assert f"{n_train} images to train on, {n_test} to test with, of {shape[0]} x {shape[1]} pixels" in repr(images)


def test_a_folder_called_mnist_is_any_folder(monkeypatch, places):
    arrays = make_set(5)
    write_folder(places / "mnist", arrays)
    monkeypatch.chdir(places)
    assert_is(load_image_set("./mnist"), arrays)
    assert_is(load_image_set(Path("mnist")), arrays)
    assert_refused("mnist", "^MNIST is not on this machine, and fetching it is switched off", fetch=False)


@pytest.mark.parametrize("which", ["nowhere", "", None, 3, b"mnist", "Mnist"])
def test_what_is_no_set_is_refused(monkeypatch, tmp_path, which):
    monkeypatch.chdir(tmp_path)
    assert_refused(
        which, "The data must be 'digits', 'mnist', 'fashion' or a folder with the four IDX files of a set. Got"
    )


@pytest.mark.parametrize("stem", STEMS)
def test_a_folder_that_lacks_a_file_is_refused(tmp_path, stem):
    (write_folder(tmp_path, make_set(0)) / stem).unlink()
    assert_refused(tmp_path, rf"^The folder '.*' has no '{stem}': it must have the files '{STEMS[0]}', .* '.gz'")


# Known sets on this machine.


@pytest.mark.parametrize("inside", [".", "fashion", "fashion-mnist"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_known_set_in_votron_data(monkeypatch, places, fashion, inside, compress):
    write_folder(places / inside, fashion, compress)
    monkeypatch.setenv("VOTRON_DATA", str(places))
    images = load_image_set("fashion", fetch=False)
    assert_is(images, fashion)
    assert (images.name, images.source) == ("fashion", "the IDX files in VOTRON_DATA")


def test_sets_are_known_by_their_content(monkeypatch, places, mnist, fashion):
    """The file names are the same: a folder that has the other set is passed over."""
    write_folder(places, mnist)
    write_folder(places / "mnist", fashion)
    write_folder(places / "fashion-mnist", fashion)
    monkeypatch.setenv("VOTRON_DATA", str(places))
    assert_is(load_image_set("mnist", fetch=False), mnist)
    assert_is(load_image_set("fashion", fetch=False), fashion)


def test_votron_data_with_another_set_is_named_in_the_error(monkeypatch, places, mnist, fashion):
    monkeypatch.setenv("VOTRON_DATA", str(write_folder(places, mnist)))
    assert_refused(
        "fashion",
        rf"^Fashion-MNIST is not on this machine \('{places}' has the files of MNIST\), and fetching it is",
        f"set VOTRON_DATA to a folder with the files '{STEMS[0]}', .* or install Debian's package dataset-fashion",
        fetch=False,
    )
    write_folder(places, make_set(9))
    assert "Debian" not in assert_refused("mnist", rf"\('{places}' has the files of another set\)", fetch=False)


def test_debians_folder(monkeypatch, places, fashion):
    write_folder(_KNOWN["fashion"].debian[1], fashion, compress=True)
    images = load_image_set("fashion", fetch=False)
    assert_is(images, fashion)
    assert images.source == "Debian's package dataset-fashion-mnist"


@requires(_KNOWN["fashion"].debian[1].is_dir(), "Debian's package dataset-fashion-mnist")
def test_the_true_fashion_mnist(monkeypatch):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    images = load_image_set("fashion", fetch=False)
    assert images.X.shape == (60_000, 784)
    assert np.bincount(images.y).tolist() == [6000] * 10
    assert np.bincount(images.y_test).tolist() == [1000] * 10


# Known sets from OpenML.


@pytest.mark.parametrize("encoding", ["gzip", "none"])
def test_what_is_fetched_is_what_was_given(places, openml, mnist, encoding):
    openml.encoding = encoding
    images = load_image_set("mnist")
    assert_is(images, mnist)
    assert images.source == "OpenML's data set mnist_784, version 1"
    assert [path.name for path in (places / "home" / "votron").iterdir()] == ["mnist.npz"]
    assert not (places / "home" / "openml").exists()


@pytest.mark.parametrize("missing", ["/list/", "/download/"])
def test_what_is_not_found_is_not_kept(places, openml, missing):
    openml.missing = missing
    assert_refused("mnist", r"^MNIST is not on this machine, and OpenML did not give it \(.*404.*\): set VOTRON")
    assert not list((places / "home" / "votron").glob("*"))


@pytest.mark.parametrize("encoding", ["gzip", "none"])
def test_a_download_that_breaks_off_is_not_kept(places, openml, encoding):
    openml.cut, openml.encoding = 100_000, encoding
    assert_refused("mnist", r"OpenML did not give it \(.*\): set VOTRON_DATA")
    assert not list((places / "home" / "votron").glob("*"))


def test_the_second_time_it_comes_from_the_cache(places, openml, mnist):
    cache = places / "a" / "cache"
    load_image_set("mnist", cache=cache)
    openml.shut()
    images = load_image_set("mnist", cache=str(cache))
    assert_is(images, mnist)
    assert images.source == "OpenML's data set mnist_784, version 1, kept in the cache"
    assert_is(load_image_set("mnist", cache=cache, fetch=False), mnist)
    assert_refused("mnist", "OpenML did not give it", cache=places / "other")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:-100], id="truncated"),
        pytest.param(lambda content: content[:5000] + b"\xff" * 9 + content[5009:], id="garbage inside"),
        pytest.param(lambda content: b"not an archive", id="another file"),
    ],
)
def test_a_damaged_cache_is_made_again(places, openml, mnist, damage):
    load_image_set("mnist", cache=places)
    kept = places / "mnist.npz"
    content = kept.read_bytes()
    kept.write_bytes(damage(content))
    assert_refused("mnist", rf"\(the file '{kept}' is damaged\)", cache=places, fetch=False)
    assert_is(load_image_set("mnist", cache=places), mnist)
    assert len(openml.downloads()) == 2
    assert_is(load_image_set("mnist", cache=places, fetch=False), mnist)


def test_a_wrong_checksum_keeps_nothing(places, openml, mnist):
    other = [array.copy() for array in mnist]
    other[2][-1, -1, -1] ^= 1
    openml.offer("mnist_784", other)
    assert_refused(
        "mnist",
        "^What OpenML gave as mnist_784 is not MNIST, and was not kept: the SHA-256",
        f"must be {plain_digest(mnist)}. Got {plain_digest(other)} instead",
        cache=places / "cache",
    )
    assert not (places / "cache").exists()
    openml.offer("mnist_784", mnist)
    assert_is(load_image_set("mnist", cache=places / "cache"), mnist)


def test_no_server(places, openml):
    openml.shut()
    assert_refused(
        "mnist", r"OpenML did not give it \(.*Connection refused.*\): set VOTRON_DATA to a folder with the files"
    )


def test_without_fetching_the_network_is_not_used(places, openml):
    assert_refused("mnist", "and fetching it is switched off: set VOTRON_DATA", fetch=False)
    assert openml.asked == []


def test_threads_that_want_the_same_set_fetch_it_once(openml, mnist):
    sets = []
    threads = [threading.Thread(target=lambda: sets.append(load_image_set("mnist"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sets) == 3
    for images in sets:
        assert_is(images, mnist)
    assert len(openml.downloads()) == 1


def test_a_cache_that_cannot_be_written_to(places, openml, mnist):
    (places / "file").touch()
    with pytest.warns(UserWarning, match="'mnist' could not be kept in .* and will be fetched again") as caught:
        images = load_image_set("mnist", cache=places / "file")
    assert_is(images, mnist)
    assert caught[0].filename == __file__


def test_a_data_home_that_cannot_be_made(monkeypatch, places, mnist):
    (places / "file").touch()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(places / "file" / "home"))
    assert_refused("mnist", "^Cannot make scikit-learn's data home .*: set SCIKIT_LEARN_DATA or 'cache' to a folder")


def test_a_write_that_fails_leaves_the_cache_as_it_was(monkeypatch, places, openml, mnist):
    cache = places / "cache"
    cache.mkdir()
    (cache / "mnist.npz").write_bytes(b"damaged")

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        assert_is(load_image_set("mnist", cache=cache), mnist)
    assert [path.name for path in cache.iterdir()] == ["mnist.npz"]
    assert (cache / "mnist.npz").read_bytes() == b"damaged"


def test_the_server_of_these_tests_is_the_only_one(openml):
    """Should scikit-learn have its addresses elsewhere one day, this test says so."""
    openml.shut()
    with pytest.raises(URLError, match="Connection refused"):
        urlopen(openml.root)
    addresses = [
        value for value in vars(sklearn_openml).values() if isinstance(value, str) and value.startswith("http")
    ]
    assert addresses
    assert all(address.startswith(openml.root) for address in addresses)
