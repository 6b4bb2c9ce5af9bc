# SPDX-License-Identifier: MIT
"""What a service can get back: a function for each kind, with the threshold of the rule of `hew advise` beside it.

A kind that stays under its threshold in the mean process costs nothing here: every allocator keeps some idle pages and
fills some caches. Above it all of it counts, which is the most that a change can bring. Threads that wait for a lock
count as cores: they would run.
"""

from collections.abc import Iterator

from hew.analysis.advice import decay_too_long, decay_too_short, external_fragmentation, slab_sizes, thread_caches
from hew.analysis.advice.basis import wait_for
from hew.analysis.fleet.figures import Figures, over_states, per_process
from hew.model.fleet import Cost, Kind
from hew.model.quantity import size
from hew.model.statistics import Mutex

SECONDS_A_FILL = 1e-6  # see slab_sizes
PAGE = 4096
STATES = ("dirty", "muzzy")
HOUR_NS = 3600 * 10**9


def costs(figures: Figures) -> tuple[Cost, ...]:
    """All kinds that are worth a look."""
    if not figures.get("processes"):
        return ()
    return tuple(cost for found in (_locks, _fills, _faults, _refaults, _memory) for cost in found(figures))


def _locks(figures: Figures) -> Iterator[Cost]:
    """As `arenas-too-few` and its neighbours judge it, of the mean process in an hour."""
    waited = per_process(figures, "lock_seconds")
    lock = Mutex(
        num_ops=round(per_process(figures, "lock_operations") * 3600),
        num_wait=round(per_process(figures, "lock_waits") * 3600),
        total_wait_ns=round(waited * HOUR_NS),
    )
    if wait_for("", [lock], 3600.0).much:
        about = f"{figures.get('lock_waits', 0):,.0f} waits/s; a process has {waited:.2f} threads that wait"
        yield Cost(Kind.LOCKS, cores=figures["lock_seconds"], about=about)


def _fills(figures: Figures) -> Iterator[Cost]:
    fills = over_fills = per_process(figures, "fills")
    served = figures.get("requests", 0.0) / figures["fills"] if over_fills else 0.0
    if fills >= slab_sizes.FILLS_PER_SECOND and 0 < served <= slab_sizes.REQUESTS_A_FILL:
        about = f"a process fills {fills:,.0f} times/s, for {served:.0f} requests each time"
        yield Cost(Kind.FILLS, cores=figures["fills"] * SECONDS_A_FILL, about=about)


def _faults(figures: Figures) -> Iterator[Cost]:
    """Pages that went back and were faulted in again: no more than either."""
    purged = over_states(figures, "purged", *STATES) / PAGE
    pages = min(purged, figures.get("faults.minor", purged))
    each = pages / figures["processes"]
    if each >= decay_too_short.PAGES_PER_SECOND:
        about = f"a process returns {each:,.0f} pages/s and takes them again"
        yield Cost(Kind.FAULTS, cores=pages * decay_too_short.SECONDS_A_PAGE, about=about)


def _refaults(figures: Figures) -> Iterator[Cost]:
    pages = figures.get("refaulted", 0.0) / PAGE
    each = pages / figures["processes"]
    if each >= decay_too_short.PAGES_PER_SECOND:
        about = f"a process needs {each:,.0f} pages/s of holes again"
        yield Cost(Kind.REFAULTS, cores=pages * decay_too_short.SECONDS_A_PAGE, about=about)


def _memory(figures: Figures) -> Iterator[Cost]:
    """Each part as large as its rule wants it, and the share of the whole that it wants."""
    idle = over_states(figures, "idle", *STATES)
    holes = figures.get("holes", 0.0)
    active, allocated = figures.get("active", 0.0), figures.get("allocated", 0.0)
    rows = (
        (Kind.IDLE, idle, figures.get("resident", 0.0), decay_too_long, "of what is resident"),
        (Kind.CACHES, figures.get("cached", 0.0), allocated, thread_caches, "of what is allocated"),
        (Kind.FRAGMENTATION, active - holes - allocated, active, external_fragmentation, "of the pages in use"),
    )
    for kind, part, whole, rule, of in rows:
        if whole and part >= rule.LEAST_BYTES * figures["processes"] and part >= rule.LEAST_SHARE * whole:
            each = size(part / figures["processes"])
            yield Cost(kind, bytes=part, about=f"{each} a process, {part / whole:.0%} {of}")
