# SPDX-License-Identifier: MIT
"""Reads running processes for `hew top`: the list of them, and one at a time with its statistics."""

import os
import pwd
import time
from collections import Counter

from hew.model.errors import HewError
from hew.model.known_allocators import GLIBC
from hew.model.live import Moment, Outside, ProcessRow
from hew.model.process import ProcessFacts
from hew.model.statistics import Snapshot
from hew.sources.control import connect, find_socket
from hew.sources.process_facts import read_process
from hew.sources.process_memory import heap_regions, read_areas
from hew.sources.processes import (
    PROC,
    TICK,
    command_line,
    name_of,
    resident,
    sizes_in,
    start_time,
    stat_fields,
    threads,
)
from hew.sources.statistics.place import answered

NOT_TOLD = "not told"  # processes of others
NOT_YET = "…"
LARGEST = 60  # processes that are shown
BUDGET = 0.5  # seconds for looking up allocators at a time: each program and library is read


class Processes:
    """The processes of this machine. Remembers each one's allocator: it does not change."""

    def __init__(self) -> None:
        self._allocators: dict[tuple[int, int], str] = {}

    def rows(self) -> tuple[ProcessRow, ...]:
        """The processes that we may look at, the largest first."""
        numbers = [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208
        sized = sorted(((resident(pid), pid) for pid in numbers), reverse=True)
        ours = [(size, pid) for size, pid in sized if size and os.access(f"{PROC}/{pid}/maps", os.R_OK)]
        until = time.monotonic() + BUDGET
        return tuple(row for size, pid in ours[:LARGEST] if (row := self._row(pid, size, until)) is not None)

    def allocator(self, pid: int, until: float = float("inf")) -> str:
        """The allocator of a process and its version, as far as they can be told; after `until` only known ones."""
        born = start_time(pid)
        if born is None:
            return NOT_TOLD
        key = (pid, born)
        if key not in self._allocators:
            if time.monotonic() > until:
                return NOT_YET
            try:
                self._allocators[key] = _named(read_process(pid))
            except (HewError, OSError):
                return NOT_TOLD
        return self._allocators[key]

    def _row(self, pid: int, size: int, until: float) -> ProcessRow | None:
        fields = stat_fields(pid)
        if not fields:
            return None
        asks = find_socket(pid) is not None
        return ProcessRow(pid, name_of(pid), _user(pid), self.allocator(pid, until), size, int(fields[17]), asks)

    def moment(self, pid: int) -> Moment:
        """One process now. Raises HewError when it is gone or not ours to look at."""
        fields = stat_fields(pid)
        if not fields:
            raise HewError(f"there is no process {pid} any more")
        allocator = self.allocator(pid)
        snapshot, why = _ask(pid)
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


def _named(facts: ProcessFacts) -> str:
    return facts.provider.code.title if facts.provider else "own or none"


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
