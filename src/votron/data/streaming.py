"""One pass over batches, which finds out what a second pass has to know to learn from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Classes, Label
from votron.data.examples import Examples
from votron.data.reading import ExampleBatches
from votron.errors import DataError
from votron.tables import TableEncoder

__all__ = ["StreamFacts", "scan_stream"]

_MAX_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class StreamFacts:
    """Facts about a stream, collected in one pass.

    Attributes
    ----------
    n_rows : int
        How many examples there are.
    classes : ndarray or None
        The classes, sorted; None if there are no labels.
    n_features : int
        How many features the vectors have: those that the encoder makes of a table.
    columns : dict of str to str, or None
        What the columns of a table hold; for `open_batches`.
    zero_based : bool or None
        For svmlight, whether features count from 0, in whichever batch the feature 0 is; for `open_batches`.
    encoder : TableEncoder or None
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
    classes: Classes | None
    n_features: int
    columns: dict[str, str] | None = None
    zero_based: bool | None = None
    encoder: TableEncoder | None = None
    notes: tuple[str, ...] = ()


def scan_stream(batches: Iterable[Examples], **options: Any) -> StreamFacts:
    r"""Go through batches once, and find out what learning from them needs to know before it begins.

    Of a table, that is an encoder: the same, to rounding, as one fitted to all rows at once.

    Parameters
    ----------
    batches : iterable of Examples
        Such as `open_batches` gives.
    **options
        Parameters of `TableEncoder`. Words are hashed; what needs all rows at once is refused.

    Returns
    -------
    StreamFacts
        What was found.

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
    encoder = TableEncoder(**options)
    n_rows = width = 0
    zero_based: bool | None = None
    has_zero = is_table = False
    notes: dict[str, None] = {}  # in order, each once
    labels: set[Label] | None = None
    raw = batches if isinstance(batches, ExampleBatches) and batches.zero_based_unknown else None
    for batch in batches if raw is None else raw.from_feature_zero():
        n_rows += batch.n_rows
        notes |= dict.fromkeys(batch.notes)
        width = max(width, int(batch.X.shape[1]))
        if batch.zero_based is not None:
            zero_based = batch.zero_based
            has_zero = has_zero or bool(sp.issparse(batch.X) and (batch.X.indices == 0).any())
        if batch.y is not None:
            labels = {*(labels or ()), *np.unique(batch.y).tolist()}
            if len(labels) > _MAX_CLASSES:
                raise DataError(f"The labels have more than {_MAX_CLASSES:,} classes: choose another column.")
        if batch.columns is not None:
            is_table = True
            encoder.partial_fit(batch.X)
    if not n_rows:
        raise DataError("There are no examples in the stream.")
    if is_table:
        width = len(encoder.get_feature_names_out())
    elif raw is not None:
        width = raw.n_features or max(1, width - (0 if has_zero else 1))
    return StreamFacts(
        n_rows=n_rows,
        classes=None if labels is None else np.array(sorted(labels)),
        n_features=width,
        columns=encoder.column_kinds_ if is_table else None,
        zero_based=zero_based if raw is None else has_zero,
        encoder=encoder if is_table else None,
        notes=tuple(notes),
    )
