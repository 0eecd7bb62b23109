"""``votron inspect``: what is in a model file."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from votron._util.text import counted, first_of, on_one_line, rounded_bytes, shortened
from votron.cli import _options
from votron.cli._models import model_source
from votron.cli._output import bold, pairs, print_json
from votron.cli._parser import Parser, UsageError, as_typed, whole_number

if TYPE_CHECKING:
    from votron.saving import Manifest

_SHOWN_CLASSES = 20
_SHOWN_FEATURES = 5
_LONGEST_NAME, _LONGEST = 80, 4000
"""Characters of a name, where it is one of several, and of a text that are shown; --json has all of them."""
_DEEPEST = 4
"""Names that stand before one another."""

EXAMPLES = [
    ("votron inspect digits.votron", "kernel, rule, support, mistakes, certificate, provenance"),
    ("votron inspect digits.votron --json", "all of it, as JSON"),
    ("votron inspect text.votron --features 20", "the strongest features of each class, such as words"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron inspect MODEL [--features N] [--json]",
        "Show what is in a model file, and of linear models the strongest features of each class. No data is needed "
        "and nothing in the file is run, so a file from an unknown source can be inspected safely. Its structure and "
        "SHA-256 are checked.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    parser.add_argument(
        "--features",
        type=whole_number(0),
        metavar="N",
        help=f"strongest features to show of each class (default: {_SHOWN_FEATURES} of models that are weights; of "
        "voted models with a linear kernel none, unless asked for)",
    )
    _options.add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Read the manifest, and print it."""
    from votron.saving import read_manifest

    found, features = read_manifest(**model_source(args.model)), None
    if args.features is None and args.model != "-" and "kernel" not in found.summary:
        features = _strongest(args.model, _SHOWN_FEATURES)
    elif args.features:
        features = _strongest(args.model, args.features, asked=True)
    if args.json:
        print_json(_document(found) | ({} if features is None else {"strongest_features": features}))
    else:
        print(_text(found, args.model) + ("" if not features else f"\n\n{_features(features)}"))
    return 0


def _strongest(path: str, top: int, *, asked: bool = False) -> dict[str, dict[str, float]] | None:
    """Return the strongest features of each class; None for what is no linear model, unless it was asked for."""
    from votron.errors import ModelFileError
    from votron.explanations import strongest_features
    from votron.saving.models import load

    if path == "-":
        raise UsageError("--features needs a model file, and not standard input, which is read once.")
    try:
        found = strongest_features(load(path), top, first=1)
    except ModelFileError:
        if asked:
            raise
        return None
    if found is None and asked:
        raise UsageError(
            "--features is for linear models: weights, or a linear kernel by a rule of one vector a class."
        )
    return None if found is None else {str(label): dict(features) for label, features in found.items()}


def _features(found: dict[str, dict[str, float]]) -> str:
    """Return the strongest features of each class, one class to a line."""
    shown = {
        shortened(on_one_line(label), _LONGEST_NAME): ", ".join(
            f"{shortened(on_one_line(name), _LONGEST_NAME)} {weight:.3g}" for name, weight in features.items()
        )
        for label, features in list(found.items())[:_SHOWN_CLASSES]
    }
    more = len(found) - _SHOWN_CLASSES
    rest = f"\n  ... and {counted(more, 'more class', 'more classes')}" if more > 0 else ""
    return _section("strongest features", shown) + rest


def _document(found: Manifest) -> dict[str, Any]:
    return dataclasses.asdict(found)


def _text(found: Manifest, path: str) -> str:
    shown = first_of(
        [shortened(str(label), _LONGEST_NAME) for label in found.classes[: _SHOWN_CLASSES + 1]], _SHOWN_CLASSES
    )
    file = "standard input" if path == "-" else path
    head = {
        "model": f"{file}, {rounded_bytes(found.n_bytes)}, format {found.format}, by Votron {found.votron}",
        "estimator": found.estimator,
        "classes": f"{len(found.classes)}: {shown}",
        **{name.replace("_", " "): _words(value) for name, value in _summary_entries(found.summary)},
        "sha256": found.sha256,
    }
    parts = [_pairs(head)]
    if found.params:
        parts.append(
            _section("parameters", {name: _typed(value) for name, value in found.params.items() if name != "verbose"})
        )
    if found.columns:
        parts.append(_section("columns", found.columns))
    elif found.steps:
        parts.append(_pairs({"encoder": ", ".join(found.steps)}))
    certificate = found.certificate
    parts.append(_pairs({"certificate": _words(certificate.get("summary")) if certificate else "none in the file"}))
    if found.provenance:
        parts.append(_section("provenance", _flat(found.provenance)))
    return "\n\n".join(parts)


def _section(name: str, found: dict[str, str]) -> str:
    return f"{bold(name)}\n{_pairs(found, indent=2)}"


def _pairs(found: dict[str, str], indent: int = 0) -> str:
    """Return names and what they are, and not all of long texts: a file may have them in any place."""
    return pairs({name: shortened(words, _LONGEST) for name, words in found.items()}, indent)


def _flat(found: dict[str, Any], depth: int = 1) -> dict[str, str]:
    """Return what is nested as names such as "data rows"."""
    flat: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            before = shortened(name, _LONGEST_NAME)
            flat |= {f"{before} {inner}": words for inner, words in _flat(value, depth + 1).items()}
        else:
            flat[name] = f"{_words(value)[:16]}..." if name == "sha256" else _words(value)  # --json has all of it
    return flat


def _summary_entries(summary: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what there is to say; the support of the only vector is the support."""
    alone = len(_listed(summary.get("n_support"))) == 1
    return [(n, value) for n, value in summary.items() if value is not None and not (n == "n_support" and alone)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _typed(value: Any) -> str:
    """Return a parameter as one would type it."""
    pairs = value.get("dict") if isinstance(value, dict) else None
    if isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return as_typed({str(label): number for label, number in pairs})  # by label
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _words(value)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**9 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(item)}" for name, item in value.items())
    return str(value)
