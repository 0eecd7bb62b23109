"""Names of the package are found, and importing it is light."""

import subprocess
import sys

import pytest

import votron


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
