"""What the papers print, as data: ``papers.toml``, read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["Fact", "facts", "source"]


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
def _papers() -> dict[str, Any]:
    return tomllib.loads(resources.files("votron.experiments").joinpath("papers.toml").read_text(encoding="utf-8"))


def source(paper: str) -> str:
    """Return where a paper's numbers stand.

    Examples
    --------
    >>> source("li_long")
    'Li & Long, The Relaxed Online Maximum Margin Algorithm, NIPS 1999, Table 1: a replication'
    """
    return str(_papers()[paper]["source"])


def facts(paper: str, degree: int) -> dict[str, dict[float, Fact]]:
    """Return the numbers of a paper for one degree, by row and moment; empty where it has none.

    Examples
    --------
    >>> facts("freund_schapire", 4)["Mistake"][30]
    Fact(value=14538, recalled=False)
    >>> facts("freund_schapire", 7)
    {}
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
