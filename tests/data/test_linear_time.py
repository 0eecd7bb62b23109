"""Whatever reads a stranger's bytes is linear in them: four times as many take about four times as long."""

import bz2
import lzma
import time
from contextlib import suppress

import pytest

from votron.data import open_batches, read_examples
from votron.errors import VotronError

pytestmark = pytest.mark.slow  # processes, and files of some size

N = 60_000
LIMIT = 9.0  # 4 is linear, 16 quadratic; machines are noisy


def wide(n):
    names = [b"c%d" % i for i in range(n // 600)]
    return b",".join(names) + b"\n" + (b",".join([b"1"] * len(names)) + b"\n") * 3


def doubtful(n):
    """Names of which less than half are numbers."""
    names = [b"%d" % (i + 5) if i % 3 == 0 else b"c%d" % i for i in range(n // 600)]
    return b",".join(names) + b"\n" + (b",".join([b"x"] * len(names)) + b"\n") * 3


Y, ONE = {"label": "y"}, {"labels": "none", "missing": "keep"}
# What to write, given about how long it should be, and how to read it.
TEXTS = {
    "digits without an end": ("a", lambda n: b"1" * n + b"x", Y),
    "digits and a point": ("a", lambda n: b"1 1:" + b"1" * n + b".x", Y),
    "digits as a name": ("a.csv", lambda n: b"a," + b"1" * n + b"x\n1,2\n", {"label": "a"}),
    "many names of digits": ("a.csv", lambda n: b",".join(b"x%d" % i for i in range(n // 8)) + b"\n1\n", {"label": 0}),
    "spaces": ("a", lambda n: b"1" + b" " * n + b"x", Y),
    "features and then none": ("a", lambda n: b"1" + b" 1:1" * (n // 4) + b" x", Y),
    "an open quote": ("a.csv", lambda n: b'a,y\n1,"' + b"x\n" * (n // 2), Y),
    "quotes": ("a.csv", lambda n: b"a,y\n1," + b'"' * n + b"\n", Y),
    "single quotes": ("a.csv", lambda n: b"a,y\n" + b"'x,\n" * (n // 4), Y),
    "quotes in fields": ("a.csv", lambda n: b"a,y\n" + b'x"x,1\n' * (n // 6), Y),
    "delimiters of all kinds": ("a.csv", lambda n: b"a,y\n" + b",;\t|" * (n // 4), Y),
    "blank lines": ("a.csv", lambda n: b"a,y\n1,1\n" + b"\n" * n, Y),
    "blank lines in one column": (
        "a.csv",
        lambda n: b"a\n" + b"1\n\n" * (n // 3),
        {"labels": "none", "missing": "keep"},
    ),
    "blank lines of spaces": ("a.csv", lambda n: b"a,y\n" + b" \n" * (n // 2), Y),
    "old line ends": ("a.csv", lambda n: b"a,y\r" + b"1,1\r" * (n // 4), Y),
    "wide": ("a.csv", wide, {"label": 0}),
    "wide, with numbers for names": ("a.csv", doubtful, {"label": 0}),
    "codes": ("a.csv", lambda n: b"a,y\n" + b"007,1\n" * (n // 6), Y),
    "decimal commas": ("a.csv", lambda n: b"a;y\n" + b"1,5;1\n" * (n // 6), Y),
    "one long number": ("a.csv", lambda n: b"a,y\n" + b"1" * n + b",1\n", Y),
    "a text among numbers": ("a.csv", lambda n: b"a,y\n" + b"1,1\n" * (n // 4) + b"x,1\n", Y),
    "missing values": ("a.csv", lambda n: b"a,y\n" + b",1\n" * (n // 3) + b"1,1\n", {"label": "y", "missing": "drop"}),
    "labels": ("a.csv", lambda n: b"a,y\n" + b"".join(b"1,c%d\n" % i for i in range(n // 8)), Y),
    "a long label in svmlight": ("a.svm", lambda n: b"1" * n + b" 1:1\n", {}),
    "a long number in svmlight": ("a.svm", lambda n: b"1 " + b"1" * n + b":1\n", {}),
    "a long value in svmlight": ("a.svm", lambda n: b"1 1:0." + b"1" * n + b"\n", {}),
    "comments": ("a.svm", lambda n: b"#\n" * (n // 2) + b"1 1:1\n", {}),
    "hashes": ("a.svm", lambda n: b"1 1:1 " + b"#" * n, {}),
    "one long example": ("a.svm", lambda n: b"1 " + b" ".join(b"%d:1" % i for i in range(n // 8)), {}),
    "one long example, damaged": ("a.svm", lambda n: b"1 " + b" ".join(b"%d:1" % i for i in range(n // 8)) + b" x", {}),
    "many examples, damaged": ("a.svm", lambda n: b"1 1:1\n" * (n // 6) + b"x\n", {}),
    "open lists": ("a.json", lambda n: b"[" * n, Y),
    "open objects": ("a.jsonl", lambda n: b'{"a":' * (n // 5), Y),
    "rows of JSON": ("a.json", lambda n: b'[{"a":1,"y":2}' + b',{"a":1,"y":2}' * (n // 14) + b"]", Y),
    "lines of JSON": ("a.jsonl", lambda n: b'{"a":1,"y":2}\n' * (n // 14), Y),
    "lines of JSON, damaged": ("a.jsonl", lambda n: b'{"a":1,"y":2}\n' * (n // 14) + b"{", Y),
    "texts of JSON": ("a.jsonl", lambda n: b'{"a":"' + b"x" * n + b'","y":2}\n', Y),
    "quotes of JSON": ("a.jsonl", lambda n: b'{"a":"' + b'\\"' * (n // 2), Y),
    "dates": ("a.csv", lambda n: b"d,y\n" + b"2024-01-31,1\n" * (n // 13), Y),
    "dates, and then none": ("a.csv", lambda n: b"d,y\n" + b"2024-01-31,1\n" * (n // 13) + b"2024-01-32,1\n", Y),
    "members of bzip2": (
        "a.csv.bz2",
        lambda n: bz2.compress(b"a,y\n1,1\n") + bz2.compress(b"") * (n // 14),
        {"label": "y"},
    ),
    "members of xz": (
        "a.csv.xz",
        lambda n: lzma.compress(b"a,y\n1,1\n") + lzma.compress(b"") * (n // 32),
        {"label": "y"},
    ),
}


def seconds(path, options, read):
    """Of the processor, which do not grow with what else the machine does."""
    begun = time.process_time()
    with suppress(VotronError):
        read(path, **options)
    return time.process_time() - begun


def batches(path, **options):
    for _ in open_batches(path, batch_bytes=2000, **options):
        pass


def growth(tmp_path, name, make, options, read):
    """By how much the time grows for a text four times as long, the shorter one being long enough to be measured."""
    shorter, longer = tmp_path / f"shorter-{name}", tmp_path / f"longer-{name}"
    n, before = N, 0.0
    while before < 0.03 and n < 64 * N:
        shorter.write_bytes(make(n))
        seconds(shorter, options, read)
        before, n = seconds(shorter, options, read), 4 * n
    longer.write_bytes(make(n))
    ratio = float("inf")
    for _ in range(5):  # what else the machine does may still cost caches
        before = min(before, seconds(shorter, options, read)) if ratio < float("inf") else before
        ratio = min(ratio, seconds(longer, options, read) / before)
        if ratio < LIMIT:
            break
    return ratio


@pytest.mark.parametrize("what", TEXTS)
def test_text(tmp_path, what):
    assert growth(tmp_path, *TEXTS[what], read_examples) < LIMIT


IN_BATCHES = ("an open quote", "quotes", "blank lines", "blank lines in one column", "one long example", "hashes")


@pytest.mark.parametrize("what", IN_BATCHES)
def test_text_in_batches_that_are_shorter_than_a_record(tmp_path, what):
    assert growth(tmp_path, *TEXTS[what], batches) < LIMIT
