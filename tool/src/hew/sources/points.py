# SPDX-License-Identifier: MIT
"""Reads the points that a benchmark program measures by itself: JSON lines on stdout or stderr, among other lines.

    {"series": "malloc lifo, 2 threads", "at": 4096, "ns": 31.5}

`series` and `at` place the point; the one other number whose key is a unit below is its value.
"""

import json
from typing import BinaryIO

from hew.model.run import Point

UNITS = ("ns", "rss_kib", "ratio")


def read_points(*files: BinaryIO) -> tuple[Point, ...]:
    """All points in the files, in order. A line that is none is passed over."""
    found = []
    for file in files:
        file.seek(0)
        for line in file:
            if line.startswith(b"{"):
                point = _point(line)
                if point:
                    found.append(point)
    return tuple(found)


def _point(line: bytes) -> Point | None:
    try:
        read = json.loads(line)
        unit = next(one for one in UNITS if one in read)
        return Point(str(read["series"]), float(read["at"]), unit, float(read[unit]))
    except (ValueError, KeyError, TypeError, StopIteration):
        return None
