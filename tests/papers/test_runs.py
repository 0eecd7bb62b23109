"""Runs against models trained until each moment, the store, and the runner: interrupted, killed, on a cluster."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from paper import paper_perceptron

from votron.papers import runs
from votron.papers.runs import RULES, MachineResult, RunKey, RunResult, Store, machines, perform, perform_missing


def same(a, b):
    """Whether two results are of the same run, except for how long it took."""
    timeless = {"train_seconds": 0.0, "scan_seconds": 0.0}
    a, b = replace(a, **timeless), replace(b, **timeless)
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in RunResult.__dataclass_fields__)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_run_agrees_with_models_trained_until_each_moment(digits, n_classes):
    data = replace(digits, y=digits.y % n_classes, y_test=digits.y_test % n_classes)
    found = perform(RunKey(data.digest, 2, 5, 1.5), data)
    assert found.moments.tolist() == [k / 10 for k in range(1, 16)]
    for moment in (0.1, 0.7, 1.5):
        t = found.at(moment)
        model = paper_perceptron(degree=2, gamma=1.0, epochs=moment, random_state=5).fit(data.X, data.y)
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


def test_a_store_gives_back_what_it_was_given_and_survives_damage(runs, tmp_path):
    store, result = Store(tmp_path / "kept"), runs[2][0]
    assert store.get("a", RunResult) is None
    store.put("a", result)
    assert same(store.get("a", RunResult), result)
    assert store.get("a", MachineResult) is None
    (path,) = (tmp_path / "kept").iterdir()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"something else", whole + b"x"):
        path.write_bytes(damaged)
        assert store.get("a", RunResult) is None


@pytest.fixture
def keys(digits):
    return [RunKey(digits.digest, degree, seed, 1.0) for degree in (1, 2) for seed in (0, 1)]


@pytest.mark.slow
def test_processes_do_what_one_does(digits, keys, tmp_path, capsys):
    alone = perform_missing(keys, digits, Store(tmp_path / "a"), jobs=1)
    several = perform_missing(keys, digits, Store(tmp_path / "b"), jobs=2)
    assert "4 of 4 runs" in capsys.readouterr().err
    assert all(same(alone[key], several[key]) for key in keys)
    assert len(list((tmp_path / "b").iterdir())) == 4


def test_only_what_is_missing_is_done(digits, keys, tmp_path, monkeypatch, capsys):
    store, done = Store(tmp_path), []
    perform_missing(keys[:3], digits, store, jobs=1, quiet=True)
    monkeypatch.setattr(runs, "perform", lambda key, data, **how: done.append(key) or perform(key, data, **how))
    for _ in range(2):
        assert perform_missing(keys, digits, store, jobs=1, quiet=True).keys() == set(keys)
    assert done == [keys[3]]
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_on_a_dask_cluster(digits, keys, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found = perform_missing(keys, digits, Store(tmp_path), client=client, quiet=True)
    assert all(same(found[key], perform(key, digits)) for key in keys)
    assert len(list(tmp_path.iterdir())) == 4


def test_machines_are_kept(digits, tmp_path, monkeypatch):
    found = machines(digits, Store(tmp_path), quiet=True)
    assert len(found) == 10
    assert all(machine.n_support > 2 and 0 <= machine.error < 20 for machine in found)
    monkeypatch.setattr("votron.papers.runs._trained", lambda *args: pytest.fail("trained again"))
    assert machines(digits, Store(tmp_path), quiet=True) == found


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals reach a group of processes differently elsewhere")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_interrupted_and_resumed(tmp_path, number, status):
    """A real process, killed or interrupted after its first finished run; the rest is done later."""
    command = [sys.executable, "-m", "votron", "reproduce", "table1", "--degrees", "2", "--permutations", "20"]
    command += ["--epochs", "2", "--jobs", "2", "--out", str(tmp_path)]
    with (tmp_path / "err").open("w+") as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True)
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(tmp_path.glob("runs/*.msgpack")):
            time.sleep(0.02)
        (os.kill if number == signal.SIGKILL else os.killpg)(process.pid, number)
        assert process.wait(timeout=60) == status
        if number == signal.SIGKILL:
            os.killpg(process.pid, signal.SIGKILL)  # workers, which would end by themselves after some minutes
        assert "Traceback" not in (tmp_path / "err").read_text()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.msgpack")}
    assert 1 <= len(finished) < 20
    assert not (tmp_path / "report.html").exists()
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"of {20 - len(finished)} runs" in again.stderr
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
