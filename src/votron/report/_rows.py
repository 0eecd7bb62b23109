"""The parts of a report about rows: the data, and what is wrong, as a table or as a sheet of images."""

from __future__ import annotations

import base64

from votron._util.frames import columns_of, is_missing
from votron._util.pages import Picture, name_of
from votron._util.plotting import png
from votron._util.text import counted, on_one_line, percent, shortened
from votron._util.types import Array, Params, RowsLike
from votron.plots.batches import PredictedRow
from votron.report.findings import Findings
from votron.tables import unseen_sentences

_SHOWN_COLUMNS, _SHOWN_CLASSES, _SHOWN_WRONG = 20, 12, 25
_LONGEST_CELL = 120
_LARGEST_IMAGE = 96
"""Pixels of a side up to which images are shown as they are."""


def data(found: Findings) -> Params:
    """Return what the data are like."""
    about = found.description
    sentences, columns = about.sentences(), list((about.columns or {}).values())
    if (n := getattr(found.classifier, "n_features_in_", None)) is not None:
        sentences.append(f"For the classifier a row is {counted(int(n), 'feature')}.")
    return {
        "sentences": [*sentences, _classes(found)],
        "unseen": unseen_sentences(found.unseen),
        "columns": [column.cells() for column in columns[:_SHOWN_COLUMNS]],
        "more_columns": len(columns) > _SHOWN_COLUMNS,
    }


def _classes(found: Findings) -> str:
    entries = [entry for entry in found.counts.by_class(found.labels) if entry["rows"]]
    entries.sort(key=lambda entry: -entry["rows"])
    named = "; ".join(
        f"{name_of(entry['label'])}: {entry['rows']:,} ({percent(entry['rows'] / found.counts.n)})"
        for entry in entries[:_SHOWN_CLASSES]
    )
    more = f"; and {len(entries) - _SHOWN_CLASSES:,} more" if len(entries) > _SHOWN_CLASSES else ""
    return f"{counted(len(entries), 'class', 'classes')} occur{'s' if len(entries) == 1 else ''}: {named}{more}."


def wrong(found: Findings) -> Params:
    """Return the rows that are wrong by the most: images as a sheet, others as a table."""
    kept, n = found.wrong.kept, found.wrong.n_wrong
    if kept and kept[0].image is not None:
        of = f"{len(kept)} of {n:,}" if n > len(kept) else f"All {n:,}"
        images = [_labelled_image(row, row.image) for row in kept if row.image is not None]
        return {"n_wrong": n, "images": images, "of": of, "has_probability": kept[0].probability is not None}
    rows = [_wrong_cells(row) for row in kept[:_SHOWN_WRONG]]
    head = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return {
        "n_wrong": n,
        "images": [],
        "of": "all" if n == len(rows) else f"{len(rows)} of {n:,}",
        "head": head,
        "rows": [[row[name] for name in head] for row in rows],
        "numbers": [i for i, name in enumerate(head) if name == "probability"],
        "below": "values" in head,
    }


def _wrong_cells(row: PredictedRow) -> dict[str, str]:
    return {
        "row": f"{row.number:,}",
        "true": name_of(row.true),
        "predicted": name_of(row.predicted),
        "probability": "" if row.probability is None else percent(row.probability),
        "values": ": ".join(filter(None, (row.place.capitalize(), values_of(row.X)))),
    }


def _labelled_image(row: PredictedRow, image: Array) -> Params:
    place = row.place or f"row {row.number:,}"
    alt = f"{place}: {name_of(row.true)}, taken for {name_of(row.predicted)}"
    return {
        "image": picture(image, alt),
        "true": row.true,
        "predicted": row.predicted,
        "place": shortened(place, 24),
        "probability": row.probability,
    }


def values_of(X: RowsLike) -> str:
    """Return what is in the one row of a frame; nothing of numbers without names."""
    if not hasattr(X, "columns"):
        return shortened(on_one_line(X[0]), 4 * _LONGEST_CELL) if isinstance(X[0], str) else ""
    cells = []
    for name, column in zip(X.columns, columns_of(X), strict=True):
        value = column.to_list()[0]
        if not is_missing(value):
            said = f"{value:.6g}" if isinstance(value, float) else str(value)
            cells.append(f"{name_of(name)}: {shortened(on_one_line(said), _LONGEST_CELL)}")
    return "; ".join(cells)


def picture(image: Array, alt: str) -> Picture:
    """Return an image for the page, of a large one every other pixel or fewer."""
    step = -(-max(image.shape[:2]) // _LARGEST_IMAGE)
    small = image[::step, ::step]
    small = small[..., 0] if small.ndim == 3 and small.shape[2] not in (3, 4) else small
    data = base64.b64encode(png(small)).decode()
    return Picture(data, alt, width=small.shape[1], height=small.shape[0], ink=small.ndim == 2)
