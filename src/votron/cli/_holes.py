"""Missing values that a model filled in: in how many rows, of which columns, and with what."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from votron._util.frames import empty_cells
from votron._util.text import counted
from votron.data.vocabulary import STRATEGIES
from votron.tables import encoder_of

_SHOWN = 5
"""Columns that the remark names."""


@dataclass
class FilledHoles:
    """What rows that went through a model lacked, added up batch by batch.

    Examples
    --------
    >>> import polars as pl
    >>> from votron import AveragedPerceptronClassifier, table_classifier
    >>> days = pl.DataFrame({"sky": ["rain", "sun", "sun"], "temp": [9, 21, None]})
    >>> model = table_classifier(days, AveragedPerceptronClassifier(random_state=0), missing="mean")
    >>> _ = model.fit(days, [0, 1, 1])
    >>> new = pl.DataFrame({"sky": [None, "sun", "sun"], "temp": [9, None, None]})
    >>> holes = FilledHoles()
    >>> holes.add(model, {"sky": "text", "temp": "number"}, new, model[:-1].transform(new))
    >>> print(*holes.sentences(in_training={"temp": 1}))
    3 rows have missing values, which were filled in: 'sky' in 1 row (no feature is set, though none was missing in
    training), 'temp' in 2 rows (as 15).
    """

    rows: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    """How many rows lack each column that some lack."""
    filled: dict[str, str] = field(default_factory=dict)
    """What stands there instead, in words, where that is known."""

    def add(self, model: Any, kinds: Mapping[str, str], X: Any, features: Any) -> None:
        """Count a batch: a frame, and what the steps before the classifier made of it."""
        empty = {name: empty_cells(X[name]) for name in kinds if name in X.columns}
        empty = {name: cells for name, cells in empty.items() if cells.any()}
        if not empty:
            return
        self.rows += int(np.count_nonzero(np.any(list(empty.values()), axis=0)))
        for name, cells in empty.items():
            self.columns[name] = self.columns.get(name, 0) + int(np.count_nonzero(cells))
        encoder = encoder_of(model)
        if encoder is not None:
            self.filled |= {column.name: column.filling for column in encoder.columns_ if column.name in empty}

    def sentences(self, in_training: Mapping[str, Any] | None) -> list[str]:
        """Return the remark, if something was filled in; ``in_training`` has the holes of training, where known.

        Columns that had none there come first: the model has not learnt what their holes mean.
        """
        if not self.rows:
            return []
        before = self.columns if in_training is None else in_training
        most = sorted(self.columns, key=lambda name: (name in before, -self.columns[name]))
        named = ", ".join(self._about(name, new=name not in before) for name in most[:_SHOWN])
        more = f", and {counted(len(most) - _SHOWN, 'more column')}" if len(most) > _SHOWN else ""
        have = "has" if self.rows == 1 else "have"
        return [f"{counted(self.rows, 'row')} {have} missing values, which were filled in: {named}{more}."]

    def _about(self, name: str, *, new: bool) -> str:
        though = "though none was missing in training" if new else ""
        about = ", ".join(filter(None, [self.filled.get(name, ""), though]))
        return f"{name!r} in {counted(self.columns[name], 'row')}" + (f" ({about})" if about else "")


def holes_of_training(args: argparse.Namespace, X: Any) -> dict[str, Any]:
    """Return what a model file says of the holes that training filled in, by column: all that had some.

    Examples
    --------
    >>> import polars as pl
    >>> holes_of_training(argparse.Namespace(missing="mean"), pl.DataFrame({"a": [1, None], "b": [1, 2]}))
    {'holes': {'a': 1}}
    >>> holes_of_training(argparse.Namespace(missing="drop"), pl.DataFrame({"a": [1, 2]}))
    {}
    """
    if args.missing not in STRATEGIES or not hasattr(X, "columns"):
        return {}
    counts = {name: int(np.count_nonzero(empty_cells(X[name]))) for name in X.columns}
    return {"holes": {name: n for name, n in counts.items() if n}}
