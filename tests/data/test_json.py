"""JSON and JSON Lines: tables of objects, whole and in batches, and what is none."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron.cli import main
from votron.data import Examples, open_batches, read_examples, write_examples
from votron.errors import DataError

NAMES = st.sampled_from(["a", "b", "c c", "d"])
VALUES = {
    "a": st.integers(-(2**40), 2**40),
    "b": st.floats(allow_nan=False, allow_infinity=False),
    "c c": st.text(alphabet="xyz é\u2028\n\"'", max_size=5),
    "d": st.booleans(),
}
ROWS = st.lists(
    st.fixed_dictionaries({"y": st.sampled_from(["p", "q"])}, optional={n: st.none() | v for n, v in VALUES.items()}),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("json")


def table(rows):
    """The textbook's reading: a column for each name, None where a row lacks it."""
    names = dict.fromkeys(name for row in rows for name in row if name != "y")
    return {name: [row.get(name) for row in rows] for name in names}


@settings(deadline=None)
@given(ROWS, st.integers(1, 200))
def test_rows_are_read_as_they_are(folder, rows, batch_bytes):
    rows = [{"a": 1, "b": 0.5, "c c": "x", "d": True, "y": "p"}, *rows]
    expected = table(rows)
    one, lines = folder / "t.json", folder / "t.jsonl"
    one.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    lines.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    for path in (one, lines):
        found = read_examples(path, label="y", missing="keep")
        assert found.X.to_dict(as_series=False) == expected
        assert found.y.tolist() == [row["y"] for row in rows]
    batches = list(open_batches(lines, label="y", missing="keep", batch_bytes=batch_bytes))
    assert pl.concat([batch.X for batch in batches], how="vertical_relaxed").to_dict(as_series=False) == expected
    (folder / "columns.json").write_text(json.dumps({**expected, "y": [row["y"] for row in rows]}))
    assert read_examples(folder / "columns.json", label="y", missing="keep").X.to_dict(as_series=False) == expected


@settings(deadline=None)
@given(ROWS)
def test_what_is_written_is_read_again(folder, rows):
    frame = pl.DataFrame(table([{"a": 1, "b": 0.5, "c c": "x", "d": True, "y": "p"}, *rows]))
    for name in ("w.json", "w.jsonl"):
        write_examples(Examples(frame, None, "csv", "t.csv"), folder / name)
        found = read_examples(folder / name, labels="none", missing="keep").X
        assert found.to_dict(as_series=False) == frame.to_dict(as_series=False)


def read(tmp_path, text, name="t.json", **options):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_examples(tmp_path / name, **{"labels": "none", "missing": "keep", **options}).X.to_dict(as_series=False)


def test_kinds_of_columns(tmp_path):
    assert read(tmp_path, '[{"a": 1}, {"a": 2.5}, {"a": NaN}]') == {"a": [1.0, 2.5, None]}
    assert read(tmp_path, '[{"a": "x"}, {"a": 7}, {"a": 1.5}, {"a": "y"}]') == {"a": ["x", "7", "1.5", "y"]}
    assert read(tmp_path, '[{"a": {"b": {"c": 1}, "d": "x"}}, {}]') == {"a.d": ["x", None], "a.b.c": [1, None]}
    assert read(tmp_path, f'[{{"a": {2**70}}}, {{"a": 1}}]') == {"a": [2.0**70, 1.0]}
    assert read(tmp_path, '[{"d": "2024-01-31"}]', as_text=["d"]) == {"d": ["2024-01-31"]}
    assert read(tmp_path, '[{"*": 1, "a": "x"}]') == {"*": [1], "a": ["x"]}
    assert read(tmp_path, r'[{"a": "NaN, \"NaN", "b": NaN}, {"b": 2}]') == {"a": ['NaN, "NaN', None], "b": [None, 2]}
    assert read(tmp_path, '[{"a": "NA"}, {"a": "x"}]') == {"a": ["NA", "x"]}
    assert read(tmp_path, '[{"a": "NA"}, {"a": "x"}]', na_values=["NA"]) == {"a": [None, "x"]}
    numbers = '[{"a": 1}, {"a": "?"}, {"a": 3}, {"a": 2.5}]'
    assert read(tmp_path, numbers, na_values=["?"]) == {"a": ["1", None, "3", "2.5"]}
    assert read(tmp_path, '{"a": 1}\n\n{"a": 2}\n') == {"a": [1, 2]}
    assert read(tmp_path, '{"a": 1}', "one.json") == {"a": [1]}
    assert read(tmp_path, '\ufeff[{"a": 1, "b": [1, 2]}]', drop=["b"]) == {"a": [1]}
    assert read(tmp_path, '[{"a": 1}]', "t.txt") == {"a": [1]}
    assert read(tmp_path, '{"a": 1}\n', "u.txt") == {"a": [1]}


REFUSED = {
    "no object": ("[1, 2]", r"expected `object`, got `int` - at `\$\[0\]`"),
    "uneven columns": ('{"a": [1], "b": [1, 2]}', "must be lists of one length"),
    "a list among numbers": ('[{"a": 1}, {"a": [2]}]', "Cannot read"),
    "no end": ('[{"a": 1}', "was truncated"),
    "more": ('[\n{"a": 1}] x', "trailing characters in line 2"),
    "lists in lists": ("[" * 100_000, "as JSON: .*(recursion|expected)"),
    "a number without end": ('[{"a": ' + "1" * 5000 + "}]", "out of range"),
    "half a character": ('[{"a": "\\ud800"}]', "Cannot read"),
    "half a character among others": ('[{"a": "\\ud83d\\ude00"}, {"a": "\\udc00b"}]', "Cannot read"),
    "names of patterns": ('[{"^b$": 1, "a": 2}]', r"The column '\^b\$' of .* must have another name"),
    "infinity": ('[{"a": Infinity}]', "invalid character in line 1"),
    "nothing": ("[]", "no examples"),
    "empty rows": ("[{}, {}]", "no examples"),
    "no JSON": ("a,b\n1,2\n", "invalid character in line 1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(tmp_path, what):
    text, words = REFUSED[what]
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 500


def test_lines_say_where(tmp_path):
    with pytest.raises(DataError, match="trailing characters in line 2"):
        read(tmp_path, '{"a": 1}\n{"a": 1} {"a": 2}\n', "t.jsonl")
    with pytest.raises(DataError, match="in line 3"):
        read(tmp_path, '{"a": 1}\n{"a": 1}\n{"a": x}\n', "t.jsonl")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a": null}\n')
    with pytest.raises(DataError, match="the first is in line 2, column 'a'"):
        read_examples(tmp_path / "t.jsonl", labels="none")


def test_later_batches_hold_what_the_first_do(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a": "x"}\n')
    with pytest.raises(DataError, match="must hold numbers, as in the rows before it"):
        list(open_batches(tmp_path / "t.jsonl", labels="none", batch_bytes=9))


def test_numbers_after_words_are_words(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "x", "b": null}\n{"a": 1}\n{"b": 2}\n{"c": 1}\n')
    options = {"labels": "none", "missing": "keep", "batch_bytes": 11}
    with pytest.raises(DataError, match=r"The column 'c' of .* must be in the first batch\. Got .* of line 4 instead"):
        list(open_batches(path, **options))
    path.write_text(path.read_text()[:-9])
    rows = [row for batch in open_batches(path, **options) for row in batch.X.rows()]
    assert rows == [("x", None), ("1", None), (None, 2)]


def test_what_predict_writes_is_read(tmp_path):
    rows = [{"n": i % 9, "y": "pqr"[i % 3]} for i in range(30)]
    data, model, out = (str(tmp_path / name) for name in ("t.json", "m.votron", "out.jsonl"))
    (tmp_path / "t.json").write_text(json.dumps(rows))
    assert main(["train", data, "--label", "y", "--kernel", "linear", "-o", model, "--quiet"]) == 0
    assert main(["predict", model, data, "--scores", "-o", out, "--keep", "n"]) == 0
    found = read_examples(out, label="label")
    assert found.columns == ["n", "scores.p", "scores.q", "scores.r"]
