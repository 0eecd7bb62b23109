"""A hundred of the cases of ``make fuzz``."""

import fuzz_readers
import pytest


@pytest.mark.slow
def test_damaged_files_are_read_or_refused_with_a_sentence():
    found = list(fuzz_readers.run_in_children(100))
    assert [one["failure"] for one in found if one["failure"] is not None] == []
    assert [one["seed"] for one in found] == list(range(100))
    assert 5 <= sum(one["read"] for one in found) <= 95  # the cases are neither all sound nor all destroyed
