"""The report: every number is what `votron evaluate` prints, everything is escaped, and every model has its page."""

import html
import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from fitted_models import classifiers, pipelines
from html_pages import Page
from paper import paper_perceptron
from PIL import Image
from report_models import TABLES, train_models
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import votron
from votron import (
    AveragedPerceptronClassifier,
    VotedPerceptronClassifier,
    table_classifier,
)
from votron._util.text import percent
from votron.cli import main
from votron.report import write_report

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with models of bird strikes, of penguins and of digits."""
    found = tmp_path_factory.mktemp("models")
    train_models(found)
    return found


def page_of(path):
    text = Path(path).read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.tags
    assert "link" not in page.tags
    outside = [reference for reference in page.references if reference[0] != "#"]
    assert all(reference.startswith("data:image/png;base64,") for reference in outside)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)
    assert "default-src 'none'" in text
    return page


def report(folder, capsys, model, *command):
    """Write a page; return it, and what the command printed as JSON."""
    out = folder / "page.html"
    assert main(["report", str(folder / model), *map(str, command), "-o", str(out), "--json", "--quiet"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["bytes"] == out.stat().st_size < 2_000_000
    return page_of(out), printed


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "data"),
    [
        ("linear.votron", [TABLES / "birdstrikes.csv"]),
        ("penguins.votron", [TABLES / "penguins.csv", "--missing", "drop", "--drop-unlabelled"]),
        ("digits.votron", ["digits", "--part", "test", "--confidence", "0.9"]),
        ("digits.votron", ["digits", "--part", "test", "--rule", "last", "--normalize-vectors"]),
    ],
)
def test_numbers_are_those_of_evaluate(folder, capsys, model, data):
    page, printed = report(folder, capsys, model, *data)
    rules = ["--all-rules"] if model != "linear.votron" else []
    assert main(["evaluate", str(folder / model), *map(str, data), *rules, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(printed[name] == found[name] for name in ("error", "wrong", "rows", "interval"))
    interval = " to ".join(map(percent, found["interval"]))
    assert f"Error {percent(found['error'])}: {found['wrong']:,} of {found['rows']:,} rows wrong" in page.words
    assert f"interval {interval}" in page.words
    for words in (f"AUC{found['auc']:.4f}", f"Macro F1{found['macro_f1']:.3f}", f"log-loss is {found['log_loss']:.4g}"):
        assert words in page.words
    for entry, line in zip(found["classes"], found["confusion"], strict=True):
        name, rows, wrong, error, _, *shares = page.row(str(entry["label"]))
        assert (rows, wrong) == (f"{entry['rows']:,}", f"{entry['wrong']:,}")
        assert error == percent(entry["wrong"] / entry["rows"])
        expected = (entry[key] for key in ("precision", "recall", "f1"))
        assert shares == ["" if share is None else f"{share:.3f}" for share in expected]
        assert [name, *(f"{n:,}" if n else "·" for n in line)] in page.rows
    for each in found.get("rules", []):
        name = each["rule"] + ", normalised" * each["normalize_vectors"]
        [line] = [row for row in page.rows if row[0].removesuffix(" (this model)") == name]
        cells = [f"{each['wrong']:,}", percent(each["error"]), " to ".join(map(percent, each["interval"]))]
        assert [cell.replace("\u00a0", " ") for cell in line[1:]] == cells
    assert sum("(this model)" in row[0] for row in page.rows) == bool(rules)


def test_held_out_rows_are_those_of_training(folder, capsys):
    table = TABLES / "birdstrikes.csv"
    page, printed = report(folder, capsys, "birds.votron", table, "--held-out")
    known = votron.saving.read_manifest(folder / "birds.votron").provenance["test"]
    assert (printed["wrong"], printed["rows"]) == (known["wrong"], known["rows"])
    assert "held out, and not used for training" in page.words
    assert re.search(r"Votes: \d+ % for \w+ and \d+ % for \w+, each class", page.words)
    lines = table.read_text(encoding="utf-8").splitlines()
    wrong = [(row, below) for row, below in zip(page.rows, page.rows[1:], strict=False) if below[0][:5] == "Line "]
    assert len(wrong) == min(25, known["wrong"])
    for (row, true, predicted, _), (below,) in wrong:
        number = int(row.replace(",", ""))
        assert below.startswith(f"Line {number + 1:,}: Airport Name: ")
        assert f",{true}," in lines[number]
        assert true != predicted
        assert html.unescape(below).split("Airport Name: ")[1].split(";")[0] == lines[number].split(",")[0]


def test_a_page_on_training_rows_says_so(folder, capsys):
    page, _ = report(folder, capsys, "digits.votron", "digits")
    assert "The model was trained on these rows" in page.words
    page, _ = report(folder, capsys, "digits.votron", "digits", "--part", "test")
    assert "The model was trained on" not in page.words
    assert "Guaranteed: nothing, since gamma='scale' was computed from these data" in page.words
    assert pictures_of_bounds(page) == []


def test_data_are_described(folder, capsys):
    page, _ = report(folder, capsys, "linear.votron", TABLES / "birdstrikes.csv")
    frame = pl.read_csv(TABLES / "birdstrikes.csv")
    speed = frame["Speed IAS in knots"]
    missing, distinct = speed.null_count(), speed.drop_nulls().n_unique()
    cells = ["Speed IAS in knots", "number", f"{missing:,}", f"{distinct:,}", f"{speed.min():g} to {speed.max():g}"]
    assert page.row("Speed IAS in knots") == cells
    value, n = frame["Phase of flight"].value_counts(sort=True).row(0)
    assert page.row("Phase of flight")[-1].startswith(f"{value} ({n:,}), ")
    assert page.row("Flight Date")[1] == "date"
    model = votron.load(folder / "linear.votron")
    for label, features in votron.explanations.strongest_features(model, 8).items():
        assert label in page.words
        assert all(name in page.words for name, _ in features)


# -- what comes from data ---------------------------------------------------------------------------------------------


def test_all_is_escaped(tmp_path, capsys):
    """A column, a label, a cell, a title, a name of a file that are markup, or that a page must not hold."""
    rows = ["kind,<script>alert(1)</script>,note"]
    for i in range(40):
        label = EVIL if i % 2 else "no & \u202e $x^$"
        rows.append(f"{label},{i % 5},{EVIL if i % 3 else '</td><img src=x onerror=alert(1)>'}")
    data, model, out = tmp_path / "<b>.csv", tmp_path / "<i>.votron", tmp_path / "out.html"
    data.write_text("\n".join(rows), encoding="utf-8")
    for estimator in ("voted", "averaged"):
        train = ["train", str(data), "--label", "kind", "-o", str(model), "--estimator", estimator, "--quiet"]
        assert main(train) == 0
        assert main(["report", str(model), str(data), "-o", str(out), "--quiet", "--title", f"{EVIL} & more"]) == 0
        page = page_of(out)
        assert all(words in page.words for words in (EVIL, f"{EVIL} & more", "<b>.csv", "no & \ufffd $x^$"))
        assert "\u202e" not in page.words
    capsys.readouterr()


def pictures_of_bounds(page):
    """What those hear who do not see them."""
    said = [value.replace("\u00a0", " ") for name, value in page.attributes if name == "aria-label"]
    return [each for each in said if each.startswith("Bounds on the error of this model: ")]


def test_a_certificate_that_says_something_is_drawn(tmp_path):
    """Its useful bounds and what was measured are in the picture, and in words for those who do not see it."""
    X, y = load_digits(n_class=2, return_X_y=True)
    model = paper_perceptron(degree=2, gamma=1.0, epochs=None, rule="last", normalize_kernel=True, random_state=0)
    found = votron.certify(model.fit(X[:-200], y[:-200]), X[:-200], y[:-200], comparators=())
    page = page_of(write_report(model, X[-200:], y[-200:], tmp_path / "a.html", certificate=found))
    (said,) = pictures_of_bounds(page)
    assert found.summary in page.words
    mine = [each for each in found.bounds if each.applies and each.quantity == "error"]
    assert any(each.error < 0.5 for each in mine)
    for bound in mine:
        assert ([bound.name, bound.kind] in [row[:2] for row in page.rows]) == (bound.error < 0.5)
        assert (f"{bound.name}, {bound.kind}, at most {percent(bound.error)}" in said) == (bound.error < 0.5)
    assert "measured on 200 rows" in said


def test_certificates_in_model_files(folder, capsys):
    page, _ = report(folder, capsys, "certified.votron", "digits", "--part", "test")
    assert "Guaranteed: " in page.words
    page, _ = report(folder, capsys, "certified.votron", "digits", "--part", "test", "--rule", "vote")
    assert "There is no certificate for this model as it predicts here" in page.words


# -- every model, every kind of data ----------------------------------------------------------------------------------


CLASSES = ("voted", "voted csr", "averaged", "adatron", "winnow", "bayes", "compact voted", "compact last")


def models():
    for name, (model, rows) in (classifiers() | pipelines()).items():
        if name in CLASSES or name.startswith("table") or "Vectorizer" in name:
            yield name, model, rows


@pytest.mark.parametrize(("name", "model", "X"), list(models()), ids=lambda each: each if isinstance(each, str) else "")
def test_every_model_has_its_page(name, model, X, tmp_path):
    given = np.asarray(model.predict(X))
    y = given.copy()
    y[0] = next(label for label in model.classes_ if label != given[0])
    page = page_of(write_report(model, X, y, tmp_path / "page.html", title=name))
    assert f"of {len(y)} rows wrong" in page.words


def test_frames_and_matrices_have_the_same_page(tmp_path):
    pages = []
    table = pd.read_csv(TABLES / "seattle-weather.csv").drop(columns="date")
    y = table.pop("weather")
    for frame in (table, pl.from_pandas(table)):
        estimator = AveragedPerceptronClassifier(random_state=0)
        model = table_classifier(frame, estimator).fit(frame[:1000], y[:1000].tolist())
        pages.append(page_of(write_report(model, frame[1000:], y[1000:].to_numpy(), tmp_path / "a.html")))
    assert pages[0].rows == pages[1].rows
    digits, labels = load_digits(return_X_y=True)
    model = VotedPerceptronClassifier(epochs=1, random_state=0).fit(digits[:500], labels[:500])
    for X in (digits[1500:], sp.csr_matrix(digits[1500:])):
        pages.append(page_of(write_report(model, X, labels[1500:], tmp_path / "a.html")))
    assert pages[2].rows == pages[3].rows
    assert pages[2].tags.count("img") == pages[3].tags.count("img") > 3


def test_images_in_colour_and_in_folders(folder, tmp_path, capsys):
    rng = np.random.default_rng(0)
    for label in ("red", "blue"):
        (tmp_path / "images" / label).mkdir(parents=True)
        for i in range(8):
            pixels = rng.integers(0, 150, (12, 12, 3), dtype=np.uint8)
            pixels[..., 0 if label == "red" else 2] += 40
            Image.fromarray(pixels).save(tmp_path / "images" / label / f"{i}.png")
    images = str(tmp_path / "images")
    assert main(["train", images, "-o", str(tmp_path / "model.votron"), "--quiet", "--epochs", "1"]) == 0
    capsys.readouterr()
    page, printed = report(tmp_path, capsys, "model.votron", images)
    assert printed["rows"] == 16
    assert page.tags.count("img") > printed["wrong"]


def test_labels_that_the_model_has_never_seen(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AveragedPerceptronClassifier(random_state=0).fit(X[y < 2], np.array(["a", "b"])[y[y < 2]])
    page = page_of(write_report(model, X, np.array(["a", "b", "new"])[y], tmp_path / "a.html"))
    assert page.row("new")[:4] == ["new", "50", "50", "100.0 %"]
    page = page_of(write_report(model, X[y < 2], np.array(["a", "b"])[y[y < 2]], tmp_path / "a.html"))
    assert "0 of 100 rows wrong" in page.words


def test_many_classes_show_the_largest_confusions(tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], 3 * y[:300] + np.arange(300) % 3
    model = AveragedPerceptronClassifier(epochs=1, random_state=0).fit(X, y)
    page = page_of(write_report(model, X, y, tmp_path / "a.html"))
    assert "confusion" not in [value for name, value in page.attributes if name == "class"]


def test_large_data_are_counted_in_parts(tmp_path, monkeypatch):
    """Whatever the size of a batch, the page has the same numbers."""
    X, y = load_digits(return_X_y=True)
    model = VotedPerceptronClassifier(epochs=1, random_state=0).fit(X[:300], y[:300])
    pages = []
    for size in (20_000, 200):
        monkeypatch.setattr("votron.report.findings._BATCH", size)
        pages.append(page_of(write_report(model, X[300:800], y[300:800], tmp_path / "a.html")))
    assert pages[0].rows == pages[1].rows


def test_without_matplotlib_the_page_has_no_figures(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = VotedPerceptronClassifier(random_state=0).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = page_of(write_report(model, X, y, tmp_path / "a.html"))
    assert "The figures are left out, for they need matplotlib" in page.words
    assert "svg" not in page.tags


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_an_interrupted_report_leaves_the_file_as_it_was(folder, tmp_path, capsys, monkeypatch):
    out = tmp_path / "page.html"
    out.write_text("before", encoding="utf-8")
    command = ["report", str(folder / "digits.votron"), "digits", "--part", "test", "--quiet", "-o"]
    with monkeypatch.context() as patched:
        patched.setattr("votron.report.sections_of", lambda *_: signal.raise_signal(signal.SIGINT))
        assert main([*command, str(out)]) == 130
    assert out.read_text(encoding="utf-8") == "before"
    capsys.readouterr()
    assert main([*command, "-"]) == 0
    Page(capsys.readouterr().out)


def test_python_refuses_what_it_cannot_report(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AveragedPerceptronClassifier(random_state=0).fit(X, y)
    for arguments, options, words in (
        ((X, y[:3]), {}, "150 rows"),
        ((X[:0], y[:0]), {}, "no rows"),
        ((X, y), {"image_shape": (3, 3)}, "pixels"),
    ):
        with pytest.raises(ValueError, match=words):
            write_report(model, *arguments, tmp_path / "a.html", **options)
    with pytest.raises(NotFittedError):
        write_report(AveragedPerceptronClassifier(), X, y, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model", [LogisticRegression(max_iter=5000), RidgeClassifier(), HistGradientBoostingClassifier(max_iter=3)]
)
def test_any_classifier_has_its_page(model, tmp_path):
    """Without the parts that need a record, and with the curves of two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), model).fit(X[::2], y[::2])
    page = page_of(write_report(pipe, X[1::2], y[1::2], tmp_path / "a.html"))
    assert f"Error {percent(1 - pipe.score(X[1::2], y[1::2]))}: " in page.words
    assert {"errors", "confusions", "probabilities", "wrong", "model", "made"} <= set(page.ids)
    assert not {"training", "reasons", "certificate"} & set(page.ids)
    said = [value for name, value in page.attributes if name == "aria-label"]
    assert {"ROC curve of 1", "Precision against recall of 1"} <= set(said)
