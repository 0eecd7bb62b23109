"""A model that was trained, and what there is to say of it, for people and for machines."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any

from votron._sentences import counted, first_of, rounded_bytes
from votron.cli._encoding import classifier_of
from votron.cli._loading import base_name
from votron.cli._output import pairs, percent, print_json


@dataclass
class Trained:
    """A model, and what there is to say of it."""

    model: Any
    rows: int
    format: str
    label: str | None
    seconds: float
    error: dict[str, Any]
    provenance: dict[str, Any] = field(default_factory=dict)
    certificate: Any = None
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)


def show(args: argparse.Namespace, trained: Trained, size: int) -> None:
    """Print the summary: on standard error if the model goes to standard output."""
    if args.output == "-":
        if not args.quiet:
            print(pairs(_words(args, trained, size)), file=sys.stderr)
    elif args.json:
        print_json(_document(args, trained, size))
    else:
        print(pairs(_words(args, trained, size)))


def _words(args: argparse.Namespace, trained: Trained, size: int) -> dict[str, str]:
    estimator, error = trained.estimator, trained.error
    classes = estimator.classes_.tolist()
    named = first_of(list(map(str, classes[:11])), 10)
    features = counted(int(estimator.n_features_in_), "feature")
    words = {
        "data": f"{base_name(args.data)}: {counted(trained.rows, 'row')}, {features}",
        "classes": f"{len(classes)}: {named}",
        "estimator": f"{args.estimator} ({type(estimator).__name__})",
        **_facts(estimator, (trained.provenance.get("test") or {}).get("seed")),
    }
    if args.stream:
        words |= {"epochs": counted(args.passes or 1, "pass", "passes")}  # the classifier counts calls, one a batch
    if error:
        of = f"{percent(error['error'])}, {error['wrong']:,} of {counted(error['rows'], 'row')}"
        if "interval" in error:
            of += f"; 95 % interval {percent(error['interval'][0])} to {percent(error['interval'][1])}"
        words[f"{error['on']} error"] = of
    words["seconds"] = f"{trained.seconds:.2f}"
    words |= trained.remarks
    words["model"] = f"{'standard output' if args.output == '-' else args.output}, {rounded_bytes(size)}"
    return words


def _facts(estimator: Any, seed: Any = None) -> dict[str, str]:
    """Return what training was like, as far as this classifier tells."""
    words = {}
    if hasattr(estimator, "kernel_"):
        words["kernel"] = repr(estimator.kernel_)
    if hasattr(estimator, "rule"):
        words["rule"] = estimator.rule + (", vectors of length 1" if estimator.normalize_vectors else "")
    if hasattr(estimator, "n_epochs_"):
        ended = ", the last without a mistake" if getattr(estimator, "converged_", False) else ""
        words["epochs"] = f"{estimator.n_epochs_:g}{ended}"
    if hasattr(estimator, "n_mistakes_"):
        words["mistakes"] = f"{int(estimator.n_mistakes_.sum()):,}"
    if hasattr(estimator, "support_"):
        words["support"] = f"{counted(len(estimator.support_), 'row')}"
    if getattr(estimator, "random_state", None) is not None:
        words["random state"] = str(estimator.random_state)
    elif seed is not None:
        words["random state"] = str(seed)
    return words


def _document(args: argparse.Namespace, trained: Trained, size: int) -> dict[str, Any]:
    estimator = trained.estimator
    found: dict[str, Any] = {
        "model": args.output,
        "bytes": size,
        "estimator": type(estimator).__name__,
        "params": {name: _named(value) for name, value in estimator.get_params().items() if name != "verbose"},
        "classes": estimator.classes_,
        "rows": trained.rows,
        "features": int(estimator.n_features_in_),
        "seconds": trained.seconds,
        f"{trained.error.get('on', 'training')}_error": trained.error or None,
        "certificate": trained.certificate.to_dict() if trained.certificate is not None else None,
        "provenance": trained.provenance,
    }
    for name in ("n_mistakes_", "n_epochs_", "converged_"):
        if hasattr(estimator, name):
            found[name.rstrip("_").removeprefix("n_")] = getattr(estimator, name)
    if hasattr(estimator, "support_"):
        found["support"] = len(estimator.support_)
    if hasattr(estimator, "kernel_"):
        found["kernel"] = repr(estimator.kernel_)
    return found


def _named(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | None) else repr(value)
