"""A kernel from outside the package, of public names only: it works wherever a kernel of Votron's does."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_iris

from votron import VotedPerceptronClassifier, VotedPerceptronClassifierCV, certify, load
from votron.estimators._training import resolved_gamma
from votron.kernels import Kernel, LinearKernel, make_kernel, register_kernel

X, y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)


@dataclass(frozen=True)
class RationalQuadratic(Kernel):
    """K(x, z) = 1 / (1 + gamma |x - z|²)."""

    gamma: float = 1.0
    name = "rational"
    words = "1 / (1 + gamma |x - z|²)"
    search = {"gamma": ["scale", 1.0]}  # noqa: RUF012  # as a user would write it
    needs_distance = True
    unit_length = True

    def formula(self, xz, xx, zz):
        return 1.0 / (1.0 + self.gamma * np.maximum(xx + zz - 2.0 * xz, 0.0))


@pytest.fixture
def registered():
    return register_kernel(RationalQuadratic)


def test_values(registered):
    distances = ((X[:20, None] - X[None, :20]) ** 2).sum(axis=2)
    np.testing.assert_allclose(make_kernel("rational", gamma=0.3)(X[:20]), 1 / (1 + 0.3 * distances), rtol=1e-12)
    assert (make_kernel("rational").diag(X) == 1).all()
    over = RationalQuadratic(0.5).of(LinearKernel())
    np.testing.assert_allclose(over(X[:20]), make_kernel("rational", gamma=0.5)(X[:20]), rtol=1e-12)


@pytest.mark.parametrize("rule", ["vote", "average", "last"])
def test_fit_predict_save_load(registered, rule, tmp_path):
    model = VotedPerceptronClassifier("rational", gamma=0.5, rule=rule, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    model.save(tmp_path / "rational.votron")
    again = load(tmp_path / "rational.votron")
    assert again.kernel_ == RationalQuadratic(0.5)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("memory_limit", [0, "1GB"])
def test_the_record_does_not_depend_on_how_it_is_made(registered, n_jobs, memory_limit):
    settings = {"gamma": 0.5, "margin": 0.2, "random_state": 0}
    plain = VotedPerceptronClassifier("rational", **settings, n_jobs=1).fit(X, y)
    other = VotedPerceptronClassifier("rational", **settings, n_jobs=n_jobs, memory_limit=memory_limit).fit(X, y)
    assert other.record_.digest() == plain.record_.digest()


@pytest.mark.slow
def test_a_file_does_not_make_it_known(registered, tmp_path):
    path = tmp_path / "rational.votron"
    VotedPerceptronClassifier("rational", gamma=0.5, random_state=0).fit(X, y).save(path)
    ask = f"import votron\ntry:\n    votron.load({str(path)!r})\nexcept votron.VotronError as e:\n    print(e)"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=60).stdout
    assert "its kernel must be one of 'linear', 'poly'" in said
    assert "Got 'rational' instead." in said


def test_search_and_certificate(registered):
    search = VotedPerceptronClassifierCV(["rational"], margins=[0.0], epochs=2, cv=3, random_state=0).fit(X, y)
    assert {1.0, resolved_gamma("scale", X)} <= set(search.cv_results_["param_gamma"])
    model = VotedPerceptronClassifier("rational", gamma=0.5, epochs=1, random_state=0).fit(X, y)
    assert certify(model, X, y).best().error < 1


def test_onnx(registered):
    from votron.export import to_onnx

    onnxruntime = pytest.importorskip("onnxruntime")
    model = VotedPerceptronClassifier("rational", gamma=0.5, rule="last", random_state=0).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels, scores = session.run(None, {"X": X.astype(np.float64)})
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert labels.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(("default", "parameter"), [(False, True), (2, 3), (1.0, 0.5), ("whole", "cut")])
def test_parameters_come_back_from_a_file_as_they_were(default, parameter, tmp_path):
    @dataclass(frozen=True)
    class Odd(Kernel):
        how: object = default
        name = "odd"

        def formula(self, xz, xx, zz):
            return (1.0 + xz) ** (self.how if type(self.how) is int else 2)

    register_kernel(Odd)
    model = VotedPerceptronClassifier(Odd(parameter), random_state=0).fit(X, y)
    model.save(tmp_path / "odd.votron")
    found = load(tmp_path / "odd.votron").kernel_
    assert found == Odd(parameter)
    assert type(found.how) is type(parameter)
