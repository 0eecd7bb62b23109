"""The parts of a report about rows: the data, and what is wrong, as a table or as a sheet of images."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from numpy.typing import NDArray

from votron._util.frames import columns_of, is_missing
from votron._util.pages import image_html, table_html
from votron._util.plotting import png
from votron._util.text import counted, on_one_line, percent, plain_number, shortened
from votron.plots.batches import PredictedRow
from votron.report._errors import name_of
from votron.report.findings import Findings

_SHOWN_COLUMNS, _SHOWN_CLASSES = 20, 12
_SHOWN_WRONG = 25
_LONGEST_CELL = 120
_LARGEST_IMAGE = 96
"""Pixels of a side up to which images are shown as they are."""


# -- data -------------------------------------------------------------------------------------------------------------


def data(found: Findings) -> str:
    """Return what the data are like."""
    about = found.description
    parts = [f"<p>{escape(' '.join(_sentences(found)))}</p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in found.unseen.sentences()]
    if about.columns is not None:
        rows = [column.cells() for column in list(about.columns.values())[:_SHOWN_COLUMNS]]
        more = len(about.columns) - len(rows)
        caption = "The columns that the model uses" + (f": the first {len(rows)}." if more > 0 else ".")
        head = ["column", "kind", "missing", "distinct", "range, or most frequent values"]
        parts.append(table_html(caption, head, rows, numbers=(2, 3)))
    return "\n".join(parts)


def _sentences(found: Findings) -> list[str]:
    about = found.description
    rows = counted(about.rows, "row")
    if about.columns is not None:
        kinds: dict[str, int] = {}
        for column in about.columns.values():
            kinds[column.cells()[1]] = kinds.get(column.cells()[1], 0) + 1
        listed = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items())
        said = [f"{rows} with {counted(about.features, 'column')} ({listed})."]
        holes = sum(column.missing for column in about.columns.values())
        said += [f"{counted(holes, 'value')} missing."] if holes else ["No value is missing."]
    elif about.image_shape is not None:
        said = [f"{rows}, images of {' × '.join(map(str, about.image_shape))} values."]
    elif not about.features:
        said = [f"{rows}, each a text."]
    else:
        said = [f"{rows} of {counted(about.features, 'number')}{', sparse' if about.sparse else ''}."]
    if about.low is not None and about.high is not None:
        density = about.nonzero / max(1, about.rows * about.features)
        span = f"{plain_number(about.low)} to {plain_number(about.high)}"
        said.append(f"Values are from {span}, and {percent(density)} of them are not 0.")
    said.append(f"For the classifier a row is {counted(int(found.classifier.n_features_in_), 'feature')}.")
    if about.dropped:
        why = "for missing values" if not about.unlabelled else "for want of a label"
        if 0 < about.unlabelled < about.dropped:
            why = f"for missing values, {about.unlabelled:,} of them for want of a label"
        said.append(f"{counted(about.dropped, 'row')} left out {why}.")
    return [*said, _classes(found)]


def _classes(found: Findings) -> str:
    entries = [entry for entry in found.counts.by_class(found.labels) if entry["rows"]]
    entries.sort(key=lambda entry: -entry["rows"])
    named = "; ".join(
        f"{name_of(entry['label'])}: {entry['rows']:,} ({percent(entry['rows'] / found.counts.n)})"
        for entry in entries[:_SHOWN_CLASSES]
    )
    more = f"; and {len(entries) - _SHOWN_CLASSES:,} more" if len(entries) > _SHOWN_CLASSES else ""
    return f"{counted(len(entries), 'class', 'classes')} occur{'s' if len(entries) == 1 else ''}: {named}{more}."


# -- wrong rows -------------------------------------------------------------------------------------------------------


def wrong(found: Findings) -> str:
    """Return the rows that are wrong by the most: images as a sheet, others as a table."""
    kept, n = found.wrong.kept, found.wrong.n_wrong
    if not kept:
        return "<p>No row is wrong.</p>"
    if kept[0].image is not None:
        return _sheet(kept, n)
    shown = kept[:_SHOWN_WRONG]
    of = "all" if n == len(shown) else f"{len(shown)} of {n:,}"
    caption = f"The rows that are wrong by the most: {of}, the furthest from their true label first."
    rest = "" if n == len(shown) else "<p><code>votron evaluate --wrong FILE</code> lists all of them.</p>"
    rows = [_wrong_cells(row) for row in shown]
    known = [name for name in rows[0] if any(row[name] for row in rows)]
    numbers = [i for i, name in enumerate(known) if name == "probability"]
    cells = [[row[name] for name in known] for row in rows]
    return table_html(caption, known, cells, numbers=numbers, below="values" in known) + rest


def _wrong_cells(row: PredictedRow) -> dict[str, str]:
    return {
        "row": f"{row.number:,}",
        "true": name_of(row.true),
        "predicted": name_of(row.predicted),
        "probability": "" if row.probability is None else percent(row.probability),
        "values": ": ".join(filter(None, (row.place.capitalize(), values_of(row.X)))),
    }


def values_of(X: Any) -> str:
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


def _sheet(kept: Sequence[PredictedRow], n: int) -> str:
    items = []
    for row in kept:
        assert row.image is not None
        where = row.place or f"row {row.number:,}"
        alt = f"{where}: {name_of(row.true)}, taken for {name_of(row.predicted)}"
        sure = "" if row.probability is None else f", {percent(row.probability)}"
        items.append(
            f"<li>{picture(row.image, alt)}<span><b>{escape(name_of(row.true, 11))}</b> "
            f'<b class="against">{escape(name_of(row.predicted, 11))}</b></span>'
            f"<small>{escape(shortened(where, 24))}{sure}</small></li>"
        )
    of = f"{len(kept)} of {n:,}" if n > len(kept) else f"All {n:,}"
    sure = " and its probability" if kept[0].probability is not None else ""
    about = (
        f"{of} wrong images, the furthest from their true label first: at the left the true label, at the right the "
        f"one given{sure}."
    )
    return f'<p>{about}</p>\n<ul class="sheet">{"".join(items)}</ul>'


def picture(image: NDArray[Any], alt: str) -> str:
    """Return an image for the page, of a large one every other pixel or fewer."""
    step = -(-max(image.shape[:2]) // _LARGEST_IMAGE)
    small = image[::step, ::step]
    small = small[..., 0] if small.ndim == 3 and small.shape[2] not in (3, 4) else small
    return image_html(png(small), alt, small.shape[1], small.shape[0], ink=small.ndim == 2)
