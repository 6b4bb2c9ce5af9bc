# SPDX-License-Identifier: MIT
"""Watches a running command: its resident memory over time, and which allocator libraries it really has mapped.

Every 20 ms (every 5 ms in the first fifth of a second, for programs that are over soon) one read of /proc/PID/statm per
process: about 20 us each, and no lock in the watched process, whereas smaps_rollup would walk its page tables under its
memory lock. The tree of processes is read every fifth time. A line keeps at most
MOST_POINTS points: when it is full, every second one goes and the interval doubles, so a run of hours costs the same.
"""

import threading
import time
from dataclasses import field
from pathlib import Path

from hew.model.lazy_dataclass import dataclass
from hew.model.run import RssPoint
from hew.sources.discovery import is_allocator
from hew.sources.processes import command_line, mapped_libraries, resident, start_time, tree

INTERVAL = 0.02
FIRST_INTERVAL = 0.005
FIRST_SECONDS = 0.2
TREE_EVERY = 5
MOST_POINTS = 1024
# When to look at a process's map, in seconds since it was first seen; what it maps later is seen too.
LOOKS = (0.0, 0.05, 0.15)


@dataclass
class Sighting:
    """One process of the tree, since its last exec: its identity, and the allocators that it has mapped."""

    since: float
    started: int | None
    words: str
    looks: int = 0
    allocators: set[Path] = field(default_factory=set)


def is_loading(mapped: set[Path]) -> bool:
    """Whether the loader is still at work: it maps what is preloaded before it maps libc."""
    names = [path.name for path in mapped]
    loader = any(name.startswith("ld-linux") for name in names)
    return loader and not any(name.startswith(("libc.so", "libc-")) for name in names)


class Sampler:
    """Watches one process tree from `start` to `stop`, in a thread of its own."""

    def __init__(self, pid: int, library: Path | None) -> None:
        self.points: list[RssPoint] = []
        self.seen: dict[int, Sighting] = {}
        self._pid = pid
        self._interval = INTERVAL
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="rss sampler", daemon=True)
        self._gate = command_line(pid)
        self._library = library.resolve() if library else None

    def start(self) -> None:
        """Begin. Call right after the command's gate was opened."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for the thread, if it was started."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def misses_library(self) -> bool:
        """Whether the command was looked at long enough to say that the preloaded library is not in it."""
        root = self.seen.get(self._pid)
        return (
            self._library is not None
            and root is not None
            and root.looks == len(LOOKS)
            and self._library not in root.allocators
        )

    def foreign_allocators(self) -> frozenset[str]:
        """The file names of allocator libraries in the tree that were not preloaded."""
        found = {path for sighting in self.seen.values() for path in sighting.allocators}
        return frozenset(path.name for path in found if path != self._library)

    def survivors(self) -> list[int]:
        """The processes of the tree that are still alive, for callers that must end them."""
        return [
            pid
            for pid, sighting in self.seen.items()
            if sighting.started is not None and start_time(pid) == sighting.started
        ]

    def _watch(self) -> None:
        began = time.monotonic()
        pids, turn = [self._pid], 0
        while not self._stopping.is_set():
            now = time.monotonic()
            if command_line(self._pid) != self._gate:  # until then it is the gate's shell
                if turn % TREE_EVERY == 0:
                    pids = tree(self._pid)
                    self._look(pids, now)
                turn += 1
                self._add(RssPoint(now - began, max(resident(pid) for pid in pids)))
                self._stopping.wait(FIRST_INTERVAL if now - began < FIRST_SECONDS else self._interval)
            else:
                self._stopping.wait(FIRST_INTERVAL / 5)

    def _look(self, pids: list[int], now: float) -> None:
        """Note new processes and new programs in old ones, and read the maps of those whose time has come."""
        for pid in pids:
            sighting, words = self.seen.get(pid), command_line(pid)
            if sighting is None or (words and words != sighting.words):
                sighting = self.seen[pid] = Sighting(now, start_time(pid), words)
            if sighting.looks < len(LOOKS) and now - sighting.since >= LOOKS[sighting.looks]:
                mapped = mapped_libraries(pid)
                sighting.looks += bool(mapped) and not is_loading(mapped)  # nothing is mapped: it has ended
                sighting.allocators |= {path for path in mapped if path == self._library or is_allocator(path)}

    def _add(self, point: RssPoint) -> None:
        if point.bytes == 0:
            return
        self.points.append(point)
        if len(self.points) >= MOST_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [max(pair, key=lambda one: one.bytes) for pair in pairs]
            self._interval *= 2
