"""Export of fitted models to ONNX, in double precision and with operators that every ONNX runtime has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from votron import __version__
from votron._util.files import write_bytes
from votron._util.types import Array, Estimator
from votron.errors import VotronError
from votron.estimators.base import LEAST_POSITIVE, VotronClassifier
from votron.estimators.compact import CompactClassifier
from votron.export._graph import Expression, Graph, Proto, Shape
from votron.products import squares
from votron.rules.forms import Expansion, Form, Linear
from votron.tables import TableEncoder

__all__ = ["to_onnx", "write_onnx"]

_WHOLE = "int64", np.int64
_LABELS: dict[str, tuple[str, type]] = {
    **{"i": _WHOLE, "u": _WHOLE},
    **{"b": ("bool", np.bool_), "f": ("double", np.float64), "U": ("string", np.object_)},
}
"""The types of labels by the kind of their array."""


def to_onnx(model: Estimator, *, probabilities: bool = False) -> Proto:
    """Return a fitted model as an ONNX graph.

    A classifier becomes a graph with one input, ``X``, a tensor of doubles of shape (n, n_features). A pipeline with a
    `votron.TableEncoder` has one input for each column, with the column's name: doubles of shape (n, 1) for numbers
    and Booleans (1 and 0), text of shape (n, 1) for categories. A missing value is NaN, or any text that is no
    category. The outputs are ``label`` (int64, string, double or bool) and ``scores`` (double), as `decision_function`
    returns them.

    Parameters
    ----------
    model : classifier of Votron, or scikit-learn Pipeline that ends in one
        A model that predicts by one vector for each class: linear models, and kernels with the rules "last",
        "average", "pocket" and "holdout", except for precomputed kernels and functions. Before it may stand a
        TableEncoder without columns of text, and scikit-learn's StandardScaler, RobustScaler, MinMaxScaler,
        MaxAbsScaler, Normalizer and SimpleImputer.
    probabilities : bool, default=False
        Whether there is a third output, ``probabilities``, as `predict_proba` returns them.

    Returns
    -------
    onnx.ModelProto
        The checked model. ``onnx.save`` writes it, and so does `write_onnx`. Its properties name the classes.

    Notes
    -----
    The graph computes in double precision, so scores differ from the model's in the last digits only. It does not
    refuse rows that the model would refuse. Support vectors keep their type in the file: a byte for each pixel. The
    kernel values of a batch are in memory at once, 8 bytes for each row and support vector.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.export import to_onnx
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, rule="average", random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> label, scores = session.run(None, {"X": X[:5]})
    >>> label.tolist(), model.predict(X[:5]).tolist()
    ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """
    *steps, classifier = _steps_of(model) or [None]
    if not isinstance(classifier, VotronClassifier):
        raise VotronError(
            "to_onnx takes a classifier of Votron, or a scikit-learn Pipeline that ends in one. "
            f"Got {type(classifier).__name__} instead."
        )
    check_is_fitted(classifier)
    compact = _compact(classifier)
    if probabilities and not hasattr(compact, "predict_proba"):
        raise VotronError(
            f"This {type(classifier).__name__} has no probabilities to export: export it without, or fit a "
            "VotedPerceptronClassifier or an AveragedPerceptronClassifier again."
        )
    graph = Graph(outputs=("label", "scores", *(("probabilities",) if probabilities else ())))
    rows = _encoded(graph, steps, int(compact.n_features_in_))
    _predictions(graph, compact, _scores(graph, compact._predictor, rows), probabilities)
    return graph.model(__version__, f"{compact.made_from_} ({compact.rule_})", _properties(compact))


def write_onnx(model: Estimator, path: str | os.PathLike[str], *, probabilities: bool = False) -> None:
    """Write a fitted model as an ONNX file, whole or not at all.

    Parameters
    ----------
    model : classifier of Votron, or scikit-learn Pipeline that ends in one
        As in `to_onnx`.
    path : str or path-like
        The file; by custom its name ends in ``.onnx``.
    probabilities : bool, default=False
        As in `to_onnx`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from votron import AveragedPerceptronClassifier
    >>> from votron.export import write_onnx
    >>> model = AveragedPerceptronClassifier(random_state=0).fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_onnx(model, Path(folder) / "model.onnx")
    ...     [file.name for file in Path(folder).iterdir()]
    ['model.onnx']
    """
    content = to_onnx(model, probabilities=probabilities).SerializeToString()
    try:
        write_bytes(Path(path), content)
    except OSError as error:
        raise VotronError(f"Cannot write the ONNX file {os.fspath(path)!r}: {error.strerror}.") from error


def _compact(classifier: VotronClassifier) -> CompactClassifier:
    compact: CompactClassifier = classifier.compact()
    if compact.form_ == "sequence":
        raise VotronError(
            f"The rule {compact.rule_!r} needs every vector of training, for which ONNX has no operator: export by the "
            "rule 'average', which predicts much the same, with model.with_rule('average') in Python or --rule average "
            "on the command line."
        )
    return compact


def _encoded(graph: Graph, steps: list[Estimator], n_features: int) -> str:
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


def _steps_of(pipeline: Estimator) -> list[Estimator]:
    """Return the steps of a pipeline and of pipelines within it, without those that do nothing."""
    while isinstance(pipeline, FrozenEstimator):  # as the parts of an encoder from a model file are
        pipeline = pipeline.estimator
    if not isinstance(pipeline, Pipeline):
        return [] if pipeline is None or pipeline == "passthrough" else [pipeline]
    return [found for _, step in pipeline.steps for found in _steps_of(step)]


def _step(graph: Graph, step: Estimator, name: str) -> str:
    kind = type(step)
    if kind in (StandardScaler, RobustScaler):
        centre = getattr(step, "center_", None) if kind is RobustScaler else step.mean_ if step.with_mean else None
        name = name if centre is None else graph.node("Sub", name, graph.constant(centre))
        return name if step.scale_ is None else graph.node("Div", name, graph.constant(step.scale_))
    if kind in (MinMaxScaler, MaxAbsScaler):
        low, high = -1.0, 1.0
        if kind is MinMaxScaler:
            name = graph.node("Mul", name, graph.constant(step.scale_))
            name = graph.node("Add", name, graph.constant(step.min_))
            low, high = map(float, step.feature_range)
        else:
            name = graph.node("Div", name, graph.constant(step.scale_))
        clips = getattr(step, "clip", False)
        return graph.node("Clip", name, graph.constant(low), graph.constant(high)) if clips else name
    if kind is Normalizer and step.norm == "l2":
        lengths = graph.node("Sqrt", graph.squares(name))
        zero, one = graph.constant(0.0), graph.constant(1.0)
        return graph.node("Div", name, graph.node("Where", graph.node("Equal", lengths, zero), one, lengths))
    if kind is SimpleImputer and step.missing_values is np.nan and not step.add_indicator:
        fill = np.asarray(step.statistics_, dtype=np.float64)
        if np.isnan(fill).any() and not step.keep_empty_features:  # it leaves out columns without any value
            kept = np.flatnonzero(~np.isnan(fill))
            name, fill = graph.node("Gather", name, graph.constant(kept), axis=1), fill[kept]
        return graph.node("Where", graph.node("IsNaN", name), graph.constant(fill), name)
    raise VotronError(
        f"A step {kind.__name__} before the classifier cannot be exported to ONNX: TableEncoder, StandardScaler, "
        "RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer and SimpleImputer can be. Export the classifier alone, "
        "and transform rows before it."
    )


def _scores(graph: Graph, form: Form, rows: str) -> str:
    """Add the scores, one column for each vector."""
    if isinstance(form, Linear):
        if form.boolean and form.binarize is not None:
            rows = graph.double(graph.node("Greater", rows, graph.constant(float(form.binarize))))
        scores = graph.product(rows, graph.columns_of(form.coef), graph.constant(form.intercept))
    else:
        assert isinstance(form, Expansion)
        scores = graph.product(_kernel_values(graph, form, rows), graph.constant(form.dual_coef.T))
    return scores if form.divisor is None else graph.node("Div", scores, graph.constant(form.divisor))


def _kernel_values(graph: Graph, form: Expansion, rows: str) -> str:
    theirs = squares(form.support_rows)[None, :]
    dots = graph.product(rows, graph.columns_of(form.support_rows))
    try:
        with np.errstate(all="ignore"):  # a support vector of length 0 divides by it where nothing uses it
            values = form.kernel.formula(Expression(graph, dots), Expression(graph, graph.squares(rows)), theirs)
    except VotronError as error:
        raise VotronError(
            f"{form.kernel!r} cannot be exported to ONNX: it is not a formula of dot products. linear, poly, rbf and "
            "conjunction kernels can be, normalised or not, and one over another."
        ) from error
    name: str = values.name
    return name


def _predictions(graph: Graph, compact: CompactClassifier, scores: str, probabilities: bool) -> None:
    """Add the outputs."""
    kind, labels = _labels(compact.classes_)
    shape: Shape = ["n", len(labels)]
    columns = scores
    if len(labels) == 2:
        shape, zero = ["n"], graph.constant(0.0)
        scores = graph.node("Reshape", scores, graph.constant(np.array([-1], dtype=np.int64)))
        if not compact._ties_to_first:  # a score of 0 predicts the second class, and its sign must say so
            least = graph.constant(LEAST_POSITIVE)
            scores = graph.node("Where", graph.node("Equal", scores, zero), least, scores)
        codes = graph.whole(graph.node("Greater", scores, zero))
    else:
        codes = graph.node("ArgMax", scores, axis=1, keepdims=0)  # the first of equal ones
    graph.output("label", kind, ["n"], graph.node("Gather", graph.constant(labels), codes))
    graph.output("scores", "double", shape, scores)
    if probabilities:
        # two classes have one column: its sigmoid is the softmax of half of it with both signs
        slope = compact._slope() / (2 if len(labels) == 2 else 1)
        logits = graph.node("Mul", columns, graph.constant(slope))
        if len(labels) == 2:
            logits = graph.node("Concat", graph.node("Neg", logits), logits, axis=1)
        graph.output("probabilities", "double", ["n", len(labels)], graph.node("Softmax", logits, axis=1))


def _labels(classes: Array) -> tuple[str, Array]:
    """Return the type of the labels in ONNX, and the labels."""
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        return "string", classes
    kind, dtype = _LABELS[classes.dtype.kind]
    return kind, classes.astype(dtype)


def _properties(compact: CompactClassifier) -> dict[str, str]:
    found = {
        "classes": json.dumps(compact.classes_.tolist(), ensure_ascii=False),
        "estimator": compact.made_from_,
        "rule": compact.rule_,
        "n_features": str(compact.n_features_in_),
    }
    if compact.form_ == "expansion":
        found |= {"kernel": repr(compact.kernel_), "support_vectors": str(len(compact.support_))}
    names = getattr(compact, "feature_names_in_", None)
    return found if names is None else found | {"feature_names": json.dumps(list(names), ensure_ascii=False)}
