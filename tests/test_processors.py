"""The check of `tests/processors.py` can fail, and no order in the sources depends on the processor."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import llvmlite.binding
import processors
import pytest

X86 = platform.machine().lower() in ("x86_64", "amd64")


@pytest.mark.slow
def test_a_process_that_uses_all_of_this_processor_is_no_lesser_one():
    told = processors.environment(processors.PROCESSORS["sse"])
    plain = {name: value for name, value in os.environ.items() if name not in told}
    command = [sys.executable, processors.__file__, "--inside", "sse", "--version"]
    run = subprocess.run(command, env=plain, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 1
    assert "Compiled loops have no" in run.stdout
    if X86 and llvmlite.binding.get_host_cpu_features().get("fma"):
        for library in ("numpy uses", "OpenBLAS is", "Compiled loops use"):
            assert library in run.stdout
