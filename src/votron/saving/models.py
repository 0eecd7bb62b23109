"""Models in files: `save` and `load`, for fitted classifiers and pipelines that end in one, and `read_manifest`.

A file is arrays in the safetensors format and a manifest in JSON (`votron.saving.container`), which becomes typed
structs that forbid other fields. Nothing in it is code, so a file from anywhere can be opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from sklearn.pipeline import Pipeline

from votron import __version__
from votron._util.files import replacing
from votron.errors import ModelFileError, Parameter, VotronError
from votron.estimators.pipelines import ClassifierPipeline
from votron.saving.classifiers import AnyClassifier, classifier_from, classifier_state
from votron.saving.container import Content, Source, called, decoded, packed, read_content
from votron.saving.parts import State, plain
from votron.saving.steps import Named, named_from, named_states
from votron.saving.tensors import Tensors

__all__ = ["Manifest", "load", "read_manifest", "save", "summary_of"]

FORMAT = 1
_LONGEST_REASON = 400


class Stored(State):
    """The manifest of a file, as it stands there."""

    format: int
    votron: str
    model: AnyClassifier
    steps: list[Named]
    last: str | None
    """What the classifier is called in a pipeline; None without one."""
    summary: dict[str, Any]
    provenance: dict[str, Any]
    certificate: dict[str, Any] | None


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
        The file; by custom its name ends in ``.votron``. What was there is replaced when all is written, and opens.
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
    ...     bool((load(path).predict(X) == model.predict(X)).all())
    True
    """
    as_pipeline = isinstance(model, Pipeline)
    *before, (last, classifier) = model.steps if as_pipeline else [("model", model)]
    found: dict[str, Any] = {}
    if hasattr(classifier, "_for_file") and not isinstance(classifier, type):
        classifier, found = classifier._for_file()
    tensors = Tensors({})
    stored = Stored(
        format=FORMAT,
        votron=__version__,
        model=classifier_state(classifier, tensors.at("model")),
        steps=named_states(before, tensors.at("steps")),
        last=last if as_pipeline else None,
        summary=summary_of(classifier),
        provenance={**found, **_as_json("provenance", {} if provenance is None else provenance)},
        certificate=None if certificate is None else _certificate(certificate),
    )
    try:
        content = packed(msgspec.json.encode(stored, enc_hook=plain), tensors.arrays)
    except UnicodeEncodeError as error:
        raise ModelFileError(f"This model cannot be saved, since its names are not Unicode: {error}.") from None
    try:
        with replacing(Path(os.fsdecode(path))) as temporary:
            temporary.write_bytes(content)
            _check_opens(temporary)
    except (OSError, ValueError) as error:
        if isinstance(error, VotronError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"Cannot write the model file {called(path)}: {reason}.") from error


def _check_opens(path: Path) -> None:
    """Refuse a file that could not be opened again, while the model is still there."""
    try:
        load(path, mmap=True)
    except ModelFileError as error:
        reason = str(error).partition(": ")[2]
        raise ModelFileError(f"This model cannot be saved: {reason}") from None


def _as_json(what: str, value: Any) -> dict[str, Any]:
    """Return what JSON makes of a dict, or refuse what a file cannot hold."""
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        return dict(json.loads(text.encode("utf-8", "replace")))  # names of files need not be Unicode
    except (TypeError, ValueError, RecursionError) as error:
        raise VotronError(
            Parameter(what, of="a model", short=True),
            f" must be a dict of text, numbers, lists and dicts: {error}.",
        ) from None


def _certificate(certificate: Any) -> dict[str, Any]:
    if not hasattr(certificate, "to_dict"):
        raise VotronError(
            Parameter("certificate", of="a model", short=True),
            f" must be what votron.certify returns. Got {certificate!r} instead.",
        )
    return _as_json("certificate", certificate.to_dict())


def summary_of(model: Any) -> dict[str, Any]:
    """Return what people want to know of a fitted classifier, as far as it has it."""
    found: dict[str, Any] = {
        "features": int(model.n_features_in_),
        "vectors": 1 if len(model.classes_) == 2 else len(model.classes_),
    }
    if hasattr(model, "kernel_"):
        found["kernel"] = repr(model.kernel_)
    rule = getattr(model, "rule_", getattr(model, "rule", None))
    if rule is not None:
        found["rule"] = str(rule)
    if hasattr(model, "support_"):
        found["support"] = len(model.support_)
    if hasattr(model, "n_epochs_"):
        found["epochs"] = float(model.history_.passes)
    if hasattr(model, "converged_"):
        found["converged"] = bool(model.converged_)
    for key in ("n_mistakes", "n_support", "margin", "best_margin"):
        if hasattr(model, f"{key}_"):
            found["mistakes" if key == "n_mistakes" else key] = getattr(model, f"{key}_").tolist()
    if hasattr(model, "record_"):
        found["examples"], found["steps"] = int(model.record_.n_examples), int(model.record_.n_steps)
        found["record"] = model.record_.digest()
    if hasattr(model, "made_from_"):
        found.update(made_from=model.made_from_, form=model.form_, gave_up=list(model.gave_up_))
    return found


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Open a model file.

    Nothing in a file is run, and nothing is built before it is checked, so a file from elsewhere can be opened; whether
    its predictions are any good is another matter.

    Parameters
    ----------
    path : str or path-like
        The file.
    mmap : bool, default=False
        Map arrays into memory instead of reading them: processes that open the same file share them, and a model that
        is larger than memory opens. Only for files that nobody writes into: what is mapped can change after it was
        checked, and if the file is cut short, using the model ends the process (SIGBUS). `save` does neither: it puts a
        new file in the place of the old one, which stays whole for those who have it mapped.

    Returns
    -------
    classifier or ClassifierPipeline
        The model as it was saved. A pipeline offers what its classifier does, such as ``with_rule`` and ``record_``.

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
    name = called(path)
    return _model_of(read_content(path, name, mmap=mmap), name)


def load_with_manifest(path: Source, *, name: str | None = None) -> tuple[Any, Manifest]:
    """Return a model as `load` does, and what its file says of it, from one reading of the file, or of a stream."""
    name = called(path) if name is None else name
    content = read_content(path, name)
    manifest = _manifest_of(content, name)
    return _model_of(content, name), manifest


def _model_of(content: Content, name: str) -> Any:
    """Return the model in a file that was read."""
    with _naming(name):
        stored, tensors = _stored(content), Tensors(content.arrays, content.n_bytes)
        steps = named_from(stored.steps, tensors.at("steps")) if stored.steps else []
        if stored.last in {step for step, _ in steps}:
            raise ModelFileError("the steps of its pipeline must have different names.")
        model = classifier_from(stored.model, tensors.at("model"))
        tensors.none_left()
    return model if stored.last is None else ClassifierPipeline([*steps, (stored.last, model)])


def _stored(content: Content) -> Stored:
    number = decoded(content.manifest, dict[str, msgspec.Raw], "manifest").get("format", b"0")
    if bytes(number) != str(FORMAT).encode():
        raise ModelFileError(
            f"it is of format {bytes(number)[:20].decode('ascii', 'replace')}, and this version of Votron reads format "
            f"{FORMAT}: upgrade Votron."
        )
    found: Stored = decoded(content.manifest, Stored, "manifest")
    return found


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Make errors of what is in a file speak of the file, in one sentence."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise ModelFileError(f"The model file {name} cannot be opened: {text[:_LONGEST_REASON]}.") from None


# -- the manifest -----------------------------------------------------------------------------------------------------


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
        The names of the steps before the classifier.
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
    ...     VotedPerceptronClassifier(random_state=0).fit(*load_iris(return_X_y=True)).save(path)
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
    provenance: dict[str, Any]
    certificate: dict[str, Any] | None
    sha256: str
    n_bytes: int


def read_manifest(path: Source, *, name: str | None = None) -> Manifest:
    """Return what a model file says of its model, without building it.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, or what gives its bytes, such as ``sys.stdin.buffer``.
    name : str, optional
        What to call it in errors; by default its path, in quotes.

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
    name = called(path) if name is None else name
    return _manifest_of(read_content(path, name), name)


def _manifest_of(content: Content, name: str) -> Manifest:
    with _naming(name):
        stored = _stored(content)
        classes = Tensors(dict(content.arrays), content.n_bytes).at("model").labels("classes").tolist()
    return Manifest(
        format=stored.format,
        votron=stored.votron,
        estimator=stored.model.cls.__name__,
        params=msgspec.to_builtins(stored.model.params),
        classes=classes,
        summary=stored.summary,
        steps=[each.name for each in stored.steps],
        provenance=stored.provenance,
        certificate=stored.certificate,
        sha256=content.sha256,
        n_bytes=content.n_bytes,
    )
