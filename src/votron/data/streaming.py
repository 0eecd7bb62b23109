"""One pass over batches, which finds out what a second pass has to know to learn from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from votron._util.frames import floats_of
from votron.data._columns import _Date, objects_of, refusal
from votron.data.dates import are_dates
from votron.data.encoding import encoder_columns, make_encoder
from votron.data.examples import Examples
from votron.data.reading import ExampleBatches
from votron.data.tables import kind_of, polars
from votron.errors import DataError, VotronError

__all__ = ["StreamFacts", "scan_stream"]

_MAX_VALUES = 10_000
_MAX_CLASSES = 10_000
_BLOCK = 1 << 20
"""How many numbers are looked at together."""


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
        For svmlight, whether features count from 0, in whichever batch the feature 0 is; for `open_batches`.
    encoder : ColumnTransformer or None
        For a table, the encoder, fitted.
    notes : tuple of str
        What users should know about the reading, in sentences.

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
    notes: tuple[str, ...] = ()


def scan_stream(
    batches: Iterable[Examples],
    *,
    numeric: str = "standard",
    discrete: Iterable[str] = (),
    probabilities: Iterable[str] = (),
    text: Iterable[str] = (),
    n_text_features: int = 2**18,
    dates: str = "cyclic",
    missing: str = "refuse",
    max_values: int = _MAX_VALUES,
) -> StreamFacts:
    r"""Go through batches once, and find out what learning from them needs to know before it begins.

    Of a table, that is an encoder: the same, to rounding, as that of `make_encoder` fitted on all rows at once.

    Parameters
    ----------
    batches : iterable of Examples
        Such as `open_batches` gives.
    numeric, discrete, probabilities, text, n_text_features, dates
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
            "The 'missing' parameter of scan_stream must be 'refuse', 'drop', 'keep' or 'mean': other fillings "
            f"need all rows at once. Got {missing!r} instead.",
            parameter="missing",
        )
    names = {"discrete": _as_list(discrete), "probabilities": _as_list(probabilities), "text": _as_list(text)}
    found = _Statistics(set(names["discrete"]), set(names["text"]), set(names["probabilities"]), max_values)
    raw = batches if isinstance(batches, ExampleBatches) and batches.zero_based_unknown else None
    for batch in batches if raw is None else raw.from_feature_zero():
        found.add(batch)
    if not found.n_rows:
        raise DataError("There are no examples in the stream.")
    encoder = None
    if found.columns:
        made = make_encoder(
            found.sample(),
            numeric=numeric,
            missing=missing,
            dates=dates,
            text_features="hashing",
            n_text_features=n_text_features,
            discrete=names["discrete"],
            probabilities=names["probabilities"],
            text=names["text"],
        )
        encoder = found.fitted(made, filled_in=missing == "mean")
    return _facts(found, encoder, raw)


def _as_list(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _facts(found: _Statistics, encoder: ColumnTransformer | None, raw: ExampleBatches | None) -> StreamFacts:
    """Return what was found. `raw`: batches whose column 0 was feature 0, whether or not there is one."""
    classes = counts = None
    if found.counts is not None:
        classes = np.array(sorted(found.counts))
        counts = np.array([found.counts[one] for one in classes.tolist()], dtype=np.int64)
    width = found.n_features
    if encoder is not None:
        width = int(encoder.transform(found.sample()[:1]).shape[1])
    elif raw is not None:
        width = raw.n_features or max(1, width - (0 if found.has_zero else 1))
    return StreamFacts(
        n_rows=found.n_rows,
        dropped=found.dropped,
        classes=classes,
        class_counts=counts,
        n_features=width,
        columns=None if encoder is None else encoder_columns(encoder),
        zero_based=found.zero_based if raw is None else found.has_zero,
        encoder=encoder,
        notes=tuple(found.notes),
    )


# -- what is known so far ---------------------------------------------------------------------------------------------


class _Moments:
    """Counts, means, sums of squared deviations and ranges of columns, NaN apart, batch after batch.

    Reference: Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983.
    """

    def __init__(self) -> None:
        self.n, self.mean, self.squares = np.zeros(0), np.zeros(0), np.zeros(0)
        self.low, self.high = np.zeros(0), np.zeros(0)

    def widen(self, n_columns: int) -> None:
        """Make room for so many columns."""
        more = n_columns - len(self.n)
        for name, start in (("n", 0.0), ("mean", 0.0), ("squares", 0.0), ("low", np.inf), ("high", -np.inf)):
            setattr(self, name, np.append(getattr(self, name), np.full(more, start)))

    def add(self, which: NDArray[np.int64], X: NDArray[np.float64]) -> None:
        """Take some rows of these columns into account."""
        there = ~np.isnan(X)
        n = there.sum(axis=0)
        which, X, there, n = which[n > 0], X[:, n > 0], there[:, n > 0], n[n > 0]
        mean = np.where(there, X, 0.0).sum(axis=0) / n
        squares = (np.where(there, X - mean, 0.0) ** 2).sum(axis=0)
        before, total, step = self.n[which], self.n[which] + n, mean - self.mean[which]
        self.mean[which] += step * n / total
        self.squares[which] += squares + step**2 * before * n / total
        self.n[which] = total
        self.low[which] = np.minimum(self.low[which], np.where(there, X, np.inf).min(axis=0))
        self.high[which] = np.maximum(self.high[which], np.where(there, X, -np.inf).max(axis=0))

    @property
    def variance(self) -> NDArray[np.float64]:
        """The variances, of those that are there."""
        return self.squares / np.maximum(self.n, 1)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns vary no more than rounding makes them, as StandardScaler sees it."""
        eps = np.finfo(np.float64).eps
        return np.asarray(self.variance <= self.n * eps * self.variance + (self.n * self.mean * eps) ** 2)


class _SeenColumn:
    """What is known of a column so far."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.kind = "nothing"
        self.dtype: Any = None  # of the first rows with a value
        self.values: dict[Any, None] = {}
        self.word: str | None = None  # a text
        self.dates: list[Any] = []  # the first, the last, and perhaps one with an hour
        self.n_dates = 0
        self.sums = np.zeros(7)
        """Of what `_Date` makes of dates, the year as it is."""

    def add_dates(self, column: Any) -> None:
        """Take dates into account."""
        pl = polars()
        times = column.drop_nulls().cast(pl.Datetime("us"))
        self.sum_dates(times)
        found = [*self.dates, times.min(), times.max(), *times.filter(times.dt.hour() > 0)[:1].to_list()]
        self.dates = [min(found), max(found), *[one for one in found if one.hour][:1]]

    def sum_dates(self, times: Any) -> None:
        """Add the features of dates to the sums."""
        features = _Date("cyclic", 0, 1, hours=True)._features(times, times.name)
        self.n_dates, self.sums = self.n_dates + len(times), self.sums + features.sum(axis=0)

    def means_of_dates(self, part: _Date) -> NDArray[np.float64]:
        """Return the means of the features that this makes of the dates."""
        means = self.sums / self.n_dates
        means[0] = (means[0] - part.first_year) / max(1, part.last_year - part.first_year)
        return means if part.hours else means[:5]


class _Statistics:
    """What is known of a stream so far."""

    def __init__(self, discrete: set[str], text: set[str], chances: set[str], max_values: int) -> None:
        self._discrete, self._text, self._chances, self._max_values = discrete, text, chances, max_values
        self.n_rows = self.dropped = self.n_features = 0
        self.zero_based: bool | None = None
        self.has_zero = False
        self.columns: dict[str, _SeenColumn] = {}
        self.notes: dict[str, None] = {}  # in order, each once
        self.counts: Counter[Any] | None = None
        self._moments = _Moments()

    def add(self, batch: Examples) -> None:
        """Take a batch into account."""
        self.n_rows += batch.n_rows
        self.dropped += batch.dropped
        self.notes |= dict.fromkeys(batch.notes)
        self.n_features = max(self.n_features, int(batch.X.shape[1]))
        if batch.zero_based is not None:
            self.zero_based = batch.zero_based
            self.has_zero = self.has_zero or bool(sp.issparse(batch.X) and (batch.X.indices == 0).any())
        if batch.y is not None:
            self._add_labels(batch.y)
        if batch.columns is not None:
            self._add_table(batch.X, batch.first_row)

    def _add_labels(self, y: NDArray[Any]) -> None:
        found, counts = np.unique(y, return_counts=True)
        self.counts = self.counts if self.counts is not None else Counter()
        self.counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        if len(self.counts) > _MAX_CLASSES:
            raise DataError(f"The labels must have at most {_MAX_CLASSES} classes. Got more: is it the right column?")

    # -- columns ------------------------------------------------------------------------------------------------------

    def _add_table(self, frame: Any, first_row: int) -> None:
        for name in frame.columns:
            if name not in self.columns:
                self.columns[name] = _SeenColumn(len(self.columns))
        self._moments.widen(len(self.columns))
        numbers = [column for column in frame.get_columns() if self._is_numbers(column)]
        n = max(1, _BLOCK // max(1, frame.height))
        for begin in range(0, len(numbers), n):
            self._add_numbers(numbers[begin : begin + n], first_row)

    def _is_numbers(self, column: Any) -> bool:
        """Tell whether a column has numbers to be looked at; if it has other things, take them into account."""
        name, kind = column.name, kind_of(column)
        mine = self.columns[name]
        if kind == "nothing":
            return False
        if mine.kind not in ("nothing", kind):
            raise DataError(f"The column {name!r} must hold {mine.kind} as in the rows before. Got {kind} instead.")
        if mine.kind == "nothing":
            mine.kind, mine.dtype = kind, column.dtype
        if kind == "other":
            raise refusal(column, name, "either numbers, or truth values, or text, or dates")
        if name in self._text:
            mine.word = mine.word or next((value for value in objects_of(column) if value and len(value) > 1), None)
        elif kind == "text" or name in self._discrete:
            self._add_values(mine, column)
            if name not in self._discrete and are_dates(column):  # those of all rows may be
                mine.sum_dates(column.drop_nulls())
        elif kind == "date":
            mine.add_dates(column)
        else:
            return True
        return False

    def _add_values(self, mine: _SeenColumn, column: Any) -> None:
        mine.values.update(dict.fromkeys(objects_of(column.unique(maintain_order=True))))
        if len(mine.values) > self._max_values:
            raise DataError(
                f"The column {column.name!r} must have at most {self._max_values} distinct values, a feature "
                "each. Got more instead: take it as text, or leave it out."
            )

    def _add_numbers(self, columns: Sequence[Any], first_row: int) -> None:
        X = np.column_stack([floats_of(column) for column in columns])
        for i, column in enumerate(columns):
            if column.name in self._chances and (bad := np.flatnonzero((X[:, i] < 0) | (X[:, i] > 1))).size:
                raise DataError(
                    f"The column {column.name!r} must hold probabilities, from 0 to 1. Got {X[bad[0], i]:g} in row "
                    f"{first_row + int(bad[0]) + 1} (the first is 1) instead."
                )
        self._moments.add(np.array([self.columns[column.name].number for column in columns]), X)

    # -- what comes of it ---------------------------------------------------------------------------------------------

    def sample(self) -> Any:
        """Return a frame with all distinct values and the extremes of all numbers: it makes the encoder of all rows."""
        pl = polars()
        found = {name: self._sampled(name, one) for name, one in self.columns.items()}
        height = max([2, *map(len, found.values())])
        columns = []
        for name, one in self.columns.items():
            padded = found[name] + found[name][-1:] * (height - len(found[name]))
            columns.append(pl.Series(name, padded, dtype=one.dtype if one.kind == "text" else None))
        return pl.DataFrame(columns)

    def _sampled(self, name: str, one: _SeenColumn) -> list[Any]:
        if one.kind == "nothing":
            return [None]
        if name in self._text:
            return [one.word]
        if one.dates:
            return one.dates
        if one.values:
            values = [value for value in one.values if value is not None]
            # the type of the first rows may be too narrow for those after them
            return [float(value) for value in values] if any(isinstance(v, float) for v in values) else values
        if one.kind == "boolean":
            return [False, True]
        return [self._moments.low[one.number].item(), self._moments.high[one.number].item()]

    def fitted(self, encoder: ColumnTransformer, filled_in: bool) -> ColumnTransformer:
        """Return the encoder as if it had been fitted on all rows."""
        encoder.fit(self.sample())
        for _, part, names in encoder.transformers_:
            if isinstance(part, Pipeline) and isinstance(part.steps[0][1], _Date):
                part.steps[1][1].statistics_ = self.columns[names[0]].means_of_dates(part.steps[0][1])
            elif isinstance(part, Pipeline) and names[0] not in self._text:
                self._set_steps(part, np.array([self.columns[name].number for name in names]), filled_in)
        return encoder

    def _set_steps(self, part: Pipeline, which: NDArray[np.int64], filled_in: bool) -> None:
        means, seen = self._moments.mean[which], self._moments.n[which].astype(np.int64)
        for _, step in part.steps[1:]:
            if isinstance(step, StandardScaler):
                share = seen / self.n_rows if filled_in else np.ones(len(which))
                step.mean_ = means
                step.var_ = self._moments.variance[which] * share
                step.scale_ = np.where(self._moments.constant[which], 1.0, np.sqrt(step.var_))
                step.n_samples_seen_ = self.n_rows if filled_in or (seen == self.n_rows).all() else seen
            elif isinstance(step, MinMaxScaler | MaxAbsScaler):
                step.n_samples_seen_ = self.n_rows
            else:
                step.statistics_ = means
