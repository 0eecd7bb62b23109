"""Thrift's compact protocol as trees that tests change and write again: the metadata of Parquet files, forged.

A structure is a list of ``[field, type, value]``, a list is ``[type, values]``, a binary is bytes, all else a number.
"""

import struct

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def structure(self):
        fields, number = [], 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            fields.append([number, kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)])
        return fields

    def value(self, kind):
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind in _INTEGERS:
            return self.zigzag()
        if kind == DOUBLE:
            self.at += 8
            return struct.unpack_from("<d", self.data, self.at - 8)[0]
        if kind == BINARY:
            n = self.varint()
            self.at += n
            return self.data[self.at - n : self.at]
        if kind in (LIST, SET):
            head = self.byte()
            n = head >> 4 if head >> 4 < 15 else self.varint()
            return [head & 15, [self.value(head & 15) for _ in range(n)]]
        assert kind == STRUCT, kind
        return self.structure()


def varint(n):
    n &= 2**64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def zigzag(n):
    return varint((n << 1) ^ (n >> 63))


def structure_bytes(fields):
    out, before = b"", 0
    for number, kind, value in fields:
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        delta = number - before
        out += bytes([delta << 4 | kind]) if 0 < delta < 16 else bytes([kind]) + zigzag(number)
        if kind not in (TRUE, FALSE):
            out += value_bytes(kind, value)
        before = number
    return out + b"\0"


def value_bytes(kind, value):
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value & 255])
    if kind in _INTEGERS:
        return zigzag(value)
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind in (LIST, SET):
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([240 | inner]) + varint(len(values))
        return head + b"".join(value_bytes(inner, one) for one in values)
    return structure_bytes(value)


def get(fields, *path):
    """The value at a path of field numbers and positions in lists."""
    value = fields
    for step in path:
        value = value[1][step[0]] if isinstance(step, tuple) else next(one[2] for one in value if one[0] == step)
    return value


def put(fields, number, value):
    """Change a number in a structure."""
    next(one for one in fields if one[0] == number)[2] = value


def integers(value, kind=STRUCT):
    """All places of numbers: lists to change in place, and positions in them."""
    if kind == STRUCT:
        for field in value:
            yield from [(field, 2)] if field[1] in _INTEGERS else integers(field[2], field[1])
    elif kind in (LIST, SET):
        inner, values = value
        for i in range(len(values)):
            yield from [(values, i)] if inner in _INTEGERS else integers(values[i], inner)


def footer(parquet):
    """The metadata of a Parquet file as a tree, and where they begin."""
    n = int.from_bytes(parquet[-8:-4], "little")
    return Reader(parquet[:-8], len(parquet) - 8 - n).structure(), len(parquet) - 8 - n


def with_footer(body, fields):
    """A Parquet file of these pages and metadata."""
    data = structure_bytes(fields)
    return body + data + len(data).to_bytes(4, "little") + b"PAR1"
