"""The numbers that the papers print: ``papers.toml``, read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from votron._util.types import Params

__all__ = ["PAPERS", "Fact", "facts", "label_facts"]

PAPERS: Params = tomllib.loads(resources.files("votron.papers").joinpath("papers.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Fact:
    """One published number; a recalled one was not read in a source, and its last digit is unknown."""

    value: float
    recalled: bool

    def __str__(self) -> str:
        return ("~" if self.recalled else "") + f"{self.value:,}"


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
