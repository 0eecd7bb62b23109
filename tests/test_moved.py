"""Modules that are gone: their names are found where they are now, and say so."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

from votron._moved import MODULES

NAMES = [(old, *name.partition("=")[::2], new) for old, (new, names) in MODULES.items() for name in names.split()]
NAMES += [  # of modules that are still there
    ("votron.data.tables", "tabular_encoder", "", "votron.data.encoding"),
    ("votron.data.tables", "SCALERS", "", "votron.data.encoding"),
    ("votron.data.vocabulary", "stands_between", "", "votron.data.options"),
]


@pytest.mark.parametrize(("old", "name", "renamed", "new"), NAMES)
def test_names_are_found_at_the_old_place(old, name, renamed, new):
    with pytest.warns(DeprecationWarning, match=rf"^{name} has moved from {old} to {new}(, as {renamed})?\.$"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), renamed or name)


@pytest.mark.parametrize("old", MODULES)
def test_nothing_else_is_found_there(old):
    with pytest.raises(AttributeError, match=f"module '{old}' has no attribute 'nothing'"):
        importlib.import_module(old).nothing  # noqa: B018
    assert importlib.util.find_spec(f"{old}_too") is None


def test_the_line_that_is_told_is_the_users():
    code = "from votron.kernels.standard import PolynomialKernel"
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "<string>:1: DeprecationWarning: PolynomialKernel has moved" in done.stderr
