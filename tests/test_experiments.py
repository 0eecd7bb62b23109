import argparse
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from votron import VotedPerceptronClassifier
from votron.experiments import curves, digits, mnist
from votron.experiments._table import COUNTS, MOMENTS, RULES, Setting, as_markdown, as_text, cells, make_table
from votron.experiments.papers import Fact, facts, source

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch):
    """``benchmarks`` is no part of the package; it is run from the root of the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def mnist_folder(tmp_path):
    """A folder with the four files of MNIST, for 300 and 100 of scikit-learn's digits."""
    X, y, X_test, y_test = digits.digits()
    for part, images, labels in (("train", X[:300], y[:300]), ("t10k", X_test[:100], y_test[:100])):
        head = struct.pack(">HBB3I", 0, 8, 3, len(images), 8, 8)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = struct.pack(">HBB1I", 0, 8, 1, len(labels))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(head + labels.astype(np.uint8).tobytes())
    return tmp_path


# -- the table ---------------------------------------------------------------------------------------------------------


def test_table_agrees_with_errors_computed_one_by_one():
    data = X, y, X_test, y_test = digits.digits()
    setting = Setting(degree=2, epochs=3, seed=5, permutations=2, moments=(0.1, 1.0, 3.0))
    table = make_table(data, setting)
    assert list(table.rows) == [*RULES, *COUNTS]
    for moment in setting.reached:
        models = [
            VotedPerceptronClassifier(degree=2, gamma=1.0, epochs=moment, random_state=seed).fit(X, y)
            for seed in (5, 6)
        ]
        for name, (rule, normalized) in RULES.items():
            errors = [100 * np.mean(m.with_rule(rule, normalized).predict(X_test) != y_test) for m in models]
            assert table.at(name, moment) == pytest.approx(np.mean(errors)), (name, moment)
        assert table.at("SupVec", moment) == np.mean([len(m.support_) for m in models])
        assert table.at("Mistake", moment) == np.mean([m.n_mistakes_.sum() for m in models])


def test_table_of_a_binary_problem():
    X, y, X_test, y_test = digits.digits()
    labels, labels_test = np.where(y < 5, "low", "high"), np.where(y_test < 5, "low", "high")
    table = make_table(
        (X, labels, X_test, labels_test), Setting(degree=3, epochs=2, moments=(2.0,)), rules=["Vote", "Last (norm)"]
    )
    model = VotedPerceptronClassifier(degree=3, gamma=1.0, epochs=2, random_state=0).fit(X, labels)
    assert table.rows["Vote"] == (pytest.approx(100 - 100 * model.score(X_test, labels_test)),)
    assert list(table.rows) == ["Vote", "Last (norm)", "SupVec", "Mistake"]


def test_setting_ends_with_the_end_of_training():
    assert Setting(epochs=30).reached == MOMENTS
    assert Setting(epochs=2.5).reached == (0.1, 1.0, 2.0, 2.5)
    assert Setting(epochs=0.05).reached == (0.05,)


def test_papers_stand_below_our_rows():
    table = make_table(digits.digits(), Setting(degree=4, epochs=1), rules=["Vote"])
    rows = cells(table, {"paper": facts("freund_schapire", 4)})
    assert [row[0] for row in rows] == ["T", "Vote", "  paper", "SupVec", "  paper", "Mistake", "  paper"]
    assert rows[0][1:] == ["0.1", "1"]
    assert rows[2][1:] == ["~5.4", "~2.2"]
    text = as_text(rows)
    assert len({len(line) for line in text.splitlines()}) == 1  # aligned
    assert "\x1b" not in text
    assert "\x1b[2m  paper" in as_text(rows, colour=True)
    assert as_markdown(rows).splitlines()[:2] == ["| T | 0.1 | 1 |", "| --- | --: | --: |"]


# -- the commands ------------------------------------------------------------------------------------------------------


def test_digits_end_to_end(tmp_path, capsys):
    out = tmp_path / "new" / "digits.md"
    assert digits.main(["--epochs", "1", "--permutations", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    for name in [*RULES, *COUNTS]:
        assert name in printed.out
    assert str(out) in printed.out
    assert printed.err == "Training 2 permutations\n"
    report = out.read_text(encoding="utf-8")
    table = make_table(digits.digits(), Setting(epochs=1.0, permutations=2))
    assert as_markdown(cells(table)) in report
    for fact in ("python -m votron.experiments.digits --epochs 1", "Seeds: 0, 1", "numba: ", "Training: "):
        assert fact in report


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--epochs", "0", "must be a number in the range (0, inf). Got '0' instead."),
        ("--epochs", "nan", "must be a number in the range (0, inf). Got 'nan' instead."),
        ("--degree", "-1", "must be an int in the range [1, inf). Got '-1' instead."),
        ("--permutations", "x", "must be an int in the range [1, inf). Got 'x' instead."),
        ("--seed", "-3", "must be an int in the range [0, 2^31). Got '-3' instead."),
    ],
)
def test_options_out_of_range(option, value, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        digits.main([f"{option}={value}"])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_kernel_out_of_range_is_one_sentence(tmp_path, capsys):
    assert digits.main(["--degree", "400", "--permutations", "1", "--out", str(tmp_path / "d.md")]) == 2
    assert "float64" in capsys.readouterr().err
    assert not (tmp_path / "d.md").exists()


@pytest.mark.parametrize("folder", ["", "no-such-folder"])
def test_mnist_without_data_is_one_sentence(folder, capsys, monkeypatch):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    assert mnist.main(["--data", folder]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "set --data or VOTRON_DATA to" in printed.err


def test_mnist_checks_fail_on_other_data(mnist_folder, capsys):
    assert mnist.main(["--data", str(mnist_folder), "--epochs", "4"]) == 1
    printed = capsys.readouterr()
    assert re.findall(r"^(\w+)  (\w+) at T = (\d+)", printed.out, re.MULTILINE) == [
        ("FAIL", "Mistake", "1"),
        ("FAIL", "Mistake", "4"),
    ]
    assert "Li & Long" in printed.out
    assert "Training: " in printed.out


def test_mnist_has_no_checks_for_other_degrees(mnist_folder, capsys):
    assert mnist.main(["--data", str(mnist_folder), "--epochs", "1", "--degree", "7", "--permutations", "2"]) == 0
    printed = capsys.readouterr()
    assert "No checks" in printed.out
    assert "paper:" not in printed.out


@pytest.mark.parametrize(("got", "passed"), [(1.45, True), (1.75, True), (1.44, False), (1.76, False)])
def test_check_includes_its_bounds(got, passed):
    assert mnist.Check("Vote", 30.0, got, Fact(1.6, True), off=mnist.ERROR_WITHIN).passed is passed


def test_facts_of_the_papers():
    assert "Machine Learning 37" in source("freund_schapire")
    for degree in range(1, 7):
        found = facts("freund_schapire", degree)
        assert set(found) <= {*RULES, *COUNTS}
        for row in COUNTS:
            counts = [fact.value for _, fact in sorted(found[row].items())]
            assert counts == sorted(counts)
            assert tuple(found[row]) == (MOMENTS if degree > 1 else MOMENTS[:-1])
        for t, mistakes in found["Mistake"].items():
            assert mistakes.value >= found["SupVec"][t].value
    d4 = facts("freund_schapire", 4)
    assert [d4["Mistake"][t].value for t in (1, 4, 30)] == [7977, 12780, 14538]
    assert [d4["Mistake"][t].recalled for t in (1, 4, 30)] == [True, True, False]
    assert not any(fact.recalled for row in facts("li_long", 4).values() for fact in row.values())
    assert facts("li_long", 2) == {}


def test_curves_without_matplotlib_name_the_extra(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert curves.main(["--out", str(tmp_path / "curves")]) == 2
    assert capsys.readouterr().err == "Drawing needs matplotlib: pip install matplotlib.\n"


@pytest.mark.parametrize("epochs", ["0.5", "2"])
def test_curves_are_drawn_the_same_every_time(epochs, tmp_path):
    for name in ("one", "two"):
        assert curves.main(["--epochs", epochs, "--permutations", "1", "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


# -- the benchmarks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def counts():
    """A little data set of integers with three labels."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, size=(150, 12), dtype=np.uint8)
    return X, (X[:, 0].astype(int) + X[:, 1]) // 140


def test_every_way_of_training_gives_one_digest(counts):
    from benchmarks import exact

    X, y = counts
    digest, same, rows = exact.compare(X, y, degree=4, epochs=3)
    assert same
    assert {row["digest"] for row in rows} == {digest[:16]}
    assert [row["cached"] > 0 for row in rows] == [way.memory > 0 for way in exact.WAYS]
    as_textbook, row = exact.against_textbook(X, y, degree=4)
    assert as_textbook
    assert row["rows"] == 150


def test_a_different_record_is_noticed(counts, monkeypatch):
    from benchmarks import exact

    X, y = counts
    train = exact.train

    def off_by_one(X, y, order, degree, n_steps, way):
        return train(X, y, order, degree, n_steps - (way.block_size == 64), way)

    monkeypatch.setattr(exact, "train", off_by_one)
    _, same, rows = exact.compare(X, y, degree=2, epochs=2)
    assert not same
    assert [row["same"] for row in rows] == ["yes" if way.block_size != 64 else "NO" for way in exact.WAYS]


def test_digests_are_kept_for_every_degree():
    from benchmarks import exact

    kept = json.loads(exact.DIGESTS.read_text(encoding="utf-8"))
    assert sorted(kept["digests"]) == ["1", "2", "3", "4", "5", "6"]
    for degree, entry in kept["digests"].items():
        assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])
        assert entry["epochs"] == exact.EPOCHS[int(degree)]
    assert {"numpy", "numba"} <= set(kept["made with"])


def test_floor_and_pairs(counts):
    from benchmarks import _common

    X, y = counts
    assert _common.sgemm_seconds(X, X[:5], threads=1, repeats=2) > 0
    model = VotedPerceptronClassifier(degree=2, gamma=1.0, epochs=1, random_state=0).fit(X, y)
    record = model.record_
    presented = np.argsort(np.random.RandomState(0).permutation(150))  # when each row comes, from 0 on
    after = sum(np.count_nonzero(presented > presented[i]) for i in model.support_)
    assert _common.pairs_of_one_epoch(record) == after


def test_results_are_kept_and_tell_no_folder(tmp_path, capsys, monkeypatch):
    from benchmarks import _common

    monkeypatch.setattr(sys, "argv", ["speed", "--data", "/somebody's/folder", "--json"])
    args = argparse.Namespace(data="/somebody's/folder", threads=1, json=str(tmp_path / "new" / "speed.json"))
    results = _common.Results("speed", args)
    results.table("A table", [{"name": "a", "seconds": 1.0, "support": 1234}, {"name": "b", "ratio": 2.0}])
    results.close()
    assert "a        1.00    1,234" in capsys.readouterr().out
    kept = json.loads((tmp_path / "new" / "speed.json").read_text(encoding="utf-8"))
    assert kept["command"] == 'python -m benchmarks.speed --data "$VOTRON_DATA" --json'
    assert kept["tables"]["A table"][1] == {"name": "b", "ratio": 2.0}


def test_exponent_of_a_power_law():
    from benchmarks import scaling

    assert scaling.exponent([10, 20, 40], [3 * n**1.5 for n in (10, 20, 40)]) == pytest.approx(1.5)


def test_wekas_output_is_read():
    from benchmarks import _weka

    text = """
    VotedPerceptron: Number of perceptrons=124
    Time taken to build model: 0.31 seconds
    === Error on training data ===
    Incorrectly Classified Instances        27                1.35   %
    === Error on test data ===
    Incorrectly Classified Instances        59                2.9633 %
    """
    assert _weka.parse(text) == {"error %": 2.9633, "train s": 0.31, "vectors": 124}


def test_verdicts_pick_the_fastest_that_is_good_enough():
    from benchmarks import peers

    ours = [
        {"model": "ours: a", "features": "unit", "error %": 2.0, "average %": 1.4, "last %": 3.0, "train s": 2.0},
        {"model": "ours: b", "features": "unit", "error %": 1.6, "average %": 1.6, "last %": 1.6, "train s": 1.0},
        {"model": "ours: c", "features": "raw", "error %": 1.5, "average %": 1.6, "last %": 1.6, "train s": 0.5},
    ]
    same, any_features = peers.verdicts(ours, [{"model": "SVC", "features": "unit", "error %": 1.5, "train s": 10.0}])
    assert (same["fastest"], same["times faster"]) == ("unit, a, average", 5.0)
    assert (any_features["fastest"], any_features["times faster"]) == ("raw, c, vote", 20.0)
