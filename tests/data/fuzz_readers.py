"""Damaged files: each is read, the same at once and in batches, or refused with a sentence; none crashes or hangs.

``python tests/data/fuzz_readers.py 10000`` runs that many cases, and with ``1 123`` instead the one of seed 123. Cases
run in a process of their own, since a library may end it. What fails is printed with its seed.
"""

import bz2
import functools
import gzip
import io
import json
import lzma
import random
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
import sklearn.datasets  # noqa: F401  # which the first file of svmlight would wait for

from votron.data import Examples, open_batches, read_examples, write_examples
from votron.errors import VotronError

SECONDS = 20
TABLE = pl.DataFrame(
    {
        "name": ["ann", "bob, x", 'c"d', "e\nf"] * 5,
        "zip": ["01067", "80331"] * 10,
        "n": list(range(20)),
        "share": [0.5, 1.25, None, 1e9] * 5,
        "ok": [True, False] * 10,
        "day": ["2024-01-31", "2024-02-01"] * 10,
        "*": ["é", "日本"] * 10,
    }
)
LABELS = np.array(["p", "q"] * 10)
TOKENS = [b"", b",", b";", b'"', b"\n", b"\r\n", b"\0", b"\xff", b"1,5", b"1e999", b"NaN", b"null", b"?", b"007"]
TOKENS += [
    b"{",
    b"]",
    b'"\\ud800"',
    b"9" * 30,
    b"-1",
    b"1:",
    b"\xef\xbb\xbf",
    b"'",
    b"\t",
    b"\x80\x00\x00\x00",
    b"\xff" * 8,
]


@functools.cache
def sound_files():
    """Small files of every format, and how to read them."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "tsv", "json", "jsonl", "parquet", "arrow"):
            path = Path(folder, f"a.{suffix}")
            write_examples(Examples(TABLE, LABELS, "csv", "a", label="y"), path)
            files[path.name] = path.read_bytes(), {"label": "y", "missing": "keep"}
        X, y = sp.random(20, 6, 0.4, "csr", random_state=0), np.arange(20) % 3
        for name, matrix in (("a.svm", X), ("a.npz", X.toarray()), ("sparse.npz", X)):
            path = Path(folder, name)
            write_examples(Examples(matrix, y, "npz", "a"), path)
            files[name] = path.read_bytes(), {}
    array, stream = io.BytesIO(), io.BytesIO()
    np.save(array, X.toarray())
    TABLE.write_ipc_stream(stream)
    files["a.npy"] = array.getvalue(), {"label": -1}
    files["stream.arrow"] = stream.getvalue(), {"label": "zip", "missing": "keep"}
    files["a.idx"] = bytes([0, 0, 8, 3]) + np.array([5, 2, 3], ">u4").tobytes() + bytes(range(30)), {"labels": "none"}
    files["semicolons.csv"] = (
        files["a.csv"][0].replace(b",", b";").replace(b".", b","),
        {"label": "y", "missing": "keep"},
    )
    return files


def case(seed):
    """The name and the content of a damaged file, and how to read it."""
    rng = random.Random(seed)
    name, (content, options) = rng.choice(list(sound_files().items()))
    data = bytearray(content)
    for _ in range(rng.randint(0, 4)):
        begin = rng.randrange(len(data) + 1)
        end = begin + rng.choice([0, 1, 4, rng.randrange(100)])
        data[begin:end] = rng.choice(
            [rng.choice(TOKENS), rng.randbytes(rng.randint(1, 8)), bytes(data[end : end + 50])]
        )
    if rng.random() < 0.2:
        suffix, compress = rng.choice([(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
        name, data = name + suffix, bytearray(compress(bytes(data)))
        if rng.random() < 0.5:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return name, bytes(data), options


def outcome(read):
    """What was read, or the sentence that refuses it."""
    try:
        found = read()
    except VotronError as error:
        sentence = str(error)
        assert re.fullmatch(r"[A-Z'].{,700}\.", sentence), f"no sentence: {sentence}"
        return sentence
    for examples in found:
        values = examples.X if sp.issparse(examples.X) else None
        assert values is None or np.isfinite(values.data).all()
        assert examples.y is None or len(examples.y) == examples.n_rows
    return found


def run_case(path, options):
    """Run one case; return whether its file could be read."""
    whole = outcome(lambda: [read_examples(path, **options)])
    parts = outcome(lambda: list(open_batches(path, batch_bytes=200, **options)))
    if not isinstance(whole, str) and not isinstance(parts, str) and whole[0].columns is not None:
        assert sum(map(len, parts)) == whole[0].n_rows, "another number of rows in batches"
    return not isinstance(whole, str)


def run(n, seed):
    """Run cases in this process; yield the seed, whether it was read, and why it failed."""
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"more than {SECONDS} s")))
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        for one in range(seed, seed + n):
            name, content, options = case(one)
            path = Path(folder, name)
            path.write_bytes(content)
            found = {"seed": one, "read": False, "failure": None}
            signal.alarm(SECONDS)
            try:
                found["read"] = run_case(path, options)
            except BaseException as error:  # a panic of polars is not an Exception
                found["failure"] = f"{name}: {type(error).__name__}: {error}"[:500]
            signal.alarm(0)
            yield found


def run_in_children(n, seed=0):
    """Run cases in processes of their own; yield what came of each."""
    at, end = seed, seed + n
    while at < end:
        command = [sys.executable, __file__, "--child", str(end - at), str(at)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            for line in process.stdout:
                found = json.loads(line)
                at = found["seed"] + 1
                yield found
        if at < end:
            yield {"seed": at, "read": False, "failure": f"the process ended with status {process.returncode}"}
            at += 1


def main(n, seed):
    found = []
    for one in run_in_children(n, seed):
        found.append(one)
        if one["failure"]:
            print(f"seed {one['seed']}: {one['failure']}")
    failed = sum(one["failure"] is not None for one in found)
    print(f"{n} cases: {sum(one['read'] for one in found)} could be read, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        for one in run(*map(int, sys.argv[2:])):
            print(json.dumps(one), flush=True)
    else:
        sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
