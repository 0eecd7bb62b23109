"""The claims of the papers in words, checked on the runs: each claim with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from votron.papers.machines import MachineResult
from votron.papers.tables import DELTA, MOMENTS, Runs, bounds_of, series

__all__ = ["Claim", "claims"]

FS = "Freund & Schapire"
GRAEPEL = "Graepel, Herbrich & Williamson"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and what the runs say of it.

    Attributes
    ----------
    text, source : str
        The claim, in our words, and whose it is.
    holds : bool or None
        None: these runs cannot tell.
    evidence : str
        The numbers.

    Examples
    --------
    >>> print(Claim("Random is the worst", "Freund & Schapire", True, "in 41 of 41 cases"))
    yes  Random is the worst (Freund & Schapire): in 41 of 41 cases
    """

    text: str
    source: str
    holds: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        """In a word."""
        return {True: "yes", False: "no", None: "open"}[self.holds]

    def __str__(self) -> str:
        return f"{self.verdict:4s} {self.text} ({self.source}): {self.evidence}"


def claims(runs: Runs, machines: Sequence[MachineResult], n_examples: int, degree: int = 4) -> list[Claim]:
    """Return the claims of the papers, each checked.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {4: [perform(RunKey(data.digest, 4, seed=0, epochs=1.0), data)]}
    >>> found = claims(runs, [], 1200)
    >>> len(found), found[-1].verdict
    (10, 'open')
    """
    parts: list[Callable[[Runs], Claim]] = [
        _better_than_last,
        _most_before_convergence,
        _random_is_worst,
        _vote_and_average,
        _normalising,
        _largest_gain,
        _small_degrees_are_slow,
        _separable_from_five,
    ]
    found = [part(runs) for part in parts]
    found.append(_fewer_support_vectors(runs, machines, degree))
    return [*found, _smaller_bound(runs, machines, n_examples, degree)]


NEEDS = "needs a tenth of an epoch at least"


def _cases(runs: Runs) -> list[tuple[int, float]]:
    """Return degrees and moments of Table 1 that these runs have."""
    out = []
    for degree, mine in sorted(runs.items()):
        out += [(degree, t) for t in MOMENTS if mine[0].moments[0] <= t <= mine[0].key.epochs]
    return out


def _mean(runs: Runs, row: str, degree: int, moment: float) -> float:
    return float(series(runs[degree], row, moment).mean())


def _better_than_last(runs: Runs) -> Claim:
    cases, text = _cases(runs), "Voting and averaging beat the last vector"
    if not cases:
        return Claim(text, FS, None, NEEDS)
    gaps = []
    for degree, t in cases:
        last = _mean(runs, "Last (unnorm)", degree, t)
        gaps += [last - _mean(runs, rule, degree, t) for rule in ("Vote", "Avg (unnorm)")]
    better = sum(gap > 0 for gap in gaps)
    worst = min(gaps)
    # where nothing is left to learn all rules come together, and noise decides
    return Claim(
        text,
        FS,
        better >= 0.9 * len(gaps) and worst > -0.15,
        f"in {better} of {len(gaps)} cases, by up to {max(gaps):.2f} points; where not, short by {max(0, -worst):.2f}",
    )


def _most_before_convergence(runs: Runs) -> Claim:
    early, late = [], []
    for degree, mine in sorted(runs.items()):
        first, end = 1.0, mine[0].key.epochs
        if end <= first or mine[0].moments[0] > first:
            continue
        early.append(_mean(runs, "Last (unnorm)", degree, first) - _mean(runs, "Vote", degree, first))
        late.append(_mean(runs, "Last (unnorm)", degree, end) - _mean(runs, "Vote", degree, end))
    if not early:
        return Claim("... most of all before convergence", FS, None, "needs more than one epoch")
    more = sum(a > b for a, b in zip(early, late, strict=True))
    text = f"the vote's lead is larger at T = 1 than at the end for {more} of {len(early)} degrees; in the mean it is "
    text += f"{np.mean(early):.2f} points and {np.mean(late):.2f}"
    return Claim("... most of all before convergence", FS, more > len(early) / 2, text)


def _random_is_worst(runs: Runs) -> Claim:
    cases, worst, exceptions = _cases(runs), 0, []
    if not cases:
        return Claim("A random vector is the worst in all cases", FS, None, NEEDS)
    for degree, t in cases:
        others = [_mean(runs, rule, degree, t) for rule in ("Vote", "Avg (unnorm)", "Last (unnorm)")]
        is_worst = _mean(runs, "Rand (unnorm)", degree, t) >= max(others)
        worst += is_worst
        exceptions += [] if is_worst else [f"d = {degree}, T = {t:g}"]
    but = f"; not at {', '.join(exceptions[:4])}{' ...' if len(exceptions) > 4 else ''}" if exceptions else ""
    return Claim(
        "A random vector is the worst in all cases", FS, worst == len(cases), f"in {worst} of {len(cases)} cases{but}"
    )


def _vote_and_average(runs: Runs) -> Claim:
    gaps = [abs(_mean(runs, "Vote", d, t) - _mean(runs, "Avg (unnorm)", d, t)) for d, t in _cases(runs)]
    if not gaps:
        return Claim("Voting and averaging do not differ much", FS, None, NEEDS)
    text = f"they differ by {np.mean(gaps):.2f} points in the mean, {max(gaps):.2f} at most (judged: a mean below 0.25)"
    return Claim("Voting and averaging do not differ much", FS, bool(np.mean(gaps) < 0.25), text)


def _normalising(runs: Runs) -> Claim:
    gaps = []
    for degree, t in _cases(runs):
        gaps += [
            abs(_mean(runs, f"{rule} (unnorm)", degree, t) - _mean(runs, f"{rule} (norm)", degree, t))
            for rule in ("Avg", "Last", "Rand")
        ]
    if not gaps:
        return Claim("Normalising the vectors matters little", FS, None, NEEDS)
    text = f"it changes errors by {np.mean(gaps):.2f} points in the mean, {max(gaps):.2f} at most "
    text += "(judged: a mean below 0.25)"
    return Claim("Normalising the vectors matters little", FS, bool(np.mean(gaps) < 0.25), text)


def _largest_gain(runs: Runs) -> Claim:
    degrees = sorted(runs)
    text = "The largest gain is from degree 1 to degree 2"
    if not {1, 2, 3} <= set(degrees):
        return Claim(text, FS, None, "needs degrees 1, 2 and 3")
    errors = {d: _mean(runs, "Vote", d, runs[d][0].key.epochs) for d in degrees}
    gains = {d: errors[d - 1] - errors[d] for d in degrees if d - 1 in errors}
    evidence = ", ".join(f"{d - 1} to {d}: {gain:+.2f}" for d, gain in gains.items())
    return Claim(text, FS, max(gains, key=lambda d: gains[d]) == 2, f"points gained by the vote, {evidence}")


def _small_degrees_are_slow(runs: Runs) -> Claim:
    text = "Small degrees run slowest, because of their mistakes"
    degrees = sorted(runs)
    if not {1, 2} & set(degrees) or degrees[-1] < 4:
        return Claim(text, FS, None, "needs degree 1 or 2, and 4 or more")
    until = min(mine[0].key.epochs for mine in runs.values())
    mistakes = {d: _mean(runs, "Mistake", d, until) for d in degrees}
    seconds = {d: float(np.mean([r.train_seconds for r in runs[d]])) for d in degrees}
    kernel = [d for d in degrees if d > 1]  # degree 1 trains on weight vectors, where mistakes cost little
    most = mistakes[degrees[0]] == max(mistakes.values())
    slowest = len(kernel) < 2 or seconds[kernel[0]] == max(seconds[d] for d in kernel)
    evidence = "; ".join(
        f"d = {d}: {mistakes[d]:,.0f} mistakes until T = {until:g}, {seconds[d]:.1f} s" for d in degrees
    )
    but = ". Degree 1 trains on weight vectors here, where mistakes cost little" if 1 in degrees else ""
    return Claim(text, FS, most and slowest, evidence + but)


def _separable_from_five(runs: Runs) -> Claim:
    text = "From degree 5 on the data become separable"
    share = {d: float(np.mean([r.converged for r in mine])) for d, mine in sorted(runs.items())}
    high = [share[d] for d in share if d >= 5]
    evidence = "runs that ended without a mistake left, " + ", ".join(
        f"d = {d}: {100 * s:.0f} %" for d, s in share.items()
    )
    if not high or min(mine[0].key.epochs for d, mine in runs.items() if d >= 5) < 30:
        return Claim(text, FS, None, f"needs degree 5 or more, and 30 epochs; {evidence}")
    return Claim(text, FS, all(s == 1 for s in high) and share.get(1, 0.0) == 0, evidence)


def _fewer_support_vectors(runs: Runs, machines: Sequence[MachineResult], degree: int) -> Claim:
    text = "The perceptron ends with fewer support vectors than the SVM for every label, often by a factor of two"
    if not machines or degree not in runs:
        return Claim(text, GRAEPEL, None, "needs the SVMs of degree 4")
    if not all(run.converged for run in runs[degree]):
        return Claim(text, GRAEPEL, None, "needs runs that end without a mistake left: more epochs")
    ratios = [
        machine.n_support / float(series(runs[degree], "SupVec", runs[degree][0].key.epochs, c).mean())
        for c, machine in enumerate(machines)
    ]
    fewer = sum(ratio > 1 for ratio in ratios)
    double = sum(ratio >= 1.95 for ratio in ratios)
    evidence = (
        f"for {fewer} of {len(ratios)} labels; the SVM has {min(ratios):.2f} to {max(ratios):.2f} times as many, "
    )
    evidence += f"twice or more for {double}"
    return Claim(text, GRAEPEL, fewer == len(ratios), evidence)


def _smaller_bound(runs: Runs, machines: Sequence[MachineResult], n_examples: int, degree: int) -> Claim:
    text = "Its bound (7) is the smaller one throughout"
    if not machines or degree not in runs:
        return Claim(text, GRAEPEL, None, "needs the SVMs of degree 4")
    ours = [float(bounds_of(runs[degree], n_examples, c).mean()) for c in range(len(machines))]
    if not np.isfinite(ours).all():
        return Claim(
            text, GRAEPEL, None, "needs runs that end without a mistake left, on more examples than are support"
        )
    theirs = [machine.bound(DELTA) for machine in machines]
    smaller = sum(a < b for a, b in zip(ours, theirs, strict=True))
    low, high = f"{min(ours):.1f} to {max(ours):.1f} %", f"{min(theirs):.1f} to {max(theirs):.1f} %"
    evidence = f"for {smaller} of {len(ours)} labels; {low} against {high}"
    return Claim(text, GRAEPEL, smaller == len(ours), evidence)
