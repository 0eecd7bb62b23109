"""One cluster of two workers for all tests that need no more."""

from collections.abc import Iterator
from typing import Any

import pytest
from clusters import cluster_of


@pytest.fixture(scope="session")
def cluster() -> Iterator[tuple[Any, Any]]:
    with cluster_of(2) as (cluster, client):
        yield cluster, client
