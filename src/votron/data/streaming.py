"""One pass over batches, which finds out what a second pass has to know to learn from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from votron.data._stream_statistics import StreamStatistics
from votron.data.batches import ExampleBatches
from votron.data.encoding import encoder_columns, make_encoder
from votron.data.examples import Examples
from votron.errors import DataError, Parameter, VotronError

__all__ = ["StreamFacts", "scan_stream"]

_MAX_VALUES = 10_000


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
            Parameter("missing", of="scan_stream"),
            " must be 'refuse', 'drop', 'keep' or 'mean': other fillings need "
            f"all rows at once. Got {missing!r} instead.",
        )
    names = {"discrete": _listed(discrete), "probabilities": _listed(probabilities), "text": _listed(text)}
    found = StreamStatistics(set(names["discrete"]), set(names["text"]), set(names["probabilities"]), max_values)
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
            n_text_features=n_text_features,
            discrete=names["discrete"],
            probabilities=names["probabilities"],
            text=names["text"],
        )
        encoder = found.fitted(made, filled_in=missing == "mean")
    return _facts(found, encoder, raw)


def _listed(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _facts(found: StreamStatistics, encoder: ColumnTransformer | None, raw: ExampleBatches | None) -> StreamFacts:
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
    )
