"""Labels, kernels, records, support vectors and parameters: how they are written down in a file, and read again."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import re
from collections.abc import Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.resources import available_memory
from votron._util.types import Floats, Index, Rows
from votron.errors import ModelFileError, Parameter, VotronError
from votron.estimators._score_functions import Expansion
from votron.kernels import Kernel
from votron.kernels.base import KERNELS, MADE_OF_KERNELS, is_precomputed
from votron.record import MistakeRecord
from votron.saving.fields import LARGEST, Fields

__all__ = [
    "kernel_from",
    "kernel_state",
    "labels_from",
    "labels_state",
    "params_from",
    "params_state",
    "record_from",
    "record_state",
]

_LABEL_TYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|U[0-9]{1,7}|O)")
_LONGEST_REASON = 1000
"""Characters of what a class says of a parameter: it may repeat all of it."""
_LONGEST_LABEL = 10_000
_MOST_LETTERS = 1 << 23
"""Characters that an array of labels may have room for, however few they have."""
_DEEPEST = 8
"""Kernels that may stand over one another."""
_WIDEST = 1 << 26
"""Features that sparse vectors in a file may have: predicting takes some bytes for each, whatever the file has."""

_SMALL = 1 << 20
"""Bytes below which weights are written as they are."""

# -- labels -----------------------------------------------------------------------------------------------------------


def labels_state(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels with their type.

    Examples
    --------
    >>> labels_state(np.array(["no", "yes"]))
    {'dtype': '<U3', 'values': ['no', 'yes']}
    """
    values = labels.tolist()
    if labels.dtype.kind not in "biufUO" or not all(isinstance(value, bool | int | float | str) for value in values):
        raise ModelFileError(
            f"Labels in a model file must be numbers, truth values or text. Got {values[0]!r} of type {labels.dtype} "
            "instead."
        )
    dtype = np.array(values).dtype if labels.dtype.kind == "U" else labels.dtype  # no wider than the longest
    return {"dtype": dtype.newbyteorder("<").str, "values": values}


def labels_from(fields: Fields, least: int = 2) -> NDArray[Any]:
    """Return labels that are distinct and in order.

    Examples
    --------
    >>> labels_from(Fields({"dtype": "<i8", "values": [0, 1]}, {}, "classes"))
    array([0, 1])
    """
    text, values = fields.text("dtype"), fields.plain("values")
    fields.end()
    kinds: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (float,), "U": (str,)}
    try:
        if not _LABEL_TYPE.fullmatch(text):
            raise ValueError("a type that labels do not have")
        dtype = np.dtype(text)
        allowed = (bool, int, float, str) if dtype.kind == "O" else kinds[dtype.kind]
        if not (isinstance(values, list) and all(type(value) in allowed for value in values)):
            raise ValueError("values of another type")
        if dtype.kind == "U":
            _check_longest(fields, dtype.itemsize // 4, list(map(len, values)))
        labels: NDArray[Any] = np.array(values, dtype=dtype.newbyteorder("="))
        in_order = len(labels) >= least and all(a < b for a, b in itertools.pairwise(values))
        if labels.shape != (len(values),) or labels.tolist() != values or not in_order:
            raise ValueError("not what they were")
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError):
        raise fields.wrong("", "two or more labels of one type, in rising order", [text, values]) from None
    return labels


def _check_longest(fields: Fields, width: int, lengths: list[int]) -> None:
    """Refuse labels of which one is much longer than the others: an array has room for the longest in all places."""
    longest = max(lengths, default=0)
    if width > max(1, longest):
        raise ValueError("wider than its values")
    if longest > _LONGEST_LABEL or len(lengths) * longest > max(_MOST_LETTERS, 8 * sum(lengths)):
        what = f"labels of at most {_LONGEST_LABEL:,} characters, not one much longer than many others"
        raise fields.wrong("values", what, f"{len(lengths):,} labels, the longest of {longest:,} characters")


# -- values of columns ------------------------------------------------------------------------------------------------


def values_state(values: NDArray[Any], what: str) -> dict[str, Any]:
    """Return the values of a column with their type; they may have None and NaN.

    Examples
    --------
    >>> values_state(np.array(["no", "yes", np.nan], dtype=object), "The values")
    {'dtype': '|O', 'values': ['no', 'yes', {'float': 'nan'}]}
    """
    plain = values.tolist()
    if values.dtype.kind not in "biufUO" or not all(isinstance(v, bool | int | float | str | None) for v in plain):
        odd = next((v for v in plain if not isinstance(v, bool | int | float | str | None)), plain[:1])
        raise ModelFileError(
            f"{what} in a model file must be numbers, truth values or text. Got {str(odd)[:60]!r} instead."
        )
    listed = [{"float": str(v)} if isinstance(v, float) and not math.isfinite(v) else v for v in plain]
    return {"dtype": values.dtype.newbyteorder("<").str, "values": listed}


def values_from(fields: Fields) -> NDArray[Any]:
    """Return the values of a column, each once; numbers in rising order, and NaN last.

    Examples
    --------
    >>> values_from(Fields({"dtype": "<f8", "values": [0.5, {"float": "nan"}]}, {}, "values"))
    array([0.5, nan])
    """
    text, listed = fields.text("dtype"), fields.listed("values")
    fields.end()
    odd = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
    values: list[Any] = [odd.get(v["float"], v) if isinstance(v, dict) and set(v) == {"float"} else v for v in listed]
    kinds: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (float,), "U": (str,)}
    try:
        if not (_LABEL_TYPE.fullmatch(text) and values):
            raise ValueError
        dtype = np.dtype(text)
        allowed = kinds.get(dtype.kind, (bool, int, float, str, type(None)))
        there = values[:-1] if values[-1] != values[-1] else values
        in_order = dtype.kind in "OU" or all(a < b for a, b in itertools.pairwise(there))
        if not (all(type(v) in allowed for v in values) and len(set(there)) == len(there) and in_order):
            raise ValueError
        if any(v != v for v in there):
            raise ValueError
        if dtype.kind == "U":
            _check_longest(fields, dtype.itemsize // 4, list(map(len, values)))
        made: NDArray[Any] = np.empty(len(values), dtype=dtype.newbyteorder("="))
        made[:] = values
        if made[: len(there)].tolist() != there:
            raise ValueError
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError):
        raise fields.wrong(
            "", "one or more values of a type, each once, numbers in rising order", [text, listed]
        ) from None
    return made


# -- kernels ----------------------------------------------------------------------------------------------------------


def kernel_state(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel's name and numbers.

    Examples
    --------
    >>> from votron.kernels import make_kernel
    >>> kernel_state(make_kernel("rbf", gamma=0.5, normalize=True))
    {'name': 'normalized', 'base': {'name': 'rbf', 'gamma': 0.5, 'coef0': 1.0}}
    """
    if {**KERNELS, **MADE_OF_KERNELS}.get(kernel.name) is type(kernel):
        state: dict[str, Any] = {"name": kernel.name}
        for field in dataclasses.fields(kernel):  # type: ignore[arg-type]
            value = getattr(kernel, field.name)
            if not (field.metadata.get("optional") and value == field.default):
                state[field.name] = _kernel_value(value)
        return state
    raise ModelFileError(
        "The kernel of a model in a file must be one of Votron's, or registered with register_kernel, since a file "
        f"cannot hold a function. Got {kernel!r} instead."
    )


def _kernel_value(value: Any) -> Any:
    if isinstance(value, Kernel):
        return kernel_state(value)
    if isinstance(value, bool | str):
        return value
    return float(value) if isinstance(value, Real) and not isinstance(value, Integral) else int(value)


def kernel_from(fields: Fields, depth: int = 0) -> Kernel:
    """Return the kernel that was written down.

    Examples
    --------
    >>> kernel_from(Fields({"name": "rbf", "gamma": 0.5}, {}, "kernel"))
    GaussianKernel(gamma=0.5, coef0=0.0)
    """
    if depth > _DEEPEST:
        raise fields.wrong("", f"a kernel over at most {_DEEPEST} others", "more")
    known = {**KERNELS, **MADE_OF_KERNELS}
    cls = known[fields.text("name", known)]
    try:
        made = cls(
            **{
                field.name: _kernel_field(fields, field, depth)
                for field in dataclasses.fields(cls)  # type: ignore[arg-type]
                if fields.has(field.name) or not field.metadata.get("optional")
            }
        )
    except ModelFileError:
        raise
    except VotronError as error:
        raise ModelFileError(str(error)) from None
    fields.end()
    return made


def _kernel_field(fields: Fields, field: dataclasses.Field[Any], depth: int) -> Any:
    """Return a parameter of a kernel, of the type of its default; what has none is a kernel."""
    default: Any = field.default
    kind: Any = type(default)
    if default is dataclasses.MISSING:
        return kernel_from(fields.part(field.name), depth + 1)
    if kind is bool:
        return fields.flag(field.name)
    if kind is int:
        return fields.count(field.name, -LARGEST)
    return fields.text(field.name) if kind is str else fields.number(field.name)


# -- records ----------------------------------------------------------------------------------------------------------

_COLUMNS = {"example": "<i8", "vector": "<i4", "sign": "i1", "time": "<i8", "score": "<f8", "norm2": "<f8"}
_COUNTS = ("n_vectors", "n_examples", "n_steps")


def record_state(record: MistakeRecord, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arrays and numbers of a record, but for columns that are all 0, and weights that are all 1.

    Examples
    --------
    >>> record = MistakeRecord(example=[0], vector=[0], sign=[1], time=[1], score=[0.0], norm2=[2.0], n_vectors=1,
    ...     n_examples=4, n_steps=4)
    >>> sorted(record_state(record, leave_out=("score", "norm2")))
    ['example', 'n_examples', 'n_steps', 'n_vectors', 'sign', 'time', 'vector']
    """
    arrays = {name: getattr(record, name) for name in _COLUMNS if name not in leave_out}
    if record.weight is not None:
        arrays["weight"] = record.weight
    return {**arrays, **{name: int(getattr(record, name)) for name in _COUNTS}}


def record_from(fields: Fields, n_vectors: int, n_named: int) -> MistakeRecord:
    """Return the record that was written down, if it is one of ``n_named`` examples.

    Examples
    --------
    >>> record_from(Fields({"n_vectors": 2, "n_examples": 4, "n_steps": 4}, {}, "record"), 1, 4)
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The field 'record.n_vectors' must be a whole number from 1 to 1. Got 2 instead.
    """
    fields.count("n_vectors", n_vectors, n_vectors + 1)
    n_examples, n_steps = fields.count("n_examples", 1), fields.count("n_steps", 0)
    example = fields.exactly("example", "<i8", (None,))
    k = len(example)
    columns = {"example": example}
    for name, dtype in _COLUMNS.items():
        if name != "example":
            absent = name in ("score", "norm2") and not fields.has(name)
            columns[name] = np.zeros(k) if absent else fields.exactly(name, dtype, (k,))
    weight = fields.exactly("weight", "<f8", (k,)) if fields.has("weight") else None
    fields.end()
    if k and not (int(example.min()) >= 0 and int(example.max()) < n_named < LARGEST):
        raise fields.wrong("example", f"numbers of examples, from 0 to {n_named - 1}", "others")
    norm2 = columns["norm2"]
    if k and norm2.min() < -1e-6 * max(0.0, norm2.max()):  # what rounding leaves of 0 may be below it
        raise fields.wrong("norm2", "squared lengths", "negative numbers")
    try:
        return MistakeRecord(**columns, n_vectors=n_vectors, n_examples=n_examples, n_steps=n_steps, weight=weight)
    except VotronError as error:
        raise ModelFileError(str(error)) from None


# -- support vectors --------------------------------------------------------------------------------------------------


def support_rows(fields: Fields, kernel: Kernel, n_support: int, n_features: int) -> Rows:
    """Return support vectors that the kernel takes; of a precomputed one, the diagonal."""
    if is_precomputed(kernel):
        return fields.exactly("support_rows", "<f8", (n_support, 1))
    rows = fields.rows("support_rows", (n_support, n_features))
    check_width(fields, rows)
    try:
        kernel.check(rows)
    except VotronError as error:
        raise ModelFileError(f"The support vectors of this file are not for its kernel: {error}") from None
    return rows


def check_width(fields: Fields, rows: Rows) -> None:
    """Refuse sparse vectors of more features than a small file should be able to make whoever opens it count."""
    if (sp.issparse(rows) or not rows.shape[0]) and rows.shape[1] >= _WIDEST:
        what = f"below {_WIDEST:,} where vectors are sparse, or there are none"
        raise fields.wrong("n_features", what, f"{rows.shape[1]:,}")


def check_room(
    n_vectors: int, n_support: int, what: str = "coefficients of {:,} support vectors", each: int = 1
) -> None:
    """Refuse coefficients, or so many weights ``each``, that no machine could have made this file with."""
    if (needed := 8 * each * n_vectors * n_support) > (free := available_memory()):
        raise ModelFileError(
            f"The {what.format(n_support)} and {n_vectors:,} classes take {needed / 1e9:.1f} GB, "
            f"and {free / 1e9:.1f} GB are free."
        )


def is_thin(*matrices: Floats) -> bool:
    """Tell whether dense weights take less than half the room as CSR matrices, and enough that it matters."""
    if sum(each.nbytes for each in matrices) < _SMALL:
        return False
    kept = sum(12 * np.count_nonzero(each) + 4 * (each.shape[0] + 1) for each in matrices)
    return bool(2 * kept < sum(each.nbytes for each in matrices))


def expansion_state(form: Expansion) -> dict[str, Any]:
    """Return kernel, support vectors and coefficients."""
    return {
        "kernel": kernel_state(form.kernel),
        "support": form.support,
        "support_rows": form.support_rows,
        "dual_coef": _thin(form.dual_coef),
        "divisor": form.divisor,
    }


def _thin(coefficients: Floats) -> Any:
    """Return coefficients as a CSR matrix where that takes less room: each class has its own support vectors."""
    few = np.count_nonzero(coefficients) < coefficients.size / 2
    return sp.csr_matrix(coefficients) if few else coefficients


def expansion_from(fields: Fields, n_vectors: int, n_features: int, n_named: int) -> Expansion:
    """Return kernel, support vectors and coefficients that were written down."""
    kernel = kernel_from(fields.part("kernel"))
    support: Index = fields.exactly("support", "<i8", (None,))
    limit = n_features if is_precomputed(kernel) else n_named
    if len(support) and not (support.min() >= 0 and support.max() < limit and len(np.unique(support)) == len(support)):
        raise fields.wrong("support", "numbers of training examples, each once", "others")
    rows = support_rows(fields, kernel, len(support), n_features)
    check_room(n_vectors, len(support))
    coefficients = float_rows(fields, "dual_coef", (n_vectors, len(support)))
    return Expansion(kernel, rows, support, coefficients, divisor(fields, n_vectors))


def divisor(fields: Fields, n_vectors: int) -> Floats | None:
    """Return what scores are divided by, if anything."""
    if not fields.has("divisor"):
        return None
    found = fields.exactly("divisor", "<f8", (n_vectors,))
    if not (found >= np.finfo(np.float64).tiny).all():
        raise fields.wrong("divisor", "positive numbers", "others")
    return found


def float_rows(fields: Fields, name: str, shape: tuple[int, int]) -> Rows:
    """Return a matrix of weights, dense or CSR."""
    rows = fields.rows(name, shape)
    if rows.dtype != np.float64:
        raise fields.wrong(name, "weights of type float64", rows.dtype)
    return rows


def counts(fields: Fields, name: str, n: int) -> NDArray[np.int64]:
    """Return so many counts."""
    found = fields.exactly(name, "<i8", (n,))
    if (found < 0).any():
        raise fields.wrong(name, "counts", "negative numbers")
    return found


# -- parameters -------------------------------------------------------------------------------------------------------


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def params_state(model: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the constructor's parameters of a model.

    A generator of random numbers is written as null: it has been used, and the model has what came of it.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> params_state(StandardScaler())
    {'copy': True, 'with_mean': True, 'with_std': True}
    """
    params = model.get_params(deep=False).items()
    return {name: _param(model, name, value) for name, value in params if name not in leave_out}


def _param(model: Any, name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = type(value)(each.item() if isinstance(each, np.generic) else each for each in value)
    if name == "random_state" and not isinstance(value, int):
        return None
    if isinstance(value, Kernel):
        return {"kernel": kernel_state(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, list | tuple) and all(type(each) in (int, float, str, bool) for each in value):
        return {"tuple": list(value)} if isinstance(value, tuple) else list(value)
    if isinstance(value, dict):
        return {"dict": _pairs(model, name, value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    what = "a file cannot hold a function" if callable(value) else "a file holds numbers, texts and the like"
    raise ModelFileError(Parameter(name, of=type(model).__name__), f" cannot be saved, since {what}. Got {value!r}.")


def _pairs(model: Any, name: str, value: dict[Any, Any]) -> list[list[Any]]:
    """Return the entries of a dict by class, as a file has them: labels need not be text."""
    pairs = [[each.item() if isinstance(each, np.generic) else each for each in pair] for pair in value.items()]
    if not all(type(label) in (bool, int, float, str) and type(number) in (int, float) for label, number in pairs):
        raise ModelFileError(
            Parameter(name, of=type(model).__name__),
            f" can be saved with numbers by label, which are numbers, truth values or text. Got {value!r}.",
        )
    return pairs


def params_from(
    fields: Fields, cls: Any, *, leave_out: tuple[str, ...] = (), unnamed: Mapping[str, Any] = _NOTHING, **fixed: Any
) -> Any:
    """Return an unfitted object of this class with the parameters that were written down; the class judges them.

    Parameters that are not there, of an earlier version, are what ``unnamed`` says, or have their defaults. Those to
    ``leave_out`` stand in no file. ``fixed`` are those that stand elsewhere.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> params_from(Fields({"with_mean": False}, {}, "params"), StandardScaler)
    StandardScaler(with_mean=False)
    """
    known = set(inspect.signature(cls).parameters).difference(leave_out)
    values = {name: _param_from(fields, name) for name in fields.names() if name in known}
    fields.end()
    made = cls(**{**unnamed, **values, **fixed})
    _refuse_names_from_elsewhere(made, values)
    try:
        made._validate_params()
    except ValueError as error:  # scikit-learn's, which is one of these
        raise ModelFileError(" ".join(str(error)[:_LONGEST_REASON].split())) from None
    return made


def _refuse_names_from_elsewhere(made: Any, values: dict[str, Any]) -> None:
    """Refuse names of kernels and the like that are not registered: looking for them would import what a file names."""
    for name, value in values.items():
        for constraint in made._parameter_constraints.get(name, ()):
            registered = getattr(constraint, "registry", None)
            if registered is None or value in constraint.also:
                continue
            if isinstance(value, str) and value not in registered:
                raise ModelFileError(
                    f"The {name} of this model must be one of {', '.join(map(repr, registered))}, or registered by the "
                    f"package that brings it, which must be imported first. Got {value!r} instead."
                )


def _param_from(fields: Fields, name: str) -> Any:
    value = fields.plain(name)
    if not isinstance(value, dict):
        return value
    if set(value) == {"kernel"}:
        return kernel_from(Fields(value["kernel"], {}, f"{name}.kernel"))
    if set(value) == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(value["tuple"])
    if set(value) == {"dict"} and _are_pairs(value["dict"]):
        return dict(value["dict"])
    if set(value) == {"float"} and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    raise fields.wrong(name, "a value that a parameter can have", value)


def _are_pairs(pairs: Any) -> bool:
    """Tell whether these are entries of a dict by class."""
    return isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and type(pair[0]) in (bool, int, float, str)
        and type(pair[1]) in (int, float)
        for pair in pairs
    )
