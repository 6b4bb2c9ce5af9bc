# SPDX-License-Identifier: MIT
"""Counts, before a swap, which share of a process's requests hew would serve.

Each function that allocates, of the allocator that serves malloc and of copies under other names, gets a jump to code
that adds one to a word and goes on. The jumps are taken out after the time.

Promises  each write is sound by itself, as those of a swap: a process that keeps the jumps, since this was killed,
          goes on as before, and can be swapped.
"""

import os
import struct
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.swap import REALLOC, REQUESTS, Counted
from hew.sources.swap.checks import copies_in, named
from hew.sources.swap.instructions import ADD_BYTES, ADD_ONE, JUMP, Unknown, jump, moved
from hew.sources.swap.places import PAGE, Site, address_of, overlap, places_in, sites_named
from hew.sources.swap.plans import (
    NO_REPLACE,
    NONE,
    PRIVATE_ANONYMOUS,
    READ_EXECUTE,
    SLOT,
    TIMEOUT,
    State,
    calling,
    held_for,
    opened,
    state_of,
    switching,
)

CODE_BYTES, BYTES = 2 * PAGE, 3 * PAGE  # then the words
READ_WRITE = 3
NAMES = (*REQUESTS, REALLOC, "mallocx", "rallocx")


@dataclass(frozen=True)
class Counter:
    """A function, the code that counts it, and the word."""

    site: Site
    code: int
    word: int

    @property
    def writes(self) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
        """The code, and the jump to it."""
        distance = struct.pack("<i", self.word - self.code - ADD_BYTES)  # not locked: two threads may count as one
        text = ADD_ONE + distance + moved(self.site.code, self.site.place, self.code + ADD_BYTES)
        return (self.code, text), (self.site.place, jump(self.site.place, self.code))


def count(pid: int, seconds: float, timeout: float = TIMEOUT) -> Counted:
    """How many requests went where in that time."""
    with opened(pid) as memory:
        state = state_of(pid, memory, timeout)
        if state.on_hew:
            raise HewError(f"process {pid} is on hew; hew stats {pid} counts its requests")
        groups = [(state.title, _able(one for one in state.sites if one.name in NAMES))]
        for code in copies_in(state.facts):
            file = next((one for one in state.places.files if one.shown == code.path), None)
            sites = sites_named(file, code.prefix, NAMES) if file is not None and code.prefix else ()
            groups.append((named(code), _able(sites)))
        placed = [(state.places.hole(sites[0].place), sites) for _, sites in groups if sites]
        counters = [one for base, sites in placed for one in _counters(base, sites)]
        _map(state, [base for base, _ in placed])
        _count_for(state, counters, [base for base, _ in placed], seconds)
        found = {one.site.place: struct.unpack("<Q", os.pread(memory, 8, one.word))[0] for one in counters}
        _unmap(state, [base for base, _ in placed])
        sums = ((name, sum(found[one.place] for one in sites) if sites else None) for name, sites in groups)
        return Counted(pid, seconds, tuple(sums))


def _able(sites: Iterable[Site]) -> list[Site]:
    """Those whose first instructions can be moved."""
    found = []
    for one in sites:
        with suppress(Unknown):
            moved(one.code, one.place, one.place)
            found.append(one)
    return found


def _counters(base: int, sites: Sequence[Site]) -> list[Counter]:
    return [Counter(one, base + at * SLOT, base + CODE_BYTES + at * 8) for at, one in enumerate(sites)]


def _map(state: State, bases: Sequence[int]) -> None:
    """Pages near each allocator: code, then words."""
    mmap, flags = address_of(state.places.libc, "mmap"), PRIVATE_ANONYMOUS | NO_REPLACE
    calls = [[mmap, base, CODE_BYTES, READ_EXECUTE, flags, NONE, 0] for base in bases]
    calls += [[mmap, base + CODE_BYTES, PAGE, READ_WRITE, flags, NONE, 0] for base in bases]
    held_for(state.facts.pid, calling(state, b"", calls))
    starts = {area.start: area.rights for area in places_in(state.facts.pid).areas}
    if any(starts.get(base) != "r-xp" or starts.get(base + CODE_BYTES) != "rw-p" for base in bases):
        raise HewError(f"process {state.facts.pid} was given no executable memory; its malloc is as it was")


def _count_for(state: State, counters: Sequence[Counter], bases: Sequence[int], seconds: float) -> None:
    """The jumps are there for that time. Afterwards no thread is in the code."""
    pid = state.facts.pid
    places = list(overlap(one.site for one in counters))
    held_for(pid, switching(state, [write for one in counters for write in one.writes], places))
    try:
        time.sleep(seconds)
    finally:
        back = [(one.site.place, one.site.code[:JUMP]) for one in counters]
        held_for(pid, switching(state, back, [*places, *((base - 1, base + CODE_BYTES) for base in bases)]))


def _unmap(state: State, bases: Sequence[int]) -> None:
    munmap = address_of(state.places.libc, "munmap")
    held_for(state.facts.pid, calling(state, b"", [[munmap, base, BYTES] for base in bases]))
