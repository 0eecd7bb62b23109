"""Reasons of fitted models: a classifier by itself, or behind the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from votron._util.frames import in_pandas
from votron._util.pipelines import classifier_of, rows_for_classifier, steps_before
from votron._util.text import counted
from votron._util.types import Classes, Estimator, Floats, Index, Label, Labels, Rows, RowsLike
from votron.errors import VotronError
from votron.explanations._sums import Sums, sums_of
from votron.explanations._text import plain
from votron.explanations.columns import ColumnEffects
from votron.explanations.explanation import Explanation, Explanations, History, Namer, Terms, terms_of
from votron.explanations.features import Features, features_after
from votron.explanations.suspicion import Suspects
from votron.record import MistakeRecord, labels_of
from votron.rules.forms import Form, Linear

__all__ = ["explain", "suspects"]


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
    form: Form,
    rows: Rows,
    classes: Labels,
    *,
    n_threads: int,
    rule: str,
    label: Label,
    against: Label,
    top: int | None,
    first: int,
    ties_to_first: bool,
    feature_names: Features | Sequence[str] | None,
    row_names: dict[int, str],
    names: list[str] | None,
) -> Explanations:
    """Return why rows have their scores, given the form that made them."""
    validate_parameter_constraints({"top": [Interval(Integral, 0, None, closed="left"), None]}, {"top": top}, "explain")
    _check_length("names", names, "row", rows.shape[0])
    if feature_names is None or isinstance(feature_names, Features):
        features = feature_names
    else:
        features = Features.called(feature_names)
    _check_length("feature_names", features, "feature", rows.shape[1])

    rescored = partial(form.scores, n_threads=n_threads)
    scores = rescored(rows)
    predicted = labels_of(scores, ties_to_first=ties_to_first)
    codes, rivals, mixes = _choices(classes, scores, predicted, label, against)
    namer = Namer(
        support=np.empty(0, dtype=np.int64) if isinstance(form, Linear) else form.support,
        support_rows=form.support_rows,
        support_labels=[] if isinstance(form, Linear) else support_labels(form.dual_coef, classes),
        row_names=row_names,
        features=features,
        first=first,
    )
    effects = ColumnEffects(form.support_rows, features, rescored) if form.support_rows is not None else None
    missing = [{}] * rows.shape[0] if features is None else features.missing_in(rows)
    record = form.vectors.record if hasattr(form, "vectors") else None
    out = []
    for i, found in enumerate(sums_of(form, rows, mixes)):
        mine, other = classes[codes[i]], None if rivals[i] < 0 else classes[rivals[i]]
        sums: dict[str, Terms] = {each.kind: terms_of(each, top, namer, i) for each in found.sums}
        out.append(
            Explanation(
                row=i,
                name=f"row {i + first}" if names is None else names[i],
                label=plain(mine),
                against=plain(other),
                predicted=plain(classes[predicted[i]]),
                score=float(mixes[i] @ scores[i]),
                rule=rule,
                examples=sums.get("examples"),
                features=sums.get("features"),
                history=_history(found, record, classes, plain(mine)),
                missing=missing[i],
                _effects=None if effects is None or "features" in sums else partial(effects.of, rows[[i]], mixes[i], i),
                _pixels=rows[[i]] if features is None else None,
                _support=form.support_rows,
            )
        )
    return Explanations(out)


def _check_length(name: str, given: Sized | None, what: str, n: int) -> None:
    if given is not None and len(given) != n:
        raise VotronError(f"The {name!r} must have one for each {what}, {n:,} in all. Got {len(given):,} instead.")


def _history(found: Sums, record: MistakeRecord | None, classes: Classes, label: Label) -> tuple[History, ...]:
    """Return how the vectors of each class scored a row; two classes have one vector, which speaks for the label."""
    if record is None:
        return ()
    histories = []
    for course in found.courses:
        name, sign, credits = plain(classes[course.vector]), course.sign, course.credits
        if len(classes) == 2:
            name, sign, credits = label, 1.0, course.sign * course.credits
        times = course.born, course.survival
        histories.append(History(name, sign, *times, credits, record.n_steps, record.n_examples))
    return tuple(histories)


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


def support_labels(coefficients: Floats, classes: Labels) -> list[str]:
    """Return the class of each example, as far as its coefficients tell: above 0 they are for its own class."""
    if len(classes) == 2:
        return [str(classes[int(each > 0)]) for each in coefficients[0]]
    own = coefficients.argmax(axis=0)
    lowest = coefficients.argmin(axis=0)
    return [
        str(classes[own[j]]) if coefficients[own[j], j] > 0 else f"not {classes[lowest[j]]}" for j in range(len(own))
    ]
