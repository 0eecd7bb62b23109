"""Model files: fitted classifiers, and pipelines that end in one, saved and opened again.

A file is arrays in the safetensors format and a manifest in JSON (`votron.saving.container`): nothing in it is code, so
a file from anywhere can be opened. Structure, types, sizes, finiteness and the digest are checked before a model is
built.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from votron import __version__
from votron.errors import ModelFileError, VotronError
from votron.estimators._states import CLASSES, model_from, state_of
from votron.saving.container import FORMAT, Container, read_container, write_container
from votron.saving.encoders import encoder_from, encoder_state
from votron.saving.fields import Fields, packed

__all__ = ["Manifest", "load", "read_manifest", "save"]

_KINDS = {
    "Discrete": "discrete",
    "Truth": "truth",
    "Text": "text",
    "HashingVectorizer": "text",
    "CountVectorizer": "text",
    "TfidfVectorizer": "text",
}
"""What a column holds, by the transformer that its values meet first; numbers otherwise."""
_LONGEST_REASON = 400
"""Characters of a reason that are shown: a file may have anything where a number should be."""


@dataclass(frozen=True)
class Manifest:
    """What a model file says of its model; made by `read_manifest`.

    Attributes
    ----------
    format : int
        Number of the file's format.
    votron : str
        The version that wrote it.
    estimator : str
        The class of the classifier.
    params : dict
        Its parameters.
    classes : list
        The labels.
    summary : dict
        Kernel, rule, support, mistakes and the like, as far as the classifier has them.
    steps : list of str
        What data go through before the classifier.
    columns : dict
        For each column of a table that the model wants: "number", "discrete", "truth" or "text"; empty for matrices.
    provenance : dict
        Where the model comes from, as whoever saved it said.
    certificate : dict or None
        What the theorems say of it (`votron.theory.Certificate.to_dict`), where it was saved with one.
    sha256 : str
        Digest of the content.
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.votron")
    ...     VotedPerceptronClassifier(degree=2, random_state=0).fit(*load_iris(return_X_y=True)).save(path)
    ...     manifest = read_manifest(path)
    >>> manifest.estimator, manifest.classes, manifest.summary["features"]
    ('VotedPerceptronClassifier', [0, 1, 2], 4)
    """

    format: int
    votron: str
    estimator: str
    params: dict[str, Any]
    classes: list[Any]
    summary: dict[str, Any]
    steps: list[str]
    columns: dict[str, str]
    provenance: dict[str, Any]
    certificate: dict[str, Any] | None
    sha256: str
    n_bytes: int


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    certificate: Any = None,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Save a fitted model in one file, which `load` opens.

    The file holds no code. Support vectors keep their type (pixels stay bytes), and sparse ones stay sparse. Kernels
    that are functions cannot be saved.

    Parameters
    ----------
    model : classifier of Votron, or Pipeline that ends in one
        The model. The steps before it may be `votron.tabular_encoder`, scalers, and vectorizers of text.
    path : str or path-like
        The file; by custom its name ends in ``.votron``. What was there is replaced when all is written.
    certificate : Certificate, optional
        What `votron.certify` found, to go with the model.
    provenance : dict, optional
        Where the model comes from, as text, numbers, lists and dicts.

    Raises
    ------
    ModelFileError
        If something of the model cannot be put into a file, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.votron")
    ...     save(model, path, provenance={"data": "Fisher's iris"})
    ...     bool((load(path, mmap=False).predict(X) == model.predict(X)).all())
    True
    """
    steps = list(model.steps) if isinstance(model, Pipeline) else [("model", model)]
    classifier = steps[-1][1]
    state = state_of(classifier)
    arrays: dict[str, Any] = {}
    manifest = {
        "votron": __version__,
        "pipeline": isinstance(model, Pipeline),
        "steps": [{"name": name, "step": encoder_state(step)} for name, step in steps[:-1]],
        "name": steps[-1][0],
        "model": state,
        "summary": _summary(classifier),
        "provenance": _plain("provenance", dict(provenance or {})),
        "certificate": None if certificate is None else _plain("certificate", certificate.to_dict()),
    }
    try:
        write_container(path, packed(manifest, arrays), arrays)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileError(f"Cannot write the model file {os.fspath(path)!r}: {reason}.") from error


def load(path: str | os.PathLike[str], *, mmap: bool = True) -> Any:
    """Open a model file.

    Nothing in a file is run, and nothing is built before it is checked, so a file from elsewhere can be opened; whether
    its predictions are any good is another matter.

    Parameters
    ----------
    path : str or path-like
        The file.
    mmap : bool, default=True
        Map arrays into memory instead of reading them: processes that open the same file share them. Do not write into
        a file that is mapped; `save` puts a new one in its place.

    Returns
    -------
    classifier or Pipeline
        The model as it was saved.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is not a model file, is damaged, was altered, or is of a later version.

    Examples
    --------
    >>> from votron import load
    >>> load("pyproject.toml")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: 'pyproject.toml' is not a model file of Votron.
    """
    found = read_container(path, mapped=mmap)
    with _naming(path):
        fields = _fields(found)
        steps = [(each.text("name"), encoder_from(each.part("step"))) for each in fields.parts("steps")]
        name, as_pipeline = fields.text("name"), fields.flag("pipeline")
        model = model_from(fields.part("model"))
        _check_rest(fields)
        names = [each for each, _ in steps] + [name]
        if len(set(names)) < len(names) or (steps and not as_pipeline):
            raise ModelFileError("The steps of a pipeline must have different names.")
    return Pipeline([*steps, (name, model)]) if as_pipeline else model


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return what a model file says of its model, without building it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Manifest
        What it says.

    Raises
    ------
    ModelFileError
        As `load` does.

    Examples
    --------
    >>> read_manifest("no-such-file")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: Cannot read the model file 'no-such-file': No such file or directory.
    """
    found = read_container(path)
    with _naming(path):
        fields = _fields(found)
        states = [each.part("step") for each in fields.parts("steps")]
        model = fields.part("model")
        return Manifest(
            format=found.manifest["format"],
            votron=found.manifest["votron"],
            estimator=model.text("class", CLASSES),
            params=_object(model, "params"),
            classes=model.part("classes").plain("values"),
            summary=_object(fields, "summary"),
            steps=[state.text("class") for state in states],
            columns={name: kind for state in states for name, kind in _columns(state)},
            provenance=_object(fields, "provenance"),
            certificate=_object(fields, "certificate") if fields.has("certificate") else None,
            sha256=found.sha256,
            n_bytes=found.n_bytes,
        )


class _naming:
    """Adds the file's name to errors about what is in it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = os.fspath(path)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ModelFileError) and not isinstance(error, ImportError):
            text = str(error)
            text = text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
            raise ModelFileError(f"The model file {self._name!r} cannot be opened: {text}") from None


def _fields(found: Container) -> Fields:
    """Return the manifest's fields, those of the container left out."""
    fields = Fields(found.manifest, dict(found.arrays), "manifest")
    fields.count("format", 1, FORMAT + 1)
    fields.text("votron")
    return fields


def _check_rest(fields: Fields) -> None:
    """Refuse what nobody has asked for, beside what is for people to read."""
    for name in ("summary", "provenance"):
        _object(fields, name)
    if fields.has("certificate"):
        _object(fields, "certificate")
    fields.end()
    fields.no_arrays_left()


def _object(fields: Fields, name: str) -> dict[str, Any]:
    value = fields.plain(name)
    if not isinstance(value, dict):
        raise fields.wrong(name, "a JSON object", value)
    return value


def _plain(what: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return what JSON makes of it, or refuse what JSON cannot hold."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise VotronError(f"The '{what}' of a model must be text, numbers, lists and dicts: {error}.") from None
    return plain


def _summary(model: Any) -> dict[str, Any]:
    """Return what people want to know of a model, as far as it has it."""
    found: dict[str, Any] = {
        "features": int(model.n_features_in_),
        "vectors": 1 if len(model.classes_) == 2 else len(model.classes_),
    }
    if hasattr(model, "kernel_"):
        found["kernel"] = repr(model.kernel_)
    rule = getattr(model, "rule_", getattr(model, "rule", None))
    if rule is not None:
        found["rule"] = str(rule)
    for key, attribute in (("support", "support_"), ("epochs", "n_epochs_"), ("converged", "converged_")):
        value = getattr(model, attribute, None)
        if value is not None:
            found[key] = len(value) if key == "support" else bool(value) if key == "converged" else float(value)
    for key in ("n_mistakes", "n_support", "margin", "best_margin"):
        if hasattr(model, f"{key}_"):
            found[key.removeprefix("n_") if key == "n_mistakes" else key] = _finite_list(getattr(model, f"{key}_"))
    if hasattr(model, "record_"):
        found["examples"], found["steps"] = int(model.record_.n_examples), int(model.record_.n_steps)
        found["record"] = model.record_.digest()
    if hasattr(model, "made_from_"):
        found.update(made_from=model.made_from_, form=model.form_, gave_up=list(model.gave_up_))
    return found


def _finite_list(values: Any) -> list[Any]:
    return [value if value == value and abs(value) != float("inf") else None for value in values.tolist()]


def _columns(state: Fields) -> list[tuple[str, str]]:
    """Return the columns of a table that an encoder wants, and what they hold."""
    if state.peek("steps") is not None:
        return [pair for each in state.parts("steps") for pair in _columns(each.part("step"))]
    if state.peek("columns") is None:
        return []
    return [
        (name, kind)
        for each in state.parts("columns")
        for kind in [_KINDS.get(_first_class(each.part("part")), "number")]
        for name in each.texts("columns")
    ]


def _first_class(state: Fields) -> str:
    return _first_class(state.parts("steps")[0].part("step")) if state.peek("steps") else state.text("class")
