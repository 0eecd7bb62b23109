"""The papers' tables from finished runs: our numbers, the published ones beside them, and the differences.

Our number is a mean over permutations with its standard error. It agrees with a published one

* of an error: within two standard errors and the rounding of a number that was read in a source, or within 0.2
  percentage points of a recalled one (0.7 for degree 1 at T = 0.1);
* of a count: within 2 % of one that was read, 3 % of a recalled one.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from votron._util.text import as_csv, as_markdown, as_text
from votron._util.types import Params
from votron.papers import LABEL_DEGREE
from votron.papers.runs import COUNTS, DELTA, MOMENTS, RULES, Results, mean_and_error

PAPERS: Params = tomllib.loads(resources.files("votron.papers").joinpath("papers.toml").read_text(encoding="utf-8"))
"""The numbers that the papers print."""
LABEL_MOMENTS = (0.1, 1.0, 10.0, 30.0)
"""Those of Table 2."""
LABEL_RULES = ("Vote", "Avg (unnorm)", "Avg (norm)", "Last (unnorm)", "Rand (unnorm)")
"""The rules of Tables 2 and 3: normalising changes nothing for one label's last and random vectors."""


@dataclass(frozen=True)
class Fact:
    """One published number; a recalled one was not read in a source, and its last digit is unknown."""

    value: float
    recalled: bool

    def __str__(self) -> str:
        return ("~" if self.recalled else "") + f"{self.value:,}"


@dataclass(frozen=True)
class Cell:
    """Our number and the published one: an error in percent, or a count.

    ``error`` is the standard error (None for a single run), ``slack`` how far a recalled error may be off, in
    percentage points. Numbers that are not ``judged`` are another machine's, or are compared in another table.
    """

    value: float
    error: float | None = None
    paper: Fact | None = None
    count: bool = False
    slack: float = 0.2
    judged: bool = True

    @property
    def text(self) -> str:
        return f"{self.value:,.0f}" if self.count else f"{self.value:.2f}"

    @property
    def difference(self) -> float | None:
        return None if self.paper is None else self.value - self.paper.value

    @property
    def agrees(self) -> bool | None:
        """Whether ours agrees with the published number; None where there is nothing to compare."""
        if self.paper is None or not self.judged:
            return None
        apart = abs(self.value - self.paper.value)
        if self.count:
            return bool(apart <= (0.03 if self.paper.recalled else 0.02) * self.paper.value)
        if self.paper.recalled:
            return apart <= self.slack + 1e-9
        if self.error is None:  # the error of a single run is unknown
            return None
        decimals = max(1, len(f"{self.paper.value:.6f}".rstrip("0").split(".")[1]))
        return apart <= 2 * self.error + 0.5 * 10.0**-decimals + 1e-9


Cells = tuple[Cell | None, ...]


@dataclass(frozen=True)
class Row:
    """A row of a table: our cells, and those of another paper with its name."""

    name: str
    cells: Cells
    group: str = ""
    other: tuple[str, Cells] | None = None

    @property
    def by_paper(self) -> list[tuple[str, Cells]]:
        return [("paper", self.cells), *([self.other] if self.other else [])]


@dataclass(frozen=True)
class Table:
    """A table of a paper, our numbers beside the published ones."""

    key: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return list(found.items())

    @property
    def numbers(self) -> list[tuple[Row, str, str, Cell]]:
        return [
            (row, column, paper, cell)
            for row in self.rows
            for paper, cells in row.by_paper
            for column, cell in zip(self.columns, cells, strict=True)
            if cell is not None and (paper == "paper" or cell.paper is not None)
        ]

    @property
    def disagreements(self) -> list[tuple[Row, str, str, Cell]]:
        return [number for number in self.numbers if number[-1].agrees is False]

    @property
    def n_compared(self) -> int:
        return sum(cell.agrees is not None for *_, cell in self.numbers)

    def lines(self) -> list[list[str]]:
        """Return the table as rows of text, header first; published numbers are indented below ours."""
        out = [["", *self.columns]]
        for group, rows in self.groups:
            if group:
                out.append([group, *[""] * len(self.columns)])
            for row in rows:
                out.append([row.name, *map(with_error, row.cells)])
                out += [
                    [f"  {paper}", *map(_published, cells)]
                    for paper, cells in row.by_paper
                    if any(cell is not None and cell.paper is not None for cell in cells)
                ]
        return out

    def as_text(self, *, colour: bool = False) -> str:
        notes = "".join(f"\n{note}" for note in self.notes)
        return f"{self.title}\n{self.caption}\n\n{as_text(self.lines(), colour=colour)}\n{notes}".rstrip() + "\n"

    def as_markdown(self) -> str:
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"## {self.title}\n\n{self.caption}\n\n{as_markdown(self.lines())}\n{notes}"

    def records(self) -> list[dict[str, str | float | bool | None]]:
        """Return the numbers as in CSV and JSON files."""
        return [
            {
                "table": self.key,
                "group": row.group,
                "row": row.name,
                "column": column,
                "ours": cell.value,
                "standard_error": cell.error,
                "published": cell.paper.value if cell.paper else None,
                "by": paper if cell.paper else None,
                "status": ("recalled" if cell.paper.recalled else "read") if cell.paper else None,
                "difference": cell.difference,
                "agrees": cell.agrees,
            }
            for row, column, paper, cell in self.numbers
        ]

    def as_csv(self) -> str:
        records = self.records()
        return as_csv([records[0].keys(), *(record.values() for record in records)])


def with_error(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.error is None or cell.count:
        return cell.text
    return f"{cell.text} ±{cell.error:.2f}".replace("±0.", "±.")


def _published(cell: Cell | None) -> str:
    if cell is None or cell.paper is None:
        return ""
    return f"{cell.paper}{' !' if cell.agrees is False else ''}"


def facts(paper: str, degree: int) -> dict[str, dict[float, Fact]]:
    """Return the numbers of a paper for one degree, by row and moment; empty where it has none."""
    moments, found = PAPERS[paper]["moments"], {}
    for rows in PAPERS[paper]["rows"]:
        if rows["degree"] != degree:
            continue
        read_at, recalled = rows.get("read_at", {}), rows["status"] == "recalled"
        for name in rows.keys() - {"degree", "status", "read_at"}:
            pairs = zip(moments, rows[name], strict=False)  # degree 1 ends at T = 10
            found[name] = {float(t): Fact(value, recalled and t not in read_at.get(name, [])) for t, value in pairs}
    return found


def label_facts(machine: str, row: str) -> list[Fact]:
    """Return one number per label, for "perceptron" or "svm": Table 2, and Graepel's Table 1."""
    labels = PAPERS["labels"]
    return [Fact(value, labels["status"] == "recalled") for value in labels[machine].get(row, [])]


def _cell(
    results: Results,
    degree: int,
    row: str,
    moment: float,
    *,
    label: int | None = None,
    paper: Fact | None = None,
    judged: bool = True,
) -> Cell | None:
    """Return our number; None where training ended before."""
    if moment > results.end(degree) + 1e-9:
        return None
    value, error = mean_and_error(results.values(degree, row, moment, label))
    slack = 0.7 if label is None and (degree, moment) == (1, 0.1) else 0.2
    return Cell(value, error, paper, row in COUNTS, slack, judged)


def _moments(results: Results, wanted: Sequence[float], degrees: Sequence[int]) -> list[float]:
    """Return the wanted moments that training reached, and its end."""
    end = max(results.end(degree) for degree in degrees)
    smallest = min(results.runs[degree][0].moments[0] for degree in degrees)
    return sorted({t for t in wanted if smallest <= t < end} | {end})


def _mean_of(results: Results) -> str:
    n = max(map(len, results.runs.values()))
    return f"mean of {n} permutations ± its standard error" if n > 1 else "one permutation"


REMARK = "~ recalled: confirmed by replications to about 3 %, the last digit unknown. ! ours does not agree."
SOURCES = f"paper: {PAPERS['freund_schapire']['source']}. Li & Long: {PAPERS['li_long']['source']}."
LABEL_SOURCES = (
    f"Published: {PAPERS['labels']['perceptron']['source']}; of SVMs, {PAPERS['labels']['svm']['source']}, which are "
    "shown and not judged."
)


def table1(results: Results) -> Table:
    """Return Freund & Schapire's Table 1: all rules, moments and degrees."""
    moments = _moments(results, MOMENTS, list(results.runs))
    rows = []
    for degree in sorted(results.runs):
        paper = facts("freund_schapire", degree) if results.is_mnist else {}
        other = facts("li_long", degree) if results.is_mnist else {}
        for name in (*RULES, *COUNTS):
            ours, theirs = (
                tuple(_cell(results, degree, name, t, paper=known.get(name, {}).get(t)) for t in moments)
                for known in (paper, other)
            )
            rows.append(Row(name, ours, f"d = {degree}", ("Li & Long", theirs) if name in other else None))
    return Table(
        "table1",
        "Table 1: rules, epochs and degrees",
        f"Test error in %, all labels, after T epochs; {_mean_of(results)}. "
        "SupVec: examples with a mistake of any label.",
        tuple(f"T = {t:g}" for t in moments),
        tuple(rows),
        (REMARK, SOURCES) if results.is_mnist else (),
    )


def table2(results: Results) -> Table:
    """Return Freund & Schapire's Table 2: each label against the rest."""
    moments, labels = _moments(results, LABEL_MOMENTS, [LABEL_DEGREE]), range(len(results.labels))
    rows = []
    for t in moments:
        for name in (*LABEL_RULES, *COUNTS):
            known = results.is_mnist and t == moments[-1] == 30.0
            paper = label_facts("perceptron", "error" if name == "Vote" else name) if known else []
            cells = [_cell(results, LABEL_DEGREE, name, t, label=c, paper=paper[c] if paper else None) for c in labels]
            rows.append(Row(name, tuple(cells), f"T = {t:g}"))
    rows += _machine_rows(results, ("error", "SupVec"))
    notes = [REMARK, LABEL_SOURCES] if results.is_mnist else []
    notes += [f"SVM: {results.machines[0].solver}, hard margin."] if results.machines else []
    return Table(
        "table2",
        "Table 2: each label against the rest",
        f"Test error in %, each label against the rest, (1 + x·z)^{LABEL_DEGREE}; {_mean_of(results)}.",
        tuple(map(str, results.labels)),
        tuple(rows),
        tuple(notes),
    )


def _machine_rows(results: Results, names: Sequence[str]) -> list[Row]:
    """Return rows of the SVMs; not judged, since the papers' solver and preprocessing were different."""
    shown = {"error": "SVM error", "SupVec": "SVM SupVec", "bound": "SVM bound (7) %"}
    rows = []
    for name in names if results.machines else ():
        published = label_facts("svm", name) if results.is_mnist else [None] * len(results.machines)
        cells: list[Cell | None] = []
        for machine, paper in zip(results.machines, published, strict=True):
            value = {"error": machine.error, "SupVec": machine.n_support, "bound": machine.bound}[name]
            cell = Cell(value, None, paper, name == "SupVec", judged=False)
            cells.append(cell if math.isfinite(value) else None)
        rows.append(Row(shown[name], tuple(cells), "SVM"))
    return rows


def table3(results: Results) -> Table:
    """Return Freund & Schapire's Table 3: the last label against the rest, for all degrees."""
    moments, label = _moments(results, MOMENTS, list(results.runs)), len(results.labels) - 1
    rows = []
    for degree in sorted(results.runs):
        for name in (*LABEL_RULES, *COUNTS):
            known = results.is_mnist and degree == LABEL_DEGREE and name in COUNTS
            paper = {30.0: label_facts("perceptron", name)[label]} if known else {}
            # not judged, since it is in Table 2
            cells = [_cell(results, degree, name, t, label=label, paper=paper.get(t), judged=False) for t in moments]
            rows.append(Row(name, tuple(cells), f"d = {degree}"))
    name = str(results.labels[label])
    return Table(
        "table3",
        f"Table 3: {name} against the rest",
        f"Test error in %, {name} against the rest, after T epochs; {_mean_of(results)}.",
        tuple(f"T = {t:g}" for t in moments),
        tuple(rows),
        (REMARK,) if results.is_mnist else (),
    )


def sparsity(results: Results) -> Table:
    """Return Graepel, Herbrich & Williamson's Table 1: error, support, mistakes and bound (7), perceptron and SVM."""
    end, n_labels = results.end(LABEL_DEGREE), len(results.labels)

    def paper(name: str) -> Sequence[Fact | None]:
        return label_facts("perceptron", name) if results.is_mnist and end == 30 else [None] * n_labels

    rows = []
    shown = ("error %", "error", "Last (unnorm)"), ("‖α‖₀", "SupVec", "SupVec"), ("mistakes", "Mistake", "Mistake")
    for name, fact, row in shown:
        cells = [
            _cell(results, LABEL_DEGREE, row, end, label=c, paper=known, judged=False)
            for c, known in enumerate(paper(fact))
        ]
        rows.append(Row(name, tuple(cells), "perceptron"))
    bounds = [results.bounds(LABEL_DEGREE, c) for c in range(n_labels)]
    found = [
        Cell(*mean_and_error(bound), known) if np.isfinite(bound).all() else None
        for bound, known in zip(bounds, paper("bound"), strict=True)
    ]
    rows.append(Row("bound (7) %", tuple(found), "perceptron"))
    rows += _machine_rows(results, ("error", "SupVec", "bound"))
    notes = ["The bound is of runs that ended without a mistake left; error is the last vector's."]
    return Table(
        "sparsity",
        "Sparsity: Graepel, Herbrich & Williamson's Table 1",
        f"The perceptron after {end:g} epochs and the SVM, each label against the rest, (1 + x·z)^{LABEL_DEGREE}; "
        f"bound (7) at δ = {DELTA}; {_mean_of(results)}.",
        tuple(map(str, results.labels)),
        tuple(rows),
        (*notes, REMARK, LABEL_SOURCES) if results.is_mnist else tuple(notes),
    )
