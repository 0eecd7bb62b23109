"""Devices and pipes that never end: refused soon, in a sentence, with little memory."""

import os
import subprocess
import sys

import pytest
from memory_meter import measured, needs_proc

pytestmark = pytest.mark.slow  # processes, and files of some size

MB = 1 << 20
FORMATS = ("csv", "tsv", "svmlight", "idx", "npy", "npz", "parquet", "arrow", None)
needs_devices = pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")


@needs_proc
@needs_devices
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_devices(device):
    options = [{"labels": "none"} | ({} if format is None else {"format": format}) for format in FORMATS]
    cases = [(call, device, how) for how in options for call in ("read", "batches")]
    for (call, _, how), one in zip(cases, measured(cases), strict=True):
        assert one["said"].endswith("."), (call, how, one)
        assert device in one["said"]
        assert one["grown"] < 30 * MB, (call, how, one)


WRITER = """
import sys
with open(sys.argv[1], "wb") as out:
    out.write(bytes.fromhex(sys.argv[2]))
    while True:
        out.write(bytes.fromhex(sys.argv[3]) * 9999)
"""


@pytest.fixture
def endless(tmp_path):
    """Make pipes that begin with some bytes, and go on with a line, or some zeros, for ever."""
    writers = []

    def make(name, first, again):
        path = tmp_path / name
        os.mkfifo(path)
        arguments = [sys.executable, "-S", "-c", WRITER, os.fspath(path), first.hex(), again.hex()]
        writers.append(subprocess.Popen(arguments, stderr=subprocess.DEVNULL))
        return path

    yield make
    for writer in writers:
        writer.kill()
        writer.wait()


NPY = b"\x93NUMPY\1\0v\0" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (9, 9), }".ljust(117) + b"\n"
ENDLESS = {
    "a.csv": (b"a,y\n", b"1,0\n", "80% of what is free: read it in batches"),
    "line.csv": (b"a,y\n1,", b"x" * 50, "on line 2 of"),
    "a.svm": (b"", b"1 1:1\n", "80% of what is free: read it in batches"),
    "a.npy": (NPY, bytes(50), "goes on after them"),
    "a.idx": (b"\0\0\x08\2" + b"\0\0\0\5" * 2, b"12345", "goes on after them"),
    "a.parquet": (b"PAR1", bytes(50), "80% of what is free: expand it on disk"),
    "a.arrow": (b"ARROW1\0\0", bytes(50), "80% of what is free: expand it on disk"),
    "a.npz": (b"PK\x03\x04", bytes(50), "80% of what is free: expand it on disk"),
}


@needs_proc
def test_pipes_without_end(endless):
    cases = []
    for name, (first, again, _) in ENDLESS.items():
        labels = {} if name == "a.svm" else {"labels": "none"}
        cases.append(("read", endless(name, first, again), labels))
    for name, one in zip(ENDLESS, measured(cases, free=500 * MB), strict=True):
        assert ENDLESS[name][2] in one["said"], (name, one)
        assert one["grown"] < 300 * MB, (name, one)


@needs_devices
@pytest.mark.parametrize("line", ["train - --label y -o m.votron", "data describe /dev/zero"])
def test_the_command_line(tmp_path, line):
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [sys.executable, "-m", "votron", *line.split()],
            stdin=zeros,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "must be text in UTF-8: line 1 has a NUL byte" in done.stderr
    assert list(tmp_path.iterdir()) == []
