"""What each command does: its files, its numbers, and what it says."""

import csv
import gzip
import io
import json
import re
import sys

import numpy as np
import pytest
from cli_files import DAYS, run, run_json
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

import votron
from votron.cli import main
from votron.data import load_image_set
from votron.saving import read_manifest


def stdin_of(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


# -- train ------------------------------------------------------------------------------------------------------------


def test_training_is_what_the_library_does(here):
    digits = load_image_set("digits")
    expected = votron.VotedPerceptronClassifier(random_state=0).fit(digits.X, digits.y)
    found = votron.load("digits.votron")
    assert found.record_.equals(expected.record_)
    assert found.get_params() == expected.get_params()


@pytest.mark.parametrize("estimator", ["voted", "averaged", "adatron", "winnow", "naive-bayes"])
def test_every_estimator(estimator, here, capsys):
    more = ["--random-state", "0"] if estimator in ("voted", "averaged", "winnow") else []
    more += ["--binarize", "0"] if estimator == "winnow" else []
    out, err = run(capsys, "train", "days.csv", "--label", "Play", "-o", "any.votron", "--estimator", estimator, *more)
    assert err == ""
    assert f"estimator       {estimator} (" in out
    assert "classes         2: no, yes" in out
    assert re.search(r"training error  \d+\.\d+ %, \d+ of 12 rows", out)
    labels = run(capsys, "predict", "any.votron", "days.csv").out.split()
    assert labels[0] == "label"
    assert set(labels[1:]) == {"no", "yes"}
    assert len(labels) == 13


def test_the_summary_fits_a_terminal(here, capsys):
    out = run(
        capsys, "train", "days.csv", "--label", "Play", "-o", "any.votron", "--test", "0.3", "--random-state", "0"
    ).out
    assert max(map(len, out.split("\n"))) <= 80
    assert re.search(r"test error +\d", out)
    assert re.search(r"95 % interval \d", out)
    for name in ("kernel", "rule", "epochs", "mistakes", "support", "random state", "seconds", "model"):
        assert re.search(rf"^{name} ", out, re.MULTILINE)


def test_a_drawn_seed_can_be_given_again(here, capsys, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    first = run_json(capsys, "train", "digits", "-o", "a.votron")
    seed = first["params"]["random_state"]
    assert isinstance(seed, int)
    run(capsys, "train", "digits", "-o", "b.votron", "--random-state", seed)
    a, b = votron.load("a.votron"), votron.load("b.votron")
    assert a.record_.equals(b.record_)
    run(capsys, "train", "digits", "-o", "b.votron", "--random-state", seed)
    once = (here / "b.votron").read_bytes()
    run(capsys, "train", "digits", "-o", "b.votron", "--random-state", seed)
    assert (here / "b.votron").read_bytes() == once
    assert read_manifest("b.votron").provenance["created"] == "2001-09-09T01:46:40Z"


def test_provenance_says_what_one_wants_to_know(here):
    import hashlib

    found = read_manifest("days.votron").provenance
    assert found["data"] == {
        "name": "days.csv",
        "format": "csv",
        "rows": 12,
        "sha256": hashlib.sha256(DAYS.encode()).hexdigest(),
    }
    assert found["label"] == "Play"
    assert found["command"] == "votron train days.csv --label Play -o days.votron --certificate --random-state 0"
    assert found["votron"] == votron.__version__
    assert {"python", "numpy", "scikit-learn", "created"} <= set(found)


@pytest.mark.slow
def test_held_out_rows_are_those_that_certify_takes(here, capsys):
    run(capsys, "train", "digits", "-o", "held.votron", "--test", "0.2", "--random-state", "3")
    test = read_manifest("held.votron").provenance["test"]
    assert (test["fraction"], test["seed"], test["rows"]) == (0.2, 3, 240)
    found = run_json(capsys, "certify", "held.votron", "digits")
    assert found["m"] == 960
    measured = found["measured"][found["predictor"]]
    assert (measured["total"], measured["n"]) == (test["wrong"], 240)


def test_a_certificate_is_computed_when_asked_for(here, capsys):
    assert read_manifest("digits.votron").certificate is None
    out = run(capsys, "train", "days.csv", "--label", "Play", "-o", "any.votron", "--certificate").out
    assert "certificate" in out
    assert read_manifest("any.votron").certificate.model == "VotedPerceptronClassifier"
    days = ["train", "days.csv", "--label", "Play", "-o", "any.votron", "--certificate"]
    assert "certificate     none: " in run(capsys, *days, "--estimator", "naive-bayes").out


def test_a_model_to_standard_output(here, capfdbinary):
    assert main(["train", "days.csv", "--label", "Play", "-o", "-", "--random-state", "0"]) == 0
    out, err = capfdbinary.readouterr()
    (here / "piped.votron").write_bytes(out)
    assert votron.load("piped.votron").steps[-1][1].classes_.tolist() == ["no", "yes"]
    assert b"standard output" in err
    assert main(["train", "days.csv", "--label", "Play", "-o", "-", "--quiet"]) == 0
    assert capfdbinary.readouterr().err == b""


@pytest.mark.parametrize(("missing", "rows"), [("drop", 10), ("mean", 12), ("median", 12), ("most-frequent", 12)])
def test_missing_values(missing, rows, here, capsys):
    text = DAYS.replace("Rainy,55", "Rainy,").replace("Sunny,87", "Sunny,unknown")
    (here / "holes.csv").write_text(text)
    options = ["--label", "Play", "-o", "holes.votron", "--missing", missing, "--na-values", "unknown"]
    found = run_json(capsys, "train", "holes.csv", *options)
    assert found["rows"] == rows
    if missing == "drop":
        err = run(capsys, "predict", "holes.votron", "holes.csv", status=1).err
        assert "--missing" in err
        assert run_json(capsys, "evaluate", "holes.votron", "holes.csv", "--missing", "drop")["rows"] == 10
    else:
        labels = run(capsys, "predict", "holes.votron", "holes.csv").out.split()
        assert len(labels) == 13  # it is filled in, and "unknown" still means missing


@pytest.mark.parametrize("features", ["hashing", "tfidf"])
def test_texts(features, here, capsys):
    options = ["--label", "topic", "--text", "words", "--text-features", features, "--estimator", "averaged"]
    found = run_json(capsys, "train", "text.csv", *options, "-o", "text.votron", "--random-state", "0")
    assert found["training_error"]["wrong"] == 0
    (here / "new.csv").write_text('words\n"snow, wind and sun"\n"the team and the goal"\n')
    assert run(capsys, "predict", "text.votron", "new.csv").out == "label\nweather\nsport\n"


def test_matrices_and_scaling(here, capsys):
    X, y = load_digits(return_X_y=True)
    np.savez(here / "digits.npz", X=X[:300], y=y[:300])
    found = run_json(capsys, "train", "digits.npz", "-o", "scaled.votron", "--numeric", "minmax")
    assert found["features"] == 64
    np.save(here / "rows.npy", X[300:310])
    labels = run(capsys, "predict", "scaled.votron", "rows.npy").out.split()[1:]
    assert np.mean(np.array(labels, dtype=int) == y[300:310]) >= 0.7
    (here / "sparse.svm").write_text("".join(f"{i % 2} {i + 1}:1 {i + 300}:2\n" for i in range(40)))
    err = run(capsys, "train", "sparse.svm", "-o", "any.votron", "--numeric", "standard", status=2).err
    assert "--numeric must be keep or maxabs for sparse data" in err


def test_options_for_tables(here, capsys):
    for option in ("--text", "--discrete"):
        err = run(capsys, "train", "large.svm", "-o", "any.votron", option, "a", status=1).err
        assert f"{option}: " in err
        assert "is for tables" in err
    run(capsys, "train", "large.svm", "-o", "numbers.votron")
    assert "for tables" in run(capsys, "predict", "numbers.votron", "large.svm", "--missing", "blank", status=2).err


def test_compressed_input_is_not_expanded_without_limit(here, capsys):
    (here / "bomb.csv.gz").write_bytes(gzip.compress(DAYS.encode() + b"Rainy,1,True,no\n" * 20_000))
    options = ["--label", "Play", "-o", "bomb.votron"]
    err = run(capsys, "train", "bomb.csv.gz", *options, "--max-expanded", "100kB", status=1).err
    assert "--max-expanded" in err
    assert not (here / "bomb.votron").exists()


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "options"), [("averaged", []), ("voted", ["--gamma", "0.1"]), ("naive-bayes", [])]
)
def test_a_stream_learns_what_one_pass_learns(estimator, options, here, capsys):
    common = ["--estimator", estimator, *options]
    out = run(capsys, "train", "large.svm", "--stream", "--batch", "1kB", *common, "-o", "stream.votron").out
    assert int(re.search(r"(\d+) batches of at most 1.0 kB", out)[1]) > 5
    once = [] if estimator == "naive-bayes" else ["--epochs", "1", "--no-shuffle", "--random-state", "0"]
    run(capsys, "train", "large.svm", *common, *once, "-o", "whole.votron")
    a, b = (run(capsys, "predict", name, "large.svm", "--scores").out for name in ("stream.votron", "whole.votron"))
    first, second = (np.array([float(line.split(",")[1]) for line in text.split()[1:]]) for text in (a, b))
    assert np.allclose(first, second)


def test_a_stream_of_a_table(here, capsys):
    options = ["--label", "Play", "--estimator", "averaged", "--random-state", "0"]
    out = run(capsys, "train", "days.csv", "--stream", "--batch", "60", "--passes", "3", *options, "-o", "s.votron").out
    assert re.search(r"epochs +\d", out)
    stream = read_manifest("s.votron").provenance["stream"]
    assert stream["passes"] == 3
    assert stream["batches"] % 3 == 0
    assert run_json(capsys, "evaluate", "s.votron", "days.csv")["rows"] == 12


def test_what_streams_cannot_do(here, capsys):
    options = ["--stream", "--estimator", "averaged", "-o", "new.votron"]
    text = ["text.csv", "--label", "topic", "--text", "words", "--text-features", "tfidf"]
    assert "must be hashing with --stream" in run(capsys, "train", *text, *options, status=2).err
    assert "--numeric with" in run(capsys, "train", "large.svm", "--numeric", "maxabs", *options, status=2).err
    table = ["days.csv", "--label", "Play", "--missing", "median"]
    assert "missing='median' needs all rows at once" in run(capsys, "train", *table, *options, status=1).err
    assert not (here / "new.votron").exists()


# -- predict ----------------------------------------------------------------------------------------------------------


def test_labels_and_scores_are_those_of_the_model(here, capsys):
    digits = load_image_set("digits")
    model = votron.load("digits.votron")
    run(capsys, "predict", "digits.votron", "digits", "--part", "test", "--scores", "-o", "scores.csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO((here / "scores.csv").read_text())))
    assert [int(row["label"]) for row in rows] == model.predict(digits.X_test).tolist()
    scores = [[float(row[str(label)]) for label in range(10)] for row in rows]
    assert np.array_equal(scores, model.decision_function(digits.X_test))
    out = run(capsys, "predict", "digits.votron", "digits", "--part", "test", "--scores", "--json").out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["label"] for line in lines] == [int(row["label"]) for row in rows]
    assert lines[0]["scores"]["3"] == scores[0][3]


def test_probabilities_are_those_of_the_model(here, capsys):
    digits = load_image_set("digits")
    p = votron.load("digits.votron").predict_proba(digits.X_test)
    command = ["predict", "digits.votron", "digits", "--part", "test", "--proba"]
    rows = list(csv.DictReader(io.StringIO(run(capsys, *command, "--scores").out)))
    assert list(rows[0]) == ["label", *map(str, range(10)), *(f"p_{label}" for label in range(10))]
    assert np.array_equal([[float(row[f"p_{label}"]) for label in range(10)] for row in rows], p)
    lines = [json.loads(line) for line in run(capsys, *command, "--json").out.splitlines()]
    assert lines[0]["probabilities"]["3"] == p[0, 3]
    assert [max(line["probabilities"], key=line["probabilities"].get) for line in lines] == [
        str(line["label"]) for line in lines
    ]
    by_rule = run(capsys, *command, "--rule", "last").out
    expected = votron.load("digits.votron").with_rule("last").predict_proba(digits.X_test)
    assert float(by_rule.split("\n")[1].split(",")[1]) == expected[0, 0]


def test_other_rules(here, capsys):
    digits = load_image_set("digits")
    rule = ["--rule", "last", "--normalize-vectors"]
    out = run(capsys, "predict", "digits.votron", "digits", "--part", "test", *rule).out
    expected = votron.load("digits.votron").with_rule("last", True).predict(digits.X_test)
    assert out.split()[1:] == [str(label) for label in expected]
    run(capsys, "train", "days.csv", "--label", "Play", "--estimator", "averaged", "-o", "averaged.votron")
    err = run(capsys, "predict", "averaged.votron", "days.csv", "--rule", "last", status=1).err
    assert "--rule is for models of --estimator voted" in err


def test_tables_may_lack_the_label_or_have_more(here, capsys):
    expected = run(capsys, "predict", "days.votron", "days.csv").out
    lines = [line.split(",") for line in DAYS.split()]
    (here / "unlabelled.csv").write_text("".join(",".join(line[:3]) + "\n" for line in lines))
    (here / "more.csv").write_text("".join(",".join([line[1], "x", line[2], line[0]]) + "\n" for line in lines))
    assert run(capsys, "predict", "days.votron", "unlabelled.csv").out == expected
    assert run(capsys, "predict", "days.votron", "more.csv").out == expected


def test_an_error_in_a_late_batch_leaves_no_file(here, capsys, monkeypatch):
    from votron.data import open_batches

    monkeypatch.setattr(
        "votron.data.open_batches", lambda path, **options: open_batches(path, **options | {"batch_bytes": 40})
    )
    (here / "late.csv").write_text(DAYS + "Rainy,warm,True,no\n")
    assert (
        "Got 'warm' in line 14 instead."
        in run(capsys, "predict", "days.votron", "late.csv", "-o", "late.out", status=1).err
    )
    assert [path.name for path in here.iterdir() if "late.out" in path.name] == []


# -- evaluate ---------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_the_model(here, capsys):
    digits = load_image_set("digits")
    model = votron.load("digits.votron")
    found = run_json(capsys, "evaluate", "digits.votron", "digits", "--part", "test", "--all-rules")
    wrong = int((model.predict(digits.X_test) != digits.y_test).sum())
    assert (found["wrong"], found["rows"], found["error"]) == (wrong, 597, wrong / 597)
    assert np.array(found["confusion"]).sum() == 597
    rules = {(entry["rule"], entry["normalize_vectors"]): entry["wrong"] for entry in found["rules"]}
    assert len(rules) == 9
    for (rule, normalised), count in rules.items():
        assert count == (model.with_rule(rule, normalised).predict(digits.X_test) != digits.y_test).sum()


# -- certify, inspect, export, tune, data -----------------------------------------------------------------------------


def test_certificates_are_the_librarys(here, capsys):
    from votron.data import read_examples

    days = read_examples("days.csv", label="Play")
    expected = votron.certify(votron.load("days.votron"), days.X, days.y, 0.1)
    certify = ["certify", "days.votron", "days.csv", "--delta", "0.1"]
    assert run(capsys, *certify).out.startswith(expected.describe())
    assert run(capsys, *certify, "--verbose").out.strip() == expected.describe(verbose=True)
    assert run_json(capsys, "certify", "days.votron", "days.csv", "--delta", "0.1") == expected.to_dict()


@pytest.mark.slow
def test_certificates_can_be_saved_and_drawn(here, capsys):
    run(capsys, "train", "days.csv", "--label", "Play", "-o", "bare.votron", "--random-state", "0")
    before = run(capsys, "predict", "bare.votron", "days.csv", "--scores").out
    provenance = read_manifest("bare.votron").provenance
    _, err = run(capsys, "certify", "bare.votron", "days.csv", "--save", "--figure", "bounds.svg")
    assert "The certificate is in bare.votron now." in err
    assert read_manifest("bare.votron").certificate.m == 12
    assert read_manifest("bare.votron").provenance == provenance
    assert run(capsys, "predict", "bare.votron", "days.csv", "--scores").out == before
    assert "<svg" in (here / "bounds.svg").read_text()


def test_inspection_needs_no_data(here, capsys):
    out = run(capsys, "inspect", "days.votron").out
    assert max(map(len, out.split("\n"))) <= 80
    for words in ("GaussianKernel(gamma=", "rule", "mistakes", "support", "Outlook", "certificate", "days.csv"):
        assert words in out
    found = run_json(capsys, "inspect", "days.votron")
    assert found["estimator"] == "VotedPerceptronClassifier"
    assert found["columns"] == {"Outlook": "text", "Temp": "number", "Windy": "truth"}
    assert found["certificate"]["m"] == 12


def test_compact_models_predict_the_same(here, capsys):
    err = run(capsys, "export", "days.votron", "--rule", "last", "--compact", "small.votron").err
    assert "can no longer: learning on" in err
    expected = run(capsys, "predict", "days.votron", "days.csv", "--rule", "last").out
    assert run(capsys, "predict", "small.votron", "days.csv").out == expected


def test_onnx_models_predict_the_same(here, capsys):
    import onnxruntime

    digits = load_image_set("digits")
    run(capsys, "export", "digits.votron", "--rule", "average", "--onnx", "digits.onnx")
    session = onnxruntime.InferenceSession("digits.onnx", providers=["CPUExecutionProvider"])
    labels, scores = session.run(["label", "scores"], {"X": digits.X_test.astype(np.float64)})
    model = votron.load("digits.votron").with_rule("average")
    assert np.array_equal(labels, model.predict(digits.X_test))
    assert np.allclose(scores, model.decision_function(digits.X_test), rtol=1e-5)


def test_tuning_is_the_librarys(here, capsys):
    options = ["--kernels", "rbf", "--margins", "0.5", "--epochs", "4", "--folds", "3", "--max-seconds", "500"]
    found = run_json(capsys, "tune", "days.csv", "--label", "Play", *options)
    frame = votron.data.read_examples("days.csv", label="Play")
    search = votron.VotedPerceptronClassifierCV(
        ["rbf"], margins=[0.5], epochs=4, cv=StratifiedKFold(3, shuffle=True, random_state=0), random_state=0
    )
    search.fit(votron.tabular_encoder(frame.X, numeric="standard").fit_transform(frame.X), frame.y)
    assert found["best"] == search.best_params_
    assert found["score"] == search.best_score_
    assert len(found["table"]) == found["settings"] == search.n_settings_


def test_training_with_parameters_that_are_found(here, capsys):
    options = ["train", "days.csv", "--label", "Play", "-o", "tuned.votron", "--tune", "30"]
    fixed = ["--kernel", "poly", "--degree", "2", "--margin", "0.5"]
    out = run(capsys, *options, *fixed, "--random-state", "1").out
    assert "\npoly 2 " in out
    model = votron.load("tuned.votron").steps[-1][1]
    found = run_json(capsys, *options, *fixed, "--random-state", "1")
    assert found["params"] == {k: v for k, v in model.get_params().items() if k != "verbose"}
    assert read_manifest("tuned.votron").provenance["tuned"]["folds"] == 5
    assert (model.degree, model.margin) == (2, 0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stream"], "--tune needs all data at once"),
        (["--epochs", "none"], "--epochs none does not go with --tune"),
        (["--rule", "holdout"], "--rule holdout does not go with --tune"),
        (["--early-stopping"], "--early-stopping does not go with --tune"),
    ],
)
def test_what_does_not_go_with_tuning(here, capsys, options, words):
    more = ["--gamma", "1"] if options == ["--stream"] else []
    data = ["train", "days.csv", "--label", "Play", "-o", "x.votron"]
    assert words in " ".join(run(capsys, *data, *options, *more, "--tune", status=2).err.split())


@pytest.mark.parametrize("name", ["days.tsv", "days.parquet", "days.arrow"])
def test_conversions(name, here, capsys):
    from votron.data import read_examples

    _, err = run(capsys, "data", "convert", "days.csv", name, "--label", "Play")
    assert f"12 rows of days.csv in {name}" in err
    a, b = read_examples("days.csv", label="Play"), read_examples(name, label="Play")
    assert a.X.rows() == b.X.rows()
    assert a.y.tolist() == b.y.tolist()


def test_descriptions(here, capsys):
    (here / "holes.csv").write_text(DAYS.replace("Rainy,55", "Rainy,"))
    out = run(capsys, "data", "describe", "holes.csv", "--label", "Play").out
    assert re.search(r"Temp +number +1 +11 +58 to 90", out)
    assert re.search(r"yes +6 +50.0 %", out)
    out = run(capsys, "data", "describe", "large.svm").out
    assert "sparse" in out or "features  20" in out
    assert max(map(len, out.split("\n"))) <= 80


def test_known_sets_are_fetched(here, capsys):
    assert "1,200 rows to train on" in run(capsys, "data", "fetch", "digits").err


# -- conventions ------------------------------------------------------------------------------------------------------


def test_models_through_a_pipe(here, capsys, monkeypatch):
    expected = run(capsys, "predict", "days.votron", "days.csv").out
    content = (here / "days.votron").read_bytes()
    stdin_of(monkeypatch, content)
    assert run(capsys, "predict", "-", "days.csv").out == expected
    stdin_of(monkeypatch, content)
    assert "standard input" in run(capsys, "inspect", "-").out
    stdin_of(monkeypatch, content[:100])
    assert "standard input" in run(capsys, "inspect", "-", status=1).err
    stdin_of(monkeypatch, content)
    assert "cannot both be" in run(capsys, "predict", "-", "-", "--format", "csv", status=2).err


def test_data_through_a_pipe(here, capfdbinary, monkeypatch):
    stdin_of(monkeypatch, DAYS.encode())
    assert main(["data", "convert", "-", "-", "--format", "csv", "--label", "Play", "--to", "tsv"]) == 0
    assert capfdbinary.readouterr().out == DAYS.replace(",", "\t").encode().replace(b"True", b"true").replace(
        b"False", b"false"
    )
    assert main(["data", "convert", "days.csv", "-"]) == 2


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_that_want_it(here, monkeypatch):
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TERM", "xterm")
            patch.delenv("NO_COLOR", raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdout", Terminal())
            assert main(["inspect", "days.votron"]) == 0
            assert ("\x1b[1m" in sys.stdout.getvalue()) == coloured


def test_progress_is_for_terminals(here, monkeypatch, capsys):
    arguments = ["train", "digits", "-o", "any.votron", "--random-state", "0"]
    assert run(capsys, *arguments).err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(arguments) == 0
    assert "epoch" in terminal.getvalue()
    assert votron.load("any.votron").verbose == 0
    monkeypatch.setattr("sys.stderr", Terminal())
    assert main([*arguments, "--quiet"]) == 0
    assert sys.stderr.getvalue() == ""


def test_columns_are_kept_beside_the_labels(here, capsys):
    """And of images the names of their files."""
    (here / "ids.csv").write_text("id,x,y\n007,1,a\n8,9,b\n009,2,a\n10,8,b\n")
    run(capsys, "train", "ids.csv", "--label", "y", "--drop", "id", "--random-state", "0", "-o", "ids.votron")
    out, _ = run(capsys, "predict", "ids.votron", "ids.csv", "--keep", "id")
    assert out.splitlines() == ["id,label", "007,a", "8,b", "009,a", "10,b"]
    (here / "named.csv").write_text("label,x\nI,1\n")
    assert run(capsys, "predict", "ids.votron", "named.csv", "--keep", "label").out == "label (data),label\nI,a\n"
    out, _ = run(capsys, "predict", "ids.votron", "ids.csv", "--keep", "id", "--json")
    assert json.loads(out.splitlines()[0]) == {"id": "007", "label": "a"}
    run(capsys, "predict", "ids.votron", "ids.csv", "-o", "labels.jsonl")
    assert json.loads((here / "labels.jsonl").read_text().splitlines()[0]) == {"label": "a"}
    assert main(["predict", "ids.votron", "ids.csv", "-o", "labels.parquet"]) == 2
    assert "-o must be CSV, or JSON lines" in capsys.readouterr().err
    for name, value in (("a/1.png", 0), ("a/2.png", 10), ("b/3.png", 250), ("b/4.png", 240)):
        (here / "pictures" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (2, 2), value).save(here / "pictures" / name)
    run(capsys, "train", "pictures", "--random-state", "0", "-o", "pictures.votron")
    out, _ = run(capsys, "predict", "pictures.votron", "pictures")
    assert [line.split(",")[0] for line in out.splitlines()] == ["file", "a/1.png", "a/2.png", "b/3.png", "b/4.png"]


def test_a_column_that_numbers_the_rows_is_remarked_upon(here, capsys):
    rows = "".join(f"{i + 5 * (i > 90)},{i + 0.5},{i * 7 % 113},{'ab'[i % 2]}\n" for i in range(200))
    (here / "numbered.csv").write_text("my id,half,x,y\n" + rows)
    common = ["numbered.csv", "--label", "y", "-o", "numbered.votron"]
    _, err = run(capsys, "train", *common)
    assert "The column 'my id' numbers the rows: --drop 'my id' leaves it out." in " ".join(err.split())
    for more in (["--drop", "my id"], ["--discrete", "my id"]):
        _, err = run(capsys, "train", *common, *more)
        assert "numbers the rows" not in err
