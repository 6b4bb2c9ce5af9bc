# SPDX-License-Identifier: MIT
"""Changes the allocator of a running process, and changes it back.

Order     checks (checks.py) -> one thread loads libhew.so -> all threads stop and bytes are written (holder.py).
Not here  why it is sound: docs/swap.md and docs/decisions/0094.
"""

import os
import struct
import time
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.known_allocators import GLIBC, JEMALLOC, MIMALLOC, TCMALLOC
from hew.model.swap import REALLOC, REQUESTS, Drained, Swapped
from hew.sources.attach.target import Mapped
from hew.sources.processes import PROC, resident
from hew.sources.swap.checks import copies_in, named
from hew.sources.swap.instructions import JUMP, Unknown, jump, jump_far, moved, reaches
from hew.sources.swap.places import address_of, functions_of, library_in, places_in
from hew.sources.swap.plans import (
    BACK_REALLOC,
    BYTES,
    FIRST_FAR,
    NO_REPLACE,
    NONE,
    OLD_FREE,
    OLD_REALLOC,
    OLD_USABLE,
    PRIVATE_ANONYMOUS,
    READ_EXECUTE,
    SLOT,
    SLOTS_BYTES,
    TIMEOUT,
    State,
    calling,
    held_for,
    opened,
    state_of,
    switching,
    words_of,
)

MOST_SETTINGS = BYTES - SLOTS_BYTES - 1
RTLD_NOW = 2
ALWAYS = "control:auto"
QUIET = 0.5  # seconds without a change of resident memory, after which a trim is over
LONGEST_TRIM = 30.0


def swap(pid: int, library: Path, settings: str = "", timeout: float = TIMEOUT) -> Swapped:
    """From now on requests go to hew."""
    with opened(pid) as memory:
        state = state_of(pid, memory, timeout)
        if state.whole:
            raise HewError(f"process {pid} has been swapped already; hew swap --back {pid} undoes it")
        wanted = ",".join(filter(None, (ALWAYS, settings))).encode()
        if len(wanted) > MOST_SETTINGS:
            raise HewError(f"the settings are longer than {MOST_SETTINGS} bytes")
        if state.words[0] and settings:
            raise HewError(
                f"hew has read its settings in process {pid} already; hew ctl --conf changes what can change"
            )
        _try_moves(state)
        loaded = state.words[0] == 0
        place, load = _load(state, library) if loaded else (state.words[5], 0.0)
        ours = library_in(pid)
        if ours is None:
            raise HewError(f"the loader of process {pid} refused {library}")
        if loaded:
            load = max(load, _boot(state, ours, place, wanted))
        writes = _forward(state, ours, place)
        answer = held_for(pid, switching(state, writes))
        kept = tuple(map(named, copies_in(state.facts)))
        return Swapped(pid, state.title, len(state.sites), answer["stop"], answer["tries"], loaded, load, kept)


def swap_back(pid: int, timeout: float = TIMEOUT) -> Swapped:
    """New requests go to the old allocator again; frees still find both."""
    with opened(pid) as memory:
        state = state_of(pid, memory, timeout)
        if not state.on_hew:
            raise HewError(f"process {pid} has not been swapped, or is back already")
        place = state.words[5]
        writes = []
        for one in state.sites:
            if one.name == REALLOC:
                writes.append((one.place, jump(one.place, place + BACK_REALLOC * SLOT)))
            elif one.name in REQUESTS:
                writes.append((one.place, one.code[:JUMP]))
        answer = held_for(pid, switching(state, writes))
        return Swapped(pid, state.title, len(writes), answer["stop"], answer["tries"], loaded=False)


def has_both(pid: int) -> bool:
    """Whether a process has been swapped before, so that it frees objects of two allocators."""
    with opened(pid) as memory:
        ours = library_in(pid)
        return words_of(ours, memory)[0] != 0


def drain(pid: int, timeout: float = TIMEOUT) -> Drained:
    """What is free in the old heap goes back to the system: the old allocator's own function does it."""
    with opened(pid) as memory:
        state = state_of(pid, memory, timeout)
        if not state.words[0]:
            raise HewError(f"process {pid} has not been swapped")
        before = resident(pid)
        text, functions = _trimming(state)
        held_for(pid, calling(state, text, functions))
        after = _settled(pid)
        ours = library_in(pid)
        words = words_of(ours, memory)
        return Drained(pid, before, after, words[6], words[7])


def _settled(pid: int) -> int:
    until = time.monotonic() + LONGEST_TRIM
    now, since = resident(pid), time.monotonic()
    while time.monotonic() < until and time.monotonic() - since < QUIET:
        time.sleep(QUIET / 10)
        seen = resident(pid)
        if abs(seen - now) > 1 << 20:
            now, since = seen, time.monotonic()
    return resident(pid)


def _trimming(state: State) -> tuple[bytes, list[list[Any]]]:
    """What returns the old allocator's free memory. glibc's takes long, so a thread of its own does it."""
    libc = state.places.libc
    if state.kind == GLIBC:
        create, detach = address_of(libc, "pthread_create"), address_of(libc, "pthread_detach")
        return b"", [[create, "scratch", 0, address_of(state.old, "malloc_trim"), 0], [detach, "word"]]
    if state.kind == JEMALLOC:
        return b"arena.4096.purge", [[address_of(state.old, "mallctl"), "scratch", 0, 0, 0, 0]]
    if state.kind == MIMALLOC:
        return b"", [[address_of(state.old, "mi_collect"), 1]]
    if state.kind == TCMALLOC:
        return b"", [[address_of(state.old, "MallocExtension_ReleaseFreeMemory")]]
    raise HewError(f"{state.title} has no function that returns its free memory")


def _try_moves(state: State) -> None:
    """Refuse before anything is touched."""
    for one in state.sites:
        if one.name in {"free", REALLOC, "malloc_usable_size"}:
            try:
                moved(one.code, one.place, one.place)
            except Unknown as unknown:
                raise HewError(f"{one.name} of {state.title} cannot be moved: {unknown}") from unknown


def _load(state: State, library: Path) -> tuple[int, float]:
    """Have the process map a page near the old allocator and load the library; where the page is, and for how long a
    thread was held."""
    pid = state.facts.pid
    there = Path(f"{PROC}/{pid}/root{library}")
    try:
        same = there.stat().st_ino == library.stat().st_ino
    except OSError:
        same = False
    if not same:
        raise HewError(
            f"process {pid} does not see {library}: it has another root (a container). Put the same file there"
        )
    near = next(one for one in state.sites if one.name == "malloc").place
    hole = state.places.hole(near)
    libc = state.places.libc
    map_it = [address_of(libc, "mmap"), hole, BYTES, READ_EXECUTE, PRIVATE_ANONYMOUS | NO_REPLACE, NONE, 0]
    load_it = [address_of(libc, "dlopen"), "scratch", RTLD_NOW]
    load: float = held_for(pid, calling(state, os.fsencode(library), [map_it, load_it]))["stop"]
    ours = library_in(pid)
    if ours is None:
        raise HewError(f"the loader of process {pid} refused {library}; the process is as it was")
    if not any(one.start <= hole < one.end and one.rights == "r-xp" for one in places_in(pid).areas):
        raise HewError(f"process {pid} was given no executable memory; its malloc is as it was")
    return hole, load


def _boot(state: State, ours: Mapped, place: int, settings: bytes) -> float:
    """Give the library its settings, and have it start: its frees read a map that it makes then. It does not serve
    anything yet. nallocx() starts it and does nothing else. For how long a thread was held."""
    by_name = {one.name: one for one in state.sites}
    table, start = address_of(ours, "hew_swapped"), address_of(ours, "nallocx")
    if table is None or start is None:
        raise HewError(f"{ours.shown} is of a version that cannot be swapped in")
    words = [place + OLD_USABLE * SLOT, by_name["malloc"].entry, place + OLD_REALLOC * SLOT]
    words += [place + SLOTS_BYTES, place]
    writes = [(place + SLOTS_BYTES, settings + b"\0"), (table + 8, struct.pack("<5Q", *words))]
    stop: float = held_for(state.facts.pid, calling(state, b"", [[start, 1, 0]], writes))["stop"]
    return stop


def _forward(state: State, ours: Mapped, place: int) -> list[tuple[int, bytes]]:
    """What to write, in this order."""
    by_name = {one.name: one for one in state.sites}
    table = address_of(ours, "hew_swapped")
    targets = functions_of(ours, [*by_name, "hew_swap_realloc"], state.memory)
    lacking = set(by_name) - set(targets)
    if table is None or lacking:
        raise HewError(f"{ours.shown} is of a version that cannot be swapped in")
    writes = []
    for slot, name in ((OLD_FREE, "free"), (OLD_USABLE, "malloc_usable_size"), (OLD_REALLOC, REALLOC)):
        one = by_name[name]
        writes.append((place + slot * SLOT, moved(one.code, one.place, place + slot * SLOT)))
    writes.append((place + BACK_REALLOC * SLOT, jump_far(targets["hew_swap_realloc"])))
    writes.append((table, struct.pack("<Q", place + OLD_FREE * SLOT)))
    jumps = []
    for number, one in enumerate(state.sites):
        target = targets[one.name]
        if not reaches(one.place, target):
            far = place + (FIRST_FAR + number) * SLOT
            writes.append((far, jump_far(target)))
            target = far
        jumps.append((one.place, jump(one.place, target)))
    return writes + jumps
