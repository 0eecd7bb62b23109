"""The loops of the dual engine and its rules: everything that runs once per (example, support vector) pair.

Symbols
-------
F[c, r]      score of block row r under the current vector of class c
K[k, r]      kernel value of the k-th support example and block row r
dots[k, r]   their dot product, before the kernel function
W            width of a panel: the block rows that one compiled loop carries in registers

Exactness
---------
No loop is compiled with fast-math: what a loop computes is what its source says, in that order. Vectorised and
remainder iterations use the same operations, so a value does not depend on where in a block it stands. Two
consequences are relied upon elsewhere: integer dot products are exact, and a real dot product is the left-to-right
sum over the features, one fused multiplication and addition each, the same bits for dense and sparse rows, any block
size and any number of threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.extending import intrinsic

from votron._loops._llvm import I16, I32, I64, accumulate, broadcast, compiled, load_vector, store_vectors

BLOCK_MULTIPLE = 64
"""Block widths are padded to a multiple of this, which every panel width divides."""

PANEL_WIDTH = {"int32": 64, "float32": 32, "float64": 16}
"""Rows in a panel, by the type of the dot products: eight or four 256-bit accumulators."""

# ----------------------------------------------------------------------------------------------------------------------
# Panel products: sparse support vectors times dense panels of block rows
#
# A panel holds W rows of a block, feature by feature: panel[g * W + r] is feature group g of row r. A group is one
# feature for floating-point data and two neighbouring features, packed as two 16-bit halves of an int32, for integer
# data. A support vector is the list of its nonzero groups. One pass over that list accumulates its W dot products in
# registers, so zeros cost nothing and, for integers, one instruction (multiply and add pairs) does sixteen products:
# on MNIST about five times the speed of SGEMM. Dense real support vectors go three at a time, at the speed of SGEMM.
# The loops are written in LLVM's own vector types because the accumulators must stay in registers, which no plain
# loop ensures.
# ----------------------------------------------------------------------------------------------------------------------


def _integer_pairs(builder: Any, accumulator: Any, weight: Any, data: Any, index: Any) -> Any:
    """Add weight.low * x.low + weight.high * x.high for eight rows, in exact 32-bit arithmetic."""
    halves, wide = ir.VectorType(I16, 16), ir.VectorType(I32, 16)
    x = load_vector(builder, halves, data, index, align=4)
    product = builder.mul(builder.sext(builder.bitcast(weight, halves), wide), builder.sext(x, wide))
    undefined = ir.Constant(wide, ir.Undefined)
    lanes = ir.VectorType(I32, 8)
    even = builder.shuffle_vector(product, undefined, ir.Constant(lanes, list(range(0, 16, 2))))
    odd = builder.shuffle_vector(product, undefined, ir.Constant(lanes, list(range(1, 16, 2))))
    return builder.add(accumulator, builder.add(even, odd))


def _real_values(builder: Any, accumulator: Any, weight: Any, data: Any, index: Any) -> Any:
    """Add weight * x for the rows of one vector."""
    return _fused(builder, weight, load_vector(builder, weight.type, data, index, align=4), accumulator)


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c with one rounding, the same on every processor (an instruction on all of the last ten years)."""
    name = f"llvm.fma.v{a.type.count}f{32 if isinstance(a.type.element, ir.FloatType) else 64}"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(a.type, [a.type] * 3), name)
    return builder.call(function, [a, b, c])


def _panel_dot(element: Any, lanes: int, width: int, multiply_add: Any) -> Any:
    """Make the intrinsic ``dot(groups, weights, low, high, panel, start, out, offset)`` for one element type.

    It writes, for the ``width`` rows of the panel that begins at ``panel[start]``, the sum over k in [low, high) of
    ``weights[k] * panel[groups[k] * width + r]`` to ``out[offset + r]``.
    """
    vector = ir.VectorType(element, lanes)
    zeros = [ir.Constant(vector, [0 if isinstance(element, ir.IntType) else 0.0] * lanes)] * (width // lanes)

    @intrinsic
    def dot(typingctx, groups, weights, low, high, panel, start, out, offset):
        i64 = types.int64
        signature = types.void(groups, weights, i64, i64, panel, i64, out, i64)

        def codegen(context, builder, signature, arguments):
            def data(k: int) -> Any:
                return context.make_array(signature.args[k])(context, builder, arguments[k]).data

            low, high, start, offset = arguments[2], arguments[3], arguments[5], arguments[7]
            group_data, weight_data, out_data = data(0), data(1), data(6)
            panel_data = builder.gep(data(4), [start])

            def add(k: Any, sums: list[Any]) -> list[Any]:
                group = builder.zext(builder.load(builder.gep(group_data, [k])), I64)
                weight = broadcast(builder, builder.load(builder.gep(weight_data, [k])), vector)
                base = builder.mul(group, I64(width))
                return [
                    multiply_add(builder, total, weight, panel_data, builder.add(base, I64(lanes * t)))
                    for t, total in enumerate(sums)
                ]

            sums = accumulate(builder, low, high, zeros, add)
            store_vectors(builder, sums, out_data, offset, align=4)
            return context.get_dummy_value()

        return signature, codegen

    return dot


def _panel_tile(element: Any, lanes: int, width: int, height: int) -> Any:
    """Make the intrinsic ``tile(rows, slots, k, d, panel, start, out, offset, stride)`` for dense support vectors.

    It writes the dot products of the supports ``slots[k] .. slots[k + height - 1]``, rows of ``rows``, with the
    ``width`` rows of a panel: several supports at a time, so that a panel's values are loaded once for all of them.
    Terms are added from the first feature to the last, as in the sparse loop, where zeros add nothing: both give the
    same bits.
    """
    vector = ir.VectorType(element, lanes)
    n_vectors = width // lanes
    zeros = [ir.Constant(vector, [0.0] * lanes)] * (n_vectors * height)

    @intrinsic
    def tile(typingctx, rows, slots, k, d, panel, start, out, offset, stride):
        i64 = types.int64
        signature = types.void(rows, slots, i64, i64, panel, i64, out, i64, i64)

        def codegen(context, builder, signature, arguments):
            def data(k: int) -> Any:
                return context.make_array(signature.args[k])(context, builder, arguments[k]).data

            k, d, start, offset, stride = (arguments[i] for i in (2, 3, 5, 7, 8))
            row_data, slot_data, out_data = data(0), data(1), data(6)
            panel_data = builder.gep(data(4), [start])
            supports = []
            for i in range(height):
                slot = builder.load(builder.gep(slot_data, [builder.add(k, I64(i))]))
                supports.append(builder.gep(row_data, [builder.mul(slot, d)]))

            def add(g: Any, sums: list[Any]) -> list[Any]:
                base = builder.mul(g, I64(width))
                weights = [broadcast(builder, builder.load(builder.gep(s, [g])), vector) for s in supports]
                more = []
                for t in range(n_vectors):
                    x = load_vector(builder, vector, panel_data, builder.add(base, I64(lanes * t)), align=4)
                    more += [_fused(builder, weights[i], x, sums[t * height + i]) for i in range(height)]
                return more

            sums = accumulate(builder, I64(0), d, zeros, add)
            for i in range(height):
                first = builder.add(offset, builder.mul(I64(i), stride))
                store_vectors(builder, sums[i::height], out_data, first, align=4)
            return context.get_dummy_value()

        return signature, codegen

    return tile


_dot_int = _panel_dot(I32, 8, PANEL_WIDTH["int32"], _integer_pairs)
_dot_float = _panel_dot(ir.FloatType(), 8, PANEL_WIDTH["float32"], _real_values)
_dot_double = _panel_dot(ir.DoubleType(), 4, PANEL_WIDTH["float64"], _real_values)
_HEIGHT = 3
_tile_float = _panel_tile(ir.FloatType(), 8, PANEL_WIDTH["float32"], _HEIGHT)
_tile_double = _panel_tile(ir.DoubleType(), 4, PANEL_WIDTH["float64"], _HEIGHT)
_line_float = _panel_tile(ir.FloatType(), 8, PANEL_WIDTH["float32"], 1)
_line_double = _panel_tile(ir.DoubleType(), 4, PANEL_WIDTH["float64"], 1)
_W_INT, _W_FLOAT, _W_DOUBLE = PANEL_WIDTH["int32"], PANEL_WIDTH["float32"], PANEL_WIDTH["float64"]


@compiled
def dots_int(groups, weights, starts, slots, panels, first, last, out):
    """out[k, p*W + r] = support slots[k] times row r of panel p, for panels first..last-1."""
    stride = out.strides[0] // out.itemsize
    size = panels.shape[1]
    for p in range(first, last):
        for k in range(slots.shape[0]):
            s = slots[k]
            _dot_int(groups, weights, starts[s], starts[s + 1], panels, p * size, out, k * stride + p * _W_INT)


@compiled
def dots_float(groups, weights, starts, slots, panels, first, last, out):
    """Do the same for float32."""
    stride = out.strides[0] // out.itemsize
    size = panels.shape[1]
    for p in range(first, last):
        for k in range(slots.shape[0]):
            s = slots[k]
            _dot_float(groups, weights, starts[s], starts[s + 1], panels, p * size, out, k * stride + p * _W_FLOAT)


@compiled
def dots_double(groups, weights, starts, slots, panels, first, last, out):
    """Do the same for float64."""
    stride = out.strides[0] // out.itemsize
    size = panels.shape[1]
    for p in range(first, last):
        for k in range(slots.shape[0]):
            s = slots[k]
            _dot_double(groups, weights, starts[s], starts[s + 1], panels, p * size, out, k * stride + p * _W_DOUBLE)


@compiled
def dots_dense_float(rows, slots, panels, first, last, out):
    """Do the same for dense float32 support vectors."""
    d, size, stride = rows.shape[1], panels.shape[1], out.strides[0] // out.itemsize
    whole = slots.shape[0] // _HEIGHT * _HEIGHT
    for p in range(first, last):
        for k in range(0, whole, _HEIGHT):
            _tile_float(rows, slots, k, d, panels, p * size, out, k * stride + p * _W_FLOAT, stride)
        for k in range(whole, slots.shape[0]):
            _line_float(rows, slots, k, d, panels, p * size, out, k * stride + p * _W_FLOAT, stride)


@compiled
def dots_dense_double(rows, slots, panels, first, last, out):
    """Do the same for dense float64 support vectors."""
    d, size, stride = rows.shape[1], panels.shape[1], out.strides[0] // out.itemsize
    whole = slots.shape[0] // _HEIGHT * _HEIGHT
    for p in range(first, last):
        for k in range(0, whole, _HEIGHT):
            _tile_double(rows, slots, k, d, panels, p * size, out, k * stride + p * _W_DOUBLE, stride)
        for k in range(whole, slots.shape[0]):
            _line_double(rows, slots, k, d, panels, p * size, out, k * stride + p * _W_DOUBLE, stride)


@compiled
def translate_groups(groups, weights, starts, slots, place, new_groups, new_weights, new_starts):
    """Rewrite supports in the compact group numbers of a sparse block, leaving out groups the block does not have."""
    n = 0
    new_starts[0] = 0
    for k in range(slots.shape[0]):
        for j in range(starts[slots[k]], starts[slots[k] + 1]):
            g = place[groups[j]]
            if g >= 0:
                new_groups[n] = g
                new_weights[n] = weights[j]
                n += 1
        new_starts[k + 1] = n


@compiled
def panels_of_integers(x, width, panels):
    """Pack rows of integers into panels of feature pairs; rows and features past the end are zero."""
    n, d = x.shape
    pairs = panels.shape[1] // width
    whole = d // 2
    for p in range(panels.shape[0]):
        for r in range(width):
            row = p * width + r
            if row >= n:
                for g in range(pairs):
                    panels[p, g * width + r] = 0
                continue
            for g in range(whole):
                low = np.int32(x[row, 2 * g])
                high = np.int32(x[row, 2 * g + 1])
                panels[p, g * width + r] = (high << 16) | (low & 0xFFFF)
            if pairs > whole:
                panels[p, whole * width + r] = np.int32(x[row, d - 1]) & 0xFFFF


@compiled
def panels_of_reals(x, width, panels):
    """Pack rows of floating-point numbers into panels, one feature a group."""
    n, d = x.shape
    for p in range(panels.shape[0]):
        for r in range(width):
            row = p * width + r
            if row >= n:
                for g in range(d):
                    panels[p, g * width + r] = 0
            else:
                for g in range(d):
                    panels[p, g * width + r] = x[row, g]


@compiled
def panels_of_sparse(indptr, groups, weights, place, width, panels):
    """Pack packed sparse rows into zeroed panels over the compact groups that ``place`` numbers."""
    for row in range(indptr.shape[0] - 1):
        p = row // width
        r = row % width
        for j in range(indptr[row], indptr[row + 1]):
            panels[p, place[groups[j]] * width + r] = weights[j]


@compiled
def number_groups(groups, place):
    """Give numbers to the groups that occur, in order of first occurrence; return how many."""
    n = 0
    for j in range(groups.shape[0]):
        if place[groups[j]] < 0:
            place[groups[j]] = n
            n += 1
    return n


@compiled
def nonzero_pairs(x, starts, groups, weights):
    """List the nonzero feature pairs of dense integer rows. Returns how many; arrays must hold them all."""
    n, d = x.shape
    whole = d // 2
    k = 0
    starts[0] = 0
    for i in range(n):
        for g in range(whole):
            low = np.int32(x[i, 2 * g])
            high = np.int32(x[i, 2 * g + 1])
            if (low | high) != 0:
                groups[k] = g
                weights[k] = (high << 16) | (low & 0xFFFF)
                k += 1
        if d % 2 == 1 and x[i, d - 1] != 0:
            groups[k] = whole
            weights[k] = np.int32(x[i, d - 1]) & 0xFFFF
            k += 1
        starts[i + 1] = k
    return k


@compiled
def nonzero_values(x, starts, groups, weights):
    """List the nonzero features of dense real rows. Returns how many; arrays must hold them all."""
    n, d = x.shape
    k = 0
    starts[0] = 0
    for i in range(n):
        for g in range(d):
            if x[i, g] != 0:
                groups[k] = g
                weights[k] = x[i, g]
                k += 1
        starts[i + 1] = k
    return k


@compiled
def sparse_pairs(indptr, indices, data, starts, groups, weights):
    """List the nonzero feature pairs of CSR rows with sorted indices. Returns how many."""
    k = 0
    starts[0] = 0
    for i in range(indptr.shape[0] - 1):
        last = -1
        for j in range(indptr[i], indptr[i + 1]):
            value = np.int32(data[j])
            if value == 0:
                continue
            g = indices[j] >> 1
            if g != last:
                groups[k] = g
                weights[k] = 0
                last = g
                k += 1
            if indices[j] & 1:
                weights[k - 1] |= value << 16
            else:
                weights[k - 1] |= value & 0xFFFF
        starts[i + 1] = k
    return k


@compiled
def copy_segments(starts, groups, weights, picks, first, to_starts, to_groups, to_weights):
    """Append the picked packed rows behind row ``first`` of another packed set."""
    n = to_starts[first]
    for k in range(picks.shape[0]):
        for j in range(starts[picks[k]], starts[picks[k] + 1]):
            to_groups[n] = groups[j]
            to_weights[n] = weights[j]
            n += 1
        to_starts[first + k + 1] = n


@intrinsic
def _fma(typingctx, a, b, c):
    """Return a * b + c with one rounding, as the panel loops compute it."""

    def codegen(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, a, a), codegen


@compiled
def squares_of_rows(x, zero, out):
    """Fill in the squared length of dense real rows, summed as the panel loops sum; ``zero`` is of the type of x."""
    for i in range(x.shape[0]):
        total = zero
        for g in range(x.shape[1]):
            total = _fma(x[i, g], x[i, g], total)
        out[i] = np.float64(total)


@compiled
def squares_of_integers(x, out):
    """Squared length of dense integer rows, exact."""
    for i in range(x.shape[0]):
        total = np.int64(0)
        for g in range(x.shape[1]):
            v = np.int64(x[i, g])
            total += v * v
        out[i] = np.float64(total)


@compiled
def squares_of_sparse(indptr, data, zero, out):
    """Fill in the squared length of CSR rows, summed as the panel loops sum."""
    for i in range(indptr.shape[0] - 1):
        total = zero
        for j in range(indptr[i], indptr[i + 1]):
            total = _fma(data[j], data[j], total)
        out[i] = np.float64(total)


# ----------------------------------------------------------------------------------------------------------------------
# Training
# ----------------------------------------------------------------------------------------------------------------------


@compiled
def _add_row(row, sign, score):
    """Score += sign * row, one addition an element."""
    if sign > 0:
        for r in range(row.shape[0]):
            score[r] += row[r]
    else:
        for r in range(row.shape[0]):
            score[r] -= row[r]


@compiled
def fold(K, event_starts, first_event, n_events, classes, signs, low, high, F):
    """Add events to the scores of a block, one addition a mistake, in the order of the mistakes.

    K[k] belongs to event first_event + k, whose mistakes are event_starts[e] .. event_starts[e + 1] - 1.
    """
    for k in range(n_events):
        row = K[k, low:high]
        for j in range(event_starts[first_event + k], event_starts[first_event + k + 1]):
            _add_row(row, signs[j], F[classes[j], low:high])


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
def walk(F, codes, threshold, diagonal, start, stop, row_of, K, norm2, n_mistakes, rows, classes, scores, norms):
    """Walk a block in order and make the mistakes, until its end or a row whose kernel values are not at hand.

    Returns the row where it stopped and the number of mistakes so far. A mistake of class c at row r with label sign
    y: y F[c, r] <= threshold[r]. It is written down with the score before and the squared norm after the update, and
    y K[row_of[r]] is added to the scores of the whole block.
    """
    C = F.shape[0]
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
        for c in range(C):
            sign = 1.0 if codes[r] == c else -1.0
            score = F[c, r]
            if sign * score <= threshold[r]:
                norm2[c] = (norm2[c] + 2.0 * sign * score) + diagonal[r]
                rows[n] = r
                classes[n] = c
                scores[n] = score
                norms[n] = norm2[c]
                n += 1
                _add_row(K[k, :], sign, F[c, :])
    return stop, n


# ----------------------------------------------------------------------------------------------------------------------
# Prediction: one scan over the mistakes, for every rule
# ----------------------------------------------------------------------------------------------------------------------


class Mistakes(NamedTuple):
    """A record as loops read it: event e is the mistakes ``starts[e]`` to ``starts[e + 1] - 1``."""

    starts: Any
    vector: Any
    sign: Any
    time: Any
    norm2: Any


class Alive(NamedTuple):
    """The vectors that are alive: when each was born (0: none yet), its length, and its scores of a block's rows."""

    born: Any
    length: Any
    scores: Any


class Tallies(NamedTuple):
    """What vectors leave behind when they die; without rows where it is not wanted."""

    votes: Any
    sums: Any
    unit_sums: Any


class Captures(NamedTuple):
    """Scores of one row by the vectors alive at one time, asked for in the order of times; ``done[0]`` counts them."""

    times: Any
    rows: Any
    done: Any
    scores: Any
    unit_scores: Any


@compiled
def scan(K, first_event, n_events, mistakes, alive, tallies, captures):
    """Carry scores over events; credit each vector, when it dies, with the time steps it was alive."""
    starts, time = mistakes.starts, mistakes.time
    for k in range(n_events):
        begin, end = starts[first_event + k], starts[first_event + k + 1]
        capture(time[begin], alive, captures)
        for j in range(begin, end):
            c = mistakes.vector[j]
            if alive.born[c] > 0:
                credit(c, np.float64(time[j] - alive.born[c]), alive, tallies)
            alive.born[c] = time[j]
            alive.length[c] = math.sqrt(mistakes.norm2[j]) if mistakes.norm2[j] > 0.0 else 0.0
            _add_row(K[k], mistakes.sign[j], alive.scores[c])


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
def scan_errors(K, first_event, n_events, mistakes, n_rows, codes, F, errors):
    """Carry scores over events and count, after each event, the rows that the vectors of that moment get wrong.

    One class: wrong where the score's sign is. Several: wrong where the first largest score is another class's.
    """
    C = F.shape[0]
    for k in range(n_events):
        e = first_event + k
        for j in range(mistakes.starts[e], mistakes.starts[e + 1]):
            _add_row(K[k], mistakes.sign[j], F[mistakes.vector[j]])
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
