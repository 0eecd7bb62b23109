"""Model files and data from strangers: what they hold is shown, and never obeyed by a terminal."""

import io
import json
import sys
import unicodedata
from pathlib import Path

import pytest
from cli_files import write_files

from votron.cli import main, output
from votron.saving import read_manifest
from votron.saving.container import Tensors, packed, read_content

EVIL = "\x1b[2J\x9b31m\x07\r\u202e\ud800\U000e0001"
"""Clears the screen, colours it, rings, goes back, turns the line, and is no character at all."""
IN_JSON = EVIL.replace("\ud800", "")
"""The same as far as JSON can have it."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    days = ["train", "days.csv", "--label", "Play", "-o", "days.votron", "--certificate"]
    assert main([*days, "--random-state", "0"]) == 0
    return tmp_path


def forged(value):
    """Return a part of a manifest with something evil in every text and every name that the format leaves free."""
    if isinstance(value, str):
        return value + IN_JSON
    if isinstance(value, list):
        return [forged(item) for item in value]
    if isinstance(value, dict):
        return {name + IN_JSON: forged(item) for name, item in value.items()}
    return value


def forge(path, target, classes, *names):
    """Write a model file with other labels, and evil texts in these parts of its manifest."""
    found = read_content(path, path)
    manifest = json.loads(found.manifest)
    Tensors(found.arrays).put_list("model.classes.texts", classes)
    manifest["certificate"] |= {"model": "m" + IN_JSON, "predictor": "p" + IN_JSON}
    for name in names:
        manifest[name] = forged(manifest[name])
    Path(target).write_bytes(packed(json.dumps(manifest).encode(), found.arrays))


def assert_harmless(text):
    for one in set(text):
        assert one in "\n" or one.isprintable() or unicodedata.category(one) == "Zs", repr(one)


def shown_by(capsys, *arguments, status=0):
    assert main(list(arguments)) == status
    out, err = capsys.readouterr()
    assert_harmless(out)
    assert_harmless(err)
    assert "error in Votron" not in err
    return out + err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_what_a_model_file_says_is_escaped(more, here, capsys):
    capsys.readouterr()
    forge("days.votron", "evil.votron", ["no" + IN_JSON, "yes" + IN_JSON], "votron", "provenance")
    assert IN_JSON in read_manifest("evil.votron").votron
    shown = shown_by(capsys, "inspect", "evil.votron", *more)
    assert ("\\u001b[2J" if more else "\\x1b[2J\\x9b31m\\x07\\r\\u202e") in shown
    if more:
        assert json.loads(shown)["classes"] == ["no" + IN_JSON, "yes" + IN_JSON]
        assert json.loads(shown)["provenance"]["label" + IN_JSON] == "Play" + IN_JSON


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_what_a_model_predicts_is_escaped(more, here, capsys):
    capsys.readouterr()
    forge("days.votron", "evil.votron", ["no" + IN_JSON, "yes" + IN_JSON])
    shown = shown_by(capsys, "evaluate", "evil.votron", "days.csv", "--all-rules", *more)
    assert ("no\\u001b" if more else "no\\x1b") in shown
    shown_by(capsys, "export", "evil.votron", "--rule", "last", "--compact", "small.votron", *more)
    shown_by(capsys, "certify", "evil.votron", "days.csv", *more, status=1)


def test_sentences_are_escaped(here, capsys):
    (here / "odd.csv").write_text("a,b\x1b[2J\n1,2\n", encoding="utf-8")
    shown = shown_by(capsys, "train", "odd.csv", "--label", "c\x1b[2J", "-o", "x", status=1)
    assert "\\x1b[2J" in shown
    shown_by(capsys, "data", "describe", "odd.csv")
    shown_by(capsys, "predict", "no\x1bsuch.votron", "odd.csv", status=1)
    shown_by(capsys, "train", "days.csv", "--\x1b[2J", status=2)


class Screen(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("screen", [True, False])
def test_predictions_are_escaped_on_a_screen_only(screen, here, capsys, monkeypatch):
    """In a file, or to another program, they are what the model learnt."""
    forge("days.votron", "evil.votron", ["no\x1b[2J", "yes"])
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", (Screen if screen else io.TextIOWrapper)(written, encoding="utf-8"))
    assert main(["predict", "evil.votron", "days.csv"]) == 0
    sys.stdout.flush()
    assert written.getvalue().split(b"\n")[1] == (b"no\\x1b[2J" if screen else b"no\x1b[2J")


def test_harmless_characters_stay():
    text = "zwölf 十二 двенадцать − ± · 🙂 a\u00a0b\u3000c"
    assert output.printable(text) == text
    assert output.printable("a\nb\tc", keep="\n") == "a\nb\\tc"
    assert json.loads(output.as_json({"a": text + EVIL})) == {"a": text + EVIL}


# -- standard output that lacks characters ----------------------------------------------------------------------------


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_screens_that_lack_characters(errors, here, monkeypatch):
    """As with LC_ALL=C, where Python takes the second: what was asked for is done, and so it has to be printed."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", errors=errors)
    monkeypatch.setattr("sys.stdout", stream)
    assert main(["certify", "days.votron", "days.csv"]) == 0
    assert main(["tune", "days.csv", "--label", "Play", "--folds", "2", "--kernels", "poly", "--degrees", "1"]) == 0
    stream.flush()
    text = written.getvalue().decode("ascii")
    assert "\\xb1" in text  # ±
