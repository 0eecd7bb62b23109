"""The loops of the primal engine: linear perceptrons on explicit weight vectors.

Problem: present rows x_1, x_2, ... with their classes to one perceptron a class, and keep what their average over time
needs. Input: rows one after another as lists of features and values, gathered from a CSR or dense matrix in the order
of presentation. Output: weights, changed in place.

One against the rest, y x is added to each vector where y times its score is no more than the row's threshold. Jointly
(K. Crammer and Y. Singer 2003; M. Collins 2002), where the score of the row's class exceeds the best of the others by
no more than the threshold, x is added to the vector of its class and subtracted from that other's, the lowest among
equals. A row that has a weight is added weight times.

Symbols
-------
W[j, c]      weight of feature j in the current vector v of class c: a row's features touch contiguous memory over c
U[j, c]      sum over mistakes of t s x_j, t the time of the mistake, so that the sum of v over the times 1..T,
             vectors counted from the mistake that made them on, is (T + 1) W - U: work on mistakes only
s            the step of a mistake: y, or y times the row's weight
b, ub        the same of the always-one feature, which comes last in every sum
F[c]         score of a row
thresholds   τ (‖x‖² + constant) of each row, the square a left-to-right sum, to which zeros add nothing; 0 where τ is;
             margins[c] is the τ of rows with code c
weights      of each row; of length 0 where there are none

A score is the left-to-right sum over the row's values that are not zero of weight times value, a multiplication and an
addition each, in float64, whatever type the data have: the same bits for dense and sparse rows, and for any sharing of
classes between threads. With one vector there are no other classes to sum for while an addition is under way, so there
the sum has four parts: values 0, 4, 8, ... of the row, values 1, 5, 9, ..., and so on. (On real data a zero that is
written down in a CSR matrix therefore may change the last bit of a score; integers have no rounding.)
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from votron._loops._llvm import I64, accumulate, broadcast, compiled, load_vector, store_vectors

LANES = 8
"""Classes come in groups of this many: 64 bytes of weights, a cache line."""
_WIDE = 32
_SOON = 4
"""Rows that are prefetched ahead of the one being read."""
_LINE = 64
_AHEAD = 256
"""Values that are prefetched ahead of the one being read."""
_ONE, _TWO, _THREE, _FOUR, _EIGHT = (np.uint64(n) for n in (1, 2, 3, 4, 8))  # no test for negative places


def _row_scores(width):
    """Make the intrinsic that scores a row under ``width`` classes at once, the sums held in registers.

    ``score(features, values, low, high, W, first, F)`` writes to ``F[first + c]`` the sum over k in [low, high) of
    ``values[k] * W[features[k], first + c]``.
    """
    vector = ir.VectorType(ir.DoubleType(), 4)
    zeros = [ir.Constant(vector, [0.0] * 4)] * (width // 4)

    @intrinsic
    def score(typingctx, features, values, low, high, W, first, F):
        i64 = types.int64
        signature = types.void(features, values, i64, i64, W, i64, F)

        def codegen(context, builder, signature, arguments):
            def array(k):
                return context.make_array(signature.args[k])(context, builder, arguments[k])

            low, high, first = arguments[2], arguments[3], arguments[5]
            feature_data, value_data, out_data = array(0).data, array(1).data, array(6).data
            stride = builder.extract_value(array(4).shape, 1)
            weights = builder.gep(array(4).data, [first])

            def add(k, sums):
                feature = builder.zext(builder.load(builder.gep(feature_data, [k])), I64)
                x = broadcast(builder, builder.load(builder.gep(value_data, [k])), vector)
                line = builder.gep(weights, [builder.mul(feature, stride)])
                more = [load_vector(builder, vector, line, I64(4 * t), align=8) for t in range(len(sums))]
                return [builder.fadd(total, builder.fmul(x, w)) for total, w in zip(sums, more, strict=True)]

            sums = accumulate(builder, low, high, zeros, add)
            store_vectors(builder, sums, out_data, first, align=8)
            return context.get_dummy_value()

        return signature, codegen

    return score


_score_wide, _score_narrow = _row_scores(_WIDE), _row_scores(LANES)


@intrinsic
def _prefetch(typingctx, array, position):
    """Ask for the cache line of ``array[position]``, which need not exist."""
    signature = types.void(array, types.int64)

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        function = builder.module.globals.get("llvm.prefetch.p0i8") or ir.Function(
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return signature, codegen


@compiled
def _prefetch_row(indptr, array, row):
    """Ask for a row that comes soon: rows in shuffled order are nothing that the processor could foresee."""
    for k in range(indptr[row], indptr[row + 1], _LINE // array.itemsize):
        _prefetch(array, k)


@compiled
def _copy(source, first, length, target, start):
    for k in range(np.uint64(length)):
        target[np.uint64(start) + k] = source[np.uint64(first) + k]


@compiled
def gather_sparse(indptr, indices, data, rows, low, high, starts, features, values):
    """Copy the CSR rows ``rows[low:high]`` to where they start."""
    for i in range(low, high):
        if i + _SOON < high:
            _prefetch_row(indptr, indices, rows[i + _SOON])
            _prefetch_row(indptr, data, rows[i + _SOON])
        first = indptr[rows[i]]
        length = indptr[rows[i] + 1] - first
        _copy(indices, first, length, features, starts[i])
        _copy(data, first, length, values, starts[i])


@compiled
def gather_dense(x, rows, low, high, starts, stops, features, values):
    """Copy the nonzero values of dense rows to where they start, and which features they are of; say where they end."""
    for i in range(low, high):
        n = starts[i]
        for j in range(x.shape[1]):
            features[n] = j
            values[n] = x[rows[i], j]
            n += x[rows[i], j] != 0  # no branch: where zeros are is nothing that the processor could foresee
        stops[i] = n


@compiled
def set_thresholds(starts, stops, values, codes, low, high, margins, constant, thresholds):
    """Write down by how much the rows low..high-1 have to be right."""
    for i in range(low, high):
        total = 0.0
        for k in range(np.uint64(starts[i]), np.uint64(stops[i])):
            total += values[k] * values[k]
        thresholds[i] = margins[codes[i]] * (total + constant)


@compiled
def _scores(features, values, begin, end, low, high, W, F):
    """Score a row under the vectors low..high-1."""
    c = low
    while c + _WIDE <= high:
        _score_wide(features, values, begin, end, W, c, F)
        c += _WIDE
    while c < high:
        _score_narrow(features, values, begin, end, W, c, F)
        c += LANES


@compiled
def _add(features, values, begin, end, step, time, bias, c, W, U, b, ub, mistakes):
    """Add a row, times ``step``, to the vector of class c."""
    timed = step * time
    for k in range(np.uint64(begin), np.uint64(end)):
        j = features[k]
        W[j, c] += step * values[k]
        U[j, c] += timed * values[k]
    if bias:
        b[c] += step
        ub[c] += timed
    mistakes[c] += 1


@compiled
def walk_many(
    starts, stops, features, values, codes, thresholds, weights, time, bias, low, high, n_vectors, W, U, b, ub, mistakes
):
    """Present rows to the vectors low..high-1, multiples of LANES; return the number of the last wrong row, or -1."""
    F = np.empty(W.shape[1])
    weighted = weights.shape[0] > 0
    last = -1
    for i in range(starts.shape[0]):
        begin, end = starts[i], stops[i]
        _scores(features, values, begin, end, low, high, W, F)
        for c in range(low, min(high, n_vectors)):
            y = 1.0 if codes[i] == c else -1.0
            if y * (F[c] + b[c]) <= thresholds[i]:
                step = y * weights[i] if weighted else y
                _add(features, values, begin, end, step, time + i + 1, bias, c, W, U, b, ub, mistakes)
                last = i
    return last


@compiled
def walk_joint(
    starts, stops, features, values, codes, thresholds, weights, time, bias, n_vectors, W, U, b, ub, mistakes
):
    """Present rows to all vectors as one; return the number of the last wrong row, or -1."""
    F = np.empty(W.shape[1])
    weighted = weights.shape[0] > 0
    last = -1
    for i in range(starts.shape[0]):
        begin, end, own = starts[i], stops[i], codes[i]
        _scores(features, values, begin, end, 0, W.shape[1], W, F)
        other = 1 if own == 0 else 0
        for c in range(n_vectors):
            F[c] += b[c]
            if c != own and F[c] > F[other]:
                other = c
        if F[own] - F[other] <= thresholds[i]:
            step = weights[i] if weighted else 1.0
            _add(features, values, begin, end, step, time + i + 1, bias, own, W, U, b, ub, mistakes)
            _add(features, values, begin, end, -step, time + i + 1, bias, other, W, U, b, ub, mistakes)
            last = i
    return last


@compiled
def _four_sums(features, values, begin, end, w):
    s0 = s1 = s2 = s3 = 0.0
    whole = begin + (end - begin) // _FOUR * _FOUR
    for k in range(begin, whole, _FOUR):
        if (k - begin) % _EIGHT == 0:  # a cache line of values; the processor alone asks for it too late
            _prefetch(values, np.int64(k) + _AHEAD)
            _prefetch(features, np.int64(k) + _AHEAD)
        s0 += values[k] * w[features[k]]
        s1 += values[k + _ONE] * w[features[k + _ONE]]
        s2 += values[k + _TWO] * w[features[k + _TWO]]
        s3 += values[k + _THREE] * w[features[k + _THREE]]
    if whole < end:
        s0 += values[whole] * w[features[whole]]
    if whole + _ONE < end:
        s1 += values[whole + _ONE] * w[features[whole + _ONE]]
    if whole + _TWO < end:
        s2 += values[whole + _TWO] * w[features[whole + _TWO]]
    return (s0 + s1) + (s2 + s3)


@compiled
def walk_one(starts, stops, features, values, codes, thresholds, weights, time, bias, w, u, b, ub, mistakes):
    """Present rows to the one vector of a two-class problem; return the number of the last wrong row, or -1."""
    weighted = weights.shape[0] > 0
    last = -1
    for i in range(starts.shape[0]):
        begin, end = np.uint64(starts[i]), np.uint64(stops[i])
        y = 1.0 if codes[i] == 0 else -1.0
        if y * (_four_sums(features, values, begin, end, w) + b[0]) <= thresholds[i]:
            step = y * weights[i] if weighted else y
            timed = step * (time + i + 1)
            for k in range(begin, end):
                w[features[k]] += step * values[k]
                u[features[k]] += timed * values[k]
            if bias:
                b[0] += step
                ub[0] += timed
            mistakes[0] += 1
            last = i
    return last


@compiled
def note_many(starts, stops, features, values, codes, constant, low, high, n_vectors, W, b, rows, vectors, scores):
    """Present rows to the vectors low..high-1; note row, vector and score of each mistake, and return how many."""
    F = np.empty(W.shape[1])
    n = 0
    for i in range(starts.shape[0]):
        begin, end = starts[i], stops[i]
        _scores(features, values, begin, end, low, high, W, F)
        for c in range(low, min(high, n_vectors)):
            y = 1.0 if codes[i] == c else -1.0
            score = F[c] + constant * b[c]
            if y * score <= 0.0:
                for k in range(np.uint64(begin), np.uint64(end)):
                    W[features[k], c] += y * values[k]
                b[c] += y
                rows[n], vectors[n], scores[n] = i, c, score
                n += 1
    return n


@compiled
def note_one(starts, stops, features, values, codes, constant, w, b, rows, vectors, scores):
    """Present rows to the one vector of a two-class problem; note its mistakes, and return how many."""
    n = 0
    for i in range(starts.shape[0]):
        begin, end = np.uint64(starts[i]), np.uint64(stops[i])
        y = 1.0 if codes[i] == 0 else -1.0
        score = _four_sums(features, values, begin, end, w) + constant * b[0]
        if y * score <= 0.0:
            for k in range(begin, end):
                w[features[k]] += y * values[k]
            b[0] += y
            rows[n], vectors[n], scores[n] = i, 0, score
            n += 1
    return n
