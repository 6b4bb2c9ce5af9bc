# SPDX-License-Identifier: MIT
"""Protocol buffers as they come: fields of a message, and messages out of a stream, one at a time.

What is cut short or malformed raises ValueError.
"""

from collections.abc import Iterator
from typing import BinaryIO

MOST_MESSAGE = 16 << 20  # bytes: a real sample never has a million frames
SIGN = 1 << 63
VARINT, DOUBLE, LENGTH, SINGLE = 0, 1, 2, 5  # the wire types
FIXED = {DOUBLE: 8, SINGLE: 4}
Field = tuple[int, int | bytes]


def numbers(data: bytes) -> list[int]:
    """The varints that follow one another in some bytes."""
    found, value, shift = [], 0, 0
    for byte in data:
        if byte < 0x80:
            found.append(value | byte << shift)
            value = shift = 0
        else:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")
    if shift:
        raise ValueError("it is cut short")
    return found


def repeated(value: int | bytes) -> list[int]:
    """Numbers of a repeated field, packed or not."""
    return [value] if isinstance(value, int) else numbers(value)


def signed(value: int) -> int:
    """A varint as an int64."""
    return value - (SIGN << 1) if value >= SIGN else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message: number, and value or bytes."""
    at, end = 0, len(data)
    try:
        while at < end:
            key, at = _varint(data, at)
            kind = key & 7
            if kind == VARINT:
                value, at = _varint(data, at)
                yield key >> 3, value
                continue
            if kind == LENGTH:
                size, at = _varint(data, at)
            elif kind in FIXED:
                size = FIXED[kind]
            else:
                raise ValueError("a field has an unknown type")
            if at + size > end:
                raise ValueError("it is cut short")
            yield key >> 3, data[at : at + size]
            at += size
    except IndexError:
        raise ValueError("it is cut short") from None


def _stream_varint(stream: BinaryIO, first: bool = False) -> int | None:
    value = shift = 0
    while True:
        one = stream.read(1)
        if not one:
            if first and not shift:
                return None
            raise ValueError("it is cut short")
        value |= (one[0] & 0x7F) << shift
        if one[0] < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def messages(stream: BinaryIO) -> Iterator[Field]:
    """The fields of the message that a whole stream is; no more than one of them is in memory."""
    while (key := _stream_varint(stream, True)) is not None:
        kind = key & 7
        if kind == VARINT:
            yield key >> 3, _stream_varint(stream) or 0
            continue
        size = _stream_varint(stream) or 0 if kind == LENGTH else FIXED.get(kind, -1)
        if not 0 <= size <= MOST_MESSAGE:
            raise ValueError("a field is of an unknown type, or too large")
        data = stream.read(size)
        if len(data) != size:
            raise ValueError("it is cut short")
        yield key >> 3, data
