"""The parts of a report about the model: what it is, its size and speed, and how all was made."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from importlib.metadata import version

from votron import __version__
from votron._util.pipelines import steps_before, summary_of
from votron._util.text import counted, duration, shortened, utc_now
from votron._util.types import Params
from votron.estimators.base import VotronClassifier
from votron.report.findings import Findings, Origin

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_NOT_SHOWN = ("verbose", "n_jobs")
"""Parameters that change no model."""
_LONGEST = 400


def model(found: Findings, origin: Origin) -> Params:
    """Return what the model is, its size, and its speed on these rows."""
    classifier = found.classifier
    facts = {"Classifier": type(classifier).__name__}
    if before := steps_before(found.model):
        facts["Before it"] = ", ".join(type(step).__name__ for step in before)
    known = summary_of(classifier) if isinstance(classifier, VotronClassifier) else {}
    for name in ("kernel", "rule", "features", "support", "examples", "mistakes", "epochs", "converged"):
        if known.get(name) is not None:
            facts[name.capitalize()] = in_words(known[name])
    if isinstance(each := known.get("mistakes"), list) and len(each) > 1:
        facts["Mistakes"] = f"{sum(each):,}: {in_words(each)} by class"
    given = {name: value for name, value in classifier.get_params(deep=False).items() if name not in _NOT_SHOWN}
    facts["Parameters"] = ", ".join(f"{name} {in_words(value)}" for name, value in given.items())
    facts |= {"Size": origin.files["size"]} if "size" in origin.files else {}
    speed = float(f"{found.counts.n / max(found.seconds, 1e-9):.2g}")
    facts["Speed"] = f"{counted(found.counts.n, 'row')} predicted in {duration(found.seconds)}: {speed:,.0f} a second"
    return {"facts": {name: shortened(text, _LONGEST) for name, text in facts.items() if text}}


def in_words(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    return str(value)


def made(found: Findings, origin: Origin) -> Params:
    """Return commands, versions, digests and the time."""
    facts: dict[str, str] = {"Report": f"{utc_now()}, in {duration(time.monotonic() - found.started)}"}
    packages = [f"{package} {version(package)}" for package in _PACKAGES]
    facts["By"] = ", ".join([f"Votron {__version__}", f"Python {platform.python_version()}", *packages])
    trained = origin.provenance
    facts["Trained"] = str(trained.get("created", ""))
    facts["Trained by"] = ", ".join(
        f"{name} {trained[name]}" for name in ("votron", "python", "numpy", "scikit-learn") if name in trained
    )
    data = trained.get("data")
    if isinstance(data, Mapping):
        words = {"name": "{}", "rows": "{} rows", "sha256": "SHA-256 {}"}
        facts["Trained on"] = ", ".join(text.format(data[name]) for name, text in words.items() if data.get(name))
    facts |= {name: text for name, text in origin.files.items() if name != "size"}
    commands = [str(text) for text in (trained.get("command"), origin.command) if text]
    return {
        "commands": [shortened(command, 4 * _LONGEST) for command in commands],
        "facts": {name: shortened(text, _LONGEST) for name, text in facts.items() if text},
    }
