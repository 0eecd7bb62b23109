"""``votron inspect`` and ``votron export``: what is in a model file, and the model in other forms."""

from __future__ import annotations

import os
import sys

import click

from votron._util.pipelines import classifier_of, summary_of
from votron._util.text import first_of, in_words, on_one_line, rounded_bytes, shortened, wants_colour
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, save_model
from votron.cli.output import Output, pairs, printable

_CLASSES, _FEATURES = 20, 5
_LONGEST_NAME, _LONGEST = 80, 400
_VERBOSE = ("record", "steps", "vectors")
"""Parts of the summary that only --verbose shows."""


@command("inspect", examples=["votron inspect days.votron --verbose"])
@options.model
@option("--features", "N", "Strongest features of each class to show (linear; default: 5).", click.IntRange(min=0))
@options.common
@options.verbose
def inspect(saved: SavedModel, features: int | None, out: Output) -> None:
    """Show what is in a model file, and the strongest features of linear models.

    Nothing in the file is run, so a file from an unknown source can be inspected safely. Its structure and SHA-256 are
    checked. --verbose also shows the parameters and how the model was made.
    """
    from votron.explanations import strongest_features

    classifier, manifest = saved.estimator, saved.manifest
    assert manifest is not None
    found = vars(manifest) | {
        "estimator": type(classifier).__name__,
        "params": classifier.get_params(deep=False),
        "classes": classifier.classes_.tolist(),
        "summary": summary_of(classifier),
        "steps": [name for name, _ in saved.model.steps[:-1]] if hasattr(saved.model, "steps") else [],
        "columns": saved.columns or {},
        "certificate": None if manifest.certificate is None else manifest.certificate.to_dict(),
    }
    if features or (features is None and "kernel" not in found["summary"]):
        strongest = strongest_features(saved.model, features or _FEATURES, first=1)
        if strongest is None and features:
            raise click.UsageError("--features is for linear models: weights, or a linear kernel with one vector.")
        found |= {} if strongest is None else {"strongest_features": {k: dict(named) for k, named in strongest.items()}}
    sections = _sections(found, out.verbose).items()
    head = _head(found, "standard input" if saved.path == "-" else saved.path, out.verbose)
    bold = "\x1b[1m{}\x1b[0m" if wants_colour(sys.stdout) else "{}"
    parts = [f"{bold.format(printable(name))}\n{_pairs(of, 2)}" for name, of in sections if of]
    out.show(found, "\n\n".join([_pairs(head), *parts]))


def _head(found: Params, file: str, verbose: bool) -> Params:
    labels = [_short(label) for label in found["classes"]]
    summary = {name: value for name, value in found["summary"].items() if verbose or name not in _VERBOSE}
    for name, value in summary.items():  # one for each class
        if isinstance(value, list) and len(value) == len(labels):
            summary[name] = dict(zip(labels, value, strict=True))
    if len(summary.get("n_support") or ()) == 1:  # the support of the only vector is the support
        del summary["n_support"]
    return {
        "model": f"{file}, {rounded_bytes(found['n_bytes'])}, by Votron {found['votron']}",
        "estimator": found["estimator"],
        "classes": f"{len(labels)}: {first_of(labels, _CLASSES)}",
        **{name.replace("_", " "): value for name, value in summary.items() if value is not None},
        "certificate": found["certificate"]["summary"] if found["certificate"] else "none in the file",
        **({"sha256": found["sha256"]} if verbose else {}),
        **({"encoder": found["steps"]} if found["steps"] and not found["columns"] else {}),
    }


def _sections(found: Params, verbose: bool) -> dict[str, Params]:
    made = found["provenance"] or {}
    shown = made if verbose else {name: made[name] for name in ("created", "command") if name in made}
    strongest = list(found.get("strongest_features", {}).items())[:_CLASSES]
    return {
        "columns": found["columns"],
        "parameters": {name: value for name, value in found["params"].items() if verbose and name != "verbose"},
        "provenance" if verbose else "made": shown,
        "strongest features": {
            label: ", ".join(f"{_short(name)} {weight:.3g}" for name, weight in features.items())
            for label, features in strongest
        },
    }


def _pairs(found: Params, indent: int = 0) -> str:
    return pairs({_short(name): shortened(in_words(value), _LONGEST) for name, value in found.items()}, indent)


def _short(text: object) -> str:
    return shortened(on_one_line(str(text)), _LONGEST_NAME)


@command("export", examples=["votron export digits.votron --rule last --onnx digits.onnx --compact small.votron"])
@options.model
@option("--onnx", "FILE", "Write an ONNX file.", NewFile())
@option("--compact", "FILE", "Write a compact model file, which only predicts.", NewFile())
@flag("--proba", "With --onnx: also have the probability of each class.")
@options.rule
@options.common
def export(saved: SavedModel, onnx: str | None, compact: str | None, proba: bool, out: Output) -> None:
    """Write a model as ONNX, or as a model file that holds only what its rule needs.

    ONNX is for linear models, and for voted models whose rule predicts by one vector per class: average, last, pocket
    or holdout.
    """
    if onnx is None and compact is None:
        raise click.UsageError("--onnx FILE or --compact FILE must be given.")
    if proba and onnx is None:
        raise click.UsageError("--proba goes with --onnx.")
    assert saved.manifest is not None
    written: dict[str, Params] = {}
    if onnx is not None:
        from votron.export import write_onnx

        write_onnx(saved.model, onnx, probabilities=proba)
        written["onnx"] = {"file": onnx, "bytes": os.path.getsize(onnx)}
    if compact is not None:
        small = saved.model.compact()
        size, dropped = save_model(small, compact, saved.provenance), list(classifier_of(small).dropped_)
        before = saved.manifest.n_bytes
        written["compact"] = {"file": compact, "bytes": size, "bytes_before": before, "dropped": dropped}
        if dropped:
            out.note(f"The compact model can no longer: {'; '.join(dropped)}.")
    lines = {form: f"{found['file']}, {rounded_bytes(found['bytes'])}" for form, found in written.items()}
    out.show(written, pairs(lines))
