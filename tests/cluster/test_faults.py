"""Faults in the middle of training. ``make faults`` runs more of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from unittest import mock

import dask
import dask.array as da
import numpy as np
import pytest
from clusters import cluster_of
from faults import Fault, check, parts
from sklearn.datasets import load_digits

from votron.cluster import walk, workers
from votron.cluster.rows import SpreadRows
from votron.engine import DualTrainer
from votron.errors import VotronError
from votron.estimators._data import checked_chunk
from votron.kernels import PolynomialKernel

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("fault", ["killed", "stopped", "more added"])
def test_the_record_is_the_same(fault, tmp_path):
    check(fault, 1, tmp_path)


def test_a_worker_lost_while_its_shard_is_made(tmp_path, monkeypatch):
    X, y = parts(tmp_path)
    order, kernel = np.arange(len(y)), PolynomialKernel(3, 0.01)
    made = workers.WorkerShards._make_shards

    def make_and_lose(self):
        found = made(self)
        if found and not self.n_lost:
            os.kill(self.client.run(os.getpid)[found[0].address], signal.SIGKILL)
        return found

    monkeypatch.setattr(workers.WorkerShards, "_make_shards", make_and_lose)
    trainer, local = DualTrainer(kernel, 10), DualTrainer(kernel, 10)
    with cluster_of(2):
        rows = SpreadRows(X, checked_chunk, "a test")
        rows.run(y, order, 2 * len(y), trainer=trainer)
    local.run(load_digits().data, y, order, 2 * len(y))
    assert rows.account.lost == 1
    assert trainer.record(len(y), 2 * len(y)).equals(local.record(len(y), 2 * len(y)))


def test_the_loss_of_the_scheduler_is_told_in_a_sentence(tmp_path):
    X, y = parts(tmp_path)
    trainer = DualTrainer(PolynomialKernel(3, 0.01), 10)
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(tmp_path / "scheduler.json")], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard",
         "--death-timeout", "60", "--scheduler-file", str(tmp_path / "scheduler.json")], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    from distributed import Client

    try:
        with Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=60, direct_to_workers=True) as client:
            client.wait_for_workers(1, timeout=60)
            rows = SpreadRows(X, checked_chunk, "a test")

            def lose():
                scheduler.kill()
                client._timeout = 1  # seconds to wait for it to come back
                while client.status == "running":  # the workers go on without it
                    time.sleep(0.01)

            with pytest.raises(VotronError, match="Training has ended, since Dask lost its client, its scheduler"):
                rows.run(y, np.arange(len(y)), 9000, watcher=Fault(500, lose), trainer=trainer)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


@pytest.fixture
def other_numba(tmp_path):
    """What makes a worker say that it has another numba, when it starts."""
    info = tmp_path / "other" / "numba-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    return [f"import sys\nsys.path.insert(0, {str(info.parent)!r})"]


def test_workers_with_other_versions(other_numba):
    X, _ = load_digits(return_X_y=True)
    told = r"All workers must have the numba of this process, .* Got numba 0\.1 on tcp"
    with cluster_of(1, preload=other_numba), pytest.raises(VotronError, match=told):
        SpreadRows(da.from_array(X, chunks=(900, -1)), checked_chunk, "a test")


def test_a_worker_with_other_versions_that_comes_late_gets_no_rows(tmp_path, other_numba):
    X, y = parts(tmp_path)
    trainer = DualTrainer(PolynomialKernel(3, 0.01), 10)
    with cluster_of(1) as (cluster, client):

        def add():
            cluster.new_spec["options"]["preload"] = other_numba
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)

        rows, first = SpreadRows(X, checked_chunk, "a test"), set(client.nthreads())
        told = r"A worker gets no rows: All workers must have the numba of this process, .* Got numba 0\.1 on tcp"
        short, often = mock.patch.object(walk, "CANDIDATES", 64), mock.patch.object(workers, "LOOK_EVERY", 0.05)
        with pytest.warns(UserWarning, match=told), short, often:
            rows.run(y, np.arange(len(y)), 3 * len(y), watcher=Fault(500, add), trainer=trainer)
    assert set(rows.account.workers) == first
    assert rows.account.moved == 0


def test_chunks_that_can_not_be_read_again(tmp_path):
    X, y = parts(tmp_path)

    def lose(client):
        for path in tmp_path.glob("*.npy"):
            path.unlink()
        os.kill(client.run(os.getpid)[min(client.nthreads())], signal.SIGKILL)

    trainer = DualTrainer(PolynomialKernel(3, 0.01), 10)
    with cluster_of(2) as (_, client):
        rows = SpreadRows(X, checked_chunk, "a test")
        with pytest.raises(FileNotFoundError, match="npy"):
            rows.run(y, np.arange(len(y)), 9000, watcher=Fault(500, lambda: lose(client)), trainer=trainer)


def test_a_lost_worker_with_scattered_data():
    X, y = load_digits(return_X_y=True)
    trainer = DualTrainer(PolynomialKernel(3, 0.01), 10)
    with cluster_of(2) as (_, client):
        chunk = da.from_delayed(dask.delayed(client.scatter(X)), X.shape, dtype=X.dtype)
        rows = SpreadRows(chunk, checked_chunk, "a test")

        def lose():
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(VotronError, match=r"such as scattered data \(Futures?CancelledError\)"):
            rows.run(y, np.arange(len(y)), 9000, watcher=Fault(500, lose), trainer=trainer)
