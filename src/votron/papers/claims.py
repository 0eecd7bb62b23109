"""The papers' claims, each checked on the runs, with the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from votron.papers import LABEL_DEGREE
from votron.papers.runs import MOMENTS, Results

__all__ = ["Claim", "claims"]

FS = "Freund & Schapire"
GRAEPEL = "Graepel, Herbrich & Williamson"

NORMALISED = [(f"{rule} (unnorm)", f"{rule} (norm)") for rule in ("Avg", "Last", "Rand")]

Finding = tuple[bool, str]
"""``holds`` and ``evidence`` of a claim."""


class CannotTellError(Exception):
    """The runs cannot decide the claim; the message says what they lack."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, whether it holds (None if the runs cannot tell), and the evidence."""

    text: str
    source: str
    holds: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "no", None: "open"}[self.holds]

    def __str__(self) -> str:
        return f"{self.verdict:4s} {self.text} ({self.source}): {self.evidence}"


def claims(results: Results) -> list[Claim]:
    found = []
    for text, source, check in CLAIMS:
        try:
            found.append(Claim(text, source, *check(results)))
        except CannotTellError as error:
            found.append(Claim(text, source, None, str(error)))
    return found


def _cases(results: Results) -> list[tuple[int, float]]:
    """Return pairs of degree and moment of Table 1 that these runs cover."""
    found = [
        (degree, t)
        for degree, runs in sorted(results.runs.items())
        for t in MOMENTS
        if runs[0].moments[0] <= t <= results.end(degree)
    ]
    if not found:
        raise CannotTellError("needs a tenth of an epoch at least")
    return found


def _better_than_last(results: Results) -> Finding:
    gaps = [
        results.mean(degree, "Last (unnorm)", t) - results.mean(degree, rule, t)
        for degree, t in _cases(results)
        for rule in ("Vote", "Avg (unnorm)")
    ]
    better, worst = sum(gap > 0 for gap in gaps), min(gaps)
    # where nothing is left to learn all rules come together, and noise decides
    return better >= 0.9 * len(gaps) and worst > -0.15, (
        f"in {better} of {len(gaps)} cases, by up to {max(gaps):.2f} points; where not, short by {max(0, -worst):.2f}"
    )


def _most_before_convergence(results: Results) -> Finding:
    def lead(degree: int, moment: float | None) -> float:
        return results.mean(degree, "Last (unnorm)", moment) - results.mean(degree, "Vote", moment)

    degrees = [d for d, runs in sorted(results.runs.items()) if runs[0].moments[0] <= 1.0 < results.end(d)]
    if not degrees:
        raise CannotTellError("needs more than one epoch")
    early, late = [lead(d, 1.0) for d in degrees], [lead(d, None) for d in degrees]
    more = sum(a > b for a, b in zip(early, late, strict=True))
    return more > len(early) / 2, (
        f"the vote's lead is larger at T = 1 than at the end for {more} of {len(early)} degrees; in the mean it is "
        f"{np.mean(early):.2f} points and {np.mean(late):.2f}"
    )


def _random_is_worst(results: Results) -> Finding:
    cases = _cases(results)
    exceptions = [
        f"d = {degree}, T = {t:g}"
        for degree, t in cases
        if results.mean(degree, "Rand (unnorm)", t)
        < max(results.mean(degree, rule, t) for rule in ("Vote", "Avg (unnorm)", "Last (unnorm)"))
    ]
    but = f"; not at {', '.join(exceptions[:4])}{' ...' if len(exceptions) > 4 else ''}" if exceptions else ""
    return not exceptions, f"in {len(cases) - len(exceptions)} of {len(cases)} cases{but}"


def _differ_little(words: str, *pairs: tuple[str, str]) -> Callable[[Results], Finding]:
    """Return a check of the difference between the rules of each pair."""

    def check(results: Results) -> Finding:
        cases = _cases(results)
        gaps = [abs(results.mean(d, a, t) - results.mean(d, b, t)) for d, t in cases for a, b in pairs]
        mean = float(np.mean(gaps))
        evidence = f"{words} {mean:.2f} points in the mean, {max(gaps):.2f} at most (judged: a mean below 0.25)"
        return mean < 0.25, evidence

    return check


def _largest_gain(results: Results) -> Finding:
    if not {1, 2, 3} <= set(results.runs):
        raise CannotTellError("needs degrees 1, 2 and 3")
    errors = {d: results.mean(d, "Vote") for d in sorted(results.runs)}
    gains = {d: errors[d - 1] - error for d, error in errors.items() if d - 1 in errors}
    evidence = ", ".join(f"{d - 1} to {d}: {gain:+.2f}" for d, gain in gains.items())
    return max(gains, key=lambda d: gains[d]) == 2, f"points gained by the vote, {evidence}"


def _small_degrees_are_slow(results: Results) -> Finding:
    degrees = sorted(results.runs)
    if not {1, 2} & set(degrees) or degrees[-1] < 4:
        raise CannotTellError("needs degree 1 or 2, and 4 or more")
    until = min(map(results.end, degrees))
    mistakes = {d: results.mean(d, "Mistake", until) for d in degrees}
    seconds = {d: float(np.mean([run.train_seconds for run in results.runs[d]])) for d in degrees}
    kernel = [d for d in degrees if d > 1]  # degree 1 trains on weight vectors, where mistakes cost little
    most = mistakes[degrees[0]] == max(mistakes.values())
    slowest = len(kernel) < 2 or seconds[kernel[0]] == max(seconds[d] for d in kernel)
    evidence = "; ".join(
        f"d = {d}: {mistakes[d]:,.0f} mistakes until T = {until:g}, {seconds[d]:.1f} s" for d in degrees
    )
    but = ". Degree 1 trains on weight vectors here, where mistakes cost little" if 1 in degrees else ""
    return most and slowest, evidence + but


def _separable_from_five(results: Results) -> Finding:
    share = {d: float(np.mean([run.converged for run in runs])) for d, runs in sorted(results.runs.items())}
    shares = ", ".join(f"d = {d}: {100 * s:.0f} %" for d, s in share.items())
    evidence = f"runs that ended without a mistake left, {shares}"
    high = [d for d in share if d >= 5]
    if not high or min(map(results.end, high)) < 30:
        raise CannotTellError(f"needs degree 5 or more, and 30 epochs; {evidence}")
    return all(share[d] == 1 for d in high) and share.get(1, 0.0) == 0, evidence


def _fewer_support_vectors(results: Results) -> Finding:
    _need_machines(results)
    if not all(run.converged for run in results.runs[LABEL_DEGREE]):
        raise CannotTellError("needs runs that end without a mistake left: more epochs")
    ratios = [
        machine.n_support / float(results.values(LABEL_DEGREE, "SupVec", label=c).mean())
        for c, machine in enumerate(results.machines)
    ]
    fewer, double = sum(ratio > 1 for ratio in ratios), sum(ratio >= 1.95 for ratio in ratios)
    return fewer == len(ratios), (
        f"for {fewer} of {len(ratios)} labels; the SVM has {min(ratios):.2f} to {max(ratios):.2f} times as many, "
        f"twice or more for {double}"
    )


def _smaller_bound(results: Results) -> Finding:
    _need_machines(results)
    ours = [float(results.bounds(LABEL_DEGREE, c).mean()) for c in range(len(results.machines))]
    if not np.isfinite(ours).all():
        raise CannotTellError("needs runs that end without a mistake left, on more examples than are support")
    theirs = [machine.bound for machine in results.machines]
    smaller = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return smaller == len(ours), (
        f"for {smaller} of {len(ours)} labels; {min(ours):.1f} to {max(ours):.1f} % against "
        f"{min(theirs):.1f} to {max(theirs):.1f} %"
    )


def _need_machines(results: Results) -> None:
    if not results.machines or LABEL_DEGREE not in results.runs:
        raise CannotTellError(f"needs the SVMs of degree {LABEL_DEGREE}")


CLAIMS = (
    ("Voting and averaging beat the last vector", FS, _better_than_last),
    ("... most of all before convergence", FS, _most_before_convergence),
    ("A random vector is the worst in all cases", FS, _random_is_worst),
    ("Voting and averaging do not differ much", FS, _differ_little("they differ by", ("Vote", "Avg (unnorm)"))),
    ("Normalising the vectors matters little", FS, _differ_little("it changes errors by", *NORMALISED)),
    ("The largest gain is from degree 1 to degree 2", FS, _largest_gain),
    ("Small degrees run slowest, because of their mistakes", FS, _small_degrees_are_slow),
    ("From degree 5 on the data become separable", FS, _separable_from_five),
    (
        "The perceptron ends with fewer support vectors than the SVM for every label, often by a factor of two",
        GRAEPEL,
        _fewer_support_vectors,
    ),
    ("Its bound (7) is the smaller one throughout", GRAEPEL, _smaller_bound),
)
