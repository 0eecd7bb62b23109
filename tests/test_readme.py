"""The README keeps its promises: its commands run, one after another, and print what it shows."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from votron.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sessions():
    """Return the console sessions, each a list of commands with what they print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        found.append([each.partition("\n")[::2] for each in commands])
    return found


def test_there_is_a_session():
    assert len(sessions()) >= 1


@pytest.mark.parametrize("session", sessions())
def test_commands_print_what_is_shown(session, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command, expected in session:
        program, *arguments = shlex.split(command, comments=True)
        if program == "cp":
            shutil.copy(ROOT / arguments[0], arguments[1])
            continue
        assert program == "votron"
        assert main(arguments) == 0, capsys.readouterr().err
        printed = capsys.readouterr().out
        if expected:
            assert doctest.OutputChecker().check_output(expected, printed, SHOWN), f"{command}\n{printed}"


def test_files_that_are_linked_are_there():
    for pattern in (r"\]\(([^)#:]+)(?:#[^)]*)?\)", r"!\[[^]]*\]\(([^)]+)\)"):
        for path in re.findall(pattern, README):
            assert (ROOT / path).exists(), path
