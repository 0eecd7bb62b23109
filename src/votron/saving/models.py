"""Models in files: `save` and `load`, for fitted classifiers and pipelines that end in one, and `read_manifest`.

A file is arrays in the safetensors format and a manifest in JSON (`votron.saving.container`): nothing in it is code, so
a file from anywhere can be opened. Structure, types, sizes, finiteness and the digest are checked before a model is
built.

The manifest has sections, each under its name, in whichever format it was written. A section that is not known is
refused, and never skipped: scores may depend on it, and a model that is opened and saved again would lose it. So
whatever a later version adds (weights of examples, probabilities, ...) is a section of a new name, versions that do not
know it say so, and the number of the format stays.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from votron import __version__
from votron.errors import ModelFileError, Parameter, VotronError
from votron.saving.container import FORMAT, Container, called, read_container, write_container
from votron.saving.fields import Fields, packed, parsed
from votron.saving.format1 import sections_of_format_1

# What builds models is imported when one is built: whoever reads a manifest does without.

__all__ = ["SECTIONS", "Manifest", "load", "manifest_with", "read_manifest", "save", "sections_of"]

SECTIONS = {
    "model": "the classifier: class, parameters, classes, names of features, and references to its arrays",
    "steps": "of a pipeline: the steps before the classifier, and the classifier's name",
    "summary": "for people: kernel, rule, support, mistakes, epochs, the record's digest",
    "provenance": "where the model comes from, as whoever saved it said",
    "certificate": "what the theorems say of the model",
    "names": "what the training rows that the model keeps are called, if they were named",
}
"""What each section holds. Only the first has to be there."""
_LONGEST_NAME, _LONGEST_REASON = 60, 400
"""Characters of an unknown name and of a reason that are shown: a file may have anything where a number should be."""
_HOLDS = ("number", "discrete", "truth", "text", "date")
"""What a column can hold."""


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
    from sklearn.pipeline import Pipeline

    from votron.saving.classifiers import classifier_state, names_state
    from votron.saving.steps import steps_state

    as_pipeline = isinstance(model, Pipeline)
    *before, (last, classifier) = model.steps if as_pipeline else [("model", model)]
    more: dict[str, Any] = {}
    if hasattr(classifier, "_for_file") and not isinstance(classifier, type):
        classifier, more = classifier._for_file()
    sections = {
        "model": classifier_state(classifier),
        "steps": {"before": steps_state(before), "last": last} if as_pipeline else None,
        "summary": summary_of(classifier),
        "provenance": {**_plain("provenance", more), **_plain("provenance", {} if provenance is None else provenance)}
        or None,
        "certificate": None if certificate is None else _certificate(certificate),
        "names": names_state(classifier),
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


def summary_of(model: Any) -> dict[str, Any]:
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
    if hasattr(model, "support_"):
        found["support"] = len(model.support_)
    if hasattr(model, "n_epochs_"):
        found["epochs"] = float(model.history_.passes)
    if hasattr(model, "converged_"):
        found["converged"] = bool(model.converged_)
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
    return _built(read_container(path, mapped=mmap), called(path))


def load_with_manifest(path: str | os.PathLike[str] | BinaryIO, *, name: str | None = None) -> tuple[Any, Manifest]:
    """Return a model as `load` does, and what its file says of it, from one reading of the file, or of a stream."""
    name = called(path) if name is None else name
    found = read_container(path, name=name)
    return _built(found, name), manifest_of(found, name)


def _built(found: Container, name: str) -> Any:
    """Return the model in a file that was read."""
    from sklearn.pipeline import Pipeline

    from votron.estimators.pipelines import ClassifierPipeline
    from votron.saving.classifiers import classifier_from, set_names
    from votron.saving.steps import ANY_DATA, after, check_fits, steps_from

    with _naming(name):
        sections = sections_of(found)
        as_pipeline, steps, last = sections.has("steps"), [], ""
        if as_pipeline:
            fields = sections.part("steps")
            steps, last = steps_from(fields.parts("before")), fields.text("last")
            fields.end()
            if len({*(step for step, _ in steps), last}) <= len(steps):
                raise ModelFileError("The steps of a pipeline must have different names.")
        model = classifier_from(sections.part("model"))
        if sections.has("names"):
            set_names(model, sections.part("names"))
        sections.no_arrays_left()
        check_fits(model, after(Pipeline(steps), ANY_DATA) if steps else ANY_DATA)
    return ClassifierPipeline([*steps, (last, model)]) if as_pipeline else model


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Add the file's name to errors about what is in it."""
    try:
        yield
    except ModelFileError as error:
        text = str(error)
        text = text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
        raise ModelFileError(f"The model file {name} cannot be opened: {text}") from None


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
        What data go through before the classifier.
    columns : dict
        For each column of a table that the model wants: "number", "discrete", "truth", "text" or "date"; empty for
        matrices.
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
    with _naming(name):
        sections = sections_of(found)
        model = sections.part("model")
        steps = [each.part("step") for each in sections.part("steps").parts("before")] if sections.has("steps") else []
        return Manifest(
            format=found.manifest["format"],
            votron=found.manifest["votron"],
            estimator=model.text("class"),
            params=model.object("params"),
            classes=model.part("classes").listed("values"),
            summary=sections.plain("summary") if sections.has("summary") else {},
            steps=[step.text("class") for step in steps],
            columns={name: holds for step in steps for name, holds in _columns(step)},
            provenance=sections.plain("provenance") if sections.has("provenance") else {},
            certificate=sections.plain("certificate") if sections.has("certificate") else None,
            sha256=found.sha256,
            n_bytes=found.n_bytes,
        )


def _columns(state: Fields) -> list[tuple[str, str]]:
    """Return the columns of a table that an encoder wants, and what they hold."""
    if state.peek("steps") is not None:
        return [pair for each in state.parts("steps") for pair in _columns(each.part("step"))]
    if state.peek("columns") is None:
        return []
    if not state.has("given"):  # columns without names
        return []
    found, others = [], dict.fromkeys(state.texts("given"))
    for each in state.parts("columns"):
        names = each.texts("columns")
        for name in names:
            others.pop(name, None)
        if not each.has("drop"):
            holds = each.text("holds", _HOLDS)
            found += [(name, holds) for name in names]
    if state.has("remainder"):
        holds = state.part("remainder").text("holds", _HOLDS)
        found += [(name, holds) for name in others]
    return found


# -- its sections -----------------------------------------------------------------------------------------------------


def manifest_with(version: str, sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest of the current format; sections that are None are left out.

    Examples
    --------
    >>> manifest_with("0.1.0", {"model": {}, "certificate": None})
    {'votron': '0.1.0', 'sections': {'model': {}}}
    """
    return {
        "votron": version,
        "sections": {name: sections[name] for name in SECTIONS if sections.get(name) is not None},
    }


def sections_of(found: Container) -> Fields:
    """Return the sections of a file that was read, to be asked for one by one.

    Raises
    ------
    ModelFileError
        If there is one that this version does not know, or that is no JSON object.

    Examples
    --------
    >>> manifest = {"format": 2, "votron": "9.0", "sections": {"model": {}, "probabilities": {}}}
    >>> sections_of(Container(manifest, {}, "0" * 64, 200))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: it has a section 'probabilities' that this version of Votron does not know: upgrade
    Votron.
    """
    fields = Fields(found.manifest, {}, "manifest")
    number = fields.count("format", 1, FORMAT + 1)
    fields.text("votron")
    sections = sections_of_format_1(fields) if number == 1 else fields.object("sections")
    fields.end()
    found_sections = Fields(sections, dict(found.arrays), "manifest")
    for name in found_sections.names():
        if name not in SECTIONS:
            shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
            raise ModelFileError(
                f"it has a section {shown!r} that this version of Votron does not know: upgrade Votron."
            )
        if not isinstance(value := found_sections.peek(name), dict):
            raise found_sections.wrong(name, "a JSON object", value)
    return found_sections
