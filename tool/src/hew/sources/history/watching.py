# SPDX-License-Identifier: MIT
"""Looks at one process, or at all whose control sockets lie in a folder, one after the other."""

import time
from collections.abc import Callable
from pathlib import Path

from hew.model.errors import HewError
from hew.model.history import HeapFigures, Record
from hew.model.known_allocators import GLIBC
from hew.model.statistics import Snapshot
from hew.sources.control import find_socket
from hew.sources.export.watch import Wanted, Watch
from hew.sources.glibc.heap import read_heap
from hew.sources.live import Processes
from hew.sources.process_facts import read_process
from hew.sources.processes import start_time
from hew.sources.statistics.place import asked


class OneProcess:
    """A process, until it ends. A later process with the same id is another one."""

    def __init__(self, pid: int, attach: float | None, clock: Callable[[], float] = time.time) -> None:
        self._pid, self._attach, self._clock = pid, attach, clock
        self._processes = Processes()
        self._held = ""
        born = start_time(pid)
        if born is None:
            raise HewError(f"there is no process {pid}")
        self._born = born

    def look(self) -> list[Record]:
        """It now; nothing when it has ended."""
        if start_time(self._pid) != self._born:
            return []
        at, self._held = self._clock(), ""
        try:
            moment = self._processes.moment(self._pid, self._ask)
        except HewError:
            if start_time(self._pid) != self._born:
                return []
            raise
        if start_time(self._pid) != self._born or not moment.outside.resident:  # it ended meanwhile
            return []
        heap = self._heap() if moment.snapshot is None and moment.allocator.startswith(GLIBC) else None
        return [Record(at, self._born, moment, heap, self._held)]

    def _ask(self, pid: int) -> tuple[Snapshot | None, str]:
        attach = self._attach if find_socket(pid) is None else None
        try:
            reading = asked(pid, attach)
        except HewError as error:
            return None, str(error)
        self._held = reading.attached
        return (reading.snapshots[-1], "") if reading.snapshots else (None, "its statistics cannot be read")

    def _heap(self) -> HeapFigures | None:
        """glibc's heap, where it can be read from outside."""
        try:
            heap = read_heap(read_process(self._pid))
        except (HewError, OSError):
            return None
        return HeapFigures(heap.system, heap.free, heap.trimmable, heap.scattered, heap.cached, heap.mapped)


class Folder:
    """All processes whose control sockets lie in a folder. They may come and go."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._watch = Watch(Wanted(folder=folder, whole=True))
        self._processes = Processes()

    def look(self) -> list[Record]:
        """Those that answer now."""
        at = self._clock()
        found = [self._record(at, one.pid or 0, one.snapshot) for one in self._watch.look().observed]
        return [one for one in found if one is not None]

    def _record(self, at: float, pid: int, snapshot: Snapshot) -> Record | None:
        born = start_time(pid)
        if born is None:
            return None
        try:
            moment = self._processes.moment(pid, lambda _: (snapshot, ""))
        except HewError:
            return None  # it has ended meanwhile
        return Record(at, born, moment)
