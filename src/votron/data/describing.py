"""Descriptions of examples, in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.frames import columns_of, kind_of
from votron._util.types import Params, Series
from votron.data.examples import Examples
from votron.tables import TableEncoder
from votron.tables.column import Survey
from votron.tables.date import DateColumn

__all__ = ["describe_examples"]

_N_SHOWN = 10


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
        Of plain values, as JSON takes them: ``source``, ``format``, ``rows``, ``dropped`` and of these ``unlabelled``,
        ``features`` (columns, for a table), ``label``, and ``classes``, a list of a ``label`` and a ``count`` each, or
        None. For a table ``columns``, a list of a ``name``, a ``kind``, how many are ``missing`` and ``distinct``, and
        the ``min``, ``max`` and ``mean`` of numbers, the ``min`` and ``max`` of dates, or the first ``values`` of text.
        For anything else ``type``, ``sparse``, ``density`` (the share that is not 0), ``min``, ``max`` and
        ``image_shape``.

    Examples
    --------
    >>> from votron.data import describe_examples, read_examples
    >>> found = describe_examples(read_examples("digits"))
    >>> found["rows"], found["features"], found["image_shape"], found["classes"][0]
    (1200, 64, [8, 8], {'label': 0, 'count': 119})
    """
    found: Params = {
        "source": examples.source,
        "format": examples.format,
        "rows": examples.n_rows,
        "dropped": examples.dropped,
        "unlabelled": examples.unlabelled,
        "features": int(examples.X.shape[1]),
        "label": examples.label,
        "classes": _classes(examples),
    }
    if examples.columns is not None:
        names = frozenset([discrete] if isinstance(discrete, str) else discrete)
        return found | {"columns": [_column(column, names) for column in columns_of(examples.X)]}
    return found | _numbers(examples)


def _classes(examples: Examples) -> list[Params] | None:
    if examples.y is None:
        return None
    values, counts = np.unique(examples.y, return_counts=True)
    return [{"label": value, "count": n} for value, n in zip(values.tolist(), counts.tolist(), strict=True)]


def _column(column: Series, discrete: frozenset[str]) -> Params:
    kind = kind_of(column)
    dates = _dates(column) if kind in ("text", "date") and column.name not in discrete else None
    if dates is not None:
        kind = "date"
    found: Params = {
        "name": column.name,
        "kind": {"boolean": "truth"}.get(kind, kind),
        "missing": int(column.null_count()),
        "distinct": int(column.drop_nulls().n_unique()),
    }
    if kind == "number":
        return found | {"min": _plain(column.min()), "max": _plain(column.max()), "mean": _plain(column.mean())}
    if dates is not None:
        return found | {"min": str(np.datetime64(dates.first, "D")), "max": str(np.datetime64(dates.last, "D"))}
    if kind == "text":
        return found | {"values": column.drop_nulls().unique(maintain_order=True)[:_N_SHOWN].to_list()}
    return found


def _dates(column: Series) -> DateColumn | None:
    """Return the dates that an encoder takes a column for."""
    survey = Survey(column.name)
    survey.add(column)
    return DateColumn.recognise(survey, TableEncoder())


def _plain(value: Any) -> float | int | None:
    return None if value is None else value if isinstance(value, int) else float(value)


def _numbers(examples: Examples) -> Params:
    X = examples.X
    sparse = bool(sp.issparse(X))
    n_nonzero = int(X.count_nonzero()) if sparse else int(np.count_nonzero(X))
    n = X.shape[0] * X.shape[1]
    return {
        "type": str(X.dtype),
        "sparse": sparse,
        "density": n_nonzero / n if n else 0.0,
        "min": X.min().item() if n else None,
        "max": X.max().item() if n else None,
        "image_shape": None if examples.image_shape is None else list(examples.image_shape),
    }
