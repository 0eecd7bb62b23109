"""Records, scores and weights that must stay what they are: small problems of every kind, with public names only.

Data are made of whole numbers, so that they are the same on every processor; real values are quotients of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    OnlinePerceptron,
    VotedPerceptronClassifier,
    WinnowClassifier,
)
from votron.kernels import ConjunctionKernel, GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel

RULES = ("vote", "average", "last", "random", "pocket")
N_ROWS, N_FEATURES = 240, 13
# Draws that numpy promises never to change.
_RNG = np.random.RandomState(1999)
LABELS = _RNG.randint(0, 3, N_ROWS)
BYTES = _RNG.randint(0, 200, (N_ROWS, N_FEATURES)).astype(np.uint8)
BYTES[np.arange(N_ROWS), LABELS] += 50  # the label shows, but not always
BITS = (BYTES > 120).astype(np.uint8)
SMALL = (BYTES // 40).astype(np.int8) - 2
REAL = BYTES / 255.0
THIN = REAL * (BYTES > 140)
TWO = np.where(LABELS == 0, "no", "yes")


def _gram(rows: Any) -> Any:
    return rows.astype(np.int64) @ rows.astype(np.int64).T  # whole numbers: exact


def _voted(kernel: Any, X: Any, y: Any = LABELS, **params: Any) -> VotedPerceptronClassifier:
    settings = {"gamma": 0.5, "epochs": 3, "margin": 0.0, "random_state": 7, **params}
    if kernel == "rbf":
        settings["coef0"] = 0.0
    return VotedPerceptronClassifier(kernel, **settings).fit(X, y)


def _in_batches() -> VotedPerceptronClassifier:
    model = VotedPerceptronClassifier("rbf", gamma=2.0, coef0=0.0, margin=0.0)
    for start in range(0, N_ROWS, 50):
        model.partial_fit(REAL[start : start + 50], LABELS[start : start + 50], classes=[0, 1, 2])
    return model


def _dots(A: Any, B: Any) -> Any:
    dots = np.asarray(A, dtype=np.int64) @ np.asarray(B, dtype=np.int64).T
    return (dots * dots).astype(np.float64)


def voted_models() -> Iterator[tuple[str, VotedPerceptronClassifier]]:
    """Yield a fitted model of every kind, with its name."""
    digits, targets = load_digits(return_X_y=True)
    unit_poly = PolynomialKernel(4).of(NormalizedKernel(LinearKernel()))
    nested = GaussianKernel(0.5).of(NormalizedKernel(PolynomialKernel(2, 0.01)))
    yield "digits, (1 + x.z)^4", _voted("poly", digits[:600], targets[:600], degree=4, gamma=1.0)
    yield "digits, to convergence", _voted("poly", digits[:600], targets[:600], degree=2, gamma=1.0, epochs=None)
    yield "polynomial, uint8", _voted("poly", BYTES, gamma=1.0)
    yield "polynomial, int8 with signs", _voted("poly", SMALL, degree=5, coef0=0.5)
    yield "polynomial, float64", _voted("poly", REAL, degree=3)
    yield "polynomial, float32", _voted("poly", REAL.astype(np.float32), degree=3)
    yield "polynomial, CSR of whole numbers", _voted("poly", sp.csr_matrix(SMALL), degree=2)
    yield "polynomial, CSR of float64", _voted("poly", sp.csr_matrix(THIN), degree=2)
    yield "polynomial, margin 0.5", _voted("poly", BYTES, gamma=1.0, margin=0.5)
    yield "polynomial, normalised", _voted("poly", BYTES, gamma=1.0, normalize_kernel=True)
    yield "polynomial, two classes, half a pass", _voted("poly", BYTES, TWO, gamma=1.0, epochs=0.5)
    yield "polynomial, not shuffled", _voted("poly", BYTES, gamma=1.0, shuffle=False)
    yield "polynomial, rows held out", _voted("poly", BYTES, gamma=1.0, rule="holdout", validation_fraction=0.2)
    yield "Gaussian, uint8", _voted("rbf", BYTES, gamma=1e-4)
    yield "Gaussian, float64", _voted("rbf", REAL, gamma=2.0)
    yield "Gaussian, float32", _voted("rbf", REAL.astype(np.float32), gamma=2.0)
    yield "Gaussian, CSR of float64", _voted("rbf", sp.csr_matrix(THIN), gamma=2.0)
    yield "Gaussian, margin 2, two classes", _voted("rbf", REAL, TWO, gamma=2.0, margin=2.0)
    yield "Gaussian, in batches", _in_batches()
    yield "linear, uint8", _voted("linear", BYTES)
    yield "linear, CSR of whole numbers", _voted("linear", sp.csr_matrix(SMALL))
    yield "linear, float64", _voted("linear", REAL)
    yield "linear, margin 0.1, float64", _voted("linear", REAL, margin=0.1)
    yield "conjunction", _voted("conjunction", BITS)
    yield "conjunction, CSR", _voted(ConjunctionKernel(), sp.csr_matrix(BITS), TWO)
    yield "polynomial of the normalised linear, uint8", _voted(unit_poly, BYTES)
    yield "polynomial of the normalised linear, float64, margin 0.2", _voted(unit_poly, REAL, margin=0.2)
    yield "Gaussian of the normalised polynomial", _voted(nested, SMALL)
    yield "polynomial of the Gaussian", _voted(PolynomialKernel(2, 0.5, 0.0).of(GaussianKernel(2.0)), REAL)
    yield "precomputed, whole numbers", _voted("precomputed", _gram(BYTES))
    yield "precomputed, float64, normalised", _voted("precomputed", _gram(BYTES) / 7.0, normalize_kernel=True)
    yield "a function", _voted(_dots, SMALL)


def records() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield digest and counts of the record of each model."""
    for name, model in voted_models():
        record = model.record_
        counts = {"mistakes": len(record), "support": len(record.support), "steps": int(record.n_steps)}
        yield name, {"sha256": record.digest(), **counts}


def scores() -> Iterator[tuple[str, Any]]:
    """Yield scores of all rules, and weights of all linear classifiers; lists of numbers."""
    shown = {
        "polynomial, uint8": (_voted("poly", BYTES, gamma=1.0), BYTES),
        "Gaussian, float64": (_voted("rbf", REAL, gamma=2.0), REAL),
        "polynomial, CSR": (_voted("poly", sp.csr_matrix(THIN), TWO, degree=2, margin=0.1), sp.csr_matrix(THIN)),
        "linear, float64": (_voted("linear", REAL), REAL),
        "precomputed": (_voted("precomputed", _gram(BYTES)), _gram(BYTES)),
    }
    for name, (model, X) in shown.items():
        rules = [(rule, normalized) for rule in RULES for normalized in (False, True)]
        for epoch, by_rule in model.staged_decision_function(X[:4], at=[0.5, 1, 3], rules=rules):
            for (rule, normalized), values in by_rule.items():
                how = f"{rule}, normalised vectors" if normalized else rule
                yield f"{name}: {how}, epoch {epoch:g}", values.tolist()
        yield f"{name}: dual_coef", model.record_.dual_coef(average=True)[:, :4].tolist()
    held_out = _voted("poly", BYTES, gamma=1.0, rule="holdout", validation_fraction=0.2)
    yield "holdout: scores", held_out.decision_function(BYTES[:4]).tolist()
    for name, model in _linear_models():
        yield f"{name}: coef_", np.asarray(model.coef_).tolist()
        yield f"{name}: intercept_", np.asarray(model.intercept_).tolist()
    for name, C in (("adatron", None), ("soft adatron", 0.5)):
        X, y = (SMALL, TWO) if C else (SMALL[:40], TWO[:40])
        adatron = KernelAdatronClassifier("rbf", gamma=0.05, coef0=0.0, C=C, tol=1e-6).fit(X, y)
        yield f"{name}: scores", adatron.decision_function(SMALL[:6]).tolist()
    for name, kernel, rows in (("online", None, SMALL), ("online, Gaussian", GaussianKernel(2.0), REAL)):
        learner = OnlinePerceptron(kernel=kernel)
        mistakes = [learner.update(row, 1 if label == "yes" else -1) for row, label in zip(rows, TWO, strict=True)]
        yield f"{name}: mistakes", np.flatnonzero(mistakes).tolist()
        yield f"{name}: scores", [learner.decision(row) for row in rows[:4]]


def _averaged(**params: Any) -> AveragedPerceptronClassifier:
    return AveragedPerceptronClassifier(
        **{"epochs": 5, "margin": 0.0, "multiclass": "ovr", "random_state": 7, **params}
    )


def _linear_models() -> Iterator[tuple[str, Any]]:
    yield "averaged, whole numbers", _averaged().fit(SMALL, LABELS)
    yield "averaged, float64", _averaged().fit(REAL, LABELS)
    yield (
        "averaged, CSR, last vector",
        _averaged(average=False).fit(sp.csr_matrix(THIN), TWO),
    )
    stream = _averaged(fit_intercept=False)
    for start in range(0, N_ROWS, 50):
        stream.partial_fit(REAL[start : start + 50], LABELS[start : start + 50], classes=[0, 1, 2])
    yield "averaged, in batches", stream
    yield "averaged, margin", _averaged(margin=0.5).fit(REAL, LABELS)
    joint = _averaged(margin=0.1, multiclass="joint")
    yield "averaged, joint", joint.fit(sp.csr_matrix(REAL), LABELS)
    yield "Winnow", WinnowClassifier(complement=True, random_state=7).fit(BITS, LABELS)
    yield "naive Bayes", NaiveBayesLinearClassifier().fit(BITS, TWO)
