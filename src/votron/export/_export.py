"""Models as ONNX."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from votron import __version__
from votron._util.files import write_bytes
from votron._util.types import Array, Estimator
from votron.errors import VotronError
from votron.estimators.base import LEAST_POSITIVE, VotronClassifier
from votron.estimators.compact import CompactClassifier
from votron.export import _encoders
from votron.export._expressions import Expression
from votron.export._graph import Graph, Proto, import_onnx
from votron.products import squares
from votron.rules.forms import Expansion, Linear

_WHOLE = "int64", np.int64
_LABELS: dict[str, tuple[str, type]] = {
    **{"i": _WHOLE, "u": _WHOLE},
    **{"b": ("bool", np.bool_), "f": ("double", np.float64), "U": ("string", np.object_)},
}
"""The types of labels by the kind of their array."""


def to_onnx(model: Estimator, *, probabilities: bool = False) -> Proto:
    """Return a fitted model as an ONNX graph.

    A classifier becomes a graph with one input, ``X``, a tensor of doubles of shape (n, n_features). A pipeline with an
    `votron.TableEncoder` has one input a column, of the column's name:
    doubles of shape (n, 1) for numbers and truth values (1 and 0), text of shape (n, 1) for words; what is missing is
    NaN, or any text that is no value of the column. Outputs are ``label`` (int64, string, double or bool, as the
    classes are), of shape (n,), and ``scores`` (double), as `decision_function` returns them; on request also
    ``probabilities`` (double), as `predict_proba` does.

    Parameters
    ----------
    model : classifier of Votron, or scikit-learn Pipeline that ends in one
        What predicts by one vector a class: linear models, and kernels with the rules "last", "average", "pocket" and
        "holdout"; precomputed kernels and functions excepted. Before it may stand such an encoder without columns of
        texts, and scikit-learn's StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer and
        SimpleImputer.
    probabilities : bool, default=False
        Whether there shall be a third output, ``probabilities``, of shape (n, n_classes). Where scores are equal, so
        are these.

    Returns
    -------
    onnx.ModelProto
        The checked model. ``onnx.save`` writes it, and so does `write_onnx`. Its properties name the classes.

    Notes
    -----
    It computes in double precision, so scores differ from the model's in the last digits only. Numbers that do not fit
    into a double, and rows that the model would refuse (NaN; other values than 0 and 1, for Boolean features), are not
    refused by the graph. Support vectors keep their type in the file: a byte a pixel. The kernel values of a batch are
    in memory at once, 8 bytes for each row and support vector.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.export import to_onnx
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, rule="average", random_state=0).fit(X, y)
    >>> graph = to_onnx(model)
    >>> [tensor.name for tensor in (*graph.graph.input, *graph.graph.output)]
    ['X', 'label', 'scores']

    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> label, scores = session.run(None, {"X": X[:5]})
    >>> label.tolist(), model.predict(X[:5]).tolist()
    ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """
    import_onnx()
    steps, classifier = _taken_apart(model)
    compact = _compact(classifier)
    if probabilities and not hasattr(compact, "predict_proba"):
        raise VotronError(
            f"This {type(classifier).__name__} has no probabilities to export: export it without, or fit a "
            "VotedPerceptronClassifier or an AveragedPerceptronClassifier again."
        )
    graph = Graph(outputs=("label", "scores", *(("probabilities",) if probabilities else ())))
    rows = _encoders.encoded(graph, steps, int(compact.n_features_in_))
    form = compact._predictor
    assert isinstance(form, Linear | Expansion)
    _predictions(graph, compact, _scores(graph, form, rows), probabilities)
    name = compact.made_from_
    return graph.model(__version__, f"{name} ({compact.rule_})", _facts(compact))


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


def _taken_apart(model: Estimator) -> tuple[list[Estimator], VotronClassifier]:
    """Return the transformers before the classifier, and the classifier."""
    *before, classifier = _encoders.steps_of(model) or [None]
    if not isinstance(classifier, VotronClassifier):
        raise VotronError(
            "to_onnx takes a classifier of Votron, or a scikit-learn Pipeline that ends in one. "
            f"Got {type(model if not isinstance(model, Pipeline) else classifier).__name__} instead."
        )
    check_is_fitted(classifier)
    return before, classifier


def _compact(classifier: Estimator) -> CompactClassifier:
    compact: CompactClassifier = classifier.compact()
    if compact.form_ == "sequence":
        remedy = (
            "export the model that this compact one was made from, by the rule 'average'."
            if isinstance(classifier, CompactClassifier)
            else "export by the rule 'average', which predicts much the same: model.with_rule('average') in Python, "
            "--rule average on the command line."
        )
        raise VotronError(
            f"The rule {compact.rule_!r} needs every vector of training, which ONNX has no operator for: {remedy}"
        )
    return compact


# -- the classifier ---------------------------------------------------------------------------------------------------


def _scores(graph: Graph, form: Linear | Expansion, rows: str) -> str:
    """Add the scores, a column a vector."""
    if isinstance(form, Linear):
        if form.boolean and form.binarize is not None:
            rows = graph.double(graph.node("Greater", rows, graph.constant(np.float64(form.binarize))))
        scores = graph.product(rows, graph.columns_of(form.coef), graph.constant(form.intercept))
    else:
        scores = _expansion(graph, form, rows)
    return scores if form.divisor is None else graph.node("Div", scores, graph.constant(form.divisor))


def _expansion(graph: Graph, form: Expansion, rows: str) -> str:
    theirs = squares(form.support_rows)[None, :]
    dots = graph.product(rows, graph.columns_of(form.support_rows))
    try:
        with np.errstate(all="ignore"):  # a support vector of length 0 divides by it where nothing uses it
            values = form.kernel.formula(Expression(graph, dots), Expression(graph, graph.squares(rows)), theirs)
    except VotronError as error:
        raise VotronError(
            f"{form.kernel!r} cannot be exported to ONNX: it is no formula of dot products. Kernels that can be are "
            "linear, poly, rbf and conjunction, normalised or not, and one over another."
        ) from error
    return graph.product(values.name, graph.constant(form.dual_coef.T))


def _predictions(graph: Graph, compact: CompactClassifier, scores: str, probabilities: bool) -> None:
    """Add the outputs."""
    kind, labels = _labels(compact.classes_)
    shape: list[int | str | None] = ["n", len(labels)]
    columns = scores
    if len(labels) == 2:
        shape = ["n"]
        scores = graph.node("Reshape", scores, graph.constant(np.array([-1], dtype=np.int64)))
        zero = graph.constant(np.float64(0.0))
        if not compact._ties_to_first:  # a score of 0 predicts the second class, and its sign is to say so
            least = graph.constant(np.float64(LEAST_POSITIVE))
            scores = graph.node("Where", graph.node("Equal", scores, zero), least, scores)
        codes = graph.whole(graph.node("Greater", scores, zero))
    else:
        codes = graph.node("ArgMax", scores, axis=1, keepdims=0)  # of equal ones the first
    graph.output("label", kind, ["n"], graph.node("Gather", graph.constant(labels), codes))
    graph.output("scores", "double", shape, scores)
    if probabilities:
        p = _softmax(graph, columns, compact._slope(), len(labels))
        graph.output("probabilities", "double", ["n", len(labels)], p)


def _softmax(graph: Graph, columns: str, slope: float, n_classes: int) -> str:
    """Add the probabilities; of two classes, which have one column, the sigmoid is the softmax of half of it, ±."""
    if n_classes > 2:
        return graph.node("Softmax", graph.node("Mul", columns, graph.constant(np.float64(slope))), axis=1)
    half = graph.node("Mul", columns, graph.constant(np.float64(slope / 2)))
    return graph.node("Softmax", graph.node("Concat", graph.node("Neg", half), half, axis=1), axis=1)


def _labels(classes: Array) -> tuple[str, Array]:
    """Return the type of the labels in ONNX, and the labels."""
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        return "string", classes
    kind, dtype = _LABELS[classes.dtype.kind]
    return kind, classes.astype(dtype)


def _facts(compact: CompactClassifier) -> dict[str, str]:
    """Return what people, and programs, may want to know of the model."""
    facts = {
        "classes": json.dumps(compact.classes_.tolist(), ensure_ascii=False),
        "estimator": compact.made_from_,
        "rule": compact.rule_,
        "n_features": str(compact.n_features_in_),
    }
    if compact.form_ == "expansion":
        facts |= {"kernel": repr(compact.kernel_), "support_vectors": str(len(compact.support_))}
    names = getattr(compact, "feature_names_in_", None)
    return facts if names is None else facts | {"feature_names": json.dumps(list(names), ensure_ascii=False)}
