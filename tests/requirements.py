"""Parts outside of Python that some tests need: without them these are skipped, but not where all must be there."""

import os

import pytest


def requires(there: bool, what: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test without what it needs; with ``VOTRON_CI`` set it runs, and fails."""
    return pytest.mark.skipif(not there and not os.environ.get("VOTRON_CI"), reason=f"{what} is not installed")
