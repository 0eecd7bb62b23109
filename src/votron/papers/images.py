"""Images as rows of pixels: deskewed, shifted, distorted, and beside distorted copies.

Problem: the same digit written with another slant, or one pixel to the side, is far away for a kernel on pixels.
Input: a matrix with an image in each row, pixel after pixel, line after line. Output: such a matrix again.

=============  =====================================================================================================
`Deskew`       takes differences out: each image is sheared until it stands upright, and moved to the centre;
               or nearly so, at random, for copies to train on
`Shift`        moves all images by whole pixels
`Thicken`      makes strokes thicker or thinner
`with_copies`  puts differences in: images and transformed copies of them, "virtual examples", to train on
=============  =====================================================================================================

Integers stay integers of the same type, so that training on them stays exact and fast. Length 1 is a matter of the
kernel: ``PolynomialKernel(6, gamma=3).of(NormalizedKernel(LinearKernel()))``.

References: Y. LeCun et al. (1998), Gradient-based learning applied to document recognition, for deskewing;
D. DeCoste and B. Schölkopf (2002), Training invariant support vector machines, for virtual examples.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from votron.errors import VotronError

__all__ = ["EIGHT", "FOUR", "Deskew", "Shift", "Thicken", "with_copies"]

FOUR = ((-1, 0), (0, -1), (0, 1), (1, 0))
"""One pixel up, left, right, down: offsets (down, right)."""
EIGHT = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
"""One pixel in every direction, the diagonal ones too."""

_AT_ONCE = 1024
"""Images whose moments are computed together: enough for numpy, and little memory."""


class _ImageTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """What maps each image to an image, and learns nothing from the data."""

    shape: tuple[int, int] | None

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the parameters and the data; there is nothing to learn.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The images, one in each row.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The transformer.
        """
        self._images(X, reset=True)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the images, transformed.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The images, one in each row. They stay as they are.

        Returns
        -------
        array of shape (n_samples, n_features)
            The new images, of the same type.
        """
        images = self._images(X, reset=False)
        return self._map(images).reshape(len(images), -1)

    def _images(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return checked rows as images."""
        self._check()
        before = dict(self.__dict__)
        try:
            X = validate_data(self, X, reset=reset)
            return np.asarray(X).reshape(-1, *self._shape_of(X.shape[1]))
        except ValueError:
            self.__dict__ = before
            raise

    def _check(self) -> None:
        """Refuse parameters that make no sense whatever the data."""
        _check_shape(self.shape, type(self).__name__)

    def _shape_of(self, n_pixels: int) -> tuple[int, int]:
        return _shape_of(n_pixels, self.shape, type(self).__name__)

    def _map(self, images: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Deskew(_ImageTransformer):
    """Shear images until they stand upright, and move their centres of mass to the centre.

    With a pixel's value its mass, an image has a centre of mass, and a slant: how far the mass moves to the right from
    a line to the next, by least squares. Each line is moved back by its share of the slant, and the whole to the
    centre; pixels between pixels are interpolated, linearly. Values below 0 have no mass, and an image without mass
    stays as it is.

    With ``spread`` or ``shift`` above 0 the images are left a little askew, each in its own way: slanted, turned,
    stretched and moved at random. Such copies are examples to train on beside the upright images. They are made in one
    step, since interpolating twice would blur them.

    Parameters
    ----------
    spread : float, default=0.0
        The upright image is read through a matrix I + A about its middle; this is the standard deviation of the four
        numbers of A. 0.08 is about five degrees, or eight percent.
    shift : float, default=0.0
        Standard deviation, in pixels, of how far the image is moved down and right of the centre.
    seed : int, default=0
        Which random numbers. What is drawn for an image depends on the seed and the image alone, not on others.
    shape : tuple of two int, optional
        Height and width of the images, whose product is the number of features. None: they are square.

    Attributes
    ----------
    n_features_in_ : int
        Number of pixels, once fitted; `transform` needs no `fit`.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.papers.images import Deskew
    >>> slanted = np.array([[9, 0, 0, 0, 0],
    ...                     [0, 9, 0, 0, 0],
    ...                     [0, 0, 9, 0, 0]], dtype=np.uint8)
    >>> Deskew(shape=(3, 5)).transform(slanted.reshape(1, -1)).reshape(3, 5)
    array([[0, 0, 9, 0, 0],
           [0, 0, 9, 0, 0],
           [0, 0, 9, 0, 0]], dtype=uint8)
    >>> askew = Deskew(spread=0.2, shift=0.5, seed=2, shape=(3, 5))
    >>> askew.transform(slanted.reshape(1, -1)).reshape(3, 5)
    array([[0, 0, 6, 3, 0],
           [1, 2, 6, 4, 0],
           [0, 1, 6, 5, 0]], dtype=uint8)

    As a step before a classifier:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(Deskew(), VotedPerceptronClassifier(random_state=0))
    >>> bool(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95)
    True
    """

    def __init__(
        self, spread: float = 0.0, shift: float = 0.0, seed: int = 0, shape: tuple[int, int] | None = None
    ) -> None:
        self.spread = spread
        self.shift = shift
        self.seed = seed
        self.shape = shape

    def _check(self) -> None:
        super()._check()
        for name in ("spread", "shift"):
            value: Any = getattr(self, name)
            number = _is_whole(value) or isinstance(value, float | np.floating)
            if not (number and 0 <= value < math.inf):
                raise VotronError(
                    f"The '{name}' parameter of Deskew must be a number of at least 0. Got {value!r} instead."
                )
        if not (_is_whole(self.seed) and self.seed >= 0):
            raise VotronError(
                f"The 'seed' parameter of Deskew must be an int of at least 0. Got {self.seed!r} instead."
            )

    def _map(self, images: NDArray[Any]) -> NDArray[Any]:
        out = np.empty_like(images)
        middle = (np.array(images.shape[1:]) - 1) / 2
        for low in range(0, len(images), _AT_ONCE):
            part = images[low : low + _AT_ONCE].astype(np.float64)
            has_mass, centres, slants = _moments(part)
            for i in np.flatnonzero(has_mass):
                askew, away = self._drawn(part[i])
                # Multiplications and additions written out: a matrix product fuses them on some processors.
                matrix = np.stack([askew[0], slants[i] * askew[0] + askew[1]])
                offset = centres[i] - (matrix * (middle + away)).sum(axis=1)
                part[i] = ndimage.affine_transform(part[i], matrix, offset, order=1, mode="grid-constant")
            out[low : low + _AT_ONCE] = np.rint(part) if images.dtype.kind in "biu" else part
        return out

    def _drawn(self, image: NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the matrix and the offset that leave an image askew: one and zero where nothing is drawn."""
        if not (self.spread or self.shift):
            return np.eye(2), np.zeros(2)
        rng = np.random.default_rng([int(self.seed), zlib.crc32(image.tobytes())])
        return np.eye(2) + self.spread * rng.standard_normal((2, 2)), self.shift * rng.standard_normal(2)


class Shift(_ImageTransformer):
    """Move images by whole pixels; what leaves the image is lost, and zeros come in.

    Parameters
    ----------
    down, right : int, default=0
        How far; below 0, up and to the left.
    shape : tuple of two int, optional
        Height and width of the images, whose product is the number of features. None: they are square.

    Attributes
    ----------
    n_features_in_ : int
        Number of pixels, once fitted; `transform` needs no `fit`.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> from votron.papers.images import Shift
    >>> Shift(down=1).transform([[1, 2, 3, 4]])
    array([[0, 0, 1, 2]])
    """

    def __init__(self, down: int = 0, right: int = 0, shape: tuple[int, int] | None = None) -> None:
        self.down = down
        self.right = right
        self.shape = shape

    def _check(self) -> None:
        super()._check()
        for name in ("down", "right"):
            value = getattr(self, name)
            if not _is_whole(value):
                raise VotronError(f"The '{name}' parameter of Shift must be an int. Got {value!r} instead.")

    def _map(self, images: NDArray[Any]) -> NDArray[Any]:
        return _moved(images, int(self.down), int(self.right))


class Thicken(_ImageTransformer):
    """Make bright strokes thicker or thinner: each pixel becomes the largest, or the smallest, around it.

    Parameters
    ----------
    by : int, default=1
        How many pixels thicker: a pixel becomes the largest of a square of ``by + 1`` pixels a side that ends in it.
        Below 0, thinner: the smallest.
    shape : tuple of two int, optional
        Height and width of the images, whose product is the number of features. None: they are square.

    Attributes
    ----------
    n_features_in_ : int
        Number of pixels, once fitted; `transform` needs no `fit`.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> from votron.papers.images import Thicken
    >>> thick = Thicken(by=1).transform([[0, 0, 0, 0, 9, 0, 0, 0, 0]])
    >>> thick.reshape(3, 3)
    array([[0, 0, 0],
           [0, 9, 9],
           [0, 9, 9]])
    >>> Thicken(by=-1).transform(thick).reshape(3, 3)
    array([[0, 0, 0],
           [0, 0, 0],
           [0, 0, 9]])
    """

    def __init__(self, by: int = 1, shape: tuple[int, int] | None = None) -> None:
        self.by = by
        self.shape = shape

    def _check(self) -> None:
        super()._check()
        if not _is_whole(self.by):
            raise VotronError(f"The 'by' parameter of Thicken must be an int. Got {self.by!r} instead.")

    def _map(self, images: NDArray[Any]) -> NDArray[Any]:
        best = np.maximum if self.by > 0 else np.minimum
        out = images.copy()
        for axis in (1, 2):
            before = out
            for by in range(1, abs(int(self.by)) + 1):
                out = best(out, _moved(before, by if axis == 1 else 0, by if axis == 2 else 0))
        return out


def with_copies(X: Any, y: Any, transformers: Iterable[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return examples and transformed copies of them, with their labels: virtual examples.

    Only the support vectors of a first training are worth their copies: train, add copies of ``support_vectors_``, and
    train on these.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The examples, such as images, one in each row.
    y : array of shape (n_samples,)
        Their labels.
    transformers : transformers
        One for each copy, such as `Shift`; those that need no ``fit``.

    Returns
    -------
    X : array of shape ((1 + n_transformers) · n_samples, n_features)
        The examples as they are, then all of them as the first transformer leaves them, and so on.
    y : array of shape ((1 + n_transformers) · n_samples,)
        The labels.

    Examples
    --------
    >>> from votron.papers.images import EIGHT, Shift, with_copies
    >>> with_copies([[1, 2, 3, 4]], ["a"], [Shift(0, 1), Shift(-1, 0)])
    (array([[1, 2, 3, 4],
           [0, 1, 0, 3],
           [3, 4, 0, 0]]), array(['a', 'a', 'a'], dtype='<U1'))

    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:900], y[:900])
    >>> shifts = [Shift(down, right) for down, right in EIGHT]
    >>> more = model.fit(*with_copies(model.support_vectors_, y[model.support_], shifts))
    """
    rows, labels = np.asarray(X), np.asarray(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise VotronError(
            "with_copies takes a matrix of examples and one label for each. "
            f"Got arrays of the shapes {rows.shape} and {labels.shape} instead."
        )
    copies = [rows, *(np.asarray(transformer.transform(rows)) for transformer in transformers)]
    return np.concatenate(copies), np.tile(labels, len(copies))


def _moments(images: NDArray[np.float64]) -> tuple[Any, Any, Any]:
    """Return for each image whether it has mass, its centre of mass (line, column), and its slant in columns a line.

    Each number is a sum over one image alone, in a fixed order: it does not depend on the images beside it.
    """
    mass = np.maximum(images, 0.0)
    mass /= np.maximum(mass.max(axis=(1, 2), keepdims=True, initial=0.0), np.finfo(float).tiny)  # no sum overflows
    lines, columns = (np.arange(size, dtype=np.float64) for size in images.shape[1:])
    of_lines = mass.sum(axis=2)
    total = of_lines.sum(axis=1)
    has_mass = total > 0
    total = np.where(has_mass, total, 1.0)
    down = (of_lines * lines).sum(axis=1) / total
    torques = (mass * columns).sum(axis=2)
    right = torques.sum(axis=1) / total
    away = lines - down[:, None]
    spread = (of_lines * away**2).sum(axis=1)
    covariance = ((torques - right[:, None] * of_lines) * away).sum(axis=1)
    flat = spread <= 1e-9 * total  # one line only, up to rounding: nothing to shear
    return has_mass, np.stack([down, right], axis=1), np.where(flat, 0.0, covariance / np.where(flat, 1.0, spread))


def _moved(images: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """Return images moved by whole pixels."""
    out = np.zeros_like(images)
    height, width = images.shape[1:]
    (to_line, from_line), (to_column, from_column) = _overlap(down, height), _overlap(right, width)
    out[:, to_line, to_column] = images[:, from_line, from_column]
    return out


def _overlap(by: int, size: int) -> tuple[slice, slice]:
    """Return which part of a line of pixels is filled when it is moved, and which part fills it."""
    by = max(-size, min(size, by))
    return slice(max(by, 0), size + min(by, 0)), slice(max(-by, 0), size + min(-by, 0))


def _is_whole(value: Any) -> bool:
    """Tell whether it is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_shape(shape: Any, name: str) -> None:
    pair = isinstance(shape, tuple | list) and len(shape) == 2 and all(_is_whole(size) and size >= 1 for size in shape)
    if shape is not None and not pair:
        raise VotronError(
            f"The 'shape' parameter of {name} must be None or the height and width of the images, two ints of at "
            f"least 1. Got {shape!r} instead."
        )


def _shape_of(n_pixels: int, shape: tuple[int, int] | None, name: str) -> tuple[int, int]:
    """Return height and width of images with so many pixels."""
    if shape is None:
        side = math.isqrt(n_pixels)
        if side * side != n_pixels:
            raise VotronError(
                f"The images of {name} must be square where 'shape' is None: give their height and width. "
                f"Got {n_pixels} features instead."
            )
        return side, side
    height, width = map(int, shape)
    if height * width != n_pixels:
        raise VotronError(
            f"The 'shape' parameter of {name} must fit the images, of {n_pixels} features each. "
            f"Got {shape!r} instead, which is {height * width}."
        )
    return height, width
