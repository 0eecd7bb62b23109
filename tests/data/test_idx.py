import contextlib
import gzip
import math
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from votron.data import load_mnist_folder, read_idx
from votron.errors import DataError

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}
STEMS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def header(code, *shape):
    return struct.pack(f">HBB{len(shape)}I", 0, code, len(shape), *shape)


def encode(array):
    code = CODES[array.dtype.str[1:]]
    return header(code, *array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.idx"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def digits(tmp_path):
    """The four files, for 5 and 2 images of 3 x 4 pixels; the arrays they were made of."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, shape, dtype=np.uint8) for shape in ((5, 3, 4), (5,), (2, 3, 4), (2,))]
    for stem, array in zip(STEMS, arrays, strict=True):
        (tmp_path / stem).write_bytes(encode(array))
    return tmp_path, arrays


def assert_refused(path, match):
    with pytest.raises(DataError, match=match) as caught:
        read_idx(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


arrays = st.sampled_from(sorted(CODES)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
)


@given(array=arrays, compress=st.booleans())
def test_round_trip(tmp_path_factory, array, compress):
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(gzip.compress(encode(array)) if compress else encode(array))
    result = read_idx(path)
    assert result.dtype == array.dtype
    assert result.dtype.isnative
    assert result.flags.writeable
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, array)


@given(array=arrays, data=st.data())
def test_any_prefix_is_refused(tmp_path_factory, array, data):
    content = encode(array)
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    assert_refused(path, "IDX file")


@given(content=st.binary(max_size=60), start=st.sampled_from([b"", b"\0\0\x08", b"\x1f\x8b\x08\0"]))
def test_any_content_is_read_or_refused(tmp_path_factory, content, start):
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(start + content)
    with contextlib.suppress(DataError):
        read_idx(path)


def test_a_file_longer_than_one_chunk(write):
    array = np.arange(700_000, dtype=np.int32).reshape(700, 1000)
    np.testing.assert_array_equal(read_idx(write(gzip.compress(encode(array), 1))), array)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "match"),
    [
        pytest.param(b"", "Got nothing instead", id="empty"),
        pytest.param(b"\0\0\x08", "Got 00 00 08 instead", id="three bytes"),
        pytest.param(b"PNG\x01" + bytes(8), "expected it to start with the bytes 00 00", id="wrong magic"),
        pytest.param(b"\0\0\x0a\x01" + bytes(4), r"one of 08, 09, 0b, 0c, 0d, 0e", id="wrong type"),
        pytest.param(b"\0\0\x08\0\x05", "1 to 64 dimensions. Got 0", id="no dimension"),
        pytest.param(header(8, *[1] * 65) + b"\x05", "1 to 64 dimensions. Got 65", id="many dimensions"),
        pytest.param(b"\0\0\x08\x02" + bytes(7), "ends within the header", id="half a header"),
        pytest.param(
            header(8, 60) + bytes(59),
            r"promises 60 bytes of data \(60 numbers of type uint8\), but the file ends after 59",
            id="a byte missing",
        ),
        pytest.param(header(0x0C, 2, 3) + bytes(25), r"promises 24 bytes .* goes on", id="a byte too many"),
        pytest.param(header(8, *[2**32 - 1] * 8), "too short", id="more than any memory"),
        pytest.param(header(8, 0, *[2**32 - 1] * 3), "no shape that an array can have", id="0 x huge"),
    ],
)
def test_what_is_not_what_its_header_says_is_refused(write, pack, content, match):
    assert_refused(write(pack(content)), match)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda packed: packed[:-1], id="truncated"),
        pytest.param(lambda packed: packed[:20], id="truncated early"),
        pytest.param(lambda packed: packed[:-8] + bytes(4) + packed[-4:], id="wrong checksum"),
        pytest.param(lambda packed: packed[:10] + b"\xff" * 20 + packed[30:], id="garbage inside"),
        pytest.param(lambda packed: packed + b"more", id="garbage behind"),
    ],
)
def test_damaged_gzip_is_refused(write, damage):
    content = encode(np.random.default_rng(0).integers(0, 256, 1000, dtype=np.uint8))
    assert_refused(write(damage(gzip.compress(content))), "gzip")


def peak_memory_of_refusal(path, match):
    tracemalloc.start()
    try:
        assert_refused(path, match)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_gzip_is_not_expanded_beyond_the_promise(write):
    bomb = write(gzip.compress(header(8, 10) + bytes(50_000_000), 1))
    assert peak_memory_of_refusal(bomb, "goes on after them") < 5_000_000


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_promise_that_the_file_cannot_keep_costs_no_memory(write, pack):
    assert peak_memory_of_refusal(write(pack(header(8, 2**32 - 1) + bytes(10))), "too short") < 5_000_000


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert_refused(tmp_path / "nowhere", "Cannot read the IDX file .*: No such file")
    assert_refused(tmp_path, "Cannot read the IDX file")


@pytest.mark.parametrize("inside", [".", "mnist"])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("by_environment", [False, True])
def test_digits_folder(digits, monkeypatch, inside, compress, by_environment):
    folder, arrays = digits
    (folder / inside).mkdir(exist_ok=True)
    for stem in STEMS:
        path = (folder / stem).rename(folder / inside / stem)
        if compress:
            path.with_name(f"{stem}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    if by_environment:
        monkeypatch.setenv("VOTRON_DATA", str(folder))
        loaded = load_mnist_folder()
    else:
        monkeypatch.delenv("VOTRON_DATA", raising=False)
        loaded = load_mnist_folder(folder)
    for result, array in zip(loaded, arrays, strict=True):
        assert result.shape == (len(array), math.prod(array.shape[1:])) if array.ndim == 3 else array.shape
        assert result.dtype == (np.uint8 if array.ndim == 3 else np.int64)
        np.testing.assert_array_equal(result.ravel(), array.ravel())


def test_the_folder_named_is_preferred_to_the_one_around_it(digits):
    folder, arrays = digits
    other = folder / "other"
    other.mkdir()
    for stem, array in zip(STEMS, arrays, strict=True):
        (other / stem).write_bytes(encode(array[:1]))
    assert len(load_mnist_folder(folder)[0]) == 5
    assert len(load_mnist_folder(folder, name="other")[0]) == 1


@pytest.mark.parametrize("folder", [None, ""])
def test_without_a_folder_the_error_says_what_to_set(monkeypatch, folder):
    monkeypatch.delenv("VOTRON_DATA", raising=False)
    with pytest.raises(DataError, match="or set VOTRON_DATA"):
        load_mnist_folder(folder)


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_the_files_is_refused(tmp_path, folder):
    with pytest.raises(DataError, match=r"No file 'train-images-idx3-ubyte' .* or set VOTRON_DATA"):
        load_mnist_folder(tmp_path / folder)


def test_a_home_folder_is_found(digits, monkeypatch):
    folder, _ = digits
    monkeypatch.setattr(Path, "expanduser", lambda path: folder if str(path) == "~/digits" else path)
    assert len(load_mnist_folder("~/digits")[0]) == 5


@pytest.mark.parametrize(
    ("stem", "content", "match"),
    [
        (STEMS[1], encode(np.zeros(4, np.uint8)), "Got 5 images and 4 labels instead"),
        (STEMS[3], encode(np.zeros(3, np.uint8)), "Got 2 images and 3 labels instead"),
        (STEMS[2], encode(np.zeros((2, 5, 5), np.uint8)), "Got 12 and 25 pixels instead"),
        (STEMS[0], encode(np.zeros((5, 12), np.uint8)), "uint8 numbers in 3 .* Got uint8 in 2 instead"),
        (STEMS[1], encode(np.zeros(5, np.int32)), "uint8 numbers in 1 .* Got int32 in 1 instead"),
        (STEMS[2], b"", "not an IDX file"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(digits, stem, content, match):
    folder, _ = digits
    (folder / stem).write_bytes(content)
    with pytest.raises(DataError, match=match):
        load_mnist_folder(folder)
