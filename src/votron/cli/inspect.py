"""``votron inspect``: what is in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from votron._util.pipelines import classifier_of, summary_of
from votron._util.text import counted, first_of, on_one_line, rounded_bytes, shortened
from votron._util.types import Estimator, Params
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import columns_of, load_model
from votron.cli.output import Output, bold, pairs

if TYPE_CHECKING:
    from votron.saving import Manifest

_CLASSES, _FEATURES = 20, 5
_LONGEST_NAME, _LONGEST = 80, 400
_DEEPEST = 4
_PLAIN = (bool, int, float, str, list, dict)


@command(
    "inspect",
    examples=[
        "votron inspect digits.votron",
        "votron inspect digits.votron --json",
        "votron inspect text.votron --features 20",
    ],
)
@options.model
@option(
    "--features",
    "N",
    "Strongest features to show of each class (default: 5 of linear models).",
    click.IntRange(min=0),
)
@options.common
@options.verbose
def inspect(model: str, features: int | None, out: Output) -> None:
    """Show what is in a model file, and the strongest features of linear models.

    Nothing in the file is run, so a file from an unknown source can be inspected safely. Its structure and SHA-256 are
    checked. --verbose also shows the parameters and how the model was made.
    """
    saved, strongest = load_model(model), None
    assert saved.manifest is not None
    found = _document(saved.model, saved.manifest)
    if features or (features is None and "kernel" not in found["summary"]):
        strongest = _strongest(saved.model, features or _FEATURES, asked=features is not None)
        found |= {} if strongest is None else {"strongest_features": strongest}
    parts = [*_parts(found, model, out.verbose), *([_features(strongest)] if strongest else [])]
    out.show(found, "\n\n".join(parts))


def _document(model: Estimator, manifest: Manifest) -> Params:
    """Return what there is to say of a model and its file."""
    classifier, certificate = classifier_of(model), manifest.certificate
    params = classifier.get_params(deep=False)
    return vars(manifest) | {
        "estimator": type(classifier).__name__,
        "params": {
            name: value if value is None or isinstance(value, _PLAIN) else repr(value) for name, value in params.items()
        },
        "classes": classifier.classes_.tolist(),
        "summary": summary_of(classifier),
        "steps": [name for name, _ in model.steps[:-1]] if hasattr(model, "steps") else [],
        "columns": columns_of(model) or {},
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def _strongest(model: Estimator, top: int, *, asked: bool) -> dict[str, dict[str, float]] | None:
    """Return the strongest features of each class; None for models that are not linear, unless they were asked for."""
    from votron.explanations import strongest_features

    found = strongest_features(model, top, first=1)
    if found is None and asked:
        raise click.UsageError("--features is for linear models: weights, or a linear kernel with one vector a class.")
    return None if found is None else {str(label): dict(named) for label, named in found.items()}


def _features(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the strongest features of each class, one class to a line."""
    lines = {
        _short(label): ", ".join(f"{_short(name)} {weight:.3g}" for name, weight in features.items())
        for label, features in list(found.items())[:_CLASSES]
    }
    more = len(found) - _CLASSES
    rest = f"\n  ... and {counted(more, 'more class', 'more classes')}" if more > 0 else ""
    return _section("strongest features", lines) + rest


def _parts(found: Params, path: str, verbose: bool) -> list[str]:
    """Return the sections of the text."""
    classes = first_of([_short(str(label)) for label in found["classes"][: _CLASSES + 1]], _CLASSES)
    file = "standard input" if path == "-" else path
    summary = {name: value for name, value in found["summary"].items() if value is not None}
    if len(summary.get("n_support") or ()) == 1:  # the support of the only vector is the support
        del summary["n_support"]
    if not verbose:
        summary = {name: value for name, value in summary.items() if name not in ("record", "steps", "vectors")}
    certificate = found["certificate"]["summary"] if found["certificate"] else "none in the file"
    head = {
        "model": f"{file}, {rounded_bytes(found['n_bytes'])}, format {found['format']}, by Votron {found['votron']}",
        "estimator": found["estimator"],
        "classes": f"{len(found['classes'])}: {classes}",
        **{name.replace("_", " "): _words(value) for name, value in summary.items()},
        "certificate": certificate,
        **({"sha256": found["sha256"]} if verbose else {}),
    }
    parts, made = [_pairs(head)], found["provenance"]
    if found["columns"]:
        parts.append(_section("columns", found["columns"]))
    elif found["steps"]:
        parts.append(_pairs({"encoder": ", ".join(found["steps"])}))
    if verbose:
        params = {name: _words(value) for name, value in found["params"].items() if name != "verbose"}
        parts += [_section("parameters", params)] if params else []
        parts += [_section("provenance", _flat(made))] if made else []
    elif made:
        parts.append(_section("made", _flat({name: made[name] for name in ("created", "command") if name in made})))
    return parts


def _section(name: str, found: Mapping[str, str]) -> str:
    return f"{bold(name)}\n{_pairs(found, indent=2)}"


def _pairs(found: Mapping[str, str], indent: int = 0) -> str:
    return pairs({name: shortened(words, _LONGEST) for name, words in found.items()}, indent)


def _flat(found: Params, depth: int = 1) -> dict[str, str]:
    """Return nested values under names such as "data rows"."""
    flat: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            flat |= {f"{_short(name)} {inner}": words for inner, words in _flat(value, depth + 1).items()}
        else:
            flat[name] = _words(value)
    return flat


def _short(text: str) -> str:
    return shortened(on_one_line(text), _LONGEST_NAME)


def _words(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**9 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(item)}" for name, item in value.items())
    return str(value)
