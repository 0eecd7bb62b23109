"""Counts of an evaluation: exact intervals, confusion matrices and shares of each class."""

import numpy as np
import pytest

from votron.evaluate import evaluation


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (1, 1), (0, 50), (3, 50), (25, 50), (49, 50), (50, 50), (7, 1000)])
def test_the_interval_is_exact(wrong, n, confidence):
    """At its ends, as many errors and more, or as few and fewer, have just the probability that is allowed."""
    from scipy.stats import binom

    low, high = evaluation.clopper_pearson(wrong, n, confidence)
    assert 0 <= low <= wrong / n <= high <= 1
    tail = (1 - confidence) / 2
    assert low == 0 if wrong == 0 else binom.sf(wrong - 1, n, low) == pytest.approx(tail)
    assert high == 1 if wrong == n else binom.cdf(wrong, n, high) == pytest.approx(tail)


def test_confusions_are_scikit_learns():
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    rng = np.random.RandomState(0)
    true, predicted = rng.choice(list("abcd"), 200), rng.choice(list("abcd"), 200)
    found = evaluation.Confusion()
    for part in np.array_split(np.arange(200), 3):
        found.add(true[part], predicted[part])
    labels = list("abcd")
    assert (found.matrix(labels) == confusion_matrix(true, predicted, labels=labels)).all()
    expected = precision_recall_fscore_support(true, predicted, labels=labels)
    mine = found.by_class(labels)
    for i, name in enumerate(("precision", "recall", "f1", "rows")):
        assert [entry[name] for entry in mine] == pytest.approx(expected[i].tolist())
    assert found.wrong == (true != predicted).sum()
    assert sum(count for _, _, count in found.largest()) == found.wrong
