"""Theorems about a training run: each bound with its predictor, its kind, its assumptions and its value.

Three kinds:

fact        about the mistakes of the run itself: true for every run, so the certificate checks it against the record
guarantee   about the error on new examples: fails with probability δ at most, over the draw of the sample
estimate    a bound on an expected error, with the numbers of this one run in place of expectations

Several classes are one against the rest. A statement is about one vector, and a union bound adds up the errors of all,
each guarantee at δ divided by their number. A theorem that only counts steps with a mistake, or examples in the
support, holds for all vectors together, with the steps at which *any* vector erred, or the examples on which any
depends. That is much better than the sum. Classes that were trained together are one vector from the start
(`votron.theory.trained`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from votron._util.registry import Registry
from votron._util.types import Floats, Index
from votron.errors import VotronError
from votron.theory import bounds
from votron.theory.evidence import AVERAGE, LAST, MAXIMAL, MEAN_RANDOM, ONE_RANDOM, ONE_VOTE, Assumption, Evidence, Run

Kind = Literal["fact", "guarantee", "estimate"]
Quantity = Literal["mistakes", "support", "error"]
FACT: Kind = "fact"
GUARANTEE: Kind = "guarantee"
ESTIMATE: Kind = "estimate"
PLAIN, OWN_WEIGHTS, ANY_VECTOR = ("unweighted",), ("weights fixed",), ()
"""Additional assumptions if mistakes were weighted, depending on the proof:

PLAIN         it adds up updates of weight 1, as all proofs of (R/γ)² do
OWN_WEIGHTS   it holds for every online learner, or for every vector that the support determines, if the weight is a
              part of the example
ANY_VECTOR    it is about a vector and its margin, however it was found
"""

Value = tuple[float, str]
"""A value, or NaN, and a remark on where it comes from, or why there is none."""
Source = Callable[[Evidence, int, float], Value]
"""Returns the value for one vector of a run, from `Evidence`, the vector's number and δ."""


@dataclass(frozen=True)
class Statement:
    """A theorem that can be applied to a run; see `register_bound` for an example."""

    name: str
    formula: str
    kind: Kind
    quantity: Quantity
    predictor: str  # of which an error is bounded; empty for facts
    wants: tuple[str, ...]  # names of its assumptions
    value: Source
    joint: bool = False  # whether it holds for several vectors together as for one
    if_weighted: tuple[str, ...] = PLAIN  # names of additional assumptions if mistakes were weighted

    def evaluate(self, evidence: Evidence, c: int, delta: float) -> Value:
        """Return the value, or NaN, and a remark."""
        try:
            return self.value(evidence, c, delta)
        except NoValue as reason:
            return math.nan, str(reason)

    def assumptions(self, evidence: Evidence) -> tuple[Assumption, ...]:
        """Return the assumptions, and whether they hold for the run."""
        wants = [*self.wants, *(self.if_weighted if evidence.weighted else ())]
        if self.quantity == "error":
            wants += ["labels known"] * (len(evidence.runs) > 1 or evidence.trained_jointly)
            wants += ["K(x, x) > 0"] * bool(evidence.left_out)
        found = [each for name in wants for each in _assumptions(name, evidence, self.predictor)]
        return (*found, *evidence.always)


def statements_for(evidence: Evidence) -> tuple[Statement, ...]:
    """Return the statements about a perceptron, or about the vector of maximal margin."""
    found = [s for s in (*STATEMENTS, *REGISTERED_BOUNDS.values()) if (s.predictor == MAXIMAL) != evidence.by_mistakes]
    if evidence.by_mistakes and evidence.predictor != LAST:
        found.insert(0, replace(OWN, predictor=evidence.predictor))
    return tuple(found)


def _assumptions(name: str, evidence: Evidence, predictor: str) -> list[Assumption]:
    """Return an assumption as the history decides it, or else the numbers."""
    known = [each for each in evidence.assumptions if each.name == name]
    if known:
        return known
    consistent = all(run.consistent for run in evidence.runs)
    unit_length = bool(np.allclose(evidence.lengths, 1.0, rtol=0, atol=1e-6))
    mine = evidence.predictor == predictor
    other = "" if mine else f", not by the {predictor}"
    left_out = f"{evidence.left_out} rows of length 0 were left out, and the bound ignores such rows"
    longer = f"no new example is longer than R{'' if evidence.lengths_known else ': your claim'}"
    found: dict[str, tuple[bool | None, str]] = {
        "i.i.d.": (None, "examples are drawn independently from one distribution: your claim"),
        "its rule": (mine, f"the model predicts by the {evidence.predictor}{other}"),
        "τ = 0": (evidence.tau == 0, f"updates were made up to a margin of τ = {evidence.tau:g}"),
        "consistent": (consistent, f"the final vectors {'do not err' if consistent else 'err'} on training examples"),
        "unit length": (unit_length, f"examples {'have' if unit_length else 'do not have'} length 1"),
        "draws": (None, "the hash of a row and the seed is as good as a random draw for each row: not verified"),
        "labels known": (None, "new rows have no label that training did not have: your claim"),
        "K(x, x) > 0": (False, left_out),
        "R known": (evidence.lengths_known or None, longer),
    }
    holds, because = found.get(name, (False, f"nothing is known of {name!r} for such a model"))
    change = "" if holds else evidence.switches.get(predictor if name == "its rule" else name, "")
    return [Assumption(name, holds, because, change, another_run=name == "K(x, x) > 0")]


class NoValue(Exception):
    """A bound has no value for a vector; the message is the reason."""


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NoValue(otherwise)


def _attained(evidence: Evidence, c: int, *, normalized: bool = False) -> tuple[float, str]:
    """Return the largest margin of any candidate, which is positive, and the candidate's name."""
    attained, name = evidence.attained_margin(c, normalized=normalized)
    _need(attained > 0, "no vector at hand separates the data")
    return attained, name


def _novikoff(evidence: Evidence, c: int, delta: float) -> Value:
    attained, name = _attained(evidence, c)
    return bounds.novikoff_bound(evidence.radius * evidence.stretch, attained), f"margin {attained:.3g} of {name}"


def _unit_length(evidence: Evidence, c: int, delta: float) -> Value:
    attained, name = _attained(evidence, c, normalized=True)
    bound = evidence.stretch**2 * bounds.unit_length_bound(min(1.0, attained))
    return bound, f"normalised margin {attained:.3g} of {name}"


def _inseparable(evidence: Evidence, c: int, delta: float) -> Value:
    return _least_inseparable(evidence, c, evidence.presentations)[:2]


def _least_inseparable(evidence: Evidence, c: int, times: int) -> tuple[float, str, str, float]:
    """Return the least ((R + D)/γ)² over candidates and γ, where it comes from, and the candidate and γ themselves."""
    if (c, times) not in evidence.cache:
        radius = evidence.radius * evidence.stretch
        found = {k: bounds.best_inseparable_bound(of[:, c], radius, times) for k, of in evidence.candidates.items()}
        name, best = min(found.items(), key=lambda item: item[1].bound)
        remark = f"γ = {best.margin:.3g}, D = {best.deviation:.3g} of {name}"
        remark = "no γ says more than their number" if math.isinf(best.margin) else remark
        evidence.cache[c, times] = best.bound, remark, name, best.margin
    return evidence.cache[c, times]


def _inseparable_mistakes(evidence: Evidence, c: int, delta: float) -> Value:
    run = evidence.runs[c]
    if run.wrong is None or run.times is None:
        raise NoValue("the model does not keep which examples had mistakes")
    return _of_mistakes(evidence, c, run.wrong, run.times, evidence.presentations)


def _of_mistakes(evidence: Evidence, c: int, rows: Index, times: Index | Floats, presentations: int) -> Value:
    """Return ((R + D)/γ)² with R and D of the mistakes only, for the γ and u that are best over all presentations.

    The infimum over γ would be the number of mistakes itself.
    """
    _, _, name, gamma = _least_inseparable(evidence, c, presentations)
    if not len(rows):
        return 0.0, "no mistakes"
    _need(math.isfinite(gamma), "no γ says more than the count itself")
    short = np.maximum(0.0, gamma - evidence.candidates[name][rows, c])
    deviation = math.sqrt(float(np.sum(times * np.square(short))))
    radius = float(evidence.lengths[rows].max()) * evidence.stretch
    return bounds.inseparable_bound(radius, deviation, gamma), f"γ = {gamma:.3g}, D = {deviation:.3g} of {name}"


def _first_pass(evidence: Evidence, c: int) -> tuple[int, int, str]:
    """Return the mistakes of the first epoch, its examples, and a remark."""
    k = evidence.runs[c].first_pass
    if k is None:
        raise NoValue("the mistakes of the first epoch are not known any more")
    return k, evidence.first_m, f"{k} mistakes in the first epoch"


def _leave_one_out(evidence: Evidence, c: int, delta: float) -> Value:
    k, m, remark = _first_pass(evidence, c)
    return bounds.leave_one_out_bound(k, m), remark


def _leave_one_out_random(evidence: Evidence, c: int, delta: float) -> Value:
    k, m, remark = _first_pass(evidence, c)
    return bounds.leave_one_out_bound(k, m, deterministic=False), remark


def _corollary_1(evidence: Evidence, c: int, delta: float) -> Value:
    bound, remark = _least_inseparable(evidence, c, 1)[:2]
    return 2 * bound / (evidence.first_m + 1), remark


def _corollary_2(evidence: Evidence, c: int, delta: float) -> Value:
    rows = evidence.runs[c].first_wrong
    if rows is None:
        raise NoValue("the model does not keep which examples had mistakes")
    bound, remark = _of_mistakes(evidence, c, rows, np.ones(len(rows)), 1)
    return 2 * bound / (evidence.first_m + 1), remark


def _one_pass_vote(evidence: Evidence, c: int, delta: float) -> Value:
    # The theorem is about the vectors at times 0..m-1, the vote about those at 1..m. Where the vote errs at least m/2
    # of its votes are wrong, so at least m/2 - 1 of the theorem's.
    k, m, remark = _first_pass(evidence, c)
    _need(m > 2, "no more than two examples")
    return bounds.one_pass_bound(k, m, delta) * 2 * m / (m - 2), remark


def _one_pass_mean(evidence: Evidence, c: int, delta: float) -> Value:
    # The theorem is about times 0..m-1, the rule draws from 0..m: one slice more, which may err always.
    k, m, remark = _first_pass(evidence, c)
    return (m * bounds.one_pass_bound(k, m, delta) + 1) / (m + 1), remark


def _one_pass_fixed(evidence: Evidence, c: int, delta: float) -> Value:
    # Three things may fail, each at δ/3: the mean over the pass, the limit on how likely a row is, and the draws.
    mean, remark = _one_pass_mean(evidence, c, delta / 3)
    if evidence.most_repeated is None:
        raise NoValue("which rows are equal is not known with a precomputed kernel")
    times, n = evidence.most_repeated, len(evidence.lengths)  # of all rows, held out or not
    remark += ", no row came twice" if times == 1 else f", one row came {times:,} times"
    return bounds.fixed_draw_bound(mean, bounds.held_out_bound(times, n, delta / 3), delta / 3), remark


def _consistent(evidence: Evidence, c: int) -> Run:
    _need(evidence.runs[c].consistent, "the vector errs on training examples")
    return evidence.runs[c]


def _vapnik_chervonenkis(evidence: Evidence, c: int, delta: float) -> Value:
    run = _consistent(evidence, c)
    rows: Index | slice = slice(None) if run.wrong is None else run.wrong
    attained, name = evidence.attained_margin(c, rows) if run.support else (0.0, "")
    if attained > 0:
        ratio = float(evidence.lengths[rows].max()) * evidence.stretch / attained
        if ratio * ratio < run.support:
            return bounds.vapnik_chervonenkis_bound(evidence.m, ratio * ratio), f"margin {attained:.3g} of {name}"
    return _support_share(evidence, c, delta)


def _support_share(evidence: Evidence, c: int, delta: float) -> Value:
    support = evidence.runs[c].support
    return bounds.vapnik_chervonenkis_bound(evidence.m, support), f"{support} support vectors"


def _compression(evidence: Evidence, c: int, delta: float) -> Value:
    support = _consistent(evidence, c).support
    _need(support < evidence.m, f"too many support vectors ({support})")
    return bounds.compression_bound(evidence.m, support, delta), f"{support} support vectors"


def _agnostic(evidence: Evidence, c: int, delta: float) -> Value:
    return _with_errors(evidence, c, delta, evidence.runs[c].outside)


def _own_rule(evidence: Evidence, c: int, delta: float) -> Value:
    outside = evidence.runs[c].own_outside
    if outside is None:
        raise NoValue("the rule depends on held-out examples too")
    return _with_errors(evidence, c, delta, outside)


def _with_errors(evidence: Evidence, c: int, delta: float, outside: int) -> Value:
    m, support = evidence.m, evidence.runs[c].support
    _need(outside <= m - support, "too few examples outside the support")
    _need(support < m, f"too many support vectors ({support})")
    remark = f"{support} support vectors, {outside} of the other examples wrong"
    return bounds.agnostic_compression_bound(m, support, outside, delta), remark


def _kappa(evidence: Evidence, c: int, limit: str) -> tuple[int, str]:
    """Return κ = ⌈(R/γ)²⌉ for the best margin of any candidate, below m or m/4."""
    _consistent(evidence, c)
    attained, name = _attained(evidence, c)
    bound = bounds.novikoff_bound(evidence.radius * evidence.stretch, attained)
    _need(math.isfinite(bound), f"(R/γ)² is too large by the margin of {name}")
    kappa = math.ceil(bound * (1 - bounds.ROUNDING))
    remark = f"(R/γ)² = {kappa:,} by the margin of {name}"
    _need(kappa < evidence.m / (4 if limit == "m/4" else 1), f"{remark}, not less than {limit}")
    return kappa, remark


def _margin(evidence: Evidence, c: int, delta: float) -> Value:
    kappa, remark = _kappa(evidence, c, "m")
    return bounds.compression_bound(evidence.m, kappa, delta), remark


def _margin_simple(evidence: Evidence, c: int, delta: float) -> Value:
    kappa, remark = _kappa(evidence, c, "m/4")
    n = max(4.0, evidence.m / kappa * (1 - 1e-12))  # the larger n, the smaller the bound
    return bounds.margin_bound_simple(evidence.m, kappa, delta, n), remark


def _pac(name: str) -> Source:
    def value(evidence: Evidence, c: int, delta: float) -> Value:
        _need(not evidence.trained_jointly, "it is about one vector's sign, and these were trained together")
        attained = float(evidence.candidates[name][:, c].min())
        _need(attained > 0, "the vector errs on training examples")
        kappa = bounds.novikoff_bound(evidence.radius, attained)
        remark = f"(R/γ)² = {kappa:,.0f} for its own margin"
        _need(kappa < math.e * evidence.m / 8, f"{remark}, too large beside m")
        return bounds.pac_margin_bound(evidence.m, kappa, delta), remark

    return value


_FIXED = ("i.i.d.", "kernel fixed")
_ONE = (*_FIXED, "one epoch", "τ = 0", "its rule", "planned end")
_LAST = (*_FIXED, "consistent", "its rule")

STATEMENTS: tuple[Statement, ...] = (
    Statement("Block & Novikoff", "k ≤ (R/γ)²", FACT, "mistakes", "", (), _novikoff),
    Statement("unit length (Columbia)", "k ≤ 1/γ²", FACT, "mistakes", "", ("unit length",), _unit_length),
    Statement("Freund & Schapire, theorem 2", "k ≤ ((R + D)/γ)²", FACT, "mistakes", "", (), _inseparable),
    Statement("theorem 2, of mistakes only", "k ≤ ((R + D)/γ)²", FACT, "mistakes", "", (), _inseparable_mistakes),
    Statement("Graepel et al., sparsity", "‖α‖₀ ≤ ‖α‖₁ ≤ (R/γ)²", FACT, "support", "", (), _novikoff),
    Statement("Helmbold & Warmuth", "2 k/(m+1)", ESTIMATE, "error", ONE_VOTE,
              _ONE, _leave_one_out, True, OWN_WEIGHTS),
    Statement("Freund & Schapire, cor. 1", "2/(m+1) ((R+D)/γ)²", ESTIMATE, "error", ONE_VOTE,
              _ONE, _corollary_1),
    Statement("Freund & Schapire, cor. 2", "the same of mistakes", ESTIMATE, "error", ONE_VOTE,
              _ONE, _corollary_2),
    Statement("Cesa-Bianchi, Conconi & Gentile", "2 (k/m + √(2 ln(1/δ)/m))", GUARANTEE, "error", ONE_VOTE,
              _ONE, _one_pass_vote, True, OWN_WEIGHTS),
    Statement("Cesa-Bianchi et al., fixed draws", "k/m + √(2 ln(3/δ)/m), and for the draws", GUARANTEE, "error",
              ONE_RANDOM, (*_ONE, "draws"), _one_pass_fixed, True, OWN_WEIGHTS),
    Statement("Helmbold & Warmuth", "k/(m+1)", ESTIMATE, "error", MEAN_RANDOM,
              _ONE, _leave_one_out_random, True, OWN_WEIGHTS),
    Statement("Cesa-Bianchi, Conconi & Gentile", "k/m + √(2 ln(1/δ)/m)", GUARANTEE, "error", MEAN_RANDOM,
              _ONE, _one_pass_mean, True, OWN_WEIGHTS),
    Statement("Vapnik & Chervonenkis", "min(d, (R/γ)²)/(m+1)", ESTIMATE, "error", LAST,
              (*_LAST, "τ = 0"), _vapnik_chervonenkis),
    Statement("Graepel et al. (7)", "(ln C(m,d) + ln m + ln(1/δ))/(m−d)", GUARANTEE, "error", LAST,
              (*_LAST, "planned end"), _compression, True, OWN_WEIGHTS),
    Statement("(7) with errors", "kl(errors/(m−d) ‖ ·) as in (7)", GUARANTEE, "error", LAST,
              (*_FIXED, "its rule", "planned end"), _agnostic, True, OWN_WEIGHTS),
    Statement("Graepel et al. (8)", "(7) with d = (R/γ)²", GUARANTEE, "error", LAST,
              (*_LAST, "planned end"), _margin),
    Statement("Graepel et al., section 5", "(κ ln(2em/κ) + n/(n−1) ln(m/δ))/m", GUARANTEE, "error", LAST,
              (*_LAST, "planned end"), _margin_simple),
    Statement("PAC margin", "64 κ log₂² terms, own margin", GUARANTEE, "error", LAST,
              (*_LAST, "R known"), _pac("last"), if_weighted=ANY_VECTOR),
    Statement("PAC margin", "64 κ log₂² terms, own margin", GUARANTEE, "error", AVERAGE,
              (*_FIXED, "R known", "its rule"), _pac("average"), if_weighted=ANY_VECTOR),
    Statement("Vapnik, support vectors", "support/(m+1)", ESTIMATE, "error", MAXIMAL,
              (*_FIXED, "exact"), _support_share, if_weighted=OWN_WEIGHTS),
    Statement("Graepel et al. (7)", "(ln C(m,d) + ln m + ln(1/δ))/(m−d)", GUARANTEE, "error", MAXIMAL,
              (*_FIXED, "consistent", "exact"), _compression, True, OWN_WEIGHTS),
    Statement("(7) with errors", "kl(errors/(m−d) ‖ ·) as in (7)", GUARANTEE, "error", MAXIMAL,
              (*_FIXED, "exact"), _agnostic, True, OWN_WEIGHTS),
    Statement("PAC margin", "64 κ log₂² terms", GUARANTEE, "error", MAXIMAL,
              (*_FIXED, "consistent", "R known"), _pac("its own"), if_weighted=ANY_VECTOR),
)  # fmt: skip

OWN = Statement("(7) with errors", "kl(errors/(m−d) ‖ ·) as in (7)", GUARANTEE, "error", "",
                (*_FIXED, "planned end"), _own_rule, True, OWN_WEIGHTS)  # fmt: skip
"""The bound for the model's own rule, since the support determines all of its vectors."""


def _admitted(statement: object) -> tuple[str, Statement]:
    """Return a bound's name and the bound, or refuse it."""
    if not isinstance(statement, Statement):
        raise VotronError(f"A bound to register must be a Statement. Got {statement!r} instead.")
    if any(statement.name == known.name for known in (*STATEMENTS, OWN)):
        raise VotronError(f"There is a bound of the name {statement.name!r} already: it is one of Votron's.")
    return statement.name, statement


def _origin(statement: Statement) -> object:
    """Return where a bound's function is defined, which is the same if a cell of a notebook is run again."""
    value = statement.value
    name = getattr(value, "__qualname__", "<lambda>")
    return id(value) if "<lambda>" in name else (value.__module__, name)


REGISTERED_BOUNDS: Registry[Statement] = Registry("bound", "votron.bounds", _admitted, _origin)
"""Bounds from outside the package, by name."""


def register_bound(statement: Statement) -> Statement:
    """Add a `Statement` to all certificates from now on, and return it.

    A package can name its bounds as entry points of the group ``votron.bounds``, for ``votron certify --bound NAME``.

    Examples
    --------
    >>> from votron.theory.evidence import LAST
    >>> from votron.theory.statements import ESTIMATE, Statement, register_bound
    >>> share = Statement("share of the support", "d/m", ESTIMATE, "error", LAST, ("i.i.d.", "its rule"),
    ...     lambda evidence, c, delta: (evidence.runs[c].support / evidence.m, "by counting"))
    >>> register_bound(share).name
    'share of the support'
    """
    return REGISTERED_BOUNDS.register(statement)
