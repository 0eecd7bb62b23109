"""Why, and how far it can be trusted: explanations and certificates, which draw themselves, as displays."""

from __future__ import annotations

from typing import Any, Self

from votron._util.types import Axes, Estimator, Labels, RowsLike
from votron.errors import VotronError
from votron.plots._base import Display, check_offers

__all__ = ["CertificateDisplay", "ExplanationDisplay"]


class CertificateDisplay(Display):
    """A certificate: bounds on errors by predictor, beside what was measured.

    Parameters
    ----------
    certificate : Certificate
        What `votron.certify` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import CertificateDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X, y)
    >>> CertificateDisplay.from_estimator(model, X, y).certificate.m
    150
    """

    def __init__(self, certificate: Any):
        self.certificate = certificate

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, ax: Axes = None, **options: Any) -> Self:
        """Compute the certificate of a fitted model on its training data, and draw it.

        Parameters
        ----------
        estimator : classifier
            The model.
        X, y : arrays
            The data that it was trained on.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **options : object
            Of `votron.certify`, such as ``delta`` or ``X_test`` and ``y_test``.
        """
        from votron.theory import certify

        return cls(certify(estimator, X, y, **options)).plot(ax)

    def plot(self, ax: Axes = None) -> Self:
        """Draw on these axes, or on those of a new figure."""
        self.ax_ = self.certificate.plot(ax)
        self.figure_ = self.ax_.figure
        return self


class ExplanationDisplay(Display):
    """An explanation: the examples or features that made the score of a row, and beneath them how the vectors voted.

    Parameters
    ----------
    explanation : Explanation
        One of those that ``model.explain`` returns.
    image_shape : (int, int), optional
        Height and width, where rows are images.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import ExplanationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:600], y[:600])
    >>> str(ExplanationDisplay.from_estimator(model, X[[1201]]).explanation.label)
    '7'
    """

    def __init__(self, explanation: Any, image_shape: tuple[int, int] | None = None):
        self.explanation, self.image_shape = explanation, image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: RowsLike,
        *,
        image_shape: tuple[int, int] | None = None,
        ax: Axes = None,
        **options: Any,
    ) -> Self:
        """Explain the one row of X, and draw it.

        Parameters
        ----------
        estimator : classifier
            A fitted model with ``explain``.
        X : array of shape (1, n_features)
            The row.
        image_shape : (int, int), optional
            Height and width, where rows are images.
        ax : matplotlib Axes, optional
            Where to draw the terms alone; by default on a new figure, with the votes beneath them.
        **options : object
            Of ``explain``, such as ``label``, ``against`` and ``top``.
        """
        check_offers(estimator, "explain", cls.__name__, "classifiers that explain themselves")
        found = estimator.explain(X, **options)
        if len(found) != 1:
            raise VotronError(f"{cls.__name__} shows one row, as in X[[7]]. Got {len(found):,} rows instead.")
        return cls(found[0], image_shape).plot(ax)

    def plot(self, ax: Axes = None) -> Self:
        """Draw on these axes, or on those of a new figure."""
        self.ax_ = self.explanation.plot(ax, image_shape=self.image_shape)
        self.figure_ = self.ax_.figure
        return self
