"""Names and weights of classifiers that keep training examples."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from votron._util.types import Floats, Index, Labels, RowsLike
from votron.errors import VotronError


class SupportVectorMixin:
    """A classifier that keeps training examples: they can have names, and with a linear kernel make weights."""

    support_: Index
    row_names_: dict[int, str]

    def name_rows(self, names: Any) -> Self:
        """Keep what the training rows are called, of those that the model keeps: explanations and files have it.

        After `fit` they are called as the index of a pandas frame does, of X or else of y, unless it counts from 0.

        Parameters
        ----------
        names : sequence, Index of pandas or None
            A name for each row given to `fit`, such as lines of a file. Nothing else of it is kept than the names of
            ``support_``, as text, in ``row_names_``. None: names are forgotten.

        Returns
        -------
        self
            The model.
        """
        from votron._util.frames import is_index, names_by_labels

        check_is_fitted(self)
        if names is None:
            self.__dict__.pop("row_names_", None)
            return self
        given = names if is_index(names) else list(names)
        needed = int(self.support_.max(initial=-1)) + 1
        if len(given) < needed:
            raise VotronError(
                f"The 'names' parameter of {type(self).__name__} must have one for each row of training, {needed} "
                f"at least. Got {len(given)} instead.",
                parameter="names",
            )
        rows = self.support_.tolist()
        kept = names_by_labels(given[rows]) if is_index(given) else [str(given[row]) for row in rows]
        self.row_names_ = dict(zip(rows, kept, strict=True))
        return self

    def _name_rows_as(self, X: RowsLike, y: Labels) -> None:
        """Call the rows of training by their index, and by no names that were those of other data."""
        self.__dict__.pop("row_names_", None)
        if hasattr(X, "iloc") or hasattr(y, "iloc"):
            from votron._util.frames import labels_of_rows

            self.name_rows(labels_of_rows(X, y))

    @property
    def coef_(self) -> Any:
        """Weights of the features, with a linear kernel and a rule of one vector a class, such as last or average."""
        return self._weights("coef_")[0]

    @property
    def intercept_(self) -> Floats:
        """What is added to the weighted features; 0 but for a polynomial kernel of degree 1 with ``coef0``."""
        return self._weights("intercept_")[1]

    def _weights(self, name: str) -> tuple[Any, Floats]:
        """Return weights and intercepts, or say why there are none, as AttributeError has it."""
        from votron.estimators._score_functions import Expansion, Linear

        kind = type(self).__name__
        if "support_" not in self.__dict__:
            raise AttributeError(f"This {kind} has no {name!r} before it is fitted.")
        form: Any = self._form()[0]  # type: ignore[attr-defined]
        if form.kernel is None or form.kernel.affine() is None:
            raise AttributeError(f"This {kind} has no {name!r}: its kernel, {form.kernel!r}, is not linear.")
        linear = form.reduced() if isinstance(form, Expansion) else None
        if not isinstance(linear, Linear):
            raise AttributeError(
                f"This {kind} has no {name!r}: it predicts by {form.rule!r}, with many vectors a class, and no weights "
                "of its own; with_rule('average') and with_rule('last') have some."
            )
        return linear.weights()
