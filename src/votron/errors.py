"""The errors that Votron raises on purpose.

All are a `ValueError`, so code that does not know Votron handles them as it handles scikit-learn's.
"""

__all__ = [
    "BoundViolatedError",
    "DataError",
    "IndefiniteKernelError",
    "MissingPackageError",
    "ModelFileError",
    "NotRepresentableError",
    "VotronError",
]


class VotronError(ValueError):
    """Base of all errors that Votron raises on purpose.

    Examples
    --------
    >>> from votron import load
    >>> from votron.errors import VotronError
    >>> try:
    ...     load("no-such-file")
    ... except VotronError as error:
    ...     print(f"{type(error).__name__}: {error}")
    ModelFileError: Cannot read the model file 'no-such-file': No such file or directory.
    """


class DataError(VotronError):
    """Data, or a file of data, that cannot be what it should be."""


class NotRepresentableError(VotronError):
    """A number that training or prediction needs does not fit into a float64.

    A polynomial kernel of a high degree on unscaled data is the usual way to get there.
    """


class IndefiniteKernelError(VotronError):
    """A kernel gave values that no inner product can give, such as K(x, x) < 0."""


class ModelFileError(VotronError):
    """A file that cannot be the model file it should be, or a model that cannot be put into one."""


class MissingPackageError(VotronError, ImportError):
    """A package is not installed that this part of Votron needs."""


class BoundViolatedError(VotronError):
    """A training run breaks a mistake bound, which no run can: an error in Votron, not in what it was given."""
