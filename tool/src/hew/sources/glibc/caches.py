# SPDX-License-Identifier: MIT
"""Measures the threads' caches (tcache), as far as they are found.

Up to 2.41 an arena's first chunk is the cache of the thread that made the arena. From 2.42 on a cache is made at a
thread's first free and may be any chunk of an arena, so all chunks are searched from the first on. A cache is known by
its size and by its counters: the free capacity of each list, which is equal for all empty lists.
"""

import struct
from collections.abc import Iterator, Sequence

from hew.model.process import Area
from hew.sources.glibc import layout
from hew.sources.glibc.memory import ChangedError, ProcessMemory

MOST_CHUNKS = 1 << 16  # of an arena, that are looked at
MOST_IN_LIST = 1 << 16


def cached_bytes(memory: ProcessMemory, at: layout.Layout, areas: Sequence[Area], firsts: Sequence[int]) -> list[int]:
    """Bytes in each cache that was found. `firsts` are the first chunks of the arenas."""
    if not at.cache.counts_room:
        found = [_counted(memory, at.cache, chunk) for chunk in firsts]
        return [one for one in found if one is not None]
    ends = {area.start: area.end for area in areas}
    caches = (chunk for first in firsts for chunk in _chunks(memory, first, _end(ends, first)))
    walked = [_walked(memory, at.cache, chunk) for chunk, size in caches if size == at.cache.chunk]
    return [one for one in walked if one is not None]


def _end(ends: dict[int, int], first: int) -> int:
    start = max((start for start in ends if start <= first), default=first)
    return ends.get(start, first)


def _chunks(memory: ProcessMemory, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Address and size of the chunks, from the first on, as long as they hold together."""
    chunk = first
    for _ in range(MOST_CHUNKS):
        try:
            size = memory.pair(chunk)[1] & ~layout.SIZE_BITS
        except (ChangedError, struct.error):
            return
        if size < layout.LEAST_CHUNK or size % 16 or chunk + size > end:
            return
        yield chunk, size
        chunk += size
        if chunk + 16 > end:
            return


def _counted(memory: ProcessMemory, cache: layout.Cache, chunk: int) -> int | None:
    """What a cache up to 2.41 holds: a list's chunks are all of one size. None when there is no cache."""
    try:
        if memory.words(chunk + 8, 1)[0] & ~layout.SIZE_BITS != cache.chunk:
            return None
        counts = struct.unpack(f"<{cache.bins}H", memory.read(chunk + 16, 2 * cache.bins))
        heads = memory.words(chunk + 16 + 2 * cache.bins, cache.bins)
    except ChangedError:
        return None
    pairs = list(zip(counts, heads, strict=True))
    if any(bool(count) != bool(head) or (head and not memory.holds(head, 16)) for count, head in pairs):
        return None
    found: int = sum(count * (layout.LEAST_CHUNK + 16 * number) for number, count in enumerate(counts))
    return found


def _walked(memory: ProcessMemory, cache: layout.Cache, chunk: int) -> int | None:
    """What a later one holds: its lists of large chunks have several sizes. None when it is no cache."""
    try:
        room = struct.unpack(f"<{cache.bins}H", memory.read(chunk + 16, 2 * cache.bins))
        heads = memory.words(chunk + 16 + 2 * cache.bins, cache.bins)
        most = max(room)
        if not most or any((left == most) != (head == 0) for left, head in zip(room, heads, strict=True)):
            return None
        return sum(
            size for left, head in zip(room, heads, strict=True) if head for size in _listed(memory, head, most - left)
        )
    except ChangedError:
        return None


def _listed(memory: ProcessMemory, head: int, count: int) -> Iterator[int]:
    """The sizes of so many chunks, by their mangled links. ChangedError when there are not as many."""
    entry = head
    for _ in range(count):
        if entry % 16 or not memory.holds(entry - 16, layout.LEAST_CHUNK):
            raise ChangedError("a list of a cache leads outside the heap")
        size, link = memory.words(entry - 8, 2)
        yield size & ~layout.SIZE_BITS
        entry = link ^ (entry >> 12)
    if entry:
        raise ChangedError("a list of a cache is longer than its number")
