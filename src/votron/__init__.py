"""Votron: large-margin classification with perceptrons.

>>> from sklearn.datasets import load_digits
>>> from votron import VotedPerceptronClassifier
>>> X, y = load_digits(return_X_y=True)
>>> model = VotedPerceptronClassifier(random_state=0).fit(X[:1200], y[:1200])
>>> bool(model.score(X[1200:], y[1200:]) > 0.94)
True

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from votron.errors import VotronError
    from votron.estimators import (
        AveragedPerceptronClassifier,
        CompactClassifier,
        KernelAdatronClassifier,
        NaiveBayesLinearClassifier,
        VotedPerceptronClassifier,
        VotedPerceptronClassifierCV,
        WinnowClassifier,
    )
    from votron.estimators.pipelines import table_classifier
    from votron.explanations import explain
    from votron.kernels import is_mercer, make_kernel
    from votron.online import OnlinePerceptron
    from votron.record import MistakeRecord
    from votron.reductions import add_bias, normalize_examples
    from votron.saving.models import load, save
    from votron.tables import TableEncoder, tabular_encoder
    from votron.theory import certify

__version__ = "0.1.0"

_HOMES = {
    "AveragedPerceptronClassifier": "votron.estimators",
    "CompactClassifier": "votron.estimators",
    "KernelAdatronClassifier": "votron.estimators",
    "MistakeRecord": "votron.record",
    "NaiveBayesLinearClassifier": "votron.estimators",
    "OnlinePerceptron": "votron.online",
    "TableEncoder": "votron.tables",
    "VotedPerceptronClassifier": "votron.estimators",
    "VotedPerceptronClassifierCV": "votron.estimators.voted_cv",
    "VotronError": "votron.errors",
    "WinnowClassifier": "votron.estimators",
    "add_bias": "votron.reductions",
    "certify": "votron.theory",
    "explain": "votron.explanations",
    "is_mercer": "votron.kernels",
    "load": "votron.saving.models",
    "make_kernel": "votron.kernels",
    "normalize_examples": "votron.reductions",
    "save": "votron.saving.models",
    "table_classifier": "votron.estimators.pipelines",
    "tabular_encoder": "votron.tables",
}

_MODULES = (
    *("data", "estimators", "evaluate", "explanations", "export", "kernels", "online", "papers", "plots"),
    *("reductions", "report", "rules", "saving", "tables", "theory"),
)
"""Public modules that can be had without being imported by name."""


__all__ = [
    "AveragedPerceptronClassifier",
    "CompactClassifier",
    "KernelAdatronClassifier",
    "MistakeRecord",
    "NaiveBayesLinearClassifier",
    "OnlinePerceptron",
    "TableEncoder",
    "VotedPerceptronClassifier",
    "VotedPerceptronClassifierCV",
    "VotronError",
    "WinnowClassifier",
    "__version__",
    "add_bias",
    "certify",
    "explain",
    "is_mercer",
    "load",
    "make_kernel",
    "normalize_examples",
    "save",
    "table_classifier",
    "tabular_encoder",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"votron.{name}")
    raise AttributeError(f"module 'votron' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
