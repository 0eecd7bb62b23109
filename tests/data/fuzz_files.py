"""Files for the fuzzer: sound ones of every format, damaged by chance, or forged to declare what is hostile."""

import bz2
import functools
import gzip
import io
import json
import lzma
import random
import struct
import zipfile

import numpy as np
import polars as pl
import scipy.sparse as sp
import thrift_trees

TOKENS = (
    *[
        b"",
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b'"',
        b'""',
        b"'",
        b",",
        b";",
        b"\t",
        b"|",
        b"#",
        b":",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
    ],
    *[b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"99999999999999999999", b"1_000", b"0x10", b"NA", b"?", b"true"],
    *[
        b"2147483648:1",
        b"-3:1",
        b"0:1",
        b"1:1:1",
        b"qid:1",
        b"(",
        b")",
        b"{",
        b"'|O'",
        b"'<f8'",
        b"\x1f\x8b",
        b"PK\x03\x04",
    ],
    *[
        "é".encode(),
        "\uff11".encode(),
        b"\xe9",
        b"\xed\xa0\x80",
        b" ",
        b"   ",
        b"\x0b",
        b"\x1a",
        b"+",
        b"-",
        b".",
        b"e5",
        b"True",
    ],
    *[b"[", b"]", b"}", b"null", b'{"a":', b'"\\ud800"', b"NaN", b"2024-01-31", b"[" * 999],
)


def _idx(array):
    return bytes([0, 0, 0x08, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _sparse(matrix):
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()


@functools.cache
def sound_files():
    """Name, content and options of files that are as they should be."""
    rng = np.random.RandomState(0)
    X = rng.randint(0, 5, (6, 4))
    csv = b"name,size,ok,class\n" + b"".join(
        b'"a, %d",%.2f,%s,%s\n' % (i, i / 3, b"true" if i % 2 else b"false", b"red" if i % 3 else b"blue")
        for i in range(12)
    )
    numbers = b"a;b;c;y\n" + b"".join(b"%d;%d,5;%d;%d\n" % (i, i, 300 * i, i % 2) for i in range(12))
    tsv = b"a\tb\tlabel\n" + b"".join(b"%d\tw%d\t%d\n" % (i, i % 3, i % 2) for i in range(12))
    codes = b"zip,ok,'class'\n" + b"".join(b"%05d,%d,'%02d'\n" % (77 * i, i % 2, i % 3) for i in range(12))
    one = b"x\n" + b"".join(b"%d\n\n" % (300 * i) if i % 3 else b"7\n" for i in range(12))
    svm = b"".join(b"%+d %d:%g %d:%d # c\n" % (1 - 2 * (i % 2), i % 3 + 1, i / 4, i + 5, i) for i in range(12))
    rows = [
        {
            "n": i / 4 if i % 3 else None,
            "w": f"w{i % 3}",
            "ok": i % 2 == 0,
            "in": {"d": f"2024-01-{i + 1:02d}"},
            "y": i % 2,
        }
        for i in range(12)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    images = _idx(rng.randint(0, 256, (5, 3, 3)).astype(np.uint8))
    return [
        ("a.csv", csv, {"label": "class"}),
        ("b.csv", numbers, {"label": -1, "missing": "drop"}),
        ("c.csv", csv.replace(b"\n", b"\r\n"), {"label": "class", "missing": "keep"}),
        ("a.tsv", tsv, {"label": "label"}),
        ("plain", tsv, {"label": 2, "as_text": ["a"]}),
        ("codes.csv", codes, {"label": -1}),
        ("codes.csv", codes, {"label": "-1", "label_kind": "text", "missing": "keep"}),
        ("one.csv", one, {"labels": "none", "missing": "keep"}),
        ("a.json", json.dumps(rows, indent=1).encode(), {"label": "y", "missing": "keep"}),
        ("b.json", json.dumps({"a": [1, 2], "y": ["p", None]}).encode(), {"label": "y", "drop_unlabelled": True}),
        ("a.jsonl", lines, {"label": "y", "missing": "drop"}),
        ("lines", lines, {"label": "w", "missing": "keep", "drop": ["ok"]}),
        ("latin.csv", "a,y\né,1\nü,2\n".encode("latin-1"), {"label": "y", "encoding": "latin-1"}),
        ("wide.csv", "a,y\né,1\nü,2\n".encode("utf-16"), {"label": "y", "encoding": "utf-16"}),
        (
            "dates.csv",
            b"d,y\n" + b"".join(b"%d.%d.2024,%d\n" % (i + 1, i + 1, i % 2) for i in range(12)),
            {"label": "y"},
        ),
        ("a.svm", svm, {}),
        ("a9a", svm, {"n_features": 9}),
        ("a.idx", images, {"labels": "none"}),
        ("a.idx.gz", gzip.compress(images, mtime=0), {"labels": "none"}),
        ("a.csv.gz", gzip.compress(csv, mtime=0), {"label": "class"}),
        ("a.npy", _npy(X.astype(np.float64)), {"label": -1}),
        ("b.npy", _npy(np.asfortranarray(X)), {"labels": "none"}),
        ("a.npz", _npz(X=X / 7, y=np.array(list("abcabc"))), {}),
        ("b.npz", _sparse(sp.csr_matrix(X)), {"labels": "none"}),
        ("a.npy.xz", lzma.compress(_npy(X / 3), preset=0), {"label": -1}),
        ("a.idx.bz2", bz2.compress(images), {"labels": "none"}),
        ("a.npz.gz", gzip.compress(_npz(X=X, y=X[:, 0]), mtime=0), {}),
        *_columnar_files(),
    ]


def _columnar_files():
    n = 60
    frame = pl.DataFrame(
        {
            "number": [i / 7 for i in range(n)],
            "word": [f"word {i % 5}" for i in range(n)],
            "long": [f"a text that is too long to be kept inline, number {i}" for i in range(n)],
            "hole": [None if i % 4 == 0 else i for i in range(n)],
            "truth": [i % 3 == 0 for i in range(n)],
            "small": pl.Series([i % 7 for i in range(n)], dtype=pl.Int8),
            "colour": pl.Series(["red", "green", "blue"] * (n // 3), dtype=pl.Categorical),
            "nothing": pl.Series([None] * n, dtype=pl.Null),
            "y": ["a" if i % 2 else "b" for i in range(n)],
        }
    )
    how = {"label": "y", "missing": "keep", "drop": ["nothing"]}
    for compression in ("zstd", "snappy", "lz4", "gzip", "brotli", "uncompressed"):
        # of one column of nothing, whose type not every version of polars writes
        content = _written(frame.drop("nothing").write_parquet, compression=compression, row_group_size=25)
        yield f"{compression}.parquet", content, how | {"drop": []}
    for compression in ("zstd", "lz4", "uncompressed"):
        yield f"{compression}.arrow", _written(frame.write_ipc, compression=compression, record_batch_size=25), how
        yield f"{compression}.ipc", _written(frame.write_ipc_stream, compression=compression), how
    nested = frame.with_columns(lists=pl.Series([[i, i + 1] for i in range(n)]), pair=pl.struct("number", "word"))
    yield "nested.parquet", _written(nested.drop("nothing").write_parquet), how | {"drop": ["lists", "pair"]}
    yield "nested.arrow", _written(nested.write_ipc), how | {"drop": ["lists", "pair", "nothing"]}
    yield "a.parquet.gz", gzip.compress(_written(frame.drop("nothing").write_parquet), mtime=0), how | {"drop": []}


def _written(write, **options):
    file = io.BytesIO()
    write(file, **options)
    return file.getvalue()


def mutated(content, rng):
    """Return the content with one to four changes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 64)))
        kind = rng.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * rng.choice((1, 2, 50, 2000))
        elif kind == 4:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 5:
            data[at:end] = rng.choice(TOKENS)
        elif kind == 6:
            other = rng.randrange(len(data) + 1)
            data[at:end] = data[other : other + rng.choice((1, 4, 16, 64))]
        else:
            digits = [i for i, byte in enumerate(data) if 48 <= byte < 58] or [min(at, max(len(data) - 1, 0))]
            if data:
                data[rng.choice(digits)] = rng.choice(b"0123456789.-e")
    return bytes(data)


# -- forgeries --------------------------------------------------------------------------------------------------------

HOSTILE = (
    *(-(2**63), -(2**31), -1, 0, 1, 2, 127, 255, 65535, 10**6, 2**24, 2**29),
    *(2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1),
)
COMPRESSORS = {
    ".gz": (gzip.decompress, lambda data: gzip.compress(data, mtime=0)),
    ".bz2": (bz2.decompress, bz2.compress),
    ".xz": (lzma.decompress, lambda data: lzma.compress(data, preset=0)),
}


def forged(name, content, rng):
    """A container as it should be, that declares sizes, types, shapes or places as they are not."""
    for suffix, (expand, compress) in COMPRESSORS.items():
        if name.endswith(suffix):
            return compress(forged(name.removesuffix(suffix), expand(content), rng))
    forge = FORGERS.get(name.rsplit(".", 1)[-1], mutated)
    return forge(content, rng)


def _number(rng, now):
    return rng.choice((*HOSTILE, now + 1, now - 1, 2 * now, 1000 * now, rng.getrandbits(rng.randrange(1, 63))))


def _forged_parquet(content, rng):
    fields, at = thrift_trees.footer(content)
    body = bytearray(content[:at])
    for _ in range(rng.choice((1, 1, 2, 5))):
        kind = rng.randrange(5)
        if kind == 0:
            body = _forged_page(fields, body, rng)
        elif kind == 1:
            groups = thrift_trees.get(fields, 4)[1]
            groups *= rng.choice((2, 50)) if len(groups) < 50 else 1
        elif kind == 2:
            columns = thrift_trees.get(fields, 4, (0,), 1)[1]
            columns.append(rng.choice(columns))
        elif kind == 3:
            schema = thrift_trees.get(fields, 2)[1]
            schema[1:1] = [rng.choice(schema)] * rng.choice((1, 10, 3000))
        else:
            places = list(thrift_trees.integers(fields))
            place, i = rng.choice(places)
            place[i] = max(-(2**63), min(_number(rng, place[i]), 2**63 - 1))
    return thrift_trees.with_footer(bytes(body), fields)


def _forged_page(fields, body, rng):
    """The pages with a number in the header of the first page of a column changed, and the places after it moved."""
    chunks = [chunk for group in thrift_trees.get(fields, 4)[1] for chunk in thrift_trees.get(group, 1)[1]]
    places = [field for chunk in chunks for field in thrift_trees.get(chunk, 3) if field[0] in (9, 11)]
    begin = rng.choice(places)[2]
    if not 0 <= begin < len(body):
        return body
    reader = thrift_trees.Reader(bytes(body), begin)
    header = reader.structure()
    place, i = rng.choice(list(thrift_trees.integers(header)))
    place[i] = _number(rng, place[i])
    written = thrift_trees.structure_bytes(header)
    for field in places:
        field[2] += (len(written) - (reader.at - begin)) * (field[2] > begin)
    return body[:begin] + written + body[reader.at :]


def _forged_arrow(content, rng):
    """Numbers of FlatBuffers are where their own size says, so one in place of another keeps the file as it is."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        width, code = rng.choice(((2, "<H"), (4, "<i"), (8, "<q")))
        near_the_end = rng.random() < 0.5
        at = rng.randrange(len(data) // width) * width
        if rng.random() < 0.8:  # where the metadata are
            at = (len(data) - 8 - at % 1500 if near_the_end else at % 1500) // width * width
        at = max(0, min(at, len(data) - width))
        low, high = (0, 65535) if width == 2 else (-(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1)
        struct.pack_into(code, data, at, max(low, min(_number(rng, struct.unpack_from(code, data, at)[0]), high)))
    return bytes(data)


def _forged_npy(content, rng):
    n = struct.unpack_from("<H", content, 8)[0]
    numbers = content[10 + n :]
    shape = tuple(rng.choice((*HOSTILE, 4, 6)) for _ in range(rng.randrange(4)))
    kinds = ["<f8", ">f8", "<i4", "|b1", "|u1", "<U3", "|S9", "|O", "<f2", "<c16", "|V8", "<M8[s]", "<U500000000"]
    kinds += ["(3,)<f8", "<f16"]
    words = f"{{'descr': {rng.choice(kinds)!r}, 'fortran_order': {rng.choice((True, False))}, 'shape': {shape}, }}"
    if rng.random() < 0.3:
        words = rng.choice(
            ("(" * 3000, "[" * 200 + "]" * 200, "{'descr': " * 50, words * 3, words.replace("}", "" * 9))
        )
    header = words.encode() + b" " * rng.choice((0, 1, 60, 9000)) + b"\n"
    version = rng.choice((1, 1, 2, 3, 9))
    claimed = rng.choice((len(header), len(header), 2**31, 65535))
    size = struct.pack("<H", claimed % 65536) if version == 1 else struct.pack("<I", claimed)
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + numbers


def _forged_npz(content, rng):
    """Arrays with forged headers, or a directory that does not say the truth."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if rng.random() < 0.4:
                data = _forged_npy(data, rng)
            method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
            new.writestr(info.filename, data, method)
            if rng.random() < 0.1:
                new.writestr(info.filename + rng.choice(("", ".npy", "x.npy")), bytes(200_000), zipfile.ZIP_DEFLATED)
    data = bytearray(file.getvalue())
    if rng.random() < 0.5:
        entry = data.rfind(b"PK\x01\x02")
        for _ in range(rng.choice((1, 2))):
            at = entry + rng.choice((8, 10, 16, 20, 24, 28, 42))  # flags, method, sum, sizes, name, place
            struct.pack_into("<I", data, at, rng.choice(HOSTILE) & 0xFFFFFFFF)
    return bytes(data)


def _forged_idx(content, rng):
    n = rng.choice((1, 2, 3, 4, 64, 255))
    shape = [rng.choice(HOSTILE) & 0xFFFFFFFF if rng.random() < 0.5 else rng.randrange(6) for _ in range(n)]
    return bytes([0, 0, rng.choice((8, 9, 11, 12, 13, 14, 0)), n]) + struct.pack(f">{n}I", *shape) + content[16:]


FORGERS = {
    "parquet": _forged_parquet,
    "arrow": _forged_arrow,
    "ipc": _forged_arrow,
    "npy": _forged_npy,
    "npz": _forged_npz,
    "idx": _forged_idx,
}


def case(seed):
    """The name, content and options of one case."""
    rng = random.Random(seed)
    name, content, options = rng.choice(sound_files())
    kind = next((part for part in name.split(".")[1:] if part in FORGERS), None)
    if kind is None or rng.random() < 0.4:
        return name, mutated(content, rng), options
    try:
        return name, forged(name, content, rng), options
    except (AssertionError, IndexError, StopIteration):  # of a change to what another change has broken
        return name, mutated(content, rng), options
