"""Many permutations of one sample, many consistent sparse classifiers: what they share, and how they err.

``python -m votron.papers.permutations`` trains the perceptron on permutations of one sample until a pass makes no
mistake, prints how the supports overlap and how the test errors spread, and draws both to an SVG and a PNG file. Needs
matplotlib: ``pip install matplotlib``.

Graepel, Herbrich & Williamson, "From margin to sparsity", section 4: "for a given training sample Z it is not unlikely
that by permutation of Z there exist O(C(m, κ)) many different consistent sparse classifiers". The problem is one label
of scikit-learn's digits against the rest, or of MNIST with ``--data``: raw pixels, the kernel (1 + x·z)^degree. Each
permutation has its own support, the examples with a mistake, and the bound (7) on its error; each speaks of a
permutation chosen before the data are seen, not of the best of many. Beside them stands the support vector machine
with a hard margin, scikit-learn's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.svm import SVC

from votron._util.plotting import MUTED, STYLE, plain, pyplot, save, title, write_name
from votron._util.progress import counting
from votron._util.text_tables import as_markdown
from votron.errors import VotronError
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers._command_line import add_out, ended
from votron.papers._one_vs_rest import Data, consistent, name_of, parser, problem
from votron.theory import compression_bound

__all__ = ["draw", "main"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DELTA = 0.05
"""The probability with which the bound (7) may fail."""
N_BINS = 10
PERCEPTRON, SVM, CHANCE = "#c8641b", "#1f4e9c", MUTED


@dataclass(frozen=True)
class Machine:
    """A consistent classifier: the examples that it depends on, and where it errs on the test data."""

    support: Bools
    wrong: Bools
    mistakes: int

    @property
    def error(self) -> float:
        """Test error in percent."""
        return 100 * float(self.wrong.mean())

    @property
    def bound(self) -> float:
        """The bound (7) on the error, in percent."""
        return 100 * compression_bound(len(self.support), int(self.support.sum()), DELTA)


@dataclass(frozen=True)
class Spread:
    """Perceptrons of many permutations, and the support vector machine unless it was left out."""

    name: str
    perceptrons: tuple[Machine, ...]
    svm: Machine | None

    @property
    def supports(self) -> Bools:
        """Which examples are in which support: a row for each permutation."""
        return np.array([one.support for one in self.perceptrons])

    @property
    def occurrences(self) -> NDArray[np.int64]:
        """In how many supports each example is."""
        return np.asarray(self.supports.sum(axis=0), dtype=np.int64)

    @property
    def jaccard(self) -> float:
        """Mean over all pairs of supports: what both have, as a share of what either has."""
        both = self.supports.astype(np.float64) @ self.supports.T
        either = both.diagonal()[:, None] + both.diagonal() - both
        return _mean_of_pairs(both / either)

    @property
    def jaccard_by_chance(self) -> float:
        """About what it would be if the same numbers of examples were drawn at random."""
        size, m = self.supports.sum(axis=1).astype(np.float64), self.supports.shape[1]
        both = np.outer(size, size) / m
        return _mean_of_pairs(both / (size[:, None] + size - both))

    @property
    def agreement(self) -> float:
        """Mean over all pairs of permutations: the share of test examples with the same prediction, in percent."""
        wrong = np.array([one.wrong for one in self.perceptrons], dtype=np.float64)
        same = wrong @ wrong.T + (1 - wrong) @ (1 - wrong).T
        return 100 * _mean_of_pairs(same / wrong.shape[1])


def _mean_of_pairs(matrix: Floats) -> float:
    return float(matrix[np.triu_indices(len(matrix), k=1)].mean())


def train(data: Data, degree: int, seed: int) -> Machine:
    """Return the last vector of the perceptron that converged on this permutation.

    Examples
    --------
    >>> one = train(problem(0), degree=4, seed=0)
    >>> int(one.support.sum()), one.mistakes, round(one.error, 2)
    (16, 16, 0.5)
    """
    X, y, X_test, y_test = data
    model = VotedPerceptronClassifier(
        kernel="poly", margin=0.0, degree=degree, gamma=1.0, epochs=None, rule="last", random_state=seed
    )
    consistent(model, X, y)
    return _machine(model.support_, len(X), model.predict(X_test) != y_test, int(model.n_mistakes_[0]))


def _machine(support: NDArray[Any], m: int, wrong: Bools, mistakes: int) -> Machine:
    return Machine(np.isin(np.arange(m), support), wrong, mistakes)


def hard_margin(data: Data, degree: int) -> Machine:
    """Return scikit-learn's support vector machine with the same kernel, and no slack to speak of.

    Examples
    --------
    >>> int(hard_margin(problem(0), degree=4).support.sum()) > 16
    True
    """
    X, y, X_test, y_test = data
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    # The same planes as (1 + x·z)^degree, with values near 1 that the solver's tolerance is made for.
    scale = 1.0 / float(np.mean(np.square(X).sum(axis=1) + 1))
    model = SVC(kernel="poly", degree=degree, gamma=scale, coef0=scale, C=1e9, tol=1e-5).fit(X, y)
    if (model.predict(X) != y).any():
        raise VotronError("The support vector machine errs on its training data: raise --degree.")
    return _machine(model.support_, len(X), model.predict(X_test) != y_test, 0)


def measure(
    data: Data,
    name: str,
    *,
    degree: int,
    seeds: Sequence[int],
    with_svm: bool = True,
    progress: Callable[[int], None] = lambda done: None,
) -> Spread:
    """Train on each permutation, and the support vector machine."""
    found = []
    for done, seed in enumerate(seeds):
        progress(done)
        found.append(train(data, degree, seed))
    progress(len(seeds))
    return Spread(name, tuple(found), hard_margin(data, degree) if with_svm else None)


# -- the tables -------------------------------------------------------------------------------------------------------


def table(spread: Spread) -> str:
    """Return the spread over permutations as a Markdown table, beside the support vector machine's numbers."""
    svm = spread.svm
    rows = [["", "least", "mean", "most", *(["SVM"] if svm else [])]]
    for name, form, of in (
        ("support", "{:,.4g}", lambda one: int(one.support.sum())),
        ("mistakes", "{:,.4g}", lambda one: one.mistakes),
        ("test error %", "{:.2f}", lambda one: one.error),
        ("bound (7) %", "{:.1f}", lambda one: one.bound),
    ):
        values = [of(one) for one in spread.perceptrons]
        rows.append([name, *(form.format(f(values)) for f in (min, np.mean, max))])
        if svm:
            rows[-1].append("" if name == "mistakes" else form.format(of(svm)))
    return as_markdown(rows)


def overlap(spread: Spread) -> str:
    """Return what the supports share as a Markdown table."""
    times, supports = spread.occurrences, spread.supports
    n, always = len(supports), supports.all(axis=0)
    wrong = np.array([one.wrong for one in spread.perceptrons])
    rows = [
        ["permutations", f"{n:,}"],
        ["different supports", f"{len(np.unique(supports, axis=0)):,}"],
        ["examples", f"{len(times):,}"],
        ["in some support", f"{(times > 0).sum():,}"],
        ["in every support", f"{always.sum():,}"],
        *([["in every support and the SVM's", f"{(always & spread.svm.support).sum():,}"]] if spread.svm else []),
        ["mean pairwise Jaccard", f"{spread.jaccard:.3f}"],
        ["the same by chance", f"{spread.jaccard_by_chance:.3f}"],
        ["mean pairwise agreement on test examples, %", f"{spread.agreement:.2f}"],
        ["test examples on which all agree, %", f"{100 * (wrong == wrong[0]).all(axis=0).mean():.2f}"],
    ]
    return as_markdown([["supports", ""], *rows])


def bins(spread: Spread) -> list[tuple[int, int, int, float]]:
    """Return the histogram: from and to how many supports, so many examples, and so many by chance."""
    times, n = spread.occurrences, len(spread.perceptrons)
    edges = np.unique(np.linspace(0, n, min(n, N_BINS) + 1).astype(np.int64))
    below = binom(n, float(spread.supports.mean())).cdf
    found = [(0, 0, int((times == 0).sum()), len(times) * float(below(0)))]
    for low, high in zip(edges[:-1] + 1, edges[1:], strict=True):
        inside = int(((times >= low) & (times <= high)).sum())
        found.append((int(low), int(high), inside, len(times) * float(below(high) - below(low - 1))))
    return found


def histogram(spread: Spread) -> str:
    """Return the histogram as a Markdown table."""
    rows = [["in so many supports", "examples", "by chance"]]
    rows += [[_range(low, high), f"{n:,}", f"{chance:,.1f}"] for low, high, n, chance in bins(spread)]
    return as_markdown(rows)


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"


# -- the figure -------------------------------------------------------------------------------------------------------


def draw(spread: Spread) -> Any:
    """Return a figure: in how many supports the examples are, and the errors against the sizes of the supports."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
        _histogram(left, spread)
        _errors(right, spread)
    return figure


def _histogram(axes: Any, spread: Spread) -> None:
    """Draw the left panel: bars, and the steps that chance would make of them."""
    found = bins(spread)
    at = np.arange(len(found))
    axes.bar(at, [n for _, _, n, _ in found], width=0.8, color=PERCEPTRON)
    for x, (_, _, n, _) in zip(at, found, strict=True):
        axes.annotate(f"{n:,}", (x, n), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    chance = [c for _, _, _, c in found]
    axes.plot(at, chance, "_", color=CHANCE, markersize=26, markeredgewidth=2.2)
    plain(axes)
    axes.grid(False, axis="x")
    axes.set_xticks(at, [_range(low, high) for low, high, _, _ in found], rotation=40, ha="right", fontsize=9.5)
    axes.set_xlabel("in so many supports")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(0, 1.12 * max(max(chance), *(n for _, _, n, _ in found)))
    top = int(np.argmax(chance))
    write_name(axes, "by chance", CHANCE, (top + 0.55, chance[top]), (0, 0), ha="left")
    n = len(spread.perceptrons)
    title(axes, "Each permutation has its own support", f"{len(spread.occurrences):,} examples; {n} permutations")


def _errors(axes: Any, spread: Spread) -> None:
    """Draw the right panel: a dot for each permutation, and the support vector machine."""
    sizes = [int(one.support.sum()) for one in spread.perceptrons]
    errors = [one.error for one in spread.perceptrons]
    middle = ((min(sizes) + max(sizes)) / 2, max(errors))
    axes.scatter(sizes, errors, s=34, color=PERCEPTRON, alpha=0.5, linewidths=0)
    if spread.svm:
        sizes, errors = [*sizes, int(spread.svm.support.sum())], [*errors, spread.svm.error]
        svm = (sizes[-1], errors[-1])
        axes.plot(*svm, "*", color=SVM, markersize=17)
        write_name(axes, f"SVM\nbound (7) {spread.svm.bound:.0f} %", SVM, svm, (0, 24))
    plain(axes)
    low, high = min(sizes), max(sizes)
    axes.set_xlim(low - 0.08 * (high - low) - 1, high + 0.22 * (high - low) + 1)
    axes.set_ylim(0, 1.25 * max(*errors, 0.1))
    axes.set_xlabel("support: examples that the classifier depends on")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    bounds = [one.bound for one in spread.perceptrons]
    text = f"perceptrons\nbound (7) {min(bounds):.0f} to {max(bounds):.0f} %"
    write_name(axes, text, PERCEPTRON, middle, (0, 24))
    title(axes, "Each is consistent; their errors vary", f"test error; {spread.name}")


# -- the command ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = parser("permutations", "Compare the perceptrons of many permutations of one sample.", permutations=100)
    text = "leave out the support vector machine, which takes long on MNIST"
    options.add_argument("--no-svm", action="store_true", help=text)
    add_out(options, "docs/permutations")
    args = options.parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        if args.permutations < 2:
            raise VotronError(f"--permutations must be an int in the range [2, inf). Got {args.permutations} instead.")
        data, seeds = problem(args.label, args.data), range(args.seed, args.seed + args.permutations)
        how = {"degree": args.degree, "seeds": seeds, "with_svm": not args.no_svm}
        with counting(len(seeds), "permutations") as progress:
            spread = measure(data, name_of(args), **how, progress=progress)
        print(table(spread), overlap(spread), histogram(spread), sep="\n\n")
        print(*save(draw(spread), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
