"""What one pass over batches can find out, so that a second pass can learn from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from votron._frames import floats_of, kind_of
from votron.data._columns import objects_of
from votron.data._polars import polars
from votron.data.encoding import encoder_columns, make_encoder
from votron.data.examples import Examples
from votron.errors import DataError, VotronError

__all__ = ["StreamFacts", "scan_stream"]

_MAX_VALUES = 10_000
_MAX_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class StreamFacts:
    """What is known of a stream after one pass.

    Attributes
    ----------
    n_rows : int
        How many examples there are.
    dropped : int
        How many more were left out since something was missing in them.
    classes : ndarray or None
        The classes, sorted; None if there are no labels.
    class_counts : ndarray or None
        How many examples each of them has.
    n_features : int
        How many features the vectors have: those that the encoder makes of a table.
    columns : dict of str to str, or None
        What the columns of a table hold; for `open_batches`.
    zero_based : bool or None
        For svmlight, whether features count from 0; for `open_batches`.
    encoder : ColumnTransformer or None
        For a table, the encoder, fitted.

    Examples
    --------
    >>> from votron.data import open_batches, scan_stream
    >>> facts = scan_stream(open_batches("digits", batch_bytes=10_000))
    >>> facts.n_rows, facts.n_features, facts.classes.tolist()
    (1200, 64, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    n_rows: int
    dropped: int
    classes: NDArray[Any] | None
    class_counts: NDArray[np.int64] | None
    n_features: int
    columns: dict[str, str] | None = None
    zero_based: bool | None = None
    encoder: ColumnTransformer | None = None


def scan_stream(
    batches: Iterable[Examples],
    *,
    numeric: str = "standard",
    discrete: Iterable[str] = (),
    probabilities: Iterable[str] = (),
    text: Iterable[str] = (),
    n_text_features: int = 2**18,
    missing: str = "refuse",
    max_values: int = _MAX_VALUES,
) -> StreamFacts:
    r"""Go through batches once, and find out what learning from them needs to know before it begins.

    Of a table, that is an encoder: the same, to rounding, as that of `make_encoder` fitted on all rows at once.

    Parameters
    ----------
    batches : iterable of Examples
        Such as `open_batches` gives.
    numeric, discrete, probabilities, text, n_text_features
        As in `make_encoder`; texts are hashed.
    missing : {"refuse", "drop", "keep", "mean"}, default="refuse"
        As in `make_encoder`. Medians and most frequent values cannot be found in one pass.
    max_values : int, default=10000
        How many distinct values a column of names may have.

    Returns
    -------
    StreamFacts
        What was found.

    Raises
    ------
    DataError
        If a column has too many distinct values, or no value.
    VotronError
        If a parameter cannot be meant.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from votron.data import open_batches, scan_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "days.csv")
    ...     _ = path.write_text("Outlook,Temp,Play\nRainy,85,no\nSunny,87,yes\nSunny,75,yes\n")
    ...     batches = open_batches(path, label="Play", batch_bytes=20)
    ...     facts = scan_stream(batches, numeric="minmax")
    ...     facts.encoder.transform(next(iter(batches)).X)
    array([[1.        , 0.        , 0.83333333]])
    """
    if missing in ("median", "most-frequent"):
        raise VotronError(
            "The 'missing' parameter of scan_stream must be 'refuse', 'drop', 'keep' or 'mean': other fillings need "
            f"all rows at once. Got {missing!r} instead."
        )
    names = {"discrete": _listed(discrete), "probabilities": _listed(probabilities), "text": _listed(text)}
    seen = _Seen(set(names["discrete"]), set(names["text"]), set(names["probabilities"]), max_values)
    for batch in batches:
        seen.add(batch)
    if not seen.n_rows:
        raise DataError("There are no examples in the stream.")
    encoder = None
    if seen.columns:
        made = make_encoder(
            seen.sample(),
            numeric=numeric,
            missing=missing,
            n_text_features=n_text_features,
            discrete=names["discrete"],
            probabilities=names["probabilities"],
            text=names["text"],
        )
        encoder = seen.fitted(made, filled_in=missing == "mean")
    return seen.facts(encoder)


def _listed(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


class _Column:
    """What is known of a column so far."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.kind = "nothing"
        self.values: dict[Any, None] = {}
        self.word: str | None = None  # a text
        self.scaler = StandardScaler()
        self.low, self.high = np.inf, -np.inf
        self.n = 0  # that are not missing


class _Seen:
    """What is known of a stream so far."""

    def __init__(self, discrete: set[str], text: set[str], chances: set[str], max_values: int) -> None:
        self._discrete, self._text, self._chances, self._max_values = discrete, text, chances, max_values
        self.n_rows = self.dropped = self.n_features = 0
        self.zero_based: bool | None = None
        self.columns: dict[str, _Column] = {}
        self.counts: Counter[Any] | None = None

    def add(self, batch: Examples) -> None:
        """Take a batch into account."""
        self.n_rows += batch.n_rows
        self.dropped += batch.dropped
        self.n_features = max(self.n_features, int(batch.X.shape[1]))
        self.zero_based = batch.zero_based
        if batch.y is not None:
            found, counts = np.unique(batch.y, return_counts=True)
            self.counts = self.counts if self.counts is not None else Counter()
            self.counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
            if len(self.counts) > _MAX_CLASSES:
                raise DataError(
                    f"The labels must have at most {_MAX_CLASSES} classes. Got more: is it the right column?"
                )
        if batch.columns is not None:
            for column in batch.X.get_columns():
                self._add_column(column, batch.first_row)

    def _add_column(self, column: Any, first_row: int) -> None:
        name, kind = column.name, kind_of(column)
        mine = self.columns.setdefault(name, _Column(column.dtype))
        if kind == "nothing":
            return
        if mine.kind not in ("nothing", kind):
            raise DataError(f"The column {name!r} must hold {mine.kind} as in the rows before. Got {kind} instead.")
        mine.kind = kind
        if name in self._text:
            mine.word = mine.word or next((value for value in objects_of(column) if value and len(value) > 1), None)
        elif kind in ("text", "other") or name in self._discrete:
            self._add_values(mine, column)
        else:
            self._add_numbers(mine, column, first_row)

    def _add_values(self, mine: _Column, column: Any) -> None:
        mine.values.update(dict.fromkeys(objects_of(column.unique(maintain_order=True))))
        if len(mine.values) > self._max_values:
            raise DataError(
                f"The column {column.name!r} must have at most {self._max_values} distinct values, a feature "
                "each. Got more instead: take it as text, or leave it out."
            )

    def _add_numbers(self, mine: _Column, column: Any, first_row: int) -> None:
        numbers = floats_of(column)
        if column.name in self._chances and (bad := np.flatnonzero((numbers < 0) | (numbers > 1))).size:
            raise DataError(
                f"The column {column.name!r} must hold probabilities, from 0 to 1. Got {numbers[bad[0]]:g} in row "
                f"{first_row + int(bad[0]) + 1} (the first is 1) instead."
            )
        there = numbers[~np.isnan(numbers)]
        if len(there):
            mine.n += len(there)
            mine.low, mine.high = min(mine.low, there.min()), max(mine.high, there.max())
            mine.scaler.partial_fit(there[:, None])

    # -- what comes of it ---------------------------------------------------------------------------------------------

    def sample(self) -> Any:
        """Return a frame with all distinct values and the extremes of all numbers: it makes the encoder of all rows."""
        pl = polars()
        height = max([2, *(len(one.values) for one in self.columns.values())])
        columns = []
        for name, one in self.columns.items():
            if one.kind == "nothing":
                values: list[Any] = [None]
            elif name in self._text:
                values = [one.word]
            elif one.values:
                values = [value for value in one.values if value is not None]
            else:
                values = [False, True] if one.kind == "boolean" else [one.low, one.high]
            padded = values + values[-1:] * (height - len(values))
            of_names = one.kind in ("text", "other") or name in self._discrete
            columns.append(pl.Series(name, padded, dtype=one.dtype if of_names else None))
        return pl.DataFrame(columns)

    def fitted(self, encoder: ColumnTransformer, filled_in: bool) -> ColumnTransformer:
        """Return the encoder as if it had been fitted on all rows."""
        encoder.fit(self.sample())
        for _, part, names in encoder.transformers_:
            if isinstance(part, Pipeline) and names[0] not in self._text:
                self._set_steps(part, [self.columns[name] for name in names], filled_in)
        return encoder

    def _set_steps(self, part: Pipeline, columns: list[_Column], filled_in: bool) -> None:
        means = np.array([one.scaler.mean_[0] for one in columns])
        for _, step in part.steps[1:]:
            if isinstance(step, StandardScaler):
                seen = np.array([one.n for one in columns])
                share = seen / self.n_rows if filled_in else np.ones(len(columns))
                constant = np.array([one.scaler.scale_[0] != np.sqrt(one.scaler.var_[0]) for one in columns])
                step.mean_ = means
                step.var_ = np.array([one.scaler.var_[0] for one in columns]) * share
                step.scale_ = np.where(constant, 1.0, np.sqrt(step.var_))
                step.n_samples_seen_ = self.n_rows if filled_in or (seen == self.n_rows).all() else seen
            elif isinstance(step, MinMaxScaler | MaxAbsScaler):
                step.n_samples_seen_ = self.n_rows
            else:
                step.statistics_ = means

    def facts(self, encoder: ColumnTransformer | None) -> StreamFacts:
        """Return what was found."""
        classes = counts = None
        if self.counts is not None:
            classes = np.array(sorted(self.counts))
            counts = np.array([self.counts[one] for one in classes.tolist()], dtype=np.int64)
        width = self.n_features
        if encoder is not None:
            width = int(encoder.transform(self.sample()[:1]).shape[1])
        return StreamFacts(
            n_rows=self.n_rows,
            dropped=self.dropped,
            classes=classes,
            class_counts=counts,
            n_features=width,
            columns=None if encoder is None else encoder_columns(encoder),
            zero_based=self.zero_based,
            encoder=encoder,
        )
