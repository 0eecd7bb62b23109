"""The bundled models, their server, a client and a browser, for all tests."""

import httpx
import pytest
from browsers import browsing
from serving import serving

from votron.web._models import pieces


@pytest.fixture(scope="session")
def workshop():
    """The bundled models, trained."""
    made = pieces()
    for piece in made:
        piece.work()
    return {piece.id: piece for piece in made}


@pytest.fixture(scope="session")
def address(workshop):
    with serving(workshop.values()) as found:
        yield found


@pytest.fixture(scope="session")
def client(address):
    with httpx.Client(base_url=f"{address}/api", timeout=30) as found:
        yield found


@pytest.fixture(scope="session")
def browser():
    with browsing() as found:
        yield found
