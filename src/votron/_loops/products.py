"""The loops of dot products: lists of nonzero features, or tiles of dense rows, times panels of rows.

A **panel** holds W rows of a block, group by group: ``panel[g * W + r]`` is feature group g of row r. A group is one
feature of real data, two neighbouring ones of 16-bit integers (a pair), or four of bytes (a quad); integer groups fill
an int32. The type of the panels says which:

=======  ===========================================================================================================
int8     quads: values from 0 to 255, the panel's shifted down by 128, since the instruction needs one signed side;
         128 Σ w, which the support vector brings along as its ``offset``, shifts the sum back
int16    pairs
float32  one feature, added by a fused multiplication and addition
float64  the same
=======  ===========================================================================================================

**Lists**: a support vector is the list of its nonzero groups; one pass over it accumulates W products in registers, so
that zeros cost nothing. **Tiles**: several dense support vectors at a time, so that a panel's values are loaded once
for all of them. Which is faster depends on the share of zeros: see `votron.products`.

Integer sums are exact: they wrap, and what they come to fits 32 bits. Real sums run from the first feature to the last
in both forms, and zeros add nothing: the same bits. Both are written in LLVM's own vector types, because accumulators
must stay in registers, which no plain loop ensures; how wide, and how many, `SHAPES` derives from the processor that
numba compiles for. Only quads name an instruction of a processor, where it is there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from votron._loops._llvm import (
    I8,
    I16,
    I32,
    I64,
    TARGET_FEATURES,
    accumulate,
    broadcast,
    compiled,
    load_vector,
    store_vectors,
)

BLOCK_MULTIPLE = 64
"""Block widths are padded to a multiple of this, which every panel width divides."""
QUAD_SHIFT = 128
"""The amount subtracted from the values of a panel of quads."""


class Shape(NamedTuple):
    """The width of panels and the number of support vectors at a time, so that registers are filled and none spills."""

    lanes: int
    list_width: int
    tile_width: int
    tile_height: int


_WIDE = "avx512bw" in TARGET_FEATURES


def _shape(kind: str) -> Shape:
    """Return the shape of one kind of panels.

    With AVX-512 there are 32 registers of 512 bits: four vectors of rows, six supports. Else 16 of 256 bits are
    assumed, which other processors make of what they have.
    """
    lanes = (512 if _WIDE else 256) // (64 if kind == "float64" else 32)
    if _WIDE:
        return Shape(lanes, 4 * lanes, 4 * lanes, 6)
    if kind.startswith("int"):  # products stand in a register before they are added
        return Shape(lanes, 8 * lanes, 2 * lanes, 5)
    return Shape(lanes, 4 * lanes, 2 * lanes, 6)


SHAPES = {kind: _shape(kind) for kind in ("int8", "int16", "float32", "float64")}
"""The shape of each kind of panels (the name of their type) on the processor that numba compiles for."""
HAS_QUADS = ("avx512vnni" if _WIDE else "avxvnni") in TARGET_FEATURES
"""Whether the processor multiplies bytes four at a time, without saturation (VNNI)."""


def _quads(builder, weight, x, total):
    """Add the four products of unsigned and signed bytes, in exact 32-bit arithmetic."""
    n = total.type.count
    if HAS_QUADS:
        return _call(builder, f"llvm.x86.avx512.vpdpbusd.{32 * n}", total.type, [total, weight, x])
    # Nobody chooses quads then; the tests compare with this.
    bytes_, wide = ir.VectorType(I8, 4 * n), ir.VectorType(I32, 4 * n)
    product = builder.mul(
        builder.zext(builder.bitcast(weight, bytes_), wide), builder.sext(builder.bitcast(x, bytes_), wide)
    )
    for k in range(4):
        total = builder.add(total, _every(builder, product, k, 4))
    return total


def _pairs(builder, weight, x, total):
    """Add the two products of signed 16-bit halves, in exact 32-bit arithmetic: one instruction, found by LLVM."""
    n = total.type.count
    halves, wide = ir.VectorType(I16, 2 * n), ir.VectorType(I32, 2 * n)
    product = builder.mul(
        builder.sext(builder.bitcast(weight, halves), wide), builder.sext(builder.bitcast(x, halves), wide)
    )
    return builder.add(total, builder.add(_every(builder, product, 0, 2), _every(builder, product, 1, 2)))


def _every(builder, vector, first, step):
    """Return each ``step``-th number of a vector, from the first on."""
    lanes = list(range(first, vector.type.count, step))
    places = ir.Constant(ir.VectorType(I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places)


def _fused(builder, weight, x, total):
    """Add the product with one rounding, the same on every processor (an instruction on all of the last ten years)."""
    bits = 32 if isinstance(total.type.element, ir.FloatType) else 64
    return _call(builder, f"llvm.fma.v{total.type.count}f{bits}", total.type, [weight, x, total])


def _call(builder, name, kind, arguments):
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(arguments)), name)
    return builder.call(function, arguments)


_STEPS = {
    "int8": (_quads, I32),
    "int16": (_pairs, I32),
    "float32": (_fused, ir.FloatType()),
    "float64": (_fused, ir.DoubleType()),
}
"""By the type of panels: one step, and the type of sums and groups."""


class _Code:
    """The common beginning of both intrinsics: the data of their arrays, and the kind of the panels."""

    def __init__(self, context, builder, signature, arguments, panels):
        self.context, self.builder, self.signature, self.arguments = context, builder, signature, arguments
        kind = str(signature.args[panels].dtype)
        self.shape = SHAPES[kind]
        self.step, self.element = _STEPS[kind]
        self.vector = ir.VectorType(self.element, self.shape.lanes)

    def data(self, k):
        """Return the address of an array's numbers."""
        array = self.context.make_array(self.signature.args[k])(self.context, self.builder, self.arguments[k])
        return array.data

    def panel(self, k, start):
        """Return the address of a panel's groups."""
        return self.builder.gep(self.builder.bitcast(self.data(k), self.element.as_pointer()), [start])

    def rows(self, panel, group, width):
        """Load one group of a panel's rows."""
        base = self.builder.mul(group, I64(width))
        return [
            load_vector(self.builder, self.vector, panel, self.builder.add(base, I64(at)), align=4)
            for at in range(0, width, self.shape.lanes)
        ]

    def spread(self, data, index):
        """Return a number of an array in all lanes."""
        return broadcast(self.builder, self.builder.load(self.builder.gep(data, [index])), self.vector)


@intrinsic
def _list_times_panel(typingctx, groups, weights, low, high, offsets, slot, panels, start, out, at):
    """Fill ``out[at + r]`` with ``offsets[slot]`` plus the products of groups low..high-1 and row r of a panel."""
    i64 = types.int64
    signature = types.void(groups, weights, i64, i64, offsets, i64, panels, i64, out, i64)

    def codegen(context, builder, signature, arguments):
        code = _Code(context, builder, signature, arguments, panels=6)
        low, high, slot, start, at = (arguments[k] for k in (2, 3, 5, 7, 9))
        group_data, weight_data, panel = code.data(0), code.data(1), code.panel(6, start)

        def add(k, sums):
            group = builder.zext(builder.load(builder.gep(group_data, [k])), I64)
            weight, rows = code.spread(weight_data, k), code.rows(panel, group, code.shape.list_width)
            return [code.step(builder, weight, x, total) for x, total in zip(rows, sums, strict=True)]

        begin = [code.spread(code.data(4), slot)] * (code.shape.list_width // code.shape.lanes)
        store_vectors(builder, accumulate(builder, low, high, begin, add), code.data(8), at, align=4)
        return context.get_dummy_value()

    return signature, codegen


def _tile_times_panel(height):
    """Make the intrinsic that multiplies so many supports with a panel; None: as many as the shape has."""

    @intrinsic
    def tile(typingctx, rows, n_groups, offsets, slots, k, panels, start, out, at, stride):
        """Fill ``out[at + i stride + r]`` with the product of support ``slots[k + i]`` and row r of a panel."""
        i64 = types.int64
        signature = types.void(rows, i64, offsets, slots, i64, panels, i64, out, i64, i64)

        def codegen(context, builder, signature, arguments):
            code = _Code(context, builder, signature, arguments, panels=5)
            n_groups, k, start, at, stride = (arguments[i] for i in (1, 4, 6, 8, 9))
            width, panel = code.shape.tile_width, code.panel(5, start)
            row_data, offset_data, slot_data = code.data(0), code.data(2), code.data(3)
            supports, begin = [], []
            for i in range(height or code.shape.tile_height):
                slot = builder.load(builder.gep(slot_data, [builder.add(k, I64(i))]))
                supports.append(builder.gep(row_data, [builder.mul(slot, n_groups)]))
                begin += [code.spread(offset_data, slot)] * (width // code.shape.lanes)

            def add(g, sums):
                x = code.rows(panel, g, width)
                more: list[Any] = []
                for support in supports:
                    weight = code.spread(support, g)
                    more += [
                        code.step(builder, weight, value, total)
                        for value, total in zip(x, sums[len(more) : len(more) + len(x)], strict=True)
                    ]
                return more

            sums = accumulate(builder, I64(0), n_groups, begin, add)
            each = width // code.shape.lanes
            for i in range(len(supports)):
                first = builder.add(at, builder.mul(I64(i), stride))
                store_vectors(builder, sums[i * each : (i + 1) * each], code.data(7), first, align=4)
            return context.get_dummy_value()

        return signature, codegen

    return tile


_whole_tile, _one_row = _tile_times_panel(None), _tile_times_panel(1)


@compiled
def dots_of_lists(groups, weights, starts, offsets, slots, panels, n_groups, width, first, last, out):
    """out[k, p*W + r] = support slots[k] times row r of panel p, for panels first..last-1."""
    stride = out.strides[0] // out.itemsize
    for p in range(first, last):
        for k in range(slots.shape[0]):
            s = slots[k]
            _list_times_panel(
                groups, weights, starts[s], starts[s + 1], offsets, s, panels, p * n_groups * width,
                out, k * stride + p * width,
            )  # fmt: skip


@compiled
def dots_of_tiles(rows, offsets, slots, panels, width, height, first, last, out):
    """Do the same for dense support vectors, rows of ``rows``."""
    n_groups, stride = rows.shape[1], out.strides[0] // out.itemsize
    whole = slots.shape[0] // height * height
    for p in range(first, last):
        start = p * n_groups * width
        for k in range(0, whole, height):
            _whole_tile(rows, n_groups, offsets, slots, k, panels, start, out, k * stride + p * width, stride)
        for k in range(whole, slots.shape[0]):
            _one_row(rows, n_groups, offsets, slots, k, panels, start, out, k * stride + p * width, stride)


@compiled
def panels_of_rows(groups, width, padding, panels):
    """Lay rows of groups out as panels; rows past the end are padding."""
    n = groups.shape[0]
    for p in range(panels.shape[0]):
        rows = max(0, min(width, n - p * width))
        for g in range(groups.shape[1]):
            for r in range(rows):
                panels[p, g * width + r] = groups[p * width + r, g]
            for r in range(rows, width):
                panels[p, g * width + r] = padding


@compiled
def panels_of_sparse(indptr, groups, weights, place, width, panels):
    """Lay lists of groups out as zeroed panels, over the compact groups that ``place`` numbers."""
    for row in range(indptr.shape[0] - 1):
        p = row // width
        r = row % width
        for j in range(indptr[row], indptr[row + 1]):
            panels[p, place[groups[j]] * width + r] = weights[j]


@compiled
def lists_of_rows(rows, starts, groups, weights):
    """List the nonzero groups of rows of groups. Returns how many; arrays must hold them all."""
    k = 0
    starts[0] = 0
    for i in range(rows.shape[0]):
        for g in range(rows.shape[1]):
            if rows[i, g] != 0:
                groups[k] = g
                weights[k] = rows[i, g]
                k += 1
        starts[i + 1] = k
    return k


@compiled
def lists_of_sparse_pairs(indptr, indices, data, starts, groups, weights):
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
def number_groups(groups, place):
    """Give numbers to the groups that occur, in order of first occurrence; return how many."""
    n = 0
    for j in range(groups.shape[0]):
        if place[groups[j]] < 0:
            place[groups[j]] = n
            n += 1
    return n


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
def copy_segments(starts, groups, weights, picks, first, to_starts, to_groups, to_weights):
    """Append the picked lists behind list ``first`` of another set."""
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
