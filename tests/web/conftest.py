"""The bundled models, their server, a client and a browser, for all tests of a module."""

import httpx
import pytest
from browsers import browsing
from serving import serving

from votron.web._workshop import Workshop, bundled_pieces


@pytest.fixture(scope="module")
def workshop():
    """The bundled models, trained."""
    made = Workshop(bundled_pieces())
    made._work()
    return made


@pytest.fixture(scope="module")
def address(workshop):
    with serving(workshop) as found:
        yield found


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=f"{address}/api", timeout=30) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found
