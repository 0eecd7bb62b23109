"""The report: one page that needs nothing else, and the figures as files.

The page has no script and refers to nothing outside it. Its figures are SVG with the page's colours, so they follow
the reader's choice of light or dark; on a narrow screen panels stand below each other and tables scroll by themselves.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from votron._util.files import write_text
from votron._util.plotting import can_draw, png, save, svg_for_page
from votron._util.text import counted, duration
from votron._util.types import Params
from votron.papers.disagreements import SHOWN_RULES, Disagreement, disagreements, shown_degree
from votron.papers.figures import COUNT_TITLES, DASHES, WIDTHS, figure2, learning_curves
from votron.papers.frontier_figure import draw
from votron.papers.published import running_time
from votron.papers.reproduce import Reproduction, environment, write_tables
from votron.papers.runs import LINES
from votron.papers.tables import Cell, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["html", "write"]

STALE = ("table1", "table2", "table3", "sparsity", "frontier", "claims", "figure2", "learning-curves")
"""Names of files that a report may have: those of an earlier one are removed."""
MOST_IMAGES = 12
"""So many images that the rules disagree on are shown."""
MOST_CLASSES = 10
"""So many classes have bars; of more, those with the most votes."""
BAR_TOP, BAR_FOOT, BARS_WIDTH = 12.0, 56.0, 240.0
"""Where the bars of an image's votes are."""


def write(made: Reproduction, out: Path) -> list[Path]:
    """Write the page, ``report.html``, the tables, and the figures as SVG and PNG; remove what an earlier report had.

    Parameters
    ----------
    made : Reproduction
        What to report.
    out : Path
        The folder, made if need be.

    Returns
    -------
    list of Path
        What was written; without matplotlib no figures, and the page says so.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> from votron.papers import report, reproduce, settings
    >>> what = settings.Settings(what=("table1", "figure2"), degrees=(2,), permutations=1, epochs=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce.reproduce(what, load_image_set("digits"), Path(folder), quiet=True)
    ...     print(*(path.name for path in report.write(made, Path(folder))))
    table1.csv table1.md results.json report.html figure2.svg figure2.png learning-curves.svg learning-curves.png
    """
    written = [*write_tables(made, out), out / "report.html"]
    write_text(written[-1], html(made), make_folders=True)
    if can_draw():
        for name, figure in _figures(made):
            written += save(figure, out / name)
    for name in STALE:
        for suffix in (".csv", ".md", ".svg", ".png"):
            if out / f"{name}{suffix}" not in written:
                (out / f"{name}{suffix}").unlink(missing_ok=True)
    return written


def _figures(made: Reproduction) -> Iterator[tuple[str, Figure]]:
    """Yield names and figures of the files."""
    results, name = made.results, made.data_title
    if results.runs and "figure2" in made.settings.what:
        yield "figure2", figure2(results, sorted(results.runs), heading=name)
    if results.runs:
        yield "learning-curves", learning_curves(results, heading=f"How learning goes on, {name}")
    if made.frontier:
        yield "frontier", draw(made.frontier, name, mnist=results.is_mnist)


def html(made: Reproduction) -> str:
    """Return the report as one HTML page."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("votron.papers", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["duration"] = duration
    shared = resources.files("votron._util").joinpath("pages.css").read_text(encoding="utf-8")
    own = resources.files("votron.papers").joinpath("report.css").read_text(encoding="utf-8")
    results, draws = made.results, can_draw()
    page = templates.get_template("report.html.jinja").render(
        made=made,
        results=results,
        style=shared + own,
        draws=draws,
        sections=_sections(made, draws),
        n_classes=len(np.unique(results.data.y)),
        facts=[*_facts_of_runs(made), *_facts_of_papers(made)],
        differing=_differing(made),
        lines=[(name, colour, WIDTHS[row], DASHES[row]) for row, (name, colour) in LINES.items()],
        figure2=_figure2_panels(made) if draws and results.runs and "figure2" in made.settings.what else [],
        learning=_learning_panels(made) if draws and results.runs else [],
        frontier=_frontier_figure(made) if draws and made.frontier else "",
        cases=_cases(made) if results.runs else {},
        times=_times(made),
        runs=_runs(made),
        environment=environment(),
        signed=signed,
    )
    return f"{page.strip()}\n"


def _sections(made: Reproduction, draws: bool) -> dict[str, str]:
    """Return ids and headings of the parts of the page."""
    ran = bool(made.results.runs)
    parts = [
        ("summary", "Summary", True),
        ("claims", "What the papers say", bool(made.claims)),
        ("figure2", "Figure 2", draws and ran and "figure2" in made.settings.what),
        *((table.key, table.title, True) for table in made.tables),
        ("images", "Where the rules disagree", ran),
        ("learning", "How learning goes on", draws and ran),
        ("times", "Running times", ran),
        ("made", "How it was made", True),
    ]
    return {key: heading for key, heading, there in parts if there}


# -- figures ----------------------------------------------------------------------------------------------------------


def _figure2_panels(made: Reproduction) -> list[str]:
    """Return the panels one by one, so that they can stand beside or below each other."""
    panels = []
    for degree in sorted(made.results.runs):
        ends = ", ".join(f"{name} {made.results.mean(degree, row):.2f} %" for row, (name, _) in LINES.items())
        said = f"Degree {degree}: test error against epochs. At T = {made.results.end(degree):g}: {ends}."
        panels.append(svg_for_page(figure2(made.results, [degree]), f"figure2-{degree}", said))
    return panels


def _learning_panels(made: Reproduction) -> list[str]:
    panels = []
    for row, what in COUNT_TITLES.items():
        ends = ", ".join(f"d = {d}: {made.results.mean(d, row):,.0f}" for d in sorted(made.results.runs))
        figure = learning_curves(made.results, rows=(row,))
        panels.append(svg_for_page(figure, f"learning-{row}", f"{what}, against epochs. At the end {ends}."))
    return panels


def _frontier_figure(made: Reproduction) -> str:
    figure = draw(made.frontier, made.data_title, mnist=made.results.is_mnist)
    said = "Test error against time to train and against support vectors; the table below has the numbers."
    return svg_for_page(figure, "frontier", said)


# -- images that the rules disagree on --------------------------------------------------------------------------------


def _cases(made: Reproduction) -> Params:
    """Return what the template needs about the images that the rules disagree on."""
    everything, data = disagreements(made.results), made.results.data
    right = [sum(case.right[r] for case in everything) for r in range(len(SHOWN_RULES))]
    names = [LINES[rule][0] for rule in SHOWN_RULES]
    return {
        "degree": shown_degree(made.results),
        "n": len(everything),
        "right": ", ".join(f"{name} {count:,}" for name, count in zip(names, right, strict=True)),
        "rules": names,
        "shown": [
            {
                "case": case,
                "png": base64.b64encode(png(data.X_test[case.index].reshape(data.shape))).decode(),
                "bars": _bars(case),
            }
            for case in everything[:MOST_IMAGES]
        ],
    }


def _bars(case: Disagreement) -> list[Params]:
    """Return the votes of each class as bars."""
    most = sorted(case.shares, key=lambda label: -case.shares[label])[:MOST_CLASSES]
    shown = [label for label in case.shares if label in most or label == case.truth]
    step, scale = BARS_WIDTH / len(shown), (BAR_FOOT - BAR_TOP) / max(*case.shares.values(), 1e-9)
    return [
        {
            "label": label,
            "true": label == case.truth,
            "percent": f"{100 * share:.{1 if share < 0.0995 else 0}f}",
            "x": f"{(i + 0.14) * step:.1f}",
            "middle": f"{(i + 0.5) * step:.1f}",
            "top": f"{BAR_FOOT - scale * share:.1f}",
            "above": f"{BAR_FOOT - scale * share - 2.5:.1f}",
            "width": f"{0.72 * step:.1f}",
            "height": f"{scale * share:.1f}",
        }
        for i, (label, share) in enumerate((label, case.shares[label]) for label in shown)
    ]


# -- numbers ----------------------------------------------------------------------------------------------------------


def signed(cell: Cell) -> str:
    """Return the difference of a cell, with its sign.

    Examples
    --------
    >>> from votron.papers.published import Fact
    >>> signed(Cell(2.1, None, Fact(2.24, True))), signed(Cell(2.2401, None, Fact(2.24, True)))
    ('−0.14', '0.00')
    """
    text = f"{cell.difference or 0.0:+,.0f}" if cell.count else f"{cell.difference or 0.0:+.2f}"
    return text[1:] if not text.strip("+-0.,") else text.replace("-", "−")


def _facts_of_runs(made: Reproduction) -> list[tuple[str, str, str]]:
    """Return the main numbers of the runs: name, value, note."""
    results = made.results
    if not results.runs:
        return []
    runs = [run for some in results.runs.values() for run in some]
    n, degrees = made.settings.permutations, len(results.runs)
    errors = {d: results.mean(d, "Vote") for d in sorted(results.runs)}
    best = min(errors, key=lambda d: errors[d])
    seconds = sum(run.train_seconds + run.scan_seconds for run in runs)
    of = f"{counted(degrees, 'degree')} × {counted(n, 'permutation')}"
    return [
        ("Runs", str(len(runs)), of),
        ("Least error of the vote", f"{errors[best]:.2f} %", f"d = {best}, T = {results.end(best):g}"),
        ("Training and test", duration(seconds), "all runs together"),
    ]


def _facts_of_papers(made: Reproduction) -> list[tuple[str, str, str]]:
    """Return how many published numbers agree, and how many claims hold."""
    out = []
    if made.n_compared:
        off = made.n_compared - made.n_agreeing
        note = f"{off} do{'es' * (off == 1)} not; see below" if off else "all of them"
        out.append(("Published numbers that agree", f"{made.n_agreeing} of {made.n_compared}", note))
    if made.claims:
        verdicts = [claim.holds for claim in made.claims]
        held, failed, undecided = (verdicts.count(verdict) for verdict in (True, False, None))
        note = f"{failed} do{'es' * (failed == 1)} not" + (f", {undecided} cannot be told" if undecided else "")
        out.append(("Claims that hold", f"{held} of {len(verdicts)}", note))
    return out


def _differing(made: Reproduction) -> list[tuple[str, ...]]:
    """Return every number that does not agree: table, number, ours, published, difference."""
    return [
        (table.title.split(":")[0], _where(row, column), *_apart(cell, paper))
        for table in made.tables
        for row, column, paper, cell in table.disagreements
    ]


def _where(row: Row, column: str) -> str:
    """Return which number of a table is meant."""
    group = "" if row.name.startswith(row.group) else row.group
    return ", ".join(part for part in (group, row.name, f"label {column}" if column.isdecimal() else column) if part)


def _apart(cell: Cell, paper: str) -> tuple[str, str, str]:
    """Return ours, what is published and by whom, and the difference; of counts also in percent."""
    assert cell.paper is not None
    error = "" if cell.error is None else f" ±{cell.error:,.0f}" if cell.count else f" ±{cell.error:.2f}"
    relative = f" ({100 * (cell.value / cell.paper.value - 1):+.1f} %)".replace("-", "−") if cell.count else ""
    by = "" if paper == "paper" else f" ({paper})"
    return f"{cell.text}{error}", f"{cell.paper}{by}", signed(cell) + relative


def _times(made: Reproduction) -> list[tuple[str, ...]]:
    """Return how long the runs of each degree took, beside the paper's days and hours."""
    rows = []
    for degree, runs in sorted(made.results.runs.items()):
        train, scan = (
            duration(float(np.mean([getattr(run, name) for run in runs]))) for name in ("train_seconds", "scan_seconds")
        )
        theirs = (running_time(degree) or "not said",) if made.results.is_mnist else ()
        converged = f"{sum(run.converged for run in runs)} of {len(runs)}"
        rows.append((str(degree), f"{made.results.end(degree):g}", train, *theirs, scan, converged))
    return rows


def _runs(made: Reproduction) -> list[tuple[str, ...]]:
    """Return each run."""
    return [
        (
            str(degree),
            str(run.key.seed),
            f"{run.key.epochs:g}",
            f"{run.epochs_run:g}{'' if run.converged else ' (not converged)'}",
            duration(run.train_seconds),
            duration(run.scan_seconds),
            run.digest[:16],
        )
        for degree, runs in sorted(made.results.runs.items())
        for run in runs
    ]
