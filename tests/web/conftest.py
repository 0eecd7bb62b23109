"""The bundled models, their server, a client and a browser, for all tests of a module."""

import httpx
import pytest
from serving import CHROMIUM, FLAGS, serving

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
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()
