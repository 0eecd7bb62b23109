import pytest

from votron.data import ImageSet, load_image_set
from votron.papers.runs import RunKey, perform


@pytest.fixture(scope="session")
def digits():
    """A few digits, under a name that is not known."""
    whole = load_image_set("digits")
    return ImageSet("few", whole.X[:300], whole.y[:300], whole.X_test[:100], whole.y_test[:100], (8, 8), "a few digits")


@pytest.fixture(scope="session")
def runs(digits):
    """Three degrees, two permutations, two epochs."""
    return {
        degree: [perform(RunKey(digits.digest, degree, seed, 2.0), digits) for seed in (0, 1)] for degree in (1, 2, 4)
    }
