# SPDX-License-Identifier: MIT
"""Messages of protocol buffers, written by hand: what we send and save has a handful of kinds."""

import struct
from collections.abc import Iterable

LENGTH, DOUBLE, VARINT = 2, 1, 0  # the wire types
WIDTH = 1 << 64


def varint(value: int) -> bytes:
    """A number without a sign; one below 0 as an int64 has it."""
    value %= WIDTH
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def tag(number: int, kind: int) -> bytes:
    """What stands before a value."""
    return varint(number << 3 | kind)


def field(number: int, data: bytes | bytearray) -> bytes:
    """A text or a message within a message."""
    return tag(number, LENGTH) + varint(len(data)) + data


def numeric(number: int, value: int) -> bytes:
    """A number; 0 goes without saying."""
    return tag(number, VARINT) + varint(value) if value else b""


def fixed64(number: int, value: int) -> bytes:
    """A number of eight bytes."""
    return tag(number, DOUBLE) + struct.pack("<Q", value)


def packed(number: int, values: Iterable[int]) -> bytes:
    """Numbers of one kind, together."""
    return field(number, b"".join(map(varint, values)))
