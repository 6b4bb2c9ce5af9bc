# SPDX-License-Identifier: MIT
"""Figures that follow from a snapshot: where memory is, how full slabs are, how well caches serve."""

from collections.abc import Iterable

from hew.model.statistics import Arena, Bin, Mutex, Part, Snapshot, Thread, total


def memory_parts(snapshot: Snapshot) -> tuple[Part, ...]:
    """The parts of a process's memory, from requested bytes to reserved address space."""
    totals, arena = snapshot.totals, snapshot.all_arenas
    cached = arena.tcache_bytes if arena else None
    where = arena.where if arena else "stats.arenas.merged"
    return (
        Part("allocated", totals.allocated, "stats.allocated"),
        Part("  of it in thread caches", cached, f"{where}.tcache_bytes"),
        Part("fragmentation", _less(totals.active, totals.allocated), "stats.active - stats.allocated"),
        Part("  of it without memory", arena.holes if arena else None, f"{where}.holes"),
        Part("dirty pages", pages(snapshot, arena.pdirty if arena else None), f"{where}.pdirty"),
        Part("muzzy pages", pages(snapshot, arena.pmuzzy if arena else None), f"{where}.pmuzzy"),
        Part("metadata", totals.metadata, "stats.metadata"),
        Part("resident (by its own count)", totals.resident, "stats.resident"),
        Part("retained address space", totals.retained, "stats.retained"),
    )


PEAK_LABELS = {
    "live": "objects of the program",
    "thread_caches": "freed objects in thread caches",
    "depots": "freed objects in depots",
    "slabs": "free regions and tails of slabs",
    "kept": "freed large objects kept, and slack of large ones",
    "idle": "idle pages (dirty and muzzy)",
    "metadata": "hew's own data",
}


def peak_parts(snapshot: Snapshot) -> tuple[Part, ...]:
    """Where the memory was when the heaps held most; empty where the report does not say, or no heap has held a MiB."""
    peak = snapshot.peak
    if not peak.resident:
        return ()
    rows = [Part(label, getattr(peak, name), f"stats.peak.{name}") for name, label in PEAK_LABELS.items()]
    return (*rows, Part("in all", peak.resident, "stats.peak.resident"))


def pages(snapshot: Snapshot, count: int | None) -> int | None:
    """Bytes of a number of pages."""
    return None if count is None else count * snapshot.page


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part


def slab_bytes(one: Bin) -> int:
    """Bytes in the slabs of a class."""
    return (one.curslabs or 0) * (one.slab_size or 0)


def slab_waste(one: Bin) -> int:
    """Bytes of a class's slabs that hold no object; objects in thread caches count as held."""
    return max(slab_bytes(one) - (one.curregs or 0) * one.size, 0)


def busiest_bins(arena: Arena, count: int) -> list[Bin]:
    """The classes with the most bytes in slabs, then those with the most fills."""
    used = [one for one in arena.bins if one.curslabs or one.nfills]
    return sorted(used, key=lambda one: (slab_bytes(one), one.nfills or 0), reverse=True)[:count]


def busiest_threads(threads: Iterable[Thread], count: int) -> list[Thread]:
    """Those that asked most of their arenas."""
    return sorted(threads, key=lambda one: one.requests, reverse=True)[:count]


def locks(snapshot: Snapshot) -> dict[str, Mutex]:
    """Every lock of the process and of the sum of its arenas, by the place where it stands."""
    found = {f"stats.mutexes.{name}": one for name, one in snapshot.mutexes.items()}
    if arena := snapshot.all_arenas:
        found |= {f"{arena.where}.mutexes.{name}": one for name, one in arena.mutexes.items()}
        found |= {f"{arena.where}.bins[{one.size} B].mutex": one.mutex for one in arena.bins}
    return found


def waited_for(snapshot: Snapshot, count: int) -> list[tuple[str, Mutex]]:
    """The locks that were waited for most."""
    waits = [(where, one) for where, one in locks(snapshot).items() if one.num_wait]
    return sorted(waits, key=lambda pair: pair[1].num_wait or 0, reverse=True)[:count]


def threads(snapshot: Snapshot) -> int | None:
    """Threads that were bound to arenas when the report was written."""
    arena = snapshot.all_arenas
    if arena is not None and arena.nthreads is not None:
        return arena.nthreads
    return total(one.nthreads for one in snapshot.arenas)
