"""What classifiers hand to `votron.explanations`: what they score with, and names of rows and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from votron._util.frames import in_pandas, is_index, names_by_labels
from votron._util.types import Label, RowsLike
from votron.estimators._validation import validated
from votron.estimators.compact import rule_of
from votron.explanations.models import check_are_rows, explained

if TYPE_CHECKING:
    from votron.estimators.base import VotronClassifier
    from votron.explanations import Explanations


def explain(
    model: VotronClassifier,
    X: RowsLike,
    label: Label,
    against: Any,
    *,
    top: int | None,
    first: int,
    feature_names: Sequence[str] | None,
    names: Any,
) -> Explanations:
    """Return why a fitted model scores rows as it does."""
    check_are_rows(X)
    rows, _ = validated(model, X, kernel=getattr(model, "kernel_", None), reset=False)
    row_names: dict[int, str] = getattr(model, "row_names_", {})
    names = X.index if names is None and in_pandas(X) else names
    if is_index(names):
        # In the words for training rows: where these have no names, label and position are one, as far as is known.
        by_position = hasattr(model, "support_") and not row_names
        names = names_by_labels(names, "row" if by_position else "index")
    return explained(
        model._explained_form(),
        rows,
        model.classes_,
        n_threads=model._n_threads,
        rule=rule_of(model),
        label=label,
        against=against,
        top=top,
        first=first,
        ties_to_first=model._ties_to_first,
        feature_names=getattr(model, "feature_names_in_", None) if feature_names is None else feature_names,
        row_names=row_names,
        names=names,
    )
