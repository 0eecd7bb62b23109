"""Text in parts that end where records do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from votron.data._csv_layout import BOM, MAX_RECORD, has_old_ends, too_long
from votron.data._sources import HEAD, Source


def text_parts(source: Source, batch_bytes: int, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    old = has_old_ends(source.head, len(source.head) < HEAD)
    with source.open() as file:
        data, line, first = b"", 1, True
        while chunk := file.read(max(batch_bytes, len(data))):  # a record without an end is not looked at too often
            if first and len(chunk) < len(BOM):  # of tiny batches
                chunk += file.read(len(BOM))
            chunk, first = chunk.removeprefix(BOM) if first else chunk, False
            data += chunk.replace(b"\r", b"\n") if old else chunk
            cut = ends(data)
            if cut:
                part, data, begin = data[:cut], data[cut:], line
                line += part.count(b"\n")
                yield part, begin
                del part
            elif len(data) > MAX_RECORD:
                raise too_long(line, source.name)
        if data:
            yield data, line
