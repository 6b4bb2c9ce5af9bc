# SPDX-License-Identifier: MIT
"""glibc's whole heap in another process, or why it cannot be read."""

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hew.model.errors import HewError
from hew.model.glibc_heap import FreeMemory, GlibcHeap, HeapArena
from hew.model.known_allocators import GLIBC
from hew.model.process import Area, Code, ProcessFacts
from hew.sources.executable import read_elf
from hew.sources.extras import need
from hew.sources.glibc import layout
from hew.sources.glibc.arenas import find_arenas, mapped_bytes, own_data
from hew.sources.glibc.free_memory import Walk
from hew.sources.glibc.memory import ChangedError, ProcessMemory
from hew.sources.process_memory import read_areas
from hew.sources.processes import PROC

MAPS = 4  # looks at the map of a heap that grows
TRIES = 6  # looks at one arena
PATIENCE = 4.0  # seconds for the small chunks of all arenas
ALIKE = 0.05  # of the arena: so much may two looks at one that changes differ
X86_64, AARCH64 = 62, 183


def read_heap(process: ProcessFacts) -> GlibcHeap:
    """The heap now. HewError says why not."""
    provider = process.provider
    if provider is None or provider.code.kind != GLIBC:
        raise HewError("its malloc is not glibc's")
    need("numpy")
    at = _layout(process.pid, provider.code)
    reason: ChangedError | None = None
    try:
        for _ in range(MAPS):
            areas, _ = read_areas(process.pid)
            try:
                with ProcessMemory(process.pid, areas) as memory:
                    return _read(memory, areas, provider.code, at)
            except ChangedError as error:
                reason = error
        raise HewError(f"it could not be read in one piece ({reason})")
    except PermissionError as error:
        raise HewError("its memory may not be read: run this as its user, or as root") from error
    except OSError as error:
        raise HewError(f"its memory cannot be read: {error.strerror}") from error


def with_heap(process: ProcessFacts) -> ProcessFacts:
    """The facts with glibc's heap, or with the reason why it is not seen."""
    if process.provider is None or process.provider.code.kind != GLIBC:
        return process
    try:
        return replace(process, heap=read_heap(process))
    except HewError as error:
        return replace(process, heap_unread=str(error))


def _layout(pid: int, code: Code) -> layout.Layout:
    at = layout.layout_of(code.version)
    if at is None:
        known = "2.30 to 2.41"
        raise HewError(f"glibc {code.version or 'of unknown version'} is not one of {known}, whose heap is known")
    elf = read_elf(Path(f"{PROC}/{pid}/exe"))
    if elf is None or elf.bits != 64 or elf.machine not in {X86_64, AARCH64}:
        raise HewError("it is a program of another kind than x86-64 or aarch64")
    return at


def _read(memory: ProcessMemory, areas: Sequence[Area], code: Code, at: layout.Layout) -> GlibcHeap:
    data = list(own_data(areas, code))
    addresses = find_arenas(memory, data)
    until = time.monotonic() + PATIENCE
    arenas, moving = [], False
    for address in addresses:
        main = address == addresses[0]
        unused, moved = _steady(memory, Walk(memory, address, at.mangled, until), address, main)
        threads, system = memory.words(address + layout.THREADS, 2)
        arenas.append(HeapArena(address, main, system, threads, unused))
        moving = moving or moved
    caches = [_cache(memory, start) for start in _first_chunks(areas, addresses)]
    found = [one for one in caches if one is not None]
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    return GlibcHeap(code.version, tuple(arenas), mapped_bytes(memory, data), sum(found), len(found), moving, now)


def _steady(memory: ProcessMemory, walk: Walk, address: int, main: bool) -> tuple[FreeMemory, bool]:
    """What is free, and whether the process allocated meanwhile: then two looks in a row that are alike count."""
    last: FreeMemory | None = None
    reason = ChangedError("it changes too fast")
    for _ in range(TRIES):
        memory.forget()
        try:
            before = memory.read(address, layout.ARENA_BYTES)
            found = walk.unused(main)
            after = memory.read(address, layout.ARENA_BYTES)
        except ChangedError as error:
            reason = error
            continue
        system = int.from_bytes(after[layout.SYSTEM : layout.SYSTEM + 8], "little")
        if found.free > system:
            reason = ChangedError("more is free than there is")
            continue
        if before[8:] == after[8:]:  # the lock before it does not count
            return found, False
        if last is not None and abs(found.free - last.free) <= ALIKE * system:
            return found, True
        last = found
    raise reason


def _first_chunks(areas: Sequence[Area], addresses: Sequence[int]) -> list[int]:
    """Where the thread that made an arena has its cache: in the arena's first chunk."""
    heap = next((area.start for area in areas if area.path == "[heap]"), None)
    others = [address + layout.FIRST_CHUNK for address in addresses[1:]]
    return others if heap is None else [heap, *others]


def _cache(memory: ProcessMemory, chunk: int) -> int | None:
    """Bytes in a thread's cache; None when there is none."""
    try:
        if memory.words(chunk + 8, 1)[0] & ~layout.SIZE_BITS != layout.TCACHE_CHUNK:
            return None
        counts = struct.unpack(f"<{layout.TCACHE_BINS}H", memory.read(chunk + 16, 2 * layout.TCACHE_BINS))
        heads = memory.words(chunk + 16 + 2 * layout.TCACHE_BINS, layout.TCACHE_BINS)
    except ChangedError:
        return None
    pairs = list(zip(counts, heads, strict=True))
    if any(bool(count) != bool(head) or (head and not memory.holds(head, 16)) for count, head in pairs):
        return None
    cached: int = sum(count * (layout.LEAST_CHUNK + 16 * number) for number, count in enumerate(counts))
    return cached
