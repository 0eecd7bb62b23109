"""How often stated bounds lie below the true error, on finite distributions with repeated rows: a seeded simulation.

A world is a handful of rows, the probability of each and of its labels, so the error of a predictor is a sum and known
exactly. Many samples are drawn, a model is trained and certified on each, and every guarantee that it hands out is
compared with the truth. Each may be false with probability δ at most; a binomial test tells whether it was so more
often. Estimates bound an expected error by an expected number, so their means are compared instead.

    python tests/theory/coverage_of_bounds.py [runs]

prints the table of docs/theory.md, and returns 1 if a statement was false too often.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from paper import paper_averaged, paper_perceptron
from scipy.stats import binomtest

from votron import KernelAdatronClassifier, certify
from votron.theory.evidence import MEAN_RANDOM, ONE_RANDOM

DELTA = 0.05
"""δ of the long run."""
SURE = 1e-4
"""A statement is called false if it failed so often that chance does no worse than this; there are some 300 lines."""
HELD_OUT = 60
"""Test examples of each run."""


@dataclass(frozen=True)
class World:
    """A finite distribution over rows and labels."""

    name: str
    m: int
    rows: np.ndarray
    joint: np.ndarray
    """P(row, label)."""

    def draw(self, rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        cells = rng.choice(self.joint.size, m, p=self.joint.reshape(-1))
        return self.rows[cells // self.joint.shape[1]], cells % self.joint.shape[1]

    def error(self, labels: np.ndarray) -> float:
        """The error of a predictor with these labels for the rows."""
        return float(1.0 - self.joint[np.arange(len(self.rows)), labels].sum())

    def error_of_class(self, signs: np.ndarray, c: int) -> float:
        """The error of one class's vector against the rest."""
        mine = self.joint[:, c]
        return float(np.where(signs > 0, self.joint.sum(axis=1) - mine, mine).sum())


def noisy(rows: Any, labels: Any, weights: Any, noise: float, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and P(row, label) where the label is wrong with a probability, any other as likely as the next."""
    rows, weights = np.array(rows, dtype=np.float64), np.array(weights, dtype=np.float64)
    joint = np.full((len(rows), n_classes), noise / (n_classes - 1))
    joint[np.arange(len(rows)), labels] = 1 - noise
    return rows, joint * (weights / weights.sum())[:, None]


def _tail(n: int, head: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """One row that comes with probability ``head``, and n others that share the rest."""
    rng = np.random.default_rng(7)
    rows = rng.integers(-3, 4, (n + 1, 6))
    rows[:, 0] = np.arange(n + 1) % 5 + 1  # no row of zeros
    weights = np.append(head, np.full(n, (1 - head) / n))
    return noisy(rows, (rows @ [1, 2, -1, 1, 0, -2] > 0).astype(int), weights, noise)


SQUARE = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
THREE = [[2, 0, 1], [0, 2, 1], [-1, -1, 1], [2, 1, 1], [-1, 1, 1], [1, -2, 1]]

WORLDS = (
    World("one row, 30 % noise", 500, *noisy([[1.0, 2.0]], [0], [1], 0.3)),
    World("four rows, 20 % noise", 200, *noisy(SQUARE, [1, 1, 0, 0], [1, 1, 1, 1], 0.2)),
    World("four rows, no noise", 60, *noisy(SQUARE, [1, 1, 0, 0], [8, 4, 2, 1], 0.0)),
    World("ties: rows and their opposites", 100, *noisy(np.vstack([np.eye(3), -np.eye(3)]), [1, 1, 1, 1, 0, 0],
                                                       np.ones(6), 0.1)),
    World("one in thirty positive", 300, *noisy([[k, 1] for k in range(6)], [0, 0, 0, 0, 0, 1],
                                                [9, 9, 5, 4, 2, 1], 0.02)),
    World("three classes, 10 % noise", 200, *noisy(THREE, [0, 1, 2, 0, 1, 2], [6, 5, 3, 2, 2, 1], 0.1, 3)),
    World("three classes, no noise", 80, *noisy(THREE, [0, 1, 2, 0, 1, 2], [6, 5, 3, 2, 2, 1], 0.0, 3)),
    World("half one row, half many", 300, *_tail(400, 0.5, 0.05)),
    World("many rows, hardly repeated", 300, *_tail(4000, 0.0005, 0.05)),
)  # fmt: skip


def voted(seed: int, **params: Any) -> Any:
    return paper_perceptron(kernel="linear", random_state=seed, n_jobs=1, **params)


MODELS: dict[str, Callable[[int], Any]] = {
    "one epoch, vote": lambda seed: voted(seed, epochs=1),
    "one epoch, random": lambda seed: voted(seed, epochs=1, rule="random"),
    "one epoch, random, unit vectors": lambda seed: voted(seed, epochs=1, rule="random", normalize_vectors=True),
    "half an epoch, vote": lambda seed: voted(seed, epochs=0.5),
    "three epochs, vote": lambda seed: voted(seed, epochs=3),
    "three epochs, random": lambda seed: voted(seed, epochs=3, rule="random"),
    "three epochs, last": lambda seed: voted(seed, epochs=3, rule="last"),
    "three epochs, average": lambda seed: voted(seed, epochs=3, rule="average"),
    "three epochs, pocket": lambda seed: voted(seed, epochs=3, rule="pocket"),
    "to convergence, last": lambda seed: voted(seed, epochs=30, rule="last"),  # where there is any
    "averaged": lambda seed: paper_averaged(random_state=seed, n_jobs=1),
    "averaged, last": lambda seed: paper_averaged(average=False, random_state=seed, n_jobs=1),
    "adatron": lambda seed: KernelAdatronClassifier(kernel="linear", n_jobs=1),
    "adatron, C = 0.1": lambda seed: KernelAdatronClassifier(kernel="linear", C=0.1, n_jobs=1),
}


@dataclass
class Line:
    """What was seen of one statement, in one world of one model."""

    kind: str
    values: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    runs: int = 0

    @property
    def false(self) -> int:
        return sum(e > v + 1e-12 for e, v in zip(self.errors, self.values, strict=True))

    @property
    def telling(self) -> int:
        """Runs in which the bound is no vacuous one."""
        return sum(v < 1 for v in self.values)

    def chance(self, delta: float) -> float:
        """How likely as many failures are, or more, of a statement that fails with probability δ."""
        return float(binomtest(self.false, self.runs, delta, alternative="greater").pvalue)

    def too_low(self) -> bool:
        """Whether estimates lie below the errors on average, by more than chance and one more example make."""
        gap = np.array(self.errors) - np.array(self.values)
        return bool(gap.mean() > 4 * gap.std() / math.sqrt(len(gap)) + 1e-3)


Key = tuple[str, str, str, str]
"""World, model, statement, predictor."""


def simulate(world: World, name: str, runs: int, delta: float, seed: int = 0) -> dict[Key, Line]:
    """Train, certify and compare, as many times."""
    lines: dict[Key, Line] = defaultdict(lambda: Line("guarantee"))
    rng = np.random.default_rng([seed, *name.encode(), *world.name.encode()])
    certified = 0
    for run in range(runs):
        X, y = world.draw(rng, world.m)
        X_test, y_test = world.draw(rng, HELD_OUT)
        if len(np.unique(y)) < world.joint.shape[1]:
            continue  # that all labels are there is the user's claim
        certified += 1
        model = MODELS[name](run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        found = certify(model, X, y, delta, comparators=(), X_test=X_test, y_test=y_test)
        for (statement, predictor, kind), value, error in statements(world, model, found, delta):
            line = lines[world.name, name, statement, predictor]
            line.kind = kind
            if value is not None:
                line.values.append(value)
                line.errors.append(error)
    for line in lines.values():
        line.runs = certified
    return dict(lines)


def statements(
    world: World, model: Any, found: Any, delta: float
) -> Iterator[tuple[tuple[str, str, str], float, float]]:
    """All that a certificate states of errors, with the truth."""
    error = world.error(model.predict(world.rows))
    for bound in found.bounds:
        mean = bound.predictor == MEAN_RANDOM and [a.name for a in bound.failing] == ["its rule"]
        mean = mean and found.predictor == ONE_RANDOM  # that is often enough
        if bound.kind == "fact" or not (bound.applies or mean):
            continue
        truth = mean_error(world, model) if mean else error
        yield (bound.name, bound.predictor, bound.kind), bound.error, truth
        if len(bound.values) > 1 and not mean:
            if bound.joint is not None:
                yield (f"{bound.name} (union)", bound.predictor, bound.kind), bound.total, truth
            signs = np.where(model.decision_function(world.rows)[:, 0] >= 0, 1, -1)
            yield (
                (f"{bound.name} (one class)", bound.predictor, bound.kind),
                bound.values[0],
                world.error_of_class(signs, 0),
            )
    limit = found.measured[found.predictor].guaranteed(delta)
    yield ("measured (Clopper & Pearson)", found.predictor, "guarantee"), limit, error


def mean_error(world: World, model: Any) -> float:
    """The mean of the errors of all vectors of the pass, at times 0 to m."""
    choice = "last", bool(model.normalize_vectors)
    times = list(range(model.record_.n_steps + 1))
    errors = []
    for moment in model._vectors.staged(world.rows, times, [choice]):
        scores = moment.scores[choice]
        labels = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        errors.append(world.error(labels))
    return float(np.mean(errors))


def table(found: dict[Key, Line], delta: float) -> tuple[list[str], list[Key]]:
    """One line for each statement and predictor, over all worlds and models; and which were false too often."""
    guilty = [key for key, line in found.items() if is_guilty(line, delta)]
    groups: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for (_, _, statement, predictor), line in found.items():
        groups[line.kind, statement, predictor].append(line)
    out = [
        "| statement | predictor | runs | not vacuous | false | most in one world | allowed | chance |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (kind, statement, predictor), lines in sorted(groups.items()):
        if kind != "guarantee":
            continue
        worst = min(lines, key=lambda line: line.chance(delta))
        runs, false = sum(line.runs for line in lines), sum(line.false for line in lines)
        cells = [statement, predictor, f"{runs:,}", f"{sum(line.telling for line in lines):,}", f"{false:,}"]
        cells += [f"{worst.false} of {worst.runs:,}", f"{delta:.0%}", f"{worst.chance(delta):.2g}"]
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "| estimate | predictor | runs | mean of the estimate | mean error | least difference in one world |"]
    out.append("|---|---|--:|--:|--:|--:|")
    for (kind, statement, predictor), lines in sorted(groups.items()):
        if kind == "estimate" and (lines := [line for line in lines if line.values]):
            values, errors = (np.concatenate([getattr(line, name) for line in lines]) for name in ("values", "errors"))
            least = min(np.mean(line.values) - np.mean(line.errors) for line in lines)
            cells = [statement, predictor, f"{len(values):,}", f"{values.mean():.3f}", f"{errors.mean():.3f}"]
            out.append(f"| {' | '.join([*cells, f'{least:+.3f}'])} |")
    return out, guilty


def is_guilty(line: Line, delta: float) -> bool:
    """Whether a statement was false more often than chance makes it."""
    return line.chance(delta) < SURE if line.kind == "guarantee" else bool(line.values) and line.too_low()


def main(runs: int) -> int:
    found: dict[Key, Line] = {}
    for world in WORLDS:
        for name in MODELS:
            found.update(simulate(world, name, runs, DELTA))
        print(f"{world.name}: done", file=sys.stderr, flush=True)
    lines, guilty = table(found, DELTA)
    print("\n".join(lines))
    for key in guilty:
        line = found[key]
        print(f"FALSE: {' / '.join(key)}: {line.false} of {line.runs}, mean {np.mean(line.values):.4f} for an error of "
              f"{np.mean(line.errors):.4f}")  # fmt: skip
    return 1 if guilty else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 250))
