# SPDX-License-Identifier: MIT
"""Where a live process's resident memory is, and how fast its allocator works between two looks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from hew.analysis.memory import locks, pages
from hew.model.live import LiveView, Moment, Outside, Rate
from hew.model.statistics import Arena, Part, Snapshot, total


def live_view(now: Moment, before: Moment | None) -> LiveView:
    """What to show, with rates where there was a look before."""
    return LiveView(now, waterfall(now), rates(now, before), thread_rates(now, before))


def waterfall(now: Moment) -> tuple[Part, ...]:
    """The parts of resident memory; they add up to it. What the reports do not tell is left out, not guessed."""
    if now.snapshot is None:
        return _from_outside(now.outside)
    return _from_inside(now.snapshot, now.outside)


def _from_inside(snapshot: Snapshot, outside: Outside) -> tuple[Part, ...]:
    totals, arena = snapshot.totals, snapshot.all_arenas
    allocated, active = totals.allocated or 0, totals.active or totals.allocated or 0
    cached = min((arena.tcache_bytes if arena else None) or 0, allocated)
    inner = min(internal_fragmentation(arena)[0], allocated - cached) if arena else 0
    dirty = pages(snapshot, arena.pdirty if arena else None) or 0
    muzzy = pages(snapshot, arena.pmuzzy if arena else None) or 0
    holes = (arena.holes if arena else None) or 0
    parts = [
        Part("live objects", allocated - cached - inner, "stats.allocated - tcache_bytes"),
        Part("internal fragmentation", inner, "sizes of classes - bytes asked for (heap profile)"),
        Part("external fragmentation", max(active - allocated - holes, 0), "stats.active - stats.allocated - holes"),
        Part("thread caches", cached, "tcache_bytes"),
        Part("dirty pages", dirty, "pdirty"),
        Part("muzzy pages", muzzy, "pmuzzy"),
        Part("metadata", totals.metadata or 0, "stats.metadata"),
    ]
    rest = outside.resident - sum(part.bytes or 0 for part in parts)
    if rest >= 0:
        return (*parts, Part("not the heap", rest, "resident - all of the above"))
    return _within(parts, outside.resident)


# Parts that statistics may count without being resident, the likeliest first: the program may never have touched them.
ABSENT = (
    "external fragmentation",
    "internal fragmentation",
    "live objects",
    "thread caches",
    "metadata",
    "muzzy pages",
)


def _within(parts: Sequence[Part], resident: int) -> tuple[Part, ...]:
    """Parts that are more than what is resident: each cut to what can be in memory, and named so."""
    over = sum(part.bytes or 0 for part in parts) - resident
    cut: dict[str, int] = {}
    for label in (*ABSENT, *(part.label for part in parts)):
        size = next((part.bytes or 0 for part in parts if part.label == label), 0) - cut.get(label, 0)
        taken = min(over, size)
        cut[label] = cut.get(label, 0) + taken
        over -= taken
    gone = sum(cut.values())
    found = [replace(part, bytes=(part.bytes or 0) - cut[part.label]) for part in parts]
    return (*found, Part("not the heap", 0, f"{gone} bytes counted above are not in memory: left out"))


def internal_fragmentation(arena: Arena) -> tuple[int, int]:
    """Bytes of objects beyond their requested sizes, and all bytes of the classes that have samples. The heap profile's
    samples give the fraction for each class, and its object count, with cached objects, gives the bytes. 0 without a
    profile."""
    wasted, known = 0.0, 0
    rows = [(one, one.curregs) for one in arena.bins] + [(one, one.curlextents) for one in arena.lextents]
    for one, count in rows:
        if one.prof_live_count and one.prof_live_requested is not None:
            share = 1 - one.prof_live_requested / (one.prof_live_count * one.size)
            wasted += max(share, 0) * (count or 0) * one.size
            known += (count or 0) * one.size
    return round(wasted), known


def _from_outside(outside: Outside) -> tuple[Part, ...]:
    """Kinds of memory: all that can be known without statistics."""
    heaps = [Part("main heap", outside.heap, "smaps: [heap]")] if outside.heap is not None else []
    if outside.regions is not None and outside.region_count:
        heaps.append(Part(f"heaps of threads ({outside.region_count})", outside.regions, "smaps: regions of 64 MiB"))
    known = sum(part.bytes or 0 for part in heaps)
    rest = Part("other private memory", max(outside.anonymous - known, 0), "RssAnon")
    return (*heaps, rest, Part("files", outside.files, "RssFile"), Part("shared memory", outside.shared, "RssShmem"))


def rates(now: Moment, before: Moment | None) -> tuple[Rate, ...]:
    """Per second since the look before; without one, since the start where the report tells how long that is."""
    seconds = now.seconds - before.seconds if before else None
    found = [
        Rate("CPUs", _per(now.cpu, before.cpu if before else None, seconds)),
        Rate("page faults", _per(now.faults, before.faults if before else None, seconds)),
    ]
    if now.snapshot is None:
        return tuple(found)
    earlier = before.snapshot if before else None
    for label, count in COUNTS:
        found.append(Rate(label, _per(count(now.snapshot), count(earlier) if earlier else None, seconds)))
    waited = _per(_wait_ns(now.snapshot), _wait_ns(earlier) if earlier else None, seconds)
    found.append(Rate("waiting", waited / 1e9 if waited is not None else None, share=True))
    return tuple(found)


def thread_rates(now: Moment, before: Moment | None) -> dict[int, float]:
    """Requests a second of each thread that was there at the look before, and used the same arena."""
    if now.snapshot is None or before is None or before.snapshot is None:
        return {}
    seconds = now.seconds - before.seconds
    earlier = {(one.number, one.arena): one.requests for one in before.snapshot.threads}
    found = {
        one.number: _per(one.requests, earlier.get((one.number, one.arena)), seconds) for one in now.snapshot.threads
    }
    return {number: rate for number, rate in found.items() if rate is not None}


def _per(now: float | None, before: float | None, seconds: float | None) -> float | None:
    if now is None or before is None or not seconds or seconds <= 0:
        return None
    return max(now - before, 0) / seconds


def _of_objects(name: str, snapshot: Snapshot) -> int | None:
    """A counter of small and large objects together."""
    arena = snapshot.all_arenas
    return total((getattr(arena.small, name), getattr(arena.large, name))) if arena else None


def _waits(snapshot: Snapshot) -> int | None:
    return total(lock.num_wait for lock in locks(snapshot).values())


def _wait_ns(snapshot: Snapshot) -> int | None:
    return total(lock.total_wait_ns for lock in locks(snapshot).values())


COUNTS: tuple[tuple[str, Callable[[Snapshot], int | None]], ...] = (
    ("requests", partial(_of_objects, "nrequests")),
    ("fills", partial(_of_objects, "nfills")),
    ("flushes", partial(_of_objects, "nflushes")),
    ("lock waits", _waits),
)
