"""Manifests of format 1, turned into the sections of the current format.

Format 1 had no sections: the steps of a pipeline, whether there is one and the classifier's name stood beside the
model, null stood for what is not there, and what the columns of a table hold had to be found out from the steps that
take them. No file of it is written any more, so nothing here has to know of what was added later.
"""

from __future__ import annotations

from typing import Any

from votron.saving.fields import Fields

__all__ = ["sections_of_format_1"]

_HOLDS = {
    "Discrete": "discrete",
    "Truth": "truth",
    "Text": "text",
    "HashingVectorizer": "text",
    "CountVectorizer": "text",
    "TfidfVectorizer": "text",
}
"""What a column holds, by the class of the step that its values meet first; numbers otherwise."""


def sections_of_format_1(fields: Fields) -> dict[str, Any]:
    """Return the sections of a manifest; what is in them is checked by whoever reads them, as in any other.

    Examples
    --------
    >>> manifest = {"pipeline": False, "steps": [], "name": "model", "model": {"class": "WinnowClassifier"}}
    >>> sections_of_format_1(Fields({**manifest, "summary": {}, "provenance": {}, "certificate": None}, {}, "manifest"))
    {'model': {'class': 'WinnowClassifier'}, 'summary': {}, 'provenance': {}}
    """
    steps, last, as_pipeline = fields.listed("steps"), fields.text("name"), fields.flag("pipeline")
    if steps and not as_pipeline:
        raise fields.wrong("pipeline", "true where there are steps", "false")
    sections = {"model": fields.plain("model")}
    if as_pipeline:
        sections["steps"] = {"before": _changed_each(steps, "step"), "last": last}
    sections.update({name: fields.plain(name) for name in ("summary", "provenance")})
    if fields.has("certificate"):
        sections["certificate"] = fields.plain("certificate")
    return sections


def _changed_each(found: list[Any], name: str) -> list[Any]:
    """Return a list of objects, each with the step of this name in it as the current format has it."""
    return [{**each, name: _changed(each[name])} if isinstance(each, dict) and name in each else each for each in found]


def _changed(step: Any) -> Any:
    """Return the state of a step in which tables say what their columns hold."""
    if not isinstance(step, dict):
        return step
    if isinstance(steps := step.get("steps"), list):
        return {**step, "steps": _changed_each(steps, "step")}
    if isinstance(parts := step.get("columns"), list):
        holding = [
            {"holds": _held_by(each.get("part")), **each} if isinstance(each, dict) else each
            for each in _changed_each(parts, "part")
        ]
        return {**step, "columns": holding}
    return step


def _held_by(step: Any) -> str:
    """Return what columns hold that meet this step first; steps that are none are refused elsewhere."""
    while isinstance(step, dict) and isinstance(steps := step.get("steps"), list) and steps:
        step = steps[0].get("step") if isinstance(steps[0], dict) else None
    name = step.get("class") if isinstance(step, dict) else None
    return _HOLDS.get(name, "number") if isinstance(name, str) else "number"
