"""The papers' tables from finished runs: ours, theirs beside it where it is known, and how far apart they are.

A number of ours is a mean over permutations with its standard error. It agrees with a published one

* of an error: within two standard errors and the rounding of a number that was read in a source, or within 0.2
  percentage points of a recalled one (0.7 for degree 1 at T = 0.1);
* of a count: within 2 % of one that was read, 3 % of a recalled one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text_tables import as_csv, as_markdown, as_text
from votron.papers.machines import MachineResult
from votron.papers.published import Fact, facts, label_facts, label_source, source
from votron.papers.runs import RULES, RunResult
from votron.theory import compression_bound

__all__ = ["Cell", "Row", "Table", "sparsity", "table1", "table2", "table3"]

MOMENTS = (0.1, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0)
"""The paper's moments T, in epochs."""
LABEL_MOMENTS = (0.1, 1.0, 10.0, 30.0)
"""Those of Table 2."""
LABEL_RULES = ("Vote", "Avg (unnorm)", "Avg (norm)", "Last (unnorm)", "Rand (unnorm)")
"""The rules of Tables 2 and 3: normalising changes nothing for one label's last and random vectors."""
DELTA = 0.05

Runs = Mapping[int, Sequence[RunResult]]
"""The runs of each degree, one a permutation."""


@dataclass(frozen=True)
class Cell:
    """A number, with what is published.

    Attributes
    ----------
    value : float
        Ours.
    error : float or None
        Its standard error; None of one run.
    paper : Fact or None
        What is published.
    count : bool
        Whether it is a count, and not an error in percent.
    slack : float
        How far a recalled error may be off, in percentage points.
    judged : bool
        Whether it should agree with what is published; not, where that is of another machine or stands elsewhere too.

    Examples
    --------
    >>> cell = Cell(2.24, 0.02, Fact(2.2, recalled=True))
    >>> cell.text, cell.difference, cell.agrees
    ('2.24', 0.040000000000000036, True)
    """

    value: float
    error: float | None = None
    paper: Fact | None = None
    count: bool = False
    slack: float = 0.2
    judged: bool = True

    @property
    def text(self) -> str:
        """The value as it is shown."""
        return f"{self.value:,.0f}" if self.count else f"{self.value:.2f}"

    @property
    def difference(self) -> float | None:
        """Ours less theirs."""
        return None if self.paper is None else self.value - self.paper.value

    @property
    def agrees(self) -> bool | None:
        """Whether ours agrees with theirs; None where there is nothing to agree with."""
        if self.paper is None or self.difference is None or not self.judged:
            return None
        if self.count:
            return bool(abs(self.difference) <= (0.03 if self.paper.recalled else 0.02) * self.paper.value)
        if self.paper.recalled:
            return abs(self.difference) <= self.slack + 1e-9
        if self.error is None:  # how far one run may be off is not known
            return None
        rounding = 0.5 * 10.0 ** -_decimals(self.paper.value)
        return abs(self.difference) <= 2 * self.error + rounding + 1e-9


def _decimals(value: float) -> int:
    """Return how many decimals a number was printed with, as far as that can be told: at least one."""
    return max(1, len(f"{value:.6f}".rstrip("0").split(".")[1]))


@dataclass(frozen=True)
class Row:
    """A row: what it is of, its cells, and those of other papers below.

    Examples
    --------
    >>> Row("Vote", (Cell(2.24, 0.02), None), group="d = 4").cells[0].text
    '2.24'
    """

    name: str
    cells: tuple[Cell | None, ...]
    group: str = ""
    others: tuple[tuple[str, tuple[Cell | None, ...]], ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of a paper, ours beside theirs.

    Attributes
    ----------
    key, title, caption : str
        Its short name, its title, and a sentence.
    columns : tuple of str
        Heads of the columns.
    rows : tuple of Row
        In groups.
    notes : tuple of str
        Sentences to stand below.

    Examples
    --------
    >>> vote = Row("Vote", (Cell(5.5, 0.1, Fact(5.4, recalled=True)), Cell(2.6, 0.02, Fact(2.2, recalled=True))))
    >>> table = Table("t", "A table", "Errors in %.", ("T = 0.1", "T = 1"), (vote,))
    >>> print(table.as_text())
    A table
    Errors in %.
    <BLANKLINE>
               T = 0.1      T = 1
    Vote     5.50 ±.10  2.60 ±.02
      paper       ~5.4     ~2.2 !
    <BLANKLINE>
    >>> table.n_compared, len(table.disagreements)
    (2, 1)
    """

    key: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """The rows by group, in order."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return list(found.items())

    @property
    def disagreements(self) -> list[tuple[Row, str, str, Cell]]:
        """Row, column, paper and cell of every number that does not agree."""
        out = []
        for row in self.rows:
            for paper, cells in (("paper", row.cells), *row.others):
                out += [
                    (row, column, paper, cell)
                    for column, cell in zip(self.columns, cells, strict=True)
                    if cell is not None and cell.agrees is False
                ]
        return out

    @property
    def n_compared(self) -> int:
        """How many numbers there are to agree with."""
        cells = [c for row in self.rows for group in (row.cells, *(o for _, o in row.others)) for c in group]
        return sum(cell is not None and cell.agrees is not None for cell in cells)

    def lines(self) -> list[list[str]]:
        """Return the table as rows of text, the head first; what papers print is below ours and begins with a space."""
        out = [["", *self.columns]]
        for group, rows in self.groups:
            if group:
                out.append([group, *[""] * len(self.columns)])
            for row in rows:
                out.append([row.name, *(_with_error(cell) for cell in row.cells)])
                for paper, cells in (("paper", row.cells), *row.others):
                    if any(cell is not None and cell.paper is not None for cell in cells):
                        out.append([f"  {paper}", *(_published(cell) for cell in cells)])
        return out

    def as_text(self, *, colour: bool = False) -> str:
        """Return it as aligned lines."""
        notes = "".join(f"\n{note}" for note in self.notes)
        return f"{self.title}\n{self.caption}\n\n{as_text(self.lines(), colour=colour)}\n{notes}".rstrip() + "\n"

    def as_markdown(self) -> str:
        """Return it in Markdown."""
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"## {self.title}\n\n{self.caption}\n\n{as_markdown(self.lines())}\n{notes}"

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each number: what CSV and JSON files have."""
        out = []
        for row in self.rows:
            for paper, cells in (("", row.cells), *row.others):
                for column, cell in zip(self.columns, cells, strict=True):
                    if cell is None or (paper and cell.paper is None):
                        continue
                    out.append(
                        {
                            "table": self.key,
                            "group": row.group,
                            "row": row.name,
                            "column": column,
                            "ours": cell.value,
                            "standard_error": cell.error,
                            "published": None if cell.paper is None else cell.paper.value,
                            "by": (paper or "paper") if cell.paper is not None else None,
                            "status": None if cell.paper is None else "recalled" if cell.paper.recalled else "read",
                            "difference": cell.difference,
                            "agrees": cell.agrees,
                        }
                    )
        return out

    def as_csv(self) -> str:
        """Return the numbers as CSV."""
        records = self.records()
        return as_csv([records[0] if records else ["table"], *(record.values() for record in records)])


def _with_error(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.error is None or cell.count:
        return cell.text
    return f"{cell.text} ±{cell.error:.2f}".replace("±0.", "±.")


def _published(cell: Cell | None) -> str:
    """Return what is published, recalled numbers with ~, and with ! where ours does not agree."""
    if cell is None or cell.paper is None:
        return ""
    return f"{cell.paper}{' !' if cell.agrees is False else ''}"


# -- numbers of the runs ----------------------------------------------------------------------------------------------


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Return the mean of one number a permutation and its standard error.

    Examples
    --------
    >>> mean_and_error([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896258)
    >>> mean_and_error([5])
    (5.0, None)
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 1:
        return float(array[0]), None
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def at_all_moments(run: RunResult, row: str, label: int | None = None) -> NDArray[np.float64]:
    """Return a row of a table at each moment of a run: errors in percent, or counts; of all labels or of one."""
    if row in RULES:
        r = list(RULES).index(row)
        wrong = run.wrong[r] if label is None else run.wrong_by_label[r, :, label]
        return 100.0 * wrong / run.n_test
    if row == "SupVec":
        counts = run.support_of_any if label is None else run.support[:, label]
    else:
        counts = run.mistakes.sum(axis=1) if label is None else run.mistakes[:, label]
    return counts.astype(np.float64)


def series(runs: Sequence[RunResult], row: str, moment: float, label: int | None = None) -> NDArray[np.float64]:
    """Return a row of a table at one moment, one number a run."""
    return np.array([at_all_moments(run, row, label)[run.at(moment)] for run in runs])


def bounds_of(runs: Sequence[RunResult], n_examples: int, label: int) -> NDArray[np.float64]:
    """Return the bound (7) on a label's error, in percent, one a run; infinite where it cannot be had.

    It is about a vector that is right on all training examples, and so about converged runs only.
    """
    out = []
    for run, support in zip(runs, series(runs, "SupVec", runs[0].key.epochs, label), strict=True):
        can_be = run.converged and support < n_examples
        out.append(100 * compression_bound(n_examples, int(support), DELTA) if can_be else math.inf)
    return np.array(out)


def _cell(
    runs: Sequence[RunResult],
    row: str,
    moment: float,
    paper: Fact | None = None,
    label: int | None = None,
    slack: float = 0.2,
    judged: bool = True,
) -> Cell | None:
    if not runs or moment > runs[0].key.epochs + 1e-9:
        return None
    value, error = mean_and_error(series(runs, row, moment, label))
    return Cell(value, error, paper, row not in RULES, slack, judged)


def _moments(runs: Runs, wanted: Sequence[float]) -> list[float]:
    """Return the wanted moments that training reached, and its end."""
    end = max(run.key.epochs for mine in runs.values() for run in mine)
    smallest = min(run.moments[0] for mine in runs.values() for run in mine)
    return sorted({t for t in wanted if smallest <= t < end} | {end})


def _of(runs: Runs) -> str:
    n = max(len(mine) for mine in runs.values())
    return f"mean of {n} permutations ± its standard error" if n > 1 else "one permutation"


# -- the tables -------------------------------------------------------------------------------------------------------

SMALLEST_SLACK = {(1, 0.1): 0.7}
"""Where a recalled error may be further off: degree and moment."""
REMARK = "~ recalled: confirmed by replications to about 3 %, the last digit unknown. ! ours does not agree."
SOURCES = f"paper: {source('freund_schapire')}. Li & Long: {source('li_long')}."
LABEL_SOURCES = (
    f"Published: {label_source('perceptron')}; of SVMs, {label_source('svm')}, which are shown and not judged."
)


def table1(runs: Runs, *, mnist: bool) -> Table:
    """Return Freund & Schapire's Table 1: all rules, moments and degrees; beside theirs where the data are theirs.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {4: [perform(RunKey(data.digest, 4, seed=0, epochs=1.0), data)]}
    >>> found = table1(runs, mnist=False)
    >>> found.columns, [row.name for row in found.rows][-2:]
    (('T = 0.1', 'T = 1'), ['SupVec', 'Mistake'])
    """
    moments = _moments(runs, MOMENTS)
    rows = []
    for degree, mine in sorted(runs.items()):
        paper = facts("freund_schapire", degree) if mnist else {}
        other = facts("li_long", degree) if mnist else {}
        for name in (*RULES, "SupVec", "Mistake"):
            cells, theirs = [], []
            for t in moments:
                slack = SMALLEST_SLACK.get((degree, t), 0.2)
                cells.append(_cell(mine, name, t, paper.get(name, {}).get(t), slack=slack))
                theirs.append(_cell(mine, name, t, other.get(name, {}).get(t)))
            found = (("Li & Long", tuple(theirs)),) if name in other else ()
            rows.append(Row(name, tuple(cells), f"d = {degree}", found))
    caption = f"Test error in %, all labels, after T epochs; {_of(runs)}. SupVec: examples with a mistake of any label."
    columns = tuple(f"T = {t:g}" for t in moments)
    return Table(
        "table1",
        "Table 1: rules, epochs and degrees",
        caption,
        columns,
        tuple(rows),
        (REMARK, SOURCES) if mnist else (),
    )


def table2(
    runs: Runs, machines: Sequence[MachineResult], labels: Sequence[Any], *, mnist: bool, degree: int = 4
) -> Table:
    """Return Freund & Schapire's Table 2: each label against the rest.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {4: [perform(RunKey(data.digest, 4, seed=0, epochs=1.0), data)]}
    >>> len(table2(runs, [], range(10), mnist=False).columns)
    10
    """
    mine = runs[degree]
    moments = _moments({degree: mine}, LABEL_MOMENTS)
    rows = []
    for t in moments:
        last = t == moments[-1] and mnist and t == 30.0
        for name in (*LABEL_RULES, "SupVec", "Mistake"):
            published = label_facts("perceptron", "error" if name == "Vote" else name) if last else []
            cells = [_cell(mine, name, t, published[c] if published else None, label=c) for c in range(len(labels))]
            rows.append(Row(name, tuple(cells), f"T = {t:g}"))
    rows += _machine_rows(machines, mnist, ("error", "SupVec"))
    notes = [REMARK, LABEL_SOURCES] if mnist else []
    notes += [f"SVM: {machines[0].solver}, hard margin."] if machines else []
    caption = f"Test error in %, each label against the rest, (1 + x·z)^{degree}; {_of({degree: mine})}."
    return Table(
        "table2", "Table 2: each label against the rest", caption, tuple(map(str, labels)), tuple(rows), tuple(notes)
    )


def _machine_rows(machines: Sequence[MachineResult], mnist: bool, names: Sequence[str]) -> list[Row]:
    if not machines:
        return []
    rows = []
    for name in names:
        published = label_facts("svm", name) if mnist else []
        cells: list[Cell | None] = []
        for c, machine in enumerate(machines):
            value = {"error": machine.error, "SupVec": float(machine.n_support), "bound": machine.bound(DELTA)}[name]
            if not math.isfinite(value):
                cells.append(None)
                continue
            # another solver's, on digits that were prepared in another way
            cells.append(Cell(value, None, published[c] if published else None, name == "SupVec", judged=False))
        shown = {"error": "SVM error", "SupVec": "SVM SupVec", "bound": "SVM bound (7) %"}[name]
        rows.append(Row(shown, tuple(cells), "SVM"))
    return rows


def table3(runs: Runs, labels: Sequence[Any], *, mnist: bool) -> Table:
    """Return Freund & Schapire's Table 3: the last label against the rest, for all degrees.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {4: [perform(RunKey(data.digest, 4, seed=0, epochs=1.0), data)]}
    >>> table3(runs, range(10), mnist=False).title
    'Table 3: 9 against the rest'
    """
    moments, label = _moments(runs, MOMENTS), len(labels) - 1
    rows = []
    for degree, mine in sorted(runs.items()):
        for name in (*LABEL_RULES, "SupVec", "Mistake"):
            known = mnist and degree == 4 and name in ("SupVec", "Mistake")
            cells = [
                _cell(
                    mine,
                    name,
                    t,
                    label_facts("perceptron", name)[label] if known and t == 30 else None,
                    label=label,
                    judged=False,  # it is in Table 2
                )
                for t in moments
            ]
            rows.append(Row(name, tuple(cells), f"d = {degree}"))
    caption = f"Test error in %, {labels[label]!s} against the rest, after T epochs; {_of(runs)}."
    columns = tuple(f"T = {t:g}" for t in moments)
    title = f"Table 3: {labels[label]!s} against the rest"
    return Table("table3", title, caption, columns, tuple(rows), (REMARK,) if mnist else ())


def _bound_cell(bounds: NDArray[np.float64], paper: Fact | None) -> Cell | None:
    """Return the mean bound, where all runs have one."""
    return Cell(*mean_and_error(bounds), paper) if np.isfinite(bounds).all() else None


def sparsity(
    runs: Runs,
    machines: Sequence[MachineResult],
    labels: Sequence[Any],
    n_examples: int,
    *,
    mnist: bool,
    degree: int = 4,
) -> Table:
    """Return Graepel, Herbrich & Williamson's Table 1: error, support, mistakes and bound (7), perceptron and SVM.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {4: [perform(RunKey(data.digest, 4, seed=0, epochs=1.0), data)]}
    >>> [row.name for row in sparsity(runs, [], range(10), 1200, mnist=False).rows]
    ['error %', '‖α‖₀', 'mistakes', 'bound (7) %']
    """
    mine = runs[degree]
    end = mine[0].key.epochs
    published = {
        name: label_facts("perceptron", name) if mnist and end == 30 else []
        for name in ("error", "SupVec", "Mistake", "bound")
    }
    rows = []
    for name, row in (("error", "Last (unnorm)"), ("SupVec", "SupVec"), ("Mistake", "Mistake")):
        cells = [
            _cell(mine, row, end, published[name][c] if published[name] else None, label=c, judged=False)
            for c in range(len(labels))
        ]
        rows.append(
            Row({"error": "error %", "SupVec": "‖α‖₀", "Mistake": "mistakes"}[name], tuple(cells), "perceptron")
        )
    found = [
        _bound_cell(bounds_of(mine, n_examples, c), published["bound"][c] if published["bound"] else None)
        for c in range(len(labels))
    ]
    rows.append(Row("bound (7) %", tuple(found), "perceptron"))
    rows += _machine_rows(machines, mnist, ("error", "SupVec", "bound"))
    caption = (
        f"The perceptron after {end:g} epochs and the SVM, each label against the rest, (1 + x·z)^{degree}; "
        f"bound (7) at δ = {DELTA}; {_of({degree: mine})}."
    )
    notes = ["The bound is of runs that ended without a mistake left; error is the last vector's."]
    notes += [REMARK, LABEL_SOURCES] if mnist else []
    return Table(
        "sparsity",
        "Sparsity: Graepel, Herbrich & Williamson's Table 1",
        caption,
        tuple(map(str, labels)),
        tuple(rows),
        tuple(notes),
    )
