import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def files(text):
    """Return the files of each list, with their folders."""
    lists = re.split(r"^\d+ files of", text, flags=re.MULTILINE)[1:]
    lines = [re.findall(r"^- `(.*?)/`: (.*)$", part.partition("<!--")[0], flags=re.MULTILINE) for part in lists]
    return [{f"{folder}/{name}" for folder, names in each for name in re.findall(r"`(.*?)`", names)} for each in lines]


@pytest.mark.slow
def test_the_page_lists_the_files_that_run():
    """`python tests/walk.py docs/architecture.md` writes the lists anew."""
    command = [sys.executable, str(HERE / "walk.py")]
    traced = files(subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout)
    page = (HERE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(traced) == 2
    assert traced[0]
    assert files(page) == traced
    assert re.findall(r"^(\d+) files of", page, flags=re.MULTILINE) == [str(len(each)) for each in traced]
