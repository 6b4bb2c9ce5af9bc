# SPDX-License-Identifier: MIT
"""Reads running processes for `hew top`: the list of them, and one at a time with its statistics."""

import os
import pwd
import threading
import time
from collections import Counter
from collections.abc import Callable

from hew.model.errors import HewError
from hew.model.known_allocators import GLIBC
from hew.model.lazy_dataclass import dataclass
from hew.model.live import Moment, Outside, ProcessRow
from hew.model.process import Provider
from hew.model.statistics import Snapshot
from hew.sources.control import connect, find_socket
from hew.sources.process_facts import read_provider
from hew.sources.process_memory import heap_regions, read_areas
from hew.sources.processes import (
    PAGE,
    PROC,
    TICK,
    command_line,
    name_of,
    named_stat,
    sizes_in,
    start_time,
    stat_fields,
    threads,
)
from hew.sources.share import Share
from hew.sources.statistics.place import answered

NOT_TOLD = "not known"  # processes of others
NOT_YET = "…"
AGAIN = 30.0  # seconds until a process with an unknown allocator is examined again
SOCKETS_EVERY = 10.0  # seconds until a process is asked again whether it has a socket: its threads are gone through
LOOKS_FIRST = 3  # a process born later is seen so often before its allocator is looked up
STAT_STATE, STAT_FLAGS, STAT_THREADS, STAT_START, STAT_RESIDENT = 0, 6, 17, 19, 21
KERNEL_THREAD = 0x00200000  # PF_KTHREAD of the kernel's include/linux/sched.h


@dataclass
class _Known:
    """What does not change while a process lives, or seldom."""

    user: str
    readable: bool
    allocator: str | None = None
    tried: float = -AGAIN
    asks: bool = False
    asked: float = -SOCKETS_EVERY
    looks: int = 0


class Processes:
    """The processes of this machine. What it knows of each it keeps, so that a look costs one short read a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()  # of all below, but for what is known already: `hew serve` has several threads
        self._known: dict[tuple[int, int], _Known] = {}
        self._share = Share(clock)  # for looking up allocators: each program and library is read
        self._looks_first = 0

    def rows(self) -> tuple[ProcessRow, ...]:
        """The processes that we may look at, the largest first."""
        with self._lock:
            return self._rows()

    def _rows(self) -> tuple[ProcessRow, ...]:
        numbers = [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208
        seen: dict[tuple[int, int], tuple[str, list[str]]] = {}
        for pid in numbers:
            name, fields = named_stat(pid)
            if _has_memory(fields):
                seen[pid, int(fields[STAT_START])] = name, fields
        self._known = {key: known for key, known in self._known.items() if key in seen}
        ours = sorted(
            (key for key in seen if self._of(key).readable), key=lambda key: -int(seen[key][1][STAT_RESIDENT])
        )
        rows = tuple(self._row(key, *seen[key]) for key in ours)
        if not self._looks_first:
            self._share.end_of_first()
        self._looks_first = LOOKS_FIRST
        return rows

    def allocator(self, pid: int) -> str:
        """The allocator of a process and its version, as far as they can be told."""
        born = start_time(pid)
        if born is None:
            return NOT_TOLD
        known = self._known.get((pid, born))
        if known is not None and known.allocator is not None:  # known: do not wait for a scan of the others
            return known.allocator
        with self._lock:
            return self._allocator((pid, born), at_once=True)

    def _of(self, key: tuple[int, int]) -> _Known:
        if key not in self._known:
            self._known[key] = _Known(_user(key[0]), os.access(f"{PROC}/{key[0]}/maps", os.R_OK))
        return self._known[key]

    def _allocator(self, key: tuple[int, int], *, at_once: bool) -> str:
        known, now = self._of(key), self._clock()
        if known.allocator is None and now - known.tried >= AGAIN:
            known.looks += 1
            # One that was just born is often a compiler or a shell's command, gone before its program has been read.
            if not at_once and (known.looks < self._looks_first or not self._share.is_there()):
                return NOT_YET
            try:
                with self._share.piece():
                    known.allocator = _named(read_provider(key[0]))
            except (HewError, OSError):
                known.tried = now
        return known.allocator or NOT_TOLD

    def _asks(self, key: tuple[int, int]) -> bool:
        known, now = self._of(key), self._clock()
        if now - known.asked >= SOCKETS_EVERY:
            known.asks, known.asked = find_socket(key[0]) is not None, now
        return known.asks

    def _row(self, key: tuple[int, int], name: str, fields: list[str]) -> ProcessRow:
        return ProcessRow(
            pid=key[0],
            name=name,
            user=self._of(key).user,
            allocator=self._allocator(key, at_once=False),
            resident=int(fields[STAT_RESIDENT]) * PAGE,
            threads=int(fields[STAT_THREADS]),
            asks=self._asks(key),
        )

    def moment(self, pid: int, ask: Callable[[int], tuple[Snapshot | None, str]] | None = None) -> Moment:
        """One process now. `ask` gets its statistics, or why there are none; without it its control socket is asked.
        Raises HewError when it is gone or not ours to look at."""
        fields = stat_fields(pid)
        if not fields:
            raise HewError(f"there is no process {pid} any more")
        allocator = self.allocator(pid)
        snapshot, why = (ask or _ask)(pid)
        return Moment(
            pid=pid,
            name=name_of(pid),
            words=" ".join(command_line(pid).split("\0")).strip(),
            allocator=allocator,
            threads=_thread_names(pid),
            seconds=time.monotonic(),
            faults=int(fields[7]) + int(fields[9]),
            cpu=(int(fields[11]) + int(fields[12])) / TICK,
            outside=_outside(pid, allocator),
            snapshot=snapshot,
            why=why,
        )


def _named(provider: Provider | None) -> str:
    return provider.code.title if provider else "own or none"


def _has_memory(fields: list[str]) -> bool:
    """Whether these are the fields of a process with an address space. Its resident pages do not tell: the kernel's
    counters say 0 while it starts a program, and of one that is swapped out."""
    return (
        len(fields) > STAT_RESIDENT and fields[STAT_STATE] not in "ZX" and not int(fields[STAT_FLAGS]) & KERNEL_THREAD
    )


def _user(pid: int) -> str:
    try:
        return pwd.getpwuid(os.stat(f"{PROC}/{pid}").st_uid).pw_name  # noqa: PTH116
    except (OSError, KeyError):
        return "?"


def _thread_names(pid: int) -> dict[str, int]:
    """How many threads of each name there are."""
    names = (name_of(pid, thread) for thread in threads(pid))
    return dict(Counter(name for name in names if name).most_common())


def _ask(pid: int) -> tuple[Snapshot | None, str]:
    """The statistics, or why there are none."""
    try:
        with connect(pid) as control:
            reports = answered(control).snapshots
    except HewError as error:
        return None, str(error)
    return (reports[0], "") if reports else (None, "its statistics cannot be read")


def _outside(pid: int, allocator: str) -> Outside:
    """What the kernel says: smaps_rollup and status; of glibc's heaps, the map."""
    status = sizes_in(f"{PROC}/{pid}/status")
    rollup = sizes_in(f"{PROC}/{pid}/smaps_rollup")
    heap = regions = None
    count = 0
    if allocator.startswith(GLIBC):
        areas, with_figures = read_areas(pid)
        if with_figures:
            heap = sum(area.resident for area in areas if area.path == "[heap]")
            found = heap_regions(pid, areas)
            regions, count = sum(one.resident for one in found), len(found)
    return Outside(
        resident=status.get("VmRSS", 0),
        anonymous=status.get("RssAnon", 0),
        files=status.get("RssFile", 0),
        shared=status.get("RssShmem", 0),
        lazily_freed=rollup.get("LazyFree"),
        huge=rollup.get("AnonHugePages"),
        swapped=rollup.get("Swap"),
        heap=heap,
        regions=regions,
        region_count=count,
    )
