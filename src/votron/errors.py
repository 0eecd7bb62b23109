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
    >>> from votron.errors import DataError, VotronError
    >>> try:
    ...     raise DataError("labels.idx: the file is empty.")
    ... except VotronError as error:
    ...     print(error)
    labels.idx: the file is empty.
    """


class DataError(VotronError):
    """Data, or a file of data, that cannot be what it should be.

    Examples
    --------
    >>> from votron.data import read_idx
    >>> read_idx("no-such-file")
    Traceback (most recent call last):
        ...
    votron.errors.DataError: Cannot read the IDX file 'no-such-file': No such file or directory.
    """


class NotRepresentableError(VotronError):
    """A number that training or prediction needs does not fit into a float64.

    A polynomial kernel of a high degree on unscaled data is the usual way to get there.

    Examples
    --------
    >>> from votron.errors import NotRepresentableError
    >>> raise NotRepresentableError("Kernel values reach 1e400: scale the data or lower the degree.")
    Traceback (most recent call last):
        ...
    votron.errors.NotRepresentableError: Kernel values reach 1e400: scale the data or lower the degree.
    """


class IndefiniteKernelError(VotronError):
    """A kernel gave values that no inner product can give, such as K(x, x) < 0.

    Examples
    --------
    >>> from votron.errors import IndefiniteKernelError
    >>> raise IndefiniteKernelError("K(x, x) is -1.0 for row 7: the kernel is not positive semi-definite.")
    Traceback (most recent call last):
        ...
    votron.errors.IndefiniteKernelError: K(x, x) is -1.0 for row 7: the kernel is not positive semi-definite.
    """


class ModelFileError(VotronError):
    """A file that cannot be the model file it should be, or a model that cannot be put into one.

    Examples
    --------
    >>> from votron import load
    >>> load("no-such-file")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: Cannot read the model file 'no-such-file': No such file or directory.
    """


class MissingPackageError(VotronError, ImportError):
    """A package is not installed that this part of Votron needs.

    Examples
    --------
    >>> from votron.errors import MissingPackageError
    >>> raise MissingPackageError('Reading tables needs polars: pip install "votron[files]".')
    Traceback (most recent call last):
        ...
    votron.errors.MissingPackageError: Reading tables needs polars: pip install "votron[files]".
    """


class BoundViolatedError(VotronError):
    """A training run breaks a mistake bound, which no run can: an error in Votron, not in what it was given.

    Examples
    --------
    >>> from votron.errors import BoundViolatedError
    >>> raise BoundViolatedError("57 mistakes exceed 41.2, the bound of Block & Novikoff: an error in Votron.")
    Traceback (most recent call last):
        ...
    votron.errors.BoundViolatedError: 57 mistakes exceed 41.2, the bound of Block & Novikoff: an error in Votron.
    """
