"""The result of `explain`: for each row its class, the class it is compared with, and the sums that make its score."""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from votron._util.text import counted
from votron._util.types import Axes, Floats, Frame, Index, Label, Params, Rows
from votron.errors import VotronError
from votron.explanations import _text
from votron.explanations._sums import Sum
from votron.explanations.columns import Effect
from votron.explanations.features import Features

__all__ = ["Explanation", "Explanations", "History", "Term", "Terms"]


@dataclass(frozen=True)
class Term:
    """The contribution of one example or feature to a score.

    Examples
    --------
    >>> Term(17, "row 17", 12.0, 0.4, 6.0, "3").share
    0.4
    """

    index: int
    """Row of the training data, or number of the feature."""
    name: str
    """Its name, as users know it."""
    amount: float
    """Its summand, before the sum is divided: a whole number where data and kernel values are."""
    share: float
    """Its part of the score; above 0 it speaks for the class that is explained."""
    value: float
    """The kernel value of the example with the row, or the feature's value in the row, in the units of the data as far
    as the steps of a pipeline can be undone."""
    label: str = ""
    """Of an example: its class, as far as its mistakes tell, such as "3" or "not 3"; empty for features."""
    about: str = ""
    """Of an example of named features: the columns that are largest in it, with their values; else empty."""
    slot: int = -1
    """Of an example: its place among the support vectors; -1 for features."""
    column: str = ""
    """Of a feature: the column that it was made of, where the row came in a frame; else empty."""
    missing: bool = False
    """Of a feature: whether the row had no value in that column, and ``value`` was filled in."""


@dataclass(frozen=True)
class Terms:
    """A score as a sum over examples or features: the largest terms, and all others together.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> model = AveragedPerceptronClassifier(average=False, shuffle=False, margin=0.0)
    >>> model = model.fit([[2, 0], [0, 1]], ["no", "yes"])
    >>> terms = model.explain([[1, 3]])[0].features
    >>> [(term.name, term.share) for term in terms.largest], terms.constant, terms.score
    ([('feature 1', 3.0), ('feature 0', -2.0)], 0.0, 1.0)
    """

    kind: str
    """The kind of the terms: "examples" or "features"."""
    words: str
    """Whose score it is, such as "the last vector"."""
    exact: bool
    """Whether that score is the one that predicts. A vote is no sum over examples: theirs is then that of the mean of
    the vectors."""
    largest: tuple[Term, ...]
    """The terms with the largest shares for the class, and those against it, the largest first."""
    n_for: int
    n_against: int
    """Terms that speak for the class, and against it, the largest included."""
    amount_for: float
    amount_against: float
    """The sums of their amounts."""
    constant: float
    """The part of the intercept; 0 without one."""
    divisor: float
    """The divisor of the sum of all amounts."""

    @property
    def score(self) -> float:
        """The sum of everything, divided."""
        return (self.constant + self.amount_for + self.amount_against) / self.divisor

    def side(self, positive: bool) -> tuple[Term, ...]:
        """Return the largest terms for the class, or against it."""
        return tuple(term for term in self.largest if (term.share > 0) == positive)

    def others(self, positive: bool) -> tuple[int, float]:
        """Return how many more terms there are on a side, and what these add to the score."""
        shown = self.side(positive)
        n, amount = (self.n_for, self.amount_for) if positive else (self.n_against, self.amount_against)
        return n - len(shown), (amount - sum(term.amount for term in shown)) / self.divisor


@dataclass(frozen=True, eq=False)
class History:
    """The scores of a row by the vectors of a class, one after another: each step of training counts for the one alive.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> model = VotedPerceptronClassifier(kernel="poly", margin=0.0, random_state=0)
    >>> model = model.fit(*load_iris(return_X_y=True))
    >>> history = model.explain([[6.0, 2.9, 4.5, 1.5]])[0].history[0]
    >>> history.label, [round(mean, 2) for _, _, mean in history.spans(3)]
    (1, [-0.05, 0.12, 0.14])
    """

    label: Label
    """Whose vectors they are."""
    sign: float
    """1 where their scores speak for the class that is explained, -1 where they speak against it."""
    born: Index
    """After how many examples each vector was born."""
    survival: Index
    """The number of steps that it was alive."""
    credits: Floats
    """Its contribution for each of these: in a vote 1 or -1."""
    n_steps: int
    n_examples: int
    """Length of training, and of an epoch."""

    @property
    def score(self) -> float:
        """The mean over all steps: what the rule gives."""
        return float((self.survival * self.credits).sum()) / max(1, self.n_steps)

    @property
    def share_for(self) -> float:
        """The share of all steps whose vectors scored the row above 0, of a vote the share of votes for the label."""
        return float(self.survival[self.credits > 0].sum()) / max(1, self.n_steps)

    def spans(self, n: int) -> list[tuple[float, float, float]]:
        """Return the mean in each of n spans of training, as long as one another: from, to (in epochs), and mean."""
        cuts = np.linspace(0, self.n_steps, n + 1)
        begins = np.append(self.born, self.n_steps + 1) - 1.0  # a vector counts from the step of its birth on
        sums = np.concatenate([[0.0], np.cumsum(self.survival * self.credits)])
        at = np.interp(cuts, begins, sums) if len(self.born) else np.zeros(n + 1)
        means = np.diff(at) / np.diff(cuts)
        epochs = cuts / self.n_examples
        return [(float(epochs[i]), float(epochs[i + 1]), float(means[i])) for i in range(n)]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one row has its label.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(kernel="poly", rule="last", margin=0.0, random_state=0).fit(X, y)
    >>> why = model.explain(X[[60]], top=1)[0]
    >>> why.label, why.against, bool(abs(why.examples.score - why.score) < 1e-9 * abs(why.score))
    (1, 0, True)
    """

    row: int
    """The number of the row in the data that were given."""
    name: str
    """Its name, as users know it."""
    label: Label
    """The class that is explained."""
    against: Label | None
    """The class that it is compared with; None where its own score is explained."""
    predicted: Label
    """The class that the model predicts."""
    score: float
    """The score of the class, minus that of the other: what is explained. Of two classes there is one score, positive
    for the class that is explained."""
    rule: str
    """The rule that the model scores by."""
    examples: Terms | None
    features: Terms | None
    """The score, or what stands beside it, as a sum over training examples, and over features."""
    history: tuple[History, ...]
    """If vectors vote: their votes on the class and on the one that it is compared with."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Columns without a value in the row, which came in a frame, with that and what was filled in, in words: such as
    "Temp missing, taken as 65"."""
    _effects: Callable[[], tuple[Effect, ...]] | None = None
    _pixels: Rows = None
    _support: Rows = None

    @cached_property
    def columns(self) -> tuple[Effect, ...]:
        """The effect of the value of each column on the score, the largest first.

        With a kernel that is not linear, of rows whose features have names.
        """
        return () if self._effects is None else self._effects()

    def __getstate__(self) -> Params:
        return {**self.__dict__, "columns": self.columns, "_effects": None}

    @property
    def sums(self) -> tuple[Terms, ...]:
        """The sums that there are."""
        return tuple(each for each in (self.examples, self.features) if each is not None)

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts, as JSON takes them."""
        return _text.as_dict(self)

    def plot(self, ax: Axes = None, *, image_shape: tuple[int, int] | None = None) -> Axes:
        """Draw the largest terms, and beneath them how the vectors voted; on ``ax`` the terms alone.

        Rows of 784 and of 64 features without names are taken for images of 28 by 28 and 8 by 8 pixels, others by
        their ``image_shape``.
        """
        from votron.explanations._plot import draw

        return draw(self, ax, image_shape)

    def describe(self, *, verbose: bool = False) -> str:
        """Return the largest terms as text; ``verbose`` also those of examples beside columns, and the votes."""
        return _text.as_text(self, verbose)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"<Explanation of {self.name}: {_text.headline(self)}>"


class Explanations(UserList[Explanation]):
    """Why rows have their labels, one `Explanation` each; made by ``model.explain(X)`` and `votron.explain`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier("poly", 2, 1.0, margin=0.0, rule="last", random_state=0)
    >>> model = model.fit(X[:1000], y[:1000])
    >>> found = model.explain(X[[1003, 1004]], top=2)
    >>> len(found), found[0]
    (2, <Explanation of row 0: 5 rather than 3, by 2.523e+07>)
    >>> print(found[0])
    row 0: 5 rather than 3, by 2.523e+07 (last)
    Contributions of 122 examples to the score 2.523e+07 (the last vector)
    example            contribution
    row 5 (5)            +5.942e+07
    row 421 (5)          +5.056e+07
    56 others for        +6.216e+08
    row 37 (9)           -5.102e+07
    row 449 (3)          -4.973e+07
    62 others against    -6.056e+08
    """

    def rows(self) -> list[Params]:
        """Return a dict for each term of each row: the rows of `to_frame`."""
        return [row for each in self for row in _text.rows_of(each)]

    def to_frame(self) -> Frame:
        """Return all terms as a pandas DataFrame, a row for each.

        Terms that are not named one by one have the name "others", and the index -1.
        """
        return framed(self.rows())

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts, as JSON takes them."""
        return {"rows": [each.to_dict() for each in self]}

    def plot(self, ax: Axes = None, *, image_shape: tuple[int, int] | None = None) -> Axes:
        """Draw the only row; of several, draw each by itself: ``explanations[i].plot()``."""
        if len(self) != 1:
            raise VotronError(f"There are {len(self)} rows to draw: draw one, as in explanations[0].plot().")
        return self[0].plot(ax, image_shape=image_shape)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<Explanations of {counted(len(self), 'row')}>"


def framed(rows: list[Params]) -> Frame:
    """Return rows as a pandas DataFrame."""
    import pandas as pd

    return pd.DataFrame(rows)


# -- from sums --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Namer:
    """Names of examples and features, and other facts about them."""

    support: Index
    support_rows: Rows | None
    support_labels: list[str]
    row_names: Mapping[int, str]
    features: Features | None
    first: int

    def term(self, kind: str, i: int, amount: float, value: float, divisor: float, row: int) -> Term:
        """Return a term of the score of a row, with names."""
        share = amount / divisor
        if kind == "features":
            if self.features is None:
                return Term(i, f"feature {i + self.first}", amount, share, value)
            value, column = self.features.value(i, value), self.features.of_frame(i)
            missing = self.features.is_missing(i, row)
            return Term(i, self.features.names[i], amount, share, value, column=column, missing=missing)
        example = int(self.support[i])
        name = self.row_names.get(example, f"row {example + self.first}")
        return Term(example, name, amount, share, value, self.support_labels[i], self._about(i), slot=i)

    def _about(self, i: int) -> str:
        if self.features is None or self.support_rows is None or not self.support_rows.shape[1]:
            return ""
        return self.features.described(self.support_rows[[i]])


def terms_of(found: Sum, top: int | None, namer: Namer, row: int) -> Terms:
    """Return the sum of a row with its largest terms named."""
    order = np.argsort(-np.abs(found.amounts), kind="stable")
    sides = [order[found.amounts[order] > 0], order[found.amounts[order] < 0]]
    largest = [
        namer.term(found.kind, int(found.ids[i]), float(found.amounts[i]), float(found.values[i]), found.divisor, row)
        for side in sides
        for i in side[:top]
    ]
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
