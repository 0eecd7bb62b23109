"""Classifiers with support vectors: the voted perceptron and the kernel adatron."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._resources import available_memory
from votron._types import Floats, Index, Rows
from votron.errors import ModelFileError, VotronError
from votron.estimators._score_functions import Expansion
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.rules import HoldoutCurve, Vectors
from votron.saving.classifiers.base import State, StoredClassifier, counts, float_rows, n_vectors, stored
from votron.saving.fields import Fields
from votron.saving.values import kernel_from, kernel_state, record_from, record_state

_WIDEST = 1 << 26
"""Features that sparse vectors in a file may have: predicting takes some bytes for each, whatever the file has."""
_VOTED_FLAGS = {
    "converged": "converged_",
    "once": "_once",
    "mixed": "_mixed",
    "cut_off": "_cut_off",
    "gamma_from_data": "_gamma_from_data",
}
"""Truth values of a voted perceptron, by their names in the file."""


@stored
class Voted(StoredClassifier):
    """The record of the voted perceptron, and its support vectors."""

    cls = VotedPerceptronClassifier

    def state(self, model: VotedPerceptronClassifier) -> State:
        """Return kernel, record, support vectors and held-out errors."""
        curve = model._vectors.holdout
        return {
            "kernel": kernel_state(model.kernel_),
            "record": record_state(model.record_),
            "support_rows": model._vectors.support_rows,
            "seed": int(model._vectors.seed),
            "holdout": None
            if curve is None
            else {"times": curve.times, "errors": curve.errors, "n_examples": int(curve.n_examples)},
            "n_epochs": float(model.n_epochs_),
            "n_named": int(model._n_named),
            **{key: bool(getattr(model, attribute)) for key, attribute in _VOTED_FLAGS.items()},
        }

    def build(self, model: VotedPerceptronClassifier, fields: Fields) -> None:
        """Set kernel, record, support vectors and held-out errors."""
        model.kernel_ = kernel_from(fields.part("kernel"))
        model._n_named = fields.count("n_named")
        limit = min(model._n_named, model.n_features_in_) if is_precomputed(model.kernel_) else model._n_named
        record = record_from(fields.part("record"), n_vectors(model), limit)
        rows = support_rows(fields, model.kernel_, len(record.support), model.n_features_in_)
        _check_room(record.n_vectors, len(record.support))
        model._keep(rows, record, fields.count("seed"))
        if fields.has("holdout"):
            model._vectors = Vectors(
                record, model.kernel_, rows, model._vectors.seed, _curve(fields.part("holdout"), record.n_steps)
            )
        model.n_epochs_ = fields.number("n_epochs", 0.0)
        for key, attribute in _VOTED_FLAGS.items():
            setattr(model, attribute, fields.flag(key))


def _curve(fields: Fields, n_steps: int) -> HoldoutCurve:
    times = fields.exactly("times", "<i8", (None,))
    errors = fields.exactly("errors", "<i8", times.shape)
    n_examples = fields.count("n_examples", 1)
    fields.end()
    falls = (times[1:] > times[:-1]).all() and (errors[1:] < errors[:-1]).all()
    inside = not len(times) or (times[0] >= 0 and times[-1] <= n_steps and errors[-1] >= 0 and errors[0] <= n_examples)
    if not (falls and inside):
        raise fields.wrong("", "times within training, at which held-out errors fell", "others")
    return HoldoutCurve(times, errors, n_examples)


@stored
class KernelAdatron(StoredClassifier):
    """The coefficients of the kernel adatron, and its support vectors."""

    cls = KernelAdatronClassifier

    def state(self, model: KernelAdatronClassifier) -> State:
        """Return kernel, support vectors, coefficients and margins."""
        return {
            **expansion_state(model._expansion()),
            **{name: getattr(model, f"{name}_") for name in ("n_support", "norm", "margin", "best_margin")},
            "separable": [None if each is None else bool(each) for each in model.separable_],
            "converged": bool(model.converged_),
            "n_rows": int(model._n_rows),
            "gamma_from_data": bool(model._gamma_from_data),
        }

    def build(self, model: KernelAdatronClassifier, fields: Fields) -> None:
        """Set kernel, support vectors, coefficients and margins."""
        n = n_vectors(model)
        model._n_rows = fields.count("n_rows", 1)
        form = expansion_from(fields, n, model.n_features_in_, model._n_rows)
        model.kernel_, model._support_rows = form.kernel, form.support_rows
        model.support_, model._dual_coef = form.support, form.coefficients
        model.support_vectors_ = form.support_rows[:, :0] if is_precomputed(form.kernel) else form.support_rows
        model.n_support_ = counts(fields, "n_support", n)
        for name in ("norm", "margin", "best_margin"):
            setattr(model, f"{name}_", fields.array(name, "f", (n,), finite=name == "norm"))
        separable = fields.plain("separable")
        listed = isinstance(separable, list) and len(separable) == n
        if not (listed and all(each in (True, False, None) for each in separable)):
            raise fields.wrong("separable", "true, false or null for each vector", separable)
        model.separable_ = np.array(separable, dtype=object)
        model.converged_, model._gamma_from_data = fields.flag("converged"), fields.flag("gamma_from_data")


# -- support vectors --------------------------------------------------------------------------------------------------


def support_rows(fields: Fields, kernel: Kernel, n_support: int, n_features: int) -> Rows:
    """Return support vectors that the kernel takes; of a precomputed one, the diagonal."""
    if is_precomputed(kernel):
        return fields.exactly("support_rows", "<f8", (n_support, 1))
    rows = fields.rows("support_rows", (n_support, n_features))
    check_width(fields, rows)
    try:
        kernel.check(rows)
    except VotronError as error:
        raise ModelFileError(f"The support vectors of this file are not for its kernel: {error}") from None
    return rows


def check_width(fields: Fields, rows: Rows) -> None:
    """Refuse sparse vectors of more features than a small file should be able to make whoever opens it count."""
    if (sp.issparse(rows) or not rows.shape[0]) and rows.shape[1] >= _WIDEST:
        what = f"below {_WIDEST:,} where vectors are sparse, or there are none"
        raise fields.wrong("n_features", what, f"{rows.shape[1]:,}")


def _check_room(n_vectors: int, n_support: int) -> None:
    """Refuse coefficients that no machine could have made this file with."""
    if (needed := 8 * n_vectors * n_support) > (free := available_memory()):
        raise ModelFileError(
            f"The coefficients of {n_support:,} support vectors and {n_vectors:,} classes take {needed / 1e9:.1f} GB, "
            f"and {free / 1e9:.1f} GB are free."
        )


# -- sums over support vectors ----------------------------------------------------------------------------------------


def expansion_state(form: Expansion) -> State:
    """Return kernel, support vectors and coefficients."""
    return {
        "kernel": kernel_state(form.kernel),
        "support": form.support,
        "support_rows": form.support_rows,
        "dual_coef": _thin(form.dual_coef),
        "divisor": form.divisor,
    }


def _thin(coefficients: Floats) -> Any:
    """Return coefficients as a CSR matrix where that takes less room: each class has its own support vectors."""
    few = np.count_nonzero(coefficients) < coefficients.size / 2
    return sp.csr_matrix(coefficients) if few else coefficients


def expansion_from(fields: Fields, n_vectors: int, n_features: int, n_named: int) -> Expansion:
    """Return kernel, support vectors and coefficients that were written down."""
    kernel = kernel_from(fields.part("kernel"))
    support: Index = fields.exactly("support", "<i8", (None,))
    limit = n_features if is_precomputed(kernel) else n_named
    if len(support) and not (support.min() >= 0 and support.max() < limit and len(np.unique(support)) == len(support)):
        raise fields.wrong("support", "numbers of training examples, each once", "others")
    rows = support_rows(fields, kernel, len(support), n_features)
    _check_room(n_vectors, len(support))
    coefficients = float_rows(fields, "dual_coef", (n_vectors, len(support)))
    return Expansion(kernel, rows, support, coefficients, divisor(fields, n_vectors))


def divisor(fields: Fields, n_vectors: int) -> Floats | None:
    """Return what scores are divided by, if anything."""
    if not fields.has("divisor"):
        return None
    found = fields.exactly("divisor", "<f8", (n_vectors,))
    if not (found >= np.finfo(np.float64).tiny).all():
        raise fields.wrong("divisor", "positive numbers", "others")
    return found
