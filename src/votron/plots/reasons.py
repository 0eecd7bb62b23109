"""Why, and how far it can be trusted: explanations and certificates, which draw themselves, as displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from votron._util.types import Axes, Estimator, Labels, RowsLike
from votron.errors import VotronError
from votron.plots._base import Display, check_offers

if TYPE_CHECKING:
    from votron.explanations import Explanation
    from votron.theory import Certificate

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

    def __init__(self, certificate: Certificate):
        self.certificate = certificate

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, ax: Axes = None, **options: Any) -> Self:
        """Compute the certificate of a fitted model on its training data, by `votron.certify`, and draw it."""
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

    def __init__(self, explanation: Explanation, image_shape: tuple[int, int] | None = None):
        self.explanation, self.image_shape = explanation, image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: RowsLike,
        *,
        image_shape: tuple[int, int] | None = None,
        ax: Axes = None,
        **options: object,
    ) -> Self:
        """Explain the one row of X with options of ``explain``, and draw it; on ``ax`` without the votes."""
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
