"""Faults in the middle of training. ``make faults`` runs more of them."""

from __future__ import annotations

import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
from clusters import cluster_of
from faults import Fault, check, parts
from sklearn.datasets import load_digits

from votron.engine import DualTrainer
from votron.engine.cluster.rows import SpreadRows
from votron.errors import VotronError
from votron.estimators._validation import checked_chunk
from votron.kernels import PolynomialKernel

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("fault", ["killed", "stopped"])
def test_the_record_is_the_same(fault, tmp_path):
    check(fault, 1, tmp_path)


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
            with pytest.raises(VotronError, match=r"The Dask scheduler at .* does not answer any more"):
                rows.run(trainer, y, np.arange(len(y)), 9000, watcher=Fault(500, scheduler.kill))
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_client_that_is_closed(tmp_path):
    X, y = parts(tmp_path)
    trainer = DualTrainer(PolynomialKernel(3, 0.01), 10)
    with cluster_of(1) as (_, client):
        rows = SpreadRows(X, checked_chunk, "a test")
        with pytest.raises(VotronError, match="The Dask client was closed during training"):
            rows.run(trainer, y, np.arange(len(y)), 9000, watcher=Fault(500, client.close))


def test_workers_with_other_versions(tmp_path):
    X, _ = load_digits(return_X_y=True)
    info = tmp_path / "numba-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    preload = [f"import sys\nsys.path.insert(0, {str(tmp_path)!r})"]
    told = r"All workers must have the numba of this process, .* Got numba 0\.1 on tcp"
    with cluster_of(1, preload=preload), pytest.raises(VotronError, match=told):
        SpreadRows(da.from_array(X, chunks=(900, -1)), checked_chunk, "a test")
