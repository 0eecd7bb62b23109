"""Compact classifiers, in each of the forms that they can have: weights, a sum over support vectors, or a record."""

from __future__ import annotations

from collections.abc import Callable

from votron.estimators._score_functions import Expansion, Form, Linear, Sequence
from votron.estimators.compact import CompactClassifier
from votron.kernels.base import is_precomputed
from votron.rules import RULES, Vectors
from votron.saving.classifiers.base import State, StoredClassifier, float_rows, n_vectors, stored
from votron.saving.classifiers.kernel import check_width, divisor, expansion_from, expansion_state, support_rows
from votron.saving.fields import LARGEST, Fields
from votron.saving.values import kernel_from, kernel_state, record_from, record_state


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
        }

    def build(self, model: CompactClassifier, fields: Fields) -> None:
        """Set what it was made from, and its form."""
        model.made_from_, model.rule_ = fields.text("made_from"), fields.text("rule")
        model.gave_up_, model._ties_to_first = tuple(fields.texts("gave_up")), fields.flag("ties_to_first")
        model._set(_FORMS[fields.text("form", _FORMS)](model, fields))


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


_FORMS: dict[str, Callable[[CompactClassifier, Fields], Form]] = {
    "linear": _linear_from,
    "expansion": _expansion_from,
    "sequence": _sequence_from,
}
"""How each form is read, by its name."""
