"""Every public name is documented with an example that runs, and importing the package is light."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import votron


def public_modules():
    yield "votron"
    for module in pkgutil.walk_packages(votron.__path__, "votron."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield module.name


def public_names():
    for module in public_modules():
        names = getattr(importlib.import_module(module), "__all__", [])
        if "main" not in names:  # a command, whose example is a command line
            yield from ((module, name) for name in names)


@pytest.mark.parametrize(("module", "name"), list(public_names()))
def test_public_names_have_examples(module, name):
    thing = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return  # a constant: its docstring stands beneath it, where Python does not keep it
    assert thing.__doc__, f"{module}.{name} has no docstring"
    assert thing.__doc__.split("\n")[0].endswith((".", ":")), f"{module}.{name} does not begin with a sentence"
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return  # its sentence is all there is to it
    assert "\nExamples\n--------\n" in inspect.cleandoc(thing.__doc__), f"{module}.{name} has no section of examples"
    assert doctest.DocTestParser().get_examples(thing.__doc__), f"{module}.{name} has no example that runs"


@pytest.mark.parametrize("module", list(public_modules()))
def test_public_modules_have_docstrings(module):
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("name", [name for name in votron.__all__ if isinstance(getattr(votron, name), type)])
def test_methods_of_public_classes_are_documented(name):
    mine = [c for c in getattr(votron, name).__mro__ if c.__module__.startswith("votron.")]
    for method in {method for c in mine for method in vars(c) if not method.startswith("_")}:
        assert inspect.getdoc(inspect.getattr_static(getattr(votron, name), method)), f"{name}.{method}"


def test_names_are_found_and_listed():
    assert set(votron.__all__) <= set(dir(votron))
    for name in votron.__all__:
        assert getattr(votron, name) is not None
    with pytest.raises(AttributeError, match="module 'votron' has no attribute 'nothing'"):
        votron.nothing  # noqa: B018


def test_importing_is_light():
    """Names are loaded when they are used: neither the compiler nor scikit-learn comes with the package itself."""
    ask = (
        "import sys, votron; print(*(m for m in ('numba', 'sklearn', 'scipy', 'numpy', 'joblib') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
