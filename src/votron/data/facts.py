"""Facts about examples: descriptions, and what learning from a stream has to know before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from votron._util.frames import columns_of, kind_of
from votron._util.types import Classes, Label, Params, Series
from votron.data.examples import Examples
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.tables import TableEncoder

__all__ = ["StreamFacts", "describe_examples", "scan_stream"]

_N_SHOWN = 10
_MAX_CLASSES = 10_000


def describe_examples(examples: Examples, *, discrete: Iterable[str] = ()) -> Params:
    """Describe examples: how many, of what, in which classes.

    Parameters
    ----------
    examples : Examples
        The examples.
    discrete : names of columns
        Columns whose texts are taken for themselves, even if all of them are dates, as in `TableEncoder`.

    Returns
    -------
    dict
        Of plain values: ``source``, ``format``, ``rows``, ``dropped``, ``unlabelled``, ``features``, ``label`` and
        ``classes``; for a table ``columns``, with the ``kind`` of each, how many values are ``missing`` and
        ``distinct``, and what they are; otherwise ``type``, ``sparse``, ``density``, ``min``, ``max`` and
        ``image_shape``.

    Examples
    --------
    >>> from votron.data import describe_examples, read_examples
    >>> found = describe_examples(read_examples("digits"))
    >>> found["rows"], found["features"], found["image_shape"], found["classes"][0]
    (1200, 64, [8, 8], {'label': 0, 'count': 119})
    """
    X, y = examples.X, examples.y
    labels, counts = ([], []) if y is None else (part.tolist() for part in np.unique(y, return_counts=True))
    found: Params = {
        "source": examples.source,
        "format": examples.format,
        "rows": examples.n_rows,
        "dropped": examples.dropped,
        "unlabelled": examples.unlabelled,
        "features": int(X.shape[1]),
        "label": examples.label,
        "classes": None if y is None else [{"label": a, "count": n} for a, n in zip(labels, counts, strict=True)],
    }
    if examples.columns is not None:
        as_values = [discrete] if isinstance(discrete, str) else list(discrete)
        return found | {"columns": [_column(column, column.name in as_values) for column in columns_of(X)]}
    n = X.shape[0] * X.shape[1]
    n_nonzero = int(X.count_nonzero()) if sp.issparse(X) else int(np.count_nonzero(X))
    return found | {
        "type": str(X.dtype),
        "sparse": bool(sp.issparse(X)),
        "density": n_nonzero / n if n else 0.0,
        "min": X.min().item() if n else None,
        "max": X.max().item() if n else None,
        "image_shape": None if examples.image_shape is None else list(examples.image_shape),
    }


def _column(column: Series, as_values: bool) -> Params:
    from votron.tables import TableEncoder
    from votron.tables.column import Survey
    from votron.tables.date import DateColumn

    kind, dates = kind_of(column), None
    if kind in ("text", "date") and not as_values:  # as an encoder takes it
        survey = Survey(column.name)
        survey.add(column)
        dates = DateColumn.recognise(survey, TableEncoder())
    found: Params = {
        "name": column.name,
        "kind": "date" if dates is not None else {"boolean": "truth"}.get(kind, kind),
        "missing": int(column.null_count()),
        "distinct": int(column.drop_nulls().n_unique()),
    }
    if kind == "number":
        return found | {name: getattr(column, name)() for name in ("min", "max", "mean")}
    if dates is not None:
        return found | {"min": str(np.datetime64(dates.first, "D")), "max": str(np.datetime64(dates.last, "D"))}
    if kind == "text":
        return found | {"values": column.drop_nulls().unique(maintain_order=True)[:_N_SHOWN].to_list()}
    return found


@dataclass(frozen=True, eq=False)
class StreamFacts:
    """Facts about a stream: its rows, classes, features and columns, and for a table the encoder, fitted."""

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
        ``n_rows``, ``classes`` (sorted; None without labels), ``n_features`` (of the vectors that the encoder makes of
        a table), ``columns`` and ``zero_based`` for `open_batches`, ``encoder`` (of a table, fitted) and ``notes``.

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
    from votron.tables import TableEncoder

    encoder = TableEncoder(**options)
    n_rows = width = 0
    labels: set[Label] | None = None
    notes: dict[str, None] = {}  # in order, each once
    batch = None
    for batch in batches:
        n_rows, width = n_rows + batch.n_rows, max(width, int(batch.X.shape[1]))
        notes |= dict.fromkeys(batch.notes)
        if batch.y is not None:
            labels = {*(labels or ()), *np.unique(batch.y).tolist()}
            if len(labels) > _MAX_CLASSES:
                raise DataError(f"The labels have more than {_MAX_CLASSES:,} classes: choose another column.")
        if batch.columns is not None:
            encoder.partial_fit(batch.X)
    if batch is None:
        raise DataError("There are no examples in the stream.")
    facts = StreamFacts(n_rows, None if labels is None else np.array(sorted(labels)), width, notes=tuple(notes))
    if batch.columns is None:
        return replace(facts, zero_based=batch.zero_based)
    width = len(encoder.get_feature_names_out())
    return replace(facts, n_features=width, columns=encoder.column_kinds_, encoder=encoder)
