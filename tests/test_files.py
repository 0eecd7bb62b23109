"""Files are written whole or not at all, and what a killed process leaves behind goes with the next writing."""

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
    print(temporary, flush=True)
    sys.stdin.readline()
    temporary.write_bytes(b"finished")
"""


@pytest.fixture
def writer(tmp_path):
    """Start processes that stand in the middle of writing; return each with its temporary file."""
    started = []

    def start(path):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL


def test_what_a_killed_process_left_is_removed_by_the_next_writing(writer, tmp_path):
    path = tmp_path / "a.bin"
    write_bytes(path, b"old")
    three = [writer(path) for _ in range(3)]
    assert len({temporary for _, temporary in three}) == 3
    for process, _ in three:
        kill(process)
    assert len(os.listdir(tmp_path)) == 4
    assert path.read_bytes() == b"old"
    write_bytes(path, b"new")
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.read_bytes() == b"new"


def test_what_a_live_process_writes_stays(writer, tmp_path):
    path = tmp_path / "a.bin"
    dead, alive = writer(path), writer(path)
    kill(dead[0])
    for content in (b"one", b"two"):
        write_bytes(path, content)
        assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(alive[1]), "a.bin"])
    with open(alive[1], "rb") as file:
        assert file.read() == b"unfinished"
    alive[0].communicate("\n", timeout=60)
    assert alive[0].returncode == 0
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.read_bytes() == b"finished"


def test_files_of_others_stay(writer, tmp_path):
    """Those whose names look like it, those of another place, links, folders and pipes."""
    path = tmp_path / "a.bin"
    process, temporary = writer(path)
    kill(process)
    other = writer(tmp_path / "b.bin")
    kill(other[0])
    stem = temporary.rsplit(".", 1)[0]
    (tmp_path / "precious").write_bytes(b"mine")
    os.symlink(tmp_path / "precious", f"{stem}.1")
    os.mkdir(f"{stem}.2")
    os.mkfifo(f"{stem}.3")
    os.link(tmp_path / "precious", f"{stem}.4")
    for name in (".a.bin", ".a.bin.0", ".a.bin.0123456789ab", ".a.bin.0123456789ab.0", "a.bin.tmp", f"{stem}.x"):
        (tmp_path / name).write_bytes(b"mine")
    before = set(os.listdir(tmp_path)) - {os.path.basename(temporary)}
    write_bytes(path, b"new")
    assert set(os.listdir(tmp_path)) == before | {"a.bin"}
    assert (tmp_path / "precious").read_bytes() == b"mine"
    write_bytes(tmp_path / "b.bin", b"new")
    assert set(os.listdir(tmp_path)) == before - {os.path.basename(other[1])} | {"a.bin", "b.bin"}


def test_several_writings_to_one_place_in_one_process(tmp_path):
    path = tmp_path / "a.bin"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.read_bytes() == b"first"


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
