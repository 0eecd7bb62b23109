"""Writing examples: what is written is read again as it was, and svm-train reads it as well."""

import os
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from requirements import requires
from sklearn.datasets import load_svmlight_file

from votron.data import Examples, describe_examples, read_examples, write_examples
from votron.errors import DataError, VotronError

LABELS = {
    "whole": np.array([3, -1, 3, 0]),
    "text": np.array(["a", "b, c", "a", 'd"e']),
    "truth": np.array([True, False, True, True]),
    "real": np.array([0.1, 2.0, -3.5, 1e-7]),
    "none": None,
}
FRAME = pl.DataFrame(
    {
        "n": [1, 2, 300, 4],
        "r": [0.1, 1 / 3, -1e-17, 5e100],
        "w": ["x", "y, z", 'q"q', "a\nb"],
        "t": [True, False, True, True],
    }
)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
def test_tables(tmp_path, suffix, labels):
    y = LABELS[labels]
    path = tmp_path / f"table{suffix}"
    write_examples(Examples(FRAME, y, "csv", "given.csv", label="kind"), path)
    found = read_examples(path, label="kind", labels="optional")
    assert found.X.rows() == FRAME.rows()
    assert (found.y is None and y is None) or (found.y.tolist() == y.tolist() and found.y.dtype.kind == y.dtype.kind)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".svm"])
def test_arrays(tmp_path, suffix, sparse, labels):
    y = LABELS[labels]
    X = np.array([[0, 1 / 3, 0], [1e-300, 0, 0], [0, 0, 0], [-7, 1e22, 0]])
    path = tmp_path / f"data{suffix}"
    examples = Examples(sp.csr_matrix(X) if sparse else X, y, "npy", "given.npy")
    if suffix == ".svm" and labels == "text":
        with pytest.raises(DataError, match=r"Labels in svmlight are numbers\. Got 'a'"):
            write_examples(examples, path)
        assert not path.exists()
        return
    write_examples(examples, path)
    found = read_examples(path, label=None if suffix in (".npz", ".svm") else "label", labels="optional")
    assert np.array_equal(dense(found.X.to_numpy() if found.columns else found.X), X)
    if suffix == ".svm":
        expected = np.zeros(4) if y is None else np.where(y, 1, -1) if labels == "truth" else y
        assert found.y.tolist() == expected.tolist()
    else:
        assert (found.y is None and y is None) or found.y.tolist() == y.tolist()
    assert suffix != ".npz" or sp.issparse(found.X) is sparse


def test_images_keep_their_shape(tmp_path):
    digits = read_examples("digits")
    write_examples(digits, tmp_path / "digits.npz")
    found = read_examples(tmp_path / "digits.npz")
    assert (found.image_shape, found.X.dtype) == ((8, 8), np.uint8)
    assert np.array_equal(found.X, digits.X)
    assert np.array_equal(found.y, digits.y)


def test_the_last_feature_is_not_lost(tmp_path):
    X = sp.csr_matrix((np.array([1.0, 0.0]), np.array([0, 3]), np.array([0, 1, 2])), shape=(2, 4))
    write_examples(Examples(X, np.array([1, 2]), "npz", "given.npz"), tmp_path / "data.svm")
    assert X.nnz == 2  # what was given is as it was
    found = read_examples(tmp_path / "data.svm")
    assert np.array_equal(dense(found.X), [[1, 0, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint8, np.bool_, np.float32, np.float64])
def test_numbers_of_every_type_in_svmlight(tmp_path, dtype):
    top = 1 if dtype == np.bool_ else np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else np.finfo(dtype).max
    X = np.array([[top, 1], [0, 1]], dtype=dtype)
    write_examples(Examples(X, np.array([1, 2]), "npy", "given.npy"), tmp_path / "data.svm")
    assert np.array_equal(dense(read_examples(tmp_path / "data.svm").X), X.astype(np.float64))


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["01", "1", "001"], {}),
        (["'x'", "y", "z"], {}),
        (["'x'", "'y', 'z'", "'a"], {}),
        (["1", "2", "3"], {"as_text": ["a"]}),
        (["NA", "b", "?"], {"na_values": ()}),
        (["true", "True", "false"], {"as_text": ["a"]}),
        (["x\ry", '"', "a\n'b"], {}),
    ],
)
def test_texts_are_read_as_the_docstring_says(tmp_path, suffix, texts, options):
    path = tmp_path / f"table{suffix}"
    y = np.array(texts)
    write_examples(Examples(pl.DataFrame({"a": texts, "b": [1, 2, 3]}), y, "csv", "given.csv", label="y"), path)
    found = read_examples(path, label="y", label_kind="text", **options)
    assert found.X["a"].to_list() == texts
    assert found.X["b"].to_list() == [1, 2, 3]
    assert found.y.tolist() == texts


def test_columns_called_by_numbers(tmp_path):
    frame = pl.DataFrame({"1": [1, 2], "5": [3, 4]})
    write_examples(Examples(frame, None, "csv", "given.csv"), tmp_path / "table.csv")
    assert read_examples(tmp_path / "table.csv", labels="none", header=True).X.rows() == frame.rows()


rows = st.lists(st.lists(st.sampled_from([0.0, 1.0, -2.0, 0.1, 1e-9]), min_size=4, max_size=4), min_size=1, max_size=6)


@given(rows, st.lists(st.sampled_from([1, -1]), min_size=6, max_size=6))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
def test_svmlight_as_scikit_learn_reads_it(tmp_path, rows, labels):
    X, y = np.array(rows), np.array(labels[: len(rows)])
    path = tmp_path / "data.svm"
    write_examples(Examples(X, y, "npy", "given.npy"), path)
    found, labels = load_svmlight_file(os.fspath(path), zero_based=False)
    assert np.array_equal(found.toarray(), X)
    assert np.array_equal(labels, y)


@requires(shutil.which("svm-train") is not None, "svm-train, of Debian's package libsvm-tools,")
def test_svm_train_takes_it(tmp_path):
    digits = read_examples("digits")
    two = digits.y < 2
    write_examples(Examples(digits.X[two], digits.y[two], "npy", "two"), tmp_path / "data.svm")
    subprocess.run(["svm-train", "-q", "-t", "0", "data.svm", "model"], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["svm-predict", "data.svm", "model", "out"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert f"({two.sum()}/{two.sum()})" in said
    assert np.array_equal(np.loadtxt(tmp_path / "out"), digits.y[two])


def test_what_a_format_cannot_hold(tmp_path):
    words = Examples(FRAME, None, "csv", "given.csv")
    for suffix in (".svm", ".npz"):
        with pytest.raises(DataError, match=r"holds numbers alone, and column 'w' of 'given.csv' has texts"):
            write_examples(words, tmp_path / f"data{suffix}")
    holes = Examples(pl.DataFrame({"a": [1, None]}), None, "csv", "given.csv")
    with pytest.raises(DataError, match=r"column 'a' of 'given.csv' has texts or missing values"):
        write_examples(holes, tmp_path / "data.svm")
    wide = Examples(sp.csr_matrix((2, 2**30)), None, "svmlight", "wide.svm")
    with pytest.raises(DataError, match="is too large: write svmlight or npz"):
        write_examples(wide, tmp_path / "data.csv")
    with pytest.raises(VotronError, match="The 'format' parameter of write_examples must be one of"):
        write_examples(words, tmp_path / "data.xls")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"Cannot write '.*': "):
        write_examples(words, tmp_path / "file" / "data.csv")
    assert os.listdir(tmp_path) == ["file"]


def test_a_label_does_not_hide_a_column(tmp_path):
    X = pl.DataFrame({"label": [1, 2]})
    write_examples(Examples(X, np.array([5, 6]), "parquet", "a.parquet"), tmp_path / "a.csv")
    found = read_examples(tmp_path / "a.csv", label="label_")
    assert (found.X["label"].to_list(), found.y.tolist()) == ([1, 2], [5, 6])


# -- describing -------------------------------------------------------------------------------------------------------


def test_describing_a_table():
    X = pl.DataFrame({"n": [1, None, 3], "w": ["b", "a", "b"], "t": [True, None, False], "r": [0.5, 1.5, 1.0]})
    found = describe_examples(Examples(X, np.array(["p", "q", "p"]), "csv", "a.csv", label="y", dropped=2))
    assert (found["rows"], found["features"], found["dropped"], found["label"]) == (3, 4, 2, "y")
    assert found["classes"] == [{"label": "p", "count": 2}, {"label": "q", "count": 1}]
    assert found["columns"] == [
        {"name": "n", "kind": "number", "missing": 1, "distinct": 2, "min": 1, "max": 3, "mean": 2.0},
        {"name": "w", "kind": "text", "missing": 0, "distinct": 2, "values": ["b", "a"]},
        {"name": "t", "kind": "truth", "missing": 1, "distinct": 2},
        {"name": "r", "kind": "number", "missing": 0, "distinct": 3, "min": 0.5, "max": 1.5, "mean": 1.0},
    ]


@pytest.mark.parametrize("sparse", [False, True])
def test_describing_an_array(sparse):
    X = np.array([[0, 2, 0, 0], [-1, 0, 0, 0]])
    found = describe_examples(Examples(sp.csr_matrix(X) if sparse else X, None, "svmlight", "a.svm"))
    assert found["classes"] is None
    assert {key: found[key] for key in ("sparse", "density", "min", "max", "image_shape", "type")} == {
        "sparse": sparse,
        "density": 0.25,
        "min": -1,
        "max": 2,
        "image_shape": None,
        "type": "int64",
    }
