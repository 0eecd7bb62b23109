"""Sections of a manifest: the parts of what a file says, each under its name, in whichever format it was written.

A section that is not known is refused, and never skipped: scores may depend on it, and a model that is opened and saved
again would lose it. So whatever a later version adds (weights of examples, probabilities, ...) is a section of a new
name, versions that do not know it say so, and the number of the format stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from votron.errors import ModelFileError
from votron.saving.container import FORMAT, Container
from votron.saving.fields import Fields
from votron.saving.format1 import sections_of_format_1

__all__ = ["SECTIONS", "manifest_with", "sections_of"]

SECTIONS = {
    "model": "the classifier: class, parameters, classes, names of features, and references to its arrays",
    "steps": "of a pipeline: the steps before the classifier, and the classifier's name",
    "summary": "for people: kernel, rule, support, mistakes, epochs, the record's digest",
    "provenance": "where the model comes from, as whoever saved it said",
    "certificate": "what the theorems say of the model",
}
"""What each section holds. Only the first has to be there."""
_LONGEST_NAME = 60
"""Characters of an unknown name that are shown."""


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
