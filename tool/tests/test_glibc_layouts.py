# SPDX-License-Identifier: MIT
"""glibc's heap in memory that was made for it: layouts whose glibc need not be here."""

import math
import struct
from collections.abc import Iterable

import pytest

from hew.model.process import Area
from hew.sources.glibc import layout
from hew.sources.glibc.arenas import find_arenas, mapped_bytes
from hew.sources.glibc.caches import cached_bytes
from hew.sources.glibc.free_memory import Walk
from hew.sources.glibc.layout import WITH_FASTBINS, WITHOUT, Arena, layout_of
from hew.sources.glibc.memory import ChangedError

DATA, HEAP, SIZE = 0x7F0000000000, 0x550000000000, 1 << 16
ARENA = DATA + 0x100
PREVIOUS = layout.PREVIOUS_IN_USE


class Memory:
    """Two areas, of variables and of a heap."""

    def __init__(self) -> None:
        self.areas = {DATA: bytearray(SIZE), HEAP: bytearray(SIZE)}

    def _place(self, address: int, size: int) -> tuple[bytearray, int]:
        for start, data in self.areas.items():
            if start <= address and address + size <= start + SIZE:
                return data, address - start
        raise ChangedError(f"{address:#x}")

    def put(self, address: int, *words: int) -> None:
        data, at = self._place(address, 8 * len(words))
        struct.pack_into(f"<{len(words)}Q", data, at, *words)

    def read(self, address: int, size: int) -> bytes:
        data, at = self._place(address, size)
        return bytes(data[at : at + size])

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", self.read(address, 8 * count))

    def header(self, address: int) -> tuple[int, ...]:
        return self.words(address, 4)

    def pair(self, address: int) -> tuple[int, ...]:
        return self.words(address, 2)

    def holds(self, address: int, size: int) -> bool:
        return any(start <= address and address + size <= start + SIZE for start in self.areas)

    def resident(self, ranges: Iterable[tuple[int, int]]) -> int:
        return sum(end - start for start, end in ranges)

    def forget(self) -> None:
        pass


def made(at: Arena, cache: layout.Cache, count: int) -> Memory:
    """A heap of a cache with two small chunks and two large ones in it, one in use, one that is free, and the top."""
    memory = Memory()
    for number in range(1, layout.BIN_COUNT + 1):
        head = at.bin_header(ARENA, number)
        memory.put(head + 16, head, head)
    memory.put(ARENA + at.next, ARENA)
    memory.put(ARENA + at.threads, 1)
    memory.put(ARENA + at.system, SIZE, SIZE)
    memory.put(DATA + 0x8000, 40960, 81920, HEAP, 64, 1041, count)  # how struct malloc_par ends
    first = HEAP
    memory.put(first, 0, 0x410 | PREVIOUS)  # allocated before anything was freed
    place = first + 0x410
    memory.put(place, 0, cache.chunk | PREVIOUS)
    room = [count] * cache.bins
    heads = [0] * cache.bins
    chunk = place + cache.chunk
    for number, size in ((1, 48), (1, 48), (66, 0x1410), (66, 0x1520)):
        entry = chunk + 16
        memory.put(chunk, 0, size | PREVIOUS, heads[number] ^ (entry >> 12))
        heads[number] = entry
        room[number] -= 1
        chunk += size
    data, offset = memory._place(place + 16, 2 * cache.bins)
    struct.pack_into(f"<{cache.bins}H", data, offset, *room)
    memory.put(place + 16 + 2 * cache.bins, *heads)
    memory.put(chunk, 0, 0x500 | PREVIOUS)  # in use
    chunk += 0x500
    unsorted = at.bin_header(ARENA, layout.UNSORTED)
    memory.put(chunk, 0, 0x2000 | PREVIOUS, unsorted, unsorted)
    memory.put(unsorted + 16, chunk, chunk)
    memory.put(chunk + 0x2000, 0x2000, 0x500)  # in use, and knows that what is before it is not
    top = chunk + 0x2500
    memory.put(ARENA + at.top, top)
    memory.put(top, 0, (HEAP + SIZE - top) | PREVIOUS)
    return memory


@pytest.mark.parametrize("at", [WITHOUT, WITH_FASTBINS], ids=["without fastbins", "with"])
@pytest.mark.parametrize("version", ["2.42", "2.43-7", "2.44"])
@pytest.mark.parametrize("count", [7, 16])
def test_a_later_heap_is_read_with_and_without_fastbins(at: Arena, version: str, count: int) -> None:
    known = layout_of(version)
    assert known is not None
    memory = made(at, known.cache, count)
    found, ring = find_arenas(memory, [(DATA, DATA + SIZE)], known.arenas)  # type: ignore[arg-type]
    assert (found, ring) == (at, [ARENA])
    unused = Walk(memory, ARENA, at, known.mangled, math.inf).unused(main=True)  # type: ignore[arg-type]
    used = 0x410 + known.cache.chunk + 2 * 48 + 0x1410 + 0x1520 + 2 * 0x500
    assert (unused.free, unused.fast, unused.top) == (SIZE - used, 0, SIZE - used - 0x2000)
    assert mapped_bytes(memory, [(DATA, DATA + SIZE)], known.ends) == 40960  # type: ignore[arg-type]
    areas = [Area(HEAP, HEAP + SIZE, "rw-p", "[heap]")]
    assert cached_bytes(memory, known, areas, [HEAP]) == [2 * 48 + 0x1410 + 0x1520]  # type: ignore[arg-type]


def test_what_only_looks_like_a_cache_is_none() -> None:
    known = layout_of("2.43")
    assert known is not None
    memory = made(WITHOUT, known.cache, 16)
    place = HEAP + 0x410 + 16
    memory.put(place + 2 * known.cache.bins + 8, HEAP + SIZE)  # a list that leads outside
    areas = [Area(HEAP, HEAP + SIZE, "rw-p", "[heap]")]
    assert cached_bytes(memory, known, areas, [HEAP]) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["2.29", "2.45", "", "musl"])
def test_a_version_that_nobody_has_looked_at_has_no_layout(version: str) -> None:
    assert layout_of(version) is None
