"""Classifiers in model files: a struct for each class, with its entries in the manifest.

``learnt`` stores the arrays of a model and returns the fields of the struct; ``build`` restores them in a model that
has its parameters, classes, features and history already.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Estimator, Floats, Index
from votron.engine import PrimalTrainer
from votron.errors import ModelFileError
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.base import VotronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.winnow import WinnowClassifier
from votron.history import TrainingHistory
from votron.kernels.base import is_precomputed
from votron.rules import RULES, HoldoutCurve, Vectors
from votron.rules.forms import Expansion, Form, Linear, Sequence
from votron.saving import parts
from votron.saving.container import Tensors, plain
from votron.saving.parts import Count, Fields, KernelState, Params, State, kernel_from, kernel_state
from votron.saving.steps import Positive, put_names, set_names

NotNegative = Annotated[float, msgspec.Meta(ge=0)]
_ANY_ROW = 2**62
_VALIDATION = ("validation_moments_", "validation_scores_")


class Classifier(State, tag_field="class"):
    cls: ClassVar[type[VotronClassifier]]
    params: Params
    n_features: Positive
    history: TrainingHistory | None
    slopes: dict[str, Annotated[float, msgspec.Meta(gt=0)]]  # for probabilities, by rule
    validation: dict[Literal[_VALIDATION], list[float]]  # type: ignore[valid-type]


def classifier_state(model: Estimator, tensors: Tensors) -> AnyClassifier:
    kind = next((each for each in _KINDS if each.cls is type(model)), None)
    if kind is None:
        hint = " Its best_estimator_ can be saved." if hasattr(model, "best_estimator_") else ""
        raise ModelFileError(
            "Only fitted classifiers of Votron, and pipelines that end in one, can be saved; skops.io saves others. "
            f"Got an object of type {type(model).__name__} instead.{hint}"
        )
    check_is_fitted(model)
    model._validate_params()
    if any(getattr(model, name) != value for name, value in getattr(model, "_fixed", {}).items()):
        raise ModelFileError(
            "The parameters of this model were changed after training: set them back, or fit it again."
        )
    tensors.put_values("classes", model.classes_)
    put_names(model, tensors)
    if hasattr(model, "row_names_"):
        tensors.put_list("row_names", [model.row_names_[row] for row in model.support_.tolist()])
    slopes = model._all_slopes() if hasattr(model, "_all_slopes") else {}
    return kind(
        params=parts.params_state(model, tensors),
        n_features=int(model.n_features_in_),
        history=dataclasses.replace(model.history_, from_file=False) if hasattr(model, "history_") else None,
        slopes={key: float(slope) for key, slope in slopes.items()},
        validation={name: list(map(float, vars(model)[name])) for name in _VALIDATION if name in vars(model)},
        **kind.learnt(model, tensors),
    )


def classifier_from(state: AnyClassifier, tensors: Tensors) -> Estimator:
    model = parts.params_from(state.cls, state.params, tensors)
    model._fixed = {name: getattr(model, name) for name in model._FIXED_IN_BATCHES}
    model.classes_ = tensors.labels("classes")
    set_names(model, state.n_features, tensors)
    if state.history is not None:
        if state.history.chosen_rule not in (None, *RULES):
            raise ModelFileError("its history has a rule that is not known.")
        model.history_ = dataclasses.replace(state.history, from_file=True)
    elif state.cls is not CompactClassifier:
        raise ModelFileError("its classifier has no history.")
    state.build(model, tensors)
    for name, values in state.validation.items():
        setattr(model, name, values)
    if state.slopes:
        model._slopes = dict(state.slopes)
    if "row_names" in tensors and hasattr(model, "support_"):
        rows = model.support_.tolist()
        model.row_names_ = dict(zip(rows, tensors.listed("row_names", n=len(rows)), strict=True))
    return model


class VectorsState(State):
    kernel: KernelState
    n_examples: Count
    n_steps: Count
    seed: Count
    n_held_out: Count | None  # rows for the curve of held-out errors, if there is one

    @staticmethod
    def of(vectors: Vectors, tensors: Tensors) -> VectorsState:
        record, curve = vectors.record, vectors.holdout
        tensors.put("support_rows", vectors.support_rows)
        parts.put_record(record, tensors.at("record"))
        if curve is not None:
            tensors.at("held_out").put_all(curve, "times", "errors")
        return VectorsState(
            kernel=kernel_state(vectors.kernel),
            n_examples=int(record.n_examples),
            n_steps=int(record.n_steps),
            seed=int(vectors.seed),
            n_held_out=None if curve is None else int(curve.n_examples),
        )

    def build(self, tensors: Tensors, n: int, n_features: int, n_numbered: int) -> Vectors:
        kernel = kernel_from(self.kernel)
        limit = min(n_numbered, n_features) if is_precomputed(kernel) else n_numbered
        record = parts.record_from(tensors.at("record"), limit, n, self.n_examples, self.n_steps)
        rows = parts.support_rows(tensors, kernel, len(record.support), n_features)
        if self.n_held_out is None:
            return Vectors(record, kernel, rows, self.seed)
        times = tensors.take("held_out.times", "i8", (None,), least=0)
        if not (times[1:] > times[:-1]).all() or (len(times) and times[-1] > self.n_steps):
            raise tensors.wrong("held_out.times", "rising times within training")
        errors = tensors.take("held_out.errors", "i8", times.shape, least=0)
        return Vectors(record, kernel, rows, self.seed, HoldoutCurve(times, errors, self.n_held_out))


class Voted(Classifier, tag="VotedPerceptronClassifier"):
    cls: ClassVar[type[VotronClassifier]] = VotedPerceptronClassifier
    vectors: VectorsState

    @staticmethod
    def learnt(model: VotedPerceptronClassifier, tensors: Tensors) -> Fields:
        return {"vectors": VectorsState.of(model._vectors, tensors)}

    def build(self, model: VotedPerceptronClassifier, tensors: Tensors) -> None:
        model._keep(self.vectors.build(tensors, model._n_vectors, self.n_features, model.history_.n_numbered))


class ExpansionState(State, tag="expansion", tag_field="form"):
    kernel: KernelState

    @staticmethod
    def of(form: Expansion, tensors: Tensors) -> ExpansionState:
        few = np.count_nonzero(form.dual_coef) < form.dual_coef.size / 2  # each class has its own support vectors
        tensors.put_all(form, "support", "support_rows", *(["divisor"] if form.divisor is not None else []))
        tensors.put("dual_coef", sp.csr_matrix(form.dual_coef) if few else form.dual_coef)
        return ExpansionState(kernel=kernel_state(form.kernel))

    def build(self, tensors: Tensors, n: int, n_features: int, n_rows: int = _ANY_ROW) -> Expansion:
        kernel = kernel_from(self.kernel)
        support: Index = tensors.take("support", "i8", (None,), least=0)
        limit = n_features if is_precomputed(kernel) else n_rows
        if len(support) and (support.max() >= limit or len(np.unique(support)) < len(support)):
            raise tensors.wrong("support", "numbers of training examples, each once")
        rows = parts.support_rows(tensors, kernel, len(support), n_features)
        coefficients = tensors.rows("dual_coef", (n, len(support)), "f8")
        return Expansion(kernel, rows, support, coefficients, parts.divisor_from(tensors, n))


class KernelAdatron(Classifier, tag="KernelAdatronClassifier"):
    cls: ClassVar[type[VotronClassifier]] = KernelAdatronClassifier
    expansion: ExpansionState

    @staticmethod
    def learnt(model: KernelAdatronClassifier, tensors: Tensors) -> Fields:
        tensors.put_all(model, "n_support_", "norm_", "margin_", "best_margin_")
        tensors.put("separable", np.array([-1 if each is None else each for each in model.separable_], dtype=np.int8))
        return {"expansion": ExpansionState.of(model._expansion, tensors)}

    def build(self, model: KernelAdatronClassifier, tensors: Tensors) -> None:
        n = model._n_vectors
        model._set(self.expansion.build(tensors, n, self.n_features, model.history_.n_rows))
        model.n_support_ = tensors.take("n_support_", "i8", (n,), least=0)
        for name in ("norm_", "margin_", "best_margin_"):
            setattr(model, name, tensors.take(name, "f8", (n,), finite=name == "norm_"))
        separable = tensors.take("separable", "i1", (n,), least=-1).tolist()
        model.separable_ = np.array([None if each < 0 else each > 0 for each in separable], dtype=object)


class Averaged(Classifier, tag="AveragedPerceptronClassifier"):
    cls: ClassVar[type[VotronClassifier]] = AveragedPerceptronClassifier
    time: Count
    bias: bool
    joint: bool
    margin: NotNegative | None  # None if there is one for each class
    largest_weight: NotNegative
    thin: bool  # whether weights are dense in memory and sparse in the file

    @staticmethod
    def learnt(model: AveragedPerceptronClassifier, tensors: Tensors) -> Fields:
        trainer = model._trainer
        state = trainer.state()
        thin = trainer.thin or (not trainer.is_sparse and _is_thin(state["weights"], state["timed"]))
        for name in ("weights", "timed"):
            tensors.put(name, sp.csr_matrix(state[name]) if trainer.is_sparse or thin else state[name])
        tensors.put("bias", np.stack(state["bias"]))
        tensors.put("mistakes", state["mistakes"])
        by_class = np.ndim(trainer.margin) > 0
        if by_class:
            tensors.put("margins", trainer.margin)
        fields = {name: plain(getattr(trainer, name)) for name in ("time", "bias", "joint", "largest_weight")}
        return {**fields, "margin": None if by_class else float(trainer.margin), "thin": bool(thin)}

    def build(self, model: AveragedPerceptronClassifier, tensors: Tensors) -> None:
        n, d = model._n_vectors, self.n_features
        weights, timed = tensors.rows("weights", (d, n), "f8"), tensors.rows("timed", (d, n), "f8")
        if sp.issparse(weights) != sp.issparse(timed) or self.thin > sp.issparse(weights):
            raise tensors.wrong("timed", "the form of 'weights', sparse or dense")
        bias = tensors.take("bias", "f8", (2, n))
        trainer = PrimalTrainer.resume(
            *(weights, timed, (bias[0], bias[1]), tensors.take("mistakes", "i8", (n,), least=0), self.time),
            with_bias=self.bias,
            margin=tensors.take("margins", "f8", (max(2, n),), least=0) if self.margin is None else self.margin,
            joint=self.joint,
            largest_weight=self.largest_weight,
            thin=self.thin,
        )
        model._keep(trainer)


def _is_thin(*matrices: Floats) -> bool:
    """Tell whether weights take less than half the space as CSR matrices."""
    sizes = [12 * np.count_nonzero(each) + 4 * (each.shape[0] + 1) for each in matrices]
    return bool(2 * sum(sizes) < sum(each.nbytes for each in matrices))


class Winnow(Classifier, tag="WinnowClassifier"):
    cls: ClassVar[type[VotronClassifier]] = WinnowClassifier
    time: Count

    @staticmethod
    def learnt(model: WinnowClassifier, tensors: Tensors) -> Fields:
        tensors.put_all(model._trainer, "weights", "promotions", "demotions")
        return {"time": int(model._trainer.time)}

    def build(self, model: WinnowClassifier, tensors: Tensors) -> None:
        n, width = model._n_vectors, self.n_features * (2 if model.complement else 1)
        weights = tensors.take("weights", "f8", (n, width), least=0)
        trainer = model._new_trainer()
        trainer.weights, trainer.time = weights, self.time
        for name in ("promotions", "demotions"):
            setattr(trainer, name, tensors.take(name, "i8", (n,), least=0))
        model._keep(trainer)


_BAYES = ("feature_count_", "class_count_", "feature_log_prob_", "class_log_prior_")


class NaiveBayes(Classifier, tag="NaiveBayesLinearClassifier"):
    cls: ClassVar[type[VotronClassifier]] = NaiveBayesLinearClassifier

    @staticmethod
    def learnt(model: NaiveBayesLinearClassifier, tensors: Tensors) -> Fields:
        tensors.put_all(model, *_BAYES)
        return {}

    def build(self, model: NaiveBayesLinearClassifier, tensors: Tensors) -> None:
        n = len(model.classes_)
        for name in _BAYES:
            shape = (n, self.n_features) if name.startswith("feature") else (n,)
            setattr(model, name, tensors.take(name, "f8", shape, finite=name != "class_log_prior_"))
        prior = model.class_log_prior_  # -inf for a class without examples
        if not (prior < np.inf).all() or (model.feature_log_prob_ >= 0).any():
            raise tensors.wrong("feature_log_prob_", "logarithms of probabilities")


class LinearState(State, tag="linear", tag_field="form"):
    boolean: bool
    binarize: float | None

    def build(self, tensors: Tensors, n: int, n_features: int) -> Form:
        coef, intercept = tensors.rows("coef", (n, n_features), "f8"), tensors.take("intercept", "f8", (n,))
        return Linear(coef, intercept, self.boolean, self.binarize, parts.divisor_from(tensors, n))


class SequenceState(State, tag="sequence", tag_field="form"):
    vectors: VectorsState
    rule: str
    normalized: bool

    def build(self, tensors: Tensors, n: int, n_features: int) -> Form:
        if self.rule not in RULES or RULES[self.rule].one_vector:
            raise ModelFileError(f"its rule {self.rule[:60]!r} is not known, or needs fewer vectors.")
        return Sequence(self.vectors.build(tensors, n, n_features, _ANY_ROW), self.rule, self.normalized)


class Compact(Classifier, tag="CompactClassifier"):
    cls: ClassVar[type[VotronClassifier]] = CompactClassifier
    made_from: str
    rule: str
    dropped: list[str]
    ties_to_first: bool
    form: LinearState | ExpansionState | SequenceState

    @staticmethod
    def learnt(model: CompactClassifier, tensors: Tensors) -> Fields:
        told = {"made_from": model.made_from_, "rule": model.rule_, "dropped": list(model.dropped_)}
        return {**told, "ties_to_first": bool(model._ties_to_first), "form": _form_state(model._predictor, tensors)}

    def build(self, model: CompactClassifier, tensors: Tensors) -> None:
        model.made_from_, model.rule_ = self.made_from, self.rule
        model.dropped_, model._ties_to_first = tuple(self.dropped), self.ties_to_first
        model._set(self.form.build(tensors, model._n_vectors, self.n_features))


def _form_state(form: Form, tensors: Tensors) -> LinearState | ExpansionState | SequenceState:
    if isinstance(form, Linear):
        tensors.put_all(form, "coef", "intercept", *(["divisor"] if form.divisor is not None else []))
        return LinearState(boolean=form.boolean, binarize=None if form.binarize is None else float(form.binarize))
    if isinstance(form, Expansion):
        return ExpansionState.of(form, tensors)
    return SequenceState(vectors=VectorsState.of(form.vectors, tensors), rule=form.rule, normalized=form.normalized)


AnyClassifier = Voted | KernelAdatron | Averaged | Winnow | NaiveBayes | Compact
_KINDS: tuple[type[AnyClassifier], ...] = (Voted, KernelAdatron, Averaged, Winnow, NaiveBayes, Compact)
