"""The numbers that the papers print, as data: ``papers.toml``, read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from votron._util.types import Params

__all__ = ["Fact", "comparator", "facts", "label_facts", "label_source", "running_time", "source"]


@dataclass(frozen=True)
class Fact:
    """One published number, and whether it is recalled rather than read in a source (its last digit is then unknown).

    Examples
    --------
    >>> print(Fact(7977, recalled=True), Fact(14538, recalled=False), Fact(1.6, recalled=True))
    ~7,977 14,538 ~1.6
    """

    value: float
    recalled: bool

    def __str__(self) -> str:
        return ("~" if self.recalled else "") + f"{self.value:,}"


@cache
def _papers() -> Params:
    return tomllib.loads(resources.files("votron.papers").joinpath("papers.toml").read_text(encoding="utf-8"))


def source(paper: str) -> str:
    """Return where a paper's numbers stand."""
    return str(_papers()[paper]["source"])


def facts(paper: str, degree: int) -> dict[str, dict[float, Fact]]:
    """Return the numbers of a paper for one degree, by row and moment; empty where it has none.

    Examples
    --------
    >>> facts("freund_schapire", 4)["Mistake"][30]
    Fact(value=14538, recalled=False)
    """
    moments, found = _papers()[paper]["moments"], {}
    for rows in _papers()[paper]["rows"]:
        if rows["degree"] != degree:
            continue
        read_at, recalled = rows.get("read_at", {}), rows["status"] == "recalled"
        for name in rows.keys() - {"degree", "status", "read_at"}:
            pairs = zip(moments, rows[name], strict=False)  # degree 1 ends at T = 10
            found[name] = {float(t): Fact(value, recalled and t not in read_at.get(name, [])) for t, value in pairs}
    return found


def label_facts(machine: str, row: str) -> list[Fact]:
    """Return the numbers of Table 2 and of Graepel's Table 1, one per label: of "perceptron" or "svm".

    Examples
    --------
    >>> print(*label_facts("perceptron", "SupVec")[:3])
    740 643 1,168
    """
    labels = _papers()["labels"]
    return [Fact(value, labels["status"] == "recalled") for value in labels[machine].get(row, [])]


def label_source(machine: str) -> str:
    """Return where the numbers of each label stand."""
    return str(_papers()["labels"][machine]["source"])


def running_time(degree: int) -> str:
    """Return how long the paper's run of a degree took, in its words; empty where it does not say."""
    return str(_papers()["times"].get(str(degree), ""))


def comparator(name: str) -> float:
    """Return the error in percent that the paper names of another machine."""
    return float(_papers()["comparators"][name])
