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
from hew.views.protobuf import DOUBLE, VARINT, field, tag, varint


def write_request(series: Iterable[tuple[Labels, float]], milliseconds: int) -> bytes:
    """The body of a request."""
    stamp = tag(2, VARINT) + varint(milliseconds)
    message = bytearray()
    for labels, value in series:
        row = bytearray()
        for name, text in labels:
            row += field(1, field(1, name.encode()) + field(2, printable(text).encode()))
        row += field(2, tag(1, DOUBLE) + struct.pack("<d", value) + stamp)
        message += field(1, row)
    return bytes(cramjam.snappy.compress_raw(bytes(message)))
