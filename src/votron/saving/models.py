"""Models in files: `save` and `load`, for fitted classifiers and pipelines that end in one.

A file is arrays in the safetensors format and a manifest in JSON (`votron.saving.container`): nothing in it is code, so
a file from anywhere can be opened. Structure, types, sizes, finiteness and the digest are checked before a model is
built.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.pipeline import Pipeline

from votron import __version__
from votron.errors import ModelFileError, Parameter, VotronError
from votron.saving.classifiers import classifier_from, classifier_state
from votron.saving.container import Container, called, read_container, write_container
from votron.saving.fields import Fields, packed
from votron.saving.flow import ANY_DATA, check_fits
from votron.saving.manifest import Manifest, manifest_of, naming
from votron.saving.sections import manifest_with, sections_of
from votron.saving.steps import after, steps_from, steps_state
from votron.saving.strict_json import parsed

__all__ = ["load", "save"]


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
    sections = {
        "model": classifier_state(classifier),
        "steps": {"before": steps_state(before), "last": last} if as_pipeline else None,
        "summary": _summary(classifier),
        "provenance": _plain("provenance", {} if provenance is None else provenance) or None,
        "certificate": None if certificate is None else _certificate(certificate),
    }
    arrays: dict[str, Any] = {}
    manifest = manifest_with(__version__, packed(sections, arrays))
    name = os.fspath(path)
    try:
        if not name or b"\0" in os.fsencode(name):
            raise OSError(errno.EINVAL, "There is no such name")
        write_container(os.fsdecode(name), manifest, arrays, check=_opens)
    except OSError as error:
        raise ModelFileError(f"Cannot write the model file {name!r}: {error.strerror or error}.") from error


def _opens(path: Path) -> None:
    """Refuse a file that could not be opened again, while the model is still there."""
    try:
        load(path, mmap=True)  # which nobody else writes to, and a model larger than memory can be saved again
    except ModelFileError as error:
        reason = str(error).partition("cannot be opened: ")[2] or str(error)
        raise ModelFileError(f"This model cannot be saved: {reason}") from None


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
    return _built(read_container(path, mapped=mmap), called(path))


def load_with_manifest(path: str | os.PathLike[str] | BinaryIO, *, name: str | None = None) -> tuple[Any, Manifest]:
    """Return a model as `load` does, and what its file says of it, from one reading of the file, or of a stream."""
    name = called(path) if name is None else name
    found = read_container(path, name=name)
    return _built(found, name), manifest_of(found, name)


def _built(found: Container, name: str) -> Any:
    """Return the model in a file that was read."""
    with naming(name):
        sections = sections_of(found)
        in_steps = sections.part("steps") if sections.has("steps") else None
        steps, last = ([], "") if in_steps is None else _steps_from(in_steps)
        model = classifier_from(sections.part("model"))
        sections.no_arrays_left()
        check_fits(model, after(Pipeline(steps), ANY_DATA) if steps else ANY_DATA)
    return model if in_steps is None else Pipeline([*steps, (last, model)])


def _steps_from(fields: Fields) -> tuple[list[tuple[str, Any]], str]:
    """Return the steps before the classifier, and its name."""
    steps = steps_from(fields.parts("before"))
    last = fields.text("last")
    fields.end()
    names = [name for name, _ in steps] + [last]
    if len(set(names)) < len(names):
        raise ModelFileError("The steps of a pipeline must have different names.")
    return steps, last


def _plain(what: str, value: Any) -> dict[str, Any]:
    """Return what JSON makes of it, or refuse what a file cannot hold."""
    try:
        plain: dict[str, Any] = parsed(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise VotronError(
            Parameter(what, of="a model", short=True),
            f" must be a dict of text, numbers of 64 bits at most, lists and dicts: {error}.",
        ) from None
    return plain


def _certificate(certificate: Any) -> dict[str, Any]:
    if not hasattr(certificate, "to_dict"):
        raise VotronError(
            Parameter("certificate", of="a model", short=True),
            f" must be what votron.certify returns. Got {certificate!r} instead.",
        )
    return _plain("certificate", certificate.to_dict())


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
    for key, attribute in (("support", "support_"), ("epochs", "_passes"), ("converged", "converged_")):
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
