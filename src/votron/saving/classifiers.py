"""Classifiers in model files: one object for each class, which says what is written down and how it is built again.

Parameters, classes, and number and names of features are written down for all; what follows from the rest is not. A new
class needs one such object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Floats
from votron.engine import PrimalTrainer, WinnowTrainer
from votron.errors import ModelFileError
from votron.estimators._progressive import AVERAGE, LAST
from votron.estimators._score_functions import Expansion, Form, Linear, Sequence
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import _FIXED as BAYES_FIXED
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.winnow import _FIXED as WINNOW_FIXED
from votron.estimators.winnow import WinnowClassifier
from votron.history import Fingerprint, TrainingHistory
from votron.kernels.base import is_precomputed, kernel_class
from votron.rules import RULES, HoldoutCurve, Vectors
from votron.saving.fields import LARGEST, Fields
from votron.saving.values import (
    check_room,
    check_width,
    counts,
    divisor,
    expansion_from,
    expansion_state,
    float_rows,
    is_thin,
    kernel_from,
    kernel_state,
    labels_from,
    labels_state,
    params_from,
    params_state,
    record_from,
    record_state,
    support_rows,
)

__all__ = ["CLASSIFIERS", "StoredClassifier", "classifier_from", "classifier_state", "stored"]

State = dict[str, Any]
_MOST_THREADS = 4096
_LARGEST_SUM = 1e300
_LEAST_LOG = -1e4
"""What no logarithm of a probability is below: the least positive float64 has -745."""


class StoredClassifier(ABC):
    """How the classifiers of one class are stored; `stored` makes it known.

    Attributes
    ----------
    cls : type
        The class; its name stands in the file.
    unnamed : dict
        What parameters were that stand in no early file, where that is no longer their default.

    Examples
    --------
    >>> CLASSIFIERS["WinnowClassifier"].cls
    <class 'votron.estimators.winnow.WinnowClassifier'>
    """

    cls: Any
    unnamed: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def state(self, model: Any) -> State:
        """Return what is written down of a fitted model, as `votron.saving.fields.packed` takes it.

        Parameters, classes, and number and names of features are written down for all classes.
        """

    @abstractmethod
    def build(self, model: Any, fields: Fields) -> None:
        """Give a model, which has its parameters, classes and features, the rest of what it had."""


CLASSIFIERS: dict[str, StoredClassifier] = {}
"""How each class is stored, by its name."""


def stored(kind: type[StoredClassifier]) -> type[StoredClassifier]:
    """Make known how a class is stored: a decorator of classes derived from `StoredClassifier`.

    Examples
    --------
    >>> from votron.saving.classifiers import Winnow
    >>> stored(Winnow) is Winnow
    True
    """
    CLASSIFIERS[kind.cls.__name__] = kind()
    return kind


def classifier_state(model: Any) -> State:
    """Return what is written down of a fitted classifier.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> state = classifier_state(AveragedPerceptronClassifier().fit([[0, 1], [1, 0]], ["no", "yes"]))
    >>> state["class"], state["classes"], state["n_features"]
    ('AveragedPerceptronClassifier', {'dtype': '<U3', 'values': ['no', 'yes']}, 2)
    """
    name = type(model).__name__
    if name not in CLASSIFIERS or type(model) is not CLASSIFIERS[name].cls:
        hint = " Its best_estimator_ can be saved." if hasattr(model, "best_estimator_") else ""
        raise ModelFileError(
            "A model file holds a fitted classifier of Votron, or a Pipeline that ends in one. Got an object of type "
            f"{name} instead.{hint}"
        )
    check_is_fitted(model)
    model._validate_params()
    names = model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None
    without = ("class_weight",) if getattr(model, "class_weight", None) is None else ()  # as before there was one
    return {
        "class": name,
        "params": params_state(model, leave_out=without),
        "classes": labels_state(model.classes_),
        "n_features": int(model.n_features_in_),
        "feature_names": names,
        **({"history": _history_state(model.history_)} if hasattr(model, "history_") else {}),
        **CLASSIFIERS[name].state(model),
    }


def classifier_from(fields: Fields) -> Any:
    """Return the classifier that was written down.

    Examples
    --------
    >>> classifier_from(Fields({"class": "Forest"}, {}, "model"))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The field 'model.class' must be one of 'AveragedPerceptronClassifier',
    'CompactClassifier', 'KernelAdatronClassifier', 'NaiveBayesLinearClassifier', 'VotedPerceptronClassifier',
    'WinnowClassifier'. Got Forest instead.
    """
    kind = CLASSIFIERS[fields.text("class", sorted(CLASSIFIERS))]
    model = params_from(fields.part("params"), kind.cls, unnamed=kind.unnamed)
    n_jobs = getattr(model, "n_jobs", None)
    if n_jobs is not None and (type(n_jobs) is not int or not 0 < abs(n_jobs) <= _MOST_THREADS):
        raise fields.wrong("params.n_jobs", f"a number of threads, of at most {_MOST_THREADS:,}", n_jobs)
    model.classes_ = labels_from(fields.part("classes"))
    model.n_features_in_ = fields.count("n_features", 1, 2**48)
    if fields.has("feature_names"):
        model.feature_names_in_ = np.array(fields.texts("feature_names", model.n_features_in_), dtype=object)
    if kind.cls is not CompactClassifier:
        model.history_ = history_from(fields.part("history"))
    kind.build(model, fields)
    fields.end()
    return model


def _history_state(history: TrainingHistory) -> State:
    return {name: value for name, value in asdict(history).items() if name != "from_file"}


def history_from(fields: Fields) -> TrainingHistory:
    """Return the history that was written down, now as the word of a file."""
    fingerprint = _fingerprint_from(fields.part("fingerprint")) if fields.has("fingerprint") else None
    found = TrainingHistory(
        fingerprint=fingerprint,
        n_epochs=fields.number("n_epochs", 0.0),
        converged=fields.flag("converged") if fields.has("converged") else None,
        seed=int(fields.number("seed")) if fields.has("seed") else None,
        gamma_from=fields.text("gamma_from", ["scale", "auto"]) if fields.has("gamma_from") else None,
        chosen_rule=fields.text("chosen_rule", list(RULES)) if fields.has("chosen_rule") else None,
        end_chosen_by=fields.text("end_chosen_by", _ENDS) if fields.has("end_chosen_by") else None,
        from_file=True,
        rows_repeated=fields.flag("rows_repeated"),
        shuffled=fields.flag("shuffled"),
        weighted=fields.flag("weighted"),
        interrupted=fields.flag("interrupted"),
        **{name: fields.count(name) for name in _COUNTS},
    )
    fields.end()
    return found


_COUNTS = ("n_rows", "n_zero_weight", "n_unlearnable", "n_numbered", "n_batches", "n_held_out", "n_settings")
_ENDS = ("early_stopping", "with_best_moment")


def _fingerprint_from(fields: Fields) -> Fingerprint:
    sums = fields.listed("sums", "two numbers", lambda each: type(each) in (int, float))
    if len(sums) != 2:
        raise fields.wrong("sums", "two numbers", sums)
    found = Fingerprint(
        n_rows=fields.count("n_rows"),
        n_features=fields.count("n_features"),
        labels=fields.count("labels", 0, 2**64),
        sums=tuple(map(float, sums)),
        scale=fields.number("scale", 0.0),
        precision=fields.number("precision", 0.0),
    )
    fields.end()
    return found


def names_state(model: Any) -> State | None:
    """Return what the training rows are called that the model keeps; None where they have no names."""
    kept = set(model.support_.tolist()) if hasattr(model, "support_") else set()
    named = {row: name for row, name in sorted(getattr(model, "row_names_", {}).items()) if row in kept}
    return {"rows": np.array(list(named), dtype=np.int64), "names": list(named.values())} if named else None


def set_names(model: Any, fields: Fields) -> None:
    """Give a model the names of its rows."""
    rows = fields.exactly("rows", "<i8", (None,))
    names = fields.texts("names", len(rows))
    fields.end()
    if not (hasattr(model, "support_") and (rows[1:] > rows[:-1]).all() and np.isin(rows, model.support_).all()):
        raise fields.wrong("rows", "rows that the model keeps, in rising order", "others")
    model.row_names_ = dict(zip(rows.tolist(), names, strict=True))


def n_vectors(model: Any) -> int:
    """Return how many vectors a model has: one for two classes."""
    return 1 if len(model.classes_) == 2 else len(model.classes_)


# -- with support vectors ---------------------------------------------------------------------------------------------


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
            **_validation_state(model),
            **_slopes_state(model, lambda key: {"by": key}),
        }

    def build(self, model: VotedPerceptronClassifier, fields: Fields) -> None:
        """Set kernel, record, support vectors and held-out errors."""
        model.kernel_ = kernel_from(fields.part("kernel"))
        _take_constant(model)
        named = model.history_.n_numbered
        limit = min(named, model.n_features_in_) if is_precomputed(model.kernel_) else named
        record = record_from(fields.part("record"), n_vectors(model), limit)
        rows = support_rows(fields, model.kernel_, len(record.support), model.n_features_in_)
        check_room(record.n_vectors, len(record.support))
        model._keep(rows, record, fields.count("seed"))
        if fields.has("holdout"):
            model._vectors = Vectors(
                record, model.kernel_, rows, model._vectors.seed, _curve(fields.part("holdout"), record.n_steps)
            )
        model.n_epochs_, model.converged_ = model.history_.n_epochs, bool(model.history_.converged)
        _set_validation(model, fields)
        model._slopes = _slopes_from(fields, lambda part: part.text("by"))


def _slopes_state(model: Any, naming: Callable[[Any], State]) -> State:
    """Return the slopes for probabilities, if there are any, each with what it belongs to."""
    slopes = model._all_slopes()
    return {"slopes": [{**naming(key), "slope": float(slope)} for key, slope in slopes.items()]} if slopes else {}


def _slopes_from(fields: Fields, name_of: Callable[[Fields], Any]) -> dict[Any, float]:
    """Return the slopes for probabilities, if there are any."""
    found = {}
    for part in fields.parts("slopes") if fields.has("slopes") else []:
        key, slope = name_of(part), part.number("slope", 0.0)
        if slope == 0:
            raise part.wrong("slope", "a number above 0", slope)
        found[key] = slope
        part.end()
    return found


def _validation_state(model: VotedPerceptronClassifier) -> State:
    """Return the accuracies on held-out rows, if there are any."""
    if not hasattr(model, "validation_scores_"):
        return {}
    moments, scores = np.array(model.validation_moments_), np.array(model.validation_scores_)
    return {"validation": {"moments": moments, "scores": scores}}


def _set_validation(model: VotedPerceptronClassifier, fields: Fields) -> None:
    """Set the accuracies on held-out rows, if there are any."""
    if fields.has("validation"):
        part = fields.part("validation")
        moments = part.exactly("moments", "<f8", (None,))
        scores = part.exactly("scores", "<f8", moments.shape)
        part.end()
        if not ((moments[1:] > moments[:-1]).all() and ((scores >= 0) & (scores <= 1)).all()):
            raise fields.wrong("validation", "rising moments, and accuracies from 0 to 1", "others")
        model.validation_moments_, model.validation_scores_ = moments.tolist(), scores.tolist()


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
        }

    def build(self, model: KernelAdatronClassifier, fields: Fields) -> None:
        """Set kernel, support vectors, coefficients and margins."""
        n = n_vectors(model)
        form = expansion_from(fields, n, model.n_features_in_, model.history_.n_rows)
        model.kernel_, model._support_rows = form.kernel, form.support_rows
        _take_constant(model)
        model.support_, model._dual_coef = form.support, form.coefficients
        model.support_vectors_ = form.support_rows[:, :0] if is_precomputed(form.kernel) else form.support_rows
        model.n_support_ = counts(fields, "n_support", n)
        for name in ("norm", "margin", "best_margin"):
            setattr(model, f"{name}_", fields.array(name, "f", (n,), finite=name == "norm"))
        what = "true, false or null for each vector"
        separable = fields.listed("separable", what, lambda each: each in (True, False, None))
        if len(separable) != n:
            raise fields.wrong("separable", what, separable)
        model.separable_ = np.array(separable, dtype=object)
        model.converged_ = bool(model.history_.converged)


# -- with a weight for each feature -----------------------------------------------------------------------------------


@stored
class Averaged(StoredClassifier):
    """The sums of the averaged perceptron, with which it can learn on."""

    cls = AveragedPerceptronClassifier
    unnamed: ClassVar[dict[str, Any]] = {"margin": 0.0, "multiclass": "ovr"}

    def state(self, model: AveragedPerceptronClassifier) -> State:
        """Return the trainer's sums and counts."""
        state = model._trainer.state()
        weights, timed = state["weights"], state["timed"]
        sparse = model._trainer.is_sparse
        thin = model._trainer.thin or (not sparse and is_thin(weights, timed))
        return {
            "weights": sp.csr_matrix(weights) if sparse or thin else weights,
            "timed": sp.csr_matrix(timed) if sparse or thin else timed,
            **({"thin": True} if thin else {}),
            "bias_weights": state["bias"][0],
            "bias_timed": state["bias"][1],
            "mistakes": state["mistakes"],
            "time": int(state["time"]),
            "with_bias": bool(model._trainer.bias),
            **_trained_margin(model._trainer),
            "trained_jointly": bool(model._trainer.joint),
            "validation_scores": [float(score) for score in model.validation_scores_]
            if hasattr(model, "validation_scores_")
            else None,
            **({"largest_weight": float(state["largest_weight"])} if state["largest_weight"] else {}),
            **_slopes_state(model, lambda key: {"by": key}),
        }

    def build(self, model: AveragedPerceptronClassifier, fields: Fields) -> None:
        """Resume the trainer."""
        n, d = n_vectors(model), model.n_features_in_
        weights, timed = float_rows(fields, "weights", (d, n)), float_rows(fields, "timed", (d, n))
        bias = fields.exactly("bias_weights", "<f8", (n,)), fields.exactly("bias_timed", "<f8", (n,))
        if sp.issparse(weights) != sp.issparse(timed):
            raise fields.wrong("timed", "as sparse or dense as 'weights'", "the other")
        thin = fields.flag("thin") if fields.has("thin") else False
        if thin:
            check_room(n, d, "weights of {:,} features", each=2)
        mistakes = counts(fields, "mistakes", n)
        time, with_bias = fields.count("time"), fields.flag("with_bias")
        largest = max((float(abs(w).max()) for w in (weights, timed, *bias) if w.size), default=0.0)
        if largest * (time + 1.0) >= _LARGEST_SUM:
            raise fields.wrong("weights", f"small enough for sums below {_LARGEST_SUM:g}", f"{largest:g}")
        # files of before there were margins, or weights of rows, lack these
        joint = fields.flag("trained_jointly") if fields.has("trained_jointly") else False
        largest_weight = fields.number("largest_weight", 0.0) if fields.has("largest_weight") else 0.0
        model._trainer = PrimalTrainer.resume(
            *(weights, timed, bias, mistakes, time),
            with_bias=with_bias,
            margin=_margin_from(fields, max(2, n)),
            joint=joint,
            largest_weight=largest_weight,
            thin=thin,
        )
        model.n_mistakes_ = model._trainer.n_mistakes
        model.n_epochs_, model.converged_ = model.history_.n_epochs, bool(model.history_.converged)
        if fields.has("validation_scores"):
            scores = fields.listed("validation_scores", "a list of numbers", lambda each: type(each) in (int, float))
            model.validation_scores_ = [float(each) for each in scores]
        model._slopes = _slopes_from(fields, lambda part: part.text("by", (AVERAGE, LAST)))


def _trained_margin(trainer: PrimalTrainer) -> State:
    """Return the margin of training: a number, or one for each code."""
    if np.ndim(trainer.margin):
        return {"trained_margins": trainer.margin}
    return {"trained_margin": float(trainer.margin)}


def _margin_from(fields: Fields, n_codes: int) -> float | Floats:
    """Return the margin of training, which was none before there were margins."""
    if not fields.has("trained_margins"):
        return fields.number("trained_margin", 0.0) if fields.has("trained_margin") else 0.0
    margins = fields.exactly("trained_margins", "<f8", (n_codes,))
    if (margins < 0).any():
        raise fields.wrong("trained_margins", "margins of at least 0", "negative numbers")
    return margins


@stored
class Winnow(StoredClassifier):
    """The weights of Winnow, and the parameters that are fixed since its first example."""

    cls = WinnowClassifier

    def state(self, model: WinnowClassifier) -> State:
        """Return the trainer's weights and counts."""
        trainer = model._trainer
        return {
            "weights": trainer.weights,
            "promotions": trainer.promotions,
            "demotions": trainer.demotions,
            "time": int(trainer.time),
            "fixed": dict(model._fixed),
        }

    def build(self, model: WinnowClassifier, fields: Fields) -> None:
        """Resume the trainer."""
        fixed = params_from(fields.part("fixed"), WinnowClassifier)
        n, d = n_vectors(model), model.n_features_in_
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
        trainer.promotions, trainer.demotions = counts(fields, "promotions", n), counts(fields, "demotions", n)
        trainer.time = fields.count("time")
        model._fixed = {name: getattr(fixed, name) for name in WINNOW_FIXED}
        model._keep(trainer, model.history_.n_epochs, bool(model.history_.converged))


@stored
class NaiveBayes(StoredClassifier):
    """The counts and logarithms of naive Bayes."""

    cls = NaiveBayesLinearClassifier

    def state(self, model: NaiveBayesLinearClassifier) -> State:
        """Return counts, and the logarithms that were made of them."""
        return {
            "feature_count": model.feature_count_,
            "class_count": model.class_count_,
            "feature_log_prob": model.feature_log_prob_,
            "class_log_prior": model.class_log_prior_,
            "fixed": dict(model._fixed),
        }

    def build(self, model: NaiveBayesLinearClassifier, fields: Fields) -> None:
        """Set counts and logarithms."""
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


# -- compact ones, in each of the forms that they can have ------------------------------------------------------------


@stored
class Compact(StoredClassifier):
    """What a compact classifier predicts with, and what it gave up."""

    cls = CompactClassifier

    def state(self, model: CompactClassifier) -> State:
        """Return what it was made from, and its form."""
        return {
            "made_from": model.made_from_,
            "rule": model.rule_,
            "gave_up": list(model.gave_up_),
            "ties_to_first": bool(model._ties_to_first),
            "form": model.form_,
            **_form_state(model._predictor),
            **_slopes_state(model, lambda key: {}),
        }

    def build(self, model: CompactClassifier, fields: Fields) -> None:
        """Set what it was made from, and its form."""
        model.made_from_, model.rule_ = fields.text("made_from"), fields.text("rule")
        model.gave_up_, model._ties_to_first = tuple(fields.texts("gave_up")), fields.flag("ties_to_first")
        model._set(_FORMS[fields.text("form", _FORMS)](model, fields))
        model._slopes = _slopes_from(fields, lambda part: model.form_)


def _form_state(form: Form) -> State:
    if isinstance(form, Linear):
        cut = None if form.binarize is None else float(form.binarize)
        weights = {"coef": form.coef, "intercept": form.intercept, "divisor": form.divisor}
        return {**weights, "boolean": form.boolean, "binarize": cut}
    if isinstance(form, Expansion):
        return expansion_state(form)
    left_out = ("score",) if form.normalized else ("score", "norm2")
    return {
        "kernel": kernel_state(form.kernel),
        "record": record_state(form.vectors.record, left_out),
        "support_rows": form.vectors.support_rows,
        "seed": int(form.vectors.seed),
        "by": form.rule,
        "normalized": form.normalized,
    }


def _linear_from(model: CompactClassifier, fields: Fields) -> Linear:
    coef = float_rows(fields, "coef", (n_vectors(model), model.n_features_in_))
    check_width(fields, coef)
    intercept = fields.exactly("intercept", "<f8", (n_vectors(model),))
    cut = fields.number("binarize") if fields.has("binarize") else None
    return Linear(coef, intercept, fields.flag("boolean"), cut, divisor(fields, n_vectors(model)))


def _expansion_from(model: CompactClassifier, fields: Fields) -> Expansion:
    return expansion_from(fields, n_vectors(model), model.n_features_in_, LARGEST)


def _sequence_from(model: CompactClassifier, fields: Fields) -> Sequence:
    kernel = kernel_from(fields.part("kernel"))
    limit = model.n_features_in_ if is_precomputed(kernel) else LARGEST - 1
    record = record_from(fields.part("record"), n_vectors(model), limit)
    rows = support_rows(fields, kernel, len(record.support), model.n_features_in_)
    vectors = Vectors(record, kernel, rows, fields.count("seed"))
    rules = [name for name, rule in RULES.items() if not rule.one_vector]
    return Sequence(vectors, fields.text("by", rules), fields.flag("normalized"))


def _take_constant(model: Any) -> None:
    """Take coef0 from the kernel, where that has one: that of Gaussian kernels in early files was 0, and not read."""
    if kernel_class(model.kernel) is not None and hasattr(innermost := model.kernel_.innermost, "coef0"):
        model.coef0 = innermost.coef0


_FORMS: dict[str, Callable[[CompactClassifier, Fields], Form]] = {
    "linear": _linear_from,
    "expansion": _expansion_from,
    "sequence": _sequence_from,
}
"""How each form is read, by its name."""
