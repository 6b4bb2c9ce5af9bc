# SPDX-License-Identifier: MIT
"""Thread caches hold too much.

Speaks when thread caches hold 16 MiB and a quarter of all that is allocated (jemalloc counts cached
objects as allocated). hew's depots are not counted. Decay does not reach thread caches, and
sleeping threads keep theirs; in hew only where each thread owns its cache.

Where classes above 4096 bytes can account for half of it, `tcache_max` is advised. Otherwise fewer
slots: `lg_tcache_nslots_mul:0` (52.7 -> 42.9 MiB, where `tcache_max:4096` gave 49.8), and in hew
and jemalloc from 5.3.1 on `tcache_ncached_max`. Advice for larger caches, because threads wait,
goes first.
"""

from collections.abc import Mapping

from hew.analysis.advice.basis import MIB, is_hew, threads_of, version
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Arena, Snapshot

NAME = "thread-caches"
LEAST_BYTES = 16 * MIB
LEAST_SHARE = 0.25
KEPT = 4096  # the largest object that stays in caches where large ones fill them
LARGE_SHARE = 0.5
FEWEST_SLOTS, MOST_SLOTS = 20, 200  # of a class in jemalloc's caches: twice a slab's regions, within these
MOST_CLASSES = 4


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or not snapshot.totals.allocated:
        return None
    cached = _cached_by_threads(snapshot, arena)
    if cached < LEAST_BYTES or cached < LEAST_SHARE * snapshot.totals.allocated:
        return None
    threads = threads_of(case)
    held = _held(arena, threads)
    small = _mostly_small(held, cached)
    source = f"{arena.where}.tcache_bytes"
    source = f"({source} - stats.depot.bytes)" if snapshot.depot.bytes else source
    evidence = [
        Evidence("in thread caches", cached, Unit.BYTES, source),
        Evidence("allocated", snapshot.totals.allocated, Unit.BYTES, "stats.allocated"),
    ]
    if threads:
        evidence += [
            Evidence("threads", threads, Unit.COUNT, f"{arena.where}.nthreads"),
            Evidence("a thread", cached / threads, Unit.BYTES, f"{source} / nthreads"),
        ]
    if (largest := snapshot.layout.tcache_max) is not None:
        evidence.append(Evidence("objects are cached up to", largest, Unit.BYTES, "arenas.tcache_max"))
    for one in sorted(held, key=lambda one: held[one], reverse=True)[:MOST_CLASSES]:
        where = f"{arena.where}.bins[{one} B].curregs"
        evidence.append(Evidence(f"at most in caches, of {one} B", held[one], Unit.BYTES, where))
    return Advice(
        rule=NAME,
        title="thread caches hold a large part of what is allocated",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=smaller_caches(snapshot, arena, threads),
        cpu="a little more: objects of the classes with the most bytes in caches go to the arena more often",
        memory=f"less: up to {'half' if small else 'nearly all'} of what caches hold",
        risk="threads that do use these classes all the time get slower, and wait for their arena",
        verify="tcache_bytes in the report again, and CPU time under load",
        change="threads that sleep for long can empty their cache first: mallctl thread.tcache.flush (or thread.idle)",
    )


def smaller_caches(snapshot: Snapshot, arena: Arena, threads: int | None) -> tuple[Setting, ...]:
    """What makes thread caches hold less, by what they may hold now."""
    held = _held(arena, threads)
    small = _mostly_small(held, _cached_by_threads(snapshot, arena))
    return _fewer_slots(snapshot, held) if small else _smaller_largest(snapshot)


def _cached_by_threads(snapshot: Snapshot, arena: Arena) -> int:
    """Bytes; 0 where the report does not say."""
    return max((arena.tcache_bytes or 0) - (snapshot.depot.bytes or 0), 0)


def _mostly_small(held: Mapping[int, int], cached: int) -> bool:
    """Whether what is cached must be small objects for the most part."""
    small = sum(size for one, size in held.items() if one <= KEPT)
    large = sum(size for one, size in held.items() if one > KEPT)
    return small > (1 - LARGE_SHARE) * cached and large < LARGE_SHARE * cached


def _held(arena: Arena, threads: int | None) -> dict[int, int]:
    """By size class, the most bytes of it that thread caches can hold."""
    found = {}
    for bin_ in arena.bins:
        slots = min(max(2 * (bin_.nregs or FEWEST_SLOTS), FEWEST_SLOTS), MOST_SLOTS)
        count = bin_.curregs or 0
        found[bin_.size] = (min(count, slots * threads) if threads else count) * bin_.size
    for large in arena.lextents:
        count = large.curlextents or 0
        found[large.size] = (min(count, FEWEST_SLOTS * threads) if threads else count) * large.size
    return {size: held for size, held in found.items() if held}


def _smaller_largest(snapshot: Snapshot) -> tuple[Setting, ...]:
    if is_hew(snapshot) or version(snapshot) >= (5, 3, 0):
        return (Setting("tcache_max", str(KEPT)),)
    return (Setting("lg_tcache_max", str(KEPT.bit_length() - 1)),)


def _fewer_slots(snapshot: Snapshot, held: Mapping[int, int]) -> tuple[Setting, ...]:
    if is_hew(snapshot) or version(snapshot) >= (5, 3, 1):
        most = sorted(sorted(held, key=lambda one: held[one], reverse=True)[:MOST_CLASSES])
        return (Setting("tcache_ncached_max", "|".join(f"{one}-{one}:{FEWEST_SLOTS}" for one in most)),)
    if version(snapshot) >= (5, 3, 0):
        return (Setting("lg_tcache_nslots_mul", "0"),)
    return ()
