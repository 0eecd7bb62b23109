"""The result of `explain`: for each row its class, the class it is compared with, and the sums that make its score."""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from votron._util.text import as_text as table
from votron._util.text import counted, shortened
from votron._util.types import Axes, Floats, Frame, Index, Label, Params, Rows
from votron.explanations.features import Effect, with_value

__all__ = ["Explanation", "Explanations", "History", "Term", "Terms"]

_SPANS = 10
_LONGEST_NAME = 84
_SHOWN_COLUMNS = 10


@dataclass(frozen=True)
class Term:
    """The contribution of one example or feature to a score.

    Examples
    --------
    >>> Term(17, "row 17", 12.0, 0.4, 6.0, "3").share
    0.4
    """

    index: int  # row of the training data, or number of the feature
    name: str
    amount: float  # its summand, before the sum is divided: a whole number where data and kernel values are
    share: float  # its part of the score; above 0 it speaks for the class that is explained
    value: float  # of an example its kernel value with the row; of a feature its value in the row, in the data's units
    label: str = ""  # of an example: its class, as far as its mistakes tell, such as "3" or "not 3"
    about: str = ""  # of an example of named features: the columns that are largest in it, with their values
    slot: int = -1  # of an example: its place among the support vectors
    column: str = ""  # of a feature: the column that it was made of, where the row came in a frame
    missing: bool = False  # of a feature: whether the row had no value in that column, and ``value`` was filled in

    def __str__(self) -> str:
        if self.slot < 0:
            return with_value(self.name, self.value, self.column, self.missing)
        label, about = f" ({self.label})" if self.label else "", f": {self.about}" if self.about else ""
        return f"{self.name}{label}{about}"

    def to_dict(self) -> Params:
        """Return what is known of it as plain numbers and text."""
        known = {"value": self.value} if self.slot < 0 else {"kernel": self.value, "label": self.label}
        more = ({"about": self.about} if self.about else {}) | ({"missing": True} if self.missing else {})
        return {"name": self.name, "index": self.index, "share": self.share, **known, **more}


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

    kind: str  # the kind of the terms: "examples" or "features"
    words: str  # whose score it is, such as "the last vector"
    exact: bool  # whether that score is the one that predicts, and not, beside a vote, the mean of the vectors' scores
    largest: tuple[Term, ...]  # those with the largest shares for the class, and those against it, the largest first
    n_for: int  # terms that speak for the class, the largest included
    n_against: int  # terms that speak against it
    amount_for: float  # the sum of their amounts
    amount_against: float
    constant: float  # the part of the intercept; 0 without one
    divisor: float  # the divisor of the sum of all amounts

    @property
    def score(self) -> float:
        return (self.constant + self.amount_for + self.amount_against) / self.divisor

    def side(self, positive: bool) -> tuple[Term, ...]:
        """Return the largest terms for the class, or against it."""
        return tuple(term for term in self.largest if (term.share > 0) == positive)

    def others(self, positive: bool) -> tuple[int, float]:
        """Return how many more terms there are on a side, and what these add to the score."""
        shown = self.side(positive)
        n, amount = (self.n_for, self.amount_for) if positive else (self.n_against, self.amount_against)
        return n - len(shown), (amount - sum(term.amount for term in shown)) / self.divisor

    def rows(self) -> list[Params]:
        """Return a dict for each term, and for the others together, which add up to the score."""
        found = [term.to_dict() for term in self.largest]
        rest = {"others for": self.others(True)[1], "others against": self.others(False)[1]}
        rest["intercept"] = self.constant / self.divisor
        return found + [{"name": name, "index": -1, "share": share} for name, share in rest.items() if share]

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts."""
        found: Params = {"of": self.words, "exact": self.exact, "score": self.score}
        for name, positive in (("for", True), ("against", False)):
            n, share = self.others(positive)
            found[name] = [term.to_dict() for term in self.side(positive)]
            found[f"others_{name}"] = {"number": n, "share": share}
        return found | ({"intercept": self.constant / self.divisor} if self.kind == "features" else {})

    def __str__(self) -> str:
        kind = self.kind.removesuffix("s")
        over = f"Contributions of {counted(self.n_for + self.n_against, kind)} to the"
        head = f"{over} score {self.score:.4g} ({self.words})"
        if not self.exact:
            head = f"{over} mean score of the vectors, {self.score:.4g}; votes count only its sign"
        lines = [[kind, "contribution"]]
        for side, positive in (("for", True), ("against", False)):
            lines += [[shortened(str(term), _LONGEST_NAME), f"{term.share:+.4g}"] for term in self.side(positive)]
            n, share = self.others(positive)
            if n:
                lines.append([f"{counted(n, 'other')} {side}", f"{share:+.4g}"])
        if self.constant:
            lines.append(["intercept", f"{self.constant / self.divisor:+.4g}"])
        return f"{head}\n{table(lines)}"


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

    label: Label  # whose vectors they are
    sign: float  # 1 where their scores speak for the class that is explained, -1 where they speak against it
    born: Index  # after how many examples each vector was born
    survival: Index  # the number of steps that it was alive
    credits: Floats  # its contribution for each of these: in a vote 1 or -1
    n_steps: int  # length of training
    n_examples: int  # length of an epoch

    @property
    def score(self) -> float:
        """The mean over all steps: what the rule gives."""
        return float((self.survival * self.credits).sum()) / max(1, self.n_steps)

    @property
    def share_for(self) -> float:
        """The share of all steps whose vectors scored the row above 0, of a vote the share of votes for the label."""
        return float(self.survival[self.credits > 0].sum()) / max(1, self.n_steps)

    def spans(self, n: int | None = None) -> list[tuple[float, float, float]]:
        """Return the mean in n equal spans of training, by default epochs if few: from, to (in epochs), and mean."""
        epochs = self.n_steps / self.n_examples
        if n is None:
            few = epochs == round(epochs) and 2 <= epochs <= _SPANS
            n = round(epochs) if few else min(_SPANS, max(1, self.n_steps))
        cuts = np.linspace(0, self.n_steps, n + 1)
        begins = np.append(self.born, self.n_steps + 1) - 1.0  # a vector counts from the step of its birth on
        sums = np.concatenate([[0.0], np.cumsum(self.survival * self.credits)])
        at = np.interp(cuts, begins, sums) if len(self.born) else np.zeros(n + 1)
        means, ends = np.diff(at) / np.diff(cuts), cuts / self.n_examples
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), means.tolist(), strict=True))

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts."""
        spans = [{"from": low, "to": high, "mean": mean} for low, high, mean in self.spans()]
        head = {"label": self.label, "sign": self.sign, "score": self.score, "share_for": self.share_for}
        return {**head, "spans": spans}


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

    row: int  # the number of the row in the data that were given
    name: str
    label: Label  # the class that is explained
    against: Label | None  # the class that it is compared with; None where its own score is explained
    predicted: Label  # the class that the model predicts
    score: float  # of the class, minus that of the other; of two classes their one score, with the sign for this one
    rule: str  # the rule that the model scores by
    examples: Terms | None  # the score, or what stands beside it, as a sum over training examples
    features: Terms | None  # the same as a sum over features
    history: tuple[History, ...]  # if vectors vote: their votes on the class and on the one that it is compared with
    missing: Mapping[str, str] = field(default_factory=dict)
    """Columns without a value in the frame's row, and what was filled in: such as "Temp missing, taken as 65"."""
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
        return tuple(each for each in (self.examples, self.features) if each is not None)

    def main_sum(self, *, as_image: bool) -> Terms | None:
        """Return the sum to draw: over examples where there is one, else, or if they are not pixels, over features."""
        if self.features is not None and (self.examples is None or (not as_image and self.features.exact)):
            return self.features
        return self.examples

    @property
    def headline(self) -> str:
        against = "" if self.against is None else f" rather than {self.against}"
        by = f"{'score' if self.against is None else 'by'} {self.score:.4g}"
        other = "" if self.predicted == self.label else f"; predicted is {self.predicted}"
        return f"{self.label}{against}, {by}{other}"

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts, as JSON takes them."""
        return {
            "row": self.name,
            "label": self.label,
            "against": self.against,
            "predicted": self.predicted,
            "score": self.score,
            "rule": self.rule,
            **{terms.kind: terms.to_dict() for terms in self.sums},
            "missing": dict(self.missing),
            "columns": [{"name": each.name, "column": each.column, "change": each.change} for each in self.columns],
            "vectors": [each.to_dict() for each in self.history],
        }

    def plot(self, ax: Axes = None, *, image_shape: tuple[int, int] | None = None) -> Axes:
        """Draw the largest terms, and beneath them how the vectors voted; on ``ax`` the terms alone.

        Rows of 784 and of 64 features without names are taken for images, others by their ``image_shape``.
        """
        from votron.explanations._plot import draw

        return draw(self, ax, image_shape)

    def describe(self, *, verbose: bool = False) -> str:
        """Return columns, else features, else examples as text; ``verbose`` all of these, and the votes."""
        parts = [f"{self.name}: {self.headline} ({self.rule})"]
        shown = [effect for effect in self.columns[:_SHOWN_COLUMNS] if effect.change]
        if self.columns:
            lines = [[shortened(effect.name, _LONGEST_NAME), f"{effect.change:+.4g}"] for effect in shown]
            more = len(self.columns) - len(shown)
            if shown and more:
                lines.append([counted(more, "other column"), f"less than {abs(shown[-1].change):.4g} each"])
            parts.append(table([["column", "effect on the score"], *lines]))
        if verbose and self.history:
            parts.append(self._votes())
        parts += map(str, self.sums if verbose else () if self.columns else self.sums[-1:])
        said = {effect.column for effect in shown}
        said |= {term.column for term in self.features.largest} if self.features is not None else set()
        # A mean, once scaled, is 0 and adds nothing: a missing value need not be among the terms.
        if unsaid := [words for column, words in self.missing.items() if column not in said]:
            parts.append(f"not shown above: {'; '.join(unsaid)}")
        return "\n".join(parts)

    def _votes(self) -> str:
        spans = [history.spans() for history in self.history]
        lines = [["mean vote by epoch", *(f"{low:.3g}-{high:.3g}" for low, high, _ in spans[0]), "all"]]
        for each, means in zip(self.history, spans, strict=True):
            cells = [f"{mean:+.2f}" for _, _, mean in means]
            lines.append([f"{each.label}: {100 * each.share_for:.0f} % in favour", *cells, f"{each.score:+.2f}"])
        return table(lines)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"<Explanation of {self.name}: {self.headline}>"


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

    def to_frame(self) -> Frame:
        """Return the terms as a pandas DataFrame, one row for each, and for all that are not named one by one."""
        import pandas as pd

        rows = []
        for each in self:
            head = {"row": each.name, "label": each.label, "against": each.against}
            rows += [{**head, "kind": terms.kind, **row} for terms in each.sums for row in terms.rows()]
            rows += [{**head, "kind": "columns", "name": of.name, "share": of.change} for of in each.columns]
        return pd.DataFrame(rows)

    def to_dict(self) -> Params:
        """Return everything as plain numbers, text, lists and dicts, as JSON takes them."""
        return {"rows": [each.to_dict() for each in self]}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<Explanations of {counted(len(self), 'row')}>"
