"""Winnow beside the perceptron: mistakes on a disjunction against the number of attributes, most of them irrelevant.

``python -m votron.papers.winnow`` measures them, prints them as a table, and draws them to an SVG and a PNG file.
Needs matplotlib: ``pip install matplotlib``.

The target is a disjunction of k of n Boolean attributes. Its attributes are on, independently, as often as makes half
of the examples positive; each of the n − k others is on in half of the examples, whatever the label. That many active
irrelevant attributes is what the two differ in (Kivinen, Warmuth & Auer, 1997): the length of an example, and with it
the noise that each of the perceptron's additions brings along, grows with √n, while Winnow's bound does not notice.
Both see the same sample in the same order, over and over until a pass makes no mistake. The sample has the same size
for all n, and at least four times as many examples as attributes: about two times as many can be told apart whatever
their labels (Cover, 1965), and the perceptron would stop early for having learnt them by heart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.plotting import MUTED, STYLE, plain, pyplot, save, title, write_name
from votron._util.progress import counting
from votron._util.text_tables import as_markdown
from votron.errors import VotronError
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.winnow import WinnowClassifier
from votron.papers._command_line import add_out, at_least_one, ended, seed_number
from votron.theory import disjunction_mistake_bound

__all__ = ["draw", "main"]

WINNOW, PERCEPTRON, BOUND = "#1f4e9c", "#c8641b", MUTED
SMALLEST = 16
ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Counts:
    """Mistakes until a pass made none: one row for each run, one column for each number of attributes."""

    n_literals: int
    n_examples: int
    sizes: tuple[int, ...]
    winnow: NDArray[np.int64]
    perceptron: NDArray[np.int64]

    @property
    def bound(self) -> list[float]:
        """Littlestone's bound for each number of attributes."""
        return [disjunction_mistake_bound(n, self.n_literals) for n in self.sizes]


def sample(n_features: int, n_literals: int, n_examples: int, seed: int) -> tuple[Any, NDArray[np.bool_]]:
    """Return random examples, as CSR, and whether any of their first ``n_literals`` attributes is on.

    Examples
    --------
    >>> X, y = sample(n_features=50, n_literals=3, n_examples=1000, seed=0)
    >>> X.shape, bool((X[:, :3].toarray().any(axis=1) == y).all())
    ((1000, 50), True)
    >>> bool(0.45 < y.mean() < 0.55), bool(0.45 < X[:, 3:].mean() < 0.55)
    (True, True)
    """
    rng = np.random.default_rng([seed, n_features])
    parts, labels = [], []
    for start in range(0, n_examples, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, n_examples - start)
        bits = rng.integers(0, 2, (rows, n_features), dtype=np.uint8)
        bits[:, :n_literals] = rng.random((rows, n_literals)) < 1 - 0.5 ** (1 / n_literals)
        labels.append(bits[:, :n_literals].any(axis=1))
        parts.append(sp.csr_matrix(bits))
    return sp.vstack(parts, format="csr"), np.concatenate(labels)


def winnow_mistakes(X: Any, y: NDArray[np.bool_]) -> int:
    """Return how many mistakes Winnow makes until it makes none in a pass.

    Examples
    --------
    >>> winnow_mistakes(*sample(n_features=64, n_literals=3, n_examples=1000, seed=0))
    30
    """
    return int(WinnowClassifier(epochs=None, shuffle=False).fit(X, y).n_mistakes_[0])


def perceptron_mistakes(X: Any, y: NDArray[np.bool_]) -> int:
    """Return how many mistakes the perceptron with a bias makes until it makes none in a pass.

    Examples
    --------
    >>> perceptron_mistakes(*sample(n_features=64, n_literals=3, n_examples=1000, seed=0))
    200
    """
    model = AveragedPerceptronClassifier(
        margin=0.0, epochs=None, shuffle=False
    )  # how it would predict does not matter here
    return int(model.fit(X, y).n_mistakes_[0])


def measure(
    sizes: Sequence[int],
    *,
    n_literals: int,
    n_examples: int,
    seeds: Sequence[int],
    progress: Callable[[int, int], None] = lambda run, n_runs: None,
) -> Counts:
    """Return the mistakes of both for each number of attributes and each seed."""
    found = np.zeros((2, len(seeds), len(sizes)), dtype=np.int64)
    for i, seed in enumerate(seeds):
        progress(i + 1, len(seeds))
        for j, n in enumerate(sizes):
            X, y = sample(n, n_literals, n_examples, seed)
            found[:, i, j] = winnow_mistakes(X, y), perceptron_mistakes(X, y)
    return Counts(n_literals, n_examples, tuple(sizes), *found)


def table(counts: Counts) -> str:
    """Return the means as a Markdown table."""
    rows = [["attributes n", "Winnow", "Littlestone's bound", "perceptron", "perceptron / n"]]
    means = zip(counts.sizes, counts.winnow.mean(0), counts.bound, counts.perceptron.mean(0), strict=True)
    rows += [[f"{n:,}", f"{w:.1f}", f"{b:g}", f"{p:,.1f}", f"{p / n:.2f}"] for n, w, b, p in means]
    return as_markdown(rows)


# -- the figure -------------------------------------------------------------------------------------------------------


def draw(counts: Counts) -> Any:
    """Return a figure of the mistakes twice: against n, and against log n up to what Winnow needs."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
        for axes in (left, right):
            _lines(axes, counts)
        _against_n(left, counts)
        _against_log_n(right, counts)
    return figure


def _lines(axes: Any, counts: Counts) -> None:
    """Draw means, and bands from the least to the most of all runs."""
    for mistakes, colour in ((counts.perceptron, PERCEPTRON), (counts.winnow, WINNOW)):
        axes.fill_between(counts.sizes, mistakes.min(0), mistakes.max(0), color=colour, alpha=0.22, linewidth=0)
        axes.plot(counts.sizes, mistakes.mean(0), "o-", color=colour, linewidth=2.2, markersize=4.5)
    plain(axes)


def _against_n(axes: Any, counts: Counts) -> None:
    """Dress the left panel, in which the perceptron's line is straight."""
    largest, top = counts.sizes[-1], float(counts.perceptron.max())
    axes.set_xlim(0, largest * 1.04)
    axes.set_ylim(0, top * 1.06)
    ticks = [largest * i // 4 for i in range(5)]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("attributes n")
    note = f"mistakes on a disjunction of {counts.n_literals} of n attributes"
    title(axes, "The perceptron’s mistakes grow with n", note)
    write_name(axes, "perceptron", PERCEPTRON, (largest * 0.6, top * 0.68), ha="right")
    write_name(axes, "Winnow", WINNOW, (largest * 0.6, top * 0.045), ha="left")


def _against_log_n(axes: Any, counts: Counts) -> None:
    """Dress the right panel, in which Winnow's is."""
    sizes, bound = counts.sizes, counts.bound
    axes.plot(sizes, bound, "--", color=BOUND, linewidth=1.6)
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] * 0.93, sizes[-1] * 1.12)
    axes.set_ylim(0, bound[-1] * 1.12)
    axes.set_xticks(sizes[::2], [f"{n:,}" for n in sizes[::2]])
    axes.minorticks_off()
    axes.set_xlabel("attributes n (log scale)")
    title(axes, "Winnow’s mistakes grow with log n", f"the same, close up; {_runs(counts)}")
    write_name(axes, "Winnow", WINNOW, (sizes[-3], float(counts.winnow.mean(0)[-3]) * 0.86), ha="left", va="top")
    write_name(axes, "Littlestone’s bound", BOUND, (sizes[-3] * 0.75, bound[-3] * 0.98), ha="right", va="bottom")
    # The perceptron leaves this panel at once; its name stands beside where it does.
    beyond = int(np.argmax(counts.perceptron.mean(0) > bound[-1]))
    write_name(axes, "perceptron", PERCEPTRON, (sizes[beyond] * 1.25, bound[-1] * 1.05), ha="left")


def _runs(counts: Counts) -> str:
    n = len(counts.winnow)
    return f"mean and range of {n} runs" if n > 1 else "one run"


# -- the command ------------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m votron.papers.winnow",
        description="Draw the mistakes of Winnow and of the perceptron against the number of attributes.",
        allow_abbrev=False,
    )
    numbers = {
        "--literals": (3, "K", "attributes in the disjunction"),
        "--largest": (4096, "N", "the most attributes; the least are 16, doubled until here"),
        "--examples": (16384, "M", "size of the sample, at least four times the most attributes"),
        "--runs": (10, "N", "samples for each number of attributes, for the mean"),
    }
    for name, (default, metavar, text) in numbers.items():
        text += " (default: %(default)s)"
        made.add_argument(name, type=at_least_one, default=default, metavar=metavar, help=text)
    text = "seed of the first run; the next has N + 1 (default: %(default)s)"
    made.add_argument("--seed", type=seed_number, default=0, metavar="N", help=text)
    add_out(made, "docs/winnow")
    return made


def _sizes(args: argparse.Namespace) -> list[int]:
    """Return the numbers of attributes that the options ask for."""
    if args.literals > SMALLEST:
        raise VotronError(f"--literals must be an int in the range [1, {SMALLEST}]. Got {args.literals} instead.")
    if args.largest < 4 * SMALLEST:
        raise VotronError(f"--largest must be an int in the range [{4 * SMALLEST}, inf). Got {args.largest} instead.")
    if args.examples < 4 * args.largest:
        raise VotronError(
            f"--examples must be at least four times --largest, {4 * args.largest}, so that the perceptron cannot "
            f"learn them by heart. Got {args.examples} instead."
        )
    return [SMALLEST << i for i in range((args.largest // SMALLEST).bit_length())]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    args = _parser().parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        sizes = _sizes(args)
        seeds = range(args.seed, args.seed + args.runs)
        how = {"n_literals": args.literals, "n_examples": args.examples, "seeds": seeds}
        with counting(len(seeds), "runs") as report:
            counts = measure(sizes, **how, progress=lambda run, _: report(run - 1))
            report(len(seeds))
        print(table(counts))
        print(*save(draw(counts), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
