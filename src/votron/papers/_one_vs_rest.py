"""Experiments on one label: the label against the rest, a perceptron that converges, and options."""

from __future__ import annotations

import argparse
import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from votron.data import load_image_set
from votron.errors import VotronError
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers._command_line import at_least_one, seed_number

Data = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
"""Training images and labels, test images and labels."""


def images(which: str = "digits") -> Data:
    """Return scikit-learn's digits, or another set of images, as four arrays.

    Examples
    --------
    >>> [part.shape for part in images()]
    [(1200, 64), (1200,), (597, 64), (597,)]
    """
    found = load_image_set(which)
    return found.X, found.y, found.X_test, found.y_test


def problem(label: int, which: str = "digits") -> Data:
    """Return images with labels that tell whether they are this one.

    Examples
    --------
    >>> X, y, X_test, y_test = problem(8)
    >>> X.shape, int(y.sum()), int(y_test.sum())
    ((1200, 64), 116, 58)
    """
    X, y, X_test, y_test = images(which)
    if label not in y:
        raise VotronError(f"--label must be one of {', '.join(map(str, np.unique(y)))}. Got {label} instead.")
    return X, y == label, X_test, y_test == label


def consistent(model: VotedPerceptronClassifier, X: Any, y: Any) -> VotedPerceptronClassifier:
    """Fit until a pass makes no mistake; where that does not come about, say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    if not model.converged_:
        raise VotronError(
            f"The perceptron with margin {model.margin:g} and degree {model.degree} still made mistakes after "
            f"{model.n_epochs_:g} epochs: raise --degree."
        )
    return model


def parser(module: str, description: str, *, permutations: int) -> argparse.ArgumentParser:
    """Return a parser with the options of an experiment on one label."""
    made = argparse.ArgumentParser(
        prog=f"python -m votron.papers.{module}", description=description, allow_abbrev=False
    )
    add, default = made.add_argument, " (default: %(default)s)"
    add("--label", type=seed_number, default=8, metavar="L", help="the label to tell from the others" + default)
    add("--degree", type=at_least_one, default=4, metavar="D", help="degree of the kernel (1 + x.z)^D" + default)
    add("--data", default="digits", metavar="DATA", help="digits, mnist, fashion or a folder of IDX files" + default)
    add("--permutations", type=at_least_one, default=permutations, metavar="N", help="how many" + default)
    text = "seed of the first permutation; the next has N + 1" + default
    add("--seed", type=seed_number, default=0, metavar="N", help=text)
    return made


def name_of(args: argparse.Namespace) -> str:
    """Return what is learnt, in a few words; a folder goes by its last name, since figures have little room."""
    data = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}.get(args.data, os.path.basename(os.path.abspath(args.data)))
    data = data if len(data) <= 24 else f"{data[:23]}…"
    return f"{data}, {args.label} against the rest, degree {args.degree}"
