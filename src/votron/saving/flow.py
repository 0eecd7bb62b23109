"""Data on their way through the steps of a pipeline: of which kind they are, how wide, and whether they are sparse.

Steps from a file are sound one by one and may still not fit one another: words for a scaler, five features for a step
that takes six, a sparse matrix for one that takes none. Such a pipeline would fail at its first row, with an error that
names neither file nor step, so it is refused when it is opened. What a step takes and gives, its own object says
(`votron.saving.steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from votron._moved import moved
from votron.errors import ModelFileError
from votron.kernels.base import is_precomputed

__all__ = ["ANY_DATA", "Flow", "check_fits"]


@dataclass(frozen=True)
class Flow:
    """What goes from one step to the next.

    Attributes
    ----------
    kind : {"data", "table", "texts", "numbers"}
        "data" is what users give to the first step: whatever it takes.
    width : int or None
        Number of columns or features, if it is known.
    sparse : bool or None
        Whether numbers come as a sparse matrix, if that is known.
    names : tuple of str, optional
        The columns of a table.

    Examples
    --------
    >>> print(Flow("numbers", 5, sparse=True))
    a sparse matrix of 5 columns
    """

    kind: str
    width: int | None = None
    sparse: bool | None = None
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        size = "" if self.width is None else f" of {self.width:,} columns"
        return {"numbers": f"a {'sparse ' if self.sparse else ''}matrix{size}", "table": f"a table{size}"}.get(
            self.kind, self.kind
        )


ANY_DATA = Flow("data")


def check_fits(model: Any, before: Flow) -> None:
    """Refuse a classifier that cannot take what the last step gives.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> model = AveragedPerceptronClassifier().fit([[0, 1], [1, 0]], [0, 1])
    >>> check_fits(model, Flow("numbers", 3))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The AveragedPerceptronClassifier takes 2 features, and the step before it gives a
    matrix of 3 columns.
    """
    sparse = bool(model.__sklearn_tags__().input_tags.sparse) and not is_precomputed(getattr(model, "kernel_", None))
    if before.kind != ANY_DATA.kind:
        numbers_after(model, before, sparse=sparse)


def refused(step: Any, takes: str, before: Flow) -> ModelFileError:
    """Return the error of a step that gets what it does not take."""
    return ModelFileError(f"The {type(step).__name__} takes {takes}, and the step before it gives {before}.")


def numbers_after(step: Any, before: Flow, *, sparse: bool = True) -> Flow:
    """Return what a step gives that changes numbers and neither their places nor whether they are sparse."""
    width = getattr(step, "n_features_in_", None)
    if before.kind == "texts":
        raise refused(step, "numbers", before)
    if None not in (width, before.width) and width != before.width:
        raise refused(step, f"{width:,} features", before)
    if before.sparse and not sparse:
        raise refused(step, "no sparse matrices", before)
    names = getattr(step, "feature_names_in_", None)
    if before.names is not None and names is not None and tuple(names) != before.names:
        raise ModelFileError(f"The {type(step).__name__} has other names of features than the table that it is given.")
    return Flow("numbers", before.width if width is None else width, before.sparse if sparse else False)


__getattr__ = moved(__name__, "votron.saving.steps", "after")
