"""The report's tables in HTML: ours, what is published below it, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from votron._util.pages import facts_html, table_html
from votron._util.text import duration
from votron.papers.claims import Claim
from votron.papers.published import running_time
from votron.papers.tables import Cell, Row, Table, series

if TYPE_CHECKING:
    from votron.papers.reproduce import Reproduction

MANY = 12
"""More numbers that do not agree are listed in a part that opens."""
LONG = 18
"""Letters from which on the name of a row may be broken."""
WIDE = 9
"""Columns from which on a table is set closer."""
MARK = {True: "✓", False: "✗", None: "?"}

HEAD_OF_OFF = ("table", "number", "ours", "published", "difference")

RULE_OF_AGREEMENT = (
    "A number of ours agrees with a published one: an error that was read in a source, within two standard errors of "
    "ours and the rounding of theirs; a recalled one (~), within 0.2 percentage points (0.7 for d = 1 at T = 0.1); a "
    "count within 2 %, a recalled one within 3 %."
)


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


# -- numbers ----------------------------------------------------------------------------------------------------------


def table(of: Table) -> str:
    """Return a table, and the sentences that belong to it."""
    published = of.n_compared > 0
    below = " Below ours: what is published, and in brackets ours less theirs." if published else ""
    caption = f"<caption><span>{escape(of.caption)}{below}</span></caption>"
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in of.columns)
    groups = "\n".join(_group(of, i, name, rows) for i, (name, rows) in enumerate(of.groups))
    notes = "".join(f'<p class="muted">{escape(note)}</p>' for note in of.notes)
    kind = "numbers many" if len(of.columns) >= WIDE else "numbers"
    return (
        f'{_agreement(of)}<div class="scroll" tabindex="0" role="region" aria-label="{escape(of.title)}">\n'
        f'<table class="{kind}">{caption}\n<thead><tr><td></td>{heads}</tr></thead>\n{groups}\n</table>\n</div>\n'
        f"{notes}"
    )


def _agreement(of: Table) -> str:
    if not of.n_compared:
        return ""
    off = len(of.disagreements)
    rest = (
        ""
        if not off
        else " The one that does not is marked !."
        if off == 1
        else f" The {off} that do not are marked !."
    )
    return f"<p>{of.n_compared - off} of {of.n_compared} published numbers agree.{rest}</p>\n"


def _group(of: Table, place: int, name: str, rows: Sequence[Row]) -> str:
    """Return the rows of a group; where the head of the table is far above, it is shown again beside its name."""
    lines = [line for row in rows for line in _lines(row)]
    if name:
        again = "".join(f'<td aria-hidden="true">{escape(column)}</td>' for column in of.columns)
        beside = again if place else f'<td colspan="{len(of.columns)}"></td>'
        lines.insert(0, f'<tr class="group"><th scope="rowgroup">{escape(name)}</th>{beside}</tr>')
    return "<tbody>" + "\n".join(lines) + "</tbody>"


def _lines(row: Row) -> list[str]:
    """Return ours, and below it what each paper has."""
    cells = "".join(f"<td>{_ours(cell)}</td>" for cell in row.cells)
    name = escape(row.name)
    if len(row.name) > LONG:
        out = [f'<tr class="ours"><th scope="row" class="long">{name.replace(" = ", "&nbsp;=&nbsp;")}</th>{cells}</tr>']
    else:
        out = [f'<tr class="ours"><th scope="row">{name}</th>{cells}</tr>']
    for paper, theirs in (("paper", row.cells), *row.others):
        if any(cell is not None and cell.paper is not None for cell in theirs):
            cells = "".join(_published(cell) for cell in theirs)
            out.append(f'<tr class="theirs"><th scope="row">{escape(paper)}</th>{cells}</tr>')
    return out


def _ours(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.error is None:
        return cell.text
    error = f"{cell.error:,.0f}" if cell.count else f"{cell.error:.2f}"
    return f'{cell.text}<span class="error">±{error}</span>'


def _published(cell: Cell | None) -> str:
    if cell is None or cell.paper is None:
        return "<td></td>"
    if cell.agrees is not False:
        return f"<td>{cell.paper} ({signed(cell)})</td>"
    return f'<td class="off">{cell.paper} ({signed(cell)}) !</td>'


# -- words ------------------------------------------------------------------------------------------------------------


def claims(found: Sequence[Claim]) -> str:
    """Return the claims, each with a verdict and the evidence."""
    rows = "\n".join(
        f'<tr><td class="verdict {c.verdict}">{MARK[c.holds]} {c.verdict}</td>'
        f'<th scope="row">{escape(c.text)}<small>{escape(c.source)}</small></th><td>{escape(c.evidence)}</td></tr>'
        for c in found
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Holds here", "Claim", "Evidence"))
    return f'<table class="words claims"><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>'


def times(made: Reproduction) -> str:
    """Return how long the runs took, beside the paper's days and hours."""
    rows = []
    for degree, mine in sorted(made.runs.items()):
        train, test = (
            duration(float(np.mean(seconds)))
            for seconds in zip(*((run.train_seconds, run.scan_seconds) for run in mine), strict=True)
        )
        theirs = [running_time(degree) or "not said"] if made.is_mnist else []
        converged = f"{sum(run.converged for run in mine)} of {len(mine)}"
        rows.append([str(degree), f"{mine[0].key.epochs:g}", train, *theirs, test, converged])
    head = ["d", "T", "training", *(["the paper"] if made.is_mnist else []), "test", "converged"]
    caption = (
        "Time of one run, all labels together, mean over permutations. Test: all rules at all moments. "
        "Runs may have been done side by side, each with a part of the machine."
    )
    if made.is_mnist:
        caption += " The paper's machine had one MIPS R10000 at 194 MHz."
    numbers = [i for i, name in enumerate(head) if name != "the paper"]
    shown = table_html(caption, head, rows, numbers=numbers)
    if made.machines:
        seconds = sum(machine.seconds for machine in made.machines)
        solver = escape(made.machines[0].solver)
        shown += f"<p>The {len(made.machines)} SVMs of Table 2 took {duration(seconds)} together ({solver}).</p>"
    return shown


# -- the summary ------------------------------------------------------------------------------------------------------


def summary(made: Reproduction) -> str:
    """Return the main facts, and every number that does not agree with a published one."""
    cards = facts_html([*_facts_of_runs(made), *_facts_of_papers(made)])
    compared = sum(of.n_compared for of in made.tables)
    if compared:
        return f"{cards}<p>{RULE_OF_AGREEMENT}</p>\n{_off(made)}"
    why = "" if made.is_mnist else " The papers' data are MNIST, and these are others."
    return f"{cards}<p>There are no published numbers to compare with.{why}</p>\n"


def _facts_of_runs(made: Reproduction) -> list[tuple[str, str, str]]:
    if not made.runs:
        return []
    total = sum(map(len, made.runs.values()))
    n, degrees = max(map(len, made.runs.values())), len(made.runs)
    of = f"{degrees} degree{'s' * (degrees > 1)} × {n} permutation{'s' * (n > 1)}"
    ends = {d: float(series(mine, "Vote", mine[0].key.epochs).mean()) for d, mine in made.runs.items()}
    best = min(ends, key=lambda d: ends[d])
    seconds = sum(run.train_seconds + run.scan_seconds for mine in made.runs.values() for run in mine)
    return [
        ("Runs", str(total), of),
        ("Least error of the vote", f"{ends[best]:.2f} %", f"d = {best}, T = {made.runs[best][0].key.epochs:g}"),
        ("Training and test", duration(seconds), "all runs together"),
    ]


def _facts_of_papers(made: Reproduction) -> list[tuple[str, str, str]]:
    out = []
    compared = sum(of.n_compared for of in made.tables)
    off = sum(len(of.disagreements) for of in made.tables)
    if compared:
        note = f"{off} do{'es' * (off == 1)} not; see below" if off else "all of them"
        out.append(("Published numbers that agree", f"{compared - off} of {compared}", note))
    if made.claims:
        verdicts = [c.holds for c in made.claims]
        held, failed, undecided = (verdicts.count(verdict) for verdict in (True, False, None))
        note = f"{failed} do{'es' * (failed == 1)} not" + (f", {undecided} cannot be told" if undecided else "")
        out.append(("Claims that hold", f"{held} of {len(verdicts)}", note))
    return out


def _off(made: Reproduction) -> str:
    rows = [
        (of.title.split(":")[0], _where(row, column), *_apart(cell, paper))
        for of in made.tables
        for row, column, paper, cell in of.disagreements
    ]
    if not rows:
        return "<p>All published numbers agree with ours.</p>\n"
    what = f"The {len(rows)} published numbers that do" if len(rows) > 1 else "The published number that does"
    shown = table_html(f"{what} not agree with ours.", HEAD_OF_OFF, rows, numbers=(2, 3, 4))
    if len(rows) <= MANY:
        return shown + "\n"
    return f"<details><summary>{what} not agree with ours</summary>\n{shown}</details>\n"


def _where(row: Row, column: str) -> str:
    group = "" if row.name.startswith(row.group) else row.group
    return ", ".join(part for part in (group, row.name, f"label {column}" if column.isdecimal() else column) if part)


def _apart(cell: Cell, paper: str) -> tuple[str, str, str]:
    """Return ours, what is published and by whom, and the difference; of counts also in percent."""
    assert cell.paper is not None
    error = "" if cell.error is None else f" ±{cell.error:,.0f}" if cell.count else f" ±{cell.error:.2f}"
    relative = f" ({100 * (cell.value / cell.paper.value - 1):+.1f} %)".replace("-", "−") if cell.count else ""
    by = "" if paper == "paper" else f" ({paper})"
    return f"{cell.text}{error}", f"{cell.paper}{by}", signed(cell) + relative
