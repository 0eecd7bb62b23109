"""Classifiers with a weight for each feature: the averaged perceptron, Winnow and naive Bayes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from votron.engine import PrimalTrainer, WinnowTrainer
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.naive_bayes import _FIXED as BAYES_FIXED
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.winnow import _FIXED as WINNOW_FIXED
from votron.estimators.winnow import WinnowClassifier
from votron.saving.classifiers.base import State, StoredClassifier, counts, float_rows, n_vectors, stored
from votron.saving.fields import Fields
from votron.saving.values import params_from

_LARGEST_SUM = 1e300
_LEAST_LOG = -1e4
"""What no logarithm of a probability is below: the least positive float64 has -745."""


@stored
class Averaged(StoredClassifier):
    """The sums of the averaged perceptron, with which it can learn on."""

    cls = AveragedPerceptronClassifier

    def state(self, model: AveragedPerceptronClassifier) -> State:
        """Return the trainer's sums and counts."""
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

    def build(self, model: AveragedPerceptronClassifier, fields: Fields) -> None:
        """Resume the trainer."""
        n, d = n_vectors(model), model.n_features_in_
        weights, timed = float_rows(fields, "weights", (d, n)), float_rows(fields, "timed", (d, n))
        bias = fields.exactly("bias_weights", "<f8", (n,)), fields.exactly("bias_timed", "<f8", (n,))
        if sp.issparse(weights) != sp.issparse(timed):
            raise fields.wrong("timed", "as sparse or dense as 'weights'", "the other")
        mistakes = counts(fields, "mistakes", n)
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


def _numbers(fields: Fields, name: str) -> list[float]:
    found = fields.plain(name)
    if not (isinstance(found, list) and all(type(each) in (int, float) for each in found)):
        raise fields.wrong(name, "a list of numbers", found)
    return [float(each) for each in found]


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
            "n_epochs": float(model.n_epochs_),
            "converged": bool(model.converged_),
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
        model._keep(trainer, fields.number("n_epochs", 0.0), fields.flag("converged"))


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
