"""From data to what is fitted: an encoder, where data need one, and the classifier."""

from __future__ import annotations

import argparse
from typing import Any

from votron.cli._parser import UsageError

_TABLE_ONLY = ("discrete", "probabilities", "text")
_FEW = 100
_NEARLY_ALL = 0.5
"""Different texts from which a column of them is remarked upon: this many, and this share of the rows."""


def make_model(args: argparse.Namespace, estimator: Any, data: Any, X: Any) -> Any:
    """Return the classifier, behind an encoder where the data are a table or options ask for one."""
    from sklearn.pipeline import Pipeline

    encoder = encoder_for(args, data, X)
    if encoder is None:
        return estimator
    return Pipeline([("encoder", encoder), ("model", estimator)])


def encoder_for(args: argparse.Namespace, data: Any, X: Any) -> Any:
    """Return what turns such rows of the data into vectors, not fitted, or None where nothing needs to."""
    from votron.data import make_encoder

    if not hasattr(X, "columns"):
        return _matrix_encoder(args, X)
    return make_encoder(
        X,
        numeric=numeric_of(args),
        discrete=discrete_of(args, data.label),
        probabilities=args.probabilities,
        text=args.text,
        text_features=text_features_of(args),
        missing=args.missing,
    )


def discrete_of(args: argparse.Namespace, label: str | None) -> list[str]:
    """Return the features that are names; --discrete may name the label as well, whose numbers are then texts."""
    return [name for name in args.discrete if name != label]


def text_features_of(args: argparse.Namespace) -> str:
    """Return what words become; to naive Bayes the absence of each of many hashed features would say something."""
    return args.text_features or ("tfidf" if args.estimator == "naive-bayes" else "hashing")


def remarks_on(args: argparse.Namespace, X: Any) -> list[str]:
    """Return what to say of columns whose values are nearly all different: texts, dates, names of rows."""
    if not hasattr(X, "columns") or len(X) < _FEW:
        return []
    found = []
    for name in X.columns:
        if name not in (*args.text, *args.discrete) and _is_text(X[name]):
            n = int(X[name].n_unique())
            if n > max(_FEW, _NEARLY_ALL * len(X)):
                found.append(
                    f"The column {name!r} has {n:,} different texts in {len(X):,} rows, and each becomes a feature: "
                    f"--text {name} takes its words, --drop {name} leaves it out, --discrete {name} says that it is "
                    "meant."
                )
    return found


def _is_text(column: Any) -> bool:
    from votron._frames import kind_of

    return kind_of(column) == "text"


def numeric_of(args: argparse.Namespace) -> str:
    """Return what happens to the numbers of a table; Winnow wants 0 and 1, which scaling would change."""
    return args.numeric or ("keep" if args.estimator == "winnow" else "standard")


def _matrix_encoder(args: argparse.Namespace, X: Any) -> Any:
    """Return what scales the numbers of a matrix, where an option asks for it."""
    from scipy.sparse import issparse

    from votron.data.encoding import SCALERS

    for name in _TABLE_ONLY:
        if getattr(args, name):
            raise UsageError(f"--{name} is for columns of tables. Got it with data that are numbers without names.")
    if issparse(X) and args.numeric in ("standard", "minmax"):
        raise UsageError(
            f"--numeric must be keep or maxabs for sparse data, which others would fill. Got {args.numeric!r} instead."
        )
    scaler = SCALERS[args.numeric or "keep"]
    return None if scaler is None else scaler()


def classifier_of(model: Any) -> Any:
    """Return the classifier of a model, which may stand behind an encoder."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def columns_of(model: Any) -> dict[str, str] | None:
    """Return the columns of the tables that a fitted model takes, with their kinds; None if it takes no tables."""
    from sklearn.compose import ColumnTransformer

    from votron.data import encoder_columns

    first = model
    while hasattr(first, "steps"):
        first = first.steps[0][1]
    if not isinstance(first, ColumnTransformer):
        return None
    return encoder_columns(first)
