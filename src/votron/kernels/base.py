"""The base class of kernels, and the kernels by name.

A new kernel is a frozen dataclass derived from `Kernel`: its fields are its parameters, ``formula`` defines it, and
`register_kernel` makes it available by name. It overrides what it can do faster, such as its values by compiled
``steps``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import cfunc, types

from votron._loops import dual as _loops
from votron._util.registry import Registry
from votron._util.resources import chunks
from votron._util.types import Array, Floats, Index, Rows, RowsLike
from votron.errors import IndefiniteKernelError, NotRepresentableError, VotronError
from votron.products import Products, Store, Traits, choose_products, describe

_NUMBERS = types.CPointer(types.float64)
_ROW_LOOP = types.void(_NUMBERS, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, types.int64, _NUMBERS)
Term = Any
"""An operand of a formula: a number, an array, or a part of an expression to be exported."""


def as_rows(X: RowsLike) -> Rows:
    """Return a CSR matrix with sorted indices or a 2-d array."""
    if sp.issparse(X):
        X = sp.csr_matrix(X) if X.format != "csr" else X
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise VotronError(
            f"A kernel takes matrices with one example a row. Got an array of {X.ndim} dimension(s) instead."
        )
    return X


class RowLoop:
    """A loop ``f(row, n, parameters, theirs, own, stride, spare)`` that changes a row of n numbers in place.

    It stands for one step from dot products to kernel values. ``parameters`` are the kernel's own; ``theirs[t]`` is
    term t of the support vector and ``own[t * stride + r]`` that of the r-th number's row (see `Kernel.terms`);
    ``spare`` is room for n numbers. It is compiled when it is first used, and must not raise, as the exception would
    be lost.

    Examples
    --------
    >>> import numpy as np
    >>> @RowLoop
    ... def double(row, n, parameters, theirs, own, stride, spare):
    ...     for r in range(n):
    ...         row[r] = 2.0 * row[r]
    >>> double.address > 0
    True
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self._function, self._lock = function, threading.Lock()
        self._compiled: Any = None

    @property
    def address(self) -> int:
        """The address of the compiled code."""
        with self._lock:  # the code is there as long as what was compiled is held: it must not be made twice
            if self._compiled is None:
                try:
                    self._compiled = cfunc(_ROW_LOOP, cache=True, error_model="numpy")(self._function)
                except RuntimeError:  # nowhere to keep it
                    self._compiled = cfunc(_ROW_LOOP, error_model="numpy")(self._function)
            return int(self._compiled.address)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowLoop, (self._function,)


class Step(NamedTuple):
    """One step from dot products to kernel values: a `RowLoop`, its parameters, and how many terms it reads.

    Steps read the kernel's terms one after another, and in all as many as there are.

    Examples
    --------
    >>> from votron.kernels import PolynomialKernel
    >>> [step.parameters for step in PolynomialKernel(4).steps()]  # gamma, coef0, degree
    [(1.0, 1.0, 4.0)]
    """

    loop: RowLoop
    parameters: tuple[float, ...] = ()
    n_terms: int = 0


class Kernel:
    """The base class of kernels, which are immutable, compare by value, and are called on two matrices of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.kernels import PolynomialKernel
    >>> kernel = PolynomialKernel(degree=2)
    >>> kernel(np.array([[1, 0], [2, 1]]), np.array([[3, 1]]))
    array([[16.],
           [64.]])
    >>> kernel.diag(np.array([[1, 0], [2, 1]]))
    array([ 4., 36.])
    """

    name: ClassVar[str] = ""
    """Its name for users, model files and the command line; without one it cannot be registered."""
    words: ClassVar[str] = ""
    """The formula for help texts."""
    search: ClassVar[dict[str, list[Any]]] = {}
    """Values of its parameters for searches to try, likely ones first."""
    n_terms: ClassVar[int] = 1
    """The numbers per row that ``terms`` returns."""
    needs_distance: ClassVar[bool] = False
    """Whether dot products are subtracted, so that they must be accurate."""
    reads_features: ClassVar[bool] = True
    """Whether it works on features, and not on given kernel values."""
    takes_reals: ClassVar[bool] = True
    """Whether it is defined for all real dot products, and so can be composed with another kernel."""
    pairwise: ClassVar[bool] = False
    """Whether the data are the kernel values themselves."""
    unit_length: ClassVar[bool] = False
    """Whether K(x, x) is the same for every x except those of length 0."""

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names of its parameters; estimators pass those that they share."""
        return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        """Return K(x, z) from x·z, x·x and z·z, which may be parts of an expression: ``np.where`` instead of ``if``."""
        raise VotronError(f"{self!r} is no formula of dot products.")

    def affine(self) -> tuple[float, float] | None:
        """Return a and b of a kernel a x·z + b, whose vectors are weights, or None."""
        return None

    @property
    def innermost(self) -> Kernel:
        """The innermost of composed kernels, or the kernel itself."""
        return self

    def __call__(self, X: RowsLike, Y: RowsLike = None) -> Floats:
        """Return the kernel values of each row of X with each row of Y (X itself by default)."""
        X = as_rows(X)
        Y = X if Y is None else as_rows(Y)
        self.check(X)
        self.check(Y)
        if X.shape[1] != Y.shape[1]:
            raise VotronError(
                f"Kernel values need rows of the same length. Got {X.shape[1]} and {Y.shape[1]} features."
            )
        products = self.products_for(X, Y)
        store = products.pack(X, np.arange(X.shape[0]))
        mine, theirs = self.terms(products.squares(X)), self.terms(products.squares(Y))
        out = np.empty((X.shape[0], Y.shape[0]))
        for part in chunks(Y.shape[0], 512):
            rows = np.arange(part.start, part.stop)
            out[:, part] = self.block_values(products, store, mine, Y, rows, theirs[:, part])
        return self.finite(out)

    def block_values(
        self, products: Products, store: Store, terms: Floats, X: Rows, rows: Index, own: Floats
    ) -> Floats:
        """Return the kernel values of all supports of a store with rows of X, given this kernel's terms of both."""
        slots = np.arange(store.n)
        block = products.block(X, rows)
        block.prepare(0, block.width)
        dots = np.zeros((store.n, block.width), dtype=products.dtype)
        products.dots(store, slots, block, 0, block.width, dots)
        padded_own = np.zeros((len(own), block.width))
        padded_own[:, : block.n_rows] = own
        out = np.empty((store.n, block.width))
        self.from_dots(dots, slots, 0, block.width, terms, padded_own, out)
        return out[:, : block.n_rows]

    def finite(self, values: Floats) -> Floats:
        """Return the values if all are finite, or raise."""
        if not np.isfinite(values).all():
            raise NotRepresentableError(
                f"{self!r} exceeds the largest float64 on these data: lower the degree, "
                "or scale the data or gamma down."
            )
        return values

    def diag(self, X: RowsLike) -> Floats:
        """Return K(x, x) for each row of X."""
        X = as_rows(X)
        self.check(X)
        return self.finite(self.diagonal(self.products_for(X).squares(X)))

    def products_for(self, *matrices: Rows) -> Products:
        """Return the arithmetic for this kernel's dot products between these matrices."""
        return self.products(functools.reduce(Traits.joined, map(self.traits, matrices)))

    def traits(self, X: Rows) -> Traits:
        """Return the traits of X that decide the arithmetic."""
        if not self.reads_features:
            return Traits(False, 0.0, 0.0, 1.0, False, np.dtype(np.float64), X.shape[1])
        return describe(X)

    def products(self, traits: Traits) -> Products:
        """Return the arithmetic for this kernel's dot products on such data."""
        return choose_products(traits, needs_distance=self.needs_distance)

    def suited_to(self, X: Rows) -> Kernel:
        """Return this kernel with the arithmetic that suits these rows, if there is a choice."""
        return self

    def still_suited_to(self, X: Rows) -> Kernel:
        """Return this kernel with an arithmetic that also suits further rows."""
        return self

    def check(self, X: Rows) -> None:
        """Raise if the kernel cannot be used on these data."""

    def terms(self, squares: Floats) -> Floats:
        """Return the numbers that the kernel needs of each row beside dot products, from x·x: one row per term."""
        return np.array(squares, dtype=np.float64)[None, :][: self.n_terms]

    def diagonal(self, squares: Floats) -> Floats:
        """Return K(x, x) from x·x."""
        squares = np.asarray(squares, dtype=np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(self.formula(squares, squares, squares), dtype=np.float64) + np.zeros_like(squares)

    def from_dots(
        self, dots: Array, source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Fill ``out[k, low:high]`` from ``dots[source[k], low:high]``, the terms of each k, and each row's own."""
        if (pending := pending_values(self, dots, source, terms, own)) is not None:
            _loops.kernel_rows(pending, low, high, np.empty(high - low), out)
            return
        xz = dots[source, low:high].astype(np.float64)
        with np.errstate(all="ignore"):  # what stands behind the last row of a block is of no account
            out[: len(source), low:high] = self.formula(xz, own[0][None, low:high], terms[0][:, None])

    def steps(self) -> tuple[Step, ...] | None:
        """Return the compiled loops that turn dot products into kernel values, or None to evaluate ``formula``."""
        return None

    def bound(self, largest_square: float) -> float:
        """Return an upper bound on |K(x, z)| while x·x, z·z ≤ ``largest_square`` (inf: beyond float64)."""
        with np.errstate(over="ignore"):
            return float(self.diagonal(np.array([largest_square]))[0])

    def of(self, inner: Kernel) -> Kernel:
        """Return this kernel over the feature space of another: x·z becomes ``inner``'s K(x, z)."""
        from votron.kernels.composed import ComposedKernel

        return ComposedKernel(self, inner)


def pending_values(kernel: Kernel, dots: Array, source: Index, terms: Floats, own: Floats) -> _loops.Pending | None:
    """Return the kernel values of ``from_dots`` for compiled loops to compute, or None if the kernel has no steps."""
    steps = kernel.steps()
    if steps is None:
        return None
    if (n_terms := sum(step.n_terms for step in steps)) != kernel.n_terms:
        raise VotronError(
            f"The steps of {kernel!r} must read as many terms as it has: {kernel.n_terms}. Got {n_terms} instead."
        )
    placed = _loops.Steps(*_addresses(steps), np.ascontiguousarray(terms.T), np.ascontiguousarray(own))
    return _loops.Pending(dots, source, placed)


def values_as_pending(K: Floats) -> _loops.Pending:
    """Return given kernel values in the form of values that are still to be computed."""
    return _loops.Pending(K, np.arange(len(K)), _loops.Steps(*_addresses(()), np.empty((0, 0)), np.empty((0, 0))))


@functools.lru_cache(maxsize=64)  # keeps the steps themselves, and so the code at their addresses
def _addresses(steps: tuple[Step, ...]) -> tuple[Index, Floats, Index]:
    """Return the addresses of steps, their parameters, and the first term that each reads."""
    parameters = np.zeros((len(steps), max([1, *(len(step.parameters) for step in steps)])))
    for row, step in zip(parameters, steps, strict=True):
        row[: len(step.parameters)] = step.parameters
    first_term = np.cumsum([0, *(step.n_terms for step in steps)])[:-1]
    return np.array([step.loop.address for step in steps], dtype=np.int64), parameters, first_term


class ValueKernel(Kernel):
    """A kernel whose values are the products themselves, whatever makes the products."""

    n_terms: ClassVar[int] = 0

    def diagonal(self, squares: Floats) -> Floats:
        return np.array(squares, dtype=np.float64)

    def steps(self) -> tuple[Step, ...]:
        return ()


def negative_diagonal(kernel: Kernel, diagonal: Floats) -> IndefiniteKernelError:
    """Return the error for a kernel with K(x, x) < 0."""
    i = int(np.argmin(diagonal))
    return IndefiniteKernelError(
        f"{kernel!r} is not positive semi-definite on these data: K(x, x) must not be negative. "
        f"Got {diagonal[i]:g} for row {i} instead."
    )


def check_number(kernel: Kernel, name: str, least: float = -math.inf) -> None:
    """Raise unless a parameter is a number, and at least ``least``."""
    value = getattr(kernel, name)
    if not (isinstance(value, Real) and math.isfinite(value) and float(value) >= least):
        wanted = "a number" if least == -math.inf else f"a number of at least {least:g}"
        raise VotronError(
            f"The {name!r} parameter of {type(kernel).__name__} must be {wanted}. Got {value!r} instead.",
            parameter=name,
        )


MADE_OF_KERNELS: dict[str, type[Kernel]] = {}
"""Kernels that are made of other kernels, by name; `votron.kernels` fills it."""
_PARAMETERS = (bool, int, float, str)
"""Types of parameters that a model file can hold."""


def _admitted(cls: Any) -> tuple[str, type[Kernel]]:
    if not (dataclasses.is_dataclass(cls) and isinstance(cls, type) and issubclass(cls, Kernel) and cls.name):
        raise VotronError(f"A kernel to register must be a dataclass derived from Kernel, with a name. Got {cls!r}.")
    if cls.name in MADE_OF_KERNELS:
        raise VotronError(f"There is a kernel of the name {cls.name!r} already: {MADE_OF_KERNELS[cls.name]!r}.")
    for field in dataclasses.fields(cls):
        if type(field.default) not in _PARAMETERS:
            raise VotronError(
                "The parameters of a kernel to register must have defaults that are numbers, truth values or texts. "
                f"Got {field.name!r} of {cls.__name__} without one instead."
            )
    return cls.name, cls


KERNELS: Registry[type[Kernel]] = Registry("kernel", "votron.kernels", _admitted)
"""The kernels by name."""


def register_kernel(cls: type[Kernel]) -> type[Kernel]:
    """Register a kernel under its name, for estimators, searches, model files and the command line.

    It is a frozen dataclass derived from `Kernel`, with a ``name``, and is returned. Packages bring kernels as entry
    points of the group ``votron.kernels``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from votron.kernels import Kernel, register_kernel
    >>> @dataclass(frozen=True)
    ... class CauchyKernel(Kernel):
    ...     gamma: float = 1.0
    ...     name, words, needs_distance = "cauchy", "1 / (1 + gamma |x - z|²)", True
    ...     def formula(self, xz, xx, zz):
    ...         return 1.0 / (1.0 + self.gamma * (xx + zz - 2.0 * xz))
    >>> make_kernel(register_kernel(CauchyKernel).name, gamma=0.5)([[0.0, 0.0]], [[2.0, 0.0]])
    array([[0.33333333]])
    """
    return KERNELS.register(cls)


def make_kernel(
    kernel: str | Kernel | Callable[[Rows, Rows], Any],
    *,
    degree: int = 3,
    gamma: float = 1.0,
    coef0: float = 1.0,
    normalize: bool = False,
) -> Kernel:
    """Return the kernel of this name (or this kernel, or one around this function), normalised on request.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "conjunction", "precomputed"}, Kernel or callable
        A name; a kernel, which keeps its own parameters; or a function ``f(A, B)`` that returns the matrix of kernel
        values of the rows of A and of B. Parameters below that the kernel does not have are ignored.
    degree : int, default=3
        For "poly": the degree of (gamma x·z + coef0)^degree.
    gamma : float, default=1.0
        For "poly" the scale of x·z, for "rbf" that of the squared distance: exp(-gamma |x - z|²) + coef0.
    coef0 : float, default=1.0
        The constant of "poly" and "rbf".
    normalize : bool, default=False
        Whether K(x, z) is divided by √(K(x, x) K(z, z)), so that all examples have length 1.

    Examples
    --------
    >>> make_kernel("poly", degree=2, normalize=True)
    NormalizedKernel(base=PolynomialKernel(degree=2, gamma=1.0, coef0=1.0))
    >>> make_kernel("rbf")
    GaussianKernel(gamma=1.0, coef0=1.0)
    """
    from votron.kernels.composed import NormalizedKernel
    from votron.kernels.precomputed import CallableKernel

    made: Kernel
    if isinstance(kernel, Kernel):
        made = kernel
    elif isinstance(kernel, str):
        cls = KERNELS[kernel]
        given = {"degree": degree, "gamma": gamma, "coef0": coef0}
        made = cls(**{name: given[name] for name in cls.parameters() if name in given})
    else:
        made = CallableKernel(kernel)
    return NormalizedKernel(made) if normalize else made


def kernel_class(kernel: object) -> type[Kernel] | None:
    """Return the class of a kernel given by name; None for anything else."""
    return KERNELS[kernel] if isinstance(kernel, str) and (kernel in KERNELS or KERNELS.load(kernel)) else None


def is_precomputed(kernel: object) -> bool:
    """Tell whether a kernel, given by name or itself, takes kernel values as data."""
    found = kernel_class(kernel) or kernel
    return bool(getattr(found, "pairwise", False))
