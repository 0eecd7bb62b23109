"""skops: files of all estimators, which need exactly the types that the documentation names, and predict the same."""

import copy

import numpy as np
import pytest
import skops.io
from fitted_models import classifiers, data, pipelines
from paper import paper_averaged
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from skops.io.exceptions import UntrustedTypesFoundException

DOCUMENTED = ("votron.", "numpy.dtype", "scipy.sparse._csr.csr_matrix")
"""What names of types in files of Votron's estimators begin with."""
MODELS = classifiers() | {name: model for name, model in pipelines().items() if name.startswith("table")}


def there_and_back(model):
    """The model from a file that needs no types but those documented."""
    content = skops.io.dumps(model)
    needed = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith(DOCUMENTED) for name in needed)
    return skops.io.loads(content, trusted=needed)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_same(name):
    model, rows = MODELS[name]
    again = there_and_back(model)
    assert type(again) is type(model)
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


def test_nothing_opens_without_trust():
    content = skops.io.dumps(MODELS["voted"][0])
    with pytest.raises(UntrustedTypesFoundException, match=r"votron\.estimators\.voted\.VotedPerceptronClassifier"):
        skops.io.loads(content)


def test_a_pipeline_that_no_model_file_holds_is_saved_by_skops():
    X, y = data()
    model = make_pipeline(PolynomialFeatures(2), paper_averaged(random_state=0)).fit(X, y)
    assert np.array_equal(there_and_back(model).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", ["averaged", "winnow", "bayes", "voted stream"])
def test_training_goes_on(name):
    model, rows = MODELS[name]
    labels = model.classes_[np.arange(len(rows)) % len(model.classes_)]
    again, expected = there_and_back(model), copy.deepcopy(model).partial_fit(rows, labels)
    assert np.array_equal(again.partial_fit(rows, labels).decision_function(rows), expected.decision_function(rows))
