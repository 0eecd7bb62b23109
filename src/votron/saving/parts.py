"""Dataclasses, kernels, parameters and records in model files."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

from votron._util.types import Estimator, Floats, Rows
from votron.errors import ModelFileError
from votron.kernels import Kernel
from votron.kernels.base import KERNELS, MADE_OF_KERNELS, is_precomputed
from votron.record import COLUMNS, MistakeRecord
from votron.rules import RULES
from votron.saving.container import WIDEST, Scalar, Tensors, plain

Fields = dict[str, Any]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_DEEPEST = 8
_MOST_THREADS = 4096


class State(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of a manifest, with these fields, of these types, and no others."""


def refused(what: str) -> ModelFileError:
    return ModelFileError(
        f"{what} cannot be saved in a model file; skops.io saves pipelines of any steps (docs/interoperability.md)."
    )


def is_a(value: object, kind: type) -> bool:
    """Return whether a value has exactly this type, or is an int for a float."""
    return type(value) is kind or (kind is float and type(value) is int)


class KernelState(State):
    name: str
    fields: dict[str, bool | int | float | str | KernelState]


def kernel_state(kernel: Kernel) -> KernelState:
    if _kernel_class(kernel.name) is not type(kernel):
        raise ModelFileError(
            "To be saved, the kernel of a model must be one of Votron's, or registered with register_kernel, since a "
            f"file cannot hold a function. Got {kernel!r} instead."
        )
    fields: Fields = {}
    for field in dataclasses.fields(kernel):  # type: ignore[arg-type]
        value = getattr(kernel, field.name)
        fields[field.name] = kernel_state(value) if isinstance(value, Kernel) else plain(value)
    return KernelState(name=kernel.name, fields=fields)


def kernel_from(state: KernelState, depth: int = 0) -> Kernel:
    """Return a kernel; its fields must have the types of their defaults, or be kernels if there are none."""
    cls = _kernel_class(state.name)
    if cls is None:
        raise ModelFileError(
            f"its kernel {state.name[:60]!r} is not known: import the package that brings it, and open the file again."
        )
    if depth > _DEEPEST:
        raise ModelFileError(f"it has a kernel over more than {_DEEPEST} others.")
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values: Fields = {}
    for name, value in state.fields.items():
        default = defaults.get(name, ...)
        if not is_a(value, KernelState if default is dataclasses.MISSING else type(default)):
            raise ModelFileError(f"its kernel {state.name!r} has no parameter {name[:60]!r} of this type.")
        values[name] = kernel_from(value, depth + 1) if isinstance(value, KernelState) else value
    return cls(**values)


def _kernel_class(name: str) -> type[Kernel] | None:
    """Return the class of a kernel that is registered already: opening a file imports nothing."""
    return dict.get(KERNELS, name) or MADE_OF_KERNELS.get(name)


Params = dict[str, Scalar | KernelState]


def params_state(model: Estimator, tensors: Tensors, leave_out: Sequence[str] = ()) -> Params:
    """Return the constructor's parameters; entries of lists and dicts become arrays, a used random generator None."""
    found: Params = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, dict | list | tuple | np.ndarray) and name not in leave_out:
            tensors.put_list(f"params.{name}", list(value))
            if isinstance(value, dict):
                tensors.put_list(f"params.{name}.by_label", list(value.values()))
        elif isinstance(value, Kernel):
            found[name] = kernel_state(value)
        elif name == "random_state" and not isinstance(value, int | np.integer):
            found[name] = None
        elif name not in leave_out:
            found[name] = plain(value)
            if not isinstance(found[name], Scalar) or (isinstance(value, float) and not np.isfinite(value)):
                raise ModelFileError(
                    f"The {name!r} parameter of {type(model).__name__} must be a number or text to be saved, since a "
                    f"file cannot hold a function. Got {value!r} instead.",
                    parameter=name,
                )
    return found


def params_from(cls: type[Estimator], params: Params, tensors: Tensors) -> Estimator:
    values: Fields = {}
    signature = inspect.signature(cls).parameters
    for name, value in params.items():
        if name not in signature:
            raise ModelFileError(f"{name[:60]!r} is not a parameter of {cls.__name__}.")
        values[name] = kernel_from(value) if isinstance(value, KernelState) else value
    for name, parameter in signature.items():
        if f"params.{name}" in tensors:
            listed = tensors.listed(f"params.{name}", Scalar)
            values[name] = tuple(listed) if isinstance(parameter.default, tuple) else listed
            if f"params.{name}.by_label" in tensors:
                numbers = tensors.listed(f"params.{name}.by_label", int | float, len(listed))
                values[name] = dict(zip(listed, numbers, strict=True))
    made = cls(**values)
    if hasattr(made, "_parameter_constraints"):
        for name, known in (("kernel", KERNELS), ("rule", {**RULES, "auto": None})):
            value = getattr(made, name, None)
            if isinstance(value, str) and value not in known:  # to look for it would import what the file names
                raise ModelFileError(
                    f"its {name} must be one of {', '.join(map(repr, known))}, or registered before the file is "
                    f"opened. Got {value[:60]!r} instead."
                )
        made._validate_params()
    if not -_MOST_THREADS <= (values.get("n_jobs") or 1) <= _MOST_THREADS:
        raise ModelFileError(f"its 'n_jobs' must be a number of threads up to {_MOST_THREADS:,}.")
    return made


def put_record(record: MistakeRecord, tensors: Tensors) -> None:
    """Write a record, without the scores and lengths of compact models, which are all 0."""
    for name in (*COLUMNS, "weight"):
        column = getattr(record, name)
        if column is not None and (name not in ("score", "norm2") or column.any()):
            tensors.put(name, column)


def record_from(tensors: Tensors, n_named: int, n_vectors: int, n_examples: int, n_steps: int) -> MistakeRecord:
    columns = {"example": tensors.take("example", "i8", (None,), least=0)}
    k = len(columns["example"])
    for name, kind in list(COLUMNS.items())[1:]:
        absent = name in ("score", "norm2") and name not in tensors
        columns[name] = np.zeros(k) if absent else tensors.take(name, kind[-2:], (k,))
    if k and columns["example"].max() >= n_named:
        raise tensors.wrong("example", f"numbers of examples below {n_named}")
    if k and columns["norm2"].min() < -1e-6 * max(0.0, columns["norm2"].max()):  # rounding may leave a little below 0
        raise tensors.wrong("norm2", "squared lengths")
    weight = tensors.take("weight", "f8", (k,)) if "weight" in tensors else None
    return MistakeRecord(**columns, n_vectors=n_vectors, n_examples=n_examples, n_steps=n_steps, weight=weight)


def support_rows(tensors: Tensors, kernel: Kernel, n_support: int, n_features: int) -> Rows:
    """Return support vectors; for a precomputed kernel, the diagonal."""
    if is_precomputed(kernel):
        return tensors.take("support_rows", "f8", (n_support, 1))
    rows = tensors.rows("support_rows", (n_support, n_features))
    if not n_support and n_features >= WIDEST:
        raise tensors.wrong("support_rows", f"fewer than {WIDEST:,} features where there are no rows")
    kernel.check(rows)
    return rows


def divisor_from(tensors: Tensors, n_vectors: int) -> Floats | None:
    least = float(np.finfo(np.float64).tiny)
    return tensors.take("divisor", "f8", (n_vectors,), least=least) if "divisor" in tensors else None
