"""The papers reproduced: which runs are wanted, what is made of them, and where it goes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from votron._util.files import write_text
from votron._util.progress import counting
from votron.data import ImageSet
from votron.errors import VotronError
from votron.papers._command_line import environment
from votron.papers.claims import Claim, claims
from votron.papers.machines import MachineResult, all_kept, machines, solver
from votron.papers.runner import perform_missing
from votron.papers.runs import RunKey, RunResult, RunStore, vector_labels
from votron.papers.settings import EPOCHS_OF_DEGREE_1, WHAT, Settings
from votron.papers.tables import Runs, Table, sparsity, table1, table2, table3

__all__ = ["WHAT", "Reproduction", "Settings", "reproduce", "write_tables"]

MOST_FOR_SLOW_SVC = 10_000
"""Examples up to which scikit-learn's own SVC is quick enough."""


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
        What `votron.papers.frontier` found, if that was asked for.
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


def keys_of(settings: Settings, digest: str) -> list[RunKey]:
    """Return the runs that are needed.

    Examples
    --------
    >>> [key.name for key in keys_of(Settings(what=("table1",), degrees=(1, 2), permutations=1), "a1b2c3d4e5f6")]
    ['a1b2c3d4e5f6-d1-T10-s0', 'a1b2c3d4e5f6-d2-T30-s0']
    """
    return [
        RunKey(digest, degree, seed, min(settings.epochs, EPOCHS_OF_DEGREE_1) if degree == 1 else settings.epochs)
        for seed in range(settings.permutations)
        for degree in settings.needed_degrees
    ]


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
    notes = _notes(settings, data)
    keys = keys_of(settings, data.digest)
    found = perform_missing(keys, data, store, jobs=settings.jobs, quiet=quiet)
    runs: dict[int, list[RunResult]] = {}
    for key in sorted(keys, key=lambda key: (key.degree, key.seed)):
        runs.setdefault(key.degree, []).append(found[key])
    made = _machines(settings, data, store, notes, quiet) if settings.needs_machines else []
    tables, said = _tables(settings, data, runs, made)
    frontier = _frontier(data, store, quiet, notes) if "frontier" in settings.what else None
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


def _notes(settings: Settings, data: ImageSet) -> list[str]:
    """Return what a reader must know before anything is run; refuse data that cannot be."""
    unknown = np.setdiff1d(data.y_test, data.y)
    if len(unknown):
        raise VotronError(
            f"The test labels of {data.name} must be among those to train on. Got {unknown[0]!s}, which is not."
        )
    notes = []
    if set(settings.what) & {"table2", "sparsity"} and settings.label_degree not in settings.needed_degrees:
        notes.append(f"Table 2 and sparsity are of degree {settings.label_degree}: add it to --degrees.")
    return notes


def _tables(
    settings: Settings, data: ImageSet, runs: Runs, made: list[MachineResult]
) -> tuple[list[Table], list[Claim]]:
    mnist, labels, m = data.name == "mnist", vector_labels(data.y), len(data.X)
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
    kept = all_kept(data, store, settings.label_degree)
    if not kept and name == "scikit-learn SVC" and len(data.X) > MOST_FOR_SLOW_SVC:
        notes.append(
            "The support vector machines are left out: on so many examples scikit-learn's SVC takes hours. "
            "Install scikit-learn-intelex for a quick one."
        )
        return []

    with counting(len(vector_labels(data.y)), f"support vector machines ({name})", enabled=not quiet) as report:
        return machines(data, store, degree=settings.label_degree, progress=lambda done, _: report(done))


def _frontier(data: ImageSet, store: RunStore, quiet: bool, notes: list[str]) -> Any:
    """Return the frontier; where these images cannot have one, say so and go on."""
    from votron.papers.frontier import explore

    if data.shape[0] != data.shape[1]:
        notes.append(
            f"The frontier is left out: it is for square images, and these are {data.shape[0]} x {data.shape[1]}."
        )
        return None
    try:
        return explore(data, store, quiet=quiet)
    except VotronError as error:
        notes.append(f"The frontier is left out. {error}")
        return None


STALE = ("table1", "table2", "table3", "sparsity", "frontier", "claims", "figure2", "learning-curves")
"""Names of files that a report may have: those of an earlier one are removed."""


def remove_stale(out: Path, written: Sequence[Path]) -> None:
    """Remove what an earlier command wrote to the same folder and this one did not."""
    for name in STALE:
        for suffix in (".csv", ".md", ".svg", ".png"):
            path = out / f"{name}{suffix}"
            if path not in written:
                path.unlink(missing_ok=True)


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
        by = f"\nMade by `{made.command}`, {made.made:%Y-%m-%d}.\n"
        for suffix, content in ((".csv", table.as_csv()), (".md", table.as_markdown() + by)):
            written.append(out / f"{table.key}{suffix}")
            write_text(written[-1], content, make_folders=True)
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
    write_text(
        written[-1], json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False) + "\n", make_folders=True
    )
    if made.claims:
        written.append(out / "claims.md")
        write_text(written[-1], claims_as_markdown(made.claims), make_folders=True)
    return written


def claims_as_markdown(found: Sequence[Claim]) -> str:
    """Return the claims as a Markdown table."""
    lines = ["## What the papers say", "", "| claim | by | holds here | evidence |", "|---|---|---|---|"]
    lines += [f"| {c.text} | {c.source} | {c.verdict} | {c.evidence} |" for c in found]
    return "\n".join(lines) + "\n"
