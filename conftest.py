"""What all tests and doctests stand on."""

import signal
from collections.abc import Iterator

import pytest

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _registries_as_they_were() -> Iterator[None]:
    """Take out again what a test registers: names are known to a whole process."""
    from votron.kernels import registry

    registries = [registry.KERNELS, registry.REGISTERED]
    before = [dict(each) for each in registries]
    yield
    for each, content in zip(registries, before, strict=True):
        if each != content:
            each.clear()
            each.update(content)
