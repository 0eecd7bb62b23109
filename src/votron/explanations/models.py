"""Explanations of fitted models: a classifier by itself, or behind the steps of a pipeline.

A score of a row is taken apart into sums. A *mix* says which score is meant: +1 for the vector of the class that is
explained, -1 for that of the class it is compared with, 0 for the others; two classes have one vector, with +1 or -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from votron._util.frames import dense, in_pandas
from votron._util.pipelines import classifier_of, rows_for_classifier, steps_before
from votron._util.types import Classes, Estimator, Floats, Index, Label, Labels, Rows, RowsLike
from votron.blocks import affine_weights, support_values
from votron.errors import VotronError
from votron.explanations.explanation import Explanation, Explanations, History, Term, Terms
from votron.explanations.features import ColumnEffects, Features, dense_row, features_after
from votron.record import labels_of
from votron.rules import RULES, TallyRule, forms
from votron.rules.base import Combination
from votron.rules.scan import row_draws

__all__ = ["explain"]

VALUES_AT_ONCE = 1 << 22  # kernel values that are in memory at once


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
    label, against : object, optional
        The class whose score is explained, by default the predicted one against the runner-up; and the class to
        compare with: the difference of the two scores is explained.
    top : int or None, default=5
        How many terms are named one by one, for the class and against it; None: all.
    first : int, default=0
        Number of the first row, of the training data as of X, and of the first feature, where they have no names.

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
    rows, features = rows_for_classifier(model, X), features_after(steps_before(model), X)
    names = X.index if in_pandas(X) else None
    how = {"top": top, "first": first, "feature_names": features, "names": names}
    found = classifier_of(model).explain(rows, label, against, **how)
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
    accounts = _Accounts(form, rows, mixes, classes, features, row_names, first, top)
    effects = None if form.support_rows is None else ColumnEffects(form.support_rows, features, rescored)
    missing = [{}] * rows.shape[0] if features is None else features.missing_in(rows)
    known, out = classes.tolist(), []
    for i, (terms, history) in enumerate(accounts.of_rows()):
        of_columns = None if effects is None or "features" in terms else partial(effects.of, rows[[i]], mixes[i], i)
        out.append(
            Explanation(
                row=i,
                name=f"row {i + first}" if names is None else names[i],
                label=known[codes[i]],
                against=None if rivals[i] < 0 else known[rivals[i]],
                predicted=known[predicted[i]],
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
    known: list[Label] = classes.tolist()
    for name, given in (("label", label), ("against", against)):
        if given is not None and given not in known:
            raise VotronError(f"The {name!r} must be a class of the model, of {known}. Got {given!r} instead.")
    if against is not None and (label is None or label == against):
        raise VotronError(f"The class 'against' goes with another 'label'. Got {against!r} with {label!r} instead.")
    n, k = len(scores), len(known)
    mine = predicted if label is None else np.full(n, known.index(label))
    rival = np.full(n, -1 if against is None else known.index(against))
    if k == 2:
        return mine, 1 - mine, np.where(mine == 1, 1.0, -1.0)[:, None]
    mixes = (np.arange(k) == mine[:, None]).astype(np.float64)
    if label is None:
        rival = np.where(mixes > 0, -np.inf, scores).argmax(axis=1)
    return mine, rival, mixes - (np.arange(k) == rival[:, None])


def support_labels(coefficients: Floats, classes: Labels) -> list[str]:
    """Return the class of each example, as far as its coefficients tell: above 0 they are for its own class."""
    if len(classes) == 2:
        return [str(classes[int(each > 0)]) for each in coefficients[0]]
    most, least = coefficients.argmax(axis=0), coefficients.argmin(axis=0)
    own = coefficients.max(axis=0) > 0
    return [str(classes[j]) if mine else f"not {classes[k]}" for j, k, mine in zip(most, least, own, strict=True)]


@dataclass(eq=False)
class _Accounts:
    """The scores of rows by a form of model, as sums of which the largest terms have names."""

    form: forms.Form
    rows: Rows
    mixes: Floats
    classes: Classes
    features: Features | None
    row_names: Mapping[int, str]
    first: int
    top: int | None

    @cached_property
    def labels(self) -> list[str]:
        return support_labels(self.form.dual_coef, self.classes)  # type: ignore[union-attr]

    def of_rows(self) -> Iterator[tuple[dict[str, Terms], tuple[History, ...]]]:
        """Yield the sums that make the score of each row, and the scores of its vectors, where these make it."""
        form, rows = self.form, self.rows
        if isinstance(form, forms.Linear):
            scored = forms.binarized(rows, form.binarize) if form.boolean else rows
            divisor = np.ones(form.coef.shape[0]) if form.divisor is None else form.divisor
            weights = Combination(form.coef, divisor, "the weights", exact=True)
            for i in range(rows.shape[0]):
                yield {"features": self._over_features(i, scored[[i]], form.intercept, weights)}, ()
            return
        affine, last = form.kernel.affine(), None
        pairs = zip(_kernel_values(form, rows), _combinations(form, rows), strict=True)
        for i, (values, combination) in enumerate(pairs):
            terms = {"examples": self._over_examples(i, values, combination)}
            if affine is not None:
                if combination is not last:  # for most rules there is one
                    coef, intercept = affine_weights(affine, form.support_rows, combination.coefficients)
                    weights, last = combination._replace(coefficients=coef), combination
                terms["features"] = self._over_features(i, rows[[i]], intercept, weights)
            yield terms, () if combination.exact else self._histories(i, values)

    def _over_features(self, i: int, row: Rows, intercept: Floats, weights: Combination) -> Terms:
        """Return the score of one row as a sum over the features that are not 0 in it."""
        factors, divisor = _factors(self.mixes[i], weights.divisor)
        scored, shown = dense_row(row), dense_row(self.rows[[i]])  # of Boolean features thresholded, and as they came
        ids, used = np.flatnonzero(scored), np.flatnonzero(factors)
        amounts = (factors[used] @ dense(weights.coefficients[used][:, ids])) * scored[ids]

        def named(k: int) -> Term:
            j, amount, value = int(ids[k]), float(amounts[k]), float(shown[ids[k]])
            if self.features is None:
                return Term(j, f"feature {j + self.first}", amount, amount / divisor, value)
            column, missing = self.features.of_frame(j), self.features.is_missing(j, i)
            value = self.features.value(j, value)
            return Term(j, self.features.names[j], amount, amount / divisor, value, column=column, missing=missing)

        return self._terms("features", weights, amounts, named, float(factors @ intercept), divisor)

    def _over_examples(self, i: int, values: Floats, combination: Combination) -> Terms:
        """Return the score of one row as a sum over the examples that count, from their kernel values with it."""
        form, features = self.form, self.features
        assert not isinstance(form, forms.Linear)
        factors, divisor = _factors(self.mixes[i], combination.divisor)
        used = np.flatnonzero(factors)
        alpha = factors[used] @ combination.coefficients[used]
        slots = np.flatnonzero(alpha)
        amounts = alpha[slots] * values[slots]

        def named(k: int) -> Term:
            slot, amount = int(slots[k]), float(amounts[k])
            example, rows = int(form.support[slot]), form.support_rows
            name = self.row_names.get(example, f"row {example + self.first}")
            about = "" if features is None or not rows.shape[1] else features.described(rows[[slot]])
            value = float(values[slot])
            return Term(example, name, amount, amount / divisor, value, self.labels[slot], about, slot)

        return self._terms("examples", combination, amounts, named, 0.0, divisor)

    def _terms(
        self, kind: str, of: Combination, amounts: Floats, named: Callable[[int], Term], constant: float, divisor: float
    ) -> Terms:
        order = np.argsort(-np.abs(amounts), kind="stable")
        sides = order[amounts[order] > 0], order[amounts[order] < 0]
        largest = tuple(named(int(k)) for side in sides for k in side[: self.top])
        n_for, n_against = map(len, sides)
        amount_for, amount_against = (float(amounts[side].sum()) for side in sides)
        return Terms(kind, of.words, of.exact, largest, n_for, n_against, amount_for, amount_against, constant, divisor)

    def _histories(self, i: int, values: Floats) -> tuple[History, ...]:
        """Return what the vectors of the explained classes said; those of two classes speak for the one explained."""
        form, mix, out = self.form, self.mixes[i], []
        assert isinstance(form, forms.Sequence)
        record, rule = form.vectors.record, RULES[form.rule]
        assert isinstance(rule, TallyRule)  # others are combinations of examples
        for c in sorted(np.flatnonzero(mix).tolist(), key=lambda c: -mix[c]):
            mine = record.of_each_vector.get(c, np.zeros(0, dtype=np.int64))
            scores = np.cumsum(record.coefficient[mine] * values[record.slot[mine]])
            lengths = record.lengths[mine].tolist()
            shares = [rule.share(scores[[j]], length, form.normalized)[0] for j, length in enumerate(lengths)]
            code, sign, credits = c, float(mix[c]), np.array(shares)
            if len(self.classes) == 2:
                code, sign, credits = int(sign > 0), 1.0, sign * credits
            vectors = record.time[mine], record.survival[mine], credits
            out.append(History(self.classes.tolist()[code], sign, *vectors, record.n_steps, record.n_examples))
        return tuple(out)


def _factors(mix: Floats, divisor: Floats) -> tuple[Floats, float]:
    """Return the factors of the vectors, and what to divide by afterwards: whole numbers stay whole where they can."""
    used = np.flatnonzero(mix)
    if (divisor[used] == divisor[used[0]]).all():
        return mix, float(divisor[used[0]])
    return mix / divisor, 1.0


def _kernel_values(form: forms.Expansion | forms.Sequence, rows: Rows) -> Iterator[Floats]:
    at_once = max(1, VALUES_AT_ONCE // max(1, len(form.support)))
    for low in range(0, rows.shape[0], at_once):
        yield from support_values(form.kernel, form.support_rows, form.support, rows[low : low + at_once]).T


def _combinations(form: forms.Expansion | forms.Sequence, rows: Rows) -> Iterator[Combination]:
    """Yield the combination of examples that scores each row, or stands for the vectors that do."""
    if isinstance(form, forms.Expansion):
        divisor = np.ones(len(form.dual_coef)) if form.divisor is None else form.divisor
        yield from repeat(Combination(form.dual_coef, divisor, "the vectors", exact=True), rows.shape[0])
        return
    rule, found = RULES[form.rule], None
    for uniform in row_draws(rows, form.vectors.seed).tolist():
        if found is None or rule.by_row:
            found = rule.combination(form.vectors, form.normalized, uniform)
        yield found
