"""Faults in the middle of training on a real cluster: the record is the same. ``python tests/cluster/faults.py 20``."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np
from clusters import cluster_of
from sklearn.datasets import load_digits

from votron.cluster import walk, workers
from votron.cluster.rows import SpreadRows
from votron.engine import DualTrainer
from votron.estimators._data import checked_chunk
from votron.kernels import PolynomialKernel
from votron.record import MistakeRecord

EPOCHS = 3
LOST_AFTER = 12.0
KERNEL = PolynomialKernel(3, 0.01)


class Fault:
    """Looks on while training runs, and does its harm at a given step."""

    def __init__(self, at: int, harm: Callable[[], None]) -> None:
        self.at, self.harm, self.done = at, harm, False

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        if step >= self.at and not self.done:
            self.done = True
            self.harm()

    def should_stop(self) -> bool:
        return False


def parts(folder: Path, n: int = 6) -> tuple[da.Array, np.ndarray]:
    """Digits as files that workers read, one a chunk, and the labels."""
    X, y = load_digits(return_X_y=True)
    arrays = []
    for k, rows in enumerate(np.array_split(X, n)):
        np.save(folder / f"{k}.npy", rows)
        arrays.append(da.from_delayed(dask.delayed(np.load)(folder / f"{k}.npy"), rows.shape, dtype=X.dtype))
    return da.concatenate(arrays), y


def expected(X: np.ndarray, y: np.ndarray, order: np.ndarray) -> MistakeRecord:
    trainer = DualTrainer(KERNEL, 10)
    trainer.run(X, y, order, EPOCHS * len(order))
    return trainer.record(len(order), EPOCHS * len(order))


def train(X: da.Array, y: np.ndarray, order: np.ndarray, at: int, harm: Callable[[], None]) -> tuple[Any, Any]:
    rows = SpreadRows(X, checked_chunk, "a test")
    trainer, fault = DualTrainer(KERNEL, 10), Fault(at, harm)
    intervals = mock.patch.object(walk, "CANDIDATES", 64)  # else a pass would be one
    with intervals, mock.patch.object(workers, "LOOK_EVERY", 0.05):
        rows.run(y, order, EPOCHS * len(order), watcher=fault, trainer=trainer)
    assert fault.done
    return trainer.record(len(order), EPOCHS * len(order)), rows.account


def process_of(client: Any, which: int = 0) -> tuple[str, int]:
    return sorted(client.run(os.getpid).items())[which]


# -- the faults -------------------------------------------------------------------------------------------------------


def killed(cluster: Any, client: Any) -> None:
    os.kill(process_of(client)[1], signal.SIGKILL)


def stopped(cluster: Any, client: Any) -> None:
    """Stopped for good: Dask restarts a worker that gives no sign of life."""
    os.kill(process_of(client)[1], signal.SIGSTOP)


def paused(cluster: Any, client: Any) -> None:
    """Stopped for a while; a process that does nothing else continues it."""
    pid = process_of(client)[1]
    os.kill(pid, signal.SIGSTOP)
    os.spawnlp(os.P_NOWAIT, "sh", "sh", "-c", f"sleep 3; kill -CONT {pid}")


def added(cluster: Any, client: Any) -> None:
    cluster.scale(3)
    client.wait_for_workers(3, timeout=60)


def more_added(cluster: Any, client: Any) -> None:
    """More workers come than there were."""
    cluster.scale(5)
    client.wait_for_workers(5, timeout=60)


def short_of_memory(cluster: Any, client: Any) -> None:
    """A task takes more memory than its worker has, and Dask's nanny starts the worker again."""
    address = process_of(client)[0]
    client.submit(_hog, workers=[address], retries=0, pure=False)
    until = time.monotonic() + 60
    while address in client.scheduler_info()["workers"] and time.monotonic() < until:
        time.sleep(0.1)


def _hog() -> None:
    held = [np.ones(64 << 20, dtype=np.uint8) for _ in range(40)]
    time.sleep(30)
    del held


FAULTS = {
    "killed": killed,
    "stopped": stopped,
    "paused": paused,
    "added": added,
    "more added": more_added,
    "short of memory": short_of_memory,
}
LOSSES = {"killed": 1, "stopped": 1, "short of memory": 1}
MOVED = {"added": 1, "more added": 2}


def check(name: str, seed: int, folder: Path) -> None:
    """Train with a fault on the way, on a cluster of its own, and compare records."""
    X, y = parts(folder)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    how = {"lost_after": f"{LOST_AFTER}s"} if name == "stopped" else {}
    with cluster_of(2, memory_limit="1500MB", **how) as (cluster, client):
        at = int(rng.uniform(0.2, 2.5) * len(y))
        record, account = train(X, y, order, at, lambda: FAULTS[name](cluster, client))
    assert record.equals(expected(np.asarray(load_digits().data), y, order)), f"{name}, seed {seed}: another record"
    assert account.lost >= LOSSES.get(name, 0), f"{name}, seed {seed}: no loss was noticed"
    assert account.moved >= MOVED.get(name, 0), f"{name}, seed {seed}: workers that came got no rows"
    assert name != "more added" or len(set(account.workers)) == 5, f"{name}, seed {seed}: {account.workers}"


def main(n: int) -> int:
    failures = 0
    for k in range(n):
        name = list(FAULTS)[k % len(FAULTS)]
        begun = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                check(name, k, Path(folder))
            said = "the same record"
        except Exception as error:
            failures += 1
            said = f"FAILED: {type(error).__name__}: {error}"
        print(f"{k + 1:3} {name}: {said} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"{n - failures} of {n}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
