"""The report of ``votron reproduce``: a page like all of Votron's, and its figures as files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from votron._util.files import write_text
from votron._util.plotting import can_draw, picture, save, svg_for_page
from votron._util.text import counted, duration, render
from votron._util.types import Params
from votron.papers import LABEL_DEGREE, figures
from votron.papers.figures import COUNT_TITLES, DASHES, WIDTHS, figure2, learning_curves
from votron.papers.reproduce import Reproduction, environment, write_tables
from votron.papers.runs import LINES, RULES, Results
from votron.papers.tables import PAPERS, Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_IMAGES = 12
"""Images shown on which the rules disagree."""
MOST_CLASSES = 10
"""Bars per image: with more classes, those with the most votes."""
BAR_TOP, BAR_FOOT, BARS_WIDTH = 12.0, 56.0, 240.0
SHOWN_RULES = tuple(reversed(LINES))
"""The rules of Figure 2, the vote first."""


def write(made: Reproduction, out: Path) -> list[Path]:
    """Write page, tables and figures into a folder."""
    written = [*write_tables(made, out), out / "report.html"]
    write_text(written[-1], html(made), make_folders=True)
    if can_draw():
        for name, figure in _figures(made):
            written += save(figure, out / name)
    return written


def _figures(made: Reproduction) -> Iterator[tuple[str, Figure]]:
    results, name = made.results, made.data_title
    if results.runs and "figure2" in made.settings.what:
        yield "figure2", figure2(results, sorted(results.runs), heading=name)
    if results.runs:
        yield "learning-curves", learning_curves(results, heading=f"Learning curves, {name}")
    if made.frontier:
        yield "frontier", figures.frontier(made.frontier, name, mnist=results.is_mnist)


def html(made: Reproduction) -> str:
    """Return the report as one HTML page."""
    draws, ran, frontier = can_draw(), bool(made.results.runs), ""
    if draws and made.frontier:
        figure = figures.frontier(made.frontier, made.data_title, mnist=made.results.is_mnist)
        frontier = svg_for_page(figure, "frontier", "Test error against cost; the table below has the numbers.")
    page = render(
        "papers/report.html.jinja",
        made=made,
        results=made.results,
        draws=draws,
        n_classes=len(np.unique(made.results.data.y)),
        facts=list(_facts(made)),
        lines=[(name, colour, WIDTHS[row], DASHES[row]) for row, (name, colour) in LINES.items()],
        figure2=_figure2_panels(made) if draws and ran and "figure2" in made.settings.what else [],
        learning=_learning_panels(made) if draws and ran else [],
        frontier=frontier,
        cases=_cases(made) if ran else None,
        times=_times(made),
        environment=environment(),
        duration=duration,
        signed=signed,
    )
    return f"{page.strip()}\n"


def _figure2_panels(made: Reproduction) -> list[str]:
    """Return the panels one by one, so that a narrow page can stack them."""
    panels = []
    for degree in sorted(made.results.runs):
        ends = ", ".join(f"{name} {made.results.mean(degree, row):.2f} %" for row, (name, _) in LINES.items())
        description = f"Degree {degree}: test error against epochs. At T = {made.results.end(degree):g}: {ends}."
        panels.append(svg_for_page(figure2(made.results, [degree]), f"figure2-{degree}", description))
    return panels


def _learning_panels(made: Reproduction) -> list[str]:
    panels = []
    for row, what in COUNT_TITLES.items():
        ends = ", ".join(f"d = {d}: {made.results.mean(d, row):,.0f}" for d in sorted(made.results.runs))
        figure = learning_curves(made.results, rows=(row,))
        panels.append(svg_for_page(figure, f"learning-{row}", f"{what}, against epochs. At the end {ends}."))
    return panels


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A test image, what each rule predicts, and the share of the votes for each label."""

    index: int
    truth: int
    labels: dict[str, int]
    shares: dict[int, float]

    @property
    def right(self) -> tuple[bool, ...]:
        return tuple(label == self.truth for label in self.labels.values())

    @property
    def closeness(self) -> tuple[int, float]:
        """Sort key: most different predictions first, then the two best classes closest in votes."""
        first, second = sorted(self.shares.values(), reverse=True)[:2]
        return -len(set(self.labels.values())), first - second


def shown_degree(results: Results) -> int:
    """Return the degree of Table 2, or the greatest if it was not run."""
    return LABEL_DEGREE if LABEL_DEGREE in results.runs else max(results.runs)


def disagreements(results: Results) -> list[Disagreement]:
    """Return the test images on which the rules of Figure 2 disagree at the end of the first permutation.

    They are taken in turn from each combination of rules that are right.
    """
    run, data = results.runs[shown_degree(results)][0], results.data
    classes = np.unique(data.y)
    answers = classes[run.predicted[[list(RULES).index(rule) for rule in SHOWN_RULES]]]
    shares = (1.0 + run.votes.astype(np.float64)) / 2.0
    if shares.shape[1] == 1:  # one vector's votes are for two classes
        shares = np.hstack([1.0 - shares, shares])
    found = [
        Disagreement(
            int(i),
            int(data.y_test[i]),
            dict(zip(SHOWN_RULES, answers[:, i].tolist(), strict=True)),
            dict(zip(classes.tolist(), shares[i].tolist(), strict=True)),
        )
        for i in np.flatnonzero((answers != answers[0]).any(axis=0))
    ]
    kinds: dict[tuple[bool, ...], list[Disagreement]] = {}
    for case in sorted(found, key=lambda case: case.closeness):
        kinds.setdefault(case.right, []).append(case)
    turns = zip_longest(*(kinds[kind] for kind in sorted(kinds, reverse=True)))
    return [case for turn in turns for case in turn if case is not None]


def _cases(made: Reproduction) -> Params:
    everything = disagreements(made.results)
    right = [sum(case.right[r] for case in everything) for r in range(len(SHOWN_RULES))]
    names = [LINES[rule][0] for rule in SHOWN_RULES]
    images = made.results.data.X_test.reshape(-1, *made.results.data.shape)
    return {
        "degree": shown_degree(made.results),
        "n": len(everything),
        "right": ", ".join(f"{name} {count:,}" for name, count in zip(names, right, strict=True)),
        "rules": names,
        "shown": [
            (case, picture(images[case.index], f"An image of class {case.truth}"), _bars(case))
            for case in everything[:MOST_IMAGES]
        ],
    }


def _bars(case: Disagreement) -> list[Params]:
    """Return the votes for each class as bars."""
    most = sorted(case.shares, key=lambda label: -case.shares[label])[:MOST_CLASSES]
    shown = [label for label in case.shares if label in most or label == case.truth]
    step, scale = BARS_WIDTH / len(shown), (BAR_FOOT - BAR_TOP) / max(*case.shares.values(), 1e-9)
    return [
        {
            "label": label,
            "true": label == case.truth,
            "percent": f"{100 * case.shares[label]:.{1 if case.shares[label] < 0.0995 else 0}f}",
            "x": (i + 0.14) * step,
            "width": 0.72 * step,
            "height": scale * case.shares[label],
        }
        for i, label in enumerate(shown)
    ]


def signed(cell: Cell) -> str:
    """Return our number less the published one, with its sign."""
    text = f"{cell.difference or 0.0:+,.0f}" if cell.count else f"{cell.difference or 0.0:+.2f}"
    return text[1:] if not text.strip("+-0.,") else text.replace("-", "−")


def _facts(made: Reproduction) -> Iterator[tuple[str, str, str]]:
    """Yield the main numbers: name, value, note."""
    results = made.results
    if results.runs:
        runs = [run for some in results.runs.values() for run in some]
        errors = {d: results.mean(d, "Vote") for d in sorted(results.runs)}
        best = min(errors, key=lambda d: errors[d])
        of = f"{counted(len(results.runs), 'degree')} × {counted(made.settings.permutations, 'permutation')}"
        yield "Runs", str(len(runs)), of
        yield "Lowest error of the vote", f"{errors[best]:.2f} %", f"d = {best}, T = {results.end(best):g}"
        seconds = sum(run.train_seconds + run.scan_seconds for run in runs)
        yield "Training and test", duration(seconds), "all runs together"
    if made.n_compared:
        off = made.n_compared - made.n_agreeing
        yield "Published numbers that agree", f"{made.n_agreeing} of {made.n_compared}", f"{off} differ"
    if made.claims:
        verdicts = [claim.holds for claim in made.claims]
        note = f"{verdicts.count(False)} do not, {verdicts.count(None)} undecided"
        yield "Claims that hold", f"{verdicts.count(True)} of {len(verdicts)}", note


def _times(made: Reproduction) -> list[tuple[str, ...]]:
    """Return how long the runs of each degree took, on MNIST beside the paper's days and hours."""
    rows = []
    for degree, runs in sorted(made.results.runs.items()):
        train, scan = (
            duration(float(np.mean([getattr(run, name) for run in runs]))) for name in ("train_seconds", "scan_seconds")
        )
        theirs = (PAPERS["times"].get(str(degree), "not given"),) if made.results.is_mnist else ()
        converged = f"{sum(run.converged for run in runs)} of {len(runs)}"
        rows.append((str(degree), f"{made.results.end(degree):g}", train, *theirs, scan, converged))
    return rows
