"""The file of wrong rows: where each stands, its true and its given label, scores, and what is in it."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import plain_labels
from votron._util.text_tables import as_csv


class WrongRowsFile:
    """Writes the rows that a model gets wrong, batch by batch, as CSV."""

    def __init__(self, file: BinaryIO, classifier: Any) -> None:
        self.file, self.classifier = file, classifier
        self._begun = False

    def add(self, batch: Any, X: Any, predicted: NDArray[Any]) -> None:
        """Write those of a batch."""
        wrong = np.flatnonzero(predicted != batch.y)
        columns = self._places(batch, wrong)
        columns |= {"true": batch.y[wrong].tolist(), "predicted": predicted[wrong].tolist()}
        columns |= self._scores(X[wrong])
        for name in batch.columns or ():
            columns[f"{name} (data)" if name in columns else name] = batch.X[name].gather(wrong).to_list()
        head = [] if self._begun else [columns]
        text = as_csv([*head, *zip(*columns.values(), strict=True)])
        self.file.write(text.encode("utf-8", "backslashreplace"))
        self._begun = True

    def _places(self, batch: Any, wrong: NDArray[np.int64]) -> dict[str, list[Any]]:
        """Return the number of each row, as `votron explain --row` takes it, and its line or file."""
        columns: dict[str, list[Any]] = {"row": batch.row_numbers[wrong].tolist()}
        if batch.lines is not None:
            columns["line"] = np.asarray(batch.lines)[wrong].tolist()
        if batch.files is not None:
            columns["file"] = [batch.files[row] for row in wrong]
        return columns

    def _scores(self, X: Any) -> dict[str, list[Any]]:
        """Return the scores of the classes, of two a single one, and their probabilities, where there are any."""
        classes = [str(label) for label in plain_labels(self.classifier.classes_).tolist()]
        wanted = {
            "decision_function": ["score"] if len(classes) == 2 else [f"score_{name}" for name in classes],
            "predict_proba": [f"p_{name}" for name in classes],
        }
        columns: dict[str, list[Any]] = {}
        for method, heads in wanted.items():
            if hasattr(self.classifier, method):
                none = np.zeros((0, len(heads)))
                values = getattr(self.classifier, method)(X) if X.shape[0] else none
                columns |= dict(zip(heads, np.reshape(values, (-1, len(heads))).T.tolist(), strict=True))
        return columns
