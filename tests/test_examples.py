"""Each example runs, writes its picture, and prints the numbers that the documentation shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = {
    "attained_margin": "sparsity.md",
    "game": "online.md",
    "images": "reproduce.md",
    "parallel_lines": "sparsity.md",
    "permutations": "sparsity.md",
    "winnow": "winnow.md",
}
"""The pages that show all that an example prints."""


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(example, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    name = example.stem.removeprefix("plot_")
    (picture,) = tmp_path.iterdir()
    assert picture.name == f"{name.replace('_', '-')}.svg"
    assert picture.stat().st_size > 10_000
    if name in PAGES:
        page = (ROOT / "docs" / PAGES[name]).read_text(encoding="utf-8")
        assert [line for line in done.stdout.splitlines() if line.strip() not in page] == []
