"""Encoders of tables, scalers and imputers as nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron._util.types import Estimator
from votron.errors import VotronError
from votron.export._graph import Graph
from votron.tables import TableEncoder


def encoded(graph: Graph, steps: Sequence[Estimator], n_features: int) -> str:
    """Add the inputs, and what the steps before the classifier make of them."""
    if steps and isinstance(steps[0], TableEncoder):
        columns = steps[0].columns_
        graph.reserve(column.name for column in columns)
        parts = [column.to_onnx(graph) for column in columns]
        name = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
        steps = steps[1:]
    else:
        graph.reserve("X")
        width = getattr(steps[0], "n_features_in_", n_features) if steps else n_features
        name = graph.input("X", "double", int(width))
    for step in steps:
        name = _step(graph, step, name)
    return name


def steps_of(pipeline: Estimator) -> list[Estimator]:
    """Return the transformers of a pipeline in turn, those within pipelines too, without steps that do nothing."""
    while isinstance(pipeline, FrozenEstimator):  # as the parts of an encoder from a model file are
        pipeline = pipeline.estimator
    if not isinstance(pipeline, Pipeline):
        return [] if pipeline is None or pipeline == "passthrough" else [pipeline]
    return [found for _, step in pipeline.steps for found in steps_of(step)]


def _step(graph: Graph, step: Estimator, name: str) -> str:
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
    if kind is SimpleImputer and step.missing_values is np.nan and not step.add_indicator:
        return _imputed(graph, step, name)
    raise VotronError(
        f"A step {kind.__name__} before the classifier cannot be exported to ONNX: encoders that Votron made, "
        "StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer and SimpleImputer can be. Export the "
        "classifier alone, and encode before it."
    )


def _clipped(graph: Graph, step: Estimator, name: str, low: float, high: float) -> str:
    if not getattr(step, "clip", False):
        return name
    return graph.node("Clip", name, graph.constant(np.float64(low)), graph.constant(np.float64(high)))


def _imputed(graph: Graph, step: SimpleImputer, name: str) -> str:
    fill = np.asarray(step.statistics_, dtype=np.float64)
    if np.isnan(fill).any() and not step.keep_empty_features:  # columns without any value, which are left out
        kept = np.flatnonzero(~np.isnan(fill))
        name, fill = graph.columns(name, kept), fill[kept]
    return graph.node("Where", graph.node("IsNaN", name), graph.constant(fill), name)
