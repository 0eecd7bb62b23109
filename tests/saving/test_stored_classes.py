"""Classes in model files: each is one object, those of other packages too, and what is documented is what there is."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from forging import contents
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import votron
from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, load, save
from votron.errors import ModelFileError
from votron.kernels import Kernel, register_kernel
from votron.saving.classifiers import CLASSIFIERS
from votron.saving.models import SECTIONS
from votron.saving.steps import STEPS, StoredStep, stored
from votron.saving.steps.base import numbers_after

X = np.random.default_rng(0).normal(size=(30, 4))
y = (X[:, 0] > X[:, 1]).astype(int)


class Shift(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.least_ = X.min(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X - self.least_


@pytest.fixture
def shift_known():
    @stored
    class StoredShift(StoredStep):
        cls = Shift

        def state(self, step):
            return {"least": step.least_}

        def build(self, fields, depth):
            made = Shift()
            made.least_ = fields.exactly("least", "<f8", (None,))
            made.n_features_in_ = len(made.least_)
            return made

        def flow(self, step, before):
            return numbers_after(step, before, sparse=False)

    yield
    del STEPS["Shift"]


def test_a_step_from_outside_is_one_object(shift_known, tmp_path):
    model = make_pipeline(Shift(), AveragedPerceptronClassifier(random_state=0)).fit(X, y)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").decision_function(X), model.decision_function(X))
    words = make_pipeline(HashingVectorizer(n_features=4), *[step for _, step in model.steps])
    with pytest.raises(ModelFileError, match=r"^This model cannot be saved: The Shift takes no sparse matrices"):
        save(words, tmp_path / "words")
    with pytest.raises(ModelFileError, match=r"or one of OneHotEncoder, .*, Shift to be put into a file\."):
        save(make_pipeline(PolynomialFeatures(), model[-1]), tmp_path / "function")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_a_file_does_not_make_a_step_known(shift_known, tmp_path):
    path = tmp_path / "m"
    save(make_pipeline(Shift(), AveragedPerceptronClassifier()).fit(X, y), path)
    kind = STEPS.pop("Shift")
    try:
        with pytest.raises(ModelFileError, match=r"class' must be an encoder that Votron knows\. Got Shift instead\.$"):
            load(path)
    finally:
        STEPS["Shift"] = kind


def test_parameters_of_kernels_from_outside_keep_their_types(tmp_path):
    """Whether annotations are texts, as Votron's own are, or classes."""

    @register_kernel
    @dataclass(frozen=True)
    class Power(Kernel):
        degree: int = 2
        scale: float = 1.0
        name = "power"

        def formula(self, xz, xx, zz):
            return self.scale * xz**self.degree

    VotedPerceptronClassifier(Power(3, 2), random_state=0).fit(X, y).save(tmp_path / "m")
    kernel = load(tmp_path / "m").kernel_
    assert kernel == Power(3, 2.0)
    assert (type(kernel.degree), type(kernel.scale)) == (int, float)


def test_a_step_is_known_by_its_very_class(tmp_path):
    """One that is derived may do something else, which no file would hold."""

    class Other(HashingVectorizer):
        pass

    with pytest.raises(ModelFileError, match="Got an object of type Other instead"):
        save(make_pipeline(Other(), AveragedPerceptronClassifier()).fit(["a b", "c"], [0, 1]), tmp_path / "m")


def test_every_class_and_step_is_tried_by_the_forgers():
    """The fuzzer and the tests of hostile files see each of them."""

    def classes(value):
        if isinstance(value, dict):
            yield from [value["class"]] if "class" in value else []
            yield from (name for each in value.values() for name in classes(each))
        elif isinstance(value, list):
            yield from (name for each in value for name in classes(each))

    assert {name for content in contents().values() for name in classes(content)} == {*CLASSIFIERS, *STEPS}


def test_every_classifier_of_votron_can_be_stored():
    assert set(CLASSIFIERS) == {name for name in votron.__all__ if name.endswith("Classifier")}


def test_every_step_says_what_columns_hold():
    assert {kind.holds for kind in STEPS.values()} == {"number", "discrete", "truth", "text", "date"}


def test_sections_are_documented():
    page = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text(encoding="utf-8")
    table = page.partition("| section |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(SECTIONS)
