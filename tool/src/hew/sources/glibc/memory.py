# SPDX-License-Identifier: MIT
"""The memory of another process, by /proc/PID/mem; and which of its pages are resident, by /proc/PID/pagemap.

Owns      two descriptors and a cache of pages; a `fresh` view forgets what it has read.
Promises  what cannot be read is ChangedError: the map was right a moment ago, so the process has changed it.
"""

import bisect
import os
import struct
from collections.abc import Iterable, Sequence
from typing import Self

from hew.model.process import Area
from hew.sources.processes import PROC

PAGE = 4096
MOST_PAGES = 8192  # kept at a time: 32 MiB
PRESENT = 1 << 63
FOUR = struct.Struct("<4Q")


class ChangedError(Exception):
    """The data read are inconsistent: the process changed them meanwhile, or they are not what we expect."""


class ProcessMemory:
    """A process's memory. Pages are read once, until `forget`."""

    def __init__(self, pid: int, areas: Sequence[Area]) -> None:
        self._memory = os.open(f"{PROC}/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._pagemap = os.open(f"{PROC}/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._memory)
            raise
        self._areas = sorted((one.start, one.end) for one in areas if one.rights.startswith("rw"))
        self._starts = [start for start, _ in self._areas]
        self._pages: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)
        os.close(self._pagemap)

    def forget(self) -> None:
        """Drop all cached pages, so that later reads see the present contents."""
        self._pages.clear()

    def holds(self, address: int, size: int) -> bool:
        """Whether this was one writable area when the map was read."""
        place = bisect.bisect_right(self._starts, address) - 1
        return place >= 0 and address + size <= self._areas[place][1]

    def read(self, address: int, size: int) -> bytes:
        """Bytes as they are now."""
        try:
            data = os.pread(self._memory, size, address)
        except (OSError, OverflowError) as error:
            raise ChangedError(f"{address:#x} cannot be read") from error
        if len(data) != size:
            raise ChangedError(f"{address:#x} cannot be read to its end")
        return data

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Words of eight bytes as they are now."""
        return struct.unpack(f"<{count}Q", self.read(address, 8 * count))

    def header(self, address: int) -> tuple[int, int, int, int]:
        """Four words, from the pages that were read already where they lie there. `address` is a multiple of 16."""
        offset = address % PAGE
        if offset > PAGE - FOUR.size:
            first, second = self.pair(address), self.pair(address + 16)
            return (*first, *second)
        found: tuple[int, int, int, int] = FOUR.unpack_from(self._page(address - offset), offset)
        return found

    def pair(self, address: int) -> tuple[int, int]:
        """Two words of eight bytes, likewise."""
        offset = address % PAGE
        first, second = struct.unpack_from("<2Q", self._page(address - offset), offset)
        return first, second

    def _page(self, start: int) -> bytes:
        page = self._pages.get(start)
        if page is None:
            if len(self._pages) >= MOST_PAGES:
                self._pages.clear()
            page = self._pages[start] = self.read(start, PAGE)
        return page

    def resident(self, ranges: Iterable[tuple[int, int]]) -> int:
        """How much of these ranges of whole pages is in memory."""
        return PAGE * sum(self._present(start // PAGE, (end - start) // PAGE) for start, end in ranges)

    def _present(self, first: int, count: int) -> int:
        import numpy as np  # noqa: PLC0415 - the extra `inspect`

        try:
            data = os.pread(self._pagemap, 8 * count, 8 * first)
        except OSError as error:
            raise ChangedError("pagemap cannot be read") from error
        return int(np.count_nonzero(np.frombuffer(data[: len(data) & -8], "<u8") & np.uint64(PRESENT)))
