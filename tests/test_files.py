"""Files are written whole or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from votron._util.files import replacing, write_bytes, write_text

WRITER = """
import sys
from pathlib import Path
from votron._util.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"unfinished")
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_a_process_that_is_killed_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bin"
    write_bytes(path, b"old")
    arguments = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"old"
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".votron-")] == ["a.bin"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    write_bytes(tmp_path / "a.bin", b"old")
    with pytest.raises(TypeError), replacing(tmp_path / "a.bin") as temporary:
        temporary.write_bytes("no bytes")
    assert os.listdir(tmp_path) == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == b"old"


def test_names_of_any_length_and_alphabet(tmp_path):
    for name in ("x" * 255, "🙂" * 63, "ä*[a]?"):
        write_text(tmp_path / name, name)
        assert (tmp_path / name).read_text(encoding="utf-8") == name
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="It is there, and no file"):
        write_bytes(tmp_path / "pipe", b"content")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*new'"):
        write_text(path, "text")
    assert list(tmp_path.iterdir()) == []
    write_text(path, "text", make_folders=True)
    assert path.read_text() == "text"
