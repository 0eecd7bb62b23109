"""What is written down of each fitted classifier, and how it is built again.

Each class has a function that returns its state, as `votron.saving.fields.packed` takes it, and one that builds it from
checked fields. What follows from the rest is not written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from votron._resources import available_memory
from votron.engine import PrimalTrainer, WinnowTrainer
from votron.errors import ModelFileError, VotronError
from votron.estimators._forms import Expansion, Form, Linear, Sequence
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import _FIXED as BAYES_FIXED
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.winnow import _FIXED as WINNOW_FIXED
from votron.estimators.winnow import WinnowClassifier
from votron.kernels import Kernel
from votron.kernels.registry import is_precomputed
from votron.products import Floats, Index, Rows
from votron.rules import RULES, HoldoutCurve, Vectors
from votron.saving.fields import LARGEST, Fields
from votron.saving.values import (
    kernel_from,
    kernel_state,
    labels_from,
    labels_state,
    params_from,
    params_state,
    record_from,
    record_state,
)

State = dict[str, Any]
WIDEST = 1 << 26
"""Features that sparse vectors in a file may have: predicting takes some bytes for each, whatever the file has."""
_MOST_THREADS = 4096
_LARGEST_SUM = 1e300
_LEAST_LOG = -1e4
"""What no logarithm of a probability is below: the least positive float64 has -745."""

# -- what all have ----------------------------------------------------------------------------------------------------


def state_of(model: Any) -> State:
    """Return the state of a fitted classifier."""
    name = type(model).__name__
    if name not in CLASSES or type(model) is not CLASSES[name][0]:
        raise ModelFileError(
            "A model file holds a fitted classifier of Votron, or a Pipeline that ends in one. Got an object of type "
            f"{name} instead."
        )
    check_is_fitted(model)
    model._validate_params()
    names = model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None
    return {
        "class": name,
        "params": params_state(model),
        "classes": labels_state(model.classes_),
        "n_features": int(model.n_features_in_),
        "feature_names": names,
        **CLASSES[name][1](model),
    }


def model_from(fields: Fields) -> Any:
    """Return the classifier that was written down."""
    name = fields.text("class", CLASSES)
    cls, _, build = CLASSES[name]
    model = params_from(fields.part("params"), cls)
    n_jobs = getattr(model, "n_jobs", None)
    if n_jobs is not None and (type(n_jobs) is not int or not 0 < abs(n_jobs) <= _MOST_THREADS):
        raise fields.wrong("params.n_jobs", f"a number of threads, of at most {_MOST_THREADS:,}", n_jobs)
    model.classes_ = labels_from(fields.part("classes"))
    model.n_features_in_ = fields.count("n_features", 1, 2**48)
    if fields.has("feature_names"):
        model.feature_names_in_ = np.array(fields.texts("feature_names", model.n_features_in_), dtype=object)
    build(model, fields)
    fields.end()
    model._from_file = True
    return model


def _n_vectors(model: Any) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _support_rows(fields: Fields, kernel: Kernel, n_support: int, n_features: int) -> Rows:
    """Return support vectors that the kernel takes; of a precomputed one, the diagonal."""
    if is_precomputed(kernel):
        return fields.exactly("support_rows", "<f8", (n_support, 1))
    rows = fields.rows("support_rows", (n_support, n_features))
    _check_width(fields, rows)
    try:
        kernel.check(rows)
    except VotronError as error:
        raise ModelFileError(f"The support vectors of this file are not for its kernel: {error}") from None
    return rows


def _check_width(fields: Fields, rows: Rows) -> None:
    """Refuse sparse vectors of more features than a small file should be able to make whoever opens it count."""
    if (sp.issparse(rows) or not rows.shape[0]) and rows.shape[1] >= WIDEST:
        what = f"below {WIDEST:,} where vectors are sparse, or there are none"
        raise fields.wrong("n_features", what, f"{rows.shape[1]:,}")


def _check_room(n_vectors: int, n_support: int) -> None:
    """Refuse coefficients that no machine could have made this file with."""
    if (needed := 8 * n_vectors * n_support) > (free := available_memory()):
        raise ModelFileError(
            f"The coefficients of {n_support:,} support vectors and {n_vectors:,} classes take {needed / 1e9:.1f} GB, "
            f"and {free / 1e9:.1f} GB are free."
        )


# -- voted ------------------------------------------------------------------------------------------------------------


def _voted_state(model: VotedPerceptronClassifier) -> State:
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


_VOTED_FLAGS = {
    "converged": "converged_",
    "once": "_once",
    "mixed": "_mixed",
    "cut_off": "_cut_off",
    "gamma_from_data": "_gamma_from_data",
}


def _voted_from(model: VotedPerceptronClassifier, fields: Fields) -> None:
    model.kernel_ = kernel_from(fields.part("kernel"))
    model._n_named = fields.count("n_named")
    limit = min(model._n_named, model.n_features_in_) if is_precomputed(model.kernel_) else model._n_named
    record = record_from(fields.part("record"), _n_vectors(model), limit)
    rows = _support_rows(fields, model.kernel_, len(record.support), model.n_features_in_)
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


# -- averaged ---------------------------------------------------------------------------------------------------------


def _averaged_state(model: AveragedPerceptronClassifier) -> State:
    state = model._trainer.state()
    weights, timed = state["weights"], state["timed"]
    sparse = model._trainer.is_sparse
    return {
        "weights": weights.tocsr() if sparse else weights,
        "timed": timed.tocsr() if sparse else timed,
        "bias_weights": state["bias"][0],
        "bias_timed": state["bias"][1],
        "mistakes": state["mistakes"],
        "time": int(state["time"]),
        "with_bias": bool(model._trainer.bias),
        "n_epochs": float(model.n_epochs_),
        "converged": bool(model.converged_),
        "validation_scores": [float(score) for score in model.validation_scores_]
        if hasattr(model, "validation_scores_")
        else None,
        "n_seen": int(model._n_seen),
        "n_given": int(model._n_given),
        "once": bool(model._once),
        "cut_off": bool(model._cut_off),
    }


def _averaged_from(model: AveragedPerceptronClassifier, fields: Fields) -> None:
    n, d = _n_vectors(model), model.n_features_in_
    weights, timed = _float_rows(fields, "weights", (d, n)), _float_rows(fields, "timed", (d, n))
    bias = fields.exactly("bias_weights", "<f8", (n,)), fields.exactly("bias_timed", "<f8", (n,))
    if sp.issparse(weights) != sp.issparse(timed):
        raise fields.wrong("timed", "as sparse or dense as 'weights'", "the other")
    mistakes = _counts(fields, "mistakes", n)
    time, with_bias = fields.count("time"), fields.flag("with_bias")
    largest = max((float(abs(w).max()) for w in (weights, timed, *bias) if w.size), default=0.0)
    if largest * (time + 1.0) >= _LARGEST_SUM:
        raise fields.wrong("weights", f"small enough for sums below {_LARGEST_SUM:g}", f"{largest:g}")
    model._trainer = PrimalTrainer.resume(weights, timed, bias, mistakes, time, with_bias=with_bias)
    model.n_mistakes_ = model._trainer.n_mistakes
    model.n_epochs_, model.converged_ = fields.number("n_epochs", 0.0), fields.flag("converged")
    if fields.has("validation_scores"):
        model.validation_scores_ = _numbers(fields, "validation_scores")
    model._n_seen, model._n_given = fields.count("n_seen"), fields.count("n_given")
    model._once, model._cut_off = fields.flag("once"), fields.flag("cut_off")


def _float_rows(fields: Fields, name: str, shape: tuple[int, int]) -> Rows:
    rows = fields.rows(name, shape)
    if rows.dtype != np.float64:
        raise fields.wrong(name, "weights of type float64", rows.dtype)
    return rows


def _counts(fields: Fields, name: str, n: int) -> NDArray[np.int64]:
    found = fields.exactly(name, "<i8", (n,))
    if (found < 0).any():
        raise fields.wrong(name, "counts", "negative numbers")
    return found


def _numbers(fields: Fields, name: str) -> list[float]:
    found = fields.plain(name)
    if not (isinstance(found, list) and all(type(each) in (int, float) for each in found)):
        raise fields.wrong(name, "a list of numbers", found)
    return [float(each) for each in found]


# -- Winnow -----------------------------------------------------------------------------------------------------------


def _winnow_state(model: WinnowClassifier) -> State:
    trainer = model._trainer
    return {
        "weights": trainer.weights,
        "promotions": trainer.promotions,
        "demotions": trainer.demotions,
        "time": int(trainer.time),
        "fixed": dict(model._fixed),
        "n_epochs": float(model.n_epochs_),
        "converged": bool(model.converged_),
    }


def _winnow_from(model: WinnowClassifier, fields: Fields) -> None:
    fixed = params_from(fields.part("fixed"), WinnowClassifier)
    n, d = _n_vectors(model), model.n_features_in_
    trainer = WinnowTrainer(
        0,
        n,
        promotion=fixed.promotion,
        threshold=fixed.threshold if fixed.threshold is not None else d * (2 if fixed.complement else 1) / 2,
        eliminate=fixed.demotion == "eliminate",
        complement=bool(fixed.complement),
    )
    trainer.n_features = d
    trainer.weights = fields.exactly("weights", "<f8", (n, d * (2 if fixed.complement else 1)))
    if (trainer.weights < 0).any():
        raise fields.wrong("weights", "weights of at least 0", "negative numbers")
    trainer.promotions, trainer.demotions = _counts(fields, "promotions", n), _counts(fields, "demotions", n)
    trainer.time = fields.count("time")
    model._fixed = {name: getattr(fixed, name) for name in WINNOW_FIXED}
    model._keep(trainer, fields.number("n_epochs", 0.0), fields.flag("converged"))


# -- naive Bayes ------------------------------------------------------------------------------------------------------


def _bayes_state(model: NaiveBayesLinearClassifier) -> State:
    return {
        "feature_count": model.feature_count_,
        "class_count": model.class_count_,
        "feature_log_prob": model.feature_log_prob_,
        "class_log_prior": model.class_log_prior_,
        "fixed": dict(model._fixed),
    }


def _bayes_from(model: NaiveBayesLinearClassifier, fields: Fields) -> None:
    n, d = len(model.classes_), model.n_features_in_
    model.feature_count_ = fields.exactly("feature_count", "<f8", (n, d))
    model.class_count_ = fields.exactly("class_count", "<f8", (n,))
    model.feature_log_prob_ = fields.exactly("feature_log_prob", "<f8", (n, d))
    prior = fields.array("class_log_prior", "f", (n,), finite=False)  # a class without examples has log 0
    if not (((prior >= _LEAST_LOG) & (prior < np.inf)) | (prior == -np.inf)).all():
        raise fields.wrong("class_log_prior", "logarithms of probabilities", "others")
    with np.errstate(over="ignore"):
        probable = np.exp(model.feature_log_prob_) < 1
    if not (probable & (model.feature_log_prob_ >= _LEAST_LOG)).all():
        raise fields.wrong("feature_log_prob", "logarithms of probabilities below 1", "others")
    model.class_log_prior_ = prior
    fixed = params_from(fields.part("fixed"), NaiveBayesLinearClassifier)
    model._fixed = {name: getattr(fixed, name) for name in BAYES_FIXED}


# -- adatron ----------------------------------------------------------------------------------------------------------


def _adatron_state(model: KernelAdatronClassifier) -> State:
    return {
        **_expansion_state(model._expansion()),
        **{name: getattr(model, f"{name}_") for name in ("n_support", "norm", "margin", "best_margin")},
        "separable": [None if each is None else bool(each) for each in model.separable_],
        "converged": bool(model.converged_),
        "n_rows": int(model._n_rows),
        "gamma_from_data": bool(model._gamma_from_data),
    }


def _adatron_from(model: KernelAdatronClassifier, fields: Fields) -> None:
    n = _n_vectors(model)
    model._n_rows = fields.count("n_rows", 1)
    form = _expansion_from(fields, n, model.n_features_in_, model._n_rows)
    model.kernel_, model._support_rows = form.kernel, form.support_rows
    model.support_, model._dual_coef = form.support, form.coefficients
    model.support_vectors_ = form.support_rows[:, :0] if is_precomputed(form.kernel) else form.support_rows
    model.n_support_ = _counts(fields, "n_support", n)
    for name in ("norm", "margin", "best_margin"):
        setattr(model, f"{name}_", fields.array(name, "f", (n,), finite=name == "norm"))
    separable = fields.plain("separable")
    if not (
        isinstance(separable, list) and len(separable) == n and all(each in (True, False, None) for each in separable)
    ):
        raise fields.wrong("separable", "true, false or null for each vector", separable)
    model.separable_ = np.array(separable, dtype=object)
    model.converged_, model._gamma_from_data = fields.flag("converged"), fields.flag("gamma_from_data")


def _expansion_state(form: Expansion) -> State:
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


def _expansion_from(fields: Fields, n_vectors: int, n_features: int, n_named: int) -> Expansion:
    kernel = kernel_from(fields.part("kernel"))
    support: Index = fields.exactly("support", "<i8", (None,))
    limit = n_features if is_precomputed(kernel) else n_named
    if len(support) and not (support.min() >= 0 and support.max() < limit and len(np.unique(support)) == len(support)):
        raise fields.wrong("support", "numbers of training examples, each once", "others")
    rows = _support_rows(fields, kernel, len(support), n_features)
    _check_room(n_vectors, len(support))
    coefficients = _float_rows(fields, "dual_coef", (n_vectors, len(support)))
    return Expansion(kernel, rows, support, coefficients, _divisor(fields, n_vectors))


def _divisor(fields: Fields, n_vectors: int) -> Floats | None:
    """Return what scores are divided by, if anything."""
    if not fields.has("divisor"):
        return None
    divisor = fields.exactly("divisor", "<f8", (n_vectors,))
    if not (divisor >= np.finfo(np.float64).tiny).all():
        raise fields.wrong("divisor", "positive numbers", "others")
    return divisor


# -- compact ----------------------------------------------------------------------------------------------------------


def _compact_state(model: CompactClassifier) -> State:
    return {
        "made_from": model.made_from_,
        "rule": model.rule_,
        "gave_up": list(model.gave_up_),
        "ties_to_first": bool(model._ties_to_first),
        "form": model.form_,
        **_form_state(model._predictor),
    }


def _form_state(form: Form) -> State:
    if isinstance(form, Linear):
        cut = None if form.binarize is None else float(form.binarize)
        weights = {"coef": form.coef, "intercept": form.intercept, "divisor": form.divisor}
        return {**weights, "boolean": form.boolean, "binarize": cut}
    if isinstance(form, Expansion):
        return _expansion_state(form)
    left_out = ("score",) if form.normalized else ("score", "norm2")
    return {
        "kernel": kernel_state(form.kernel),
        "record": record_state(form.vectors.record, left_out),
        "support_rows": form.vectors.support_rows,
        "seed": int(form.vectors.seed),
        "by": form.rule,
        "normalized": form.normalized,
    }


def _compact_from(model: CompactClassifier, fields: Fields) -> None:
    model.made_from_, model.rule_ = fields.text("made_from"), fields.text("rule")
    model.gave_up_, model._ties_to_first = tuple(fields.texts("gave_up")), fields.flag("ties_to_first")
    readers: dict[str, Callable[[Any, Fields], Form]] = {
        "linear": _linear_from,
        "expansion": lambda model, fields: _expansion_from(fields, _n_vectors(model), model.n_features_in_, LARGEST),
        "sequence": _sequence_from,
    }
    model._set(readers[fields.text("form", readers)](model, fields))


def _linear_from(model: CompactClassifier, fields: Fields) -> Linear:
    coef = _float_rows(fields, "coef", (_n_vectors(model), model.n_features_in_))
    _check_width(fields, coef)
    intercept = fields.exactly("intercept", "<f8", (_n_vectors(model),))
    cut = fields.number("binarize") if fields.has("binarize") else None
    return Linear(coef, intercept, fields.flag("boolean"), cut, _divisor(fields, _n_vectors(model)))


def _sequence_from(model: CompactClassifier, fields: Fields) -> Sequence:
    kernel = kernel_from(fields.part("kernel"))
    limit = model.n_features_in_ if is_precomputed(kernel) else LARGEST - 1
    record = record_from(fields.part("record"), _n_vectors(model), limit)
    rows = _support_rows(fields, kernel, len(record.support), model.n_features_in_)
    vectors = Vectors(record, kernel, rows, fields.count("seed"))
    rules = [name for name, rule in RULES.items() if not rule.one_vector]
    return Sequence(vectors, fields.text("by", rules), fields.flag("normalized"))


CLASSES: dict[str, tuple[Any, Callable[[Any], State], Callable[[Any, Fields], None]]] = {
    "AveragedPerceptronClassifier": (AveragedPerceptronClassifier, _averaged_state, _averaged_from),
    "CompactClassifier": (CompactClassifier, _compact_state, _compact_from),
    "KernelAdatronClassifier": (KernelAdatronClassifier, _adatron_state, _adatron_from),
    "NaiveBayesLinearClassifier": (NaiveBayesLinearClassifier, _bayes_state, _bayes_from),
    "VotedPerceptronClassifier": (VotedPerceptronClassifier, _voted_state, _voted_from),
    "WinnowClassifier": (WinnowClassifier, _winnow_state, _winnow_from),
}
"""By name: the class, what is written down, and how it is built."""
