"""Where data come from: compressed files, standard input, pipes, other encodings; and what is asked of them."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from PIL import Image

from votron.data import open_batches, read_examples


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


COMPRESSIONS = {"gzip": (".gz", gzip.compress), "bzip2": (".bz2", bz2.compress), "xz": (".xz", lzma.compress)}
CONTENTS = {
    "csv": ("a.csv", b"a,y\n1,0\n2,1\n", {"label": "y"}),
    "svmlight": ("a.svm", b"0 1:1\n1 1:2\n", {}),
    "npy": ("a.npy", npy(np.array([[1, 0], [2, 1]])), {"label": 1}),
    "npz": ("a.npz", npz(X=[[1], [2]], y=[0, 1]), {}),
}


@pytest.mark.parametrize("how", COMPRESSIONS)
@pytest.mark.parametrize("what", CONTENTS)
def test_compressed_files(write, refused, how, what):
    suffix, compress = COMPRESSIONS[how]
    name, content, options = CONTENTS[what]
    half = len(content) // 2
    for data in (compress(content), compress(content[:half]) + compress(content[half:])):  # also in two members
        for called in (name + suffix, name):  # also under a name that does not say
            found = read_examples(write(called, data), **options)
            assert np.asarray(found.X.to_numpy() if found.columns else found.X).tolist() == [[1], [2]]
            assert found.y.tolist() == [0, 1]
    refused(write(name + suffix, compress(content)[:-5]), f"The {how} compression of", "is damaged", **options)


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_compressed_files_do_not_expand_without_limit(write, refused, how):
    suffix, compress = COMPRESSIONS[how]
    path = write("a.csv" + suffix, compress(b"a,y\n" + b"1,0\n" * 500_000))
    refused(path, "expands to more than the 1 MiB that max_bytes allows", label="y", max_bytes=1 << 20)
    assert read_examples(path, label="y").n_rows == 500_000
    batches = open_batches(path, label="y", max_bytes=1 << 20, batch_bytes=100_000)  # of which one is kept
    assert sum(map(len, batches)) == 500_000


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_encodings(write, refused, encoding):
    text = "naïve,y\n" + "é,0\nb,1\n" * 300_000
    path = write("a.csv", text.encode(encoding))
    found = read_examples(path, label="y", encoding=encoding)
    assert (found.columns, found.n_rows, found.X["naïve"][0]) == (["naïve"], 600_000, "é")
    refused(path, "is not text in UTF-8", "encoding=", label="y")
    refused(write("a.csv", b"a,y\n\xff\xfe\x80,0\n"), "is not text in ascii", "encoding", label="y", encoding="ascii")


def test_options_of_tables_are_refused_for_other_data(write, refused):
    refused(write("a.svm", "1 1:2\n0 1:3\n"), "The option 'drop' is for tables", "leave it out", drop=["x"])


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(monkeypatch, refused, compress):
    data = b"a,y\n" + b"1,0\n2,1\n" * 200_000
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(data))))
    found = read_examples("-", label="y")
    assert (found.source, found.format, found.n_rows) == ("-", "csv", 400_000)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(data))))
    refused("-", "more than the 1 MiB that max_bytes allows", label="y", max_bytes=1 << 20)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(data))))
    batches = open_batches("-", label="y", batch_bytes=100_000)
    for _ in range(2):  # it is kept in a file
        assert sum(map(len, batches)) == 400_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("reader", [read_examples, lambda *args, **options: next(iter(open_batches(*args, **options)))])
@pytest.mark.parametrize("format", ["parquet", "arrow", "stream", "npz", "npy", "svm", "csv"])
def test_every_format_from_a_pipe(tmp_path, format, reader):
    frame, file = pl.DataFrame({"a": [1, 2], "y": [0, 1]}), io.BytesIO()
    if format in ("npz", "npy"):
        np.savez(file, X=[[1], [2]], y=[0, 1]) if format == "npz" else np.save(file, frame.to_numpy())
    elif format == "svm":
        file.write(b"0 1:1\n1 1:2\n")
    else:
        {"arrow": frame.write_ipc, "stream": frame.write_ipc_stream, "csv": frame.write_csv}.get(
            format, frame.write_parquet
        )(file)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(file.getvalue()))
    writer.start()
    options = {"label": {"npy": -1, "npz": None, "svm": None}.get(format, "y")}
    found = reader(tmp_path / "pipe", **options)
    writer.join()
    X = found.X.toarray() if sp.issparse(found.X) else found.X.to_numpy() if found.columns else found.X
    assert (X.tolist(), found.y.tolist()) == ([[1], [2]], [0, 1])


def test_files_that_cannot_be_read(tmp_path, refused):
    refused(tmp_path / "none.csv", "Cannot read", "No such file or directory", label="y")
    refused("", "The data must be a file", label="y")
    refused(3, "The data must be a file", "Got 3 instead", label="y")


FOREIGN = {
    "a.xlsx": (b"PK\3\4 workbook", "is a workbook: save the sheet as CSV"),
    "a.votron": (b"\x10\0\0\0\0\0\0\0" + b'{"__metadata__":{"votron":"{}"}}', "is a model file, not data"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_that_are_something_else_are_named(write, refused, name):
    content, sentence = FOREIGN[name]
    refused(write(name, content), sentence, label="y")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "some"),
        ("label_kind", "word"),
        ("missing", "mean"),
        ("format", "xls"),
        ("part", "third"),
        ("header", "yes"),
        ("columns", {"a": "colour"}),
        ("columns", ["a"]),
        ("columns", {5: "number"}),
        ("delimiter", ",,"),
        ("delimiter", "c"),
        ("delimiter", '"'),
        ("quote", "é"),
        ("encoding", "base64"),
        ("na_values", [5]),
        ("na_values", 5),
        ("as_text", [["a"]]),
        ("drop", 1.5),
        ("zero_based", 1),
        ("resize", (0, 0)),
        ("resize", 5),
        ("max_bytes", 0),
        ("n_features", -1),
        ("batch_bytes", 1.5),
    ],
)
def test_parameters(write, refused, name, value):
    refused(write("table.csv", "a,y\n1,0\n"), f"The '{name}' parameter of read_examples must", "Got", **{name: value})


def test_parameters_may_be_numpy_numbers_and_iterators(write):
    assert read_examples(write("a.svm", "1 1:1\n"), n_features=np.int64(3)).X.shape == (1, 3)
    found = read_examples(write("a.csv", "a,y\nx,1\n5,2\n"), label=-1, na_values=(one for one in "x"), missing="keep")
    assert found.X["a"].to_list() == [None, 5]


def test_what_is_not_installed_is_named(write, refused, tmp_path, monkeypatch):
    path = write("a.csv", "a,y\n1,0\n")
    (tmp_path / "images" / "c").mkdir(parents=True)
    Image.new("L", (2, 2)).save(tmp_path / "images" / "c" / "1.png")
    for module in ("polars", "PIL"):
        monkeypatch.setitem(sys.modules, module, None)
    refused(path, 'Reading tables needs polars: pip install "votron[files]".', label="y")
    refused(tmp_path / "images", 'Reading images needs pillow: pip install "votron[files]".')


def test_the_names_of_formats_load_little():
    code = """
import sys
from votron.data.formats import FORMATS
print(sorted({"polars", "sklearn", "PIL", "pandas"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
