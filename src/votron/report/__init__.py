"""Reports: one HTML page that says what a model does on labelled rows; `write_report` writes it."""

from __future__ import annotations

import os
from pathlib import Path

from votron import __version__
from votron._util.files import write_text
from votron._util.pipelines import weighs_classes
from votron._util.plotting import can_draw
from votron._util.text import counted, name_of, percent_range, render, utc_now
from votron._util.types import Estimator, Labels, RowsLike
from votron.errors import VotronError
from votron.evaluate.evaluation import beside_majority, rarest_in_words
from votron.report.findings import Findings, Origin, batches_of
from votron.report.sections import sections_of
from votron.theory import Certificate

__all__ = ["write_report"]

_NO_FIGURES = 'The figures are left out, for they need matplotlib: pip install "votron[plot]".'


def write_report(
    model: Estimator,
    X: RowsLike,
    y: Labels,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    certificate: Certificate | None = None,
    confidence: float = 0.95,
    image_shape: tuple[int, ...] | None = None,
) -> Path:
    """Write what a model does on labelled rows as one HTML page, which has no scripts and needs no network.

    Writing it needs jinja2, and its figures matplotlib: ``pip install "votron[cli]"``.

    Parameters
    ----------
    model : classifier
        Any fitted classifier of scikit-learn's kind, or a pipeline that ends in one.
    X : array, CSR matrix or data frame of shape (n_samples, n_features)
        Rows, which training should not have seen, as the model takes them.
    y : array of shape (n_samples,)
        Their labels.
    path : str or path-like
        The file, which is written whole or not at all; one that is there is replaced.
    title : str, optional
        The heading of the page.
    certificate : Certificate, optional
        What `votron.certify` returned.
    confidence : float, default=0.95
        Confidence level of the intervals.
    image_shape : tuple of int, optional
        Height and width, and 3 for colours, where rows are images; known for rows of 64 and 784 numbers.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from votron import AveragedPerceptronClassifier
    >>> from votron.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AveragedPerceptronClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X[1::2], y[1::2], f"{folder}/iris.html").read_text(encoding="utf-8")
    >>> "of 75 rows wrong" in page
    True
    """
    found = Findings(model, confidence)
    for batch in batches_of(X, y, image_shape):
        found.add(batch)
    if not found.counts.n:
        raise VotronError("There are no rows to report on.")
    name, n_rows = type(found.classifier).__name__, counted(found.counts.n, "row")
    origin = Origin(title or f"{name} on {n_rows}", name, n_rows, certificate=certificate)
    write_text(out := Path(path), html(found, origin))
    return out


def html(found: Findings, origin: Origin) -> str:
    """Return the page of what was found."""
    label = f", which predicts {name_of(found.description.label)}" if found.description.label else ""
    return render(
        "report/templates/page.html.jinja",
        title=origin.title,
        about=f"{origin.model}{label}, on {origin.data}. {utc_now()[:10]}, Votron {__version__}.",
        summary=summary(found, origin),
        found=found,
        interval=percent_range(found.counts.interval(found.confidence)),
        notes=[*origin.notes, *([] if can_draw() else [_NO_FIGURES])],
        parts=[{"key": key, "heading": heading, **part} for key, heading, part in sections_of(found, origin)],
    )


def summary(found: Findings, origin: Origin) -> str:
    """Return in a sentence how often a model errs, and how often one would who always gave the same answer."""
    counts = found.counts
    rarest = rarest_in_words(counts.rarest, weighed=weighs_classes(found.classifier, origin.provenance))
    majority = beside_majority(counts.wrong, counts.majority, by_error=bool(rarest))
    text = "; ".join(filter(None, [found.evaluation.error_in_words(found.confidence), majority, rarest]))
    return f"{text[0].upper()}{text[1:]}."
