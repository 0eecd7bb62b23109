"""Two parallel lines: every example is a support vector of the widest margin, the perceptron takes two at most.

``python -m votron.papers.parallel_lines`` counts them, prints the counts as a table, and draws the situation to an
SVG and a PNG file. Needs matplotlib: ``pip install matplotlib``.

It is footnote 2 of Graepel, Herbrich & Williamson, "From margin to sparsity": the examples of either class are on a
line of their own, in the unit ball, and the lines are √2 apart. The origin must be half-way between them. Then the
vector u across the lines has margin γ = 1/√2, R is 1, and the perceptron makes at most (R/γ)² = 2 mistakes in whatever
order the examples come. All examples are as far as γ from the plane of u, which no plane exceeds: each of them is on
the margin, and a support vector by that definition. A solver returns fewer with a coefficient that is not 0, since
the expansion of u is not unique; which ones depends on the solver and on the order of the data.

The four ends of the lines, on the unit circle, are among the examples. So neither class is all to one side of the
other, which would tilt the widest margin; and two mistakes do happen: after an end, the one that with its sign is at
right angles to it scores 0. Any other first example is the only mistake that the perceptron makes. With a threshold,
the constant 1 as a third coordinate, R² is 2 and the bound 4.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from votron._util.plotting import AXIS, GRID, INK, MUTED, STYLE, plain, pyplot, save, title, write_name
from votron._util.progress import counting
from votron._util.text_tables import as_markdown
from votron.errors import VotronError
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers._command_line import add_out, at_least_one, ended, seed_number
from votron.theory import novikoff_bound

__all__ = ["draw", "main"]

Floats = NDArray[np.float64]

HALF = 0.5**0.5
"""Half the distance of the lines, and half the length of the part of each that is in the unit ball."""
N_ENDS = 4
ON_MARGIN = 1e-3
"""How far y·score may be from 1 on the margin."""
COLUMNS = (
    "support",
    "mistakes",
    "support, threshold",
    "mistakes, threshold",
    "adatron α ≠ 0",
    "adatron margin",
    "SVC α ≠ 0",
    "SVC margin",
)
"""The perceptron's support and mistakes, through the origin and with a threshold; coefficients that are not 0 and
examples on the margin of the two machines of the widest margin."""

POSITIVE, NEGATIVE = "#009e73", "#b5588a"
SVM, PERCEPTRON, SOLVER = "#0072b2", "#c8500a", MUTED


@dataclass(frozen=True)
class Sample:
    """Examples in the order in which they are presented, and what the perceptron makes of them."""

    X: Floats
    y: NDArray[np.int64]
    support: NDArray[np.int64]
    v: Floats


@dataclass(frozen=True)
class Counts:
    """For each of `COLUMNS` the counts: a row for each permutation, a column for each number of examples.

    ``drawn`` is the permutation of the smallest sample that takes the perceptron furthest from the widest margin.
    """

    sizes: tuple[int, ...]
    found: dict[str, NDArray[np.int64]]
    drawn: Sample


def lines(n_examples: int, seed: int, order: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Return examples on the two lines, uniform but for the four ends, and their labels, permuted by seed ``order``.

    Examples
    --------
    >>> X, y = lines(20, seed=0)
    >>> bool(np.allclose(X[:, 1], y * HALF)), round(float(np.linalg.norm(X, axis=1).max()), 9), int(y.sum())
    (True, 1.0, 0)
    """
    rng = np.random.default_rng([seed, n_examples])
    along = rng.uniform(-HALF, HALF, n_examples)
    along[:N_ENDS] = -HALF, -HALF, HALF, HALF
    y = np.where(np.arange(n_examples) % 2, 1, -1)
    permuted = np.random.default_rng(order).permutation(n_examples)
    return np.column_stack([along, HALF * y])[permuted], y[permuted]


def perceptron(X: Floats, y: NDArray[np.int64], *, threshold: bool = False) -> VotedPerceptronClassifier:
    """Return the perceptron that got these examples in this order, over and over until a pass makes no mistake.

    Examples
    --------
    >>> perceptron(*lines(1000, seed=0)).n_mistakes_, perceptron(*lines(1000, seed=0), threshold=True).n_mistakes_
    (array([1]), array([2]))
    """
    kernel = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 1.0} if threshold else {"kernel": "linear"}
    return VotedPerceptronClassifier(**kernel, margin=0.0, epochs=None, shuffle=False).fit(X, y)


def counts_of(X: Floats, y: NDArray[np.int64]) -> list[int]:
    """Return the counts of one sample, in the order of `COLUMNS`.

    Examples
    --------
    >>> dict(zip(COLUMNS, counts_of(*lines(100, seed=0))))["SVC margin"]
    100
    """
    found = []
    for threshold in (False, True):
        model = perceptron(X, y, threshold=threshold)
        found += [int(model.n_support_[0]), int(model.n_mistakes_[0])]
    adatron = KernelAdatronClassifier(kernel="linear", tol=1e-6).fit(X, y)
    svc = SVC(kernel="linear", C=1e6, tol=1e-5).fit(X, y)
    for machine in (adatron, svc):
        on_margin = np.abs(y * machine.decision_function(X) - 1) <= ON_MARGIN
        found += [len(machine.support_), int(on_margin.sum())]
    return found


def measure(
    sizes: Sequence[int], *, seed: int, permutations: int, progress: Callable[[int], None] = lambda done: None
) -> Counts:
    """Return the counts for each number of examples and each permutation of them, with seeds seed, seed + 1, ..."""
    found = np.zeros((permutations, len(sizes), len(COLUMNS)), dtype=np.int64)
    for i in range(permutations):
        progress(i)
        for j, n in enumerate(sizes):
            found[i, j] = counts_of(*lines(n, seed, order=seed + i))
    progress(permutations)
    samples = (_sample(*lines(sizes[0], seed, order=seed + i)) for i in range(permutations))
    drawn = max(samples, key=lambda one: abs(one.v[0] / one.v[1]))
    return Counts(tuple(sizes), {name: found[:, :, k] for k, name in enumerate(COLUMNS)}, drawn)


def _sample(X: Floats, y: NDArray[np.int64]) -> Sample:
    model = perceptron(X, y)
    return Sample(X, y, model.support_, model.dual_coef_[0] @ X[model.support_])


def table(counts: Counts) -> str:
    """Return the counts as a Markdown table: of all permutations the least and the most."""
    rows = [["examples", *COLUMNS]]
    for j, n in enumerate(counts.sizes):
        rows.append([f"{n:,}", *(_span(counts.found[name][:, j]) for name in COLUMNS)])
    bounds = [f"{novikoff_bound(radius, HALF):g}" for radius in (1.0, 2**0.5)]
    rows.append(["bound (R/γ)²", *np.repeat(bounds, 2), *[""] * 4])
    return as_markdown(rows)


def _span(values: NDArray[np.int64]) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


# -- the figure -------------------------------------------------------------------------------------------------------


def draw(counts: Counts) -> Any:
    """Return a figure of the smallest sample in the plane, and of the counts against the number of examples."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 5.0), layout="constrained")
        _plane(left, counts.drawn)
        _against_n(right, counts)
    return figure


def _plane(axes: Any, sample: Sample) -> None:
    """Draw the examples, the lines, both planes; ring what is on the margin, fill what the perceptron uses."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, facecolor="none", edgecolor=GRID, linewidth=1.4, zorder=0))
    for height in (-HALF, HALF):
        axes.plot([-1.18, 1.18], [height] * 2, color=AXIS, linewidth=0.9, zorder=1)
    across = np.array([-sample.v[1], sample.v[0]]) / np.hypot(*sample.v)
    axes.plot(*np.array([-across, across]).T, color=PERCEPTRON, linewidth=2.2, zorder=2)
    axes.plot([-1, 1], [0, 0], "--", color=SVM, linewidth=2.2, zorder=2)
    for sign, colour, marker in ((1, POSITIVE, "+"), (-1, NEGATIVE, "_")):
        own = sample.X[sample.y == sign]
        axes.scatter(own[:, 0], own[:, 1], s=34, c=colour, marker=marker, linewidths=1.6, zorder=3)
    axes.scatter(*sample.X.T, s=110, facecolors="none", edgecolors=SVM, linewidths=1.2, zorder=4)
    axes.scatter(*sample.X[sample.support].T, s=110, c=PERCEPTRON, zorder=5)
    low = across if across[1] < 0 else -across
    side = 1 if low[0] > 0 else -1
    write_name(axes, "widest margin", SVM, (-side, 0), (0, -10), ha=_outwards(-side), fontsize=10)
    write_name(axes, "perceptron", PERCEPTRON, 0.6 * low, (-8 * side, -10), ha=_outwards(side), fontsize=10)
    measure = {"arrowstyle": "<->", "color": MUTED, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (1.1, HALF), (1.1, -HALF), arrowprops=measure)
    axes.annotate("√2", (1.14, 0.3), color=MUTED, fontweight="bold", va="center")
    axes.set_aspect("equal")
    axes.set_xlim(-1.32, 1.32)
    axes.set_ylim(-1.1, 1.1)
    axes.axis("off")
    n, k = len(sample.X), len(sample.support)
    title(
        axes,
        "Support vectors: all, or hardly any",
        f"{n} examples + and −; ringed: on the margin; filled: mistakes ({k})",
    )


def _outwards(side: int) -> str:
    """Return how to align a name that ends where the picture does on this side."""
    return "right" if side > 0 else "left"


def _against_n(axes: Any, counts: Counts) -> None:
    """Draw the counts of the support vectors, and bands from the least to the most of all permutations."""
    sizes = counts.sizes
    for name, colour, style in (
        ("SVC margin", SVM, "o-"),
        ("adatron α ≠ 0", SOLVER, "^:"),
        ("SVC α ≠ 0", SOLVER, "s:"),
        ("support", PERCEPTRON, "o-"),
    ):
        found = counts.found[name]
        axes.fill_between(sizes, found.min(0), found.max(0), color=colour, alpha=0.16, linewidth=0)
        axes.plot(sizes, found.mean(0), style, color=colour, linewidth=2.0, markersize=4.5)
    bound = novikoff_bound(1.0, HALF)
    axes.plot(sizes, [bound] * len(sizes), "--", color=INK, linewidth=1.4)
    plain(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.8, sizes[-1] * 1.6)
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("examples (log scale)")
    at = {name: float(found.mean(0)[-1]) for name, found in counts.found.items()}
    names = {
        "perceptron": (at["support"], PERCEPTRON),
        f"bound (R/γ)² = {bound:g}": (bound, INK),
        "SVC, α ≠ 0": (at["SVC α ≠ 0"], SOLVER),
        "adatron, α ≠ 0": (at["adatron α ≠ 0"], SOLVER),
        "on the margin": (at["SVC margin"], SVM),
    }
    least = 0.0
    for name, (height, colour) in sorted(names.items(), key=lambda item: item[1][0]):
        least = max(height, least * (axes.get_ylim()[1] / 0.8) ** 0.05)  # a twentieth of the axis apart
        write_name(axes, name, colour, (sizes[-1], least), (10, 0), ha="left", fontsize=10)
    n = len(counts.found["support"])
    runs = f"mean and range of {n} permutations" if n > 1 else "one permutation"
    title(axes, "More examples, no more mistakes", f"support vectors (log scale), {runs}")


# -- the command ------------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m votron.papers.parallel_lines",
        description="Count and draw the support vectors of both kinds of machine on two parallel lines.",
        allow_abbrev=False,
    )
    add, default = made.add_argument, " (default: %(default)s)"
    sizes = "numbers of examples; the first is drawn (default: 20 60 200 600 2000)"
    add("--sizes", type=at_least_one, nargs="+", default=[20, 60, 200, 600, 2000], metavar="M", help=sizes)
    add("--permutations", type=at_least_one, default=20, metavar="N", help="orders of the examples" + default)
    text = "seed of the examples, and of their first permutation; the next has N + 1" + default
    add("--seed", type=seed_number, default=0, metavar="N", help=text)
    add_out(made, "docs/parallel-lines")
    return made


def _sizes(args: argparse.Namespace) -> list[int]:
    """Return the numbers of examples that the options ask for."""
    if min(args.sizes) < N_ENDS or args.sizes != sorted(set(args.sizes)):
        got = " ".join(map(str, args.sizes))
        raise VotronError(f"--sizes must be ints in the range [{N_ENDS}, inf), each above the last. Got {got} instead.")
    return list(args.sizes)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    args = _parser().parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        with counting(args.permutations, "permutations") as progress:
            counts = measure(_sizes(args), seed=args.seed, permutations=args.permutations, progress=progress)
        print(table(counts))
        print(*save(draw(counts), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
