"""What the tests of reading share."""

import re

import pytest

from votron.data import open_batches, read_examples
from votron.errors import VotronError


@pytest.fixture
def write(tmp_path):
    """Write a file, and return its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def refused():
    """Check that data are refused with one sentence, or two, that say so; return the sentence."""

    def refused(path, *words, **options):
        with pytest.raises(VotronError) as caught:
            list(open_batches(path, **options)) if "batch_bytes" in options else read_examples(path, **options)
        message = str(caught.value)
        for word in words:
            assert word in message, message
        assert re.fullmatch(r"[A-Z'].*\.", message), message
        assert len(message) < 500
        return message

    return refused
