"""Kernel values of support vectors with one block of rows, from a cache of dot products as far as it goes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron.kernels import Kernel
from votron.products import Block, Floats, Index, Products, Rows, Store


class KernelBlock:
    """One block of rows, packed only when a product with it is asked for.

    Parameters
    ----------
    kernel, products : Kernel, Products
        The kernel and its arithmetic.
    X, rows : matrix, int array
        The block is these rows of X.
    own : float array of shape (n_terms, width)
        The kernel's terms of the rows.
    cache : array of shape (n_cached, width)
        Room for the dot products of the first ``n_cached`` supports, of which ``held`` are there. Supports are numbered in order of
        their first mistake and asked for in that order, so what is held is always a beginning.
    """

    def __init__(
        self, kernel: Kernel, products: Products, X: Rows, rows: Index, own: Floats, cache: NDArray[Any], held: int = 0
    ) -> None:
        self.kernel, self.products, self.own = kernel, products, own
        self.cache, self.held = cache, held
        self.ready = False
        self._X, self._rows = X, rows
        self._block: Block | None = None

    @property
    def block(self) -> Block:
        """The packed rows."""
        if self._block is None:
            self._block = self.products.block(self._X, self._rows)
        return self._block

    def covers(self, n_support: int) -> bool:
        """Tell whether the values of all supports can be had without a product, or without packing; else make room to pack."""
        if self.ready or self.held >= n_support:
            return True
        self.block  # noqa: B018  made here, before threads share it
        return False

    def prepare(self, low: int, high: int) -> None:
        """Pack rows low..high-1."""
        self.block.prepare(low, high)

    def values(self, store: Store, slots: Index, terms: Floats, low: int, high: int, held: int, K: Floats) -> int:
        """Fill ``K[k, low:high]`` with the kernel values of supports ``slots``; return how many slots the cache now holds there.

        Products that are missing from the cache are made, and kept where there is room.
        """
        n_cached = len(self.cache)
        top = min(int(slots.max()) + 1, n_cached)
        if top > held:
            self.products.dots(store, np.arange(held, top), self.block, low, high, self.cache[held:top])
            held = top
        inside = slots < n_cached
        if inside.all():
            dots, source = self.cache, slots
        else:
            dots, source = self._mixed(store, slots, inside, low, high), np.arange(len(slots))
        self.kernel.from_dots(dots, source, low, high, terms, self.own, K)
        return held

    def _mixed(self, store: Store, slots: Index, inside: NDArray[np.bool_], low: int, high: int) -> NDArray[Any]:
        """Return dot products of supports that are not all in the cache."""
        dots = np.empty((len(slots), self.own.shape[1]), dtype=self.products.dtype)
        outside = np.flatnonzero(~inside)
        if len(outside) == len(slots):
            self.products.dots(store, slots, self.block, low, high, dots)
            return dots
        part = np.empty((len(outside), dots.shape[1]), dtype=dots.dtype)
        self.products.dots(store, slots[outside], self.block, low, high, part)
        dots[outside, low:high] = part[:, low:high]
        dots[inside, low:high] = self.cache[slots[inside], low:high]
        return dots
