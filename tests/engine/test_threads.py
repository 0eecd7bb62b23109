"""Several threads: pieces of a block, lists of blocks, one model for all of them."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
from paper import paper_perceptron

from votron._util.resources import team


def test_a_failure_ends_the_work_and_is_raised():
    begun = []

    def work(item):
        begun.append(item)
        if item == 3:
            raise ArithmeticError("broken")
        time.sleep(0.02)

    with team(2) as threads, pytest.raises(ArithmeticError, match="broken"):
        threads.each(range(1000), work)
    assert len(begun) < 20


def test_threads_may_share_a_model():
    """Rows of two kinds, so that the threads ask for the supports in two forms in turn."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 9, (60, 8))
    kinds = [whole, whole + 0.5]
    model = paper_perceptron(gamma=0.1, random_state=0, n_jobs=1).fit(whole, rng.integers(0, 3, 60))
    expected = [model.decision_function(X) for X in kinds]
    failures = []

    def ask(k):
        for i in range(60):
            try:
                np.testing.assert_array_equal(model.decision_function(kinds[(i + k) % 2]), expected[(i + k) % 2])
            except BaseException as error:
                failures.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
