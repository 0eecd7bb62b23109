"""What classifiers and steps are made of in a model file: dataclasses, kernels, parameters and records."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

from votron._util.types import Floats, Rows
from votron.errors import ModelFileError
from votron.kernels import Kernel
from votron.kernels.base import KERNELS, MADE_OF_KERNELS, is_precomputed
from votron.record import MistakeRecord
from votron.rules import RULES
from votron.saving.tensors import WIDEST, Scalar, Tensors, plain

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_DEEPEST = 8
"""Kernels that may stand over one another."""
_MOST_THREADS = 4096
_REFUSED = (
    "; skops.io saves pipelines of any parts, and names those that whoever opens the file has to trust "
    "(docs/interoperability.md)."
)


class State(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of a manifest: it has these fields, of these types, and no others."""


def refused(what: str) -> ModelFileError:
    return ModelFileError(f"{what} cannot be saved in a model file{_REFUSED}")


def strict(hint: Any) -> Any:
    """Return what a type is in JSON: a dataclass becomes a struct that forbids other fields."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = [(each.name, strict(hints[each.name]), _default(each)) for each in dataclasses.fields(hint)]
        return msgspec.defstruct(hint.__name__, fields, bases=(State,), kw_only=True)
    origin, args = typing.get_origin(hint), tuple(map(strict, typing.get_args(hint)))
    if origin is types.UnionType:
        return typing.Union[args]  # noqa: UP007  # of types that are known when this runs
    return origin[args] if origin in (tuple, list, dict) else hint


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.NODEFAULT if field.default is dataclasses.MISSING else field.default


# -- kernels ----------------------------------------------------------------------------------------------------------


class KernelState(State):
    """A kernel: its name, and the fields of its dataclass."""

    name: str
    fields: dict[str, bool | int | float | str | KernelState]


def kernel_state(kernel: Kernel) -> KernelState:
    if _kernel_class(kernel.name) is not type(kernel):
        raise ModelFileError(
            "The kernel of a model in a file must be one of Votron's, or registered with register_kernel, since a file "
            f"cannot hold a function. Got {kernel!r} instead."
        )
    values = {field.name: getattr(kernel, field.name) for field in dataclasses.fields(kernel)}  # type: ignore[arg-type]
    return KernelState(
        name=kernel.name,
        fields={name: kernel_state(each) if isinstance(each, Kernel) else plain(each) for name, each in values.items()},
    )


def kernel_from(state: KernelState, depth: int = 0) -> Kernel:
    """Return a kernel; each of its fields must have the type of its default, or be a kernel where there is none."""
    cls = _kernel_class(state.name)
    if cls is None:
        raise ModelFileError(
            f"its kernel {state.name[:60]!r} is not known: import the package that brings it before the file is opened."
        )
    if depth > _DEEPEST:
        raise ModelFileError(f"it has a kernel over more than {_DEEPEST} others.")
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, value in state.fields.items():
        default = defaults.get(name, ...)
        kind = KernelState if default is dataclasses.MISSING else type(default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ModelFileError(f"its kernel {state.name!r} has no parameter {name[:60]!r} of this type.")
        values[name] = kernel_from(value, depth + 1) if isinstance(value, KernelState) else value
    made: Kernel = cls(**values)
    return made


def _kernel_class(name: str) -> Any:
    """Return the class of a kernel by name, if it is known already: opening a file imports nothing."""
    return dict.get(KERNELS, name) or MADE_OF_KERNELS.get(name)


# -- parameters -------------------------------------------------------------------------------------------------------

Params = dict[str, Scalar | KernelState]


def params_state(model: Any, tensors: Tensors, leave_out: Sequence[str] = ()) -> Params:
    """Return the constructor's parameters; of lists and dicts the entries become arrays.

    A generator of random numbers becomes None: it has been used, and the model has what came of it.
    """
    found: Params = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, dict | list | tuple | np.ndarray) and name not in leave_out:
            tensors.put_list(f"params.{name}", list(value))
            if isinstance(value, dict):
                tensors.put_list(f"params.{name}.by_label", list(value.values()))
        elif isinstance(value, Kernel):
            found[name] = kernel_state(value)
        elif name not in leave_out:
            is_generator = name == "random_state" and not isinstance(value, int | np.integer)
            found[name] = None if is_generator else _scalar(model, name, plain(value))
    return found


def _scalar(model: Any, name: str, value: Any) -> Scalar:
    if isinstance(value, Scalar) and not (isinstance(value, float) and not np.isfinite(value)):
        return value
    what = "a file cannot hold a function" if callable(value) else "a file holds numbers and texts"
    raise ModelFileError(
        f"The {name!r} parameter of {type(model).__name__} cannot be saved, since {what}. Got {value!r}.",
        parameter=name,
    )


def params_from(cls: Any, params: Params, tensors: Tensors) -> Any:
    """Return an unfitted object with these parameters, which its class judges."""
    values: dict[str, Any] = {}
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
        _refuse_unknown_names(made)
        made._validate_params()
    if not -_MOST_THREADS <= (values.get("n_jobs") or 1) <= _MOST_THREADS:
        raise ModelFileError(f"its 'n_jobs' must be a number of threads up to {_MOST_THREADS:,}.")
    return made


def _refuse_unknown_names(made: Any) -> None:
    """Refuse names of kernels and rules that are not registered: looking for them would import what a file names."""
    for name, known in (("kernel", KERNELS), ("rule", {**RULES, "auto": None})):
        value = getattr(made, name, None)
        if isinstance(value, str) and value not in known:
            raise ModelFileError(
                f"its {name} must be one of {', '.join(map(repr, known))}, or registered by the package that brings "
                f"it, which has to be imported first. Got {value[:60]!r} instead."
            )


# -- records and support vectors --------------------------------------------------------------------------------------

_COLUMNS = {"example": "i8", "vector": "i4", "sign": "i1", "time": "i8", "score": "f8", "norm2": "f8"}


def put_record(record: MistakeRecord, tensors: Tensors) -> None:
    """Write a record; scores and lengths that are all 0, as compact models have them, are left out."""
    for name in (*_COLUMNS, "weight"):
        column = getattr(record, name)
        if column is not None and (name not in ("score", "norm2") or column.any()):
            tensors.put(name, column)


def record_from(tensors: Tensors, n_named: int, n_vectors: int, n_examples: int, n_steps: int) -> MistakeRecord:
    """Return a record of some of ``n_named`` examples."""
    columns = {"example": tensors.take("example", "i8", (None,), least=0)}
    k = len(columns["example"])
    for name, kind in list(_COLUMNS.items())[1:]:
        absent = name in ("score", "norm2") and name not in tensors
        columns[name] = np.zeros(k) if absent else tensors.take(name, kind, (k,))
    if k and columns["example"].max() >= n_named:
        raise tensors.wrong("example", f"numbers of examples below {n_named}")
    if k and columns["norm2"].min() < -1e-6 * max(0.0, columns["norm2"].max()):  # rounding may leave a little below 0
        raise tensors.wrong("norm2", "squared lengths")
    weight = tensors.take("weight", "f8", (k,)) if "weight" in tensors else None
    return MistakeRecord(**columns, n_vectors=n_vectors, n_examples=n_examples, n_steps=n_steps, weight=weight)


def support_rows(tensors: Tensors, kernel: Kernel, n_support: int, n_features: int) -> Rows:
    """Return support vectors that the kernel takes; of a precomputed one, the diagonal."""
    if is_precomputed(kernel):
        return tensors.take("support_rows", "f8", (n_support, 1))
    rows = tensors.rows("support_rows", (n_support, n_features))
    if not n_support and n_features >= WIDEST:
        raise tensors.wrong("support_rows", f"fewer than {WIDEST:,} features where there are no rows")
    kernel.check(rows)
    return rows


def divisor_from(tensors: Tensors, n_vectors: int) -> Floats | None:
    """Return what scores are divided by, if anything."""
    least = float(np.finfo(np.float64).tiny)
    return tensors.take("divisor", "f8", (n_vectors,), least=least) if "divisor" in tensors else None
