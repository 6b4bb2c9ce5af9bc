# SPDX-License-Identifier: MIT
"""Names of code that a program made while it ran, as JIT compilers write them for perf: lines START SIZE NAME."""

import os
import re
import stat
from bisect import bisect_right
from pathlib import Path

from hew.sources.readable import readable

ROW = re.compile(rb"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.+)")
MOST_BYTES = 512 << 20


class PerfMap:
    """A map as it stands: where code was made twice at one place, the later row holds."""

    def __init__(self, path: Path | None = None) -> None:
        rows: dict[int, tuple[int, bytes]] = {}
        for start, size, name in _rows(path) if path else ():
            rows[start] = size, name
        self._starts = sorted(rows)
        self._rows = rows

    def name_at(self, address: int) -> str:
        """The code's name, or nothing."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return ""
        start = self._starts[place]
        size, name = self._rows[start]
        return readable(name.decode(errors="replace")) if address < start + size else ""


def perf_map_of(pid: int | None) -> PerfMap:
    """The map of a process, where it is."""
    return PerfMap(Path(f"/tmp/perf-{pid}.map")) if pid is not None else PerfMap()  # noqa: S108 - where perf wants it


def _rows(path: Path) -> list[tuple[int, int, bytes]]:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return []
    with os.fdopen(number, "rb") as opened:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return []
        lines = opened.read(MOST_BYTES).splitlines()
    found = (ROW.fullmatch(line.rstrip()) for line in lines)
    return [(int(one[1], 16), int(one[2], 16), one[3]) for one in found if one]
