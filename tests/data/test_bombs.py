"""Small files that expand to much: refused before they take much memory."""

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile

import numpy as np
import pytest
from memory_meter import measured, needs_proc

from votron.data import open_batches, read_examples, read_idx
from votron.data.formats import csv, svmlight
from votron.errors import DataError, VotronError

pytestmark = pytest.mark.slow  # processes, and files of some size

MB = 1 << 20
BLOCK = 2 * MB
N_BLOCKS = 240
FREE = 500 * MB
COMPRESSIONS = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=1),
}


def npy_header(shape, dtype="|u1"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def idx_header(*shape):
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)


def repeated(text, n=BLOCK):
    return text * (n // len(text))


# How a file begins, what it goes on with, again and again, how to read it, and what is said.
BOMBS = {
    "short.csv": (b"a,y\n", repeated(b"1,0\n"), {"label": "y"}, "80% of what is free: read it in batches"),
    "long.csv": (b"a,y\n", repeated(b"x" * 1000 + b",0\n"), {"label": "y"}, "80% of what is free: read it in batches"),
    "line.csv": (b"a,y\n1,", repeated(b"x"), {"label": "y"}, "on line 2 of"),
    "header.csv": (b"a,", repeated(b"x"), {"label": "y"}, "on line 1 of"),
    "quote.csv": (b'a,y\n1,"', repeated(b"x\n"), {"label": "y"}, "80% of what is free: read it in batches"),
    "empty.csv": (b"a,y\n", repeated(b","), {"label": "y"}, "of memory or more"),
    "a.svm": (b"1 1:1\n", repeated(b"1 1:1\n"), {}, "80% of what is free: read it in batches"),
    "line.svm": (b"1 1:1", repeated(b" "), {}, "80% of what is free: read it in batches"),
    "a.npy": (
        npy_header((N_BLOCKS * BLOCK // 8, 8)),
        bytes(BLOCK),
        {"labels": "none"},
        "free: expand it on disk and read it",
    ),
    "small.npy": (npy_header((100, 8)), bytes(BLOCK), {"labels": "none"}, "but the file goes on after them"),
    "a.idx": (idx_header(N_BLOCKS, BLOCK), bytes(BLOCK), {"labels": "none"}, "80% of what is free: read it in batches"),
    "small.idx": (idx_header(10, 8), bytes(BLOCK), {"labels": "none"}, "goes on after them"),
    "a.parquet": (b"PAR1", bytes(BLOCK), {"label": "y"}, "80% of what is free: expand it on disk"),
    "a.arrow": (b"ARROW1\0\0", bytes(BLOCK), {"label": "y"}, "80% of what is free: expand it on disk"),
    "a.npz": (b"PK\x03\x04", bytes(BLOCK), {"label": "y"}, "80% of what is free: expand it on disk"),
}


@needs_proc
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_bombs_take_little_memory(tmp_path, suffix):
    compress, cases = COMPRESSIONS[suffix], []
    # a format reads from the same stream whatever expands it: of each kind of reader one will do with the slow ones
    names = BOMBS if suffix == ".gz" else ("short.csv", "line.csv", "a.svm", "a.npy", "a.idx", "a.parquet", "a.npz")
    for name in names:
        head, block, options, _ = BOMBS[name]
        path = tmp_path / (name + suffix)
        path.write_bytes(compress(head) + N_BLOCKS * compress(block))  # which are members of one file
        assert path.stat().st_size < 2 * MB
        cases.append(("read", path, options))
    found = measured(cases, free=FREE)
    for name, one in zip(names, found, strict=True):
        assert BOMBS[name][3] in one["said"], (name, one["said"])
        assert one["said"].count(". ") == 0
        assert one["grown"] < 140 * MB, f"{name}: {one['grown'] / MB:.0f} MB for 480"


@needs_proc
def test_three_megabytes_that_expand_to_three_gigabytes(tmp_path):
    """On a machine with 22 GB of free memory, and with the limit as it is if nobody sets it."""
    cases = []
    for name in ("short.csv", "line.csv"):
        head, block, options, _ = BOMBS[name]
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(head) + 1700 * gzip.compress(block))
        assert path.stat().st_size < 14 * MB
        cases.append(("read", path, options))
    path = tmp_path / "large.npy.gz"
    path.write_bytes(gzip.compress(npy_header((1250 * MB, 8))) + 1700 * gzip.compress(bytes(BLOCK)))
    cases.append(("read", path, {"labels": "none"}))
    for one in measured(cases, free=22 << 30):
        assert "memory or more" in one["said"] or "does not end" in one["said"] or "4 GiB that max_bytes" in one["said"]
        assert one["grown"] < 320 * MB, one


@needs_proc
def test_batches_of_a_line_without_an_end(tmp_path):
    cases = []
    for name in ("line.csv", "header.csv", "line.svm", "quote.csv"):
        head, block, options, _ = BOMBS[name]
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(head) + 2048 * gzip.compress(block))
        sizes = (1000, 32 * MB) if name == "line.csv" else (1000,)
        cases += [("batches", path, {**options, "batch_bytes": n}) for n in sizes]
    for (_, path, _), one in zip(cases, measured(cases), strict=True):
        assert "does not end within" in one["said"], (path, one)
        assert one["grown"] < 700 * MB, (path, one)


def archive(path, method, n):
    with zipfile.ZipFile(path, "w", method) as file, file.open("X.npy", "w", force_zip64=True) as member:
        member.write(npy_header((n * BLOCK // 8, 8)))
        for _ in range(n):
            member.write(bytes(BLOCK))


@needs_proc
def test_archives(tmp_path):
    archive(tmp_path / "a.npz", zipfile.ZIP_DEFLATED, 200)
    archive(tmp_path / "b.npz", zipfile.ZIP_BZIP2, 4)
    archive(tmp_path / "c.npz", zipfile.ZIP_LZMA, 1)
    large, by_bzip2, by_lzma = measured([("read", tmp_path / f"{c}.npz", {"labels": "none"}) for c in "abc"], free=FREE)
    assert "80% of what is free: save its arrays as .npy files" in large["said"]
    assert "must be stored, or compressed by deflate, as NumPy does it. Got method 12 instead" in by_bzip2["said"]
    assert "Got method 14 instead" in by_lzma["said"]
    assert max(one["grown"] for one in (large, by_bzip2, by_lzma)) < 10 * MB


@needs_proc
def test_plain_files_larger_than_memory(tmp_path):
    """Files with holes, so that they take no room on the disk."""
    heads = {
        "a.csv": (b"a,y\n" + b"1,0\n" * MB, {"label": "y"}),
        "a.svm": (b"1 1:1\n" * MB, {}),
        "a.npy": (npy_header((1 << 37, 8)), {"labels": "none"}),
        "a.idx": (idx_header(1 << 20, 1 << 20), {"labels": "none"}),
    }
    for name, (head, _) in heads.items():
        (tmp_path / name).write_bytes(head)
        os.truncate(tmp_path / name, (len(head) if name in ("a.npy", "a.idx") else 0) + (1 << 40))
    for one in measured([("read", tmp_path / name, options) for name, (_, options) in heads.items()]):
        assert "80% of what is free: read it in batches with open_batches, or where more memory is free." in one["said"]
        assert one["grown"] < 20 * MB


def test_the_limit_of_the_user_and_that_of_the_machine(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,0\n" * 500_000))
    with pytest.raises(DataError, match="expands to more than the 1 MiB that max_bytes allows"):
        read_examples(path, label="y", max_bytes=MB)
    monkeypatch.setattr("votron.data._sources.available_memory", lambda: 20 * MB)
    with pytest.raises(
        DataError, match="would take 30 MB of memory or more, and the limit is 17 MB, 80% of what is free"
    ):
        read_examples(path, label="y")
    with pytest.raises(DataError, match="80% of what is free"):  # whatever the user says
        read_examples(path, label="y", max_bytes=1 << 60)
    assert sum(map(len, open_batches(path, label="y", batch_bytes=20_000))) == 500_000
    monkeypatch.setattr("votron.data._sources.available_memory", lambda: 100 * MB)
    assert read_examples(path, label="y").n_rows == 500_000


def test_digits_that_do_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "a.idx"
    path.write_bytes(idx_header(100, 100) + bytes(10_000))
    assert read_idx(path).shape == (100, 100)
    monkeypatch.setattr("votron.data._sources.available_memory", lambda: 9000)
    with pytest.raises(DataError, match="of memory or more"):
        read_idx(path)


# -- what text takes --------------------------------------------------------------------------------------------------

SHAPES = {
    "numbers.csv": (b"a,b,c,y\n", b"12345678,1.5,word,0\n", {"label": "y"}),
    "digits.csv": (b"a,y\n", b"1,0\n", {"label": "y"}),
    "column.csv": (b"a\n", b"1\n", {"labels": "none"}),
    "letters.csv": (b"a,b,c,y\n", b"a,b,c,d\n", {"label": "y"}),
    "nothing.csv": (b"a,b,c,d,y\n", b",,,,1\n", {"label": "y", "missing": "keep"}),
    "blank.csv": (b"a,y\n", b"1,1\n\n", {"label": "y"}),
    "blanks.csv": (b"a\n", b"1\n\n", {"labels": "none", "missing": "keep"}),
    "lines.csv": (b"a,y\n1,1\n", b"\n", {"label": "y"}),
    "codes.csv": (b"a,y\n", b"07,1\n", {"label": "y"}),
    "texts.csv": (b"a,y\n", b"x" * 2000 + b",1\n", {"label": "y"}),
    "labels.svm": (b"", b"1\n", {}),
    "short.svm": (b"", b"1 1:1\n", {}),
    "usual.svm": (b"", b"1 1:0.123456 17:0.3456 234:0.55555 3456:0.5677\n", {}),
}


@needs_proc
def test_text_takes_no_more_memory_than_is_reckoned_with(tmp_path):
    cases, reckoned = [], []
    for name, (head, line, options) in SHAPES.items():
        path, data = tmp_path / name, head + repeated(line, 4 * MB)
        path.write_bytes(data)
        cases.append(("read", path, options))
        if name.endswith("csv"):
            reckoned.append(csv.BYTES_A_BYTE * len(data) + csv.Meter(",", name)(data))
        else:
            reckoned.append(svmlight.BYTES_A_BYTE * len(data) + svmlight._memory(data))
    for (_, path, _), one, n in zip(cases, measured(cases), reckoned, strict=True):
        assert one["said"].startswith("("), one
        assert one["grown"] < 1.25 * n + 15 * MB, (  # of free memory, 80% may be taken
            f"{path.name}: {one['grown'] / MB:.0f} MB instead of {n / MB:.0f}"
        )


def test_one_long_label_among_many(tmp_path, monkeypatch):
    """NumPy gives each the room of the longest."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,y\n" + b"1,u\n" * 20_000 + b"1," + b"v" * 190 + b"\n")
    assert read_examples(path, label="y").n_rows == 20_001
    monkeypatch.setattr("votron.data._sources.available_memory", lambda: 8_000_000)
    with pytest.raises(VotronError, match=r"Reading the label column 'y' of .* would take 16 MB of memory or more"):
        read_examples(path, label="y")
