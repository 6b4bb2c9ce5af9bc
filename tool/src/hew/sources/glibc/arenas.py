# SPDX-License-Identifier: MIT
"""Finds glibc's arenas in a process.

Libraries come without the symbol main_arena, but its contents tell it: an empty bin points to itself, 16 bytes before
its own place, and the last of the 127 bins is never used. So the last word of that kind lies at a known distance from
the arena's beginning. That it is one is then checked: its top chunk, its sizes, and that the ring of all arenas, which
leads through the heads of other heaps, comes back to it.
"""

from collections.abc import Iterator, Sequence

from hew.model.process import Area, Code
from hew.sources.glibc import layout
from hew.sources.glibc.memory import PAGE, ChangedError, ProcessMemory

MOST_ARENAS = 4096
LARGEST_DATA = 64 << 20  # bytes of variables that are searched


def own_data(areas: Sequence[Area], code: Code) -> Iterator[tuple[int, int]]:
    """Where a library's, or a program's, variables are: what is mapped writable from its file, and what follows it."""
    end = None
    for area in areas:
        ours = area.path == str(code.path) or (area.start == end and area.nameless)
        if ours and area.rights.startswith("rw"):
            yield area.start, min(area.end, area.start + LARGEST_DATA)
        end = area.end if ours else None


def find_arenas(
    memory: ProcessMemory, data: Sequence[tuple[int, int]], layouts: Sequence[layout.Arena]
) -> tuple[layout.Arena, list[int]]:
    """How arenas are laid out, and the addresses of all, the main one first. ChangedError when there is none that holds
    together."""
    for start, end in data:
        variables = memory.read(start, end - start)
        for at in layouts:
            for found in _candidates(start, variables, at):
                ring = _ring(memory, found, at)
                if ring:
                    return at, ring
    raise ChangedError("its main arena was not found")


def _candidates(start: int, data: bytes, at: layout.Arena) -> Iterator[int]:
    """Where an arena may begin whose last bin is a word pair that points to itself and ends a row of such."""
    import numpy as np  # noqa: PLC0415 - the extra `inspect`

    words = np.frombuffer(data, "<u8")
    places = np.uint64(start - 16) + np.uint64(8) * np.arange(len(words), dtype=np.uint64)
    selves = np.flatnonzero((words[:-1] == places[:-1]) & (words[1:] == places[:-1]))
    last_bin = at.bins + 16 * (layout.BIN_COUNT - 1)
    for place in selves[::-1]:
        arena = start + 8 * int(place) - last_bin
        if arena >= start and arena + at.size <= start + len(data):
            yield arena


def _ring(memory: ProcessMemory, main: int, at: layout.Arena) -> list[int]:
    """The arenas in their order from the main one on; [] when one is none."""
    found: list[int] = []
    arena = main
    while len(found) < MOST_ARENAS:
        if arena % 8 or not memory.holds(arena, at.size) or not _plausible(memory, arena, at):
            return []
        found.append(arena)
        arena = memory.words(arena + at.next, 1)[0]
        if arena == main:
            return found
    return []


def _plausible(memory: ProcessMemory, arena: int, at: layout.Arena) -> bool:
    system, largest = memory.words(arena + at.system, 2)
    top = memory.words(arena + at.top, 1)[0]
    unused = top == at.bin_header(arena, layout.UNSORTED)
    return system <= largest and system % PAGE == 0 and (unused or (top % 16 == 0 and memory.holds(top, 16)))


def mapped_bytes(memory: ProcessMemory, data: Sequence[tuple[int, int]], ends: Sequence[tuple[int, ...]]) -> int | None:
    """Bytes of chunks with a mapping of their own; None where the figures were not found (tunables move the mark)."""
    import numpy as np  # noqa: PLC0415 - the extra `inspect`

    for start, end in data:
        words = np.frombuffer(memory.read(start, end - start), "<u8")
        for place in map(int, np.flatnonzero(np.isin(words, [end[0] for end in ends]))):
            if place + layout.MAPPED_WORD < 0 or not any(tuple(words[place : place + len(end)]) == end for end in ends):
                continue
            mapped, most, base = map(int, words[place + layout.MAPPED_WORD : place])
            if mapped <= most and (base == 0 or memory.holds(base, 16)):
                return mapped
    return None
