"""What `votron evaluate` and `votron train` draw and list."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import votron as package
from votron.cli import main
from votron.data import read_examples

TABLES = Path(__file__).parent.parent / "data" / "tables"
WEATHER = str(TABLES / "seattle-weather.csv")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a model of weather, one of penguins with holes, and one of digits."""
    folder = tmp_path_factory.mktemp("models")
    common = ["--random-state", "0", "--quiet"]
    weather = [WEATHER, "--label", "weather", "--drop", "date"]
    assert main(["train", *weather, "-o", str(folder / "weather.votron"), *common]) == 0
    penguins = [str(TABLES / "penguins.csv"), "--label", "Sex", "--missing", "drop", "--drop-unlabelled"]
    assert main(["train", *penguins, "-o", str(folder / "penguins.votron"), *common]) == 0
    assert main(["train", "digits", "-o", str(folder / "digits.votron"), *common, "--epochs", "1"]) == 0
    return folder


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def width_of(path):
    with Image.open(path) as image:
        return image.size[0]


def test_wrong_rows_are_those_of_the_table(models, tmp_path, capsys):
    out = tmp_path / "wrong.csv"
    assert main(["evaluate", str(models / "weather.votron"), WEATHER, "--json", "--wrong", str(out)]) == 0
    found, rows = json.loads(capsys.readouterr().out), rows_of(out)
    assert len(rows) == found["wrong"]
    lines = Path(WEATHER).read_text(encoding="utf-8").splitlines()
    for row in rows:
        assert lines[int(row["line"]) - 1].split(",")[-1] == row["true"] != row["predicted"]
        assert lines[int(row["line"]) - 1].split(",")[2] == row["temp_max"]
        assert int(row["line"]) == int(row["row"]) + 1
        classes = [name for name in row if name.startswith("score_")]
        assert max(classes, key=lambda name: float(row[name])) == f"score_{row['predicted']}"
        assert sum(float(row[name]) for name in row if name.startswith("p_")) == pytest.approx(1)


def test_numbers_count_the_rows_that_are_left_out(models, tmp_path, capsys):
    out = tmp_path / "wrong.csv"
    table = str(TABLES / "penguins.csv")
    command = ["evaluate", str(models / "penguins.votron"), table, "--missing", "drop", "--drop-unlabelled"]
    assert main([*command, "--wrong", str(out)]) == 0
    capsys.readouterr()
    lines = Path(table).read_text(encoding="utf-8").splitlines()
    rows = rows_of(out)
    assert rows
    for row in rows:
        assert lines[int(row["line"]) - 1].split(",")[-1] == row["true"]
        assert int(row["line"]) == int(row["row"]) + 1


def test_images_have_numbers_or_files(models, tmp_path, capsys):
    digits = str(models / "digits.votron")
    out, figure = tmp_path / "wrong.csv", tmp_path / "page.png"
    command = ["evaluate", digits, "digits", "--part", "test", "--wrong", str(out), "--figure", str(figure)]
    assert main(command) == 0
    model, data = package.load(digits), read_examples("digits", part="test")
    wrong = np.flatnonzero(model.predict(data.X) != data.y)
    assert [int(row["row"]) - 1 for row in rows_of(out)] == wrong.tolist()
    assert "line" not in rows_of(out)[0]
    assert width_of(figure) == 2000
    folder = tmp_path / "images"
    for i in (*wrong[:2], 0):
        place = folder / str(data.y[i])
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(data.X[i].reshape(8, 8).astype(np.uint8)).save(place / f"{i}.png")
    assert main(["evaluate", digits, str(folder), "--wrong", str(out)]) == 0
    capsys.readouterr()
    assert {Path(row["file"]).stem for row in rows_of(out)} == {str(i) for i in wrong[:2]}


def test_a_curve_is_of_the_one_training(tmp_path, capsys):
    plain, drawn, curve = tmp_path / "plain.votron", tmp_path / "drawn.votron", tmp_path / "curve.png"
    command = ["train", WEATHER, "--label", "weather", "--drop", "date", "--test", "0.3", "--quiet"]
    command += ["--random-state", "1"]
    assert main([*command, "-o", str(plain)]) == 0
    assert main([*command, "-o", str(drawn), "--curve", str(curve)]) == 0
    capsys.readouterr()
    one, other = (package.load(path)[-1].record_ for path in (plain, drawn))
    np.testing.assert_array_equal(one.example, other.example)
    assert width_of(curve) == 2000
    command[command.index("0.3")] = WEATHER
    assert main([*command, "-o", str(plain), "--curve", str(tmp_path / "file.pdf")]) == 0
    capsys.readouterr()
    assert (tmp_path / "file.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--curve", "c.png"], "--curve is for --estimator voted with --test"),
        (["--curve", "c.txt", "--test", "0.2"], "--curve: must be a file that ends in"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused_before_training(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "digits", "-o", "model.votron", *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
