"""Files that are not text tables: Parquet, Arrow, NumPy's, svmlight, IDX and folders of images."""

import bz2
import gzip
import io
import math
import struct

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from votron.data import load_image_set, open_batches, read_examples
from votron.errors import DataError

fixture_once = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)

# -- Parquet and Arrow ------------------------------------------------------------------------------------------------

COLUMNAR = ["parquet", "arrow", "stream"]


def write_columnar(frame, folder, format):
    path = folder / f"table.{'parquet' if format == 'parquet' else 'arrow'}"
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "stream": frame.write_ipc_stream}[format](path)
    return path


@pytest.mark.parametrize("format", COLUMNAR)
def test_parquet_and_arrow(tmp_path, refused, format):
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, math.nan, 1.5], "y": ["p", "q", "p"]})
    path = write_columnar(frame, tmp_path, format)
    found = read_examples(path, label="y", missing="drop")
    assert (found.X.rows(), found.y.tolist(), found.dropped) == ([(1, "x", 0.5), (3, "z", 1.5)], ["p", "p"], 1)
    refused(path, "the first is in row 2 (the first is 1), column 'b'", label="y")
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "Cannot read", label="y")


@pytest.mark.parametrize("format", COLUMNAR)
@pytest.mark.parametrize("in_batches", [False, True])
def test_the_hidden_index_of_pandas_is_left_out(tmp_path, format, in_batches):
    frame = pl.DataFrame({"a": [1, 2], "y": ["p", "q"], "__index_level_0__": [7, 3], "__index_level_1__": [1, 1]})
    path = write_columnar(frame, tmp_path, format)

    def read(**options):
        return next(iter(open_batches(path, **options))) if in_batches else read_examples(path, **options)

    found = read(label=-1)
    assert (found.columns, found.label) == (["a"], "y")
    assert "Left out of" in found.notes[0]
    assert "'__index_level_0__', '__index_level_1__', an index of pandas" in found.notes[0]
    index = "__index_level_0__"
    trained_with = read(label="y", columns={"a": "number", index: "number"})
    assert (trained_with.columns, trained_with.notes) == (["a", index], ())
    assert read(label="y", as_text=[index]).columns == ["a", index]
    assert read(label=index).y.tolist() == [7, 3]


def test_columns_of_a_model_in_parquet(tmp_path, refused):
    path = tmp_path / "table.parquet"
    pl.DataFrame({"zip": [8001, 9000], "size": ["1.5", "x"], "day": [None, "2024-01-31"]}).write_parquet(path)
    assert read_examples(path, labels="none", columns={"zip": "text"}).X["zip"].to_list() == ["8001", "9000"]
    refused(path, "'size'", "Got 'x' in row 2", labels="none", columns={"size": "number"})
    refused(path, "'zip'", "must hold true and false", "8001 in row 1", labels="none", columns={"zip": "truth"})
    refused(path, "'zip'", "must hold dates", "8001 in row 1", labels="none", columns={"zip": "date"})


def test_a_small_parquet_file_with_many_rows(tmp_path, refused):
    path = tmp_path / "bomb.parquet"
    pl.DataFrame({"a": np.zeros(2_000_000), "y": np.zeros(2_000_000, dtype=np.int8)}).write_parquet(path)
    refused(path, "expands to more than the 1 MiB that max_bytes allows", label="y", max_bytes=1 << 20)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_batches_of_long_texts_are_small(tmp_path, format):
    frame = pl.DataFrame({"t": [f"{i} " + "x" * 1000 for i in range(20_000)], "y": [i % 2 for i in range(20_000)]})
    batches = list(open_batches(write_columnar(frame, tmp_path, format), label="y", batch_bytes=1 << 20))
    assert max(batch.X.estimated_size() for batch in batches) < 2 << 20
    assert pl.concat([batch.X for batch in batches])["t"].to_list() == frame["t"].to_list()


# -- svmlight ---------------------------------------------------------------------------------------------------------


def textbook_svmlight(text):
    """Labels, and a dictionary of features a row."""
    labels, rows = [], []
    for line in text.splitlines():
        parts = line.split("#")[0].split()
        if parts:
            labels.append(float(parts[0]))
            rows.append({int(index): float(value) for index, value in (part.split(":") for part in parts[1:])})
    return labels, rows


numbers = st.one_of(
    st.integers(-99, 99).map(str), st.floats(-1e6, 1e6).map(repr), st.sampled_from(["+1", "-.5", "1e3", "2."])
)
lines = st.tuples(
    numbers, st.dictionaries(st.integers(1, 40), numbers, max_size=5), st.sampled_from(["", " # 1:x", "#"])
)


@given(st.lists(lines, min_size=1, max_size=8), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
@fixture_once
def test_svmlight(tmp_path, rows, zero_based, end):
    shift = 1 if zero_based else 0
    if zero_based:
        rows = [("1", {1: "5"}, ""), *rows]
    text = end.join(
        f"{label} {' '.join(f'{i - shift}:{v}' for i, v in sorted(features.items()))}{comment}"
        for label, features, comment in rows
    )
    path = tmp_path / "data.svm"
    path.write_bytes(text.encode())
    found = read_examples(path)
    labels, expected = textbook_svmlight(text)
    assert found.y.tolist() == labels
    assert found.zero_based is zero_based
    X = found.X.toarray() if sp.issparse(found.X) else found.X
    assert X.shape == (len(expected), max([1, *(index + shift for row in expected for index in row)]))
    for vector, row in zip(X, expected, strict=True):
        assert {i - shift + 1: v for i, v in enumerate(vector) if v} == {i: v for i, v in row.items() if v}


BAD_LINES = {
    "no label": ("1:2 2:3", "Line 4 of"),
    "words": ("spam 1:2", "Got 'spam 1:2' instead"),
    "infinite label": ("1e999 1:2", "must be finite"),
    "no colon": ("1 1:2 7", "Line 4 of"),
    "negative": ("1 -1:2", "Line 4 of"),
    "no value": ("1 1: 2", "Line 4 of"),
    "NaN": ("1 1:nan", "must be finite numbers. Got nan in row 2"),
    "order": ("1 3:1 2:1", "Line 4 of"),
    "huge": ("1 1000000000000:1", "Line 4 of"),
    "NUL": ("1 1:2 \0", "has the byte 0x00"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_of_svmlight(write, refused, case):
    line, words = BAD_LINES[case]
    refused(write("data.svm", f"1 1:1\n# comment\n\n{line}\n-1 1:1\n"), words)


def test_svmlight_is_recognised_by_its_first_line(write, refused):
    found = read_examples(write("a9a", "# heart\n+1 3:1 11:1\n-1 2:0.5\n"))
    assert (found.format, found.X.shape) == ("svmlight", (2, 11))
    refused(write("empty.svm", "# nothing\n"), "it has no examples")


def test_the_features_of_a_model(write, refused):
    path = write("data.svm", "1 1:1 4:1\n-1 2:3 9:1\n")
    found = read_examples(path, n_features=4)
    assert np.array_equal(found.X if not sp.issparse(found.X) else found.X.toarray(), [[1, 0, 0, 1], [0, 3, 0, 0]])
    assert "5 features of" in found.notes[0]
    assert read_examples(path, n_features=20).X.shape == (2, 20)
    assert read_examples(path, zero_based=True).X.shape == (2, 10)
    zero = write("zero.svm", "1 1:1\n1 0:1\n")
    refused(zero, "must be numbered from 1", zero_based=False)


def test_svmlight_is_dense_where_it_fits(write):
    dense = write("dense.svm", "".join(f"1 {' '.join(f'{i}:{i}' for i in range(1, 21))}\n" for _ in range(20)))
    assert isinstance(read_examples(dense).X, np.ndarray)
    assert sp.issparse(read_examples(dense, max_bytes=1000).X)
    wide = read_examples(write("wide.svm", "1 2147483646:1\n-1 1:1\n"))  # no memory for what is 0
    assert (sp.issparse(wide.X), wide.X.shape) == (True, (2, 2147483646))


# -- arrays -----------------------------------------------------------------------------------------------------------


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 0, 1])


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i2", "u1", "f2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(write, dtype, order):
    found = read_examples(write("data.npy", npy(np.asarray(X, dtype=dtype, order=order))), label=-1)
    expected = X.astype(dtype)
    assert np.array_equal(found.X, expected[:, :2])
    assert np.array_equal(found.y, expected[:, 2])
    assert found.X.dtype.isnative


def test_images_in_npy(write):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    found = read_examples(write("data.npy", npy(images)), labels="none")
    assert found.image_shape == (3, 4)
    assert np.array_equal(found.X, images.reshape(2, 12))


@pytest.mark.parametrize(
    ("arrays", "label"),
    [
        ({"X": X, "y": Y}, None),
        ({"data": X, "target": Y}, None),
        ({"M": X, "kind": Y}, "kind"),
        ({"X": X, "y": Y.astype("S1")}, None),
        ({"X": X, "y": Y[:, None]}, None),
        ({"X": X, "y": Y.astype(bool)}, None),
    ],
)
def test_npz(write, arrays, label):
    found = read_examples(write("data.npz", npz(**arrays)), label=label)
    assert np.array_equal(found.X, X)
    assert found.y.astype(np.int64).tolist() == Y.tolist()


def test_sparse_matrices_in_npz(write, refused):
    matrix = sp.random(5, 7, density=0.4, format="csr", random_state=0)
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    found = read_examples(write("data.npz", file.getvalue()), labels="optional")
    assert (matrix != found.X).nnz == 0
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")} | {"format": b"csr"}
    assert read_examples(write("data.npz", npz(**parts, y=np.arange(5)))).y.tolist() == [0, 1, 2, 3, 4]
    for name, value in {
        "indices": matrix.indices + 5,
        "indptr": matrix.indptr[::-1],
        "shape": (5, 2),
        "data": matrix.data[1:],
        "format": b"coo",
    }.items():
        refused(write("bad.npz", npz(**parts | {name: np.array(value)})), "Cannot read", labels="none")


BAD_ARRAYS = {
    "objects": ("a.npy", npy(np.array([[1, "a"]], dtype=object)), "holds Python objects, which only pickle"),
    "records": ("a.npy", npy(np.zeros(2, dtype=[("a", "f8")])), "must be numbers"),
    "text": ("a.npy", npy(X.astype(np.str_)), "The features in", "must be numbers"),
    "one dimension": ("a.npy", npy(X[0]), "in two dimensions or more"),
    "short": ("a.npy", npy(X)[:-1], "Cannot read"),
    "huge claim": ("a.npy", npy(X).replace(b"(4, 3)", b"(4" + b"0" * 15 + b", 3)"), "Unable to allocate"),
    "no header": ("a.npy", b"\x93NUMPY\1\0v\0" + b"(" * 118, "Cannot read"),
    "NaN": ("a.npy", npy(np.where(X == 7, np.nan, X)), "must be finite numbers. Got nan in row 3, column 2, instead"),
    "empty": ("a.npy", npy(X[:0]), "There must be examples and features"),
    "objects in npz": ("a.npz", npz(X=np.array([[1, "a"]], dtype=object)), "holds Python objects"),
    "cut zip": ("a.npz", npz(X=X)[:-30], "Cannot read"),
    "two matrices": ("a.npz", npz(A=X, B=X), "must have the features as 'X', or as its only matrix"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(write, refused, case):
    name, content, *words = BAD_ARRAYS[case]
    refused(write(name, content), *words, labels="none")


def test_labels_of_arrays(write, refused):
    refused(write("a.npy", npy(X)), "Say which column of", "-1 for the last one")
    refused(write("a.npy", npy(X)), "Say which column", "Got 3 for the shape (4, 3)", label=3)
    refused(write("a.npz", npz(X=X, y=Y[:3])), "There must be one label for each of the 4 examples of", "Got 3 instead")
    refused(write("a.npz", npz(X=X, z=Y)), "must have the labels as 'y', or say with label which array, of 'z'")
    refused(write("a.npz", npz(X=X, z=Y)), "the labels as 'q'", label="q")
    refused(write("a.npz", npz(X=X, y=Y + np.nan)), "The labels of", "must be finite")


def test_archives_do_not_expand_without_limit(write, refused):
    path = write("a.npz", npz(X=np.zeros((1000, 1000)), y=np.zeros(1000)))
    refused(path, "expands to more than the 1 MiB that max_bytes allows", max_bytes=1 << 20)
    assert read_examples(path).X.shape == (1000, 1000)


# -- IDX --------------------------------------------------------------------------------------------------------------

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def idx(array):
    header = bytes([0, 0, CODES[array.dtype.newbyteorder("=").str[1:]], array.ndim])
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


IMAGES = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
LABELS = Y.astype(np.uint8)


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 3)])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_idx_of_every_type(write, dtype, shape, compress):
    array = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
    found = read_examples(write("file", compress(idx(array))), labels="none")
    assert found.X.dtype == array.dtype
    assert np.array_equal(found.X, array.reshape(len(array), -1))


DAMAGED = {
    "another type": bytes([0, 0, 10, 1, 0, 0, 0, 1, 5]),
    "no dimension": bytes([0, 0, 8, 0, 0, 0, 0, 0]),
    "cut header": idx(IMAGES)[:9],
    "a byte missing": idx(IMAGES)[:-1],
    "a byte too many": idx(IMAGES) + b"x",
    "a huge promise": bytes([0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255, 0]),
    "no numbers": bytes([0, 0, 8, 2, 0, 0, 0, 0, 255, 255, 255, 255]),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_idx(write, refused, case):
    refused(write("file.idx", DAMAGED[case]), "must be an IDX file", labels="none")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_idx(write, refused, compress):
    path = write("train-images-idx3-ubyte" + (".gz" if compress is gzip.compress else ""), compress(idx(IMAGES)))
    refused(path, "Say which IDX file has the labels of")
    labels = write("train-labels-idx1-ubyte", idx(LABELS))
    for options in ({}, {"label": labels}, {"label": str(labels)}):
        found = read_examples(path, **options)
        assert np.array_equal(found.X, IMAGES.reshape(4, 6))
        assert (found.y.tolist(), found.image_shape, found.format) == ([0, 1, 0, 1], (3, 2), "idx")
    assert read_examples(path, labels="none").y is None
    write("train-labels-idx1-ubyte", idx(LABELS[:3]))
    refused(path, "a label for each of its examples. Got 4 x 3 x 2 numbers and 3 labels")


def test_a_folder_like_that_of_mnist(write, tmp_path):
    for part, images in (("train", IMAGES), ("t10k", IMAGES[:2])):
        write(f"set/{part}-images-idx3-ubyte", idx(images))
        write(f"set/{part}-labels-idx1-ubyte.gz", gzip.compress(idx(LABELS[: len(images)])))
    assert read_examples(tmp_path / "set").n_rows == 4
    assert read_examples(tmp_path / "set", part="test").n_rows == 2
    write("set/t10k-images-idx3-ubyte", idx(IMAGES[:2, :2]))
    with pytest.raises(DataError, match="Got 4 x 3 x 2 and 2 x 2 x 2 pixels"):
        load_image_set(tmp_path / "set")


@pytest.mark.parametrize("part", ["train", "test"])
def test_known_sets(part):
    digits = load_image_set("digits")
    found = read_examples("digits", part=part)
    assert np.array_equal(found.X, digits.X if part == "train" else digits.X_test)
    assert np.array_equal(found.y, digits.y if part == "train" else digits.y_test)
    assert found.image_shape == (8, 8)


# -- images -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.RandomState(0)
    pixels = {}
    for name in ("b/2.png", "a/1.png", "b/10.bmp", "a/3.gif", ".hidden/1.png"):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels[name] = rng.randint(0, 256, (3, 5)).astype(np.uint8)
        Image.fromarray(pixels[name]).save(path)
    (tmp_path / "pictures" / "a" / "note.txt").write_text("not an image")
    return tmp_path / "pictures", pixels


def test_images_in_folders(pictures, refused):
    folder, pixels = pictures
    (folder / "labels.csv").write_text("a,y\n1,0\n")
    found = read_examples(folder)
    expected = [pixels[name].ravel() for name in ("a/1.png", "a/3.gif", "b/10.bmp", "b/2.png")]
    assert found.y.tolist() == ["a", "a", "b", "b"]
    assert np.array_equal(found.X, expected)
    assert (found.image_shape, found.X.dtype, found.files[0]) == ((3, 5), np.uint8, "a/1.png")
    rgb = read_examples(folder, rgb=True)
    assert rgb.image_shape == (3, 5, 3)
    assert np.array_equal(rgb.X.reshape(4, 15, 3)[:, :, 0], expected)
    assert read_examples(folder, resize=(2, 4)).image_shape == (2, 4)
    refused(folder, "more than the 20 bytes that max_bytes allows", max_bytes=20)
    loose = read_examples(folder / "a", labels="optional")
    assert (loose.n_rows, loose.y) == (2, None)
    refused(folder / "a", "must be in folders called after their classes")


def test_folders_called_by_numbers(tmp_path):
    for name in ("0", "10", "9"):
        (tmp_path / name).mkdir()
        Image.new("L", (2, 2)).save(tmp_path / name / "1.png")
    assert sorted(read_examples(tmp_path).y.tolist()) == [0, 9, 10]
    (tmp_path / "9").rename(tmp_path / "09")
    assert sorted(read_examples(tmp_path).y.tolist()) == ["0", "09", "10"]


def test_bad_images(pictures, refused, monkeypatch):
    folder, _ = pictures
    odd = folder / "b" / "3.png"
    Image.new("L", (7, 3)).save(odd)
    refused(folder, "All images must be of one size", "1.png' of (3, 5) and", "3.png' of (3, 7) pixels instead")
    Image.new("I;16", (5, 3)).save(odd)
    refused(folder, "3.png': it must have 8 bits a channel")
    odd.write_bytes(b"no image")
    refused(folder, "Cannot read the image", "3.png'")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    refused(folder, "1.png': Image size", "exceeds limit")
    for path in folder.rglob("*.*"):
        if path.is_file():
            path.unlink()
    refused(folder, "There are no images")


def test_formats_where_they_do_not_belong(tmp_path, write, refused):
    refused(tmp_path, "Data of format 'csv' are read from a file. Got the folder", format="csv")
    path = write("a.csv", "a,y\n1,0\n")
    refused(path, "Images are read from a folder. Got the file", format="images")
    refused(path, "There are no parts of", label="y", part="test")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "part-0.parquet").write_bytes(b"")
    refused(tmp_path / "tables", "There are no images", label="y")
