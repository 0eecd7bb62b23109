"""Saving and loading of fitted classifiers, and of pipelines that end in one, by a manifest of typed structs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from sklearn.pipeline import Pipeline

from votron import __version__
from votron._util.files import replacing
from votron._util.types import Estimator, Params
from votron.errors import ModelFileError, VotronError
from votron.estimators.base import VotronClassifier
from votron.estimators.pipelines import ClassifierPipeline
from votron.saving.classifiers import AnyClassifier, classifier_from, classifier_state
from votron.saving.container import Content, Source, Tensors, called, decoded, packed, plain, read_content
from votron.saving.parts import State
from votron.saving.steps import Named, named_states
from votron.theory import Certificate

FORMAT = 1


class _Version(msgspec.Struct):
    format: int


class Stored(State):
    format: int
    votron: str
    model: AnyClassifier
    steps: list[Named]
    last: str | None  # the classifier's name in a pipeline; None without one
    provenance: Params
    certificate: Certificate | None


def save(
    model: Estimator,
    path: str | os.PathLike[str],
    *,
    certificate: Certificate | None = None,
    provenance: Mapping[str, object] | None = None,
) -> None:
    """Save a fitted model in one file, which `load` opens.

    The file contains no code, so kernels that are Python functions cannot be saved.

    Parameters
    ----------
    model : classifier of Votron, or Pipeline that ends in one
        The model. The steps before it may be `votron.tabular_encoder`, scalers, and vectorizers of text.
    path : str or path-like
        The file, usually with the extension ``.votron``. An existing file is replaced once the new one is complete.
    certificate : Certificate, optional
        The certificate from `votron.certify`, to store with the model.
    provenance : dict, optional
        The origin of the model, as text, numbers, lists and dicts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron import VotedPerceptronClassifier, load, save
    >>> model = VotedPerceptronClassifier(kernel="linear").fit([[1], [2]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, pathlib.Path(folder, "m.votron"))
    ...     load(pathlib.Path(folder, "m.votron"))
    VotedPerceptronClassifier(kernel='linear')
    """
    as_pipeline = isinstance(model, Pipeline)
    *before, (last, classifier) = model.steps if as_pipeline else [("model", model)]
    if isinstance(classifier, VotronClassifier):
        classifier = classifier._predicting_model()
    tensors = Tensors({})
    stored = Stored(
        format=FORMAT,
        votron=__version__,
        model=classifier_state(classifier, tensors.at("model")),
        steps=named_states(before, tensors.at("steps")),
        last=last if as_pipeline else None,
        provenance=_as_json({} if provenance is None else provenance),
        certificate=certificate,
    )
    try:
        content = packed(msgspec.json.encode(stored, enc_hook=plain), tensors.arrays)
        with replacing(Path(os.fsdecode(path))) as temporary:
            temporary.write_bytes(content)
            load(temporary, mmap=True)
    except ModelFileError as error:
        raise ModelFileError(f"This model cannot be saved: {str(error).partition(': ')[2]}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"Cannot write the model file {called(path)}: {reason}.") from error


def _as_json(provenance: Mapping[str, object]) -> Params:
    try:
        text = json.dumps(dict(provenance), allow_nan=False, ensure_ascii=False)
        return dict(json.loads(text.encode("utf-8", "replace")))  # names of files need not be Unicode
    except (TypeError, ValueError, RecursionError) as error:
        raise VotronError(
            f"The 'provenance' of a model must be a dict of text, numbers, lists and dicts: {error}.",
            parameter="provenance",
        ) from None


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Estimator:
    """Open a model file.

    Opening a file runs no code from it, so files from untrusted sources can be opened; their predictions may be wrong.

    Parameters
    ----------
    path : str or path-like
        The file.
    mmap : bool, default=False
        Map arrays into memory instead of reading them, so that processes share them. Only for files that are not
        changed in place: if one is truncated, using the model ends the process (SIGBUS).

    Returns
    -------
    classifier or ClassifierPipeline
        The model as it was saved. A pipeline has its classifier as ``model[-1]``.

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


def load_with_manifest(path: Source, *, name: str | None = None) -> tuple[Estimator, Manifest]:
    """Return a model and its manifest, from one reading of a file or stream."""
    name = called(path) if name is None else name
    content = read_content(path, name)
    manifest = _manifest_of(content, name)
    return _model_of(content, name), manifest


def _model_of(content: Content, name: str) -> Estimator:
    with _naming(name):
        stored, tensors = _stored(content), Tensors(content.arrays, content.n_bytes)
        names = [*(each.name for each in stored.steps), stored.last]
        if len(set(names)) < len(names):
            raise ModelFileError("the steps of its pipeline must have different names.")
        steps = [(each.name, each.step.build(tensors.at(f"steps.{i}"))) for i, each in enumerate(stored.steps)]
        model = classifier_from(stored.model, tensors.at("model"))
        tensors.none_left()
    return model if stored.last is None else ClassifierPipeline([*steps, (stored.last, model)])


def _stored(content: Content) -> Stored:
    number = decoded(content.manifest, _Version, "manifest").format
    if number != FORMAT:
        raise ModelFileError(
            f"it is of format {number}, and this version of Votron reads format {FORMAT}: upgrade Votron."
        )
    return decoded(content.manifest, Stored, "manifest")


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Turn errors about the content of a file into one sentence about the file."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise ModelFileError(f"The model file {name} cannot be opened: {text[:400]}.") from None


@dataclass(frozen=True)
class Manifest:
    """Information in a model file about the model."""

    votron: str  # the version of Votron that wrote the file
    provenance: Params  # the origin of the model, as given to `votron.save`
    certificate: Certificate | None
    sha256: str  # of the content
    n_bytes: int


def read_manifest(path: Source) -> Manifest:
    """Return the information in a model file, given by its path or as a binary file, without building the model.

    Examples
    --------
    >>> read_manifest("no-such-file")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: Cannot read the model file 'no-such-file': No such file or directory.
    """
    name = called(path)
    return _manifest_of(read_content(path, name), name)


def _manifest_of(content: Content, name: str) -> Manifest:
    with _naming(name):
        stored = _stored(content)
    return Manifest(stored.votron, stored.provenance, stored.certificate, content.sha256, content.n_bytes)
