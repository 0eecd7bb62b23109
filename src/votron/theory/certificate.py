"""The certificate of a fitted model: the bounds that apply to it, and those that changes would earn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from html import escape
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from votron._util.types import Axes, Estimator, Frame, Labels, Params, RowsLike
from votron.errors import BoundViolatedError, VotronError
from votron.theory import _rendering
from votron.theory.evidence import Assumption, Count, Evidence, Measured, unwrapped
from votron.theory.geometry import Comparators
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE, Kind, Quantity, Statement, statements_for
from votron.theory.trained import check_test_data

__all__ = ["Bound", "Certificate", "certify"]

SLACK = 1e-6
"""Relative distance by which rounding may put a bound on mistakes below the mistakes."""
HOPELESS = 0.5
"""Error from which a guarantee is of no use."""

Value = Annotated[float, Meta(ge=0)] | None
Label = str | bool | int | float | None


@dataclass(frozen=True)
class Bound:
    """One bound of a certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier("linear", margin=0.0, epochs=1, random_state=0).fit(X, y == 0)
    >>> print(certify(model, X, y == 0).best())
    (7) with errors: at most 21.4 % (guarantee, vote after one epoch)
    """

    name: str  # the authors
    formula: str
    kind: Kind  # a fact about this run, a guarantee with probability 1 − δ, or an estimate by one run's numbers
    quantity: Quantity
    predictor: str  # of which an error is bounded; empty for facts
    values: tuple[Value, ...]  # for each vector
    remarks: tuple[str, ...]  # where they come from, or why there is none
    total: Value  # of facts the sum, of errors the union bound, with each guarantee at δ divided by their number
    assumptions: tuple[Assumption, ...]
    joint: Value = None  # for the vectors of several classes together, where the theorem holds for them as for one

    def __str__(self) -> str:
        error = math.nan if self.error is None else self.error
        value = f"{100 * error:.3g} %" if self.quantity == "error" else f"{error:,.0f} {self.quantity}"
        return f"{self.name}: at most {value} ({self.kind}{f', {self.predictor}' if self.predictor else ''})"

    @property
    def error(self) -> float | None:
        """The bound on the share of wrong labels: ``joint`` where there is one, else ``total``."""
        return self.total if self.joint is None else self.joint

    @property
    def applies(self) -> bool:
        """True if it has a value, and no assumption is known to fail."""
        return self.error is not None and not self.failing

    @property
    def failing(self) -> tuple[Assumption, ...]:
        """The assumptions that do not hold."""
        return tuple(a for a in self.assumptions if a.holds is False)

    @property
    def claims(self) -> tuple[Assumption, ...]:
        """The assumptions that only the user can vouch for."""
        return tuple(a for a in self.assumptions if a.holds is None)

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes that would make the failing assumptions hold."""
        return tuple(dict.fromkeys(a.change for a in self.failing))

    @property
    def vacuous(self) -> bool:
        """True for a bound on an error of 1 or more."""
        return self.quantity == "error" and self.error is not None and self.error >= 1


@dataclass(frozen=True)
class Certificate:
    """The bounds that hold for a fitted model, and those that do not; made by `certify`.

    Printed, it has the best bounds; notebooks show ``describe(verbose=True)``, which has all of them.

    Attributes
    ----------
    model, predictor : str
        The model's class, and its rule of prediction.
    labels : tuple
        The class of each vector; for two classes, the second of them.
    m, epochs : int, float
        Training examples, and passes that were run.
    delta, tau, radius : float
        δ, the probability with which a guarantee may fail; τ, the margin up to which there were updates; R, the largest
        ‖x‖.
    mistakes : tuple of int or None
        The mistakes of each vector; None for a model that was not trained by mistakes.
    support, support_known : tuple of int, bool
        ‖α‖₀ of each vector, and whether it is exact or an upper limit.
    margins : dict of tuple of float
        The margins of the model's vectors and comparators on the training data, for each class.
    bounds : tuple of Bound
        All bounds: those on mistakes, then by predictor.
    measured, test_data : dict of Measured, Assumption or None
        The error of each predictor on the test data, if there are any, and the assumption behind it.
    trained_jointly : bool
        Whether several classes were trained together: then there is one vector, made of all of theirs.
    """

    model: str
    predictor: str
    labels: tuple[Label, ...]
    m: Count
    epochs: float
    delta: Annotated[float, Meta(gt=0, lt=1)]
    tau: float
    radius: float
    mistakes: tuple[Count, ...] | None
    support: tuple[Count, ...]
    support_known: bool
    margins: dict[str, tuple[float, ...]]
    bounds: tuple[Bound, ...]
    measured: dict[str, Measured] = field(default_factory=dict)
    test_data: Assumption | None = None
    trained_jointly: bool = False

    def best(self, kind: Kind = GUARANTEE) -> Bound | None:
        """Return the least guarantee, or "estimate", of an error that applies to this model, or None.

        Each guarantee holds with probability 1 − δ on its own. Those that follow from (7) hold together.
        """
        if kind not in (GUARANTEE, ESTIMATE):
            raise VotronError(
                f"The 'kind' of best must be {GUARANTEE!r} or {ESTIMATE!r}. Got {kind!r} instead.", parameter="kind"
            )
        found = [each for each in self.bounds if each.kind == kind and each.quantity == "error" and each.applies]
        return min(found, key=lambda bound: bound.error or 0.0, default=None)

    @property
    def useful(self) -> Bound | None:
        """The best guarantee that applies, if it is below 50 %."""
        best = self.best()
        return best if best is not None and (best.error or 0.0) < HOPELESS else None

    @property
    def claims(self) -> tuple[Assumption, ...]:
        """Assumptions that could not be verified."""
        found = [a for bound in self.bounds for a in bound.claims]
        if self.test_data is not None:
            found.append(self.test_data)
        return tuple({(a.name, a.because): a for a in found}.values())

    @property
    def summary(self) -> str:
        """The guarantees by theorem and by test data, in a sentence or two."""
        return _rendering.summary(self)

    def advice(self) -> list[str]:
        """Return the changes that would lead to guarantees that are not vacuous, the fewest changes first."""
        return _rendering.advice(self)

    def describe(self, *, verbose: bool = False) -> str:
        """Return the best bounds as text, at most 24 lines of 80 characters; ``verbose`` all bounds, about 40 lines."""
        return _rendering.in_full(self) if verbose else _rendering.in_short(self)

    def to_frame(self) -> Frame:
        """Return the bounds as a pandas DataFrame, one row for each bound and class."""
        import pandas as pd

        return pd.DataFrame(_rendering.rows(self))

    def to_dict(self) -> Params:
        """Return everything as numbers, text, lists and dicts, ready for JSON."""
        plain: Params = msgspec.json.decode(msgspec.json.encode(self))
        for bound, entry in zip(self.bounds, plain["bounds"], strict=True):
            error = None if bound.kind == FACT else bound.error
            entry.update(applies=bound.applies, vacuous=bound.vacuous, error=error, changes=list(bound.changes))
        for name, measured in self.measured.items():
            plain["measured"][name].update(rate=measured.rate, guaranteed=measured.guaranteed(self.delta))
        claims = [{"name": a.name, "because": a.because} for a in self.claims]
        return {**plain, "claims": claims, "advice": self.advice(), "summary": self.summary}

    def plot(self, ax: Axes = None) -> Axes:
        """Draw the bounds beside the measured errors, in a new figure or in these Axes, and return the Axes."""
        return _rendering.draw(self, ax)

    def __str__(self) -> str:
        return f"{self.describe()}\n\ndescribe(verbose=True) lists all bounds with their assumptions."

    def __repr__(self) -> str:
        best = self.best()
        of = f"{best.error:.4f} by {best.name}" if best else "none"
        return f"Certificate({self.model}, {self.predictor}, {self.m} examples; best guarantee that applies: {of})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.describe(verbose=True))}</pre>"


def certify(
    model: Estimator,
    X: RowsLike,
    y: Labels,
    delta: float = 0.05,
    *,
    comparators: Comparators = "auto",
    X_test: RowsLike = None,
    y_test: Labels | None = None,
) -> Certificate:
    """Compute what the theorems guarantee of a fitted model, and check it against its record.

    Parameters
    ----------
    model : fitted classifier
        `VotedPerceptronClassifier`, `AveragedPerceptronClassifier` or `KernelAdatronClassifier`; or a Pipeline that
        ends in one, or a search of scikit-learn's over them.
    X, y : data and labels
        The training data, as they were given to ``fit``, or to all calls of ``partial_fit`` one after another. They
        are compared with the fingerprint in ``model.history_``; other data are refused.
    delta : float, default=0.05
        δ: the probability with which a guarantee may fail.
    comparators : "auto" or sequence, default="auto"
        Vectors whose margins enter the bounds, beside the model's own: "adatron" for the maximal margin, "svm" for the
        soft one, or fitted classifiers of Votron with the same kernel. "auto" takes the adatron on 5,000 examples or
        fewer, and the soft margin where that does not separate them; ``()`` takes none.
    X_test, y_test : data and labels, optional
        Data that were not used for training, to measure errors on.

    Notes
    -----
    Bounds on mistakes are facts about the run. If one is violated, that is an error in Votron, and raised as
    `votron.errors.BoundViolatedError`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.theory import certify
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> kernel = {"kernel": "poly", "degree": 2, "gamma": 1.0}
    >>> model = VotedPerceptronClassifier(**kernel, margin=0.0, epochs=None, rule="last", random_state=0)
    >>> best = certify(model.fit(X, y), X, y).best()
    >>> best.predictor, best.name, round(best.error, 3)
    ('last vector', '(7) with errors', 0.148)
    """
    if (X_test is None) != (y_test is None):
        raise VotronError("X_test and y_test of certify go together. Got only one of them.")
    if not (isinstance(delta, int | float | np.number) and 0 < delta < 1):
        raise VotronError(
            f"The 'delta' of certify must be a number in the range (0, 1). Got {delta!r} instead.", parameter="delta"
        )
    estimator, transform, touched = unwrapped(model, "_for_theory")
    view = estimator._for_theory()
    rows = transform(X)
    evidence: Evidence = _with(touched, view.evidence(rows, y, comparators))
    bounds = tuple(_bound(statement, evidence, float(delta)) for statement in statements_for(evidence))
    _check(evidence, bounds)
    measured, test_data = {}, None
    if X_test is not None:
        tested = transform(X_test)
        measured = view.measured(tested, y_test)
        test_data = check_test_data(rows, tested)
    runs = evidence.runs
    return Certificate(
        model=evidence.model,
        predictor=evidence.predictor,
        labels=tuple(_plain(run.label) for run in runs),
        m=evidence.m,
        epochs=evidence.epochs,
        delta=float(delta),
        tau=evidence.tau,
        radius=evidence.radius,
        mistakes=tuple(int(run.mistakes or 0) for run in runs) if evidence.by_mistakes else None,
        support=tuple(run.support for run in runs),
        support_known=all(run.support_known for run in runs),
        margins={name: tuple(values.min(axis=0).tolist()) for name, values in evidence.candidates.items()},
        bounds=bounds,
        measured=measured,
        test_data=test_data,
        trained_jointly=evidence.trained_jointly,
    )


def _with(touched: list[Assumption], evidence: Evidence) -> Evidence:
    """Return the evidence with the assumptions that pipelines and searches around the model break or add."""
    broken = [each for each in touched if each.holds is False]
    names = {each.name for each in broken}
    others = [each for each in evidence.assumptions if each.holds is not None or each.name not in names]
    claimed = [each for each in touched if each.holds is None]
    return replace(evidence, assumptions=(*others, *broken), always=(*evidence.always, *claimed))


def _bound(statement: Statement, evidence: Evidence, delta: float) -> Bound:
    n = len(evidence.runs)
    found = [statement.evaluate(evidence, c, delta) for c in range(n)]
    # only guarantees depend on δ
    shared = [statement.evaluate(evidence, c, delta / n) for c in range(n)] if statement.kind == GUARANTEE else found
    joint = None
    if statement.joint and evidence.together is not None:
        joint = _finite(statement.evaluate(replace(evidence, runs=(evidence.together,)), 0, delta)[0])
    return Bound(
        name=statement.name,
        formula=statement.formula,
        kind=statement.kind,
        quantity=statement.quantity,
        predictor=statement.predictor,
        values=tuple(_finite(value) for value, _ in found),
        remarks=tuple(remark for _, remark in found),
        total=_finite(sum(value for value, _ in shared)),
        assumptions=statement.assumptions(evidence),
        joint=joint,
    )


def _plain(label: object) -> Label:
    return label if isinstance(label, str | bool | int | float | None) else str(label)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _check(evidence: Evidence, bounds: tuple[Bound, ...]) -> None:
    """Compare the mistakes with the bounds on them, and ‖α‖₀ with the mistakes, which are ‖α‖₁."""
    sentence = "this is an error in Votron. Please report it, with the data and the parameters."
    for c, run in enumerate(evidence.runs):
        if run.mistakes is not None and run.support > run.mistakes:
            raise BoundViolatedError(f"A vector depends on more examples than it made mistakes: {sentence}")
        for bound in bounds:
            value = bound.values[c] if bound.kind == FACT and not bound.failing else None
            if value is not None and (run.mistakes or 0) > value * (1 + SLACK):
                raise BoundViolatedError(
                    f"{run.mistakes} mistakes for class {run.label!r} exceed {value:.6g}, the bound of {bound.name}: "
                    f"{sentence}"
                )
