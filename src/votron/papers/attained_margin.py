"""The worth of ``margin=τ``: the margin that the perceptron attains, as a fraction of the largest that any vector has.

``python -m votron.papers.attained_margin`` measures it, prints it as a table, and draws it to an SVG and a PNG
file. Needs matplotlib: ``pip install matplotlib``.

The perceptron updates where y·score ≤ τ K(x, x), until a pass makes no update. The kernel is normalised, so every
example has length 1, and with γ* the largest margin:

==========  =============================================================================================
updates     k ≤ (1 + 2τ)/γ*²: each adds γ* or more to v·u, and 1 + 2τ at most to ‖v‖²
length      hence ‖v‖ ≤ √(k (1 + 2τ)) ≤ (1 + 2τ)/γ*
margin      at the end y (v·x) > τ for all, so the margin is above τ/‖v‖ ≥ γ* τ/(1 + 2τ)
==========  =============================================================================================

The fraction that is guaranteed is 0 at τ = 0 and grows to one half. γ* is the kernel adatron's, which proves that no
vector has a margin more than a ten-thousandth above its own. The problem is that of `votron.papers.permutations`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from votron._util.plotting import MUTED, STYLE, plain, pyplot, save, title, write_name
from votron._util.progress import counting
from votron._util.text_tables import as_markdown
from votron.errors import VotronError
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers._command_line import add_out, ended
from votron.papers._one_vs_rest import Data, consistent, name_of, parser, problem
from votron.theory import margins, novikoff_bound

__all__ = ["draw", "main"]

Floats = NDArray[np.float64]

TAUS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MEASURED, PROMISED, BEST = "#c8641b", MUTED, "#1f4e9c"


@dataclass(frozen=True)
class Attained:
    """What was measured: one row for each permutation, one column for each τ; errors in percent."""

    name: str
    taus: tuple[float, ...]
    best: float
    best_error: float
    margin: Floats
    updates: Floats
    support: Floats
    error: Floats

    @property
    def fraction(self) -> Floats:
        """Attained margins as fractions of γ*."""
        return self.margin / self.best

    @property
    def guaranteed(self) -> list[float]:
        """The least fraction for each τ, by the theory."""
        return [guaranteed_fraction(tau) for tau in self.taus]

    @property
    def most_updates(self) -> list[float]:
        """The most updates for each τ, by the theory."""
        return [(1 + 2 * tau) * novikoff_bound(1.0, self.best) for tau in self.taus]


def guaranteed_fraction(tau: float) -> float:
    """Return the least fraction of γ* that the perceptron attains on examples of length 1: τ/(1 + 2τ).

    Examples
    --------
    >>> [round(guaranteed_fraction(tau), 3) for tau in (0, 1, 10)]
    [0.0, 0.333, 0.476]
    """
    return tau / (1 + 2 * tau)


def widest(data: Data, degree: int) -> tuple[float, float]:
    """Return γ* and the test error, in percent, of the vector that attains it.

    Examples
    --------
    >>> margin, error = widest(problem(8), degree=4)
    >>> round(margin, 4), round(error, 2)
    (0.051, 1.01)
    """
    X, y, X_test, y_test = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelAdatronClassifier(degree=degree, gamma=1.0, normalize_kernel=True, tol=1e-4).fit(X, y)
    if not model.converged_:
        raise VotronError("The adatron found no margin that all examples keep: raise --degree.")
    return float(model.margin_[0]), 100 * float(np.mean(model.predict(X_test) != y_test))


def train(data: Data, degree: int, tau: float, seed: int) -> tuple[float, int, int, float]:
    """Return the margin that the perceptron attained, its updates, its support and its test error in percent.

    Examples
    --------
    >>> margin, updates, _, _ = train(problem(8), degree=4, tau=1.0, seed=0)
    >>> round(margin, 4), updates
    (0.032, 518)
    """
    X, y, X_test, y_test = data
    model = VotedPerceptronClassifier(
        kernel="poly",
        degree=degree,
        gamma=1.0,
        normalize_kernel=True,
        margin=tau,
        epochs=None,
        rule="last",
        random_state=seed,
    )
    consistent(model, X, y)
    attained = float(margins(model, X, y).unnormalized[0])
    wrong = 100 * float(np.mean(model.predict(X_test) != y_test))
    return attained, int(model.n_mistakes_[0]), int(model.n_support_[0]), wrong


def measure(
    data: Data,
    name: str,
    *,
    degree: int,
    taus: Sequence[float],
    seeds: Sequence[int],
    progress: Callable[[int], None] = lambda done: None,
) -> Attained:
    """Train on each permutation with each τ, and the adatron."""
    best, best_error = widest(data, degree)
    found = np.empty((4, len(seeds), len(taus)))
    for i, seed in enumerate(seeds):
        progress(i)
        for j, tau in enumerate(taus):
            found[:, i, j] = train(data, degree, tau, seed)
    progress(len(seeds))
    return Attained(name, tuple(taus), best, best_error, *found)


def table(found: Attained) -> str:
    """Return the means as a Markdown table; of the fraction the least and of the updates the most as well."""
    head = ["τ", "of γ*", "least", "guaranteed", "updates", "most", "bound", "support", "test error %"]
    rows = [head]
    for j, tau in enumerate(found.taus):
        share, updates = found.fraction[:, j], found.updates[:, j]
        cells = [f"{tau:g}", f"{share.mean():.3f}", f"{share.min():.3f}", f"{found.guaranteed[j]:.3f}"]
        cells += [f"{updates.mean():,.0f}", f"{updates.max():,.0f}", f"{found.most_updates[j]:,.0f}"]
        rows.append([*cells, f"{found.support[:, j].mean():,.0f}", f"{found.error[:, j].mean():.2f}"])
    return as_markdown(rows)


def summary(found: Attained) -> str:
    """Return in a sentence what the largest margin is."""
    bound, error = f"{novikoff_bound(1.0, found.best):,.0f}", f"{found.best_error:.2f} %"
    return f"γ* = {found.best:.4f}, (R/γ*)² = {bound}; the adatron's test error is {error}."


# -- the figure -------------------------------------------------------------------------------------------------------


def draw(found: Attained) -> Any:
    """Return a figure of the fraction of γ* and of the updates, both against τ and with what the theory says."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
        at = places(found.taus)
        _fractions(left, at, found)
        _updates(right, at, found)
        for axes in (left, right):
            plain(axes)
            axes.set_xscale("log")
            axes.set_xticks(at, [f"{tau:g}" for tau in found.taus])
            axes.minorticks_off()
            axes.set_xlabel("τ (log scale)")
    return figure


def places(taus: Sequence[float]) -> list[float]:
    """Return where to draw each τ on a logarithmic axis: 0, which has no place there, half a decade below the rest.

    Examples
    --------
    >>> [round(place, 3) for place in places([0, 0.1, 1])]
    [0.032, 0.1, 1]
    """
    least = min((tau for tau in taus if tau > 0), default=1.0)
    return [tau if tau > 0 else least / 10**0.5 for tau in taus]


def _band(axes: Any, at: list[float], values: Floats) -> None:
    axes.fill_between(at, values.min(0), values.max(0), color=MEASURED, alpha=0.22, linewidth=0)
    axes.plot(at, values.mean(0), "o-", color=MEASURED, linewidth=2.2, markersize=4.5)


def _fractions(axes: Any, at: list[float], found: Attained) -> None:
    """Draw the left panel."""
    _band(axes, at, found.fraction)
    axes.plot(at, found.guaranteed, "--", color=PROMISED, linewidth=1.6)
    axes.plot(at, [1.0] * len(at), color=BEST, linewidth=1.6)
    axes.set_ylim(0, 1.12)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    write_name(axes, "adatron", BEST, (at[0], 1.0), (0, 9), ha="left")
    write_name(axes, "guaranteed τ/(1 + 2τ)", PROMISED, (at[-1], 0.66 * found.guaranteed[-1]), (0, 0), ha="right")
    middle = len(at) // 2
    write_name(axes, "attained", MEASURED, (at[middle], float(found.fraction[:, middle].max())), (-8, 10), ha="right")
    title(axes, "A larger τ, a larger margin", f"attained margin / γ*; {found.name}")


def _updates(axes: Any, at: list[float], found: Attained) -> None:
    """Draw the right panel."""
    _band(axes, at, found.updates)
    axes.plot(at, found.most_updates, "--", color=PROMISED, linewidth=1.6)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    middle = len(at) // 2
    write_name(axes, "bound (1 + 2τ)/γ*²", PROMISED, (at[middle], found.most_updates[middle]), (-8, 12), ha="right")
    write_name(axes, "updates", MEASURED, (at[middle], float(found.updates[:, middle].min())), (10, -12), ha="left")
    n = len(found.margin)
    runs = f"mean and range of {n} permutations" if n > 1 else "one permutation"
    title(axes, "More updates to get there", f"updates (log scale); {runs}")


# -- the command ------------------------------------------------------------------------------------------------------


def _tau(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number in the range [0, inf). Got {text!r} instead.")
    return value


def _taus(args: argparse.Namespace) -> list[float]:
    """Return the values of τ that the options ask for."""
    if args.taus != sorted(set(args.taus)):
        raise VotronError(f"--taus must be each above the last. Got {' '.join(f'{t:g}' for t in args.taus)} instead.")
    return list(args.taus)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = parser(
        "attained_margin", "Measure the margin that the perceptron attains with margin=τ.", permutations=10
    )
    text = f"values of the margin parameter (default: {' '.join(f'{tau:g}' for tau in TAUS)})"
    options.add_argument("--taus", type=_tau, nargs="+", default=list(TAUS), metavar="TAU", help=text)
    add_out(options, "docs/attained-margin")
    args = options.parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        taus, data = _taus(args), problem(args.label, args.data)
        seeds = range(args.seed, args.seed + args.permutations)
        with counting(len(seeds), "permutations") as progress:
            found = measure(data, name_of(args), degree=args.degree, taus=taus, seeds=seeds, progress=progress)
        print(table(found), summary(found), sep="\n\n")
        print(*save(draw(found), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
