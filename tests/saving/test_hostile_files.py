"""What a small file can make whoever opens it do: little, however it was made."""

import io
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from forging import FORMATS, TEXTS, before, contents, fresh, steps_before, table_part, write, zeros
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from votron import AveragedPerceptronClassifier, load, save
from votron.cli import main
from votron.errors import ModelFileError
from votron.saving import read_manifest
from votron.saving.container import read_container, write_container
from votron.saving.fields import Fields, measured, parsed

# -- time --------------------------------------------------------------------------------------------------------------


def seconds(path, repeats=3):
    """Return how long the processor takes to refuse a file, at best."""
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        with pytest.raises(ModelFileError, match=r"^[^\n]{10,300}\.$"):
            load(path)
        found.append(time.process_time() - begin)
    return min(found)


def raw(path, header, content=b""):
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    return path


HEADERS = {
    "escaped quotes": lambda n: b'{"' + b'\\"' * n,
    "quotes": lambda n: b"{" + b'"' * n,
    "backslashes": lambda n: b'{"' + b"\\" * n,
    "texts of nothing": lambda n: b'{"a":[' + b'"",' * n,
    "open lists": lambda n: b'{"a":' + b"[" * n,
    "spaces": lambda n: b"{" + b" " * n,
    "a name": lambda n: b'{"__metadata__":{"votron":"{}"},"' + b"\x7f" * n + b'":7}',
    "a number": lambda n: b'{"a":' + b"9" * n + b"}",
    "in the manifest": lambda n: json.dumps({"__metadata__": {"votron": '{"' + '\\"' * n}}).encode(),
    "arrays": lambda n: json.dumps(
        {
            "__metadata__": {"votron": "{}"},
            **{f"{i:x}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(min(n // 60, 30_000))},
        }
    ).encode(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEADERS)
def test_refusing_a_header_takes_time_in_proportion_to_its_bytes(kind, tmp_path):
    """Sixteen times the bytes take sixteen times the time, or two hundred and fifty-six where it is quadratic."""
    n = 60_000
    short, long = (seconds(raw(tmp_path / "m", HEADERS[kind](size))) for size in (n, 16 * n))
    assert long < 80 * max(short, 0.002)


def size_of(value):
    """Return the lists, objects and names in a value, and how deep they stand."""
    if not isinstance(value, list | dict):
        return 0, 0
    children = [size_of(each) for each in (value.values() if isinstance(value, dict) else value)]
    n_names = len(value) if isinstance(value, dict) else 0
    return 1 + n_names + sum(n for n, _ in children), 1 + max((depth for _, depth in children), default=0)


JSON = st.recursive(
    st.none() | st.integers(-(2**62), 2**62) | st.text(alphabet='a\\"[]{}:,\n\u00e9\u2028', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='\\":[', max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON, st.integers(1, 40), st.booleans())
def test_json_is_measured_without_being_parsed(value, chunk, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    found = measured(text.encode(), chunk)
    assert (found.n_parts, found.deepest) == size_of(value)
    assert found.n_beside == len(re.sub(r'"(?:[^"\\]|\\.)*"', "", text))
    assert parsed(text) == value


def test_what_is_shown_of_a_value_is_found_at_its_beginning():
    """The work is counted: a list that is as long as the file is not walked through to show sixty characters."""
    seen = itertools.count()

    class Watched(list):
        def __iter__(self):
            for each in super().__iter__():
                next(seen)
                yield each

    text = str(Fields({}, {}, "model").wrong("x", "a number", Watched(range(100_000))))
    assert text.startswith("The field 'model.x' must be a number. Got [0, 1, 2, 3")
    assert len(text) < 120
    assert next(seen) < 100
    for value in ("x" * 10**6, {"a" * 10**6: ["b" * 10**6] * 100}, [[[[[[]]]]]], ["\x1b"], "\x1b[2J"):
        shown = str(Fields({}, {}, "model").wrong("x", "a number", value))
        assert len(shown) < 120
        assert shown.isprintable()


# -- memory ------------------------------------------------------------------------------------------------------------

SLACK, MULTIPLE = 40 << 20, 32
"""What opening may take beside what was taken before: so many bytes, and so many for each byte of the file."""

OPENER = """
import os, resource, sys
from votron import load
from votron.errors import ModelFileError
from votron.saving import read_manifest
slack, multiple = int(sys.argv[1]), int(sys.argv[2])
for path in sys.argv[3:4]:
    load(path)
for path in sys.argv[3:]:
    child = os.fork()
    if child == 0:
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limit = used + slack + multiple * os.path.getsize(path)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            read_manifest(path)
            said = "opened " + type(load(path)).__name__
        except ModelFileError as error:
            said = str(error)
        except MemoryError:
            said = "more memory than it may take"
        os.write(1, f"{os.path.basename(path)}: {said}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def words(n):
    """Return short words, all different."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return ["".join(each) for each in itertools.islice(itertools.product(letters, repeat=4), n)]


def step(name, at=0):
    return fresh(name)["steps"]["before"][at]["step"]


def with_words(name, found, **params):
    made = step(name)
    made["words"] = found
    made["params"].update(params)
    if "idf" in made:
        made["idf"] = np.ones(len(found))
    return before(len(found), made)


def wide(name, n):
    """Return a scaler or imputer of many features."""
    made = step(name)
    for key, value in made.items():
        if isinstance(value, np.ndarray):
            made[key] = np.ones(n, value.dtype)
    made.update(n_features=n, feature_names=words(n))
    return before(n, made)


def columns(parts, given, width):
    made = step("table")
    made.update(
        columns=[table_part(name, names, False, part) for name, names, part in parts],
        given=given,
    )
    return before(width, made)


def one_column(kind, **more):
    return {"class": kind, **more, "n_features": 1, "feature_names": ["a"]}


def voted_of(n_classes, n_support):
    """Return a model of many classes and support vectors, each of them wrong once."""
    content = fresh("voted")
    model, record = content["model"], content["model"]["record"]
    model["classes"] = {"dtype": "<i8", "values": list(range(n_classes))}
    ids = np.arange(n_support)
    record.update(example=ids, vector=(ids % n_classes).astype("<i4"), sign=np.ones(n_support, "i1"))
    record.update(time=ids + 1, score=np.zeros(n_support), norm2=np.ones(n_support))
    record.update(n_vectors=n_classes, n_examples=n_support, n_steps=n_support)
    model.update(n_named=n_support, support_rows=np.ones((n_support, 5), "u1"))
    return content


def expansion_of(name, n_classes, n_support):
    content = fresh(name)
    model = content["model"]
    model["classes"] = {"dtype": "<i8", "values": list(range(n_classes))}
    model.update(support=np.arange(n_support), support_rows=np.ones((n_support, 5), "u1"), divisor=None)
    model.update(dual_coef=zeros((n_classes, n_support)))
    if name == "adatron":
        model.update(n_rows=n_support)
        model.update(separable=[None] * n_classes, n_support=np.zeros(n_classes, "<i8"))
        model.update({key: np.ones(n_classes) for key in ("norm", "margin", "best_margin")})
    return content


def compact_vote_of(n_classes, n_support):
    content = fresh("compact vote")
    model = content["model"]
    whole = voted_of(n_classes, n_support)["model"]
    record = {key: value for key, value in whole["record"].items() if key not in ("score", "norm2")}
    model.update(classes=whole["classes"], record=record, support_rows=whole["support_rows"])
    return content


def averaged_of(d, sparse):
    content = fresh("averaged csr" if sparse else "averaged")
    n = 1 if sparse else 3
    weights = zeros((d, n)) if sparse else np.zeros((d, n))
    content["model"].update(n_features=d, weights=weights, timed=weights)
    return content


def winnow_of(d):
    content = fresh("winnow")
    content["model"].update(n_features=d, weights=np.ones((3, 2 * d)))
    return content


def bayes_of(d):
    content = fresh("bayes")
    logs = np.full((3, d), -1.0)
    content["model"].update(n_features=d, feature_count=np.ones((3, d)), feature_log_prob=logs)
    return content


def labels_of(values):
    content = fresh("compact csr")
    content["model"]["classes"] = {"dtype": f"<U{max(map(len, values))}", "values": values}
    content["model"].update(coef=zeros((len(values), 5)), intercept=np.zeros(len(values)))
    return content


YEARS = {"how": "onehot", "first_year": 1, "last_year": 9999, "hours": False}


def values_of(found, dtype="|O", rare=None, **params):
    """Return an encoder of one column with many values."""
    content = fresh("onehot")
    made = content["steps"]["before"][0]["step"]["columns"][0]["part"]
    made["values"] = [{"dtype": dtype, "values": found}]
    made["rare"] = rare
    made["params"].update(params)
    width = len(found) if rare is None else len(found) - len(rare[0]) + 1
    return before(width, content["steps"]["before"][0]["step"])


def by_number(n):
    """Return a table of many columns without names, of which one is used."""
    made = step("by number")
    made.update(n_given=n)
    del made["remainder"]
    return before(1, made)


def thin_of(d):
    """Return dense weights of many features that are all 0."""
    content = averaged_of(d, sparse=True)
    content["model"]["thin"] = True
    return content


SINCE_2 = {"many values of scikit-learn", "many rare values", "one long value", "many columns by number", "years"}
"""What no file of format 1 has."""


def remark(value):
    content = fresh("voted")
    content["provenance"] = {"x": value}
    return content


def csr_of(width):
    content = fresh("voted csr")
    rows = content["model"]["support_rows"]
    content["model"]["n_features"] = rows.shape[1] = width
    return content


def none_of(width):
    content = compact_vote_of(3, 0)
    content["model"].update(n_features=width, support_rows=np.zeros((0, width), "u1"))
    content["model"]["record"]["n_examples"] = 1
    return content


LARGE = {
    # of each kind of step
    "a long word": lambda: with_words("CountVectorizer char", ["x" * 2_000_000], ngram_range={"tuple": [1, 20]}),
    "a long word of a tfidf": lambda: with_words("TfidfVectorizer word", ["x y " * 500_000], analyzer="char_wb"),
    "many words": lambda: with_words("CountVectorizer word", words(100_000)),
    "many words of a tfidf": lambda: with_words("TfidfVectorizer word", words(100_000)),
    "words of all alphabets": lambda: with_words("CountVectorizer word", [*words(100_000), "\U0001f642"]),
    "many stop words": lambda: with_words("CountVectorizer word", ["a"], stop_words=words(100_000)),
    "many hashed words": lambda: before(2**26 - 1, {"class": "HashingVectorizer", "params": {"n_features": 2**26 - 1}}),
    "more hashed words": lambda: before(2**30, {"class": "HashingVectorizer", "params": {"n_features": 2**30}}),
    **{
        f"a wide {name}": lambda name=name: wide(name, 100_000)
        for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer")
    },
    "a wide SimpleImputer": lambda: wide("scalers", 100_000),
    "many columns": lambda: columns(
        [("n", words(100_000), {**one_column("Number"), "n_features": 100_000, "feature_names": words(100_000)})],
        words(100_000),
        100_000,
    ),
    "columns that nobody wants": lambda: columns([("n", ["a"], one_column("Number"))], ["a", *words(100_000)], 1),
    "many values": lambda: columns(
        [("n", ["a"], one_column("Discrete", values=words(100_000), sparse=False))], ["a"], 100_000
    ),
    "many numbers as values": lambda: columns(
        [("n", ["a"], one_column("Discrete", values=list(range(100_000)), sparse=True))], ["a"], 100_000
    ),
    "many parts": lambda: columns(
        [(f"n{i}", ["a"], one_column(("Number", "Chance", "Truth")[i % 3])) for i in range(4000)], ["a"], 4000
    ),
    "hashed words in a dense table": lambda: columns(
        [
            (
                "n",
                ["a"],
                {
                    "class": "Pipeline",
                    "steps": [
                        {"name": "a", "step": one_column("Text")},
                        {"name": "b", "step": {"class": "HashingVectorizer", "params": {"n_features": 2**25}}},
                    ],
                },
            )
        ],
        ["a"],
        2**25,
    ),
    "many steps": lambda: before(5, *[{"class": "Normalizer", "params": {}}] * 4000),
    "a pipeline of many steps": lambda: before(
        5,
        {
            "class": "Pipeline",
            "steps": [{"name": f"s{i}", "step": {"class": "Normalizer", "params": {}}} for i in range(4000)],
        },
    ),
    # of the values of columns
    "many values of scikit-learn": lambda: values_of(words(100_000)),
    "many rare values": lambda: values_of(words(100_000), rare=[list(range(50_000))], max_categories=50_001),
    "one long value": lambda: values_of([*words(50_000), "z" * 50_000], dtype="<U50000"),
    "many columns by number": lambda: by_number(2**16 - 1),
    "more columns by number": lambda: by_number(2**31),
    "years": lambda: columns([("a", ["a"], one_column("Date", **YEARS))], ["a"], 9999 + 19),
    "thin weights": lambda: thin_of(100_000),
    # of each estimator
    "voted": lambda: voted_of(20_000, 30_000),
    "adatron": lambda: expansion_of("adatron", 20_000, 30_000),
    "compact expansion": lambda: expansion_of("compact last", 20_000, 30_000),
    "compact sequence": lambda: compact_vote_of(20_000, 30_000),
    "compact linear": lambda: before(2**26 - 1),
    "averaged": lambda: averaged_of(100_000, sparse=False),
    "averaged sparse": lambda: averaged_of(200_000, sparse=True),
    "winnow": lambda: winnow_of(60_000),
    "bayes": lambda: bayes_of(60_000),
    "many labels": lambda: labels_of(words(100_000)),
    "one long label": lambda: labels_of([*words(50_000), "z" * 50_000]),
    "one very long label": lambda: labels_of(["a", "b", "z" * 1_000_000]),
    "sparse vectors of many features": lambda: csr_of(2**26 - 1),
    "sparse vectors of too many features": lambda: csr_of(2**61),
    "no vectors of many features": lambda: none_of(2**47),
    # of JSON
    "lists of nothing": lambda: remark([[]] * 150_000),
    "objects": lambda: remark([{"": 1}] * 100_000),
    "names": lambda: remark(dict.fromkeys(words(100_000), 0)),
    "numbers": lambda: remark([0.5] * 100_000),
    "short texts": lambda: remark(words(100_000)),
    "a parameter": lambda: {
        **fresh("voted"),
        "model": {**fresh("voted")["model"], "params": {"degree": [1] * 500_000}},
    },
    "a class": lambda: {**fresh("voted"), "model": {**fresh("voted")["model"], "class": ["\x1b" * 200_000]}},
}
REFUSED = {
    "more hashed words": "params.n_features' must be below 67108864",
    "hashed words in a dense table": "gives dense matrices of fewer than 4,194,304 features",
    "one long value": "not one much longer than many others",
    "more columns by number": "n_given' must be a whole number from 1 to 65535",
    "one long label": "not one much longer than many others",
    "one very long label": "labels of at most 10,000 characters",
    "sparse vectors of too many features": "n_features' must be a whole number",
    "no vectors of many features": "n_features' must be below 67,108,864 where vectors are sparse, or there are none",
    "lists of nothing": "more lists, objects and numbers",
    "objects": "more lists, objects and numbers",
    "a parameter": "'degree' parameter",
    "a class": "model.class' must be a text. Got ['\\x1b",
}
"""What those are refused with that do not open."""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what a process of little memory said of each file, in each format."""
    folder = tmp_path_factory.mktemp("large")
    good = write(folder / "good", fresh("table tfidf"))
    paths = [
        write(folder / f"{name}, format {number}", content, number)
        for name, content in ((name, make()) for name, make in LARGE.items())
        for number in FORMATS
        if number == FORMATS[-1] or name not in SINCE_2
    ]
    done = subprocess.run(
        [sys.executable, "-c", OPENER, str(SLACK), str(MULTIPLE), *map(str, [good, *paths])],
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    assert "good: opened ClassifierPipeline\n" in done.stdout, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name in LARGE for number in FORMATS if number == FORMATS[-1] or name not in SINCE_2],
)
def test_opening_takes_memory_in_proportion_to_the_file(said, name, number):
    sentence = said[f"{name}, format {number}"]
    if name in REFUSED:
        assert REFUSED[name] in sentence
    else:
        assert sentence.startswith("opened "), sentence


# -- what is shown -----------------------------------------------------------------------------------------------------


def nested(depth, key=None):
    made = 1
    for _ in range(depth):
        made = [made] if key is None else {key: made}
    return made


@pytest.mark.parametrize("name", ["provenance", "summary", "certificate"])
def test_what_is_nested_is_shown_or_refused(name, tmp_path, capsys):
    for value in (nested(30), nested(30, "a" * 100), {"a" * 10_000: {f"b{i}": i for i in range(100)}}):
        for number, more in itertools.product(FORMATS, ([], ["--json"])):
            path = write(tmp_path / "m", {**fresh("voted"), name: {"x": value}}, number)
            assert main(["inspect", str(path), *more]) == 0
    assert len(capsys.readouterr().out) < 600_000
    for depth in (150, 900, 100_000):
        text = '{"format":1,"votron":"x","provenance":' + "[" * depth + "]" * depth + "}"
        header = json.dumps({"__metadata__": {"votron": text}}).encode()
        with pytest.raises(ModelFileError, match="more of them within one another, than one that Votron writes"):
            read_manifest(raw(tmp_path / "m", header))


def test_one_long_name_does_not_make_room_in_every_line(tmp_path, capsys):
    content = columns([("n", ["a"], one_column("Number"))], ["a"], 1)
    content["provenance"] = {"x" * 100_000: 1, **{f"y{i}": i for i in range(2000)}}
    assert main(["inspect", str(write(tmp_path / "m", content))]) == 0
    assert len(capsys.readouterr().out) < 400_000


def test_steps_within_steps_are_refused_and_not_looked_through(tmp_path):
    made = {"class": "Normalizer", "params": {}}
    for _ in range(30):
        made = {"class": "Pipeline", "steps": [{"name": "a", "step": made}]}
    for number in FORMATS:
        path = write(tmp_path / "m", before(5, made), number)
        assert read_manifest(path).steps == ["Pipeline"]
        with pytest.raises(ModelFileError, match="at most four encoders within one another"):
            load(path)


# -- pipelines that could not predict ----------------------------------------------------------------------------------


def hashing(n=5):
    return {"class": "HashingVectorizer", "params": {"n_features": n}}


def scaler(name, **params):
    made = step(name)
    made.pop("feature_names", None)
    made["params"].update(params)
    return made


def gram(*steps):
    content = fresh("voted gram")
    content["steps"] = steps_before(*steps)
    return content


def part(columns, alone, made):
    return table_part(f"p{len(columns)}{alone}{made['class']}", columns, alone, made)


def table(width, *parts, given=("a", "b"), sparse=False):
    made = step("table")
    made.update(columns=list(parts), given=list(given), sparse=sparse)
    return before(width, made)


def _threads(n_jobs):
    model = fresh("voted")["model"]
    model["params"]["n_jobs"] = n_jobs
    return model


NUMBER, TEXT = one_column("Number"), one_column("Text")
DISCRETE = one_column("Discrete", values=["x", "y"], sparse=False)
CANNOT = {
    "words for a scaler's successor": (
        before(5, scaler("MaxAbsScaler"), hashing()),
        "takes texts, and the step before",
    ),
    "words into a kernel matrix": (gram(hashing(30)), "takes no sparse matrices"),
    "words into a centred scaler": (before(5, hashing(), scaler("StandardScaler")), "takes no sparse matrices"),
    "words into a range": (before(5, hashing(), scaler("MinMaxScaler")), "takes no sparse matrices"),
    "words cut below 0": (before(5, hashing(), scaler("Binarizer", threshold=-1.0)), "takes no sparse matrices"),
    "cut at nan": (before(5, scaler("Binarizer", threshold={"float": "nan"})), "threshold' must be a finite number"),
    "cut at inf": (before(5, scaler("Binarizer", threshold={"float": "inf"})), "threshold' must be a finite number"),
    "another width": (before(6, scaler("StandardScaler")), "The CompactClassifier takes 6 features"),
    "a width between": (before(6, hashing(6), scaler("MaxAbsScaler")), "The MaxAbsScaler takes 5 features"),
    "no width": (before(5, {**scaler("MaxAbsScaler"), "n_features": None}), "n_features' must be a whole number"),
    "no quantiles": (
        before(5, scaler("RobustScaler", quantile_range={"tuple": [75, 25]})),
        "two numbers from 0 to 100, the smaller first",
    ),
    "no range": (before(5, scaler("MinMaxScaler", feature_range={"tuple": []})), "two numbers, the smaller first"),
    "a range of nan": (
        before(5, scaler("MinMaxScaler", feature_range={"tuple": [0, "1"]})),
        "two numbers, the smaller first",
    ),
    "a column alone": (before(1, NUMBER), "The Number takes columns of a ColumnTransformer"),
    "words of a table": (table(5, part(["a"], False, hashing())), "takes texts, and the step before it gives a table"),
    "numbers of a text": (table(1, part(["a"], True, NUMBER)), "takes columns of a ColumnTransformer"),
    "texts as numbers": (table(1, part(["a"], False, TEXT)), "gives texts, and not numbers"),
    "two columns for one": (table(1, part(["a", "b"], False, NUMBER)), "takes 1 columns"),
    "a column twice": (
        table(1, part(["a", "a"], False, {**NUMBER, "n_features": 2, "feature_names": ["a", "a"]})),
        "each once",
    ),
    "a column of two kinds": (
        table(7, part(["a"], True, hashing()), part(["a"], False, NUMBER)),
        "'a' as texts and as numbers",
    ),
    "other names": (table(5, part(list("vwxyz"), False, step("StandardScaler")), given="vwxyz"), "other names"),
    "a table in the middle": (
        before(1, scaler("MaxAbsScaler"), table(1, part(["a"], False, NUMBER))["steps"]["before"][0]["step"]),
        "takes tables with its columns",
    ),
    "a part called like a parameter": (
        table(1, {**part(["a"], False, NUMBER), "name": "remainder"}),
        "parts of different names",
    ),
    "another width of a table": (table(9, part(["a"], False, DISCRETE)), "takes 9 features"),
    "types of words": (
        before(5, {"class": "HashingVectorizer", "params": {"n_features": 5, "dtype": "O"}}),
        "dtype' is not one",
    ),
    "stop words of numbers": (
        before(5, {"class": "HashingVectorizer", "params": {"n_features": 5, "stop_words": [[]]}}),
        "'stop_words' of a HashingVectorizer",
    ),
    "columns of odd types": (
        before(5) | {"model": before(5)["model"] | {"coef": zeros((3, 5), "i1")}},
        "of type int32 or int64",
    ),
    "no threads": (fresh("voted") | {"model": _threads(0)}, "n_jobs' must be a number of threads"),
    "many threads": (fresh("voted") | {"model": _threads(10**6)}, "n_jobs' must be a number of threads"),
}


@pytest.mark.parametrize("number", FORMATS)
@pytest.mark.parametrize("name", CANNOT)
def test_what_could_not_predict_is_refused_when_it_is_opened(name, number, tmp_path):
    content, sentence = CANNOT[name]
    path = write(tmp_path / "m", content, number)
    with pytest.raises(ModelFileError, match=re.escape(sentence)) as error:
        load(path)
    assert re.fullmatch(r"The model file [^\n]{20,500}\.", str(error.value))


def test_weights_of_words_have_a_limit(tmp_path):
    content = with_words("TfidfVectorizer word", ["a", "b"])
    load(write(tmp_path / "m", content))
    content["steps"]["before"][0]["step"]["idf"] = np.array([1.0, 1e200])
    with pytest.raises(ModelFileError, match="idf' must be weights of words below"):
        load(write(tmp_path / "m", content))


# -- what is set and not fitted ----------------------------------------------------------------------------------------


def test_a_table_encoder_has_all_that_a_fit_would_give_it(tmp_path):
    """It is put together without a fit, of parts of scikit-learn's ColumnTransformer that are nobody's business."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "rest": [0, 0, 0], "body": TEXTS[:3], "b": [1.0, 0.0, 4.0]})
    parts = [
        ("n", StandardScaler(), ["b", "a"]),
        ("t", make_pipeline(TfidfVectorizer(), MaxAbsScaler()), "body"),
        ("c", TfidfVectorizer(), "body"),
    ]
    model = make_pipeline(ColumnTransformer(parts), AveragedPerceptronClassifier()).fit(frame, [0, 1, 0])
    save(model, tmp_path / "m")
    ours, theirs = vars(load(tmp_path / "m")[0]), vars(model[0])
    assert set(ours) == set(theirs)
    for name in ("n_features_in_", "output_indices_", "_transformer_to_input_indices", "_columns", "_remainder"):
        assert ours[name] == theirs[name], name
    assert ours["feature_names_in_"].tolist() == theirs["feature_names_in_"].tolist()
    assert [(name, columns) for name, _, columns in ours["transformers_"]] == [
        (name, columns) for name, _, columns in theirs["transformers_"]
    ]
    assert load(tmp_path / "m")[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    back = load(tmp_path / "m")
    shuffled = frame[["rest", "body", "b", "a"]].assign(more=1)
    assert (back.decision_function(shuffled) == model.decision_function(frame)).all()


@pytest.mark.parametrize(
    "made",
    [
        SimpleImputer(),
        SimpleImputer(keep_empty_features=True),
        SimpleImputer(strategy="constant", fill_value=7),
        TfidfVectorizer(),
        TfidfVectorizer(use_idf=False),
        CountVectorizer(),
    ],
)
def test_steps_have_all_that_a_fit_would_give_them(made, tmp_path):
    X = TEXTS if hasattr(made, "vocabulary") else np.array([[1.0, np.nan], [2.0, 5.0]] * 3)
    model = make_pipeline(made, AveragedPerceptronClassifier()).fit(X, [0, 1] * 3)
    save(model, tmp_path / "m")
    ours, theirs = vars(load(tmp_path / "m")[0]), vars(model[0])
    assert set(theirs) - set(ours) <= {"_stop_words_id", "stop_words_"}
    if "_tfidf" in theirs:
        assert set(vars(ours["_tfidf"])) == set(vars(theirs["_tfidf"]))


# -- pipes and devices -------------------------------------------------------------------------------------------------


def large_pipe(n_bytes):
    """Return a header that states so many bytes."""
    manifest = json.dumps({"format": 1, "sha256": "0" * 64})
    entry = {"dtype": "U8", "shape": [n_bytes], "data_offsets": [0, n_bytes]}
    header = json.dumps({"__metadata__": {"votron": manifest}, "a": entry}).encode()
    return struct.pack("<Q", len(header)) + header


@pytest.mark.slow
@pytest.mark.parametrize("command", ["inspect", "predict"])
def test_a_pipe_without_end_is_refused_by_its_first_bytes(command, tmp_path):
    """Nothing is kept on the way: the process can write no file of any size, and takes little memory."""
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    code = (
        "import resource, signal, sys; from votron.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); "
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2); sys.exit(main(sys.argv[1:]))"
    )
    read, written = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", code, command, "-", *["rows.csv"] * (command == "predict")],
        stdin=read,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    os.close(read)
    n_taken = 0
    try:
        os.write(written, large_pipe(1000))
        while process.poll() is None and n_taken < 1 << 26:
            n_taken += os.write(written, bytes(1 << 16))
    except BrokenPipeError:
        pass
    finally:
        os.close(written)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "")
    assert err == (
        f"votron {command}: The model file standard input is damaged: its arrays end before the file does.\n"
    )
    assert n_taken < 1 << 22


@pytest.mark.parametrize("command", ["inspect", "predict", "evaluate", "certify", "export"])
def test_a_device_without_end_is_refused_by_its_first_bytes(command, tmp_path, capsys, monkeypatch):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    before = os.listdir(tmp_path)
    more = {"inspect": [], "export": ["--compact", "out.votron"]}.get(command, ["rows.csv"])
    assert main([command, "/dev/zero", *more]) == 1
    assert capsys.readouterr().err == f"votron {command}: '/dev/zero' is not a model file of Votron.\n"
    assert os.listdir(tmp_path) == before


def test_a_pipe_that_promises_more_than_there_is_memory():
    promised = io.BytesIO(large_pipe(2**50) + bytes(1 << 20))
    with pytest.raises(ModelFileError, match=r"^The model file the stream says that its arrays take 1,125,899.9 GB"):
        read_manifest(promised)
    assert promised.tell() < 1000


def test_a_file_with_more_arrays_than_there_is_memory(tmp_path):
    """It takes no room on the disk: nothing was ever written there."""
    header = large_pipe(2**42)
    path = tmp_path / "m"
    path.write_bytes(header)
    os.truncate(path, len(header) + 2**42)
    with pytest.raises(ModelFileError, match=r"GB are free\. Free some, or map the file \(mmap=True\)\.$"):
        load(path)


@pytest.mark.parametrize("n_missing", [1, 1000])
def test_models_come_through_pipes_whole_or_not_at_all(n_missing, tmp_path):
    content = write(tmp_path / "m", fresh("voted")).read_bytes()
    os.mkfifo(tmp_path / "pipe")

    def given(data):
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[data])
        writer.start()
        try:
            return load(tmp_path / "pipe")
        finally:
            writer.join(timeout=60)

    assert given(content).record_.equals(load(tmp_path / "m").record_)
    with pytest.raises(ModelFileError, match=f"pipe' is cut off: {n_missing:,} of [0-9,]+ bytes are missing"):
        given(content[:-n_missing])


# -- files that change -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mmap", ["", "mmap=False", "mmap=True"])
def test_a_file_that_is_cut_short_ends_no_process_that_has_not_mapped_it(mmap, tmp_path):
    content = fresh("voted")
    content["model"]["support_rows"] = np.repeat(content["model"]["support_rows"], 2000, axis=1)
    content["model"]["n_features"] = content["model"]["support_rows"].shape[1]
    path = write(tmp_path / "m", content)
    code = (
        f"import os, sys, numpy as np; from votron import load; model = load(sys.argv[1], {mmap}); "
        "os.truncate(sys.argv[1], 4096); print(model.predict(np.ones((2, model.n_features_in_))).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    if mmap == "mmap=True":  # which the documentation warns of
        assert done.returncode == -signal.SIGBUS
    else:
        assert (done.returncode, done.stdout) == (0, "(2,)\n"), done.stderr


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", contents())
def test_files_are_those_that_safetensors_writes(name, tmp_path):
    path = write(tmp_path / "m", fresh(name))
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
    safetensors.numpy.save_file(safetensors.numpy.load_file(path), tmp_path / "theirs", metadata=metadata)
    assert path.read_bytes() == (tmp_path / "theirs").read_bytes()


def test_all_types_of_arrays_stand_as_safetensors_has_them(tmp_path):
    kinds = ("b1", "u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8")
    arrays = {f'{i % 3} {kind} é"\\': np.arange(i + 3).astype(kind) for i in range(3) for kind in kinds}
    arrays |= {"none": np.zeros((0, 3)), "matrix": np.ones((2, 3), order="F")}
    write_container(tmp_path / "m", {"votron": "x"}, arrays)
    found = read_container(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        metadata = file.metadata()
    assert (tmp_path / "m").read_bytes() == safetensors.numpy.save(found.arrays, metadata=metadata)
    assert all((found.arrays[name] == array).all() for name, array in arrays.items())


@pytest.mark.parametrize(
    "change",
    [
        lambda names: names["rows"].__iadd__(100_000),
        lambda names: names.update(rows=names["rows"][::-1].copy()),
        lambda names: names.update(names=names["names"][1:]),
        lambda names: names.update(names=[1] * len(names["names"])),
        lambda names: names.update(more=1),
        lambda names: names.update(rows=names["rows"].astype("<f8")),
    ],
)
def test_names_of_rows_that_the_model_does_not_keep_are_refused(change, tmp_path):
    content = fresh("voted")
    model = load(write(tmp_path / "m", content))
    rows = np.sort(model.support_)
    content["names"] = {"rows": rows, "names": [f"row {row}" for row in rows]}
    assert load(write(tmp_path / "m", content)).row_names_ == {int(row): f"row {row}" for row in rows}
    change(content["names"])
    with pytest.raises(ModelFileError, match=r"The field 'manifest.names"):
        load(write(tmp_path / "m", content))
    weights = fresh("averaged")
    weights["names"] = {"rows": rows, "names": [f"row {row}" for row in rows]}
    with pytest.raises(ModelFileError, match="rows that the model keeps"):
        load(write(tmp_path / "m", weights))
