"""Data for a model are read as those of its training were: features, labels, headers, quotes, and through pipes."""

import re

import numpy as np
import pytest
from cli_files import DAYS, run, run_json, svmlight, write_files

from votron import load, save
from votron.saving import read_manifest

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def trained(capsys, *arguments):
    """Train with a seed and without a certificate."""
    return run_json(capsys, "train", *arguments, "-o", "m.votron", "--random-state", "0")


def zero_based(text):
    """Return svmlight whose features count from 0."""
    return " ".join(
        f"{int(word.partition(':')[0]) - 1}:{word.partition(':')[2]}" if ":" in word else word
        for word in text.replace("\n", " \n ").split(" ")
    ).replace(" \n ", "\n")


# -- features ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [[], ["--stream", "--estimator", "averaged", "--margin", "0"]])
def test_features_of_a_test_file_are_numbered_as_in_training(stream, here, capsys):
    """A file of zero-based features may have none of feature 0, which alone says from where they count."""
    text = zero_based(svmlight(200, 8))
    assert " 0:" in text
    (here / "z.svm").write_text(text)
    lines = [line for line in text.splitlines() if " 0:" not in line]
    assert len(lines) > 20
    (here / "test.svm").write_text("\n".join(lines) + "\n")
    made = trained(capsys, "z.svm", "--test", "test.svm", *stream)
    found = run_json(capsys, "evaluate", "m.votron", "test.svm")
    assert made["test_error"]["rows"] == found["rows"] == len(lines)
    assert made["test_error"]["wrong"] == found["wrong"]
    assert found["error"] < 0.2  # those rows were learnt
    assert read_manifest("m.votron").provenance["test"]["wrong"] == found["wrong"]
    assert run_json(capsys, "certify", "m.votron", "z.svm", "--test", "test.svm")["measured"]


def test_options_of_training_that_other_formats_do_not_have(here, capsys):
    rows = "".join(f"{k},5;é;{'ab'[k > 10]}\n" for k in range(20))
    (here / "train.csv").write_bytes(f"x;word;y\n{rows}".encode("latin-1"))
    run(capsys, "data", "convert", "train.csv", "new.parquet", "--encoding", "latin-1")
    more = ["--encoding", "latin-1", "--delimiter", ";", "--test", "new.parquet"]
    assert trained(capsys, "train.csv", "--label", "y", *more)["test_error"]["rows"] == 20
    assert run_json(capsys, "evaluate", "m.votron", "new.parquet")["rows"] == 20


# -- labels -----------------------------------------------------------------------------------------------------------

LABELS = {
    "leading zeros": ("01", "1a", "01"),
    "truth or perhaps": ("true", "maybe", "true"),
    "numbers and a word": ("1", "other", "1"),
    "Truth": ("True", "False", "False"),
    "yes and no": ("yes", "no", "no"),
    "signs": ("1", "-1", "-1"),
}


def labelled_csv(names, n=40):
    rng = np.random.RandomState(0)
    rows = rng.randint(0, 10, (n, 2)).tolist()
    return "a,b,y\n" + "".join(f"{a},{b},{names[int(a > 4)]}\n" for a, b in rows)


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, "y", "2", "-1"])
@pytest.mark.parametrize("case", list(LABELS))
def test_labels_of_one_class_are_of_the_kind_that_the_model_learnt(case, label, here, capsys):
    """Of a file with one class alone nobody can tell what its labels are: 01 is a number, but not here."""
    first, second, alone = LABELS[case]
    content = labelled_csv((first, second))
    (here / "all.csv").write_text(content)
    rows = [line for line in content.splitlines()[1:] if line.endswith("," + alone)]
    (here / "one.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    given = [] if label is None else ["--label", label]
    made = trained(
        capsys, "all.csv", "--label", label or "y", "--test", "one.csv", "--kernel", "linear", "--margin", "0"
    )
    assert len(made["classes"]) == 2
    found = run_json(capsys, "evaluate", "m.votron", "one.csv", *given)
    assert (found["wrong"], found["rows"]) == (0, len(rows))
    assert (made["test_error"]["wrong"], made["test_error"]["rows"]) == (0, len(rows))
    assert len(found["classes"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("label", ["y", "-1"])
@pytest.mark.parametrize("stream", [[], ["--stream", "--batch", "100", "--estimator", "averaged"]])
def test_numbers_that_are_labels_can_be_said_to_be_names(stream, label, here, capsys):
    """In a stream, a word among numbers comes as a surprise; the sentence says what to do."""
    lines = sorted(labelled_csv(("1", "other"), 300).splitlines()[1:], key=lambda line: line.endswith("other"))
    (here / "late.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    common = ["train", "late.csv", "--label", label, *stream, "-o", "m.votron"]
    if stream:
        assert "--discrete: " in run(capsys, *common, status=1).err
    run(capsys, *common, "--discrete", "y")
    assert load("m.votron").classes_.tolist() == ["1", "other"]
    (here / "numbers.csv").write_text(labelled_csv(("1", "2")))
    run(capsys, "train", "numbers.csv", "--label", label, *stream, "-o", "m.votron", "--discrete", "y")
    assert load("m.votron").classes_.tolist() == ["1", "2"]
    assert run_json(capsys, "evaluate", "m.votron", "numbers.csv")["error"] < 0.3
    if not stream:
        grid = ["--folds", "2", "--kernels", "poly", "--degrees", "1", "--epochs", "1"]
        run(capsys, "tune", "numbers.csv", "--label", label, "--discrete", "y", *grid)


def test_rows_to_predict_have_no_labels(here, capsys):
    """As tables with a column to be filled in do."""
    trained(capsys, "days.csv", "--label", "Play")
    expected = run(capsys, "predict", "m.votron", "days.csv").out
    empty = "".join(line.rpartition(",")[0] + ",\n" for line in DAYS.splitlines()[1:])
    (here / "empty.csv").write_text("Outlook,Temp,Windy,Play\n" + empty)
    assert run(capsys, "predict", "m.votron", "empty.csv").out == expected
    assert run(capsys, "predict", "m.votron", "empty.csv", "--label", "-1").out == expected
    assert "must have a label" in run(capsys, "evaluate", "m.votron", "empty.csv", status=1).err


# -- headers and quotes -----------------------------------------------------------------------------------------------


def test_files_without_a_header_stay_without(here, capsys):
    (here / "nh.csv").write_text("".join(DAYS.splitlines(keepends=True)[1:]))
    trained(capsys, "nh.csv", "--no-header", "--label", "-1", "--test", "nh.csv")
    assert read_manifest("m.votron").provenance["reading"]["header"] is False
    assert run(capsys, "predict", "m.votron", "nh.csv").out.count("\n") == 13
    assert run_json(capsys, "evaluate", "m.votron", "nh.csv")["rows"] == 12
    assert run_json(capsys, "certify", "m.votron", "nh.csv")["m"] == 12


def test_quotes_are_those_of_training(here, capsys):
    """A quote around words is part of them in one file and not in another, where that is guessed."""
    text = DAYS.replace("Rainy", "'Rainy'").replace("Sunny", "'Sunny'").replace("Cloudy", "'Cloudy'")
    (here / "single.csv").write_text(text)
    (here / "other.csv").write_text(text.replace("Windy", '"Windy"'))
    trained(capsys, "single.csv", "--label", "Play", "--quote", "'")
    assert read_manifest("m.votron").provenance["reading"]["quote"] == "'"
    expected = run(capsys, "predict", "m.votron", "single.csv", "--scores").out
    (here / "plain.csv").write_text(DAYS)
    assert run(capsys, "predict", "m.votron", "plain.csv", "--scores").out == expected
    trained(capsys, "single.csv", "--label", "Play", "--quote", "")
    assert read_manifest("m.votron").provenance["reading"]["quote"] == ""
    again = run(capsys, "predict", "m.votron", "single.csv", "--scores").out
    assert again != run(capsys, "predict", "m.votron", "plain.csv", "--scores").out
    assert again != run(capsys, "predict", "m.votron", "single.csv", "--scores", "--quote", "'").out


@pytest.mark.parametrize(
    "provenance",
    [
        {"data": "a friend"},
        {"reading": 3, "test": [], "stream": "x", "label": 2},
    ],
)
def test_provenance_may_be_anything(provenance, here, capsys):
    """Users of Python keep there what they like."""
    trained(capsys, "days.csv", "--label", "Play")
    save(load("m.votron"), "mine.votron", provenance=provenance)
    assert run(capsys, "predict", "mine.votron", "days.csv").out.count("\n") == 13
    assert run_json(capsys, "evaluate", "mine.votron", "days.csv", "--label", "Play")["rows"] == 12
    assert run_json(capsys, "certify", "mine.votron", "days.csv", "--label", "Play")["m"] == 12


# -- certificates of streams ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [["averaged"], ["voted", "--gamma", "0.1"]])
def test_certificates_of_streams(estimator, here, capsys):
    """One pass has one; for several no theorem holds that counts rows once, so there is a sentence."""
    common = ["large.svm", "--stream", "--estimator", *estimator, "-o", "m.votron"]
    run(capsys, "train", *common)
    assert run_json(capsys, "certify", "m.votron", "large.svm")["m"] == 300
    out = run(capsys, "train", *common, "--passes", "2", "--batch", "1kB").out
    assert re.search(r"epochs +2\n", out)
    err = run(capsys, "certify", "m.votron", "large.svm", status=1).err
    assert "2 passes over a stream" in err
