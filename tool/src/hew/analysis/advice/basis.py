# SPDX-License-Identifier: MIT
"""What several rules need: the numbers that a rule starts from, contention, and settings by allocator and version."""

import re

from hew.model.advice import Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.statistics import Arena, Bin, Mutex, Snapshot, total

MIB = 1 << 20
# Under this a report tells of the start of a program rather than of its life. Rates below it are not judged.
SHORTEST_SECONDS = 0.2
# A thread out of twenty waiting is worth a look; without the time, a hundred waits a second: each is a sleep and a
# wake-up, two switches of context (about 10 µs), plus a delay that the report does not tell.
WAITING_THREADS = 0.05
WAITS_PER_SECOND = 100.0
# Fewer than these, however long, are threads that were stopped while they held a lock: the scheduler's doing.
FEWEST_WAITS = 10
FEWEST_PER_SECOND = 25.0


@dataclass(frozen=True)
class Basis:
    """A report with the sum of its arenas and its time."""

    snapshot: Snapshot
    arena: Arena
    seconds: float

    def per_second(self, count: int | None) -> float:
        """A count as a rate; what is not reported is no rate."""
        return (count or 0) / self.seconds


def basis(case: Case) -> Basis | None:
    """What a rule about rates starts from; None when the report lacks it or covers too short a time."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or not arena.seconds or arena.seconds < SHORTEST_SECONDS:
        return None
    return Basis(snapshot, arena, arena.seconds)


@dataclass(frozen=True)
class Wait:
    """How much a lock, or several together, were waited for."""

    where: str
    waits: int
    ops: int
    waited_ns: int | None
    seconds: float

    @property
    def waiting(self) -> float | None:
        """Threads that waited, on average; None when times are not reported."""
        return None if self.waited_ns is None else self.waited_ns / 1e9 / self.seconds

    @property
    def much(self) -> bool:
        """Whether it is worth changing something."""
        if self.waits < max(FEWEST_WAITS, FEWEST_PER_SECOND * self.seconds):
            return False
        if self.waiting is not None:
            return self.waiting >= WAITING_THREADS
        return self.waits / self.seconds >= WAITS_PER_SECOND

    @property
    def weight(self) -> float:
        """For ordering."""
        return self.waiting if self.waiting is not None else self.waits / self.seconds / 1e3

    def evidence(self, label: str) -> tuple[Evidence, ...]:
        """The numbers and where they stand."""
        found = [
            Evidence(f"waits for {label}", self.waits / self.seconds, Unit.PER_SECOND, f"{self.where}.num_wait"),
            Evidence(f"operations on {label}", self.ops / self.seconds, Unit.PER_SECOND, f"{self.where}.num_ops"),
        ]
        if self.waiting is not None:
            where = f"{self.where}.total_wait_time"
            found.insert(0, Evidence(f"threads waiting for {label}, on average", self.waiting, Unit.COUNT, where))
        return tuple(found)


def wait_for(where: str, locks: list[Mutex], seconds: float) -> Wait:
    """Several locks as one."""
    return Wait(
        where,
        total(one.num_wait for one in locks) or 0,
        total(one.num_ops for one in locks) or 0,
        total(one.total_wait_ns for one in locks),
        seconds,
    )


ARENA_LOCKS = ("large", "extents_dirty", "extents_muzzy", "extents_retained", "decay_dirty", "decay_muzzy")


def arena_wait(arena: Arena, seconds: float) -> Wait:
    """Waiting for the locks that only threads of one arena, and frees into it, contend for."""
    locks = [one.mutex for one in arena.bins] + [arena.mutexes[name] for name in ARENA_LOCKS if name in arena.mutexes]
    return wait_for(f"{arena.where}.(mutexes, bins[].mutex)", locks, seconds)


def version(snapshot: Snapshot) -> tuple[int, ...]:
    """The release as numbers; () when it is not known."""
    parts = (snapshot.release or "").split(".")
    return tuple(map(int, parts)) if all(re.fullmatch("[0-9]{1,9}", part) for part in parts) else ()


def is_hew(snapshot: Snapshot) -> bool:
    """Whether it is hew that reports."""
    return snapshot.allocator == "hew"


def threads_of(case: Case) -> int | None:
    """Threads: of the process if it can be seen, else those bound to arenas when the report was written. None where
    only one is left: a report at the end tells of the main thread, not of the program."""
    if case.process is not None:
        return case.process.threads
    snapshot = case.snapshot
    bound = snapshot.all_arenas.nthreads if snapshot and snapshot.all_arenas else None
    return bound if bound is not None and bound > 1 else None


def arena_evidence(basis: Basis) -> tuple[Evidence, ...]:
    """Arenas and threads."""
    found = [Evidence("arenas in use", len(basis.snapshot.arenas), Unit.COUNT, "stats.arenas")]
    if (most := basis.snapshot.number_option("narenas")) is not None:
        found.append(Evidence("automatic arenas at most", most, Unit.COUNT, "opt.narenas"))
    if basis.arena.nthreads is not None:
        found.append(Evidence("threads", basis.arena.nthreads, Unit.COUNT, f"{basis.arena.where}.nthreads"))
    return tuple(found)


def ranges(bins: list[Bin], value: int) -> str:
    """A list of size ranges with one value, as slab_sizes and tcache_ncached_max take it."""
    return "|".join(f"{one.size}-{one.size}:{value}" for one in sorted(bins, key=lambda one: one.size))


def deeper_caches(snapshot: Snapshot, bins: list[Bin], slots: int) -> tuple[Setting, ...]:
    """Thread caches of so many objects for these classes. Nothing for versions that have no such setting."""
    if is_hew(snapshot) or version(snapshot) >= (5, 3, 1):
        return (Setting("tcache_ncached_max", ranges(bins, slots)),)
    if version(snapshot) >= (5, 3, 0):
        fewest = min((one.nregs or 1) for one in bins)
        factor = max((slots // fewest).bit_length() - 1, 1)
        return (Setting("lg_tcache_nslots_mul", str(factor)), Setting("tcache_nslots_small_max", str(slots)))
    return ()


def swap_offer(process: ProcessFacts) -> str:
    """What hew swap would bring at once, to follow other changes; empty where it cannot be."""
    dynamic = process.program is not None and process.program.interpreter is not None
    if not dynamic or process.secure or process.memory.locked:
        return ""
    back = f" (about {process.heap.trimmable // MIB} MiB come back at once)" if process.heap is not None else ""
    return f"; without a restart: hew swap --trim {process.pid}{back}"
