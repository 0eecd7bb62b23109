"""Reproducing the papers: runs against predictions made one by one, a store that survives, tables, claims, commands."""

import csv
import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from paper import paper_perceptron

from votron import cli
from votron.data import ImageSet, load_image_set
from votron.errors import VotronError
from votron.papers import papers, runner
from votron.papers.claims import Claim, claims
from votron.papers.machines import MachineResult, machines
from votron.papers.published import Fact
from votron.papers.reproduce import keys_of, reproduce, write_tables
from votron.papers.runner import perform_missing
from votron.papers.runs import RULES, RunKey, RunResult, RunStore, moments_of, perform
from votron.papers.settings import Settings, parse_degrees
from votron.papers.tables import Cell, mean_and_error, sparsity, table1, table2, table3
from votron.theory import compression_bound


@pytest.fixture(scope="module")
def digits():
    whole = load_image_set("digits")
    return ImageSet("few", whole.X[:300], whole.y[:300], whole.X_test[:100], whole.y_test[:100], (8, 8), "a few digits")


@pytest.fixture(scope="module")
def runs(digits):
    """Three degrees, two permutations, two epochs."""
    return {
        degree: [perform(RunKey(digits.digest, degree, seed, 2.0), digits) for seed in (0, 1)] for degree in (1, 2, 4)
    }


def same(a, b):
    """Whether two results are of the same run, but for how long it took."""
    timeless = {"train_seconds": 0.0, "scan_seconds": 0.0}
    a, b = replace(a, **timeless), replace(b, **timeless)
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in RunResult.__dataclass_fields__)


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_run_agrees_with_models_trained_until_each_moment(digits, n_classes):
    data = replace(digits, y=digits.y % n_classes, y_test=digits.y_test % n_classes)
    found = perform(RunKey(data.digest, 2, 5, 1.5), data)
    assert found.moments.tolist() == [k / 10 for k in range(1, 16)]
    for moment in (0.1, 0.7, 1.0, 1.5):
        t = found.at(moment)
        model = paper_perceptron(kernel="poly", margin=0.0, degree=2, gamma=1.0, epochs=moment, random_state=5).fit(
            data.X, data.y
        )
        for r, (rule, normalized) in enumerate(RULES.values()):
            mine = model.with_rule(rule, normalized)
            assert found.wrong[r, t] == (mine.predict(data.X_test) != data.y_test).sum()
            scores = mine.decision_function(data.X_test).reshape(len(data.y_test), -1)
            truth = data.y_test[:, None] == (model.classes_ if n_classes > 2 else model.classes_[1:])
            assert found.wrong_by_label[r, t].tolist() == ((scores >= 0) != truth).sum(axis=0).tolist()
        assert found.mistakes[t].tolist() == model.n_mistakes_.tolist()
        assert found.support[t].tolist() == model.n_support_.tolist()
        assert found.support_of_any[t] == len(model.support_)
    assert (model.classes_[found.predicted[0]] == model.predict(data.X_test)).all()
    assert found.digest == model.record_.digest()


def test_moments():
    assert moments_of(30.0, 60_000).tolist() == [k / 10 for k in range(1, 301)]
    assert moments_of(0.25, 100).tolist() == [0.1, 0.2, 0.25]
    assert moments_of(1.0, 4).tolist()[0] == 0.2  # a tenth of four examples is none


def test_a_store_gives_back_what_it_was_given_and_notices_damage(runs, tmp_path):
    store, result = RunStore(tmp_path / "kept"), runs[2][0]
    assert store.get(result.key) is None
    store.put(result)
    again = store.get(result.key)
    assert same(again, result)
    assert (again.train_seconds, again.converged) == (result.train_seconds, result.converged)
    (path,) = (tmp_path / "kept").iterdir()
    whole = path.read_bytes()
    other = RunKey(result.key.data, 3, 0, 2.0)
    path.with_name(f"{other.name}.npz").write_bytes(whole)
    assert store.get(other) is None  # a file under another run's name
    rng = np.random.RandomState(0)
    damages = [whole[: len(whole) // 2], b"", b"no zip at all"]
    for _ in range(200):
        changed = bytearray(whole)
        for place in rng.randint(0, len(whole), rng.randint(1, 9)):
            changed[place] = rng.randint(256)
        damages.append(bytes(changed))
    for damaged in damages:
        path.write_bytes(damaged)
        found = store.get(result.key)
        assert found is None or same(found, result)


# -- the runner -------------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(digits):
    return [RunKey(digits.digest, degree, seed, 1.0) for degree in (1, 2) for seed in (0, 1)]


@pytest.mark.slow
def test_processes_do_what_one_does(digits, keys, tmp_path, capsys):
    alone = perform_missing(keys, digits, RunStore(tmp_path / "a"), jobs=1)
    assert "4 runs, 1 at a time" in capsys.readouterr().err
    several = perform_missing(keys, digits, RunStore(tmp_path / "b"), jobs=2)
    err = capsys.readouterr().err
    assert "4 runs, 2 at a time" in err
    assert "4 of 4 runs" in err
    assert all(same(alone[key], several[key]) for key in keys)
    assert len(list((tmp_path / "b").iterdir())) == 4


def test_only_what_is_missing_is_done(digits, keys, tmp_path, monkeypatch, capsys):
    store = RunStore(tmp_path)
    perform_missing(keys[:3], digits, store, jobs=1, quiet=True)
    done = []
    monkeypatch.setattr(runner, "perform", lambda key, data, **how: done.append(key) or perform(key, data, **how))
    found = perform_missing(keys, digits, store, jobs=1, quiet=True)
    assert done == [keys[3]]
    assert set(found) == set(keys)
    assert capsys.readouterr().err == ""
    assert perform_missing(keys, digits, store, jobs=1).keys() == found.keys()
    assert done == [keys[3]]


@pytest.mark.slow
def test_on_a_dask_cluster(digits, keys, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        found = perform_missing(keys, digits, RunStore(tmp_path), quiet=True)
    assert all(same(found[key], perform(key, digits)) for key in keys)


def test_processes_by_memory(monkeypatch):
    monkeypatch.setattr(runner, "effective_threads", lambda n: 8)
    monkeypatch.setattr(runner, "available_memory", lambda: 4 << 30)
    assert runner._how_many(None, 60, 60_000) == 2
    assert runner._how_many(None, 60, 1_200) == 8
    assert runner._how_many(None, 3, 1_200) == 3
    assert runner._how_many(5, 60, 60_000) == 5
    monkeypatch.setattr(runner, "available_memory", lambda: 1 << 20)
    assert runner._how_many(None, 60, 60_000) == 1


def _group_is_alive(group):
    """Whether any process of a group is there, and not just waiting to be forgotten."""
    found = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True, check=False)
    return any(not line.startswith("Z") for line in found.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_resumed(tmp_path, jobs):
    """A real process, killed for real after its first finished run; its workers go too."""
    command = [sys.executable, "-m", "votron", "reproduce", "table1", "--degrees", "2", "--permutations", "20"]
    command += ["--epochs", "2", "--jobs", jobs, "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 120
    while time.monotonic() < end and not list(tmp_path.glob("runs/*.npz")):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    while time.monotonic() < end and _group_is_alive(process.pid):
        time.sleep(0.05)
    assert not _group_is_alive(process.pid)
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.npz")}
    assert 1 <= len(finished) < 20
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    left = 20 - len(finished)
    assert f"{left} run{'' if left == 1 else 's'}, {min(left, int(jobs))} at a time" in again.stderr
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    third = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "at a time" not in third.stderr
    assert third.stdout.split("Took")[0] == again.stdout.split("Took")[0]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C reaches a group of processes differently elsewhere")
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    command = [sys.executable, "-m", "votron", "reproduce", "table1", "--degrees", "2-3", "--permutations", "40"]
    command += ["--jobs", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 120
    while time.monotonic() < end and not list(tmp_path.glob("runs/*.npz")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.rstrip().endswith("What is finished is kept; the same command goes on from there.")
    assert "Traceback" not in err
    assert 1 <= len(list(tmp_path.glob("runs/*.npz"))) < 80
    assert not (tmp_path / "report.html").exists()


def test_ctrl_c_while_a_run_is_kept_waits_until_it_is(tmp_path, digits, monkeypatch):
    """Interrupted half-way, a zip file would complain that it is open, and the run that is done would be lost."""
    compress = np.savez_compressed

    def interrupted(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        compress(*args, **kwargs)

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    keys = [RunKey(digits.digest, 1, seed, 0.5) for seed in range(3)]
    store = RunStore(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        perform_missing(keys, digits, store, jobs=1, quiet=True)
    assert [store.get(key) is not None for key in keys] == [True, False, False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_ctrl_c_causes_is_the_end_that_was_asked_for(tmp_path, monkeypatch, capsys):
    def half_open(*args, **kwargs):
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("Can't close the ZIP file while there is an open writing handle on it.")

    monkeypatch.setattr("votron.papers.reproduce.reproduce", half_open)
    assert cli.main(["reproduce", "table1", "--out", str(tmp_path)]) == 130
    assert "Stopped. What is finished is kept" in capsys.readouterr().err


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "agrees"),
    [
        (Cell(2.20, 0.02, None), None),
        (Cell(2.35, 0.02, Fact(2.2, recalled=True)), True),
        (Cell(2.40, 0.02, Fact(2.2, recalled=True)), True),
        (Cell(2.41, 0.02, Fact(2.2, recalled=True)), False),
        (Cell(11.3, 0.3, Fact(10.7, recalled=True), slack=0.7), True),
        (Cell(2.304, 0.02, Fact(2.26, recalled=False)), True),  # two standard errors and half of the last digit
        (Cell(2.306, 0.02, Fact(2.26, recalled=False)), False),
        (Cell(0.25, 0.0, Fact(0.2, recalled=False)), True),
        (Cell(0.26, 0.0, Fact(0.2, recalled=False)), False),
        (Cell(0.26, None, Fact(0.2, recalled=False)), None),  # of one run it is not known how far it may be off
        (Cell(9.0, 0.1, Fact(0.2, recalled=False), judged=False), None),
        (Cell(102.0, 1.0, Fact(100, recalled=False), count=True), True),
        (Cell(102.1, 1.0, Fact(100, recalled=False), count=True), False),
        (Cell(103.0, 1.0, Fact(100, recalled=True), count=True), True),
        (Cell(96.9, 1.0, Fact(100, recalled=True), count=True), False),
    ],
)
def test_what_agrees(cell, agrees):
    assert cell.agrees is agrees


def test_table_1(runs):
    found = table1(runs, mnist=False)
    assert found.columns == ("T = 0.1", "T = 1", "T = 2")
    assert [group for group, _ in found.groups] == ["d = 1", "d = 2", "d = 4"]
    names = [*RULES, "SupVec", "Mistake"]
    assert [row.name for row in found.rows] == 3 * names
    for row in found.rows:
        degree = int(row.group[4:])
        for column, cell in zip(found.columns, row.cells, strict=True):
            t = runs[degree][0].at(float(column[4:]))
            if row.name in RULES:
                values = [100 * run.wrong[names.index(row.name), t] / run.n_test for run in runs[degree]]
            elif row.name == "SupVec":
                values = [run.support_of_any[t] for run in runs[degree]]
            else:
                values = [run.mistakes[t].sum() for run in runs[degree]]
            assert cell.value == pytest.approx(np.mean(values))
            assert cell.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))
            assert cell.paper is None
    assert found.n_compared == 0
    beside = table1(runs, mnist=True)
    row = next(row for row in beside.rows if (row.group, row.name) == ("d = 4", "Mistake"))
    assert row.cells[1].paper == Fact(7977, recalled=True)
    assert row.cells[1].agrees is False
    assert row.others[0][0] == "Li & Long"
    assert row.others[0][1][1].paper == Fact(7970, recalled=False)
    assert beside.n_compared > 20
    assert len(beside.disagreements) <= beside.n_compared
    assert "  paper" in beside.as_text()
    assert "~7,977 !" in beside.as_text()
    assert "recalled" in beside.as_text()


def test_degree_1_has_no_numbers_where_it_did_not_train(digits):
    some = {
        1: [perform(RunKey(digits.digest, 1, 0, 1.0), digits)],
        2: [perform(RunKey(digits.digest, 2, 0, 3.0), digits)],
    }
    found = table1(some, mnist=False)
    assert found.columns == ("T = 0.1", "T = 1", "T = 2", "T = 3")
    assert [cell is None for cell in found.rows[0].cells] == [False, False, True, True]


def machine(label, n_support, error=0.3):
    return MachineResult("x", 4, label, "a solver", 300, error, n_support, 1.0)


def test_tables_of_labels(runs, digits):
    labels, made = list(range(10)), [machine(c, 40 + c) for c in range(10)]
    assert sparsity(runs, made, labels, 300, mnist=False).rows[3].cells == (None,) * 10  # these have not converged
    runs = {degree: [replace(run, converged=True) for run in mine] for degree, mine in runs.items()}
    second = table2(runs, made, labels, mnist=False)
    assert second.columns == tuple("0123456789")
    vote = next(row for row in second.rows if (row.group, row.name) == ("T = 2", "Vote"))
    t = runs[4][0].at(2.0)
    assert vote.cells[3].value == np.mean([run.wrong_by_label[0, t, 3] for run in runs[4]])  # of a hundred
    assert [row.name for row in second.rows][-2:] == ["SVM error", "SVM SupVec"]
    third = table3(runs, labels, mnist=False)
    assert third.title == "Table 3: 9 against the rest"
    row = next(row for row in third.rows if (row.group, row.name) == ("d = 1", "SupVec"))
    assert row.cells[-1].value == np.mean([run.support[-1, 9] for run in runs[1]])
    fourth = sparsity(runs, made, labels, 300, mnist=False)
    bound = next(row for row in fourth.rows if (row.group, row.name) == ("perceptron", "bound (7) %"))
    expected = np.mean([100 * compression_bound(300, int(run.support[t, 5]), 0.05) for run in runs[4]])
    assert bound.cells[5].value == pytest.approx(expected)
    theirs = next(row for row in fourth.rows if row.name == "SVM bound (7) %")
    assert theirs.cells[5].value == pytest.approx(100 * compression_bound(300, 45, 0.05))


def test_mean_and_error():
    assert mean_and_error([3.0]) == (3.0, None)
    mean, error = mean_and_error([1.0, 2.0, 4.0])
    assert mean == pytest.approx(7 / 3)
    assert error == pytest.approx(np.std([1, 2, 4], ddof=1) / np.sqrt(3))


def test_facts_of_labels():
    perceptron = papers.label_facts("perceptron", "SupVec")
    assert sum(fact.value for fact in papers.label_facts("perceptron", "Mistake")) == 14538
    bounds = papers.label_facts("perceptron", "bound")
    off = [
        c
        for c, (d, b) in enumerate(zip(perceptron, bounds, strict=True))
        if round(100 * compression_bound(60_000, int(d.value), 0.05), 1) != b.value
    ]
    assert off == [3]
    assert papers.running_time(1).startswith("about six days")
    assert papers.comparator("SVM, degree 4").value == 1.1


# -- machines and claims ----------------------------------------------------------------------------------------------


def test_machines_are_kept(digits, tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    asked = []
    found = machines(digits, store, degree=2, progress=lambda done, total: asked.append((done, total)))
    assert [m.label for m in found] == list(range(10))
    assert asked == [(c, 10) for c in range(10)]
    assert all(m.n_support > 2 and 0 <= m.error < 20 for m in found)
    monkeypatch.setattr("votron.papers.machines._trained", lambda *args: pytest.fail("trained again"))
    assert machines(digits, store, degree=2) == found
    next(tmp_path.glob("*-label3.json")).write_text("{}")
    with pytest.raises(pytest.fail.Exception, match="trained again"):
        machines(digits, store, degree=2)


def test_claims_on_runs(runs):
    runs = {degree: [replace(run, converged=degree > 1) for run in mine] for degree, mine in runs.items()}
    found = claims(runs, [machine(c, 250) for c in range(10)], 300)
    by_text = {claim.text: claim for claim in found}
    assert len(found) == 10
    assert by_text["From degree 5 on the data become separable"].holds is None
    assert by_text["The largest gain is from degree 1 to degree 2"].holds is None
    svm = by_text[
        "The perceptron ends with fewer support vectors than the SVM for every label, often by a factor of two"
    ]
    assert svm.holds
    assert "for 10 of 10 labels" in svm.evidence
    early = {degree: [replace(run, converged=False) for run in mine] for degree, mine in runs.items()}
    assert [claim.holds for claim in claims(early, [machine(c, 250) for c in range(10)], 300)[-2:]] == [None, None]
    few = claims(runs, [machine(c, 1) for c in range(10)], 300)
    assert [claim.holds for claim in few[-2:]] == [False, False]
    assert [claim.holds for claim in claims(runs, [], 300)[-2:]] == [None, None]
    assert str(Claim("A", "B", None, "C")) == "open A (B): C"


def doctored(run, wrong):
    return replace(run, wrong=np.asarray(wrong, dtype=np.int32) * np.ones_like(run.wrong))


def test_claims_can_fail(runs):
    order = list(RULES)
    better_last = np.full((7, 1), 5)
    better_last[order.index("Last (unnorm)")] = 1
    odd = {degree: [doctored(run, better_last) for run in mine] for degree, mine in runs.items()}
    found = {claim.text: claim.holds for claim in claims(odd, [], 300)}
    assert found["Voting and averaging beat the last vector"] is False
    assert found["Normalising the vectors matters little"] is False
    assert found["A random vector is the worst in all cases"] is True
    apart = np.full((7, 1), 5)
    apart[order.index("Vote")] = 9
    odd = {degree: [doctored(run, apart) for run in mine] for degree, mine in runs.items()}
    found = {claim.text: claim.holds for claim in claims(odd, [], 300)}
    assert found["Voting and averaging do not differ much"] is False
    assert found["A random vector is the worst in all cases"] is False


def test_claims_about_degrees_can_fail(digits):
    long = perform(RunKey(digits.digest, 2, 0, 30.0), digits)
    six = {degree: [replace(long, converged=degree > 3)] for degree in range(1, 7)}
    found = {claim.text: claim for claim in claims(six, [], 300)}
    assert found["From degree 5 on the data become separable"].holds is True
    assert found["The largest gain is from degree 1 to degree 2"].holds is True  # by nothing
    slow = "Small degrees run slowest, because of their mistakes"
    assert found[slow].holds is True  # all alike
    six[5] = [replace(run, converged=False) for run in six[5]]
    six[6] = [replace(run, train_seconds=1e6, wrong=run.wrong * 0) for run in six[6]]
    found = {claim.text: claim.holds for claim in claims(six, [], 300)}
    assert found["From degree 5 on the data become separable"] is False
    assert found["The largest gain is from degree 1 to degree 2"] is False
    assert found[slow] is False


def test_claims_before_a_tenth_of_an_epoch_are_open(digits):
    early = {2: [perform(RunKey(digits.digest, 2, 0, 0.05), digits)]}
    assert all(claim.holds is None for claim in claims(early, [], 300))


# -- the whole, and the command ---------------------------------------------------------------------------------------


def test_what_is_needed():
    assert Settings(what=("sparsity",)).needed_degrees == (4,)
    assert Settings(what=("frontier",)).needed_degrees == ()
    assert Settings(what=("table1",)).needs_machines is False
    assert Settings(what=("claims",), degrees=(1, 2)).needs_machines is False
    assert {key.epochs for key in keys_of(Settings(what=("table1",)), "x") if key.degree == 1} == {10.0}
    assert len(keys_of(Settings(), "x")) == 60


@pytest.mark.parametrize("text", ["0", "a", "3-2", "1-", "", "4;5", "1-99"])
def test_degrees_that_are_none(text):
    with pytest.raises(VotronError, match=r"^degrees must be such as") as caught:
        parse_degrees(text)
    assert caught.value.parameter == "degrees"


def test_files_have_the_numbers(digits, tmp_path):
    settings = Settings(what=("table1", "table2", "claims"), degrees=(1, 4), permutations=2, epochs=1.0, jobs=1)
    made = reproduce(settings, digits, RunStore(tmp_path / "runs"), command="votron reproduce", quiet=True)
    written = write_tables(made, tmp_path)
    assert {path.name for path in written} == {
        "table1.csv", "table1.md", "table2.csv", "table2.md", "claims.md", "results.json"
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table1.csv").read_text(encoding="utf-8"))))
    first = made.tables[0].rows[0]
    assert float(rows[0]["ours"]) == first.cells[0].value
    everything = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert everything["tables"]["table1"][0]["ours"] == first.cells[0].value
    assert len(everything["runs"]) == 4
    assert everything["runs"][0]["record"] == made.runs[1][0].digest
    assert len(everything["claims"]) == 10
    assert f"| {first.cells[0].text} ±" in (tmp_path / "table1.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    arguments = ["reproduce", "table1", "figure2", "--degrees", "1-2", "--permutations", "2", "--epochs", "1"]
    arguments += ["--jobs", "1", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert "Table 1: rules, epochs and degrees" in out
    assert "d = 2" in out
    assert "4 runs, 1 at a time" in err
    assert out.rstrip().endswith(f"Report: {tmp_path / 'report.html'}")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"runs", "report.html", "table1.csv", "table1.md", "results.json", "figure2.svg", "figure2.png"} <= names
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "votron reproduce table1 figure2" in page
    assert cli.main([*arguments, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"Report: {tmp_path / 'report.html'}\n", "")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["reproduce", "table9"], 2, "WHAT must be among all, table1"),
        (["reproduce", "--degrees", "x"], 2, "--degrees must be such as 4, 1-6"),
        (["reproduce", "--permutations", "0"], 2, "--permutations must be an int"),
        (["reproduce", "--epochs", "-1"], 2, "--epochs must be a number"),
        (["reproduce", "--jobs", "0"], 2, "--jobs must be an int"),
        (["reproduce", "--epochs", "many"], 2, "invalid float value"),
        (["repeat"], 2, "invalid choice"),
        (["reproduce", "--data", "no-such-folder"], 1, "no-such-folder"),
    ],
)
def test_bad_input(arguments, status, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == status
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_folders_of_ones_own(tmp_path, capsys, n_classes, digits):
    """Called like a known set, with two classes or few; and images that are not square."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, X, y in (("train", digits.X[:80], digits.y[:80]), ("t10k", digits.X_test, digits.y_test)):
        head = struct.pack(">HBB3I", 0, 8, 3, len(X), 4, 16)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + X.tobytes())
        head = struct.pack(">HBB1I", 0, 8, 1, len(y))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(head + (y % n_classes).astype(np.uint8).tobytes())
    arguments = ["reproduce", "--data", str(folder), "--degrees", "2,4", "--permutations", "1", "--epochs", "2"]
    assert cli.main([*arguments, "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "not the papers' data" in out
    assert "The frontier is left out: it is for square images, and these are 4 x 16." in out
    assert f"Table 3: {n_classes - 1} against the rest" in out
    json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert cli.main([*arguments, "table1", "--jobs", "1", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert not (tmp_path / "out" / "table2.csv").exists()  # of the first command
    assert (tmp_path / "out" / "table1.csv").exists()


def test_labels_that_training_never_saw(digits):
    odd = replace(digits, y_test=np.full_like(digits.y_test, 77))
    with pytest.raises(VotronError, match="test labels of few must be among those to train on"):
        reproduce(Settings(what=("table1",)), odd, RunStore("nowhere"), quiet=True)


def test_places_that_cannot_be(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    assert cli.main(["reproduce", "--out", str(tmp_path / "file")]) == 1
    assert "--out must be a folder" in capsys.readouterr().err


def test_help_is_light():
    """It imports nothing that takes long."""
    code = "import sys; from votron.cli import main; main(['--help']); main(['reproduce', '--help'])"
    code += "; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "votron reproduce --data mnist" in done.stdout
    loaded = done.stdout.splitlines()[-1]
    assert not any(f"'{name}'" in loaded for name in ("numpy", "sklearn", "numba", "scipy", "matplotlib"))


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("votron 0.")
    assert cli.main([]) == 0
    assert "reproduce" in capsys.readouterr().out
