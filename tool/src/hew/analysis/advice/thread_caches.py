# SPDX-License-Identifier: MIT
"""Thread caches hold more than their share.

Speaks when thread caches hold 16 MiB or more and a quarter of all that is allocated (jemalloc counts cached
objects as allocated). A cache is worth its bytes while its thread allocates; decay does not reach it, and threads
that sleep keep theirs. What each thread holds on average is among the evidence: some hundred KiB is usual with 32
KiB objects.
"""

from hew.analysis.advice.basis import MIB, is_hew, threads_of, version
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Snapshot

NAME = "thread-caches"
LEAST_BYTES = 16 * MIB
LEAST_SHARE = 0.25


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    cached = arena.tcache_bytes if arena else None
    if snapshot is None or arena is None or cached is None or not snapshot.totals.allocated:
        return None
    if cached < LEAST_BYTES or cached < LEAST_SHARE * snapshot.totals.allocated:
        return None
    threads = threads_of(case)
    evidence = [
        Evidence("in thread caches", cached, Unit.BYTES, f"{arena.where}.tcache_bytes"),
        Evidence("allocated", snapshot.totals.allocated, Unit.BYTES, "stats.allocated"),
    ]
    if threads:
        evidence += [
            Evidence("threads", threads, Unit.COUNT, f"{arena.where}.nthreads"),
            Evidence("a thread", cached / threads, Unit.BYTES, f"{arena.where}.tcache_bytes / nthreads"),
        ]
    if (largest := snapshot.layout.tcache_max) is not None:
        evidence.append(Evidence("objects are cached up to", largest, Unit.BYTES, "arenas.tcache_max"))
    return Advice(
        rule=NAME,
        title="thread caches hold a large part of what is allocated",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=_settings(snapshot),
        cpu="a little more: large objects go to the arena each time, small ones more often",
        memory="less: most of what caches hold, which is mostly their largest objects",
        risk="threads that do use large objects all the time get slower, and wait for their arena's pages",
        verify="tcache_bytes in the report again, and CPU time under load",
        change="threads that sleep for long can empty their cache first: mallctl thread.tcache.flush (or thread.idle)",
    )


def _settings(snapshot: Snapshot) -> tuple[Setting, ...]:
    if is_hew(snapshot) or version(snapshot) >= (5, 3, 0):
        return (Setting("tcache_max", "4096"),)
    return (Setting("lg_tcache_max", "12"),)
