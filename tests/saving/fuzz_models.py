"""Damaged and forged model files: each opens as the model it was, or ends in a sentence; nothing else may happen.

``python tests/saving/fuzz_models.py 10000`` runs many cases and tells the first seed that fails; the tests run some.
A *mutation* changes bytes, as a bad disk or a bad copy does. A *forgery* changes the content of a fresh model of any
class, behind any kinds of steps and in any format, and makes the digest anew, as somebody with bad intentions would:
values at the edges of their types and beyond, long texts, large counts, arrays of other sizes, steps and parts of other
models. It may open, but then it predicts on rows of the right shape, or says in a sentence why not. Time and memory are
measured for each.
"""

import copy
import random
import resource
import signal
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path

import forging
import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from votron.data._columns import _Chance, _Date, _Discrete, _Text, _Truth

from votron import VotronError, load
from votron.cli import ABOUT_DATA
from votron.cli.inspect import _parts
from votron.cli.output import as_json
from votron.errors import ModelFileError
from votron.kernels.base import is_precomputed
from votron.saving import container, read_manifest

SECONDS = 10
SLACK, MULTIPLE, A_FEATURE = 64 << 20, 32, 64
"""Bytes that may be taken: so many, so many for each of the file, and in predicting so many for each feature."""
ROOM = 4 << 30
"""Addresses that there are for a case, so that one that takes too much does not take the machine."""
LONG = 20_000
ODD = [None, True, False, 0, -1, 1, 2, 7, 2**16, 2**26, 2**31, 2**47, 2**53, 2**61, 2**63, -(2**63), 0.5, -0.5, 1e308]
ODD += [-1e308, 5e-324, 1e-300, *({"float": name} for name in ("nan", "inf", "-inf"))]
ODD += [[], {}, {"tuple": []}, {"tuple": [0, 1]}, {"tuple": [1, 20]}, {"tuple": [2, 1]}, {"tuple": ["a", None]}, [[]]]
WORDS = ["", "x", "a b", "vote", "linear", "rbf", "poly", "precomputed", "normalized", "composed", "conjunction", "<U9"]
WORDS += ["|O", "<f8", "filename", "file", "char", "char_wb", "word", "/etc/hostname", "latin-1", "(a+)+$", "l1", "max"]
WORDS += [
    "most_frequent",
    "drop",
    "passthrough",
    "remainder",
    "english",
    "unicode",
    "random",
    "last",
    "holdout",
    "scale",
]
KINDS = [
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "Normalizer",
    "Binarizer",
    "Number",
    "Chance",
    "Truth",
    "Text",
]
KINDS += ["CountVectorizer", "TfidfVectorizer", "HashingVectorizer", "Discrete", "SimpleImputer", "Pipeline"]
KINDS += [
    "OneHotEncoder",
    "OrdinalEncoder",
    "FunctionTransformer",
    "Date",
    "ColumnTransformer",
    "VotedPerceptronClassifier",
    "AveragedPerceptronClassifier",
    "WinnowClassifier",
]
KINDS += ["KernelAdatronClassifier", "NaiveBayesLinearClassifier", "CompactClassifier"]
LISTS = ("before",), ("steps",), ("columns",)
"""Names of what holds steps, or parts of a table's encoder."""
EXTREME = [0, 1, -1, 2, 99, 2**31, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 0.5]


# -- damage ------------------------------------------------------------------------------------------------------------


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
            content[at:at] = rng.choice([b"9" * 30, b'"a":1,', b"[" * 50, b"NaN", b"\\u0000", b"1e999", b'\\"' * 9999])
        if not content:
            break
    return bytes(content)


# -- forgery -----------------------------------------------------------------------------------------------------------


def places(value, path=()):
    """Yield where the values of a content stand."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def at(content, path):
    for key in path:
        content = content[key]
    return content


def forged(content, rng):
    """Change a content in some places."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        free = [path for path in places(content) if path and path[0] not in ("certificate", "summary", "provenance")]
        if not free:  # all of it was taken out
            return
        path = rng.choice(free)
        parent, key = at(content, path[:-1]), path[-1]
        change = rng.choice(
            [odd_value, odd_value, near_value, moved, long_value, grafted, grafted, steps_changed, widened]
        )
        change(content, parent, key, rng)


def odd_header(rng):
    """Return what stands in a manifest beside its sections: for the most part nothing that is odd."""
    if rng.random() < 0.95:
        return {}
    name = rng.choice(["format", "votron", "sections", "pipeline", "steps", "name", "model", "x", "", "\x1b" * 999])
    return {name: copy.deepcopy(rng.choice(rng.choice([ODD, WORDS])))}


def odd_value(content, parent, key, rng):
    if isinstance(parent[key], np.ndarray):
        parent[key] = odd_array(parent[key], rng)
    elif isinstance(parent[key], forging.Csr):
        odd_csr(parent[key], rng)
    else:
        among = KINDS if key == "class" else rng.choice([ODD, ODD, WORDS])
        parent[key] = copy.deepcopy(rng.choice(among))


def odd_array(array, rng):
    """Return an array of other values, another size, another type or another shape."""
    array, kind = array.copy(), rng.randrange(8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind < 2 and array.size:
            flat = array.reshape(-1)
            where = rng.randrange(flat.size) if kind else slice(None)
            flat[where] = np.array(rng.choice(EXTREME)).astype(array.dtype)
        elif kind == 2 and array.ndim:
            array = array[: rng.randrange(array.shape[0] + 1)]
        elif kind == 3:
            array = array.reshape(-1)[::-1].copy().reshape(array.shape)
        elif kind == 4:
            array = array.astype(rng.choice(["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u8", "?"]))
        elif kind == 5:
            array = array.T.copy() if array.ndim == 2 else array.reshape(1, -1)
        elif kind == 6 and array.ndim:
            array = np.concatenate([array, array])
        elif array.ndim:
            array = np.zeros((rng.choice([0, 1, 1000, LONG]), *array.shape[1:]), array.dtype)
    return array


def odd_csr(matrix, rng):
    part = rng.choice(["data", "indices", "indptr", "shape"])
    if part == "shape":
        matrix.shape[rng.randrange(2)] = rng.choice([0, 1, 5, 2**26 - 1, 2**26, 2**31, 2**61, -1])
    else:
        setattr(matrix, part, odd_array(getattr(matrix, part), rng))


def near_value(content, parent, key, rng):
    value = parent[key]
    if type(value) in (int, float):
        parent[key] = rng.choice([value + 1, value - 1, -value, 2 * value, value / 2, float(value), int(value)])
    elif isinstance(value, bool):
        parent[key] = not value
    elif isinstance(value, list) and value:
        parent[key] = rng.choice([value[:-1], value + value, value[::-1], [*value, value[0]], value[:1] * 3])
    elif isinstance(value, str):
        parent[key] = rng.choice([value + "x", value.upper(), value[:-1], f"{value}__{value}", f"\x1b{value}"])


def moved(content, parent, key, rng):
    """Drop a value, double it under another name, or put it into a list or object."""
    if rng.random() < 0.4:
        del parent[key]
    elif isinstance(parent, dict) and rng.random() < 0.5:
        parent[rng.choice(["extra", *parent])] = copy.deepcopy(parent[key])
    else:
        parent[key] = rng.choice([[parent[key]], {"x": parent[key]}])


def long_value(content, parent, key, rng):
    """Put a long text, or many short ones, where a text or a list stands."""
    if isinstance(parent[key], str):
        parent[key] = "x" * 10 * LONG
    elif isinstance(parent[key], list):
        parent[key] = rng.choice(
            [
                ["x" * LONG],
                [f"w{i:05}" for i in range(LONG)],
                list(range(LONG)),
                [[]] * LONG,
                [*parent[key], "y" * LONG],
            ]
        )
    elif type(parent[key]) is int:
        parent[key] = rng.choice([LONG, 2**26 - 1, 2**26, 2**31 - 1, 2**48 - 1, 2**62 - 1])


def grafted(content, parent, key, rng):
    """Put in what another model has in a place of this name, or a whole step of another."""
    other = forging.contents()[rng.choice(sorted(forging.contents()))]
    found = [path for path in places(other) if path and path[-1] == key and not isinstance(key, int)]
    if found:
        parent[key] = copy.deepcopy(at(other, rng.choice(found)))


def steps_changed(content, parent, key, rng):
    """Swap, drop, double or insert steps of the pipeline, or of one in it."""
    lists = [path for path in places(content) if path[-1:] in LISTS and are_steps(at(content, path))]
    if not lists:
        return
    steps = at(content, rng.choice(lists))
    others = [other for other in forging.contents().values() if "steps" in other]
    kind = rng.randrange(4)
    if kind == 0 and len(steps) > 1:
        i, j = rng.sample(range(len(steps)), 2)
        steps[i], steps[j] = steps[j], steps[i]
    elif kind == 1 and steps:
        del steps[rng.randrange(len(steps))]
    elif kind == 2 and steps:
        steps.insert(rng.randrange(len(steps) + 1), {**copy.deepcopy(rng.choice(steps)), "name": "again"})
    else:
        new = copy.deepcopy(rng.choice(rng.choice(others)["steps"]["before"]))
        steps.insert(rng.randrange(len(steps) + 1), {**new, "name": "new"})


def are_steps(found):
    return isinstance(found, list) and all(isinstance(each, dict) for each in found)


def widened(content, parent, key, rng):
    """Give the classifier another number of features, in all the places that say it."""
    model = content.get("model")
    if not isinstance(model, dict) or type(model.get("n_features")) is not int:
        return
    old, new = model["n_features"], rng.choice([1, 6, 1000, 2**20, 2**26 - 1, 2**30])
    model["n_features"] = new
    for name, value in model.items():
        if isinstance(value, forging.Csr) and value.shape[1] == old:
            value.shape[1] = new
        elif isinstance(value, np.ndarray) and new <= 1000:
            for axis in range(value.ndim):
                if value.shape[axis] == old:
                    model[name] = np.repeat(value.take([0], axis), new, axis) if value.size else value


# -- one case ----------------------------------------------------------------------------------------------------------


def one_case(seed, folder):
    """Run a case; return whether the file opened. Raise AssertionError where something else happened."""
    rng = random.Random(seed)
    path = folder / "case.votron"
    forgery = rng.random() < 0.8
    if forgery:
        content = forging.fresh(rng.choice(sorted(forging.contents())))
        forged(content, rng)
        forging.write(path, content, rng.choice(forging.FORMATS), odd_header(rng))
    else:
        source = folder / "source.votron"
        forging.write(source, forging.fresh(rng.choice(sorted(forging.contents()))))
        path.write_bytes(mutated(source.read_bytes(), rng))
    n_bytes = path.stat().st_size
    with memory(SLACK + MULTIPLE * n_bytes, "opening"):
        try:
            model = load(path, mmap=rng.random() < 0.2)
        except ModelFileError as error:
            check_sentence(str(error), "case.votron")
            return False
    if not forgery:
        assert content_of(path) == content_of(source), "a changed file opened as another model"
        return True
    manifest = read_manifest(path)
    assert _parts(manifest, str(path), verbose=True)
    assert as_json(asdict(manifest))
    width = classifier_of(model).n_features_in_
    with memory(SLACK + MULTIPLE * n_bytes + A_FEATURE * min(width, 2**26), "predicting"):
        predicts(model)
    return True


def content_of(path):
    found = container.read_container(path)
    return found.manifest, {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in found.arrays.items()}


def check_sentence(text, part=""):
    assert "\n" not in text, text
    assert text.endswith("."), text
    assert part in text, text
    assert len(text) < 700, text


class memory:
    """Measures the memory that is taken within, as the system counts it: the most at any time, above what it was."""

    def __init__(self, limit, what):
        self.limit, self.what = limit, what

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.before = _status("VmRSS")

    def __exit__(self, kind, error, trace):
        if kind is None or issubclass(kind, ModelFileError):
            taken = _status("VmHWM") - self.before
            assert taken <= self.limit, f"{self.what} took {taken >> 20} MB, and {self.limit >> 20} MB are allowed"


def _status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


# -- predicting --------------------------------------------------------------------------------------------------------


def classifier_of(model):
    return model.steps[-1][1] if hasattr(model, "steps") else model


def predicts(model):
    """A model that opened predicts on rows of its shape, and becomes compact, or says in a sentence why it cannot."""
    rows = rows_for(model)
    if rows is None:
        return
    n = len(rows) if hasattr(rows, "__len__") and not sp.issparse(rows) else rows.shape[0]
    last = classifier_of(model)
    labels = in_words(lambda: model.predict(rows))
    assert labels is None or len(labels) == n
    rows = in_words(lambda: model[:-1].transform(rows)) if hasattr(model, "steps") and len(model.steps) > 1 else rows
    if rows is None:
        return
    for scored in (last.decision_function, lambda X: last.compact().decision_function(X), staged(last)):
        scores = in_words(lambda scored=scored: scored(rows))
        assert scores is None or np.isfinite(scores[~np.isneginf(scores)]).all()


def in_words(work):
    """Return what work returns, or None where it ends in a sentence about the model or the rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except VotronError as error:
        check_sentence(str(error))
    except ValueError as error:
        if not str(error).startswith(ABOUT_DATA):  # scikit-learn's, where numbers grow beyond what they can be
            raise
    return None


def staged(model):
    """Return what scores after the first epoch; None where a forged model says that there was none."""
    if not hasattr(model, "staged_decision_function"):
        return model.decision_function
    return lambda X: next((score for _, found in model.staged_decision_function(X) for score in found.values()), None)


def rows_for(model):
    """Return a few rows of the shape that a model takes; None where they would have more columns than a row can."""
    first = first_step(model)
    if isinstance(first, CountVectorizer | HashingVectorizer):
        return ["rain and wind", "", "x" * 50]
    if isinstance(first, ColumnTransformer):
        return frame_for(first)
    width = getattr(first, "n_features_in_", classifier_of(model).n_features_in_)
    if width <= 1 << 16:
        rows = np.zeros((3, width))
        rows[1], rows[2, ::2] = 1, 1
        return rows
    dense = is_precomputed(getattr(classifier_of(model), "kernel_", None)) or width >= 2**31
    return None if dense else sp.csr_matrix((np.ones(2), ([0, 1], [0, width - 1])), shape=(3, width))


def first_step(model):
    while isinstance(model, FrozenEstimator) or hasattr(model, "steps"):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.steps[0][1]
    return model


def frame_for(encoder):
    columns = {name: [0.0, 1.0, 0.5] for name in getattr(encoder, "feature_names_in_", range(encoder.n_features_in_))}
    for _, part, names in encoder.transformers_:
        listed = names if isinstance(names, list) else [names]
        for i, name in enumerate(listed if not isinstance(part, str) else ()):
            columns[name] = values_for(first_step(part), i)
    if hasattr(encoder, "feature_names_in_"):
        return pl.DataFrame(columns)
    return np.array([columns[i] for i in sorted(columns)], dtype=object).T


def values_for(part, i=0):
    if isinstance(part, OneHotEncoder | OrdinalEncoder):
        known = [value for value in part.categories_[i].tolist() if value is not None and value == value]
        return [known[0]] * 3 if known else ["unknown"] * 3
    if isinstance(part, SimpleImputer) and part._fit_dtype.kind == "O":
        return ["x", "y", "x"]
    if isinstance(part, _Date):
        return ["2024-01-31", "2023-12-24 18:00", "2022-07-01"]
    if isinstance(part, CountVectorizer | HashingVectorizer | _Text):
        return ["rain and wind", "", None if isinstance(part, _Text) else "x"]
    if isinstance(part, _Discrete) and all(isinstance(value, str) for value in part.values):
        return [part.values[0], "unknown", None]
    return [0.0, 1.0, 1.0] if isinstance(part, _Chance | _Truth) else [0.0, 1.0, 2.5]


# -- many cases --------------------------------------------------------------------------------------------------------


def run(n_cases, first_seed=0):
    """Run cases; return how many opened. The first that fails is told with its seed."""

    def too_long(*_):
        raise AssertionError(f"no end after {SECONDS} s")

    n_opened = 0
    before = signal.signal(signal.SIGALRM, too_long)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    forging.contents()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + ROOM, limits[1]))
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in range(first_seed, first_seed + n_cases):
                signal.alarm(SECONDS)
                try:
                    n_opened += one_case(seed, Path(name))
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return n_opened


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(f"{count:,} model files: {run(count, start):,} opened, the others ended in a sentence.")
