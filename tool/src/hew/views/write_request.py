# SPDX-License-Identifier: MIT
"""A remote write request (1.0): series of one moment as protocol buffers, compressed with snappy.

The messages, as far as we write them: WriteRequest has TimeSeries (1); TimeSeries has Label (1) and Sample (2); Label
has a name (1) and a value (2), Sample a value (1, double) and milliseconds since 1970 (2, int64).
"""

import struct
from collections.abc import Iterable

import cramjam

from hew.model.metric import Labels
from hew.views.openmetrics import printable

LENGTH, DOUBLE, VARINT = 2, 1, 0  # the wire types


def write_request(series: Iterable[tuple[Labels, float]], milliseconds: int) -> bytes:
    """The body of a request."""
    stamp = _tag(2, VARINT) + _varint(milliseconds)
    message = bytearray()
    for labels, value in series:
        row = bytearray()
        for name, text in labels:
            row += _field(1, _field(1, name.encode()) + _field(2, printable(text).encode()))
        row += _field(2, _tag(1, DOUBLE) + struct.pack("<d", value) + stamp)
        message += _field(1, row)
    return bytes(cramjam.snappy.compress_raw(bytes(message)))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _tag(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _field(number: int, data: bytes | bytearray) -> bytes:
    return _tag(number, LENGTH) + _varint(len(data)) + data
