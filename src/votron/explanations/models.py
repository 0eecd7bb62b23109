"""Explanations of fitted models: a classifier by itself, or behind the steps of a pipeline.

A score of a row is taken apart into sums. A *mix* says which score is meant: +1 for the vector of the class that is
explained, -1 for that of the class it is compared with, 0 for the others; two classes have one vector, with +1 or -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from functools import partial, singledispatch
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from votron import rules
from votron._util.frames import dense, in_pandas
from votron._util.pipelines import classifier_of, rows_for_classifier, steps_before
from votron._util.text import counted
from votron._util.types import Classes, Estimator, Floats, Index, Label, Labels, Rows, RowsLike
from votron.blocks import affine_weights, support_values
from votron.errors import VotronError
from votron.explanations.explanation import Explanation, Explanations, History, Term, Terms
from votron.explanations.features import ColumnEffects, Features, dense_row, features_after
from votron.explanations.suspicion import Suspects
from votron.record import labels_of
from votron.rules import forms
from votron.rules.scan import row_draws

__all__ = ["explain", "suspects"]

VALUES_AT_ONCE = 1 << 22
"""Kernel values that are in memory at once."""


def explain(
    model: Estimator, X: RowsLike, label: Label = None, against: Label = None, *, top: int | None = 5, first: int = 0
) -> Explanations:
    """Explain the scores of rows by the examples, features and vectors that make them.

    Parameters
    ----------
    model : classifier of Votron, or Pipeline that ends in one
        The fitted model.
    X : array, CSR matrix or data frame
        Rows, as the model's ``predict`` takes them.
    label : object, optional
        The class whose score is explained; by default the predicted one, against the runner-up.
    against : object, optional
        The class to compare with: the difference of the two scores is explained.
    top : int or None, default=5
        How many terms are named one by one, for the class and against it; None: all.
    first : int, default=0
        Number of the first row, of the training data as of X, and of the first feature, where they have no names.

    Returns
    -------
    Explanations
        One explanation for each row.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.pipeline import make_pipeline
    >>> from votron import VotedPerceptronClassifier, tabular_encoder
    >>> days = pl.DataFrame({"Outlook": ["Rainy", "Sunny", "Cloudy", "Sunny"], "Windy": ["yes", "no", "no", "yes"]})
    >>> model = make_pipeline(tabular_encoder(days), VotedPerceptronClassifier(kernel="linear", random_state=0))
    >>> _ = model.fit(days, ["stay", "play", "play", "stay"])
    >>> why = explain(model, days[:1])[0]
    >>> why.label, why.features.largest[0].name
    ('stay', 'Windy=yes')
    """
    if not hasattr(classifier_of(model), "explain"):
        raise VotronError(
            f"A fitted classifier of Votron, or a Pipeline that ends in one, can be explained. Got an object of type "
            f"{type(model).__name__} instead."
        )
    found: Explanations
    if not hasattr(model, "steps"):
        found = model.explain(X, label, against, top=top, first=first)
        return found
    if hasattr(model, "n_features_in_"):  # texts, which come one by one, have no features
        check_are_rows(X)
    rows, features = rows_for_classifier(model, X), features_after(steps_before(model), X)
    names = X.index if in_pandas(X) else None
    how = {"top": top, "first": first, "feature_names": features, "names": names}
    found = classifier_of(model).explain(rows, label, against, **how)
    return found


def check_are_rows(X: RowsLike) -> None:
    """Refuse one row that is not in a table of rows."""
    if len(getattr(X, "shape", (0, 0))) == 1:
        raise VotronError(
            "The X of explain must be a table of rows, one or more: of a frame pass frame.loc[[label]], of an array "
            f"X[[i]]. Got one row of {counted(len(X), 'value')} instead."
        )


def suspects(model: Estimator, top: int | None = None) -> Suspects:
    """Return the training rows whose labels the record casts doubt on; see `VotedPerceptronClassifier.suspects`.

    Parameters
    ----------
    model : VotedPerceptronClassifier, or Pipeline that ends in one
        The fitted model.
    top : int, optional
        How many, the most suspicious; by default all that were ever mistaken.

    Returns
    -------
    Suspects
        The rows, ranked.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> y[100] = 7  # it is a 4
    >>> model = VotedPerceptronClassifier(kernel="rbf", margin=2.0, random_state=0).fit(X, y)
    >>> suspects(model, top=1).rows()[0]["row"], suspects(model, top=1).rows()[0]["taken_for"]
    (100, 4)
    """
    classifier = classifier_of(model)
    if not hasattr(classifier, "suspects"):
        raise VotronError(
            "Suspects are found in the record of a VotedPerceptronClassifier, or a Pipeline that ends in one. Got an "
            f"object of type {type(classifier).__name__} instead."
        )
    found: Suspects = classifier.suspects(top)
    return found


def explained(
    form: forms.Form,
    rows: Rows,
    classes: Classes,
    *,
    n_threads: int,
    rule: str,
    label: Label,
    against: Label,
    top: int | None,
    first: int,
    ties_to_first: bool,
    feature_names: Features | Sequence[str] | None,
    row_names: Mapping[int, str],
    names: list[str] | None,
) -> Explanations:
    """Return why rows have their scores, given the form that made them."""
    validate_parameter_constraints({"top": [Interval(Integral, 0, None, closed="left"), None]}, {"top": top}, "explain")
    features = feature_names
    if features is not None and not isinstance(features, Features):
        features = Features.called(features)
    _check_length("names", names, "row", rows.shape[0])
    _check_length("feature_names", features, "feature", rows.shape[1])
    rescored = partial(form.scores, n_threads=n_threads)
    scores = rescored(rows)
    predicted = labels_of(scores, ties_to_first=ties_to_first)
    codes, rivals, mixes = _choices(classes, scores, predicted, label, against)
    namer = _Namer(form, classes, features, row_names, first)
    effects = None if form.support_rows is None else ColumnEffects(form.support_rows, features, rescored)
    missing = [{}] * rows.shape[0] if features is None else features.missing_in(rows)
    out = []
    for i, (sums, history) in enumerate(sums_of(form, rows, mixes, classes)):
        terms = {each.kind: namer.terms(each, top, i) for each in sums}
        of_columns = None
        if effects is not None and "features" not in terms:
            of_columns = partial(effects.of, rows[[i]], mixes[i], i)
        out.append(
            Explanation(
                row=i,
                name=f"row {i + first}" if names is None else names[i],
                label=plain(classes[codes[i]]),
                against=None if rivals[i] < 0 else plain(classes[rivals[i]]),
                predicted=plain(classes[predicted[i]]),
                score=float(mixes[i] @ scores[i]),
                rule=rule,
                examples=terms.get("examples"),
                features=terms.get("features"),
                history=history,
                missing=missing[i],
                _effects=of_columns,
                _pixels=rows[[i]] if features is None else None,
                _support=form.support_rows,
            )
        )
    return Explanations(out)


def _check_length(name: str, given: Sized | None, what: str, n: int) -> None:
    if given is not None and len(given) != n:
        raise VotronError(f"The {name!r} must have one for each {what}, {n:,} in all. Got {len(given):,} instead.")


def _choices(
    classes: Labels, scores: Floats, predicted: Index, label: Label, against: Label
) -> tuple[Index, Index, Floats]:
    """Return for each row the class that is explained, its rival (-1: none), and the mix of the scores."""
    if label is None and against is not None:
        raise VotronError("The 'against' class goes with a 'label' that is compared with it. Got it alone instead.")
    if label is not None and label == against:
        raise VotronError(f"The 'label' and the class 'against' it must differ. Got {label!r} twice instead.")
    n, k = len(scores), len(classes)
    mine = predicted if label is None else np.full(n, _code(label, classes, "label"))
    rival = np.full(n, -1 if against is None else _code(against, classes, "against"))
    if k == 2:
        return mine, 1 - mine, np.where(mine == 1, 1.0, -1.0)[:, None]
    mixes = (np.arange(k) == mine[:, None]).astype(np.float64)
    if label is None:
        rival = np.where(mixes > 0, -np.inf, scores).argmax(axis=1)
    return mine, rival, mixes - (np.arange(k) == rival[:, None])


def _code(label: Label, classes: Labels, name: str) -> int:
    known = classes.tolist()
    if label not in known:
        raise VotronError(f"The {name!r} must be a class of the model, of {known}. Got {label!r} instead.")
    return int(known.index(label))


def plain(value: Label) -> Label:
    """Return a label as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def support_labels(coefficients: Floats, classes: Labels) -> list[str]:
    """Return the class of each example, as far as its coefficients tell: above 0 they are for its own class."""
    if len(classes) == 2:
        return [str(classes[int(each > 0)]) for each in coefficients[0]]
    own = coefficients.argmax(axis=0)
    lowest = coefficients.argmin(axis=0)
    return [
        str(classes[own[j]]) if coefficients[own[j], j] > 0 else f"not {classes[lowest[j]]}" for j in range(len(own))
    ]


class Sum(NamedTuple):
    """The score of one row as a sum: (constant + Σ amounts) / divisor."""

    kind: str
    """The kind of the terms: "examples" or "features"."""
    ids: Index
    """Slots of the support, or numbers of features."""
    amounts: Floats
    values: Floats
    """Kernel values with the row, or the row's own."""
    constant: float
    divisor: float
    words: str
    exact: bool
    """Whether it is the score that predicts."""


class _Namer:
    """Gives the largest terms of sums their names."""

    def __init__(
        self, form: forms.Form, classes: Classes, features: Features | None, row_names: Mapping[int, str], first: int
    ) -> None:
        self.form, self.features, self.row_names, self.first = form, features, row_names, first
        self.labels = [] if isinstance(form, forms.Linear) else support_labels(form.dual_coef, classes)

    def terms(self, found: Sum, top: int | None, row: int) -> Terms:
        order = np.argsort(-np.abs(found.amounts), kind="stable")
        sides = [order[found.amounts[order] > 0], order[found.amounts[order] < 0]]
        named = self._feature if found.kind == "features" else self._example
        largest = []
        for i in (i for side in sides for i in side[:top]):
            amount, value = float(found.amounts[i]), float(found.values[i])
            largest.append(named(int(found.ids[i]), amount, amount / found.divisor, value, row))
        return Terms(
            kind=found.kind,
            words=found.words,
            exact=found.exact,
            largest=tuple(largest),
            n_for=len(sides[0]),
            n_against=len(sides[1]),
            amount_for=float(found.amounts[sides[0]].sum()),
            amount_against=float(found.amounts[sides[1]].sum()),
            constant=found.constant,
            divisor=found.divisor,
        )

    def _feature(self, i: int, amount: float, share: float, value: float, row: int) -> Term:
        if self.features is None:
            return Term(i, f"feature {i + self.first}", amount, share, value)
        column, missing = self.features.of_frame(i), self.features.is_missing(i, row)
        value = self.features.value(i, value)
        return Term(i, self.features.names[i], amount, share, value, column=column, missing=missing)

    def _example(self, i: int, amount: float, share: float, value: float, row: int) -> Term:
        assert not isinstance(self.form, forms.Linear)
        example, rows = int(self.form.support[i]), self.form.support_rows
        name = self.row_names.get(example, f"row {example + self.first}")
        about = "" if self.features is None or not rows.shape[1] else self.features.described(rows[[i]])
        return Term(example, name, amount, share, value, self.labels[i], about, slot=i)


def _mixed(mix: Floats, divisor: Floats | None) -> tuple[Floats, float]:
    """Return the factors of the vectors, and what to divide by afterwards: whole numbers stay whole where they can."""
    used = np.flatnonzero(mix)
    if divisor is None:
        return mix, 1.0
    if (divisor[used] == divisor[used[0]]).all():
        return mix, float(divisor[used[0]])
    return mix / divisor, 1.0


def _over_features(
    row: Rows, coef: Rows, intercept: Floats, divisor: Floats | None, mix: Floats, words: str, exact: bool = True
) -> Sum:
    """Return the score of one row as a sum over the features that are not 0 in it."""
    factors, divided_by = _mixed(mix, divisor)
    own = dense_row(row)
    ids, used = np.flatnonzero(own), np.flatnonzero(factors)
    amounts = (factors[used] @ dense(coef[used][:, ids])) * own[ids]
    return Sum("features", ids, amounts, own[ids], float(factors @ intercept), divided_by, words, exact)


def _over_examples(
    coefficients: Floats, divisor: Floats | None, values: Floats, mix: Floats, words: str, exact: bool = True
) -> Sum:
    """Return the score of one row as a sum over the examples that count, from their kernel values with it."""
    factors, divided_by = _mixed(mix, divisor)
    used = np.flatnonzero(factors)
    alpha = factors[used] @ coefficients[used]
    ids = np.flatnonzero(alpha)
    return Sum("examples", ids, alpha[ids] * values[ids], values[ids], 0.0, divided_by, words, exact)


def _kernel_values(form: forms.Expansion | forms.Sequence, rows: Rows) -> Iterator[tuple[int, Floats]]:
    """Yield the number of each row, and its kernel values with the support."""
    at_once = max(1, VALUES_AT_ONCE // max(1, len(form.support)))
    for low in range(0, rows.shape[0], at_once):
        values = support_values(form.kernel, form.support_rows, form.support, rows[low : low + at_once])
        yield from ((low + i, values[:, i]) for i in range(values.shape[1]))


Account = tuple[list[Sum], tuple[History, ...]]
"""The sums that make the score of a row, and the scores of the vectors, where these make it."""


@singledispatch
def sums_of(form: forms.Form, rows: Rows, mixes: Floats, classes: Classes) -> Iterator[Account]:
    """Yield the account of each row, given the form of the model."""
    raise TypeError(f"{type(form).__name__} is not a form.")


@sums_of.register
def _(form: forms.Linear, rows: Rows, mixes: Floats, classes: Classes) -> Iterator[Account]:
    scored = forms.binarized(rows, form.binarize) if form.boolean else rows
    for i, mix in enumerate(mixes):
        found = _over_features(scored[[i]], form.coef, form.intercept, form.divisor, mix, "the weights")
        if form.boolean:  # the values as the row has them, not thresholded
            found = found._replace(values=dense_row(rows[[i]])[found.ids])
        yield [found], ()


@sums_of.register
def _(form: forms.Expansion, rows: Rows, mixes: Floats, classes: Classes) -> Iterator[Account]:
    affine = form.kernel.affine()
    weights = None if affine is None else affine_weights(affine, form.support_rows, form.dual_coef)
    for i, values in _kernel_values(form, rows):
        found = [_over_examples(form.dual_coef, form.divisor, values, mixes[i], "the vectors")]
        if weights is not None:
            found.append(_over_features(rows[[i]], *weights, form.divisor, mixes[i], "the weights"))
        yield found, ()


@sums_of.register
def _(form: forms.Sequence, rows: Rows, mixes: Floats, classes: Classes) -> Iterator[Account]:
    vectors, rule = form.vectors, rules.RULES[form.rule]
    affine = vectors.kernel.affine()
    uniform = row_draws(rows, vectors.seed)
    for i, values in _kernel_values(form, rows):
        if i == 0 or rule.by_row:
            coefficients, divisor, words, exact = rule.combination(vectors, form.normalized, float(uniform[i]))
            weights = None if affine is None else affine_weights(affine, vectors.support_rows, coefficients)
        found = [_over_examples(coefficients, divisor, values, mixes[i], words, exact)]
        if weights is not None:
            found.append(_over_features(rows[[i]], *weights, divisor, mixes[i], words, exact))
        yield found, () if exact else _histories(form, values, mixes[i], classes)


def _histories(form: forms.Sequence, values: Floats, mix: Floats, classes: Classes) -> tuple[History, ...]:
    """Return what the vectors of the explained classes said; those of two classes speak for the one explained."""
    record, rule, out = form.vectors.record, rules.RULES[form.rule], []
    assert isinstance(rule, rules.TallyRule)  # others are combinations of examples
    for c in sorted(np.flatnonzero(mix).tolist(), key=lambda c: -mix[c]):
        mine = record.of_each_vector.get(c, np.zeros(0, dtype=np.int64))
        scores = np.cumsum(record.coefficient[mine] * values[record.slot[mine]])
        lengths = record.lengths[mine].tolist()
        credits = np.array([rule.share(scores[[j]], length, form.normalized)[0] for j, length in enumerate(lengths)])
        label, sign = plain(classes[c]), float(mix[c])
        if len(classes) == 2:
            label, sign, credits = plain(classes[int(sign > 0)]), 1.0, sign * credits
        steps = record.n_steps, record.n_examples
        out.append(History(label, sign, record.time[mine], record.survival[mine], credits, *steps))
    return tuple(out)
