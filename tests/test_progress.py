import io
import os
import struct

import pytest

from votron._util.progress import Progress


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def terminal(monkeypatch):
    """Makes a terminal of a width; gives its stream and a function that returns what was written to it."""
    pty = pytest.importorskip("pty")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    monkeypatch.setenv("TERM", "xterm")
    ends = []

    def open_terminal(columns=100, encoding="utf-8"):
        screen, keyboard = pty.openpty()
        fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        stream = os.fdopen(keyboard, "w", encoding=encoding)
        ends.extend([lambda: os.close(screen), stream.close])

        def written():
            stream.flush()
            os.set_blocking(screen, False)
            chunks = []
            while True:
                try:
                    chunks.append(os.read(screen, 65536))
                except BlockingIOError:
                    return b"".join(chunks).decode(encoding)

        return stream, written

    yield open_terminal
    for end in reversed(ends):
        end()


def run(stream, clock, n_updates=1000, seconds=10.0, total=100_000, **options):
    with Progress(total, True, stream, clock=clock, unit="examples", **options) as progress:
        for i in range(1, n_updates + 1):
            clock.now += seconds / n_updates
            progress.update(i * total // n_updates, f"epoch {1 + 4 * i // n_updates}, {10 * i:,} mistakes")


def frames(text):
    return text.rstrip("\r\n").split("\r")[1:]


def test_without_stderr_it_is_disabled(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress(10, True) as progress:
        progress.update(5, "epoch 1")


def test_plain_lines_come_with_every_tenth(clock):
    stream = io.StringIO()
    run(stream, clock, seconds=4.0)
    lines = stream.getvalue().splitlines()
    assert [line[:8] for line in lines] == [f"fit {percent:3d}%" for percent in range(10, 101, 10)]
    assert lines[4] == "fit  50%, epoch 3, 5,000 mistakes, 25,000 examples/s, 0:02 left"


def test_close_shows_the_newest_state_once(clock):
    stream = io.StringIO()
    progress = Progress(1000, True, stream, clock=clock)
    progress.update(20, "epoch 1, 7 mistakes")
    assert stream.getvalue() == ""
    progress.close()
    progress.close()
    progress.update(900, "epoch 1, 8 mistakes")
    assert stream.getvalue() == "fit   2%, epoch 1, 7 mistakes\n"


def test_a_terminal_gets_one_line_redrawn_ten_times_a_second(terminal, clock):
    stream, written = terminal()
    run(stream, clock, n_updates=2000, seconds=2.0)
    text = written()
    assert text.count("\n") == 1
    assert text.endswith("\r\n")
    drawn = frames(text)
    assert 15 <= len(drawn) <= 22
    assert drawn[-1].startswith("fit 100%, epoch 5, 20,000 mistakes, 50,000 examples/s, 0:00 left")


@pytest.mark.parametrize("columns", [3, 40, 80, 200])
def test_a_line_fits_the_terminal_and_covers_the_one_before(terminal, clock, columns):
    stream, written = terminal(columns)
    run(stream, clock, seconds=1.0)
    assert {len(frame) for frame in frames(written())} == {columns - 1}


def test_work_without_a_known_end_has_no_percent(terminal, clock):
    stream, written = terminal(40)
    lines = io.StringIO()
    for out in (stream, lines):
        with Progress(None, True, out, "Downloading", clock=clock) as progress:
            clock.now += 6
            progress.update(5e6, "5 MB")
    assert frames(written()) == ["Downloading, 5 MB".ljust(39)]
    assert lines.getvalue() == "Downloading, 5 MB\n"


def test_a_line_can_be_gone_at_the_end(terminal, clock):
    stream, written = terminal(40)
    with Progress(4, True, stream, "Tuning", erase=True, clock=clock) as progress:
        progress.update(1, "1 of 4 settings")
    text = written()
    assert text.endswith("\r" + " " * 39 + "\r")
    assert "\n" not in text


def test_time_left_follows_from_the_speed_of_late(clock):
    stream = io.StringIO()
    with Progress(100, True, stream, clock=clock) as progress:
        for done in (10, 20, 30, 50, 70):
            clock.now += 10
            progress.update(done)
    assert [line[-9:] for line in stream.getvalue().splitlines()] == [
        "1:30 left",
        "1:20 left",
        "1:10 left",
        "0:33 left",
        "0:18 left",
    ]
