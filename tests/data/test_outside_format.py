"""Formats from outside the package, of public names only: they work wherever a format of Votron's does."""

import json

import numpy as np
import polars
import pytest

from votron.data import Examples, open_batches, read_examples, scan_stream, write_examples
from votron.data.formats import FORMATS, Format, Part, register_format
from votron.errors import DataError, VotronError

FORMAT = '''
import json

import polars
from votron.errors import DataError
from votron.data.formats import Format, Part

class JsonLines(Format):
    """A JSON object to a line."""

    name, suffixes, sequential = "jsonlines", (".rows", ".objects"), True

    def read(self, source, options, batch_bytes):
        with source.open() as file:
            line = 1
            while lines := file.readlines(batch_bytes or -1):
                rows = [self.row(text, line + i, source.name) for i, text in enumerate(lines)]
                yield Part(polars.DataFrame(rows), lines=range(line, line + len(rows)))
                line += len(rows)

    def row(self, text, line, name):
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError):
            raise DataError(f"The line {line} of {name} must be a JSON object.") from None

    def write(self, examples):
        labelled = examples.X.with_columns(polars.Series(examples.label, examples.y))
        return labelled.write_ndjson().encode()
'''
scope = {}
exec(FORMAT, scope)
JsonLines = scope["JsonLines"]
DAYS = [{"Outlook": o, "Temp": t, "Play": p} for o, t, p in (("Rainy", 55, "no"), ("Sunny", 87, "yes")) for _ in "abc"]


class Bits(Format):
    """Rows of 0 and 1, the last of which is the label."""

    name, suffixes, magic = "bits", (".bits",), (b"BITS",)

    def read(self, source, options, batch_bytes):
        rows = np.array([list(map(int, line)) for line in source.read().decode().split()[1:]])
        yield Part(rows[:, :-1], rows[:, -1])


@pytest.fixture(autouse=True)
def _registered():
    register_format(JsonLines)
    register_format(Bits)
    yield
    for name in ("jsonlines", "bits"):
        FORMATS.pop(name, None)


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.rows"
    path.write_text("".join(json.dumps(day) + "\n" for day in DAYS))
    return path


def test_whole_and_batches(days):
    whole = read_examples(days, label="Play")
    assert (whole.format, whole.columns, whole.y.tolist()) == (
        "jsonlines",
        ["Outlook", "Temp"],
        ["no"] * 3 + ["yes"] * 3,
    )
    batches = open_batches(days, label="Play", batch_bytes=60)
    assert batches.bounded
    found = list(batches)
    assert [batch.first_row for batch in found] == [0, 2, 4]
    assert polars.concat([batch.X for batch in found]).equals(whole.X)
    assert scan_stream(batches).classes.tolist() == ["no", "yes"]


def test_numbers_are_cut_into_batches(tmp_path):
    path = tmp_path / "some"  # known by its first bytes
    path.write_text("BITS\n101\n010\n")
    found = read_examples(path)
    assert (found.X.tolist(), found.y.tolist(), found.format) == ([[1, 0], [0, 1]], [1, 0], "bits")
    batches = open_batches(path, batch_bytes=1)
    assert not batches.bounded
    assert [batch.y.tolist() for batch in batches] == [[1], [0]]
    with pytest.raises(DataError, match="There are no parts of"):
        read_examples(path, part="test")


def test_writing(days, tmp_path):
    examples = read_examples(days, label="Play")
    for name, format in (("out.objects", None), ("out", "jsonlines")):
        write_examples(examples, tmp_path / name, format)
        assert [json.loads(line) for line in (tmp_path / name).read_text().splitlines()] == DAYS
    with pytest.raises(VotronError, match=r"must be one of 'csv', .*'jsonlines', or the name of the file must say"):
        write_examples(Examples(np.ones((1, 1)), None, "npy", "one"), tmp_path / "one.bits")


def test_refusals(days, tmp_path):
    days.write_text('{"a": 1}\n[1]\n')
    with pytest.raises(DataError, match=r"The line 2 of '.*days.rows' must be a JSON object\."):
        read_examples(days, label="a")
    with pytest.raises(VotronError, match=r"'format' parameter of read_examples must be one of 'csv', .*'bits'"):
        read_examples(days, format="nowhere")
    FORMATS.pop("jsonlines")
    with pytest.raises(DataError, match="expected `object`, got `array` in line 2"):
        read_examples(days, label="a")  # which is JSON by its first bytes


def test_names_are_taken_once():
    class Other(Format):
        name = "bits"

    with pytest.raises(VotronError, match="There is a format of the name 'bits' already"):
        register_format(Other)
    with pytest.raises(VotronError, match="must be a class derived from Format"):
        register_format(int)
