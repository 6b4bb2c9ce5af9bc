# SPDX-License-Identifier: MIT
"""A few threads do most of the work and wait in shared arenas: give them arenas of their own.

Speaks when at most half of the arenas do 80 % of the refills (`nmalloc`), some of these have two
threads or more (where reported), and their locks are waited for (5 % of a thread's time, or 100
waits a second). Silent below four arenas. For a process on hew the busiest threads are named.

At one site 80 of 1,776 threads were hot. An arena for each of them, and a shorter decay time for
the others, saved 4 % of the CPU without more memory.
"""

from hew.analysis.advice.basis import Wait, arena_evidence, arena_wait, basis
from hew.analysis.memory import busiest_threads
from hew.model.advice import Advice, Case, Evidence
from hew.model.figures import Unit
from hew.model.statistics import Arena, Snapshot, Thread

NAME = "hot-threads"
FEWEST_ARENAS = 4
HOT_SHARE = 0.8
HOT_ARENAS = 0.5


def served(arena: Arena) -> int:
    """Objects that the arena has handed to thread caches and threads."""
    return (arena.small.nmalloc or 0) + (arena.large.nmalloc or 0)


def hot_arenas(snapshot: Snapshot) -> list[Arena]:
    """The arenas that do most of the work, when these are few; else none."""
    arenas = sorted(snapshot.arenas, key=served, reverse=True)
    everything = sum(map(served, arenas))
    if len(arenas) < FEWEST_ARENAS or not everything:
        return []
    hot: list[Arena] = []
    while sum(map(served, hot)) < HOT_SHARE * everything:
        hot.append(arenas[len(hot)])
    return hot if len(hot) <= HOT_ARENAS * len(arenas) else []


def _busiest(snapshot: Snapshot, arenas: list[Arena]) -> list[Thread]:
    """The threads that ask most of these arenas, where the process was asked."""
    keys = {one.key for one in arenas}
    return busiest_threads((one for one in snapshot.threads if one.arena in keys), len(arenas))


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    hot = hot_arenas(base.snapshot) if base else []
    shared = [one for one in hot if one.nthreads is None or one.nthreads > 1]
    if base is None or not shared:
        return None
    waits: list[Wait] = [arena_wait(one, one.seconds or base.seconds) for one in shared]
    worst = max(waits, key=lambda one: one.weight)
    if not worst.much:
        return None
    share = sum(map(served, hot)) / sum(map(served, base.snapshot.arenas))
    names = ", ".join(one.key for one in shared)
    busiest = _busiest(base.snapshot, shared)
    which = f" ({', '.join(one.name for one in busiest)})" if busiest else ""
    return Advice(
        rule=NAME,
        title=f"{len(hot)} of {len(base.snapshot.arenas)} arenas do {share:.0%} of the work, and threads wait there",
        subject=base.snapshot.subject,
        evidence=(
            Evidence(
                f"share of all allocations in arenas {names}", share, Unit.SHARE, "stats.arenas.<i>.small.nmalloc"
            ),
            *worst.evidence(f"locks of {worst.where.split('.(')[0]}"),
            *(
                Evidence(
                    f"requests of {one.name} ({one.number}) in arena {one.arena}", one.requests, Unit.COUNT, "threads"
                )
                for one in busiest[:3]
            ),
            *arena_evidence(base),
        ),
        settings=(),
        cpu="less: hot threads take their locks without company; 4 % was seen with 80 hot threads of 1776",
        memory="flat to a little more: as many arenas as hot threads",
        risk="an arena that outlives its thread keeps its memory: destroy it, or give it to the next such thread",
        verify="the report again: nthreads 1 in the new arenas, hardly a wait there",
        change=f"in each hot thread{which}: mallctl arenas.create, its index into thread.arena, thread.tcache.flush",
    )
