"""libsvm's own programs take the svmlight files that we write, and we read theirs; errors are near one another."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from paper import paper_perceptron
from requirements import requires
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import MinMaxScaler

from votron.data import Examples, read_examples, write_examples

PROGRAMS = ("svm-train", "svm-predict", "svm-scale", "svm-checkdata")
pytestmark = requires(all(map(shutil.which, PROGRAMS)), "Debian's package libsvm-tools")


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(path: Path, X, y=None) -> Path:
    write_examples(Examples(X, y, "npz", str(path)), path, format="svmlight")
    return path


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Training and test files of digits, values from 0 to 1, written by us."""
    X, y = load_digits(return_X_y=True)
    folder = tmp_path_factory.mktemp("digits")
    return written(folder / "train", X[:1200] / 16, y[:1200]), written(folder / "test", X[1200:] / 16, y[1200:])


# Options of svm-train, ours, and how far errors may be apart: 45 planes tell ten classes apart better than ten do.
KERNELS = {
    "poly": (["-t", 1, "-d", 4, "-g", 1, "-r", 1], {"kernel": "poly", "degree": 4, "gamma": 1.0, "coef0": 1.0}, 0.02),
    "rbf": (["-t", 2, "-g", 0.1, "-c", 10], {"kernel": "rbf", "gamma": 0.1}, 0.02),
    "linear": (["-t", 0], {"kernel": "linear"}, 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_files_through_both(digits, kernel, tmp_path):
    train, test = digits
    options, parameters, apart = KERNELS[kernel]
    run("svm-train", "-q", *options, train, tmp_path / "model")
    said = run("svm-predict", test, tmp_path / "model", tmp_path / "labels")
    examples, truth = read_examples(str(train)), read_examples(str(test), n_features=64)
    theirs = read_examples(str(tmp_path / "labels"), format="svmlight").y  # a label a line, and no features
    assert len(theirs) == len(truth) == 597
    assert set(theirs) <= set(range(10))
    right = int((theirs == truth.y).sum())
    found = re.fullmatch(r"Accuracy = ([\d.]+)% \((\d+)/(\d+)\) \(classification\)\n", said)
    assert (int(found[2]), int(found[3])) == (right, 597)
    assert float(found[1]) == pytest.approx(100 * right / 597, abs=1e-3)
    model = paper_perceptron(**parameters, rule="average", random_state=0).fit(examples.X, examples.y)
    ours = np.mean(model.predict(truth.X) != truth.y)
    assert abs(ours - (1 - right / 597)) < apart


def test_we_read_what_we_wrote_and_so_does_libsvm(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(5):
        X = rng.normal(size=(20, 30)) * (rng.random((20, 30)) < 0.2) * 10.0 ** rng.integers(-9, 9)
        X[:, -1] = 1.0
        y = rng.choice([[-1, 1], [0, 7], [3, 4]][i % 3], 20)
        path = written(tmp_path / f"{i}", sp.csr_matrix(X) if i % 2 else X, y)
        again = read_examples(str(path), format="svmlight")
        assert np.array_equal(sp.csr_matrix(again.X).toarray(), X)
        assert np.array_equal(again.y, y)
        assert "No error." in run(sys.executable, shutil.which("svm-checkdata"), path)
        run("svm-train", "-q", path, tmp_path / "model")
        assert run("svm-predict", path, tmp_path / "model", tmp_path / "labels").startswith("Accuracy = ")
        labels = (tmp_path / "labels").read_text().split()
        assert {int(label) for label in labels} <= set(y.tolist())


def test_we_read_what_svm_scale_writes(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    path = written(tmp_path / "raw", X, 2 * y - 1)
    (tmp_path / "scaled").write_text(run("svm-scale", "-l", 0, "-u", 1, path))
    scaled = read_examples(str(tmp_path / "scaled"), n_features=30)
    rows = scaled.X.toarray() if sp.issparse(scaled.X) else scaled.X
    assert np.abs(rows - MinMaxScaler().fit_transform(X)).max() < 1e-5  # it writes six digits
    assert np.array_equal(scaled.y, 2 * y - 1)
    run("svm-train", "-q", "-t", 0, tmp_path / "scaled", tmp_path / "model")
    said = run("svm-predict", tmp_path / "scaled", tmp_path / "model", tmp_path / "labels")
    theirs = read_examples(str(tmp_path / "labels"), format="svmlight").y
    assert f"({int((theirs == scaled.y).sum())}/569)" in said
