"""Damaged and forged model files: each opens as the model it was, or ends in a sentence; nothing else may happen.

``python tests/saving/fuzz_models.py 10000`` runs many cases and tells the first seed that fails; the tests run some.
A *mutation* changes bytes, as a bad disk or a bad copy does. A *forgery* changes the manifest or an array and makes the
digest anew, as somebody with bad intentions would: it may open, but then what it is has to be well-formed.
"""

import contextlib
import json
import random
import signal
import sys
import tempfile
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from votron import VotronError, load
from votron.errors import ModelFileError
from votron.saving import container, read_manifest

FORMATS = Path(__file__).parent / "formats"
EXPECTED = json.loads((FORMATS / "expected.json").read_text())
SECONDS = 10
MEMORY = 200 << 20
ODD = [None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53, 2**62, 2**63, -(2**63), 0.5, -0.5, 1e308, -1e308, 5e-324]
WORDS = ["", "x", "vote", "linear", "rbf", "poly", "precomputed", "normalized", "<U9", "|O", "Discrete", "Pipeline"]
WORDS += ["filename", "file", "char", "/etc/hostname", "latin-1", "(a+)+$", "most_frequent", "l1", "Text", "drop"]


def mutated(content, rng):
    """Return a file with some bytes changed, cut, doubled or moved."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        kind = rng.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(content):
            content[at] = rng.choice(b'\x00\xff{}[]",:09-e')
        elif kind == 2:
            del content[at:]
        elif kind == 3:
            del content[at : min(to, at + 64)]
        elif kind == 4:
            content[at:at] = content[at : min(to, at + 64)]
        elif kind == 5:
            content[at : at + 8] = rng.randbytes(8)
        else:
            content[at:at] = rng.choice([b"9" * 30, b'"a":1,', b"[" * 50, b"NaN", b"\\u0000", b"1e999"])
        if not content:
            break
    return bytes(content)


def places(value, path=()):
    """Yield where the values of a JSON value stand."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def forged_manifest(manifest, rng):
    """Change, drop, double or swap values of the manifest."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        path = rng.choice([p for p in places(manifest) if p and p[0] not in ("certificate", "summary", "provenance")])
        parent = manifest
        for key in path[:-1]:
            parent = parent[key]
        key, kind = path[-1], rng.randrange(6)
        if kind == 0:
            del parent[key]
        elif kind == 1:
            parent[key] = rng.choice(ODD)
        elif kind == 2:
            parent[key] = rng.choice(WORDS)
        elif kind == 3:
            parent[key] = rng.choice([[], {}, [parent[key]] * 3, {"x": parent[key]}, {"$array": "model.weights"}])
        elif kind == 4 and isinstance(parent[key], int | float):
            parent[key] += rng.choice([1, -1])
        elif isinstance(parent, dict):
            parent[rng.choice(["extra", *parent])] = parent[key]


def forged_arrays(arrays, rng):
    """Change values, sizes or types of arrays."""
    if not arrays:
        return
    name = rng.choice(sorted(arrays))
    array, kind = arrays[name].copy(), rng.randrange(6)
    if kind == 0 and array.size:
        flat = array.reshape(-1)
        odd = [0, 1, -1, 99, 2**31, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat[rng.randrange(flat.size)] = np.array(rng.choice(odd)).astype(array.dtype)
    elif kind == 1 and array.ndim:
        array = array[: rng.randrange(array.shape[0] + 1)]
    elif kind == 2:
        array = array.reshape(-1)[::-1].copy().reshape(array.shape)
    elif kind == 3:
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "?"]))
    elif kind == 4:
        array = array.T.copy() if array.ndim == 2 else array.reshape(1, -1)
    else:
        del arrays[name]
        return
    arrays[name] = array


def content_of(path):
    found = container.read_container(path, mapped=False)
    return found.manifest, {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in found.arrays.items()}


def one_case(seed, folder):
    """Run a case; return whether the file opened. Raise AssertionError where something else happened."""
    rng = random.Random(seed)
    source = rng.choice(sorted(FORMATS.glob("*.votron")))
    path = folder / "case.votron"
    if forgery := rng.random() < 0.5:
        found = container.read_container(source, mapped=False)
        manifest, arrays = json.loads(json.dumps(found.manifest)), dict(found.arrays)
        if rng.random() < 0.6:
            forged_manifest(manifest, rng)
        else:
            forged_arrays(arrays, rng)
        container.write_container(path, manifest, arrays)
    else:
        path.write_bytes(mutated(source.read_bytes(), rng))
    try:
        model = load(path, mmap=rng.random() < 0.5)
    except ModelFileError as error:
        text = str(error)
        assert "\n" not in text, text
        assert text.endswith("."), text
        assert "case.votron" in text, text
        assert len(text) < 700, text
        return False
    if not forgery:
        assert content_of(path) == content_of(source), "a changed file opened as another model"
        return True
    well_formed(model, source.stem)
    read_manifest(path)
    return True


def well_formed(model, stem):
    """A model that opened predicts and becomes compact, or says in a sentence why it cannot."""
    given = EXPECTED[stem]
    make = {"rows": np.array, "table": pl.DataFrame, "text": list}
    rows = next(make[kind](given[kind]) for kind in make if kind in given)
    n = len(given["labels"])
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = model[:-1].transform(rows) if hasattr(model, "steps") else rows
            rows = last.decision_function(rows) if rows.shape[1] == last.n_features_in_ else rows
    except Exception:  # scikit-learn's own, for rows that are not those of a forged encoder
        return
    if hasattr(model, "steps"):
        return
    X = np.zeros((n, min(last.n_features_in_, 10_000)))
    X[1] = 1
    if X.shape[1] < last.n_features_in_:
        return
    for predictor in (last.decision_function, lambda X: last.compact().decision_function(X), _staged(last)):
        try:
            scores = predictor(X)
        except VotronError:
            continue
        assert np.isfinite(scores[~np.isneginf(scores)]).all()
    with contextlib.suppress(VotronError):
        assert len(last.predict(X)) == n


def _staged(model):
    if not hasattr(model, "staged_decision_function"):
        return model.decision_function
    return lambda X: next(iter(next(iter(model.staged_decision_function(X)))[1].values()))


def run(n_cases, first_seed=0):
    """Run cases; return how many opened. The first that fails is told with its seed."""

    def too_long(*_):
        raise AssertionError(f"no end after {SECONDS} s")

    n_opened = 0
    before = signal.signal(signal.SIGALRM, too_long)
    tracemalloc.start()
    try:
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in range(first_seed, first_seed + n_cases):
                signal.alarm(SECONDS)
                tracemalloc.reset_peak()
                try:
                    n_opened += one_case(seed, Path(name))
                    assert tracemalloc.get_traced_memory()[1] < MEMORY, "too much memory"
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        tracemalloc.stop()
    return n_opened


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(f"{count:,} model files: {run(count, start):,} opened, the others ended in a sentence.")
