"""Forged and damaged model files: each opens as a model, or ends in a sentence, in little time and memory.

``python tests/saving/test_hostile_files.py 10000`` opens many, and tells the first seed that fails; the tests open two
hundred. A *mutation* changes bytes, as a bad disk does. A *forgery* changes the manifest or the arrays of a model of
any class, behind any kinds of steps, and makes the digest anew, as somebody with bad intentions would: values at the
edges of their types and beyond, long texts, arrays of other sizes and types, parts of other models.
"""

import copy
import functools
import io
import itertools
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))  # where this runs as a program
from fitted_models import classifiers, pipelines

from votron import load, save
from votron.errors import ModelFileError
from votron.saving import read_manifest
from votron.saving.container import Tensors, packed, read_content

SLACK, MULTIPLE = 40 << 20, 8
"""Memory that opening may take: so many bytes, and so many for each byte of the file."""
SECONDS = 10
LONG = 20_000
ODD = [None, True, False, 0, -1, 1, 2, 7, 2**16, 2**26, 2**31, 2**47, 2**53, 2**61, 2**63, -(2**63), 2**200, 0.5, -0.5]
ODD += [1e308, -1e308, 5e-324, [], {}, [[]], {"kind": "Steps", "steps": []}, {"name": "linear", "fields": {}}]
WORDS = ["", "x", "vote", "linear", "rbf", "poly", "precomputed", "normalized", "composed", "conjunction", "filename"]
WORDS += ["file", "char_wb", "word", "/etc/hostname", "latin-1", "(a+)+$", "l1", "most_frequent", "drop", "remainder"]
WORDS += ["english", "random", "last", "holdout", "auto", "StandardScaler", "SimpleImputer", "TfidfVectorizer", "Date"]
WORDS += ["HashingVectorizer", "TextColumn", "DateColumn", "VotedPerceptronClassifier", "WinnowClassifier", "\x1b[2J"]
EXTREME = [0, 1, -1, 2, 99, 2**31, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 0.5]
PARTS = [".texts", ".objects", ".indptr", ".data", ".indices", ".by_label"]


# -- forgery -----------------------------------------------------------------------------------------------------------


@functools.cache
def contents():
    """Return manifest and arrays of models of every class and with every kind of step."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, _) in (classifiers() | pipelines()).items():
            save(model, Path(folder, "m"))
            content = read_content(Path(folder, "m"), "m")
            found[name] = json.loads(content.manifest), content.arrays
    return found


def fresh(name):
    """Return a manifest and arrays to be changed."""
    manifest, arrays = contents()[name]
    return copy.deepcopy(manifest), dict(arrays)


def write(path, manifest, arrays):
    path.write_bytes(packed(json.dumps(manifest).encode(), arrays))
    return path


def places(value, path=()):
    """Yield where the values of a manifest stand."""
    yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(child, (*path, key))


def at(value, path):
    return functools.reduce(lambda found, key: found[key], path, value)


def forged(manifest, arrays, rng):
    """Change a manifest and arrays in some places."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        free = [path for path in places(manifest) if path and path[0] != "provenance"]
        if rng.random() < 0.5 and arrays:
            odd_arrays(arrays, rng)
        elif free:
            path = rng.choice(free)
            change = rng.choice([odd_value, odd_value, near_value, moved, long_value, grafted, grafted])
            change(at(manifest, path[:-1]), path[-1], rng)


def odd_value(parent, key, rng):
    parent[key] = copy.deepcopy(rng.choice(rng.choice([ODD, ODD, WORDS])))


def near_value(parent, key, rng):
    value = parent[key]
    if isinstance(value, bool):
        parent[key] = not value
    elif isinstance(value, int | float):
        parent[key] = rng.choice([value + 1, value - 1, -value, 2 * value, value / 2, float(value), int(value)])
    elif isinstance(value, list) and value:
        parent[key] = rng.choice([value[:-1], value + value, value[::-1], [*value, value[0]]])
    elif isinstance(value, str):
        parent[key] = rng.choice([value + "x", value.upper(), value[:-1], f"{value}__{value}"])


def moved(parent, key, rng):
    """Drop a value, double it under another name, or put it into a list or object."""
    if rng.random() < 0.4:
        del parent[key]
    elif isinstance(parent, dict) and rng.random() < 0.5:
        parent[rng.choice(["extra", *parent])] = copy.deepcopy(parent[key])
    else:
        parent[key] = rng.choice([[parent[key]], {"x": parent[key]}])


def long_value(parent, key, rng):
    if isinstance(parent[key], str):
        parent[key] = "x" * 10 * LONG
    elif isinstance(parent[key], list):
        parent[key] = parent[key] * 1000 if parent[key] else [[]] * LONG
    elif type(parent[key]) is int:
        parent[key] = rng.choice([LONG, 2**26 - 1, 2**26, 2**31 - 1, 2**48 - 1, 2**62 - 1])


def grafted(parent, key, rng):
    """Put in what another model has in a place of this name."""
    other = contents()[rng.choice(sorted(contents()))][0]
    found = [path for path in places(other) if path and path[-1] == key and not isinstance(key, int)]
    if found:
        parent[key] = copy.deepcopy(at(other, rng.choice(found)))


def odd_arrays(arrays, rng):
    """Change an array, drop it, give it another name, or put another model's in its place."""
    name, kind = rng.choice(sorted(arrays)), rng.random()
    if kind < 0.7:
        arrays[name] = odd_array(arrays[name], rng)
    elif kind < 0.8:
        del arrays[name]
    elif kind < 0.9:
        arrays[rng.choice([name + "x", name + rng.choice(PARTS), "", "sha256"])] = arrays.pop(name)
    else:
        other = contents()[rng.choice(sorted(contents()))][1]
        arrays[rng.choice([name, *other])] = other[rng.choice(sorted(other))]


def odd_array(array, rng):
    """Return an array of other values, another size, another type or another shape."""
    array, kind = array.copy(), rng.randrange(8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind < 2 and array.size:
            where = rng.randrange(array.size) if kind else slice(None)
            array.reshape(-1)[where] = np.array(rng.choice(EXTREME)).astype(array.dtype)
        elif kind == 2 and array.ndim:
            array = array[: rng.randrange(array.shape[0] + 1)]
        elif kind == 3:
            array = array.reshape(-1)[::-1].copy().reshape(array.shape)
        elif kind == 4:
            array = array.astype(rng.choice(["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "u8", "?"]))
        elif kind == 5:
            array = array.T.copy() if array.ndim == 2 else array.reshape(1, -1)
        elif kind == 6 and array.ndim:
            array = np.concatenate([array, array])
        elif array.ndim:
            array = np.zeros((rng.choice([0, 1, 1000, LONG]), *array.shape[1:]), array.dtype)
    return array


def mutated(content, rng):
    """Return a file with some bytes changed, cut, doubled or put in."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        here, kind = rng.randrange(len(content) + 1), rng.randrange(5)
        if kind == 0 and here < len(content):
            content[here] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[here:]
        elif kind == 2:
            del content[here : here + rng.randrange(64)]
        elif kind == 3:
            content[here : here + 8] = rng.randbytes(8)
        else:
            content[here:here] = rng.choice([b"9" * 30, b'"a":1,', b"[" * 5000, b"NaN", b"\\u0000", b'\\"' * 9999])
    return bytes(content)


# -- one case ----------------------------------------------------------------------------------------------------------


def one_case(seed, folder):
    """Run a case; return whether the file opened. Raise AssertionError where something else happened."""
    rng = random.Random(seed)
    path, name = folder / "case.votron", rng.choice(sorted(contents()))
    forgery = rng.random() < 0.85
    manifest, arrays = fresh(name)
    if forgery:
        forged(manifest, arrays, rng)
    arrays.pop("sha256", None)
    write(path, manifest, arrays)
    if not forgery:
        path.write_bytes(mutated(path.read_bytes(), rng))
    with memory(SLACK + MULTIPLE * path.stat().st_size):
        try:
            model = load(path, mmap=rng.random() < 0.2)
        except ModelFileError as error:
            said = str(error)
        else:
            said = ""
    if said:
        assert re.fullmatch(r"[^\n]*case\.votron[^\n]{1,600}\.", said), said
        return False
    if not forgery:
        assert read_content(path, "").manifest == json.dumps(manifest).encode(), "a changed file opened"
    assert read_manifest(path).n_bytes == path.stat().st_size
    predicts(model, (classifiers() | pipelines())[name][1])
    return True


class memory:  # as a verb
    """Checks the memory that is taken within, as the system counts it: the most at any time, above what it was."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.before = _status("VmRSS")

    def __exit__(self, kind, error, trace):
        if kind is None or issubclass(kind, ModelFileError):
            taken = _status("VmHWM") - self.before
            assert taken <= self.limit, f"opening took {taken >> 20} MB, and {self.limit >> 20} MB are allowed"


def _status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def predicts(model, rows):
    """Check that a model that opened predicts rows that the one it was made of takes, or says why not."""
    if getattr(model, "n_features_in_", 0) > 1 << 20:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = model.decision_function(rows)
        except (ValueError, TypeError, AttributeError):  # of scikit-learn's steps, which do not fit one another
            return
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    assert np.shape(scores)[0] == n
    assert not np.isnan(scores).any()


def run(n_cases, first_seed=0):
    """Run cases; return how many opened. The first that fails is told with its seed."""

    def too_long(*_):
        raise AssertionError(f"no end after {SECONDS} s")

    n_opened = 0
    before = signal.signal(signal.SIGALRM, too_long)
    contents()
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in range(first_seed, first_seed + n_cases):
                signal.alarm(SECONDS)
                try:
                    n_opened += one_case(seed, Path(folder))
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return n_opened


@pytest.mark.slow
def test_damaged_and_forged_files():
    """`make fuzz` opens thousands."""
    assert 15 < run(200) < 150


# -- large ones --------------------------------------------------------------------------------------------------------

OPENER = """
import os, sys
from pathlib import Path
from votron import load
from votron.errors import ModelFileError

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

for path in [sys.argv[1], *sys.argv[1:]]:
    child = os.fork()
    if child == 0:
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        try:
            said = "opened " + type(load(path)).__name__
        except ModelFileError as error:
            said = str(error)
        print(os.path.basename(path), status("VmHWM") - before, said, sep="|", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    if path == sys.argv[1]:
        load(path)  # what is imported and compiled once is not counted
"""


def words(n, width=4):
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return ["".join(each) for each in itertools.islice(itertools.product(letters, repeat=width), n)]


def texts(arrays, name, found):
    """Put texts into arrays, as a file has them."""
    Tensors(arrays).put_list(name, found)


def linear(width, step="", arrays=None, **fields):
    """Return a model with this step, and a classifier of so many features that takes hardly any bytes."""
    manifest, mine = fresh("compact averaged")
    manifest["model"]["n_features"] = width
    del mine["model.coef"]
    Tensors(mine).put("model.coef", sp.csr_matrix((3, width)))
    if step:
        other, theirs = fresh(step)
        manifest["steps"], manifest["last"] = other["steps"][:1], "model"
        manifest["steps"][0]["step"].update(fields)
        mine |= {name: array for name, array in theirs.items() if name.startswith("steps.0.")} | (arrays or {})
    return manifest, mine


def with_words(step, found):
    arrays = {}
    texts(arrays, "steps.0.words", found)
    if step.startswith("[Tfidf"):
        arrays["steps.0.idf"] = np.ones(len(found))
    return linear(len(found), step, arrays)


def table_of(n):
    """Return a table with many values in a column."""
    manifest, arrays = fresh("table keep")
    texts(arrays, "steps.0.0.values.objects", words(n))
    return manifest, arrays


def voted_of(n_classes, n_support):
    """Return a model of many classes and support vectors, each of them wrong once."""
    manifest, arrays = fresh("voted")
    model, ids = manifest["model"], np.arange(n_support)
    arrays["model.classes"] = np.arange(n_classes)
    columns = {"example": ids, "vector": (ids % n_classes).astype("i4"), "sign": np.ones(n_support, "i1")}
    columns |= {"time": ids + 1, "score": np.zeros(n_support), "norm2": np.ones(n_support)}
    arrays |= {f"model.record.{name}": column for name, column in columns.items()}
    arrays["model.support_rows"] = np.ones((n_support, 6), "u1")
    model["vectors"] |= {"n_examples": n_support, "n_steps": n_support}
    model["history"]["n_numbered"] = n_support
    return manifest, arrays


def labels_of(found):
    manifest, arrays = linear(5)
    arrays |= {"model.coef": np.zeros((len(found), 5)), "model.intercept": np.zeros(len(found))}
    arrays = {key: each for key, each in arrays.items() if not key.startswith(("model.coef.", "model.classes"))}
    texts(arrays, "model.classes.texts", sorted(found))
    return manifest, arrays


def with_provenance(value):
    manifest, arrays = fresh("voted")
    manifest["provenance"] = {"x": value}
    return manifest, arrays


def nested(n):
    made = 1
    for _ in range(n):
        made = {"": made}
    return made


TOO_MUCH = "much more memory than the file"
TOO_MANY = "more than 150,000 values"
LARGE = {
    "a long word": (lambda: with_words("[TfidfVectorizer()]", ["x y " * 2_000_000]), None),
    "wide table": (lambda: table_of(200_000), None),
    "voted": (lambda: voted_of(20_000, 100_000), None),
    "many labels": (lambda: labels_of(words(200_000)), None),
    "one long label": (lambda: labels_of([*words(50_000), "z" * 50_000]), TOO_MUCH),
    "features": (lambda: linear(2**26 - 1), None),
    "too many features": (lambda: linear(2**26), "of a CSR matrix"),
    "more lists of nothing": (lambda: with_provenance([[]] * 1_000_000), TOO_MANY),
    "too deeply nested objects": (lambda: with_provenance(nested(5000)), "recursion"),
    "arrays": (lambda: (fresh("voted")[0], {f"{i:x}": np.zeros(0, "u1") for i in range(20_000)}), "model"),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what a process said of each large file, and what memory it took."""
    folder = tmp_path_factory.mktemp("large")
    sys.setrecursionlimit(20_000)
    paths = [write(folder / name, *make()) for name, (make, _) in LARGE.items()]
    sys.setrecursionlimit(1000)
    first = write(folder / "first", *fresh("table tfidf"))
    done = subprocess.run(
        [sys.executable, "-c", OPENER, *map(str, [first, *paths])],
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    lines = [line.split("|", 2) for line in done.stdout.splitlines()]
    return {name: (int(taken), (folder / name).stat().st_size, sentence) for name, taken, sentence in lines}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_opening_takes_memory_in_proportion_to_the_file(said, name):
    taken, size, sentence = said[name]
    refused = LARGE[name][1]
    assert re.search("opened " if refused is None else refused, sentence), sentence
    assert taken <= SLACK + MULTIPLE * size, f"{taken >> 20} MB for a file of {size >> 20} MB"


# -- headers -----------------------------------------------------------------------------------------------------------

META = b'{"__metadata__":{"votron":"{}"},"a":'


@pytest.mark.parametrize(
    "header",
    [
        META + b'{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,8]}}',
        META + b'{"dtype":"F64","shape":[-1],"data_offsets":[0,-8]}}',
        META + b'{"dtype":"F64","shape":[1],"data_offsets":[0,8],"more":1}}',
        META + b'{"dtype":"F64","shape":[0,2305843009213693952],"data_offsets":[0,0]}}',
        META + b'{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        META + b"[]," * 1_000_000 + b"}",
        META + b"NaN}",
        META + b"[" * 100_000 + b"}",
        b'{"__metadata__":{"votron":"{\\"format\\":1}"}}',
        b'{"__metadata__":{"votron":7}}',
        b'{"__metadata__":{"votron":"\\ud800"}}',
        b"{" + b" " * 1_000_000,
        b"{}",
    ],
)
def test_headers_that_lie(header, tmp_path):
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    with pytest.raises(ModelFileError, match=r"^[^\n]{20,600}\.$"):
        load(tmp_path / "m")


def promising(n_bytes):
    """Return a header that states so many bytes."""
    entry = {"dtype": "U8", "shape": [n_bytes], "data_offsets": [0, n_bytes]}
    header = json.dumps({"__metadata__": {"votron": "{}"}, "a": entry}).encode()
    return struct.pack("<Q", len(header)) + header


def test_more_than_there_is_memory(tmp_path):
    """A file of such a size takes no room on the disk, and of a stream no more is read than its header."""
    path = tmp_path / "m"
    path.write_bytes(promising(2**39))
    with pytest.raises(ModelFileError, match=r"m' is cut off: 549,755,813,888 of 549,755,813,888 bytes are missing"):
        load(path)
    os.truncate(path, len(promising(2**39)) + 2**39)
    with pytest.raises(ModelFileError, match=r"GB are free\. Free some memory, or map the file with mmap=True\.$"):
        load(path)
    stream = io.BytesIO(promising(2**39) + bytes(1 << 20))
    with pytest.raises(ModelFileError, match=r"^The model file the stream has arrays of 549\.8 GB"):
        read_manifest(stream)
    assert stream.tell() < 1000


# -- forgeries, one by one ---------------------------------------------------------------------------------------------


def put(*keys, value):
    def change(manifest, arrays):
        at(manifest, keys[:-1])[keys[-1]] = value

    return change


def array(name, change):
    def changed(manifest, arrays):
        arrays[name] = change(arrays[name])

    return changed


def first(value):
    def change(values):
        values = values.copy()
        values.flat[0] = value
        return values

    return change


KERNEL = ("model", "vectors", "kernel")
RECORD = "model.record."
FORGERIES = {
    "unknown class": (put("model", "class", value="os.system"), "Invalid value 'os.system' - at `$.model.class`"),
    "no history": (put("model", "history", value=None), "has no history"),
    "unknown rule": (put("model", "history", "chosen_rule", value="x"), "a rule that is not known"),
    "unknown parameter": (put("model", "params", "evil", value=1), "'evil' is not a parameter"),
    "bad parameter": (put("model", "params", "degree", value=-2), "The 'degree' parameter"),
    "many threads": (put("model", "params", "n_jobs", value=10**6), "a number of threads"),
    "kernel of nothing": (put(*KERNEL, value={"name": "eval", "fields": {}}), "import the package that brings it"),
    "a number over a kernel": (
        put(*KERNEL, value={"name": "composed", "fields": {"outer": 0.5, "inner": {"name": "linear", "fields": {}}}}),
        "no parameter 'outer' of this type",
    ),
    "deep kernel": (
        put(*KERNEL, value=eval("{'name': 'normalized', 'fields': {'base': " * 40 + "1" + "}}" * 40)),
        "over more than 8 others",
    ),
    "classes twice": (array("model.classes", first(1)), "two or more labels in rising order"),
    "features": (put("model", "n_features", value=5), "columns of a CSR matrix"),
    "NaN": (array(RECORD + "score", first(np.nan)), "finite numbers"),
    "column outside": (array("model.support_rows.indices", first(99)), "columns of a CSR matrix"),
    "record too short": (array(RECORD + "sign", lambda a: a[:-1]), "the shape"),
    "times backwards": (array(RECORD + "time", lambda a: a[::-1]), "sorted"),
    "example below 0": (array(RECORD + "example", first(-5)), "no numbers below 0"),
    "length below 0": (array(RECORD + "norm2", first(-5e9)), "squared lengths"),
    "an array too many": (lambda manifest, arrays: arrays.update(more=np.zeros(3)), "not one that Votron knows"),
    "no model": (lambda manifest, arrays: manifest.pop("model"), "missing required field `model`"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(name, tmp_path):
    change, sentence = FORGERIES[name]
    manifest, arrays = fresh("voted csr")
    change(manifest, arrays)
    with pytest.raises(ModelFileError, match=re.escape(sentence)):
        load(write(tmp_path / "forged", manifest, arrays))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("input", "filename"), ("encoding", "utf-16"), ("token_pattern", "(a+)+$"), ("decode_error", "ignore")],
)
def test_no_vectorizer_opens_files_or_brings_its_pattern(parameter, value, tmp_path):
    manifest, arrays = fresh("[TfidfVectorizer()]")
    manifest["steps"][0]["step"]["params"][parameter] = value
    with pytest.raises(ModelFileError, match=f"A TfidfVectorizer with {parameter}="):
        load(write(tmp_path / "m", manifest, arrays))


def test_rows_that_the_model_keeps_have_a_name_each_or_none(tmp_path):
    manifest, arrays = fresh("voted rows")
    texts(arrays, "model.row_names", ["one"])
    with pytest.raises(ModelFileError, match="must have a list of"):
        load(write(tmp_path / "m", manifest, arrays))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # so that a case takes not all of the machine
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{run(count):,} of {count:,} forged and damaged files opened; the others ended in a sentence")
