"""Parquet and Arrow files that declare what is not so, or too much: refused before polars believes them."""

import io
import itertools
import struct

import numpy as np
import polars as pl
import pytest
import thrift_trees
from memory_meter import measured, needs_proc

from votron.data import open_batches, read_examples
from votron.data.formats import parquet
from votron.data.formats._column_files import DamagedError
from votron.data.formats.arrow import arrow_claims
from votron.data.formats.parquet import parquet_claims
from votron.errors import DataError

MB = 1 << 20
FREE = 200 * MB
N = 5000


def frame(n=N):
    rng = np.random.RandomState(0)
    return pl.DataFrame(
        {
            "number": rng.rand(n),
            "word": [f"w{i % 9}" for i in range(n)],
            "text": [f"a text longer than twelve bytes, {i}" for i in range(n)],
            "hole": [None if i % 3 == 0 else i for i in range(n)],
            "y": rng.randint(0, 2, n),
        }
    )


def written(write, **options):
    file = io.BytesIO()
    write(file, **options)
    return file.getvalue()


def refused(path, *words, read=read_examples, **options):
    with pytest.raises(DataError) as caught:
        for _ in read(path, **options) if read is open_batches else [read(path, **options)]:
            pass
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


# -- Parquet ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_what_parquet_files_claim(compression):
    data = frame()
    content = written(data.write_parquet, compression=compression, row_group_size=2000)
    claims = parquet_claims(io.BytesIO(content))
    assert [one.n_rows for one in claims] == [2000, 2000, 1000]
    assert [one.n_values for one in claims] == [10_000, 10_000, 5000]
    plain = written(data.write_parquet, compression="uncompressed", row_group_size=2000)
    assert 0.9 * len(plain) < sum(one.n_bytes for one in claims) < 1.1 * len(plain)


def with_page(content, change):
    """The file with the header of its first page changed."""
    fields, at = thrift_trees.footer(content)
    body = content[:at]
    chunks = [chunk for group in thrift_trees.get(fields, 4)[1] for chunk in thrift_trees.get(group, 1)[1]]
    places = [field for chunk in chunks for field in thrift_trees.get(chunk, 3) if field[0] in (9, 11)]
    begin = min(field[2] for field in places)
    reader = thrift_trees.Reader(body, begin)
    header = reader.structure()
    change(header)
    new = thrift_trees.structure_bytes(header)
    for field in places:
        field[2] += (len(new) - (reader.at - begin)) * (field[2] > begin)
    first = thrift_trees.get(chunks[0], 3)
    thrift_trees.put(first, 7, thrift_trees.get(first, 7) + len(new) - (reader.at - begin))
    return thrift_trees.with_footer(body[:begin] + new + body[reader.at :], fields)


@pytest.mark.slow
@needs_proc
def test_pages_that_claim_to_be_large(tmp_path):
    cases = []
    for compression in ("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"):
        path = tmp_path / f"{compression}.parquet"
        content = written(frame().write_parquet, compression=compression)
        path.write_bytes(with_page(content, lambda header: thrift_trees.put(header, 2, 2**31 - 1)))
        cases += [(how, path, {"label": "y", "missing": "keep"}) for how in ("read", "batches")]
    for one in measured(cases, free=FREE):
        assert "would take 2.1 GB of memory or more, and the limit is 168 MB, 80% of what is free" in one["said"]
        assert one["grown"] < 10 * MB


@pytest.mark.slow
@needs_proc
def test_few_bytes_for_many_rows(tmp_path):
    """A dictionary of one value, which is repeated."""
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {"a": pl.repeat(7, 20_000_000, eager=True), "y": pl.repeat("x", 20_000_000, eager=True)}
    ).write_parquet(path)
    assert path.stat().st_size < 100_000
    [one] = measured([("read", path, {"label": "y"})], free=FREE)
    assert "would take 640 MB of memory or more" in one["said"]
    assert one["grown"] < 10 * MB


def forged(content, change):
    fields, at = thrift_trees.footer(content)
    change(fields)
    return thrift_trees.with_footer(content[:at], fields)


def with_overlap(fields):
    columns = thrift_trees.get(fields, 4, (0,), 1)[1]
    columns *= 20


def with_other_rows(fields):
    thrift_trees.put(fields, 3, 17)


def with_negative_rows(fields):
    thrift_trees.put(thrift_trees.get(fields, 4, (0,)), 3, -5)


def with_two_schemas(fields):
    fields.append(next(field for field in fields if field[0] == 2))


def nested(fields):
    """A column in a column, and so on, a hundred thousand times."""
    schema = thrift_trees.get(fields, 2)[1]
    schema[1:1] = [[[4, thrift_trees.BINARY, b"a"], [5, thrift_trees.I32, 1]]] * 100_000


def elsewhere(fields):
    thrift_trees.put(thrift_trees.get(fields, 4, (0,), 1, (0,), 3), 9, 2**63 - 1)


def within_a_page(fields):
    chunk = thrift_trees.get(fields, 4, (0,), 1, (0,), 3)
    thrift_trees.put(chunk, 9, thrift_trees.get(chunk, 9) + 3)


FORGERIES = {
    "its columns overlap, or are not in it": with_overlap,
    "its columns overlap, or are not in it ": elsewhere,
    "its parts do not have the rows that it promises": with_other_rows,
    "its footer is damaged": with_negative_rows,
    "its footer is damaged ": with_two_schemas,
    "its columns are nested too deeply": nested,
    "the header of a page is damaged": within_a_page,
}


@pytest.mark.slow
@pytest.mark.parametrize("said", FORGERIES)
def test_forged_parquet_files(tmp_path, said):
    path = tmp_path / "a.parquet"
    path.write_bytes(forged(written(frame().write_parquet), FORGERIES[said]))
    for read in (read_examples, open_batches):
        refused(path, f"Cannot read '{path}' as parquet: {said.strip()}", read=read, label="y", missing="keep")


def test_a_footer_that_is_none(tmp_path):
    path = tmp_path / "a.parquet"
    for content in (b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1", b"PAR1" + bytes(50) + b"\x09\0\0\0PARE"):
        path.write_bytes(content)
        refused(path, "its end is not that of a Parquet file", label="y")
    path.write_bytes(b"PAR1" + b"\x19" * 60 + b"\x3c\0\0\0PAR1")
    refused(path, "its footer is damaged", label="y")


# -- Arrow ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_what_arrow_files_claim(compression, kind):
    data = frame()
    write = data.write_ipc if kind == "file" else data.write_ipc_stream
    claims = arrow_claims(io.BytesIO(written(write, compression=compression)))
    plain = written(write, compression="uncompressed")
    assert sum(one.n_rows for one in claims) == N
    assert sum(one.n_values for one in claims) == 5 * N
    assert 0.8 * len(plain) < sum(one.n_bytes for one in claims) < 1.3 * len(plain) + 5 * (1 << 17)


MAGIC = {"zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}


@pytest.mark.slow
@needs_proc
def test_buffers_that_claim_to_be_large(tmp_path):
    data = frame().select("text", "y")
    cases = []
    for kind, claim, (compression, magic) in itertools.product(
        ("file", "stream"), (10**9, 2**40, 2**62, -2), MAGIC.items()
    ):
        content = bytearray(
            written(data.write_ipc if kind == "file" else data.write_ipc_stream, compression=compression)
        )
        at = content.rindex(magic) - 8  # of the last buffer; that before is of texts
        at = content.rindex(magic, 0, at) - 8
        struct.pack_into("<q", content, at, claim)
        path = tmp_path / f"{kind} {claim} {compression}.arrow"
        path.write_bytes(content)
        cases += [(how, path, {"label": "y"}) for how in ("read", "batches")]
    for case, one in zip(cases, measured(cases, free=FREE), strict=True):
        assert "of memory or more" in one["said"] or "that max_bytes allows" in one["said"], (case, one)
        assert one["grown"] < 20 * MB, (case, one)


def zstd_of_zeros(n):
    """A frame of so many bytes, in which every four stand for 128 KiB of zeros."""
    blocks = [struct.pack("<I", (1 << 20) | 2)[:3] + b"\0"] * ((n - 6) // 4)
    return (MAGIC["zstd"] + b"\x00\x50" + b"".join(blocks)).ljust(n, b"\0")


@pytest.mark.slow
@needs_proc
def test_buffers_that_expand_to_more_than_they_claim(tmp_path):
    """Of 60 kB to 2 GB."""
    cases = []
    for kind, column in itertools.product(("file", "stream"), ("number", "text")):
        data = frame(60_000).select(pl.col(column).reverse() if column == "number" else column, "y")
        content = written(data.write_ipc if kind == "file" else data.write_ipc_stream, compression="zstd")
        begins = [at for at in range(len(content)) if content.startswith(MAGIC["zstd"], at)]
        room, at = max((after - 8 - at, at) for at, after in zip(begins, [*begins[1:], len(content)], strict=True))
        assert room > 60_000
        path = tmp_path / f"{kind} {column}.arrow"
        path.write_bytes(content[:at] + zstd_of_zeros(60_000) + content[at + 60_000 :])
        cases += [(how, path, {"label": "y"}) for how in ("read", "batches")]
    for case, one in zip(cases, measured(cases), strict=True):
        assert one["grown"] < 100 * MB, (case, one)


@pytest.mark.slow
@needs_proc
def test_rows_of_nothing(tmp_path):
    data, cases = pl.DataFrame({"a": pl.Series([None] * 12_345, dtype=pl.Null)}), []
    for name, write in {"file": data.write_ipc, "stream": data.write_ipc_stream}.items():
        content = written(write).replace(struct.pack("<q", 12_345), struct.pack("<q", 400_000_000))
        (tmp_path / f"{name}.arrow").write_bytes(content)
        cases.append(("read", tmp_path / f"{name}.arrow", {"labels": "none", "missing": "keep"}))
    for one in measured(cases, free=FREE):
        assert "would take 6.4 GB of memory or more" in one["said"]
        assert one["grown"] < 10 * MB


def test_forged_arrow_files(tmp_path):
    path = tmp_path / "a.arrow"
    content = written(frame().write_ipc)
    path.write_bytes(content[:-10] + b"\xff\xff\xff\x7f" + b"ARROW1")
    refused(path, "its end is not that of an Arrow file", label="y")
    footer = len(content) - 10 - int.from_bytes(content[-10:-6], "little")
    path.write_bytes(content[:footer] + bytes(len(content) - 10 - footer) + content[-10:])
    refused(path, "its metadata are damaged", label="y")
    stream = written(frame().write_ipc_stream)
    path.write_bytes(stream[: len(stream) // 2])
    refused(path, "it ends within a batch", label="y")
    n_body = struct.pack("<q", arrow_body(content))
    path.write_bytes(content.replace(n_body, struct.pack("<q", 2**40)))
    refused(path, "its batches overlap, or are not in it", label="y")


def arrow_body(content):
    """The bytes of the body of the only batch: the number that the footer and the message both have."""
    numbers = [struct.unpack_from("<q", content, at)[0] for at in range(0, len(content) - 8, 8)]
    large = [number for number in numbers if len(content) // 2 < number < len(content)]
    return max(set(large), key=large.count)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_columns_in_columns(tmp_path, format):
    """Some are read, and may be dropped; too many are refused."""
    path = tmp_path / f"a.{format}"
    for depth in (10, 100):
        dtype = pl.Int64
        for _ in range(depth):
            dtype = pl.Struct({"a": dtype})
        data = pl.DataFrame({"deep": pl.Series([None, None], dtype=dtype), "x": [1, 2], "y": [0, 1]})
        (data.write_parquet if format == "parquet" else data.write_ipc)(path)
        if depth == 10:
            assert read_examples(path, label="y", drop=["deep"]).X["x"].to_list() == [1, 2]
        else:
            refused(path, "nested too deeply", label="y", drop=["deep"])


def test_damage_is_told_from_what_is_too_much():
    assert issubclass(DamagedError, ValueError)
    with pytest.raises(DamagedError, match="its end is not that of a Parquet file"):
        parquet_claims(io.BytesIO(b""))
    with pytest.raises(DamagedError, match="it ends within a batch"):
        arrow_claims(io.BytesIO(b"\xff\xff\xff\xff\x04\0\0\0\0\0"))
    with pytest.raises(DamagedError, match="its metadata are damaged"):
        arrow_claims(io.BytesIO(b"\xff\xff\xff\xff\x04\0\0\0\xff\xff\xff\xff"))


def in_page(number, value):
    """Return a change of a field of the header of the values, or of the dictionary, that a page's header has."""

    def change(header):
        inner = next(content for field, _, content in header if field in (5, 7, 8))
        thrift_trees.put(inner, number, value)

    return change


def test_texts_that_grow_from_one_to_the_next(tmp_path):
    """Each may be the one before it and a letter: then they expand with the square of their number."""
    path = tmp_path / "a.parquet"
    data = pl.DataFrame({"t": [f"text {i}" for i in range(1000)], "y": [0, 1] * 500})
    path.write_bytes(with_page(written(data.write_parquet, compression="uncompressed"), in_page(2, 7)))
    refused(path, "its texts are stored as changes to one another (DELTA_BYTE_ARRAY)", label="y", missing="keep")


def test_a_dictionary_that_claims_many_entries(tmp_path):
    path = tmp_path / "a.parquet"
    data = pl.DataFrame({"t": ["a", "b"] * 500, "y": [0, 1] * 500})
    path.write_bytes(with_page(written(data.write_parquet), in_page(1, 2_000_000_000)))
    refused(path, "max_bytes allows", label="y")


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_long_text_that_many_rows_share(tmp_path, format):
    """It takes little in a file, and little while it is read, but a text a row once it is used."""
    path, n = tmp_path / f"a.{format}", 300
    texts = pl.Series("t", ["a" * 1_000_000]).gather([0] * n)
    data = pl.DataFrame({"t": texts, "y": [0, 1] * (n // 2)})
    if format == "parquet":
        data.write_parquet(path)
    else:
        data.write_ipc(path, compat_level=pl.CompatLevel.newest())
    assert path.stat().st_size < 2_000_000
    refused(path, "expands to more than the 64 MiB that max_bytes allows", label="y", max_bytes=64 << 20)
    assert read_examples(path, label="y").X.shape == (n, 1)


def test_headers_of_pages_are_read_some_times_and_no_more():
    """However long they are: the windows in which they are looked for double."""
    windows = [length for length in parquet._PAGE_HEADERS if length <= 1 << 20]
    assert sum(windows) < 2 * windows[-1]
