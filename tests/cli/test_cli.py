"""The command line as a whole: help, examples, mistakes, completions, and the page in the docs."""

import contextlib
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_files import write_files
from installed_packages import run_beside

import votron as library
from votron.cli import COMMANDS, _options, _parser, _reference, build, main
from votron.errors import BoundViolatedError, VotronError
from votron.evaluate import confusion
from votron.kernels import KERNELS
from votron.rules import RULES

NOT_RUN = {
    "votron reproduce": "takes minutes; tests/papers/test_command.py runs smaller ones",
    "votron reproduce --data mnist": "needs MNIST, and takes a quarter of an hour",
    "votron reproduce --data folder --permutations 1": "is run in tests/papers/test_command.py",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with data and two models."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["train", "digits", "-o", "digits.votron", "--random-state", "0", "--no-certificate"]) == 0
        assert main(["train", "days.csv", "--label", "Play", "-o", "days.votron", "--random-state", "0"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", "80")
    return files


# -- help -------------------------------------------------------------------------------------------------------------


def examples():
    for name in COMMANDS:
        parser = _reference.subparser(build([name]), name)
        yield from ((name, line.strip()) for line in parser.epilog.split("\n") if line.strip().startswith("votron"))


def commands_in(line):
    """Return the command of a line of examples: what it does may stand beside it, after four spaces."""
    return line.split("    ")[0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "line"), list(examples()))
def test_examples_of_help_texts_run(name, line, here, capfd, monkeypatch):
    command = commands_in(line)
    if command in NOT_RUN:
        assert shlex.split(command)[:2] == ["votron", "reproduce"]
        return
    if name == "play":  # up to where it would wait for visitors
        monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
        monkeypatch.setattr("webbrowser.open", lambda _: True)
    words = shlex.split(command)
    if "<" in words:
        at = words.index("<")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(words[at + 1]).read_bytes())))
        words = words[:at]
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index(">")] if target else words
    assert main(words[1:]) == 0
    out, err = capfd.readouterr()
    assert out or err
    assert "Warning" not in err
    assert "error" not in err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: votron {name}")
    assert "\nexamples:\n" in out
    assert err == ""
    helped = out.split("\nexamples:\n")[0].split("\n")[1:]
    assert max(map(len, helped)) <= 80


def test_help_lists_all_commands(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, words in COMMANDS.items():
        assert f"  {name} " in out
        assert words.split()[0] in out


def test_help_is_light():
    code = "import sys; from votron.cli import main; main(['--help']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = done.stdout.splitlines()[-1].split()
    heavy = ("numpy", "sklearn", "scipy", "numba", "polars", "matplotlib", "votron.estimators", "votron.tuning")
    assert not set(heavy) & set(loaded)


def test_the_page_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    assert page.read_text(encoding="utf-8") == _reference.page(), "make reference writes it anew"


def test_the_page_has_every_help_text():
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        parser = _reference.subparser(build([name]), name)
        for command in (name, *(f"{name} {action}" for action in _reference.subcommands(parser))):
            assert f"$ votron {command} --help\n" in page
    assert "$ votron data suspects --help\n" in page


# -- options from the estimators --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(_options.estimators()))
def test_options_are_those_of_the_estimator(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    cls = _options.estimators()[name]
    parser = _reference.subparser(build(["train", "--estimator", name]), "train")
    known = {option for action in parser._actions for option in action.option_strings}
    for parameter in inspect.signature(cls).parameters.values():
        option = "--" + parameter.name.replace("_", "-")
        assert (option in known) == (parameter.name != "verbose")
    for parameter in _options.parameters_of(name):
        assert parameter.default == inspect.signature(cls).parameters[parameter.name].default
        assert len(parameter.words) > 5, parameter.name
        assert "`" not in parameter.words
    assert main(["train", "--estimator", name, "--help"]) == 0
    assert f"options of --estimator {name}" in capsys.readouterr().out
    args = parser.parse_args(["train-data", "-o", "x", "--estimator", name])
    assert _options.typed_parameters(args) == {}  # so the estimator's own defaults hold


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("train", [KERNELS, RULES]),
        ("tune", [KERNELS, RULES]),
        ("predict", [RULES]),
        ("evaluate", [RULES]),
        ("export", [RULES]),
    ],
)
def test_kernels_and_rules_are_listed_in_their_own_words(command, named, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for name, thing in ((name, thing) for registry in named for name, thing in registry.items()):
        assert (f"{name} {thing.words}" in said) == (name != "precomputed")  # which cannot be typed


@pytest.mark.slow
def test_help_lists_what_another_package_brings_where_it_is_named(tmp_path):
    done = run_beside(
        tmp_path,
        "from dataclasses import dataclass\nfrom votron.kernels import Kernel\n\n"
        "@dataclass(frozen=True)\nclass Brought(Kernel):\n    name, words = 'brought', 'a product and 1'\n"
        "    def formula(self, xz, xx, zz):\n        return xz + 1.0\n",
        "votron.kernels",
        "brought = brought:Brought",
        (["train", "--help"], 0),
        (["train", "--help", "--kernel", "brought"], 0),
        (["tune", "--kernels=poly,brought", "--help"], 0),
    )
    without, *with_it = done.stdout.split("usage: ")[1:]
    assert "brought" not in without
    assert [re.findall("brought +a product and 1", text) for text in with_it] == [["brought      a product and 1"]] * 2


VALUES = {
    ("voted", "gamma"): [("0.5", 0.5), ("scale", "scale"), ("2", 2)],
    ("voted", "epochs"): [("none", None), ("0.1", 0.1), ("7", 7)],
    ("voted", "memory_limit"): [("2GB", "2GB"), ("0", 0), ("auto", "auto")],
    ("voted", "random_state"): [("7", 7), ("none", None)],
    ("voted", "n_jobs"): [("-1", -1), ("none", None)],
    ("voted", "kernel"): [("rbf", "rbf")],
    ("winnow", "binarize"): [("0.5", 0.5), ("None", None)],
    ("adatron", "C"): [("10", 10), ("1e-1", 0.1)],
    ("naive-bayes", "class_prior"): [("0.25,0.75", [0.25, 0.75]), ("none", None)],
}


@pytest.mark.parametrize(("name", "parameter"), list(VALUES))
def test_values_are_read_by_the_constraints(name, parameter):
    parser = _reference.subparser(build(["train", "--estimator", name]), "train")
    for text, value in VALUES[name, parameter]:
        option = "--" + parameter.replace("_", "-")
        args = parser.parse_args(["data", "-o", "x", "--estimator", name, f"{option}={text}"])
        found = _options.typed_parameters(args)
        assert found == {parameter: value}
        assert type(found[parameter]) is type(value)
        made = _options.make_estimator(name, found)
        assert made.get_params()[parameter] == value


@pytest.mark.parametrize("text", ["-1", "-1e-3", "-.5", "-0.25", "-1.", "-2E+3"])
def test_values_may_be_less_than_zero(text):
    parser = _reference.subparser(build(["train"]), "train")
    args = parser.parse_args(["data", "-o", "x", "--coef0", text, "--label", "-1"])
    assert args.coef0 == float(text)
    tuned = _reference.subparser(build(["tune"]), "tune").parse_args(["data", "--coef0s", f"{text},1"])
    assert tuned.grid_coef0 == [float(text), 1]


def test_flags_have_a_no(here, capsys):
    parser = _reference.subparser(build(["train"]), "train")
    args = parser.parse_args(["data", "-o", "x", "--no-shuffle", "--normalize-kernel"])
    assert _options.typed_parameters(args) == {"shuffle": False, "normalize_kernel": True}


def test_parameters_as_arguments_are_read_back():
    params = {"degree": 3, "gamma": 1 / 3, "normalize_kernel": True, "shuffle": False, "epochs": None, "rule": "last"}
    parser = _reference.subparser(build(["train"]), "train")
    args = parser.parse_args(["data", "-o", "x", *_parser.as_arguments(params)])
    assert _options.typed_parameters(args) == params


def test_lists_of_the_command_line_are_those_of_the_library():
    from votron.data.encoding import MISSING

    assert set(_options.MISSING) == set(MISSING) - {"keep"}


# -- what is typed wrongly --------------------------------------------------------------------------------------------

USAGE = [
    ([], 0, ""),
    (["tran"], 2, "'tran' is an invalid choice of COMMAND: did you mean train?"),
    (["xyz"], 2, "it must be one of train, predict"),
    (["train"], 2, "DATA and -o/--output must be given."),
    (["train", "digits", "--label"], 2, "--label needs a value."),
    (["train", "digits", "-o"], 2, "-o, --output needs a value."),
    (["train", "digits", "-o", "x", "extra"], 2, "There is one argument too many. Got 'extra'"),
    (["train", "digits", "-o", "x", "--degre", "3"], 2, "There is no option --degre. Did you mean --degree?"),
    (["export", "days.votron", "-o", "x"], 2, "There is no option -o: --onnx FILE or --compact FILE says which kind"),
    (["train", "digits", "-o", "x", "--zzz"], 2, "There is no option --zzz. votron train --help lists"),
    (["train", "digits", "-o", "x", "--verbose"], 2, "progress is shown on a terminal, unless --quiet is given."),
    (["train", "digits", "-o", "x", "--fit-intercept"], 2, "--fit-intercept is an option of --estimator averaged"),
    (["train", "digits", "-o", "x", "--no-average"], 2, "--no-average is an option of --estimator averaged, and"),
    (["train", "digits", "-o", "x", "--multiclass", "joint"], 2, "--multiclass is an option of --estimator averaged"),
    (
        ["train", "digits", "-o", "x", "--estimator", "averaged", "--multiclass", "ovo"],
        2,
        "--multiclass must be one of joint, ovr. Got 'ovo' instead.",
    ),
    (
        ["train", "digits", "-o", "x", "--estimator", "averaged", "--margin", "-1"],
        2,
        "--margin must be a float in the range [0.0, inf). Got -1 instead.",
    ),
    (["train", "digits", "-o", "x", "--estimator", "winow"], 2, "--estimator must be one of voted, averaged"),
    (["train", "digits", "-o", "x", "--degree", "two"], 2, "--degree must be an int. Got 'two' instead."),
    (["train", "digits", "-o", "x", "--degree", "0"], 2, "--degree must be an int in the range [1, "),
    (["train", "digits", "-o", "x", "--gamma", "big"], 2, "--gamma must be a number, scale or auto. Got 'big'"),
    (["train", "digits", "-o", "x", "--gamma", "-1"], 2, "--gamma must be "),
    (["train", "digits", "-o", "x", "--epochs", "some"], 2, "--epochs must be a number or none. Got 'some' instead."),
    (["train", "digits", "-o", "x", "--rule", "votes"], 2, "--rule must be one of vote, average, last"),
    (["train", "digits", "-o", "x", "--kernel", "precomputed"], 2, "--kernel must be one of rbf, poly, linear,"),
    (["train", "digits", "-o", "x", "--random-state", "-1"], 2, "--random-state must be an int in the range [0, "),
    (["train", "digits", "-o", "x", "--memory-limit", "lots"], 2, "--memory-limit must be an int in the range"),
    (["train", "digits", "-o", "x", "--n-jobs", "0"], 2, "--n-jobs must be None or an int other than 0."),
    (["train", "digits", "-o", "x", "--test", "1.5"], 2, "--test must be a number in the range (0, 1), or a file."),
    (["train", "digits", "-o", "x", "--passes", "2"], 2, "--passes is for --stream, which was not given."),
    (["train", "digits", "-o", "x", "--stream"], 2, "--gamma must be a number with --stream, since"),
    (["train", "digits", "-o", "x", "--stream", "--estimator", "adatron"], 2, "--stream is not for Kernel"),
    (["train", "digits", "-o", "x", "--stream", "--gamma", "1", "--epochs", "2"], 2, "--epochs has no meaning with"),
    (["train", "digits", "-o", "x", "--stream", "--gamma", "1", "--rule", "holdout"], 2, "--rule holdout needs rows"),
    (["train", "digits", "-o", "x", "--stream", "--gamma", "1", "--certificate"], 2, "--certificate needs all data"),
    (["train", "digits", "-o", "x", "--stream", "--gamma", "1", "--test", "0.1"], 2, "--test must be a file with"),
    (["train", "-", "-o", "x", "--stream", "--gamma", "1"], 2, "needs --classes, since it can be read once only."),
    (["train", "digits", "-o", "x", "--max-expanded", "many"], 2, "--max-expanded must be a size such as 500MB"),
    (["train", "digits", "-o", "x", "--resize", "28"], 2, "--resize must be height and width, such as 28x28."),
    (["train", "digits", "-o", "x", "--delimiter", "ab"], 2, "--delimiter must be one character such as ; or tab. Got"),
    (["train", "digits", "-o", "x", "--delimiter", "c"], 2, "--delimiter must be one character such as ; or tab. Got"),
    (["train", "digits", "-o", "x", "--quote", "ab"], 2, "--quote must be one character, or '' for none. Got 'ab'"),
    (["train", "digits", "-o", "x", "--text", "a"], 2, "--text is for columns of tables."),
    (["predict", "digits.votron", "digits", "--rule", "best"], 2, "--rule must be one of vote"),
    (["predict", "digits.votron", "digits", "--normalize-vectors"], 2, "--normalize-vectors goes with --rule"),
    (["evaluate", "digits.votron", "digits", "--confidence", "95"], 2, "--confidence must be a number in the range (0"),
    (["certify", "digits.votron", "digits", "--delta", "0"], 2, "--delta must be a number in the range (0, 1)."),
    (["certify", "digits.votron", "digits", "--figure", "a.txt"], 2, "--figure must be a file that ends in .svg"),
    (["tune", "digits", "--folds", "1"], 2, "--folds must be an int in the range [2, inf). Got '1' instead."),
    (["tune", "digits", "--degrees", "x"], 2, "--degrees must be an int. Got 'x' instead."),
    (["tune", "digits", "--degrees", "0"], 2, "--degree must be an int in the range [1, "),
    (["tune", "digits", "--degrees", ","], 2, "--degrees must be values separated by commas."),
    (["tune", "digits", "--normalize-kernel", "maybe"], 2, "--normalize-kernel must be on, off or on,off."),
    (["tune", "digits", "-o", "-"], 2, "-o must be the name of a file here."),
    (["export", "digits.votron"], 2, "--onnx FILE or --compact FILE must be given."),
    (["export", "digits.votron", "--onnx", "-"], 2, "--onnx must be the name of a file."),
    (["data", "fetch", "cifar"], 2, "'cifar' is an invalid choice of NAME"),
    (["completion", "elvish"], 2, "'elvish' is an invalid choice of SHELL"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "words"), USAGE, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_what_is_typed_wrongly(arguments, status, words, here, capsys):
    before = sorted(here.iterdir())
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    if status:
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith(f"votron {arguments[0]}: " if arguments[0] in COMMANDS else "votron: ")
        assert err.rstrip().endswith((".", "?"))
    assert sorted(here.iterdir()) == before


def test_underscores_do_as_well(here, capsys):
    assert (
        main(["train", "days.csv", "--label", "Play", "-o", "under.votron", "--random_state=3", "--n_jobs", "1"]) == 0
    )
    assert library.load("under.votron").steps[-1][1].get_params()["random_state"] == 3


# -- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(here):
    """Files that are not what they should be."""
    made = here / "broken"
    made.mkdir(exist_ok=True)
    lines = (here / "days.csv").read_text().splitlines()
    (made / "one-class.csv").write_text("a,y\n1,no\n2,no\n")
    (made / "missing.csv").write_text("\n".join([lines[0], "Rainy,,True,no", *lines[2:]]) + "\n")
    (made / "word.csv").write_text("\n".join([lines[0], "Rainy,warm,True,no", *lines[2:]]) + "\n")
    (made / "lacks.csv").write_text("Outlook,Play\nRainy,no\n")
    (made / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (made / "empty.csv").write_text("")
    (made / "none.votron").write_text("this is no model")
    content = (here / "days.votron").read_bytes()
    (made / "short.votron").write_bytes(content[:-100])
    (made / "altered.votron").write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    np.save(made / "narrow.npy", np.ones((3, 5)))
    np.save(made / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    return made


MISTAKES = [
    (["train", "no-such.csv", "--label", "a", "-o", "x"], "Cannot read 'no-such.csv': No such file or directory."),
    (["train", "broken", "-o", "x"], "broken"),
    (["train", "days.csv", "-o", "x"], "with --label: it has 'Outlook', 'Temp', 'Windy', 'Play'."),
    (["train", "days.csv", "--label", "Ply", "-o", "x"], "Got 'Ply' instead. Did you mean 'Play'?"),
    (["train", "days.csv", "--label", "Play", "--drop", "temp", "-o", "x"], "Got 'temp' instead. Did you mean 'Temp'?"),
    (["train", "days.csv", "--label", "Play", "--text", "Tempo", "-o", "x"], "Tempo"),
    (["train", "days.csv", "--label", "Play", "--discrete", "Tem", "-o", "x"], "Tem"),
    (["train", "days.csv", "--label", "Play", "--probabilities", "Temp", "-o", "x"], "Temp"),
    (["train", "days.csv", "--label", "Play", "-o", "nowhere/x"], "there is no folder"),
    (["train", "days.csv", "--label", "Play", "-o", "broken"], "-o must be the name of a file for the model."),
    (["train", "days.csv", "--label", "Play", "-o", "x", "--test", "no.csv"], "Cannot read 'no.csv'"),
    (
        ["train", "days.csv", "--label", "Play", "-o", "x", "--estimator", "winnow"],
        "unless --binarize says where to cut (--binarize",
    ),
    (["train", "days.csv", "--label", "Play", "-o", "x", "--part", "test"], "only image sets have parts"),
    (["train", "broken/one-class.csv", "--label", "y", "-o", "x"], "at least 2 classes"),
    (["train", "broken/missing.csv", "--label", "Play", "-o", "x"], "line 2, column 'Temp'"),
    (["train", "broken/ragged.csv", "--label", "b", "-o", "x"], "Line 3 of 'broken/ragged.csv' must have 2 fields"),
    (["train", "broken/empty.csv", "--label", "b", "-o", "x"], "empty"),
    (["train", "broken/object.npy", "-o", "x", "--label", "0"], "object.npy"),
    (["predict", "no.votron", "days.csv"], "no.votron"),
    (["predict", "broken", "days.csv"], "broken"),
    (["predict", "broken/none.votron", "days.csv"], "'broken/none.votron' is not a model file"),
    (["predict", "broken/short.votron", "days.csv"], "broken/short.votron"),
    (["predict", "broken/altered.votron", "days.csv"], "broken/altered.votron"),
    (["predict", "days.votron", "no.csv"], "Cannot read 'no.csv'"),
    (["predict", "days.votron", "broken/word.csv", "-o", "x"], "Got 'warm' in line 2 instead."),
    (["predict", "days.votron", "broken/missing.csv", "-o", "x"], "line 2, column 'Temp'"),
    (["predict", "days.votron", "broken/lacks.csv", "-o", "x"], "There must be a column 'Temp' in 'broken/lacks.csv'"),
    (["predict", "digits.votron", "broken/narrow.npy", "-o", "x"], "X has 5 features, but"),
    (["predict", "days.votron", "days.csv", "-o", "nowhere/x"], "there is no folder"),
    (["predict", "days.votron", "days.csv", "--rule", "holdout"], "holdout"),
    (["evaluate", "days.votron", "days.csv", "--label", "Pla"], "Did you mean 'Play'?"),
    (["evaluate", "days.votron", "broken/lacks.csv"], "There must be a column 'Temp'"),
    (["certify", "days.votron", "broken/word.csv"], "Got 'warm' in line 2 instead."),
    (["inspect", "days.csv"], "'days.csv' is not a model file"),
    (["export", "days.votron", "--onnx", "x"], "export it with --rule average"),
    (["tune", "broken/one-class.csv", "--label", "y"], "class"),
    (["data", "describe", "no.csv"], "Cannot read 'no.csv'"),
    (["data", "convert", "days.csv", "days.xyz"], "data: --to must be one of 'csv', 'tsv', 'json', 'jsonl',"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), MISTAKES, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_mistakes_get_one_sentence(arguments, words, broken, capsys):
    before = sorted(broken.parent.rglob("*"))
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"votron {arguments[0]}: ")
    assert "Traceback" not in err
    assert "error in Votron" not in err
    assert sorted(broken.parent.rglob("*")) == before  # nothing is left behind


def test_errors_in_votron_are_called_so(here, capsys, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("votron.saving.read_manifest", fails)
    assert main(["inspect", "days.votron"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "votron inspect: This is an error in Votron, please report it; VOTRON_DEBUG=1 shows where. "
        "RuntimeError: two lines\n"
    )
    monkeypatch.setenv("VOTRON_DEBUG", "1")
    assert main(["inspect", "days.votron"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (MemoryError(), 1, "There is not enough memory: try --stream."),
        (KeyboardInterrupt(), 130, "Stopped. No file was written."),
        (OSError(28, "No space left on device", "big.votron"), 1, "big.votron: No space left on device."),
        (VotronError("A sentence."), 1, "votron train: A sentence."),
        (BoundViolatedError("cannot be"), 1, "This is an error in Votron"),
    ],
)
def test_what_happens_to_errors(error, status, words, here, capsys, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("votron.cli._train._train", fails)
    assert main(["train", "digits", "-o", "x"]) == status
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""


def test_warnings_are_sentences(here, capsys):
    (here / "noise.svm").write_text("".join(f"{i % 2} 1:1\n" for i in range(20)))
    assert main(["train", "noise.svm", "-o", "noise.votron", "--epochs", "none", "--kernel", "linear"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("votron train: Warning: Training made mistakes in each of 1000 epochs")
    assert err.count("\n") == 1


# -- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (1, 1), (0, 50), (3, 50), (25, 50), (49, 50), (50, 50), (7, 1000)])
def test_the_interval_is_exact(wrong, n, confidence):
    """At its ends, as many errors and more, or as few and fewer, have just the probability that is allowed."""
    from scipy.stats import binom

    low, high = confusion.clopper_pearson(wrong, n, confidence)
    assert 0 <= low <= wrong / n <= high <= 1
    tail = (1 - confidence) / 2
    assert low == 0 if wrong == 0 else binom.sf(wrong - 1, n, low) == pytest.approx(tail)
    assert high == 1 if wrong == n else binom.cdf(wrong, n, high) == pytest.approx(tail)


def test_confusions_are_scikit_learns():
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    rng = np.random.RandomState(0)
    true, predicted = rng.choice(list("abcd"), 200), rng.choice(list("abcd"), 200)
    found = confusion.Confusion()
    for part in np.array_split(np.arange(200), 3):
        found.add(true[part], predicted[part])
    labels = list("abcd")
    assert (found.matrix(labels) == confusion_matrix(true, predicted, labels=labels)).all()
    expected = precision_recall_fscore_support(true, predicted, labels=labels)
    mine = found.by_class(labels)
    for i, name in enumerate(("precision", "recall", "f1", "rows")):
        assert [entry[name] for entry in mine] == pytest.approx(expected[i].tolist())
    assert found.wrong == (true != predicted).sum()
    assert sum(count for _, _, count in found.largest()) == found.wrong


def test_labels_of_different_lengths_are_not_cut():
    found = confusion.Confusion()
    found.add(np.array(["a"]), np.array(["abc"]))
    assert found.counts == {("a", "abc"): 1}


def test_names_of_options_in_sentences():
    assert _parser._argparse_message("argument --a: not allowed with argument --b") == "--a and --b exclude each other."
    assert _parser._argparse_message("argument --a: invalid float value: 'x'") == "--a: invalid float value: 'x'."


# -- completions ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "votron.bash"
    with open(path, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        assert main(["completion", "bash"]) == 0
    return path


def completed(script, folder, *words):
    """Return what bash offers for the last of the words."""
    program = f"""
    source {shlex.quote(str(script))}
    COMP_WORDS=(votron {" ".join(map(shlex.quote, words))})
    COMP_CWORD={len(words)}
    COMPREPLY=()
    $(complete -p votron | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_bash_completes(bash_script, tmp_path):
    (tmp_path / "mine.csv").write_text("")
    done = subprocess.run(
        ["bash", "-c", f"source {bash_script}; complete -p votron"], capture_output=True, text=True, check=True
    )
    assert "votron" in done.stdout
    assert set(COMMANDS) <= completed(bash_script, tmp_path, "")
    assert completed(bash_script, tmp_path, "tr") == {"train"}
    assert {"--degree", "--early-stopping", "--alpha", "--label"} <= completed(bash_script, tmp_path, "train", "--")
    assert "mine.csv" in completed(bash_script, tmp_path, "train", "mi")
    assert "mine.csv" in completed(bash_script, tmp_path, "train", "-o", "mi")
    assert {"voted", "averaged"} <= completed(bash_script, tmp_path, "train", "--estimator", "")
    assert {"list", "convert"} <= completed(bash_script, tmp_path, "data", "")


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_completions(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert "votron" in out
    assert "estimator" in out


def test_without_shtab_a_sentence_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == 'votron completion: Completions need shtab: pip install "votron[cli]".\n'


@pytest.mark.slow
def test_json_is_one_document_everywhere(here, capsys):
    for arguments in (
        ["train", "days.csv", "--label", "Play", "-o", "json.votron"],
        ["evaluate", "days.votron", "days.csv"],
        ["evaluate", "digits.votron", "digits", "--all-rules"],
        ["certify", "days.votron", "days.csv"],
        ["inspect", "days.votron"],
        ["tune", "days.csv", "--label", "Play", "--folds", "2", "--degrees", "1", "--kernels", "poly"],
        ["data", "list"],
        ["data", "fetch", "digits"],
        ["data", "describe", "days.csv", "--label", "Play"],
        ["data", "convert", "days.csv", "json.parquet", "--label", "Play"],
        ["export", "days.votron", "--rule", "last", "--compact", "json.votron"],
    ):
        assert main([*arguments, "--json", "--quiet"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out), arguments
        assert err == ""
