"""Reproduce the papers: which runs are wanted, what is made of them, and where it goes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from votron.data import ImageSet
from votron.errors import VotronError
from votron.experiments._command import environment
from votron.experiments._files import write_text
from votron.experiments.claims import Claim, claims
from votron.experiments.machines import MachineResult, machines, solver
from votron.experiments.runner import perform_missing
from votron.experiments.runs import RunKey, RunResult, RunStore
from votron.experiments.tables import Runs, Table, sparsity, table1, table2, table3

__all__ = ["WHAT", "Reproduction", "Settings", "reproduce", "write_tables"]

WHAT = ("table1", "table2", "table3", "figure2", "claims", "sparsity", "frontier")
"""What can be reproduced."""
EPOCHS_OF_DEGREE_1 = 10.0
"""Where the paper stops for degree 1."""
MOST_FOR_SLOW_SVC = 10_000
"""Examples up to which scikit-learn's own SVC is quick enough."""


@dataclass(frozen=True)
class Settings:
    """What to run.

    Examples
    --------
    >>> Settings(what=("table2",), degrees=(1, 4), permutations=2).needed_degrees
    (4,)
    """

    what: tuple[str, ...] = WHAT
    degrees: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    permutations: int = 10
    epochs: float = 30.0
    jobs: int | None = None
    label_degree: int = 4

    @property
    def needed_degrees(self) -> tuple[int, ...]:
        """The degrees that what is asked for needs."""
        if set(self.what) & {"table1", "table3", "figure2", "claims"}:
            return self.degrees
        return (self.label_degree,) if set(self.what) & {"table2", "sparsity"} else ()

    @property
    def needs_machines(self) -> bool:
        """Whether what is asked for needs support vector machines."""
        by_label = self.label_degree in self.needed_degrees
        return by_label and bool(set(self.what) & {"table2", "sparsity", "claims"})

    def keys(self, digest: str) -> list[RunKey]:
        """Return the runs that are needed."""
        return [
            RunKey(digest, degree, seed, min(self.epochs, EPOCHS_OF_DEGREE_1) if degree == 1 else self.epochs)
            for seed in range(self.permutations)
            for degree in self.needed_degrees
        ]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """All that a report needs.

    Attributes
    ----------
    data : ImageSet
        The data.
    settings : Settings
        What was asked for.
    runs : dict
        For each degree its runs, one a permutation.
    machines : list of MachineResult
        The support vector machines of each label; empty where there are none.
    tables : list of Table
        The tables that were asked for.
    claims : list of Claim
        The claims, if they were asked for.
    frontier : object or None
        What `votron.experiments.frontier` found, if that was asked for.
    command : str
        The command, as one would type it.
    made : datetime
        When.
    seconds : float
        How long it took this time; stored runs take none.
    environment : dict
        Versions and machine.
    notes : list of str
        What a reader must know: what was left out, and why.

    Examples
    --------
    See `reproduce`, which makes it.

    >>> "tables" in Reproduction.__dataclass_fields__
    True
    """

    data: ImageSet
    settings: Settings
    runs: Runs
    machines: list[MachineResult]
    tables: list[Table]
    claims: list[Claim]
    frontier: Any
    command: str
    made: datetime
    seconds: float
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def is_mnist(self) -> bool:
        """Whether the data are those of the papers."""
        return self.data.name == "mnist"


def reproduce(
    settings: Settings, data: ImageSet, store: RunStore, *, command: str = "", quiet: bool = False
) -> Reproduction:
    """Do the runs that are missing, and make of all of them what is asked for.

    Parameters
    ----------
    settings : Settings
        What.
    data : ImageSet
        On which data.
    store : RunStore
        Where finished runs are kept.
    command : str
        For the report.
    quiet : bool
        Do not tell how far it is.

    Returns
    -------
    Reproduction
        Tables, claims and all that they are made of.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> settings = Settings(what=("table1",), degrees=(2,), permutations=1, epochs=0.5, jobs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(settings, load_image_set("digits"), RunStore(folder), quiet=True)
    >>> [table.key for table in made.tables], made.is_mnist
    (['table1'], False)
    """
    start = time.perf_counter()
    notes: list[str] = []
    keys = settings.keys(data.digest)
    found = perform_missing(keys, data, store, jobs=settings.jobs, quiet=quiet)
    runs: dict[int, list[RunResult]] = {}
    for key in sorted(keys, key=lambda key: (key.degree, key.seed)):
        runs.setdefault(key.degree, []).append(found[key])
    made = _machines(settings, data, store, notes, quiet) if settings.needs_machines else []
    tables, said = _tables(settings, data, runs, made)
    frontier = _frontier(data, store, quiet) if "frontier" in settings.what else None
    if frontier is not None:
        tables.append(frontier.table)
    return Reproduction(
        data=data,
        settings=settings,
        runs=runs,
        machines=made,
        tables=tables,
        claims=said,
        frontier=frontier,
        command=command,
        made=datetime.now(UTC),
        seconds=time.perf_counter() - start,
        environment=environment(),
        notes=notes,
    )


def _tables(
    settings: Settings, data: ImageSet, runs: Runs, made: list[MachineResult]
) -> tuple[list[Table], list[Claim]]:
    mnist, labels, m = data.name == "mnist", np.unique(data.y).tolist(), len(data.X)
    by_label = settings.label_degree in runs
    what: dict[str, Callable[[], Table]] = {"table1": lambda: table1(runs, mnist=mnist)}
    if by_label:
        what["table2"] = lambda: table2(runs, made, labels, mnist=mnist, degree=settings.label_degree)
        what["sparsity"] = lambda: sparsity(runs, made, labels, m, mnist=mnist, degree=settings.label_degree)
    what["table3"] = lambda: table3(runs, labels, mnist=mnist)
    order = ("table1", "table2", "table3", "sparsity")
    found = [what[name]() for name in order if name in settings.what and name in what]
    return found, claims(runs, made, m, settings.label_degree) if "claims" in settings.what else []


def _machines(
    settings: Settings, data: ImageSet, store: RunStore, notes: list[str], quiet: bool
) -> list[MachineResult]:
    """Return the machines of each label, unless the solver that is there would take hours."""
    name, _ = solver()
    if name == "scikit-learn SVC" and len(data.X) > MOST_FOR_SLOW_SVC:
        notes.append(
            "The support vector machines are left out: on so many examples scikit-learn's SVC takes hours. "
            "Install scikit-learn-intelex for a quick one."
        )
        return []

    def progress(done: int, total: int) -> None:
        if not quiet and done == 0:
            print(f"Training {total} support vector machines ({name}), one a label", file=sys.stderr)

    return machines(data, store, degree=settings.label_degree, progress=progress)


def _frontier(data: ImageSet, store: RunStore, quiet: bool) -> Any:
    from votron.experiments.frontier import explore

    return explore(data, store, quiet=quiet)


def write_tables(made: Reproduction, out: Path) -> list[Path]:
    """Write the tables as CSV, JSON and Markdown, and return the files.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> settings = Settings(what=("table1",), degrees=(2,), permutations=1, epochs=0.5, jobs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(settings, load_image_set("digits"), RunStore(folder), quiet=True)
    ...     [path.name for path in write_tables(made, Path(folder))]
    ['table1.csv', 'table1.md', 'results.json']
    """
    written = []
    for table in made.tables:
        for suffix, content in ((".csv", table.as_csv()), (".md", table.as_markdown())):
            written.append(out / f"{table.key}{suffix}")
            write_text(written[-1], content)
    everything: dict[str, Any] = {
        "command": made.command,
        "made": f"{made.made:%Y-%m-%dT%H:%M:%SZ}",
        "data": {"name": made.data.name, "source": made.data.source, "digest": made.data.digest},
        "environment": made.environment,
        "tables": {table.key: table.records() for table in made.tables},
        "claims": [
            {"claim": c.text, "source": c.source, "holds": c.holds, "evidence": c.evidence} for c in made.claims
        ],
        "runs": [
            {
                "degree": degree,
                "seed": run.key.seed,
                "epochs": run.key.epochs,
                "train_seconds": run.train_seconds,
                "scan_seconds": run.scan_seconds,
                "epochs_run": run.epochs_run,
                "converged": run.converged,
                "record": run.digest,
            }
            for degree, mine in made.runs.items()
            for run in mine
        ],
        "notes": made.notes,
    }
    written.append(out / "results.json")
    write_text(written[-1], json.dumps(everything, indent=1, ensure_ascii=False) + "\n")
    if made.claims:
        written.append(out / "claims.md")
        write_text(written[-1], claims_as_markdown(made.claims))
    return written


def claims_as_markdown(found: Sequence[Claim]) -> str:
    """Return the claims as a Markdown table."""
    lines = ["## What the papers say", "", "| claim | by | holds here | evidence |", "|---|---|---|---|"]
    lines += [f"| {c.text} | {c.source} | {c.verdict} | {c.evidence} |" for c in found]
    return "\n".join(lines) + "\n"


def parse_degrees(text: str) -> tuple[int, ...]:
    """Return the degrees that an option names.

    Examples
    --------
    >>> parse_degrees("1-6"), parse_degrees("4"), parse_degrees("2,4-5")
    ((1, 2, 3, 4, 5, 6), (4,), (2, 4, 5))
    """
    found: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 20):
            raise VotronError(f"--degrees must be such as 4, 1-6 or 2,4-5, from 1 to 20. Got {text!r} instead.")
        found |= set(range(int(low), int(high) + 1))
    return tuple(sorted(found))
