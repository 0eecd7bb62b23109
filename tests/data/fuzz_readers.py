"""Damaged and forged files: each is read, well formed, or refused with one sentence; none crashes, hangs or takes much.

``python tests/data/fuzz_readers.py 10000`` runs that many cases, and with ``1 123`` instead the one of seed 123.
A case is made from a small sound file by its seed: see `fuzz_files`. Cases run in a process of their own, since polars
may end it, with little memory that is said to be free; time and memory are measured for each. What fails is printed
with its seed, and written to a file.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn.datasets  # noqa: F401  # which the first file of svmlight would wait for
from fuzz_files import case

from votron.data import _sources, open_batches, read_examples
from votron.errors import VotronError

SECONDS = 2
SECONDS_TO_DIE = 30
FREE = 200 << 20
MAX_GROWN = 250 << 20
CHILD = [sys.executable, __file__, "--child"]


@contextmanager
def at_most(seconds):
    def stop(*_):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_well_formed(examples):
    """Whether features are finite, or missing where that is allowed, and labels as many and of a known type."""
    X, y = examples.X, examples.y
    assert examples.n_rows > 0
    assert X.shape[1] > 0
    if examples.columns is not None:
        for column in X.get_columns():
            assert not column.dtype.is_float() or not column.is_infinite().any()
    else:
        values = X.data if sp.issparse(X) else X
        assert values.dtype.kind in "iuf"
        assert np.isfinite(values).all()
        if sp.issparse(X):
            X.check_format(full_check=True)
    if y is not None:
        assert y.shape == (examples.n_rows,)
        assert y.dtype in (np.int64, np.bool_, np.float64) or y.dtype.kind == "U"
        assert y.dtype.kind != "f" or np.isfinite(y).all()


def same(one, other):
    if one.columns is not None:
        equal = one.X.equals(other.X) and one.X.dtypes == other.X.dtypes
    elif sp.issparse(one.X):
        equal = one.X.shape == other.X.shape and (one.X != other.X).nnz == 0
    else:
        equal = np.array_equal(one.X, other.X)
    return equal and np.array_equal(one.y, other.y) if one.y is not None else equal and other.y is None


def check_sentence(error):
    message = str(error)
    assert isinstance(error, VotronError), repr(error)
    assert message, "no message"
    assert "\n" not in message, "several lines"
    assert message.endswith("."), "no sentence"
    assert len(message) < 600, "too long"


def outcome(path, options):
    """What comes of reading a file: examples, or the sentence."""
    try:
        examples = read_examples(path, **options)
    except VotronError as error:
        check_sentence(error)
        return str(error)
    check_well_formed(examples)
    return examples


def check_batches(path, options, whole):
    """Whether the same file in batches ends as well as it must: all rows, or a sentence."""
    n, rows, labels = 0, [], []
    try:
        for batch in open_batches(path, batch_bytes=max(100, path.stat().st_size // 20), **options):
            check_well_formed(batch)
            n += batch.n_rows
            if batch.columns is not None:
                names = batch.columns if isinstance(whole, str) else whole.columns  # JSON may have more, later
                found = [batch.X[name].to_list() if name in batch.columns else [None] * batch.n_rows for name in names]
                rows += list(zip(*found, strict=True))
                labels += [] if batch.y is None else batch.y.tolist()
    except VotronError as error:
        check_sentence(error)
        return
    if isinstance(whole, str):
        return
    assert n == whole.n_rows, f"{n} rows in batches"
    if whole.columns is not None:
        expected = [] if whole.y is None else whole.y.tolist()
        assert list(map(kinds, rows)) == list(map(kinds, whole.X.rows())), "other values in batches"
        assert kinds(labels) == kinds(expected), "other labels in batches"


def kinds(values):
    """Values that are the same only if they are of the same kind: True is not 1, 1 is 1.0, and NaN is NaN."""
    return [(isinstance(value, bool), value if value == value else "NaN") for value in values]


def run_case(path, options):
    """Run one case; return whether its file could be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with at_most(SECONDS):
            first = outcome(path, options)
        with at_most(SECONDS):
            second = outcome(path, options)
        if isinstance(first, str) or isinstance(second, str):
            assert isinstance(first, str), f"read, and then {second}"
            assert told(first) == told(second), f"{first}, and then {second}"
        else:
            assert same(first, second), "two readings differ"
        with at_most(SECONDS):
            check_batches(path, options, first)
    return not isinstance(first, str)


def told(sentence):
    """A sentence without the reason of polars, whose threads are not always the same one first."""
    return sentence.split(" as parquet: ")[0].split(" as arrow: ")[0]


def _peak():
    """The most memory that this process had, since the last call where the system can tell."""
    try:
        with open("/proc/self/status") as file:
            most = 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return most
    except OSError:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured_case(seed, folder):
    """What came of a case: whether it was read, why it failed, and what it took."""
    name, content, options = case(seed)
    path = Path(folder, name)
    path.write_bytes(content)
    del content
    _peak()
    before, begun = _peak(), time.perf_counter()
    found = {"seed": seed, "read": False, "failure": None}
    try:
        found["read"] = run_case(path, options)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of polars is no Exception
        found["failure"] = f"{type(error).__name__}: {error}"[:500]
    found["grown"], found["seconds"] = _peak() - before, time.perf_counter() - begun
    if found["failure"] is None and found["grown"] > MAX_GROWN:
        found["failure"] = f"{found['grown'] >> 20} MB"
    return found


def run(n_cases, seed=0):
    """Run cases in this process; return what came of each."""
    with tempfile.TemporaryDirectory() as folder:
        for one in range(seed, seed + n_cases):
            yield kept(measured_case(one, folder))


def kept(found):
    """Write and print what failed."""
    if found["failure"] is not None:
        name, content, _ = case(found["seed"])
        path = Path(tempfile.gettempdir(), f"votron-fuzz-{found['seed']}")
        path.write_bytes(content)
        print(f"seed {found['seed']}: {found['failure']} (kept as {path}, read as {name})", file=sys.stderr)
    return found


def child(first, n):
    """Run cases where they may end the process, and print what came of each."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _sources.available_memory = lambda: FREE
    with tempfile.TemporaryDirectory() as folder:
        for one in range(first, first + n):
            print(json.dumps(measured_case(one, folder)), flush=True)


def run_in_children(n_cases, seed=0):
    """Run cases in processes of their own; return what came of each."""
    at, end = seed, seed + n_cases
    while at < end:
        with subprocess.Popen(
            [*CHILD, str(at), str(end - at)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        ) as process:
            for line in _lines(process):
                found = json.loads(line)
                at = found["seed"] + 1
                yield kept(found)
            status = process.wait()
        if at < end:
            why = f"the process ended with status {status}" if status != -signal.SIGKILL else "the process hung"
            yield kept({"seed": at, "read": False, "failure": why, "grown": 0, "seconds": 0.0})
            at += 1


def _lines(process):
    """Yield the lines of a process, which is killed if none comes for long."""
    rest = b""
    while True:
        if not select.select([process.stdout], [], [], SECONDS_TO_DIE)[0]:
            process.kill()
            return
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def main(n_cases, seed):
    n_read = n_failed = 0
    most, longest = (0, 0), (0.0, 0)
    for i, one in enumerate(run_in_children(n_cases, seed), start=1):
        n_read, n_failed = n_read + one["read"], n_failed + (one["failure"] is not None)
        most, longest = max(most, (one["grown"], one["seed"])), max(longest, (one["seconds"], one["seed"]))
        if i % 1000 == 0 or i == n_cases:
            print(
                f"{i} cases: {n_read} could be read, {i - n_read - n_failed} refused, {n_failed} failed; at most "
                f"{most[0] / 1e6:.0f} MB (seed {most[1]}) and {longest[0]:.2f} s (seed {longest[1]})",
                flush=True,
            )
    return bool(n_failed)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
