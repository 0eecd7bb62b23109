"""The papers' experiments from start to end: runs, tables, claims, and the files with the numbers."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from votron._util.files import write_text
from votron._util.resources import effective_threads
from votron._util.text import duration
from votron._util.types import Client, Params
from votron.data import ImageSet
from votron.errors import VotronError
from votron.papers import EPOCHS_OF_DEGREE_1, LABEL_DEGREE, Settings
from votron.papers.claims import Claim, claims
from votron.papers.frontier import Point, explore, frontier_table
from votron.papers.runs import Results, RunKey, RunResult, Store, machines, perform_missing
from votron.papers.tables import Table, sparsity, table1, table2, table3

__all__ = ["Reproduction", "reproduce", "write_tables"]

SHOWN_OF_RUNS = ("train_seconds", "scan_seconds", "epochs_run", "converged", "digest")
KNOWN_DATA = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "digits": "scikit-learn's digits"}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything that a report shows."""

    results: Results
    settings: Settings
    tables: list[Table]
    claims: list[Claim]
    frontier: list[Point]
    command: str
    made: datetime
    seconds: float  # stored runs take none
    notes: list[str]  # what was left out, and why

    @property
    def data_title(self) -> str:
        return KNOWN_DATA.get(self.results.data.name, self.results.data.name)

    @property
    def n_compared(self) -> int:
        return sum(table.n_compared for table in self.tables)

    @property
    def n_agreeing(self) -> int:
        return self.n_compared - sum(len(table.disagreements) for table in self.tables)

    def as_text(self, *, colour: bool = False) -> str:
        parts = [table.as_text(colour=colour) for table in self.tables]
        if self.claims:
            lines = "\n".join(map(str, self.claims))
            parts.append(f"What the papers claim, and whether it holds here\n\n{lines}\n")
        if self.n_compared:
            parts.append(f"{self.n_agreeing} of {self.n_compared} published numbers agree with ours.\n")
        if not self.results.is_mnist:
            parts.append("These are not the papers' data, so there are no published numbers beside ours.\n")
        if self.claims:
            parts.append(f"{sum(claim.holds is True for claim in self.claims)} of {len(self.claims)} claims hold.")
        return "\n" + "\n".join([*parts, *self.notes, "", f"Took {duration(self.seconds)}."])


def reproduce(
    settings: Settings,
    data: ImageSet,
    folder: Path,
    *,
    command: str = "",
    client: Client = None,
    quiet: bool = False,
) -> Reproduction:
    """Do the runs that are missing in a folder, and make tables and claims from all of them."""
    start, store = time.perf_counter(), Store(folder)
    runs = _runs(settings, data, store, client, quiet)
    results = Results(data, runs, machines(data, store, quiet=quiet) if settings.needs_machines else [])
    tables, notes, frontier = _tables(settings, results), _notes(settings, results), []
    if "frontier" in settings.what:
        try:
            frontier = explore(data, store, quiet=quiet)
            tables.append(frontier_table(frontier, mnist=results.is_mnist))
        except VotronError as error:
            notes.append(f"The frontier is left out. {error}")
    return Reproduction(
        results=results,
        settings=settings,
        tables=tables,
        claims=claims(results) if "claims" in settings.what else [],
        frontier=frontier,
        command=command,
        made=datetime.now(UTC),
        seconds=time.perf_counter() - start,
        notes=notes,
    )


def _runs(settings: Settings, data: ImageSet, store: Store, client: Client, quiet: bool) -> dict[int, list[RunResult]]:
    keys = {
        degree: [
            RunKey(data.digest, degree, seed, min(settings.epochs, EPOCHS_OF_DEGREE_1 if degree == 1 else np.inf))
            for seed in range(settings.permutations)
        ]
        for degree in settings.needed_degrees
    }
    wanted = [key for some in keys.values() for key in some]
    found = perform_missing(wanted, data, store, jobs=settings.jobs, client=client, quiet=quiet)
    return {degree: [found[key] for key in some] for degree, some in keys.items()}


def _tables(settings: Settings, results: Results) -> list[Table]:
    make = {"table1": table1, "table2": table2, "table3": table3, "sparsity": sparsity}
    of_labels = LABEL_DEGREE in results.runs
    return [
        make[name](results) for name in make if name in settings.what and (of_labels or name in ("table1", "table3"))
    ]


def _notes(settings: Settings, results: Results) -> list[str]:
    notes = []
    if settings.asks_for("table2", "sparsity") and LABEL_DEGREE not in results.runs:
        notes.append(f"Table 2 and sparsity are of degree {LABEL_DEGREE}: add it to --degrees.")
    if settings.needs_machines and not results.machines:
        notes.append(
            "The support vector machines are left out: on so many examples scikit-learn's SVC takes hours. "
            "Install scikit-learn-intelex for a quick one."
        )
    return notes


def environment() -> dict[str, str]:
    """Return versions, and the name of the machine."""
    packages = {name: version(name) for name in ("votron", "numpy", "scipy", "scikit-learn", "numba")}
    machine = f"{platform.system()} {platform.machine()}, {_processor()}, {effective_threads(None)} threads"
    return {"Python": platform.python_version(), **packages, "Machine": machine}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def write_tables(made: Reproduction, out: Path) -> list[Path]:
    """Write tables and claims as CSV, JSON and Markdown, and return the files."""
    contents = {}
    for table in made.tables:
        contents[f"{table.key}.csv"] = table.as_csv()
        contents[f"{table.key}.md"] = f"{table.as_markdown()}\nMade by `{made.command}`, {made.made:%Y-%m-%d}.\n"
    everything = json.dumps(_everything(made), indent=1, ensure_ascii=False, allow_nan=False)
    contents["results.json"] = f"{everything}\n"
    if made.claims:
        lines = ["## What the papers claim", "", "| claim | by | holds here | evidence |", "|---|---|---|---|"]
        lines += [f"| {c.text} | {c.source} | {c.verdict} | {c.evidence} |" for c in made.claims]
        contents["claims.md"] = "\n".join(lines) + "\n"
    for name, content in contents.items():
        write_text(out / name, content, make_folders=True)
    return [out / name for name in contents]


def _everything(made: Reproduction) -> Params:
    """Return the content of ``results.json``."""
    data = made.results.data
    return {
        "command": made.command,
        "made": f"{made.made:%Y-%m-%dT%H:%M:%SZ}",
        "data": {"name": data.name, "source": data.source, "digest": data.digest},
        "environment": environment(),
        "tables": {table.key: table.records() for table in made.tables},
        "claims": [asdict(claim) for claim in made.claims],
        "runs": [
            asdict(run.key) | {name: getattr(run, name) for name in SHOWN_OF_RUNS}
            for runs in made.results.runs.values()
            for run in runs
        ],
        "notes": made.notes,
    }
