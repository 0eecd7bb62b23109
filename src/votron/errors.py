"""The errors that Votron raises on purpose.

All are a `ValueError`, so code that does not know Votron handles them as it handles scikit-learn's.
"""

from __future__ import annotations

__all__ = [
    "BoundViolatedError",
    "DataError",
    "IndefiniteKernelError",
    "MissingPackageError",
    "ModelFileError",
    "NotAvailableError",
    "NotRepresentableError",
    "VotronError",
]


class VotronError(ValueError):
    """Base of all errors that Votron raises on purpose.

    Parameters
    ----------
    *message : str
        The message, one sentence or two.
    parameter : str, optional
        The parameter that the message is about. The command line puts its option in front of the message.

    Examples
    --------
    >>> from votron.errors import VotronError
    >>> error = VotronError("The 'degree' parameter of PolynomialKernel must be at least 1.", parameter="degree")
    >>> error.parameter
    'degree'
    """

    def __init__(self, *message: str, parameter: str | None = None) -> None:
        super().__init__(*message)
        self.parameter = parameter


class DataError(VotronError):
    """Data, or a file of data, that cannot be what it should be."""


class NotAvailableError(VotronError, AttributeError):
    """A method or an attribute that an object does not have as it is; ``hasattr`` answers False."""


class NotRepresentableError(VotronError):
    """A number that training or prediction needs does not fit into a float64.

    A polynomial kernel of a high degree on unscaled data is the usual cause.
    """


class IndefiniteKernelError(VotronError):
    """A kernel gave values that no inner product can give, such as K(x, x) < 0."""


class ModelFileError(VotronError):
    """A file that cannot be the model file it should be, or a model that cannot be put into one."""


class MissingPackageError(VotronError, ImportError):
    """A package is not installed that this part of Votron needs."""


class BoundViolatedError(VotronError):
    """A training run breaks a mistake bound, which no run can: an error in Votron, not in what it was given."""
