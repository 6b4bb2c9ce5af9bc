# SPDX-License-Identifier: MIT
"""The series that there are on request only: of each arena, and of each small size class."""

from hew.analysis.memory import slab_bytes, slab_waste
from hew.analysis.metrics.row import Row, counter, gauge, scaled
from hew.model.statistics import Arena, Bin, Mutex, total

BYTES, SECONDS = "bytes", "seconds"
ONE = "stats.arenas.<i>"

ARENA: tuple[Row[Arena], ...] = (
    Row(
        gauge("hew_arena_allocated_bytes", BYTES, "Objects of an arena.", f"{ONE}.*.allocated"),
        lambda arena: total((arena.small.allocated, arena.large.allocated)),
    ),
    Row(
        gauge("hew_arena_resident_bytes", BYTES, "Memory of an arena, by its own count.", f"{ONE}.resident"),
        lambda arena: arena.resident,
    ),
    Row(
        gauge("hew_arena_active_pages", "", "Pages in use.", f"{ONE}.pactive"),
        lambda arena: arena.pactive,
    ),
    Row(
        gauge("hew_arena_idle_pages", "", "Free pages not returned yet.", f"{ONE}.pdirty, pmuzzy"),
        {"dirty": lambda arena: arena.pdirty, "muzzy": lambda arena: arena.pmuzzy},
        "state",
    ),
    Row(gauge("hew_arena_threads", "", "Threads that use it.", f"{ONE}.nthreads"), lambda arena: arena.nthreads),
    Row(
        counter("hew_arena_requests", "", "Requests for memory.", f"{ONE}.*.nrequests"),
        lambda arena: total((arena.small.nrequests, arena.large.nrequests)),
    ),
    Row(
        counter("hew_arena_lock_waits", "", "Its locks, and its bins', that had to be slept for.", "num_wait"),
        lambda arena: total(lock.num_wait for lock in _locks(arena)),
    ),
    Row(
        counter("hew_arena_lock_wait_seconds", SECONDS, "Time slept for them.", "total_wait_time"),
        lambda arena: scaled(total(lock.total_wait_ns for lock in _locks(arena)), 1e-9),
    ),
)


def _locks(arena: Arena) -> list[Mutex]:
    return [*arena.mutexes.values(), *(one.mutex for one in arena.bins)]


BINS = "stats.arenas.merged.bins"
BIN: tuple[Row[Bin], ...] = (
    Row(
        gauge("hew_bin_objects", "", "Objects of a size class, those in caches too.", f"{BINS}.curregs"),
        lambda one: one.curregs,
    ),
    Row(gauge("hew_bin_slab_bytes", BYTES, "Memory of its slabs.", f"{BINS}.curslabs x slab_size"), slab_bytes),
    Row(gauge("hew_bin_waste_bytes", BYTES, "Of it, what no object is in.", "slabs - curregs x size"), slab_waste),
    Row(counter("hew_bin_requests", "", "Requests.", f"{BINS}.nrequests"), lambda one: one.nrequests),
    Row(counter("hew_bin_fills", "", "Thread caches filled.", f"{BINS}.nfills"), lambda one: one.nfills),
    Row(counter("hew_bin_flushes", "", "Thread caches emptied.", f"{BINS}.nflushes"), lambda one: one.nflushes),
    Row(counter("hew_bin_lock_waits", "", "Waits for its lock.", f"{BINS}.mutex"), lambda one: one.mutex.num_wait),
)
