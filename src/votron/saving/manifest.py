"""The manifest of a model file: what it says of its model, read without loading what would build it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, BinaryIO

from votron.errors import ModelFileError
from votron.saving.container import Container, called, read_container
from votron.saving.fields import Fields
from votron.saving.sections import sections_of

__all__ = ["Manifest", "read_manifest"]

_HOLDS = ("number", "discrete", "truth", "text")
"""What a column can hold."""
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


def read_manifest(path: str | os.PathLike[str] | BinaryIO, *, name: str | None = None) -> Manifest:
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
    return manifest_of(read_container(path, arrays=False, name=name), name)


def manifest_of(found: Container, name: str) -> Manifest:
    """Return what a file that was read says of its model."""
    with naming(name):
        sections = sections_of(found)
        model = sections.part("model")
        steps = [each.part("step") for each in sections.part("steps").parts("before")] if sections.has("steps") else []
        return Manifest(
            format=found.manifest["format"],
            votron=found.manifest["votron"],
            estimator=model.text("class"),
            params=model.object("params"),
            classes=_listed(model.part("classes"), "values"),
            summary=sections.plain("summary") if sections.has("summary") else {},
            steps=[step.text("class") for step in steps],
            columns={name: holds for step in steps for name, holds in _columns(step)},
            provenance=sections.plain("provenance") if sections.has("provenance") else {},
            certificate=sections.plain("certificate") if sections.has("certificate") else None,
            sha256=found.sha256,
            n_bytes=found.n_bytes,
        )


class naming:
    """Adds the file's name to errors about what is in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ModelFileError) and not isinstance(error, ImportError):
            text = str(error)
            text = text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
            raise ModelFileError(f"The model file {self._name} cannot be opened: {text}") from None


def _listed(fields: Fields, name: str) -> list[Any]:
    value = fields.plain(name)
    if not isinstance(value, list):
        raise fields.wrong(name, "a list", value)
    return value


def _columns(state: Fields) -> list[tuple[str, str]]:
    """Return the columns of a table that an encoder wants, and what they hold."""
    if state.peek("steps") is not None:
        return [pair for each in state.parts("steps") for pair in _columns(each.part("step"))]
    if state.peek("columns") is None:
        return []
    return [
        (name, holds)
        for each in state.parts("columns")
        for holds in [each.text("holds", _HOLDS)]
        for name in each.texts("columns")
    ]
