"""`votron explain`, `votron data suspects`, `train --keep-names` and the features of `inspect`."""

import os

import numpy as np
import pytest
from cli_files import DAYS, run, run_json, write_files

import votron
from votron.cli import main
from votron.data import load_image_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("reasons")
    write_files(made)
    head, *lines = DAYS.splitlines()
    named = [f"id,{head}", *(f"day {i},{line}" for i, line in enumerate(lines, 1))]
    (made / "named.csv").write_text("\n".join(named) + "\n", encoding="utf-8")
    before = os.getcwd()
    os.chdir(made)
    train = ["--random-state", "0", "--quiet"]
    try:
        assert main(["train", "digits", "-o", "digits.votron", "--keep-names", "--test", "0.2", *train]) == 0
        assert main(["train", "days.csv", "--label", "Play", "-o", "days.votron", *train]) == 0
        assert main(["train", "named.csv", "--label", "Play", "--keep-names", "id", "-o", "named.votron", *train]) == 0
        linear = ["--kernel", "linear", "--rule", "average"]
        assert main(["train", "days.csv", "--label", "Play", "-o", "linear.votron", *linear, *train]) == 0
        text = ["train", "text.csv", "--label", "topic", "--text", "words", "--estimator", "averaged", *train]
        assert main([*text, "-o", "text.votron"]) == 0
        assert main([*text, "--text-features", "tfidf", "-o", "words.votron"]) == 0
    finally:
        os.chdir(before)
    return made


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_rows_are_explained_in_the_order_asked_for(here, capsys):
    labels = run(capsys, "predict", "days.votron", "days.csv").out.split()[1:]
    found = run_json(capsys, "explain", "days.votron", "days.csv", "--row", "3,1,5-6", "--top", "2")["rows"]
    assert [each["row"] for each in found] == ["row 3", "row 1", "row 5", "row 6"]
    assert [each["label"] for each in found] == [labels[i - 1] for i in (3, 1, 5, 6)]
    assert all(len(each["examples"]["for"]) <= 2 for each in found)
    text = run(capsys, "explain", "days.votron", "days.csv", "--row", "3,1").out
    assert text.startswith("row 3: yes rather than no, by ")
    assert "\n\nrow 1: no rather than yes, by " in text
    assert "Outlook = " in text
    assert "examples" not in text
    assert "examples" in run(capsys, "explain", "days.votron", "days.csv", "--row", "3", "--verbose").out


def test_training_rows_have_the_names_that_were_kept(here, capsys):
    found = run_json(capsys, "explain", "named.votron", "days.csv", "--row", "1", "--top", "20")["rows"][0]
    terms = found["examples"]["for"] + found["examples"]["against"]
    assert {each["name"] for each in terms} <= {f"day {i}" for i in range(1, 13)}
    assert all(each["name"] == f"day {each['index'] + 1}" for each in terms)
    assert votron.load("named.votron").feature_names_in_.tolist() == ["Outlook", "Temp", "Windy"]
    assert b"day 1" not in (here / "days.votron").read_bytes()


def test_rows_that_a_test_held_out_do_not_shift_the_names(here, capsys):
    digits, saved = load_image_set("digits"), votron.load("digits.votron")
    for row, name in list(saved.row_names_.items())[:50]:
        at = list(saved.support_).index(row)
        np.testing.assert_array_equal(saved.support_vectors_[at], digits.X[int(name.removeprefix("row ")) - 1])
    assert run(capsys, "explain", "digits.votron", "digits", "--part", "test", "--row", "2").err == ""


def test_a_figure_is_drawn(here, capsys):
    run(capsys, "explain", "digits.votron", "digits", "--part", "test", "--row", "1", "--figure", "why.svg")
    assert (here / "why.svg").read_bytes().startswith(b"<?xml")


def test_linear_models_show_their_strongest_features(here, capsys):
    assert "strongest features" not in run(capsys, "inspect", "linear.votron").out
    out = run(capsys, "inspect", "linear.votron", "--features", "3").out
    assert "strongest features" in out
    assert "Outlook=Sunny" in out
    assert "words: " in run(capsys, "inspect", "words.votron").out
    found = run_json(capsys, "inspect", "words.votron", "--features", "2")["strongest_features"]
    assert {label: len(features) for label, features in found.items()} == {"sport": 2, "weather": 2}
    assert "strongest_features" not in run_json(capsys, "inspect", "words.votron", "--features", "0")


def test_suspects_are_shown_with_their_labels(here, capsys):
    (here / "wrong.csv").write_text(DAYS + "Rainy,56,True,yes\n" + "Rainy,57,True,no\n" * 3, encoding="utf-8")
    train = ["train", "wrong.csv", "--label", "Play", "--margin", "2", "--random-state", "0", "-o", "wrong.votron"]
    assert main([*train, "--quiet"]) == 0
    found = run_json(capsys, "data", "suspects", "wrong.votron", "wrong.csv", "--top", "3")["suspects"]
    assert (found[0]["row"], found[0]["label"], found[0]["taken_for"]) == (13, "yes", "no")
    assert found[0]["values"] == {"Outlook": "Rainy", "Temp": 56, "Windy": True}
    assert found[0]["suspicion"] == votron.load("wrong.votron").suspects(1).suspicion[0]
    out = run(capsys, "data", "suspects", "wrong.votron", "wrong.csv", "--top", "1").out
    assert out.splitlines()[1].startswith("row 13  yes    no")
    assert "Rainy, 56, True" in out
    held_out = run_json(capsys, "data", "suspects", "digits.votron", "digits", "--top", "5")["suspects"]
    assert all(each["name"] == f"row {each['row']}" for each in held_out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["data", "suspects", "text.votron", "text.csv"], "has no record of mistakes"),
        (["data", "suspects", "digits.votron", "digits", "--part", "test"], "is not what the model was trained on"),
        (["inspect", "days.votron", "--features", "3"], "--features is for linear models"),
        (
            ["train", "days.csv", "--label", "Play", "-o", "x.votron", "--keep-names", "Day"],
            "--keep-names must be one column of several in a table. Got 'Day'",
        ),
        (
            ["train", "days.csv", "--label", "Play", "-o", "x.votron", "--keep-names", "--estimator", "averaged"],
            "--keep-names is for models that keep training rows",
        ),
        (
            ["train", "large.svm", "--stream", "-o", "x.votron", "--keep-names", "--gamma", "1"],
            "--keep-names needs all data at once",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(arguments, sentence, here, capsys):
    capsys.readouterr()
    assert main(arguments) in (1, 2)
    err = " ".join(capsys.readouterr().err.split())
    assert sentence in err
    assert "error in Votron" not in err
    assert not (here / "x.votron").exists()
