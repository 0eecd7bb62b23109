"""Encoders of tables, scalers and imputers as nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron.data._columns import _Chance, _Date, _Discrete, _Number, _Text, _Truth
from votron.errors import VotronError
from votron.export._graph import Graph


def encoded(graph: Graph, steps: list[Any], n_features: int) -> str:
    """Add the inputs, and what the steps before the classifier make of them."""
    if steps and isinstance(steps[0], ColumnTransformer):
        graph.reserve(name for _, _, names in steps[0].transformers_ for name in names)
        name = _table(graph, steps[0])
        steps = steps[1:]
    else:
        graph.reserve("X")
        name = graph.input("X", "double", _width(steps, n_features))
    for step in steps:
        name = _step(graph, step, name)
    return name


def steps_of(pipeline: Any) -> list[Any]:
    """Return the transformers of a pipeline in turn, those within pipelines too, without steps that do nothing."""
    while isinstance(pipeline, FrozenEstimator):  # as the parts of an encoder from a model file are
        pipeline = pipeline.estimator
    if not isinstance(pipeline, Pipeline):
        return [] if pipeline is None or pipeline == "passthrough" else [pipeline]
    return [found for _, step in pipeline.steps for found in steps_of(step)]


def _width(steps: list[Any], n_features: int) -> int:
    return int(getattr(steps[0], "n_features_in_", n_features)) if steps else n_features


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(graph: Graph, encoder: ColumnTransformer) -> str:
    """Add one input a column, and the features of all of them side by side."""
    parts = []
    for _, transformer, columns in encoder.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        if isinstance(columns, str) or not all(isinstance(column, str) for column in columns):
            raise _cannot(transformer, "of a ColumnTransformer that Votron has not made")
        parts.append(_columns(graph, steps_of(transformer), list(columns)))
    return _side_by_side(graph, parts)


def _side_by_side(graph: Graph, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


def _columns(graph: Graph, steps: list[Any], columns: list[str]) -> str:
    """Add the inputs that one transformer takes, and its features."""
    first, rest = steps[0], steps[1:]
    if isinstance(first, _Text):
        raise VotronError(
            f"The column {columns[0]!r} holds texts, whose words cannot be told apart in ONNX as they are here: export "
            "a model without it."
        )
    if isinstance(first, _Date):
        raise VotronError(
            f"The column {columns[0]!r} holds dates, which ONNX has no operators for: export a model without it, or "
            "one that was trained on the numbers that matter of them, such as the month."
        )
    if isinstance(first, _Discrete):
        name = _discrete(graph, first.values, columns[0])
    elif isinstance(first, _Number | _Chance | _Truth):
        name = _side_by_side(graph, [graph.input(column, "double", 1) for column in columns])
    else:
        raise _cannot(first, f"of column {columns[0]!r}")
    for step in rest:
        name = _step(graph, step, name)
    return name


def _discrete(graph: Graph, values: tuple[Any, ...], column: str) -> str:
    """Add a 0/1 feature for each value; others set none."""
    if all(isinstance(value, str) for value in values):
        name = graph.input(column, "string", 1)
        codes = graph.node("OneHotEncoder", name, domain="ai.onnx.ml", cats_strings=list(values), zeros=1)
        shape = graph.constant(np.array([-1, len(values)], dtype=np.int64))
        return graph.double(graph.node("Reshape", codes, shape))
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        raise VotronError(
            f"The column {column!r} cannot be exported to ONNX: its values must be text or numbers. Got {values[0]!r} "
            "instead."
        ) from None
    name = graph.input(column, "double", 1)
    return graph.double(graph.node("Equal", name, graph.constant(numbers[None, :])))


# -- scalers and imputers ---------------------------------------------------------------------------------------------


def _step(graph: Graph, step: Any, name: str) -> str:
    """Add one transformer of numbers."""
    kind = type(step)
    if kind is StandardScaler:
        name = graph.node("Sub", name, graph.constant(step.mean_)) if step.with_mean else name
        return graph.node("Div", name, graph.constant(step.scale_)) if step.with_std else name
    if kind is RobustScaler:
        name = graph.node("Sub", name, graph.constant(step.center_)) if step.with_centering else name
        return graph.node("Div", name, graph.constant(step.scale_)) if step.with_scaling else name
    if kind is MinMaxScaler:
        name = graph.node("Mul", name, graph.constant(step.scale_))
        return _clipped(graph, step, graph.node("Add", name, graph.constant(step.min_)), *step.feature_range)
    if kind is MaxAbsScaler:
        return _clipped(graph, step, graph.node("Div", name, graph.constant(step.scale_)), -1.0, 1.0)
    if kind is Normalizer and step.norm == "l2":
        lengths = graph.node("Sqrt", graph.squares(name))
        zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
        return graph.node("Div", name, graph.node("Where", graph.node("Equal", lengths, zero), one, lengths))
    if kind is SimpleImputer and _fills_nan(step):
        return _imputed(graph, step, name)
    raise _cannot(step, "before the classifier")


def _fills_nan(step: SimpleImputer) -> bool:
    """Tell whether an imputer puts numbers where NaN stands, and does no more."""
    numbers = np.asarray(step.statistics_).dtype.kind == "f" and isinstance(step.missing_values, float)
    return numbers and bool(np.isnan(step.missing_values)) and not step.add_indicator


def _clipped(graph: Graph, step: Any, name: str, low: float, high: float) -> str:
    if not getattr(step, "clip", False):
        return name
    return graph.node("Clip", name, graph.constant(np.float64(low)), graph.constant(np.float64(high)))


def _imputed(graph: Graph, step: SimpleImputer, name: str) -> str:
    fill = np.asarray(step.statistics_, dtype=np.float64)
    if np.isnan(fill).any() and not step.keep_empty_features:  # columns without any value, which are left out
        kept = np.flatnonzero(~np.isnan(fill))
        name, fill = graph.columns(name, kept), fill[kept]
    return graph.node("Where", graph.node("IsNaN", name), graph.constant(fill), name)


def _cannot(step: Any, where: str) -> VotronError:
    return VotronError(
        f"A step {type(step).__name__} {where} cannot be exported to ONNX: encoders that Votron made, "
        "StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer and SimpleImputer can be. Export the "
        "classifier alone, and encode before it."
    )
