# SPDX-License-Identifier: MIT
"""Reads a process's memory map, area by area and in total. smaps walks page tables under the process's memory lock:
read it once, not in a loop."""

import re
from collections.abc import Iterator

from hew.model.process import Area, HeapRegion, Memory
from hew.sources.processes import PROC, read_text, sizes_in

HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ (\d+) *(.*)")
FIELDS = {
    "Rss": "resident",
    "Anonymous": "anonymous",
    "AnonHugePages": "huge",
    "LazyFree": "lazily_freed",
    "Swap": "swapped",
}
REGION = 64 << 20  # glibc's HEAP_MAX_SIZE where pointers have 64 bits
PAGE = 4096


def read_areas(pid: int) -> tuple[list[Area], bool]:
    """The map in order of addresses, and whether it has the figures of smaps. Empty when it may not be read."""
    text = read_text(f"{PROC}/{pid}/smaps")
    return (parse_areas(text), True) if text else (parse_areas(read_text(f"{PROC}/{pid}/maps")), False)


def parse_areas(text: str) -> list[Area]:
    """The rows of maps or smaps."""
    found: list[Area] = []
    figures: dict[str, int] = {}
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            _settle(found, figures)
            found.append(Area(int(head[1], 16), int(head[2], 16), head[3], head[5], inode=int(head[4])))
            continue
        name, _, value = line.partition(":")
        if name in FIELDS and value.split():
            figures[FIELDS[name]] = int(value.split()[0]) << 10
    _settle(found, figures)
    return found


def _settle(found: list[Area], figures: dict[str, int]) -> None:
    """Give the figures gathered to the area that they followed."""
    if found and figures:
        found[-1] = Area(**(vars(found[-1]) | figures))
    figures.clear()


def read_memory(pid: int, areas: list[Area], with_figures: bool) -> Memory:
    """The totals of a process."""
    kept = sizes_in(f"{PROC}/{pid}/status")

    def total(name: str) -> int | None:
        return sum(getattr(area, name) for area in areas) if with_figures else None

    return Memory(
        virtual=kept.get("VmSize", 0),
        resident=kept.get("VmRSS", 0),
        peak=kept.get("VmHWM", 0),
        anonymous=kept.get("RssAnon", 0),
        locked=kept.get("VmLck", 0),
        huge=total("huge"),
        lazily_freed=total("lazily_freed"),
        swapped=total("swapped"),
    )


def heap_regions(pid: int, areas: list[Area]) -> list[HeapRegion]:
    """glibc's regions of 64 MiB: aligned, written at their start, the rest reserved.

    Go and others align to 64 MiB as well, so the head of each is read where that is allowed: a region of glibc begins
    with the arena's address, the region before, and how much of it is used and usable.
    """
    found = []
    for start, used, resident in _shaped(areas):
        head = read_words(pid, start, 4)
        if head is None:
            found.append(HeapRegion(start, resident, None))
        elif _is_head(head, used, areas):
            found.append(HeapRegion(start, resident, head[0]))
    return found


def _shaped(areas: list[Area]) -> Iterator[tuple[int, int, int]]:
    """Start, writable bytes and resident bytes of what has a region's shape. Full neighbours are one area."""
    for place, area in enumerate(areas):
        if not area.nameless or not area.rights.startswith("rw-p"):
            continue
        start = -(-area.start // REGION) * REGION
        while start < area.end:
            used = min(area.end - start, REGION)
            rest = areas[place + 1] if place + 1 < len(areas) else None
            reserved = rest is not None and rest.start == area.end and rest.rights == "---p" and rest.nameless
            whole = used == REGION or (rest is not None and reserved and rest.end >= start + REGION)
            if whole:
                yield start, used, area.resident * used // area.size
            start += REGION


def _is_head(head: tuple[int, ...], used: int, areas: list[Area]) -> bool:
    """Whether four words can be the head of one of glibc's regions."""
    arena, before, size, writable = head
    return (
        0 < size <= writable <= REGION
        and size % PAGE == 0
        and writable % PAGE == 0
        and writable <= used
        and before % REGION == 0
        and any(area.start <= arena < area.end for area in areas)
    )


def read_words(pid: int, address: int, count: int) -> tuple[int, ...] | None:
    """Words of eight bytes of a process's memory, or None when we may not look."""
    try:
        with open(f"{PROC}/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - not a path of a file
            memory.seek(address)
            data = memory.read(8 * count)
    except (OSError, ValueError, OverflowError):
        return None
    if len(data) < 8 * count:
        return None
    return tuple(int.from_bytes(data[at : at + 8], "little") for at in range(0, 8 * count, 8))
