"""skops: files of all estimators, which need exactly the types that the documentation names, and predict the same."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from paper import paper_averaged, paper_perceptron
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from skops.io.exceptions import UntrustedTypesFoundException

from votron import (
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    TableEncoder,
    WinnowClassifier,
    save,
    tabular_encoder,
)
from votron.errors import ModelFileError
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel

DOCUMENTED = ("votron.", "numpy.dtype", "scipy.sparse._csr.csr_matrix")
"""What names of types in files of Votron's estimators begin with."""
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), np.array(["a", "b", "c"])[np.arange(60) % 3]
BITS, GRAM = (X > 0).astype(int), (X @ X.T + 1) ** 2
TEXTS = pd.DataFrame({"body": ["rain and wind", "sun", "more rain"] * 20, "size": X[:, 0]})
FRAME = pd.DataFrame(
    {"city": ["Rome", "Oslo", None] * 20, "income": X[:, 0], "member": [True, False] * 30, "zip": [1, 2, 3] * 20,
     "rain": np.linspace(0, 1, 60)}
)  # fmt: skip


def voted(**parameters):
    return paper_perceptron(epochs=3, random_state=0, **parameters)


MODELS = {
    "voted": (voted(), X, y),
    "two classes": (voted(rule="average"), X, y == "a"),
    "sparse": (voted(), sp.csr_matrix(np.abs(X)), y),
    "linear": (voted(kernel="linear", rule="last"), X, y),
    "holdout, rbf": (voted(kernel="rbf", normalize_kernel=True, rule="holdout"), X, y),
    "composed": (voted(kernel=PolynomialKernel(4).of(NormalizedKernel(LinearKernel())), rule="pocket"), X, y),
    "conjunctions": (voted(kernel="conjunction", rule="random"), BITS, y),
    "precomputed": (voted(kernel="precomputed"), GRAM, y),
    "averaged": (paper_averaged(random_state=0), X, y),
    "winnow": (WinnowClassifier(complement=True, random_state=0), BITS, y),
    "naive Bayes": (NaiveBayesLinearClassifier(), X, y),
    "adatron": (KernelAdatronClassifier(C=1.0), X, y),
    "table": (
        make_pipeline(
            tabular_encoder(FRAME, numeric="standard", discrete=["zip"], probabilities=["rain"]),
            SimpleImputer(),
            paper_averaged(random_state=0),
        ),
        FRAME,
        y,
    ),
    "words hashed": (make_pipeline(TableEncoder(text=["body"]), WinnowClassifier(binarize=0.0)), TEXTS, y),
    "words weighted": (
        make_pipeline(
            TableEncoder(text=["body"], text_features="tfidf", missing="mean"),
            paper_averaged(random_state=0),
        ),
        TEXTS,
        y,
    ),
}


def fitted(name):
    model, rows, labels = MODELS[name]
    return model.fit(rows, labels), rows, labels


def there_and_back(model):
    """The model from a file, and the types that it took to open it."""
    content = skops.io.dumps(model)
    needed = skops.io.get_untrusted_types(data=content)
    return skops.io.loads(content, trusted=needed), needed


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_same(name, compact):
    model, rows, _ = fitted(name)
    if compact:
        if isinstance(model, Pipeline):
            model = make_pipeline(*[step for _, step in model.steps[:-1]], model[-1].compact())
        else:
            model = model.compact()
    again, needed = there_and_back(model)
    assert all(name.startswith(DOCUMENTED) for name in needed)
    assert type(again) is type(model)
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


def test_nothing_opens_without_trust():
    content = skops.io.dumps(fitted("voted")[0])
    with pytest.raises(UntrustedTypesFoundException, match=r"votron\.estimators\.voted\.VotedPerceptronClassifier"):
        skops.io.loads(content)


def test_a_pipeline_that_no_model_file_holds_is_saved_by_skops(tmp_path):
    model = make_pipeline(PolynomialFeatures(2), paper_averaged(random_state=0)).fit(X, y)
    with pytest.raises(
        ModelFileError, match=r"type PolynomialFeatures cannot be saved in a model file; skops\.io saves"
    ):
        save(model, tmp_path / "m.votron")
    again, needed = there_and_back(model)
    assert all(name.startswith(DOCUMENTED) for name in needed)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_what_comes_back_is_a_whole_model():
    model, _, _ = fitted("voted")
    again, _ = there_and_back(model)
    assert again.record_.equals(model.record_)
    assert again.get_params() == model.get_params()
    for rule in ("average", "last", "random", "pocket"):
        assert np.array_equal(again.with_rule(rule).decision_function(X), model.with_rule(rule).decision_function(X))
    for (at, scores), (also_at, expected) in zip(
        again.staged_decision_function(X), model.staged_decision_function(X), strict=True
    ):
        assert at == also_at
        assert all(np.array_equal(scores[rule], expected[rule]) for rule in expected)


@pytest.mark.parametrize("name", ["averaged", "winnow", "naive Bayes", "voted"])
def test_training_goes_on(name):
    model, rows, labels = MODELS[name]
    if name == "voted":
        model = voted(gamma=0.5)
    model.fit(rows[:40], labels[:40])
    again, _ = there_and_back(model)
    for each in (model, again):
        each.partial_fit(rows[40:], labels[40:])
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))


def test_sparsified_weights():
    model = paper_averaged(random_state=0).fit(X, y).sparsify()
    again, needed = there_and_back(model)
    assert all(name.startswith(DOCUMENTED) for name in needed)
    assert sp.issparse(again.coef_)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
