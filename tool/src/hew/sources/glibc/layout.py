# SPDX-License-Identifier: MIT
"""The layout of glibc's malloc state, for 64-bit pointers, glibc 2.30 to 2.44.

struct malloc_state (an arena) is the same up to 2.42. Then its lists of small chunks (fastbins) were removed, and all
later fields moved up by 88 bytes. The layout in use is the consistent one, whatever the version: distributions backport
single changes. Free lists hold mangled pointers from 2.32 on. struct malloc_par begins with settings of huge pages from
2.35 on. From 2.42 on a thread's cache (tcache) counts its free capacity, has twelve lists for large chunks, and is made
at the thread's first free, so it may be anywhere.
"""

import re

from hew.model.lazy_dataclass import dataclass

OLDEST, NEWEST = (2, 30), (2, 44)
LARGE_CACHES = (2, 42)  # the first with the newer cache, and perhaps without fastbins
FASTBIN_COUNT = 10
BIN_COUNT = 127
FIRST_LARGE_BIN = 64
UNSORTED = 1
LEAST_CHUNK = 32
CHUNK_HEAD = 48  # sizeof(struct malloc_chunk): what malloc_trim leaves at the start of a free chunk
SIZE_BITS = 7
PREVIOUS_IN_USE = 1
VERSION = re.compile(r"(\d+)\.(\d+)")
MAPPED_WORD = -3  # before those: bytes mapped, the most that ever were, where the heap begins


@dataclass(frozen=True)
class Arena:
    """struct malloc_state: the offsets of its fields, and its size. `fastbins`: ten lists, None where there are none.
    `bins`: 127 bins from bin 1 on, two words each. `first_chunk`: after an arena that is not the main one."""

    fastbins: int | None
    top: int
    bins: int
    next: int
    threads: int
    system: int  # and behind it the most that it ever had
    size: int
    first_chunk: int

    def bin_header(self, arena: int, number: int) -> int:
        """The address of a bin, taken for a chunk: its links stand where a chunk's would."""
        return arena + self.bins + 16 * (number - 1) - 16


@dataclass(frozen=True)
class Cache:
    """struct tcache_perthread_struct: the size of its chunk, and how many lists it has. `counts_room`: a list's number
    is what still goes into it."""

    chunk: int
    bins: int
    counts_room: bool


@dataclass(frozen=True)
class Layout:
    """What differs. `ends` is how struct malloc_par may end, unless tunables change it: the lists of a cache, the bytes
    of the largest chunk in it, chunks in a list."""

    mangled: bool
    arenas: tuple[Arena, ...]
    cache: Cache
    ends: tuple[tuple[int, ...], ...]


WITH_FASTBINS = Arena(16, 96, 112, 2160, 2176, 2184, 2200, 2208)
WITHOUT = Arena(None, 8, 24, 2072, 2088, 2096, 2112, 2112)
SMALL_CACHE = Cache(0x290, 64, counts_room=False)
LARGE_CACHE = Cache(0x300, 76, counts_room=True)
ENDS = ((64, 1032, 7, 0),)
# MAX_TCACHE_SMALL_SIZE and one more, in chunks or in what these hold; seven chunks in a list became sixteen.
LATER_ENDS = tuple((64, size, count) for size in (1041, 1040, 1033, 1032) for count in (16, 7))


def layout_of(version: str) -> Layout | None:
    """The layout of a version; None for an unknown version."""
    found = VERSION.match(version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    if not OLDEST <= numbers <= NEWEST:
        return None
    if numbers >= LARGE_CACHES:
        return Layout(True, (WITHOUT, WITH_FASTBINS), LARGE_CACHE, LATER_ENDS)
    return Layout(numbers >= (2, 32), (WITH_FASTBINS,), SMALL_CACHE, ENDS)
