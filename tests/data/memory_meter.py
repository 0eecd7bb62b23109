"""What reading files takes in memory, measured in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(not os.path.isfile("/proc/self/clear_refs"), reason="needs /proc to reset the peak")
_CHILD = Path(__file__).with_name("memory_child.py")


def measured(cases, free=None, timeout=120):
    """What comes of each case: the sentence or the shape, and by how many bytes the peak of memory grew.

    A case is a call, its path and its options; `free` is what the process is told that it has.
    """
    given = json.dumps({"free": free, "cases": [[call, os.fspath(path), how] for call, path, how in cases]})
    done = subprocess.run(
        [sys.executable, _CHILD], input=given, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
