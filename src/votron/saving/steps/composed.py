"""Steps made of steps: one after the other, and side by side, each with its columns of a table.

A table's encoder is put together from its parts, held fast by scikit-learn's FrozenEstimator. Columns that were chosen
by a function, a slice or a mask when it was fitted stand in the file as what was chosen: their names, or their numbers
where the data had no names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from votron.errors import ModelFileError
from votron.saving.fields import Fields
from votron.saving.steps.base import (
    Flow,
    State,
    StoredStep,
    after,
    first_of,
    kind_of,
    named,
    names_state,
    refused,
    step_from,
    step_state,
    steps_from,
    steps_state,
    stored,
    unfrozen,
)

Chosen = str | int | list[str] | list[int]
_WIDEST_DENSE = 1 << 22
"""Features that hashed words may have in a dense matrix: each row takes eight bytes for each."""
_MOST_COLUMNS = 1 << 16
"""Columns without names that there may be: a file says but how many."""


@stored
class Same(StoredStep):
    """What passes through as it is; a FunctionTransformer has a function, and cannot stand in a file."""

    cls = FunctionTransformer
    listed = False

    def state(self, step: Any) -> State:
        """Return the names of the columns."""
        if step.func is not None or step.inverse_func is not None:
            raise ModelFileError(
                "A FunctionTransformer cannot be put into a file, since a file cannot hold a function. Apply it to the "
                "data before the pipeline, or make it a class of its own, with a votron.saving.steps.StoredStep."
            )
        return names_state(step)

    def build(self, fields: Fields, depth: int) -> Any:
        """Make it as ColumnTransformer does."""
        made = FunctionTransformer(accept_sparse=True, check_inverse=False, feature_names_out="one-to-one")
        return named(fields, made)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Give what it gets; columns must be numbers."""
        if before.kind == "texts":
            raise refused(step, "columns", before)
        kind = before.kind if before.kind == "values" else "numbers"
        return Flow(kind, before.width, before.sparse)


@stored
class Steps(StoredStep):
    """Steps after one another."""

    cls = Pipeline
    listed = False

    def state(self, step: Any) -> State:
        """Return the steps with their names."""
        return {"steps": steps_state(step.steps)}

    def build(self, fields: Fields, depth: int) -> Any:
        """Build each step."""
        steps = steps_from(fields.parts("steps"), depth + 1)
        if not steps or len({name for name, _ in steps}) < len(steps):
            raise fields.wrong("steps", "one or more steps of different names", "others")
        return Pipeline(steps)

    def flow(self, step: Any, before: Flow) -> Flow:
        """Let data go through each step."""
        for _, each in step.steps:
            before = after(each, before)
        return before


@stored
class Columns(StoredStep):
    """Steps beside one another, each with its columns of a table."""

    cls = ColumnTransformer
    listed = False

    def state(self, step: Any) -> State:
        """Return the parts with their names and columns."""
        if step.transformer_weights or not isinstance(step.verbose_feature_names_out, bool):
            raise ModelFileError(
                "A ColumnTransformer in a model file must have no 'transformer_weights', and a "
                "'verbose_feature_names_out' that is True or False."
            )
        if not hasattr(step, "feature_names_in_") and step.n_features_in_ >= _MOST_COLUMNS:
            raise ModelFileError(
                f"A ColumnTransformer in a model file must have fewer than {_MOST_COLUMNS:,} columns, or columns with "
                f"names. Got {step.n_features_in_:,} instead."
            )
        parts = [_part_state(step, *part) for part in step.transformers_ if step._transformer_to_input_indices[part[0]]]
        names = getattr(step, "feature_names_in_", None)
        rest = [part for part in parts if part["name"] == "remainder" and "part" in part]
        return {
            "columns": [part for part in parts if part["name"] != "remainder"],
            **({"remainder": {key: rest[0][key] for key in ("part", "holds")}} if rest else {}),
            **({"n_given": int(step.n_features_in_)} if names is None else {"given": [str(name) for name in names]}),
            "sparse_threshold": float(step.sparse_threshold),
            "sparse": bool(step.sparse_output_),
            "long_names": bool(step.verbose_feature_names_out),
        }

    def build(self, fields: Fields, depth: int) -> Any:
        """Put the transformer together from its parts, as if it had been fitted on a table of these columns."""
        given: list[Any]
        if fields.has("given"):
            given, by_name = fields.texts("given"), True
        else:
            given, by_name = list(range(fields.count("n_given", 1, _MOST_COLUMNS))), False
        parts = [_part_from(each, depth, by_name=by_name) for each in fields.parts("columns")]
        rest = _rest_from(fields, depth)
        made = ColumnTransformer(
            parts,
            remainder=rest,
            sparse_threshold=fields.number("sparse_threshold", 0.0),
            verbose_feature_names_out=fields.flag("long_names"),
        )
        names = [name for name, _, _ in parts]
        reserved = {"remainder", *made.get_params(deep=False)}
        if len(set(names)) < len(names) or any("__" in name or name in reserved for name in names):
            raise fields.wrong("columns", "parts of different names, which scikit-learn takes", "others")
        if not any(part != "drop" for _, part, _ in parts) and isinstance(rest, str) and rest == "drop":
            raise fields.wrong("columns", "one or more parts that are not dropped", "others")
        places = {name: i for i, name in enumerate(given)}
        if len(places) < len(given) or not all(name in places for _, _, columns in parts for name in _listed(columns)):
            raise fields.wrong("given", "the names of all columns, each once", given)
        made.sparse_output_ = fields.flag("sparse")
        _as_if_fitted(made, given, places, by_name=by_name)
        return made

    def flow(self, step: Any, before: Flow) -> Flow:
        """Take a table with these columns, and give all that the parts give."""
        names = getattr(step, "feature_names_in_", None)
        if names is None:
            if before.kind not in ("data", "table", "numbers") or before.width not in (None, step.n_features_in_):
                raise refused(step, f"{step.n_features_in_:,} columns", before)
        elif before.kind not in ("data", "table") or (before.names is not None and not {*names} <= {*before.names}):
            raise refused(step, "tables with its columns", before)
        parts = [part for _, part in _flows(step.transformers_, names is not None, before)]
        if names is not None:
            _check_kinds(step.transformers_)
        width, sparse = sum(part.width or 0 for part in parts), bool(step.sparse_output_)
        if not sparse and width >= _WIDEST_DENSE and any(part.sparse for part in parts):
            raise ModelFileError(
                f"A ColumnTransformer in a file gives dense matrices of fewer than {_WIDEST_DENSE:,} features. "
                f"Got {width:,} instead."
            )
        return Flow("numbers", width, sparse)


def _part_state(step: Any, name: str, part: Any, where: Any) -> State:
    """Return a part with what it takes of the columns, by their names where they have such."""
    chosen = step._transformer_to_input_indices[name]
    names = getattr(step, "feature_names_in_", None)
    listed = [int(i) if names is None else str(names[i]) for i in chosen]
    state = {"name": name, "columns": listed, "alone": bool(np.isscalar(where) and not isinstance(where, bool))}
    if isinstance(part, str) and part == "drop":
        return {**state, "drop": True}
    first = first_of(part)
    return {**state, "part": step_state(part), "holds": kind_of(first).held(first)}


def _part_from(fields: Fields, depth: int, *, by_name: bool) -> tuple[str, Any, Chosen]:
    name, alone = fields.text("name"), fields.flag("alone")
    columns: list[Any] = fields.texts("columns") if by_name else _numbers(fields)
    if not columns or (alone and len(columns) != 1) or len(set(columns)) < len(columns):
        raise fields.wrong("columns", "one or more columns, each once, and one if it is alone", columns)
    where = columns[0] if alone else columns
    if fields.has("drop"):
        fields.flag("drop")
        fields.end()
        return name, "drop", where
    return name, _step_of(fields, depth), where


def _numbers(fields: Fields) -> list[int]:
    return fields.listed("columns", "numbers of columns", lambda each: type(each) is int and 0 <= each < _MOST_COLUMNS)


def _rest_from(fields: Fields, depth: int) -> Any:
    """Return what becomes of the other columns."""
    if not fields.has("remainder"):
        return "drop"
    return _step_of(fields.part("remainder"), depth)


def _step_of(fields: Fields, depth: int) -> FrozenEstimator:
    """Return the step of a part, held fast."""
    part = step_from(fields.part("part"), depth + 1)
    first = first_of(part)
    fields.text("holds", [kind_of(first).held(first)])  # which is for those who only look at the manifest
    fields.end()
    return FrozenEstimator(part)


def _listed(columns: Any) -> list[Any]:
    return columns if isinstance(columns, list) else [columns]


def _as_if_fitted(made: Any, given: list[Any], places: dict[Any, int], *, by_name: bool) -> None:
    """Set what a ColumnTransformer keeps of a fit; a test compares it with one that was fitted."""
    indices = {name: [places[column] for column in _listed(columns)] for name, _, columns in made.transformers}
    unused = np.ones(len(given), dtype=bool)
    for used in indices.values():
        unused[used] = False
    rest = np.flatnonzero(unused).tolist()
    if by_name:
        made.feature_names_in_ = np.array(given, dtype=object)
    made.n_features_in_ = len(given)
    fitted = made.remainder
    if isinstance(fitted, FrozenEstimator) and isinstance(unfrozen(fitted), FunctionTransformer):
        made.remainder = "passthrough"
    made._columns = [columns for _, _, columns in made.transformers]
    made._transformer_to_input_indices = {**indices, "remainder": rest}
    others = [given[i] for i in rest]
    made._remainder = ("remainder", made.remainder, others)
    made.transformers_ = [*made.transformers, ("remainder", fitted, others)] if rest else list(made.transformers)
    made.output_indices_, at = {}, 0
    for name, flow in _flows(made.transformers_, by_name, Flow("data")):
        made.output_indices_[name] = slice(at, at + (flow.width or 0))
        at += flow.width or 0
    for name in (*indices, "remainder"):
        made.output_indices_.setdefault(name, slice(0, 0))


def _flows(transformers: list[tuple[str, Any, Any]], by_name: bool, before: Flow) -> list[tuple[str, Flow]]:
    """Return what each part of a ColumnTransformer gives of its columns; what is dropped gives nothing."""
    found = []
    for name, part, columns in transformers:
        if isinstance(part, str) and part == "drop":
            continue
        flow = after(part, _given_to(columns, by_name, before))
        if flow.kind != "numbers":
            raise ModelFileError(f"The part {name!r} of a ColumnTransformer gives {flow}, and not numbers.")
        found.append((name, flow))
    return found


def _given_to(columns: Any, by_name: bool, before: Flow) -> Flow:
    """Return what a part gets."""
    if not isinstance(columns, list):
        return Flow("texts")
    if by_name:
        return Flow("table", len(columns), sparse=False, names=tuple(columns))
    return Flow(before.kind if before.kind == "numbers" else "data", len(columns), before.sparse)


def _check_kinds(transformers: list[tuple[str, Any, Any]]) -> None:
    """Refuse columns that one part takes for texts and another for numbers: no table has such columns."""
    kinds: dict[str, bool] = {}
    for _, part, columns in transformers:
        if isinstance(part, str):
            continue
        first, names = first_of(part), _listed(columns)
        for name, as_texts in zip(names, kind_of(first).text_columns(first, len(names)), strict=True):
            if as_texts is not None and kinds.setdefault(name, as_texts) != as_texts:
                raise ModelFileError(f"A ColumnTransformer takes the column {name!r} as texts and as numbers.")
