"""What all tests and doctests stand on."""

import signal
import sys
from collections.abc import Iterator

import hypothesis
import pytest

from votron.data.formats import FORMATS
from votron.kernels import KERNELS
from votron.rules import RULES
from votron.theory.statements import REGISTERED_BOUNDS

REGISTRIES = (KERNELS, RULES, FORMATS, REGISTERED_BOUNDS)

# How long an example takes is the machine's business. Each run draws others, so that half of the usual number will do.
hypothesis.settings.register_profile("untimed", deadline=None, max_examples=50)
hypothesis.settings.load_profile("untimed")
# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _registries_as_they_were() -> Iterator[None]:
    """Take out again what a test registers: names are known to a whole process."""
    before = [dict(each) for each in REGISTRIES]
    yield
    for each, content in zip(REGISTRIES, before, strict=True):
        if each != content:
            each.clear()
            each.update(content)


@pytest.fixture(autouse=True)
def _figures_closed() -> Iterator[None]:
    """Close the figures that a test has drawn: matplotlib keeps them, and warns where there are many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
