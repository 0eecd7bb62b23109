"""Images as rows of pixels: deskewed, shifted, with thicker strokes.

Problem: the same digit with another slant, or one pixel to the side, is far away for a kernel on pixels. `deskew`
removes such differences; copies with added differences are "virtual examples" to train on. Images are square, one per
row, and keep their type, so that training on whole numbers stays exact and fast.

References: Y. LeCun et al. (1998), Gradient-based learning applied to document recognition, for deskewing;
D. DeCoste and B. Schölkopf (2002), Training invariant support vector machines, for virtual examples.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable

import numpy as np
from scipy import ndimage

from votron._util.types import Array, Floats
from votron.errors import VotronError

__all__ = ["EIGHT", "FOUR", "deskew", "shift", "thicken", "with_shifts"]

FOUR = ((-1, 0), (0, -1), (0, 1), (1, 0))
"""One pixel up, left, right, down: offsets (down, right)."""
EIGHT = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
"""One pixel in every direction, diagonals included."""


def deskew(X: Array, *, spread: float = 0.0, offset: float = 0.0, seed: int = 0) -> Array:
    """Shear images until they stand upright, and move their centres of mass to the centre.

    A pixel's value is its mass; images without mass stay as they are. The slant is how far the mass moves to the right
    from one line to the next, by least squares; pixels are interpolated linearly.

    For virtual examples the images can be left a little askew, in the same step, since interpolating twice would blur
    them: the upright image is read through a matrix I + A, whose four numbers A have the standard deviation ``spread``
    (0.08 is about five degrees, or eight percent), and moved by ``offset`` pixels or so. The random numbers of an image
    depend on ``seed`` and the image alone.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.papers.images import deskew
    >>> slanted = np.array([[9, 0, 0], [0, 9, 0], [0, 0, 9]], dtype=np.uint8)
    >>> deskew(slanted.reshape(1, -1)).reshape(3, 3)
    array([[0, 9, 0],
           [0, 9, 0],
           [0, 9, 0]], dtype=uint8)
    """
    images = _squares(X)
    out = np.empty_like(images)
    for i, image in enumerate(images):
        upright = _upright(image.astype(np.float64), spread, offset, seed)
        out[i] = np.rint(upright) if images.dtype.kind in "biu" else upright
    return out.reshape(len(out), -1)


def shift(X: Array, down: int, right: int) -> Array:
    """Move images by whole pixels; what leaves the image is lost, and zeros come in.

    Examples
    --------
    >>> shift(np.array([[1, 2, 3, 4]]), 1, 0)
    array([[0, 0, 1, 2]])
    """
    images = _squares(X)
    side, most = images.shape[1], max(abs(down), abs(right))
    padded = np.pad(images, ((0, 0), (most, most), (most, most)))
    top, left = most - down, most - right
    return padded[:, top : top + side, left : left + side].reshape(len(images), -1)


def thicken(X: Array, *, thinner: bool = False) -> Array:
    """Make bright strokes one pixel thicker, or thinner.

    Each pixel becomes the largest, or the smallest, of itself and those above, left, and above left of it.

    Examples
    --------
    >>> thicken(np.array([[0, 0, 0, 0, 9, 0, 0, 0, 0]])).reshape(3, 3)
    array([[0, 0, 0],
           [0, 9, 9],
           [0, 9, 9]])
    """
    best = np.minimum if thinner else np.maximum
    down = best(X, shift(X, 1, 0))
    return best(down, shift(down, 0, 1))


def with_shifts(X: Array, y: Array, offsets: Iterable[tuple[int, int]]) -> tuple[Array, Array]:
    """Return images and shifted copies of them, with their labels."""
    copies = [X, *(shift(X, down, right) for down, right in offsets)]
    return np.concatenate(copies), np.tile(y, len(copies))


def _squares(X: Array) -> Array:
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1]:
        raise VotronError(f"The images must be square. Got rows of {X.shape[1]} pixels instead.")
    return X.reshape(-1, side, side)


def _upright(image: Floats, spread: float, offset: float, seed: int) -> Floats:
    mass = np.maximum(image, 0.0)
    mass /= max(float(mass.max(initial=0.0)), np.finfo(float).tiny)  # no sum overflows
    places = np.arange(len(image), dtype=np.float64)
    of_lines, torques = mass.sum(axis=1), (mass * places).sum(axis=1)
    total = of_lines.sum()
    if total <= 0:
        return image
    down, right = (of_lines * places).sum() / total, torques.sum() / total
    away = places - down
    variance = (of_lines * away**2).sum()
    # one line only, up to rounding: nothing to shear
    slant = ((torques - right * of_lines) * away).sum() / variance if variance > 1e-9 * total else 0.0
    matrix, moved = np.eye(2), np.zeros(2)
    if spread or offset:
        rng = np.random.default_rng([seed, zlib.crc32(image.tobytes())])
        matrix, moved = matrix + spread * rng.standard_normal((2, 2)), offset * rng.standard_normal(2)
    # Multiplications and additions written out: a matrix product fuses them on some processors.
    matrix = np.stack([matrix[0], slant * matrix[0] + matrix[1]])
    start = np.array([down, right]) - (matrix * ((len(image) - 1) / 2 + moved)).sum(axis=1)
    read: Floats = ndimage.affine_transform(image, matrix, start, order=1, mode="grid-constant")
    return read
