"""The report: one page that needs nothing else, and the figures as files.

The page has no script and refers to nothing outside it. Its figures are SVG with the page's colours, so they follow
the reader's choice of light or dark; on a narrow screen panels stand below each other and tables scroll by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from votron._util.files import write_text
from votron._util.pages import Section, image_html, notes_html, page_html, pairs_html, table_html
from votron._util.plotting import can_draw, png, save, svg_for_page
from votron._util.text import duration
from votron.papers import _report_tables as tables_html
from votron.papers._disagreements import SHOWN_RULES, Disagreement, disagreements, shown_degree
from votron.papers.figures import (
    COUNTS,
    HOW_DRAWN,
    figure2,
    learning_curves,
    mean_and_range,
)
from votron.papers.reproduce import Reproduction
from votron.papers.runs import LINES

__all__ = ["html", "write_report"]

NO_FIGURES = "The figures are left out, for they need matplotlib: pip install matplotlib."
MOST_CLASSES = 10
"""So many classes have bars; of more, those with the most votes."""


def write_report(made: Reproduction, out: Path) -> list[Path]:
    """Write the page, ``report.html``, and the figures as SVG and PNG; return the files.

    Parameters
    ----------
    made : Reproduction
        What to report.
    out : Path
        The folder, made if need be.

    Returns
    -------
    list of Path
        What was written, each file whole or not at all; without matplotlib the page only, which says so.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> from votron.papers.reproduce import Settings, reproduce
    >>> from votron.papers.runs import RunStore
    >>> settings = Settings(what=("table1", "figure2"), degrees=(2,), permutations=1, epochs=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(settings, load_image_set("digits"), RunStore(folder), quiet=True)
    ...     written = write_report(made, Path(folder))
    >>> [path.name for path in written]
    ['report.html', 'figure2.svg', 'figure2.png', 'learning-curves.svg', 'learning-curves.png']
    """
    written = [out / "report.html"]
    write_text(written[0], html(made), make_folders=True)
    if can_draw():
        for name, figure in _figures(made):
            written += save(figure, out / name)
    return written


def _figures(made: Reproduction) -> Iterator[tuple[str, Any]]:
    """Yield names and figures of the files."""
    name = data_title(made)
    if made.runs and "figure2" in made.settings.what:
        yield "figure2", figure2(made.runs, title_of_data=name)
    if made.runs:
        yield "learning-curves", learning_curves(made.runs, heading=f"How learning goes on, {name}")
    if made.frontier is not None:
        yield "frontier", made.frontier.figure()


def html(made: Reproduction) -> str:
    """Return the report as one HTML page.

    Parameters
    ----------
    made : Reproduction
        What to report.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> from votron.papers.reproduce import Settings, reproduce
    >>> from votron.papers.runs import RunStore
    >>> settings = Settings(what=("table3",), degrees=(2,), permutations=1, epochs=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = html(reproduce(settings, load_image_set("digits"), RunStore(folder), quiet=True))
    >>> page[:15], "<script" in page
    ('<!doctype html>', False)
    """
    title = f"The perceptron papers, reproduced on {data_title(made)}"
    style = resources.files("votron.papers").joinpath("report.css").read_text(encoding="utf-8")
    return page_html(title, _lead(made), list(_sections(made)), style)


def data_title(made: Reproduction) -> str:
    """Return what the data are called."""
    known = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "digits": "scikit-learn's digits"}
    return known.get(made.data.name, made.data.name)


def _sections(made: Reproduction) -> Iterator[Section]:
    """Yield the parts of the page."""
    draws = can_draw()
    yield "summary", "Summary", tables_html.summary(made) + notes_html([*made.notes, *([] if draws else [NO_FIGURES])])
    if made.claims:
        yield "claims", "What the papers say", tables_html.claims(made.claims)
    if draws and made.runs and "figure2" in made.settings.what:
        yield "figure2", "Figure 2", _figure2(made)
    for table in made.tables:
        after = _frontier_figure(made) if made.frontier is not None and table is made.frontier.table and draws else ""
        yield escape(table.key), escape(table.title), after + tables_html.table(table)
    if made.runs:
        yield "images", "Where the rules disagree", _images(made)
    if draws and made.runs:
        yield "learning", "How learning goes on", _learning(made)
    if made.runs:
        yield "times", "Running times", tables_html.times(made)
    yield "made", "How it was made", _how_made(made)


# -- the head of the page ---------------------------------------------------------------------------------------------


def _lead(made: Reproduction) -> str:
    data, classes = made.data, len(np.unique(made.data.y))
    return (
        "<p>The experiments of Freund &amp; Schapire, <cite>Large Margin Classification Using the Perceptron "
        "Algorithm</cite> (Machine Learning 37, 1999), and of Graepel, Herbrich &amp; Williamson, <cite>From Margin To "
        "Sparsity</cite> (NIPS 2000), done again with Votron. "
        f"Data: {escape(data_title(made))}, {len(data.X):,} images to train on and {len(data.X_test):,} to test with, "
        f"of {data.shape[0]} × {data.shape[1]} pixels, in {classes} classes.</p>"
    )


# -- figures ----------------------------------------------------------------------------------------------------------


def _figure2(made: Reproduction) -> str:
    """Return the panels one by one, so that they can stand beside or below each other."""
    panels = []
    for degree, mine in sorted(made.runs.items()):
        figure = figure2({degree: mine}, title_of_data="", legend=False)
        ends = ", ".join(f"{name} {mean_and_range(mine, row)[0][-1]:.2f} %" for row, (name, _) in LINES.items())
        said = f"Degree {degree}: test error against epochs. At T = {mine[0].key.epochs:g}: {ends}."
        panels.append(svg_for_page(figure, f"figure2-{degree}", said))
    several = max(map(len, made.runs.values())) > 1
    band = (
        "Lines are means over permutations, bands reach from the least to the greatest of them." if several else
        "One permutation."
    )  # fmt: skip
    return (
        "<figure><figcaption>Test error in percent against epochs of training, by degree d of the kernel "
        f"(1 + x·z)<sup>d</sup>; a point each tenth of an epoch, vectors not normalised. {band} Both scales are "
        f"logarithmic, and each panel has its own.</figcaption>\n{_key()}\n"
        f'<div class="panels">\n{"".join(panels)}\n</div></figure>'
    )


def _key() -> str:
    """Return the names of the lines, each with a piece of it."""
    items = []
    for row, (name, colour) in LINES.items():
        style, width = HOW_DRAWN[row]
        dashes = (
            "" if style == "solid" else ' stroke-dasharray="' + " ".join(f"{width * d:.1f}" for d in style[1]) + '"'
        )
        line = (
            f'<line x1="0" y1="5" x2="38" y2="5" style="stroke: var(--c{colour[1:]})" stroke-width="{width}"{dashes}/>'
        )
        items.append(f'<li><svg viewBox="0 0 38 10" aria-hidden="true">{line}</svg>{name}</li>')
    return f'<ul class="key">{"".join(items)}</ul>'


def _learning(made: Reproduction) -> str:
    panels = []
    for row, what in COUNTS.items():
        ends = ", ".join(f"d = {d}: {mean_and_range(m, row)[0][-1]:,.0f}" for d, m in sorted(made.runs.items()))
        figure = learning_curves(made.runs, rows=(row,))
        panels.append(svg_for_page(figure, f"learning-{row}", f"{what}, against epochs. At the end {ends}."))
    return (
        "<figure><figcaption>Mistakes so far, summed over the labels, and distinct examples with a mistake of any "
        "label, against epochs of training; both scales are logarithmic. A curve that has become flat has converged: "
        f'nothing is left to learn.</figcaption>\n<div class="panels two">\n{"".join(panels)}\n</div></figure>'
    )


def _frontier_figure(made: Reproduction) -> str:
    said = "Test error against time to train and against support vectors; the table below has the numbers."
    svg = svg_for_page(made.frontier.figure(), "frontier", said)
    return f'<figure class="wide" tabindex="0" role="region" aria-label="Figure: error against cost">{svg}</figure>\n'


# -- images that the rules disagree on --------------------------------------------------------------------------------


def _images(made: Reproduction) -> str:
    everything, degree = disagreements(made, None), shown_degree(made)
    where = (
        f"After training with d = {degree} (T = {made.runs[degree][0].key.epochs:g}, the first permutation) the four "
        f"rules disagree on {len(everything):,} of {len(made.data.y_test):,} test images."
    )
    if not everything:
        return f"<p>{where}</p>"
    right = {rule: sum(case.right[r] for case in everything) for r, rule in enumerate(SHOWN_RULES)}
    scores = ", ".join(f"{LINES[rule][0]} {count:,}" for rule, count in right.items())
    shown = disagreements(made)
    cards = "\n".join(_card(made, case) for case in shown)
    return (
        f"<p>{where} Right on these: {scores}. Below are {len(shown)} of them, of every kind in turn; a kind is which "
        "rules are right. Bars show the votes for each class in percent, a vector having as many votes as examples "
        "it survived. The true class has the strong bar and the bold label. Mind the numbers: each chart has its own "
        "scale.</p>\n"
        f'<ul class="digits">\n{cards}\n</ul>'
    )


def _card(made: Reproduction, case: Disagreement) -> str:
    pixels = made.data.X_test[case.index].reshape(made.data.shape)
    answers = "".join(
        f'<li>{LINES[rule][0]} <b class="{"yes" if right else "no"}">{escape(str(label))} '
        f'{"✓" if right else "✗"}<span class="hidden"> {"right" if right else "wrong"}</span></b></li>'
        for (rule, label), right in zip(case.labels.items(), case.right, strict=True)
    )
    truth = escape(str(case.truth))
    return (
        f'<li class="digit"><h3>{truth} <small>test image {case.index:,}</small></h3>'
        f"{image_html(png(pixels), f'An image of class {case.truth}', *made.data.shape[::-1], ink=True)}"
        f"<ul>{answers}</ul>{_bars(case)}</li>"
    )


def _bars(case: Disagreement) -> str:
    """Return the votes of each class as bars."""
    most = sorted(case.shares, key=lambda label: -case.shares[label])[:MOST_CLASSES]
    shown = [label for label in case.shares if label in most or label == case.truth]
    step, top, foot = 240 / len(shown), 12.0, 56.0
    scale = (foot - top) / max(max(case.shares.values()), 1e-9)
    parts, said = [f'<line x1="0" y1="{foot}" x2="240" y2="{foot}"/>'], []
    for i, label in enumerate(shown):
        share, name, mark = case.shares[label], escape(str(label)), " true" if label == case.truth else ""
        height, middle, percent = share * scale, (i + 0.5) * step, f"{100 * share:.{1 if share < 0.0995 else 0}f}"
        parts.append(
            f'<rect class="bar{mark}" x="{middle - 0.36 * step:.1f}" y="{foot - height:.1f}" '
            f'width="{0.72 * step:.1f}" height="{height:.1f}"/>'
        )
        parts.append(f'<text class="{mark.strip()}" x="{middle:.1f}" y="66">{name}</text>')
        if float(percent) > 0:
            parts.append(f'<text x="{middle:.1f}" y="{foot - height - 2.5:.1f}">{percent}</text>')
        said.append(f"{name}: {percent} %")
    label = f"Votes for each class. {', '.join(said)}"
    return f'<svg class="votes" viewBox="0 0 240 69" role="img" aria-label="{label}">{"".join(parts)}</svg>'


# -- how it was made --------------------------------------------------------------------------------------------------


def _how_made(made: Reproduction) -> str:
    n, data = made.settings.permutations, made.data
    facts = {
        "Made": f"{made.made.astimezone(UTC):%Y-%m-%d %H:%M} UTC, in {duration(made.seconds)}; runs kept from before "
        "took none of it",
        "Data": f"{data_title(made)}, from {data.source}",
        "SHA-256 of the data": data.digest,
        "Seeds": f"{', '.join(map(str, range(n)))}: one a permutation",
        "Kernel": "(1 + x·z)^d on the pixels as they are",
        "Machine": made.environment.get("Machine", ""),
        "Versions": ", ".join(f"{name} {value}" for name, value in made.environment.items() if name != "Machine"),
    }
    command = f"<pre><code>{escape(made.command)}</code></pre>\n" if made.command else ""
    return f"{command}{pairs_html(facts)}\n{_runs(made)}"


def _runs(made: Reproduction) -> str:
    """Return all runs as a table that opens."""
    if not made.runs:
        return ""
    head = ("degree", "seed", "epochs", "ran", "train", "scan", "SHA-256 of the record")
    rows: list[Sequence[str]] = [
        (
            str(degree),
            str(run.key.seed),
            f"{run.key.epochs:g}",
            f"{run.epochs_run:g}{'' if run.converged else ' (not converged)'}",
            duration(run.train_seconds),
            duration(run.scan_seconds),
            run.digest[:16],
        )
        for degree, mine in sorted(made.runs.items())
        for run in mine
    ]
    caption = "Each run. Where nothing was left to learn, training ended early. Digests: their first 16 digits."
    table = table_html(caption, head, rows, numbers=range(6))
    return f"<details><summary>All {len(rows)} runs</summary>\n{table}</details>"
