"""The command line as a whole: help, examples, mistakes, warnings, completion, and the page in the docs."""

import os
import shlex
import subprocess
import sys

import click
import pytest

from votron import cli
from votron.cli import COMMANDS, main
from votron.errors import BoundViolatedError, VotronError

NOT_RUN = "votron reproduce"
"""Examples that take minutes or need MNIST."""


def commands():
    """Return all commands of click, by the words that are typed, those beneath others too."""
    context = click.Context(cli.votron)
    for name in COMMANDS:
        found = cli.votron.get_command(context, name)
        if isinstance(found, click.Group):
            for action in found.list_commands(context):
                yield f"{name} {action}", found.get_command(context, action)
        else:
            yield name, found


# -- help -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_help_fits_a_terminal_and_ends_with_examples(name, command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split(), "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Usage: votron {name} ")
    helped, _, examples = out.partition("\nExamples:\n")
    assert max(map(len, helped.split("\n"))) <= 80
    assert f"votron {name}" in examples
    assert err == ""


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for _, command in commands() for line in command.examples])
def test_examples_of_help_texts_run(line, here, capfd, monkeypatch):
    if line.startswith(NOT_RUN):
        return
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)  # as if the visitors had gone
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    command, _, given = line.partition(" < ")
    with open(given or os.devnull) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(shlex.split(command)[1:]) == 0
    out, err = capfd.readouterr()
    assert out or err
    assert "Warning" not in err


def test_help_lists_all_commands_and_loads_nothing_heavy():
    code = "import sys; from votron.cli import main; main(['--help']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    *_, loaded = done.stdout.splitlines()
    assert all(f"  {name} " in done.stdout for name in COMMANDS)
    assert not {"numpy", "sklearn", "scipy", "numba", "polars", "matplotlib"} & set(loaded.split())


# -- mistakes ---------------------------------------------------------------------------------------------------------

USAGE = [
    ([], 0, ""),
    (["tran"], 2, "No such command 'tran'"),
    (["inspect"], 2, "MODEL must be given."),
    (["inspect", "days.votron", "--jsn"], 2, "--json"),
    (["inspect", "no.votron"], 1, "no.votron"),
    (["inspect", "days.csv"], 1, "not a model file"),
    (["predict", "days.votron", "no.csv"], 1, "no.csv"),
    (["predict", "days.votron", "days.csv", "-o", "out.xlsx"], 2, "-o must be CSV"),
    (["predict", "days.votron", "days.csv", "-o", "days.csv"], 2, "-o must be another file than DATA"),
    (["predict", "digits.votron", "digits", "--threshold", "0.5"], 2, "--threshold is for two classes"),
    (["predict", "days.votron", "days.csv", "--resize", "28"], 2, "--resize: must be height and width"),
    (["predict", "digits.votron", "digits", "--rule", "best"], 1, "--rule: must be"),
    (["predict", "digits.votron", "digits", "--keep", "a"], 2, "--keep is for tables"),
    (["explain", "days.votron", "days.csv", "--row", "99"], 1, "There are 12 rows in 'days.csv'"),
    (["explain", "days.votron", "days.csv", "--row", "1,2", "--figure", "a.svg"], 2, "--figure draws one row"),
    (["explain", "days.votron", "days.csv", "--row", "1", "--of", "ye"], 2, "Did you mean 'yes'?"),
    (["export", "days.votron"], 2, "--onnx FILE or --compact FILE must be given."),
    (["export", "days.votron", "--onnx", "-"], 2, "--onnx: must be the name of a file"),
    (["export", "days.votron", "--onnx", "a", "--compact", "./a"], 2, "must be another file than --onnx"),
    (["export", "days.votron", "--compact", "no/a"], 2, "there is no folder"),
]


@pytest.mark.parametrize(("arguments", "status", "words"), USAGE, ids=[" ".join(each)[:60] for each, _, _ in USAGE])
def test_mistakes_get_one_sentence_and_no_file(arguments, status, words, here, capsys):
    before = sorted(here.iterdir())
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert words in err
    if status:
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith("votron")
        assert err.rstrip().endswith((".", "?", ")"))
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (VotronError("no good."), 1, "votron inspect: no good.\n"),
        (BoundViolatedError("more mistakes than allowed"), 1, "This is an error in Votron, please report it"),
        (RuntimeError("two\nlines"), 1, "VOTRON_DEBUG=1 shows where. RuntimeError: two lines\n"),
        (OSError(28, "No space left on device", "a.votron"), 1, "a.votron: No space left on device.\n"),
        (MemoryError(), 1, "There is not enough memory"),
        (KeyboardInterrupt(), 130, "votron inspect: Stopped. No file was written.\n"),
        (BrokenPipeError(), 1, ""),
        (ValueError("Input X contains NaN."), 1, "votron inspect: Input X contains NaN.\n"),
    ],
)
def test_failures(error, status, words, here, capsys, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("votron.saving.models.load_with_manifest", fail)
    assert main(["inspect", "days.votron"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def test_debugging_shows_where(here, capsys, monkeypatch):
    monkeypatch.setattr("votron.saving.models.load_with_manifest", lambda **_: 1 / 0)
    monkeypatch.setenv("VOTRON_DEBUG", "1")
    assert main(["inspect", "days.votron"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_underscores_do_as_well(here, capsys):
    assert main(["predict", "days.votron", "days.csv", "--na_values", "gone"]) == 0
    assert main(["predict", "days.votron", "days.csv", "--na_valuez", "gone"]) == 2


# -- completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "offered"),
    [("votron pre", "plain,predict"), ("votron predict a b --pr", "plain,--proba"), ("votron inspect ", "file,")],
)
def test_click_answers_the_shell(words, offered, monkeypatch, capsys):
    asked = {"_VOTRON_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    main([])
    assert offered in capsys.readouterr().out
