# SPDX-License-Identifier: MIT
"""glibc's whole heap in another process, or why it cannot be read."""

import time
from collections.abc import Sequence
from contextlib import suppress
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
from hew.sources.glibc.caches import cached_bytes
from hew.sources.glibc.free_memory import Walk
from hew.sources.glibc.memory import ChangedError, ProcessMemory
from hew.sources.process_memory import read_areas
from hew.sources.processes import PROC, stat_fields

LONGEST = 3.0  # seconds for which a heap that changes is tried again
FIRST_WAIT, MOST_WAIT = 0.005, 0.2  # between two tries
TRIES = 6  # looks at one arena
PATIENCE = 4.0  # seconds for the small chunks of all arenas
ALIKE = 0.05  # of the arena: the most by which two readings of a changing arena may differ
X86_64, AARCH64 = 62, 183


def read_heap(process: ProcessFacts) -> GlibcHeap:
    """The heap now. HewError says why not."""
    provider = process.provider
    if provider is None or provider.code.kind != GLIBC:
        raise HewError("its malloc is not glibc's")
    need("numpy")
    at = _layout(process.pid, provider.code)
    try:
        return _tried(process.pid, provider.code, at)
    except PermissionError as error:
        raise HewError("its memory may not be read: run this as its user, or as root") from error
    except OSError as error:
        raise HewError(f"its memory cannot be read: {error.strerror}") from error


def _tried(pid: int, code: Code, at: layout.Layout) -> GlibcHeap:
    """The heap in a moment at which it holds together; it is looked for some seconds."""
    until, wait, tries = time.monotonic() + LONGEST, FIRST_WAIT, 0
    while True:
        areas, _ = read_areas(pid)
        if not areas or stat_fields(pid)[:1] in (["Z"], ["X"]):
            raise HewError("it has ended meanwhile")
        tries += 1
        with suppress(ChangedError), ProcessMemory(pid, areas) as memory:
            return _read(memory, areas, code, at)
        if time.monotonic() + wait > until:
            raise HewError(
                "it allocates and frees without a pause, so its free memory was never the same from the beginning of a "
                f"look to its end ({tries} looks in {LONGEST:g} s); ask again when it does less"
            )
        time.sleep(wait)
        wait = min(2 * wait, MOST_WAIT)


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
        known = ".".join(map(str, layout.OLDEST)) + " to " + ".".join(map(str, layout.NEWEST))
        raise HewError(f"glibc {code.version or 'of unknown version'} is not one of {known}, whose heap is known")
    elf = read_elf(Path(f"{PROC}/{pid}/exe"))
    if elf is None or elf.bits != 64 or elf.machine not in {X86_64, AARCH64}:
        raise HewError("it is a program of another kind than x86-64 or aarch64")
    return at


def _read(memory: ProcessMemory, areas: Sequence[Area], code: Code, at: layout.Layout) -> GlibcHeap:
    data = list(own_data(areas, code))
    arena, addresses = find_arenas(memory, data, at.arenas)
    until = time.monotonic() + PATIENCE
    arenas, moving = [], False
    for address in addresses:
        main = address == addresses[0]
        unused, moved = _steady(memory, Walk(memory, address, arena, at.mangled, until), address, arena, main)
        threads, system = memory.words(address + arena.threads, 2)
        arenas.append(HeapArena(address, main, system, threads, unused))
        moving = moving or moved
    found = cached_bytes(memory, at, areas, _first_chunks(areas, arena, addresses))
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    return GlibcHeap(
        code.version, tuple(arenas), mapped_bytes(memory, data, at.ends), sum(found), len(found), moving, now
    )


def _steady(memory: ProcessMemory, walk: Walk, address: int, at: layout.Arena, main: bool) -> tuple[FreeMemory, bool]:
    """What is free, and whether the process allocated meanwhile: then two looks in a row that are alike count."""
    last: FreeMemory | None = None
    reason = ChangedError("it changes too fast")
    for _ in range(TRIES):
        memory.forget()
        try:
            before = memory.read(address, at.size)
            found = walk.unused(main)
            after = memory.read(address, at.size)
        except ChangedError as error:
            reason = error
            continue
        system = int.from_bytes(after[at.system : at.system + 8], "little")
        if found.free > system:
            reason = ChangedError("more is free than there is")
            continue
        if before[8:] == after[8:]:  # the lock before it does not count
            return found, False
        if last is not None and abs(found.free - last.free) <= ALIKE * system:
            return found, True
        last = found
    raise reason


def _first_chunks(areas: Sequence[Area], at: layout.Arena, addresses: Sequence[int]) -> list[int]:
    """Of each arena, the main one first."""
    heap = next((area.start for area in areas if area.path == "[heap]"), None)
    others = [address + at.first_chunk for address in addresses[1:]]
    return others if heap is None else [heap, *others]
