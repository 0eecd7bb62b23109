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
from votron.errors import ModelFileError, VotronError
from votron.estimators.pipelines import ClassifierPipeline
from votron.saving.classifiers import AnyClassifier, classifier_from, classifier_state
from votron.saving.container import Content, Source, called, decoded, packed, read_content
from votron.saving.parts import State, strict
from votron.saving.steps import Named, named_from, named_states
from votron.saving.tensors import Tensors, plain
from votron.theory import Certificate

__all__ = ["Manifest", "load", "read_manifest", "save"]

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
    provenance: dict[str, Any]
    certificate: strict(Certificate) | None  # type: ignore[valid-type]


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
    if not isinstance(certificate, Certificate | None):
        raise VotronError(
            f"The 'certificate' of a model must be what votron.certify returns. Got {certificate!r} instead.",
            parameter="certificate",
        )
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
        provenance={**found, **_as_json({} if provenance is None else provenance)},
        certificate=certificate,
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


def _as_json(provenance: Any) -> dict[str, Any]:
    """Return what JSON makes of a dict, or refuse what a file cannot hold."""
    try:
        text = json.dumps(dict(provenance), allow_nan=False, ensure_ascii=False)
        return dict(json.loads(text.encode("utf-8", "replace")))  # names of files need not be Unicode
    except (TypeError, ValueError, RecursionError) as error:
        raise VotronError(
            f"The 'provenance' of a model must be a dict of text, numbers, lists and dicts: {error}.",
            parameter="provenance",
        ) from None


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
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise ModelFileError(f"The model file {name} cannot be opened: {text[:_LONGEST_REASON]}.") from None


# -- the manifest -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """What a model file says beside the model.

    Attributes
    ----------
    format : int
        Number of the file's format.
    votron : str
        The version that wrote it.
    provenance : dict
        Where the model comes from, as whoever saved it said.
    certificate : Certificate or None
        What the theorems say of it, where it was saved with one.
    sha256 : str
        Digest of the content.
    n_bytes : int
        Size of the file.
    """

    format: int
    votron: str
    provenance: dict[str, Any]
    certificate: Certificate | None
    sha256: str
    n_bytes: int


def read_manifest(path: Source, *, name: str | None = None) -> Manifest:
    """Return what a model file says beside the model, which is not built.

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
        found = stored.certificate
        certificate = None if found is None else msgspec.convert(found, Certificate, from_attributes=True)
    return Manifest(stored.format, stored.votron, stored.provenance, certificate, content.sha256, content.n_bytes)
