"""The frontier: error against training time, prediction time and support vectors, for perceptrons and SVMs.

``python -m votron.papers.frontier`` measures it on scikit-learn's digits, in seconds; with ``--data mnist`` on
MNIST, in about a quarter of an hour. It prints a table and draws a figure to an SVG and a PNG file. Needs matplotlib:
``pip install matplotlib``.

Both learners get the same features and the same kernel:

===============  ===================================================================================================
raw              pixels, divided by the root mean square length of the training images, all by the same number
unit             each image divided by its own length
deskewed         the same two on images that `votron.papers.images.Deskew` has set upright
===============  ===================================================================================================

For the perceptron the division is a matter of the kernel, and its pixels stay whole numbers. SVMs are sklearnex's
where it is installed, else scikit-learn's.

Virtual examples come in two rounds: train, take the support vectors, add transformed copies of them, and train on
these. The best setting also looks at each test image five times, as it is and shifted. Time to train is both rounds
and the making of the copies; deskewing, which all share, is not in it. One run, one permutation: on MNIST's 10,000 test
digits errors that differ by less than 0.1 % may well be in the other order for another seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from votron._util.files import write_text
from votron._util.plotting import AXIS, MUTED, STYLE, plain, pyplot, save, title
from votron._util.progress import counting
from votron._util.text_tables import as_text, wants_colour
from votron.data import ImageSet, load_image_set
from votron.papers._command_line import add_out, ended, seed_number
from votron.papers._frontier_points import RULES, Point, Setting, measure, settings, validated
from votron.papers.machines import fast_svc
from votron.papers.published import comparator
from votron.papers.runs import RunStore
from votron.papers.tables import Cell, Row, Table

__all__ = ["Frontier", "Point", "Setting", "cells", "draw", "explore", "main", "measure", "settings", "validated"]

# -- showing it -------------------------------------------------------------------------------------------------------

HEAD = ["learner", "features", "kernel", "numbers", "copies", "error %", *RULES[1:], "support", "train s", "predict s"]


def cells(points: Iterable[Point]) -> list[list[str]]:
    """Return a table, the head first and the least error on top; "error" is that of voting, five looks, or the SVM.

    Examples
    --------
    >>> point = Point(Setting(), {"vote": 1.5, "average": 1.4, "last": 2.0}, 6000, 60000, 5.0, 0.5)
    >>> cells([point])[1]
    ['perceptron', 'unit', '(1 + 3 x·z)^6', 'τ = 0, T = 10', '', '1.50', '1.40', '2.00', '6,000', '5.00', '0.50']
    """
    rows = [HEAD]
    for point in sorted(points, key=lambda point: (point.error, point.train_seconds)):
        setting = point.setting
        rows.append([setting.learner, setting.features, setting.kernel, setting.numbers])
        copies = "" if setting.copies == "none" else setting.copies
        rows[-1] += [copies + (", five looks" if setting.looks else ""), f"{point.error:.2f}"]
        rows[-1] += [f"{point.errors[rule]:.2f}" if rule in point.errors else "" for rule in RULES[1:]]
        rows[-1] += [f"{point.n_support:,}", _seconds(point.train_seconds), _seconds(point.predict_seconds)]
    return rows


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


KINDS = {
    "perceptron": ("#1f4e9c", "o"),
    "SVC": ("#c8641b", "s"),
    "perceptron with virtual examples": ("#3f9a6a", "o"),
    "SVC with virtual examples": ("#a3467f", "s"),
}
"""The groups of the figure, with their colours and marks."""
WORDS = (
    "unit: each image divided by its length. With shifts: a second training on the support vectors and eight one-pixel "
    "shifts of each; with all copies: also thicker, thinner and eight randomly askew ones, and the first τ is that of "
    "the first training. Five looks: the image and four shifts of it are scored. One run each, times of this machine."
)
CHOSEN = (
    "The setting with all copies and five looks was chosen by its errors on the last 10,000 digits to train on; the "
    "others are a grid in the order of test errors, so that the first of them owes a little to luck."
)
OTHERWISE = "The settings were chosen for MNIST; on other images they are a grid, and deskewing suits handwriting only."

TITLES = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "digits": "scikit-learn's digits"}

PUBLISHED = {
    "boosted LeNet-4": comparator("boosted LeNet-4").value,
    "virtual SVM": 0.56,  # DeCoste & Schölkopf, Training Invariant Support Vector Machines, Machine Learning 46 (2002)
    "SVM, degree 4": comparator("SVM, degree 4").value,
}
"""Errors on MNIST, in percent, of others: two from Freund & Schapire (1999), one from DeCoste & Schölkopf (2002)."""


def draw(points: Sequence[Point], name: str, published: Mapping[str, float] | None = None) -> Any:
    """Return a figure of errors against the time to train and against support vectors, both on log scales."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.8, 5.0), sharey=True, layout="constrained")
        for axes, of in ((left, "train_seconds"), (right, "n_support")):
            for kind, (colour, mark) in KINDS.items():
                _group(axes, [point for point in points if point.kind == kind], of, kind, colour, mark)
            for error in (published or {}).values():
                axes.axhline(error, color=AXIS, linewidth=1.0, linestyle=":", zorder=1)
            _dress(axes, [point.error for point in points])
        for other, error in (published or {}).items():
            # where there are no points: fast and good is nobody, and of many support vectors none is so bad
            axes, side, ha, off = (left, 0, "left", 3) if error < 1 else (right, 1, "right", -3)
            at = {"xytext": (off, 3), "textcoords": "offset points", "ha": ha, "fontsize": 8.5, "color": MUTED}
            axes.annotate(f"{other}, {error:g} %", (side, error), xycoords=("axes fraction", "data"), **at)
        left.set_xlabel("seconds to train (log scale)")
        right.set_xlabel("support vectors (log scale)")
        title(left, "Error against time", f"test error in % (log scale); {TITLES.get(name, name)}")
        title(right, "Error against support vectors", "filled: deskewed; hollow: not")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(KINDS), frameon=False)
    return figure


def _group(axes: Any, points: Sequence[Point], of: str, kind: str, colour: str, mark: str) -> None:
    """Draw the points of one kind, and a line along those that nothing of their kind beats."""
    if not points:
        return
    for deskewed in (True, False):
        some = [point for point in points if point.setting.deskewed is deskewed]
        how = {"marker": mark, "s": 26, "edgecolors": colour, "linewidths": 1.3, "zorder": 3}
        face = colour if deskewed else "white"
        axes.scatter([getattr(p, of) for p in some], [p.error for p in some], facecolors=face, **how)
    best = unbeaten([(float(getattr(point, of)), point.error) for point in points])
    axes.plot(
        *zip(*best, strict=True), color=colour, linewidth=1.6, marker=mark, markersize=5.2, mfc="none", label=kind
    )


def unbeaten(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return those pairs that no other is below in both, from the least first number to the greatest.

    Examples
    --------
    >>> unbeaten([(1, 5), (2, 6), (3, 4), (3, 5)])
    [(1, 5), (3, 4)]
    """
    found: list[tuple[float, float]] = []
    for cost, error in sorted(points):
        if not found or error < found[-1][1]:
            found.append((cost, error))
    return found


def _dress(axes: Any, errors: Sequence[float]) -> None:
    """Set scales, grid and ticks."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [t for t in (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10) if 0.8 * min(errors) <= t]
    ticks = [t for t in ticks if t <= 1.25 * max(errors)]
    axes.set_yticks(ticks, [f"{t:g} %" for t in ticks])
    low, high = axes.get_xlim()
    steps = (1, 3) if high / low > 30 else (1, 2, 5)
    places = [step * 10.0**power for power in range(-4, 7) for step in steps]
    places = [place for place in places if low <= place <= high]
    axes.set_xticks(places, [f"{place:,.0f}" if place >= 1 else f"{place:g}" for place in places])
    axes.minorticks_off()
    plain(axes)


# -- as a part of the report ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frontier:
    """What was measured, as a table and as a figure.

    Examples
    --------
    >>> point = Point(Setting(), {"vote": 1.5, "average": 1.4, "last": 2.0}, 6000, 60000, 5.0, 0.5)
    >>> found = Frontier.of([point], "digits")
    >>> found.table.rows[0].name
    'perceptron, unit, (1 + 3 x·z)^6, τ = 0, T = 10'
    """

    points: tuple[Point, ...]
    name: str
    table: Table

    @classmethod
    def of(cls, points: Iterable[Point], name: str) -> Frontier:
        """Return it with its table."""
        ranked = tuple(sorted(points, key=lambda point: (point.error, point.train_seconds)))
        table = Table(
            key="frontier",
            title="Beyond the papers: error against cost",
            caption="Test error in %, by voting (or five looks, or the SVM), and by the other rules; the least on top.",
            columns=("error", *RULES[1:], "support vectors", "seconds to train", "seconds to predict"),
            rows=tuple(Row(str(point.setting), _row(point)) for point in ranked),
            notes=(WORDS, CHOSEN if name == "mnist" else OTHERWISE),
        )
        return cls(ranked, name, table)

    def figure(self) -> Any:
        """Draw it."""
        return draw(self.points, self.name, PUBLISHED if self.name == "mnist" else None)


def _row(point: Point) -> tuple[Cell | None, ...]:
    rules = [Cell(point.errors[rule]) if rule in point.errors else None for rule in RULES[1:]]
    times = Cell(point.train_seconds), Cell(point.predict_seconds)
    return Cell(point.error), *rules, Cell(point.n_support, count=True), *times


def explore(data: ImageSet, store: RunStore, *, quiet: bool = False) -> Frontier:
    """Return the frontier on these images, from what is in the store and what is measured now, and kept."""

    def path(setting: Setting) -> Path:
        told = hashlib.sha256(repr(setting).encode()).hexdigest()[:12]
        return store.folder / f"{data.digest[:12]}-frontier-{told}.json"

    def kept(setting: Setting) -> Point | None:
        try:
            read = json.loads(path(setting).read_text(encoding="utf-8"))
            found = Point(**{**read, "setting": Setting(**read["setting"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return found if found.setting == setting else None

    def keep(point: Point) -> None:
        write_text(path(point.setting), json.dumps(asdict(point), indent=1) + "\n", make_folders=True)

    large = len(data.X) > 10_000
    todo = [s for s in settings(quick=not large) if not large or s.learner != "SVC" or fast_svc() is not None]
    arrays = data.X, data.y, data.X_test, data.y_test
    with counting(len(todo), "settings", enabled=not quiet) as progress:
        return Frontier.of(measure(todo, arrays, progress=progress, kept=kept, keep=keep), data.name)


# -- the command ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = argparse.ArgumentParser(
        prog="python -m votron.papers.frontier",
        description="Measure errors against time and support vectors, beside SVMs.",
        allow_abbrev=False,
    )
    options.add_argument(
        "--data",
        default="digits",
        metavar="DATA",
        help="digits, mnist, fashion or a folder of IDX files (default: digits)",
    )
    options.add_argument("--seed", type=seed_number, default=0, metavar="N", help="of the permutation (default: 0)")
    add_out(options, "docs/frontier")
    args = options.parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        data = load_image_set(args.data)
        large = len(data.X) > 10_000
        todo = [replace(setting, seed=args.seed) for setting in settings(quick=not large)]
        if large and fast_svc() is None:
            print("sklearnex is not installed, and scikit-learn's SVC takes very long here: SVMs are left out.")
            todo = [setting for setting in todo if setting.learner != "SVC"]
        arrays = data.X, data.y, data.X_test, data.y_test
        with counting(len(todo), "settings") as progress:
            points = measure(todo, arrays, progress=progress)
        print(as_text(cells(points), colour=wants_colour(sys.stdout), left=range(5)))
        print(*save(draw(points, data.name, PUBLISHED if data.name == "mnist" else None), args.out), sep="\n")
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
