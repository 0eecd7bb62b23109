"""Errors that carry the parameter they are about."""

import copy
import pickle

import numpy as np
import pytest

import votron
from votron import VotedPerceptronClassifier
from votron.errors import DataError, MissingPackageError, VotronError
from votron.kernels import make_kernel
from votron.online import OnlinePerceptron
from votron.rules import RULES


@pytest.mark.parametrize("kind", [VotronError, DataError, MissingPackageError])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_are_copied_and_sent_whole(kind, again):
    found = again(kind("Say missing='drop'.", parameter="missing"))
    assert type(found) is kind
    assert str(found) == "Say missing='drop'."
    assert found.parameter == "missing"


X, Y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
REFUSED = {
    "format": lambda: votron.data.read_examples("a.csv", format="excel"),
    "batch_bytes": lambda: votron.data.open_batches("a.csv", batch_bytes=0),
    "degree": lambda: votron.kernels.PolynomialKernel(0),
    "memory_limit": lambda: votron.VotedPerceptronClassifier(memory_limit="much").fit(X, Y),
    "n_jobs": lambda: votron.VotedPerceptronClassifier(n_jobs=0).fit(X, Y),
    "binarize": lambda: votron.WinnowClassifier().fit(X, Y),
    "learning_rate": lambda: votron.OnlinePerceptron(learning_rate=-1),
    "delta": lambda: votron.certify(votron.VotedPerceptronClassifier(random_state=0).fit(X, Y), X, Y, delta=0),
    "margin": lambda: votron.theory.novikoff_bound(1.0, 0.0),
}


@pytest.mark.parametrize("parameter", REFUSED)
def test_errors_carry_their_parameter(parameter):

    with pytest.raises(VotronError) as caught:
        REFUSED[parameter]()
    assert caught.value.parameter == parameter


def test_what_a_file_lacks_names_the_parameter_that_would_help(tmp_path):
    (tmp_path / "a.csv").write_text("na_values,b\n1,\n2,x\n")
    with pytest.raises(DataError) as caught:
        votron.data.read_examples(tmp_path / "a.csv", label="na_values")
    assert caught.value.parameter == "missing"


@pytest.mark.parametrize(
    ("refused", "meant"),
    [
        (lambda: VotedPerceptronClassifier(kernel="polly").fit([[0.0], [1.0]], [0, 1]), "poly"),
        (lambda: VotedPerceptronClassifier(rule="votes").fit([[0.0], [1.0]], [0, 1]), "vote"),
        (lambda: make_kernel("lineer"), "linear"),
        (lambda: RULES["averages"], "average"),
        (lambda: OnlinePerceptron(kernel="polly"), "poly"),
    ],
)
def test_names_that_are_nearly_right_are_asked_about(refused, meant):
    with pytest.raises(ValueError, match=rf"instead\. Did you mean '{meant}'\?$"):
        refused()
