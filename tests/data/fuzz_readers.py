"""Damaged files: each is read, well formed, or refused with one sentence; none crashes, hangs or takes much memory.

``python tests/data/fuzz_readers.py 10000`` runs that many cases, and with ``1 123`` instead the one of seed 123.
A case is made by a seeded mutator from a small sound file. What fails is printed with its seed, and written to a file.
"""

import gzip
import io
import random
import resource
import signal
import struct
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from votron.data import open_batches, read_examples
from votron.errors import VotronError

SECONDS = 2
MEGABYTES = 400
TOKENS = (
    *[
        b"",
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b'"',
        b'""',
        b"'",
        b",",
        b";",
        b"\t",
        b"|",
        b"#",
        b":",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
    ],
    *[b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"99999999999999999999", b"1_000", b"0x10", b"NA", b"?", b"true"],
    *[
        b"2147483648:1",
        b"-3:1",
        b"0:1",
        b"1:1:1",
        b"qid:1",
        b"(",
        b")",
        b"{",
        b"'|O'",
        b"'<f8'",
        b"\x1f\x8b",
        b"PK\x03\x04",
    ],
    *[
        "é".encode(),
        "\uff11".encode(),
        b"\xe9",
        b"\xed\xa0\x80",
        b" ",
        b"   ",
        b"\x0b",
        b"\x1a",
        b"+",
        b"-",
        b".",
        b"e5",
        b"True",
    ],
)


def _idx(array):
    return bytes([0, 0, 0x08, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _sparse(matrix):
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()


def sound_files():
    """Name, content and options of files that are as they should be."""
    rng = np.random.RandomState(0)
    X = rng.randint(0, 5, (6, 4))
    csv = b"name,size,ok,class\n" + b"".join(
        b'"a, %d",%.2f,%s,%s\n' % (i, i / 3, b"true" if i % 2 else b"false", b"red" if i % 3 else b"blue")
        for i in range(12)
    )
    numbers = b"a;b;c;y\n" + b"".join(b"%d;%d,5;%d;%d\n" % (i, i, 300 * i, i % 2) for i in range(12))
    tsv = b"a\tb\tlabel\n" + b"".join(b"%d\tw%d\t%d\n" % (i, i % 3, i % 2) for i in range(12))
    codes = b"zip,ok,'class'\n" + b"".join(b"%05d,%d,'%02d'\n" % (77 * i, i % 2, i % 3) for i in range(12))
    one = b"x\n" + b"".join(b"%d\n\n" % (300 * i) if i % 3 else b"7\n" for i in range(12))
    svm = b"".join(b"%+d %d:%g %d:%d # c\n" % (1 - 2 * (i % 2), i % 3 + 1, i / 4, i + 5, i) for i in range(12))
    images = _idx(rng.randint(0, 256, (5, 3, 3)).astype(np.uint8))
    return [
        ("a.csv", csv, {"label": "class"}),
        ("b.csv", numbers, {"label": -1, "missing": "drop"}),
        ("c.csv", csv.replace(b"\n", b"\r\n"), {"label": "class", "missing": "keep"}),
        ("a.tsv", tsv, {"label": "label"}),
        ("plain", tsv, {"label": 2, "as_text": ["a"]}),
        ("codes.csv", codes, {"label": -1}),
        ("codes.csv", codes, {"label": "-1", "label_kind": "text", "missing": "keep"}),
        ("one.csv", one, {"labels": "none", "missing": "keep"}),
        ("a.svm", svm, {}),
        ("a9a", svm, {"n_features": 9}),
        ("a.idx", images, {"labels": "none"}),
        ("a.idx.gz", gzip.compress(images, mtime=0), {"labels": "none"}),
        ("a.csv.gz", gzip.compress(csv, mtime=0), {"label": "class"}),
        ("a.npy", _npy(X.astype(np.float64)), {"label": -1}),
        ("b.npy", _npy(np.asfortranarray(X)), {"labels": "none"}),
        ("a.npz", _npz(X=X / 7, y=np.array(list("abcabc"))), {}),
        ("b.npz", _sparse(sp.csr_matrix(X)), {"labels": "none"}),
    ]


def mutated(content, rng):
    """Return the content with one to four changes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 64)))
        kind = rng.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * rng.choice((1, 2, 50, 2000))
        elif kind == 4:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 5:
            data[at:end] = rng.choice(TOKENS)
        elif kind == 6:
            other = rng.randrange(len(data) + 1)
            data[at:end] = data[other : other + rng.choice((1, 4, 16, 64))]
        else:
            digits = [i for i, byte in enumerate(data) if 48 <= byte < 58] or [min(at, max(len(data) - 1, 0))]
            if data:
                data[rng.choice(digits)] = rng.choice(b"0123456789.-e")
    return bytes(data)


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
            assert not column.dtype.is_float() or column.drop_nulls().is_finite().all()
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
                rows += batch.X.rows()
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
    """Values that are the same only if they are of the same kind: True is not 1, and 1 is 1.0."""
    return [(isinstance(value, bool), value) for value in values]


def run_case(seed, folder):
    """Run one case; return the path of its file, and whether it could be read."""
    rng = random.Random(seed)
    name, content, options = rng.choice(sound_files())
    path = Path(folder, name)
    path.write_bytes(mutated(content, rng))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with at_most(SECONDS):
            first = outcome(path, options)
        with at_most(SECONDS):
            second = outcome(path, options)
        if isinstance(first, str) or isinstance(second, str):
            assert isinstance(first, str), f"read, and then {second}"
            assert first == second, f"{first}, and then {second}"
        else:
            assert same(first, second), "two readings differ"
        with at_most(SECONDS):
            check_batches(path, options, first)
    return not isinstance(first, str)


def run(n_cases, seed=0):
    """Run cases; return how many files could be read, and how many seeds failed, with the reason of each."""
    n_read, failures = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for one in range(seed, seed + n_cases):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                n_read += run_case(one, folder)
                grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
                assert grown < MEGABYTES, f"{grown:.0f} MB"
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # a panic of polars is no Exception
                failures[one] = f"{type(error).__name__}: {error}"
                kept = Path(tempfile.gettempdir(), f"votron-fuzz-{one}")
                name = random.Random(one).choice(sound_files())[0]
                kept.write_bytes(Path(folder, name).read_bytes())
                print(f"seed {one}: {failures[one]} (kept as {kept}, read as {name})", file=sys.stderr)
    return n_read, failures


if __name__ == "__main__":
    cases, first_seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    read, failed = run(cases, first_seed)
    print(f"{cases} cases: {read} could be read, {cases - read - len(failed)} refused, {len(failed)} failed")
    sys.exit(bool(failed))
