"""The command line as a process: exit status, streams, pipes, signals."""

import os
import pty
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli_files import votron, write_files

import votron as library
from votron.data import load_image_set

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("processes")
    write_files(made)
    X, y = np.random.RandomState(0).randn(3000, 20), np.arange(3000) % 2
    # Each row is there with either label, so that training goes on for a thousand epochs on the fastest machine.
    np.savez(made / "contradictions.npz", X=np.concatenate([X, X]), y=np.concatenate([y, 1 - y]))
    digits = load_image_set("digits")
    library.VotedPerceptronClassifier(random_state=0).fit(digits.X, digits.y).save(made / "digits.votron")
    return made


def test_from_a_file_to_predictions_without_python(folder):
    done = votron("train", "days.csv", "--label", "Play", "-o", "days.votron", "--random-state", "0", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"days.votron" in done.stdout
    content = (folder / "days.csv").read_bytes()
    done = votron("predict", "days.votron", "-", "--format", "csv", cwd=folder, input=content)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.split()[:3] == [b"label", b"no", b"yes"]


def test_readers_that_have_had_enough(folder):
    """As in `votron data describe ... | head -1`: no traceback, no complaint."""
    command = f"{sys.executable} -m votron predict digits.votron digits --scores | head -c 10"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"label,0,1,"
    assert done.stderr == b""


def test_standard_output_that_is_full(folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "votron", "predict", "digits.votron", "digits"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"votron predict: ")
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr


def begun(folder, output):
    """Start a training that takes long; return it when it is at work, as its progress on a terminal tells."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "votron",
            "train",
            "contradictions.npz",
            "-o",
            output,
            "--epochs",
            "none",
            "--kernel",
            "rbf",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    said, deadline = b"", time.monotonic() + 60
    while b"epoch 2" not in said:
        assert time.monotonic() < deadline
        assert process.poll() is None, said
        if select.select([ours], [], [], 0.2)[0]:
            said += os.read(ours, 4096)
    return process, ours


def rest_of(terminal):
    said = b""
    while select.select([terminal], [], [], 0.5)[0]:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # its other end is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(terminal)
    return said.decode()


@pytest.mark.parametrize(
    ("number", "there"),
    [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGKILL, True), (signal.SIGKILL, False)],
)
def test_killing_leaves_the_old_model_or_none(number, there, folder):
    output = folder / "killed.votron"
    output.unlink(missing_ok=True)
    if there:
        output.write_bytes((folder / "digits.votron").read_bytes())
        before = output.read_bytes()
    process, terminal = begun(folder, output.name)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    said = rest_of(terminal)
    assert out == b""
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert "votron train: Stopped. No file was written." in said
        assert "Traceback" not in said
        assert [path.name for path in folder.iterdir() if "killed.votron" in path.name] == ["killed.votron"] * there
    if there:
        assert output.read_bytes() == before
        assert library.load(output) is not None
    else:
        assert not output.exists()
