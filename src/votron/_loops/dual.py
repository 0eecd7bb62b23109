"""The loops of the dual engine and its rules: everything that runs once per (example, support vector) pair.

Symbols
-------
F[c, r]      score of block row r under the current vector of class c
K[k, r]      kernel value of the k-th support example and block row r
dots[k, r]   their dot product, before the kernel function
W            width of a panel: the block rows that one compiled loop carries in registers

Exactness
---------
Vectorised and remainder iterations use the same operations, so a value does not depend on where in a block it stands.
Two consequences are relied upon elsewhere: integer dot products are exact, and a real dot product is the left-to-right
sum over the features, one fused multiplication and addition each, the same bits for dense and sparse rows, any block
size and any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from votron._loops._llvm import call_row_loop, compiled
from votron._util.types import Array, Floats, Index


class Steps(NamedTuple):
    """A kernel as loops over one row (`RowLoop`), one after another, in place.

    Step s is at ``addresses[s]``, its parameters are ``parameters[s]``, and it reads the terms from ``first_term[s]``
    on, of the support vectors (``theirs[k, t]``) and of the block's rows (``own[t, r]``).
    """

    addresses: Index
    parameters: Floats
    first_term: Index
    theirs: Floats
    own: Floats


class Pending(NamedTuple):
    """Kernel values that are computed on demand: ``numbers[source[k]]`` are those of the k-th support vector.

    The numbers are dot products, which the steps turn into kernel values, or kernel values already, without steps.
    """

    numbers: Array
    source: Index
    steps: Steps


@compiled
def _kernel_row(dot, k, low, steps, row, spare):
    """Turn one row of dot products, of the k-th support vector with rows of a block from ``low`` on, into values."""
    n = dot.shape[0]
    for r in range(n):
        row[r] = np.float64(dot[r])
    for s in range(steps.addresses.shape[0]):
        t = steps.first_term[s]
        call_row_loop(
            steps.addresses[s], row, n, steps.parameters, s * steps.parameters.shape[1],
            steps.theirs, k * steps.theirs.shape[1] + t, steps.own, t * steps.own.shape[1] + low, spare,
        )  # fmt: skip


@compiled
def kernel_rows(pending, low, high, spare, out):
    """Fill ``out[k, low:high]`` with kernel values."""
    for k in range(pending.source.shape[0]):
        _kernel_row(pending.numbers[pending.source[k], low:high], k, low, pending.steps, out[k, low:high], spare)


@compiled
def _add_row(row, coefficient, score):
    """Score += coefficient * row, one addition an element; a plain mistake's coefficient is its sign."""
    if coefficient == 1:
        for r in range(row.shape[0]):
            score[r] += row[r]
    elif coefficient == -1:
        for r in range(row.shape[0]):
            score[r] -= row[r]
    else:
        for r in range(row.shape[0]):
            score[r] += coefficient * row[r]


@compiled
def fold(pending, event_starts, first_event, classes, coefficients, low, high, room, F):
    """Add events to the scores of a block, one addition a mistake, in the order of the mistakes.

    The k-th support vector is that of event first_event + k. Kernel values are made a row at a time, in ``room``, and
    added while they are in the first-level cache.
    """
    row, spare = room[0, : high - low], room[1]
    for k in range(pending.source.shape[0]):
        _kernel_row(pending.numbers[pending.source[k], low:high], k, low, pending.steps, row, spare)
        for j in range(event_starts[first_event + k], event_starts[first_event + k + 1]):
            _add_row(row, coefficients[j], F[classes[j], low:high])


@compiled
def find_mistakes(F, codes, threshold, start, stop, out):
    """List the rows that some class gets wrong now. Returns how many."""
    n = 0
    for r in range(start, stop):
        for c in range(F.shape[0]):
            score = F[c, r] if codes[r] == c else -F[c, r]
            if score <= threshold[r]:
                out[n] = r
                n += 1
                break
    return n


@compiled
def fold_checked(
    pending, event_starts, first_event, classes, coefficients, event_places, places, codes, threshold, r, stop,
    low, high, room, F, wrong,
):  # fmt: skip
    """Do as `fold`, and mark the rows r .. stop - 1 that are wrong when their turn comes, and are not an event's own.

    Returns the row that is to be checked next.
    """
    row, spare = room[0, : high - low], room[1]
    for k in range(pending.source.shape[0]):
        e = first_event + k
        r = check_until(event_places[k], places, codes, threshold, r, stop, F, wrong)
        if r < stop and places[r] == event_places[k]:
            r += 1
        _kernel_row(pending.numbers[pending.source[k], low:high], k, low, pending.steps, row, spare)
        for j in range(event_starts[e], event_starts[e + 1]):
            _add_row(row, coefficients[j], F[classes[j], low:high])
    return r


@compiled
def check_until(place, places, codes, threshold, r, stop, F, wrong):
    """Mark the rows from r on that are wrong now and whose places come before ``place``. Returns the next row."""
    while r < stop and places[r] < place:
        for c in range(F.shape[0]):
            score = F[c, r] if codes[r] == c else -F[c, r]
            if score <= threshold[r]:
                wrong[r] = True
                break
        r += 1
    return r


@compiled
def smallest_margins(F, codes, threshold, start, stop, out):
    """List for each row how far the worst class is from being wrong; 0 or less: it is."""
    for r in range(start, stop):
        least = np.inf
        for c in range(F.shape[0]):
            score = F[c, r] if codes[r] == c else -F[c, r]
            if score - threshold[r] < least:
                least = score - threshold[r]
        out[r - start] = least


@compiled
def walk(
    F, codes, threshold, diagonal, weights, start, stop, row_of, K, norm2, n_mistakes, rows, classes, scores, norms
):
    """Walk a block in order and make the mistakes, until its end or a row whose kernel values are not at hand.

    Returns the row where it stopped and the number of mistakes so far. A mistake of class c at row r with label sign
    y: y F[c, r] <= threshold[r]. It is written down with the score before and the squared norm after the update, and
    w y K[row_of[r]] is added to the scores of the whole block, w being ``weights[r]``, or 1 where there are none.
    """
    C = F.shape[0]
    weighted = weights.shape[0] > 0
    n = n_mistakes
    for r in range(start, stop):
        wrong = False
        for c in range(C):
            score = F[c, r] if codes[r] == c else -F[c, r]
            if score <= threshold[r]:
                wrong = True
                break
        if not wrong:
            continue
        k = row_of[r]
        if k < 0:
            return r, n
        weight = weights[r] if weighted else 1.0
        for c in range(C):
            sign = 1.0 if codes[r] == c else -1.0
            score = F[c, r]
            if sign * score <= threshold[r]:
                norm2[c] = (norm2[c] + 2.0 * (sign * weight) * score) + weight * weight * diagonal[r]
                rows[n] = r
                classes[n] = c
                scores[n] = score
                norms[n] = norm2[c]
                n += 1
                _add_row(K[k, :], sign * weight, F[c, :])
    return stop, n


class Mistakes(NamedTuple):
    """A record as loops read it: event e is the mistakes ``starts[e]`` to ``starts[e + 1] - 1``."""

    starts: Index
    vector: Array
    coefficient: Array
    time: Index
    norm2: Floats


class Alive(NamedTuple):
    """The vectors that are alive: when each was born (0: none yet), its length, and its scores of a block's rows."""

    born: Index
    length: Floats
    scores: Floats


class Tallies(NamedTuple):
    """Sums over the vectors that have died; without rows where they are not needed."""

    votes: Floats
    sums: Floats
    unit_sums: Floats


class Captures(NamedTuple):
    """Scores of one row by the vectors alive at one time, asked for in the order of times; ``done[0]`` counts them."""

    times: Index
    rows: Index
    done: Index
    scores: Floats
    unit_scores: Floats


@compiled
def scan(pending, first, n_events, first_event, room, mistakes, alive, tallies, captures):
    """Carry scores over events; credit each vector, when it dies, with the time steps it was alive."""
    starts, time = mistakes.starts, mistakes.time
    row, spare, width = room[0], room[1], alive.scores.shape[1]
    for k in range(n_events):
        begin, end = starts[first_event + k], starts[first_event + k + 1]
        capture(time[begin], alive, captures)
        _kernel_row(pending.numbers[pending.source[first + k], :width], first + k, 0, pending.steps, row, spare)
        for j in range(begin, end):
            c = mistakes.vector[j]
            if alive.born[c] > 0:
                credit(c, np.float64(time[j] - alive.born[c]), alive, tallies)
            alive.born[c] = time[j]
            alive.length[c] = math.sqrt(mistakes.norm2[j]) if mistakes.norm2[j] > 0.0 else 0.0
            _add_row(row, mistakes.coefficient[j], alive.scores[c])


@compiled
def capture(time, alive, captures):
    """Answer the captures of times before ``time`` from the vectors of now."""
    i = captures.done[0]
    while i < captures.times.shape[0] and captures.times[i] < time:
        r = captures.rows[i]
        for c in range(alive.scores.shape[0]):
            score, length = alive.scores[c, r], alive.length[c]
            captures.scores[c, i] = score
            captures.unit_scores[c, i] = score / length if length > 0.0 else 0.0
        i += 1
    captures.done[0] = i


@compiled
def credit(c, survival, alive, tallies):
    """Add one vector of class c to the tallies. A score of 0 votes +1; a zero vector scores 0."""
    score, length = alive.scores[c], alive.length[c]
    if tallies.votes.shape[0] > 0:
        vote = tallies.votes[c]
        for r in range(score.shape[0]):
            vote[r] += survival if score[r] >= 0.0 else -survival
    if tallies.sums.shape[0] > 0:
        total = tallies.sums[c]
        for r in range(score.shape[0]):
            total[r] += survival * score[r]
    if tallies.unit_sums.shape[0] > 0 and length > 0.0:
        total = tallies.unit_sums[c]
        for r in range(score.shape[0]):
            total[r] += survival * (score[r] / length)


@compiled
def credit_alive(now, alive, tallies):
    """Add the vectors that are still alive to the tallies."""
    for c in range(alive.born.shape[0]):
        if alive.born[c] > 0:
            credit(c, np.float64(now - alive.born[c]), alive, tallies)


@compiled
def scan_errors(pending, first_event, room, mistakes, n_rows, codes, F, errors):
    """Carry scores over events and count, after each event, the rows that the vectors of that moment get wrong.

    One class: wrong where the score's sign is. Several: wrong where the first largest score is another class's.
    """
    C, width = F.shape
    row, spare = room[0], room[1]
    for k in range(pending.source.shape[0]):
        e = first_event + k
        _kernel_row(pending.numbers[pending.source[k], :width], k, 0, pending.steps, row, spare)
        for j in range(mistakes.starts[e], mistakes.starts[e + 1]):
            _add_row(row, mistakes.coefficient[j], F[mistakes.vector[j]])
        wrong = 0
        for r in range(n_rows):
            if C == 1:
                wrong += (F[0, r] >= 0.0) != (codes[r] == 0)
                continue
            best = 0
            for c in range(1, C):
                if F[c, r] > F[best, r]:
                    best = c
            wrong += best != codes[r]
        errors[e] += wrong


@compiled
def hash_dense(x, seed, out):
    """Draw a number in [0, 1) for each row, from the seed and the row's nonzero values and their places."""
    for i in range(x.shape[0]):
        h = uint64(seed)
        for g in range(x.shape[1]):
            v = np.float64(x[i, g])
            if v != 0.0:
                h = _mix(h ^ _mix(uint64(g) + uint64(0x9E3779B97F4A7C15)) ^ np.float64(v).view(np.uint64))
        out[i] = np.float64(_mix(h) >> uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def hash_sparse(indptr, indices, data, seed, out):
    """Do the same for CSR rows with sorted indices: a row has one number, dense or sparse."""
    for i in range(indptr.shape[0] - 1):
        h = uint64(seed)
        for j in range(indptr[i], indptr[i + 1]):
            v = np.float64(data[j])
            if v != 0.0:
                h = _mix(h ^ _mix(uint64(indices[j]) + uint64(0x9E3779B97F4A7C15)) ^ np.float64(v).view(np.uint64))
        out[i] = np.float64(_mix(h) >> uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _mix(h):
    """Mix as SplitMix64 does at its end: every input bit moves every output bit."""
    h = (h ^ (h >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> uint64(27))) * uint64(0x94D049BB133111EB)
    return h ^ (h >> uint64(31))


@compiled
def sweep(K, n, y, cap, a, f):
    """Take each multiplier of the adatron to where its own constraint y f = 1 holds, within its range; count changes.

    Of n examples ``a`` has the multipliers, between 0 and ``cap``, and ``f`` the scores Σ_j a_j y_j K[i, j].
    """
    changes = 0
    for i in range(n):
        gap = 1.0 - y[i] * f[i]
        if (a[i] <= 0.0 and gap <= 0.0) or (a[i] >= cap[i] and gap >= 0.0):
            continue
        new = min(max(a[i] + gap / K[i, i], 0.0), cap[i])
        change = (new - a[i]) * y[i]
        if change == 0.0:
            continue
        a[i] = new
        changes += 1
        for j in range(n):
            f[j] += change * K[i, j]
    return changes
