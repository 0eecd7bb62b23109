"""Rows know their numbers and lines, whatever is left out, blank or on several lines."""

import json
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from votron.data import open_batches, read_examples

RECORDS = st.lists(
    st.tuples(st.sampled_from(["plain", "two lines", "hole"]), st.booleans()), min_size=1, max_size=12
).filter(lambda records: any(kind != "hole" for kind, _ in records))


def written(records):
    """Return a file, and the number and line of each row that is whole, as one counts them who writes it."""
    text, line, numbers, lines = "text,number,label\n", 2, [], []
    for i, (kind, blank_before) in enumerate(records):
        if blank_before:
            text, line = text + "\n", line + 1
        if kind != "hole":
            numbers.append(i + 1)
            lines.append(line)
        text += {"plain": f"word,{i},a\n", "two lines": f'"two\nlines",{i},b\n', "hole": f",{i},a\n"}[kind]
        line += 2 if kind == "two lines" else 1
    return text, numbers, lines


@given(RECORDS, st.integers(8, 60))
def test_numbers_and_lines_of_csv(records, batch_bytes):
    text, numbers, lines = written(records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_text(text, encoding="utf-8")
        options = {"label": "label", "missing": "drop", "as_text": ("text",)}
        whole = read_examples(path, **options)
        batches = list(open_batches(path, batch_bytes=batch_bytes, **options))
    assert whole.row_numbers.tolist() == numbers
    assert list(whole.lines) == lines
    assert np.concatenate([batch.row_numbers for batch in batches]).tolist() == numbers
    assert np.concatenate([np.asarray(batch.lines) for batch in batches]).tolist() == lines


def test_numbers_and_lines_of_json(tmp_path):
    rows = [{"a": 1, "y": "p"}, {"a": None, "y": "q"}, {"a": 3, "y": "q"}]
    lines, whole = tmp_path / "rows.jsonl", tmp_path / "rows.json"
    lines.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    whole.write_text(json.dumps(rows), encoding="utf-8")
    found = read_examples(lines, label="y", missing="drop")
    assert (found.row_numbers.tolist(), list(found.lines)) == ([1, 3], [1, 5])
    found = read_examples(whole, label="y", missing="drop")
    assert (found.row_numbers.tolist(), found.lines) == ([1, 3], None)
    batches = list(open_batches(whole, label="y", missing="drop", batch_bytes=1))
    assert [batch.row_numbers.tolist() for batch in batches] == [[1], [3]]
