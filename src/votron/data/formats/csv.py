"""Files of separated values: CSV and TSV."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from votron.data._csv import BYTES_A_BYTE, CsvRows, Layout, Meter, find_layout, read_rows
from votron.data._csv_layout import MAX_SPLIT, check_text, cleaned, find_dialect, has_old_ends, last_end
from votron.data._polars import kind_of, polars, sentences
from votron.data._sources import HEAD, Source
from votron.data._text import text_parts
from votron.data.conversion import as_table
from votron.data.examples import Examples
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError

_SAMPLE = 1 << 16
_KIND_NAMES = {"text": "text", "number": "number", "boolean": "truth"}


class Csv(Format):
    """Fields with a character between them, by default the one that fits."""

    name = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    options = ("header", "delimiter", "quote", "na_values", "as_text")
    sequential = True
    separator: ClassVar[str | None] = None
    """Between fields, if that is not to be found out."""

    def looks_like(self, head: bytes) -> bool:
        """Return True: what is no other format is taken for text, and refused when it is read if it is none."""
        return True

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield a table, of all text at once where no batches are asked for: polars infers its types from all rows."""
        delimiter = options.delimiter or self.separator
        if batch_bytes is None:
            found, texts = None, _whole_text(source, options)
        else:
            found = _layout_of(cleaned(source.head), len(source.head) < HEAD, source, delimiter, options)
            texts = text_parts(source, batch_bytes, _last_record(found[0]))
        for data, line in texts:
            layout, n_header = found or _layout_of(data, True, source, delimiter, options)
            taken = min(n_header, len(data))  # blank lines before the header may be a part of their own
            line, data = line + data.count(b"\n", 0, taken), data[taken:]
            rows = read_rows(data, layout, line)
            found = _settled(layout, rows), n_header - taken
            if rows.frame.height:
                yield Part(rows.frame, place=rows.place, about=_dialect_of(layout))
            elif batch_bytes is None:
                raise DataError(f"There are no examples in {source.name}: it has a header and no rows.")
            del rows, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return a table as text."""
        frame, buffer = as_table(examples), io.BytesIO()
        style = "non_numeric" if _looks_quoted(frame) else "necessary"
        with sentences(f"Cannot write {examples.source!r} as {self.name}"):
            frame.write_csv(buffer, separator=self.separator or ",", quote_style=style)
        return buffer.getvalue()


class Tsv(Csv):
    """Fields with a tab between them."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    separator = "\t"

    def looks_like(self, head: bytes) -> bool:
        """Return False: `Csv` finds tabs by itself."""
        return False


def _whole_text(source: Source, options: ReadOptions) -> Iterator[tuple[bytes, int]]:
    # What is no text, such as a device that gives zeros for ever, is refused before it is read.
    head = source.head
    check_text(head[: head.rfind(b"\n") + 1] or head[:-MAX_SPLIT], source.name)
    delimiter = options.delimiter or find_dialect(head[:_SAMPLE], False, None, options.quote).delimiter
    meter = Meter(delimiter, source.name, b"\r" if has_old_ends(head, len(head) < HEAD) else b"\n")
    yield cleaned(source.read(BYTES_A_BYTE, more=meter)), 1


def _layout_of(
    data: bytes, whole: bool, source: Source, delimiter: str | None, options: ReadOptions
) -> tuple[Layout, int]:
    """Return the layout of a text file, and the bytes that its header takes."""
    layout, n_header = find_layout(
        data,
        whole,
        source.name,
        delimiter=delimiter,
        quote=options.quote,
        header=options.header,
        na_values=options.missing_texts,
    )
    table = options.table
    return replace(layout, kinds=table.kinds(layout.names), label=table.label_in(layout.names)), n_header


def _dialect_of(layout: Layout) -> dict[str, Any]:
    """Return what was used, given or found, as `Examples` has it."""
    dialect = layout.dialect
    return {"header": layout.header, "delimiter": dialect.delimiter, "quote": dialect.quote or ""}


def _last_record(layout: Layout) -> Callable[[bytes], int]:
    def last(data: bytes) -> int:
        end = last_end(data, layout.dialect)
        if len(layout.names) > 1:
            return end
        # In one column, blank lines are rows unless the file ends with them, which is not known yet.
        filled = len(data[:end].rstrip(b"\r\n"))
        return data.index(b"\n", filled, end) + 1 if filled else 0

    return last


def _settled(layout: Layout, rows: CsvRows) -> Layout:
    """Return the layout with what the columns of a part hold, where that was not known before."""
    unknown = [column for column in rows.frame.get_columns() if layout.kind_of(column.name) is None]
    found = {column.name: _KIND_NAMES.get(kind_of(column)) for column in unknown}
    known = {name: kind for name, kind in found.items() if kind is not None}
    if not known and rows.commas <= layout.commas:
        return layout
    return replace(layout, kinds_before={**layout.kinds_before, **known}, commas=layout.commas | rows.commas)


def _looks_quoted(frame: Any) -> bool:
    """Tell whether some text begins with a single quote, which would be taken for one around the field."""
    text = polars().String
    texts = [column for column in frame.get_columns() if column.dtype == text]
    return any(column.str.starts_with("'").any() for column in texts) or any(one[:1] == "'" for one in frame.columns)
