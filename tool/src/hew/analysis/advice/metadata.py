# SPDX-License-Identifier: MIT
"""The allocator's own data is large.

Speaks when metadata is 16 MiB and a quarter of resident memory. It grows with arenas, threads and
extents; 1 to 5 % is usual.
"""

from hew.analysis.advice.basis import MIB, threads_of
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "metadata"
LEAST_BYTES = 16 * MIB
LEAST_SHARE = 0.25


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    if snapshot is None or not snapshot.totals.metadata or not snapshot.totals.resident:
        return None
    size, resident = snapshot.totals.metadata, snapshot.totals.resident
    if size < LEAST_BYTES or size < LEAST_SHARE * resident:
        return None
    arenas, threads = len(snapshot.arenas), threads_of(case)
    fewer = max(arenas // 8, 1)
    evidence = [
        Evidence("metadata", size, Unit.BYTES, "stats.metadata"),
        Evidence("resident", resident, Unit.BYTES, "stats.resident"),
        Evidence("arenas in use", arenas, Unit.COUNT, "stats.arenas"),
    ]
    if threads is not None:
        evidence.append(Evidence("threads", threads, Unit.COUNT, "stats.arenas.merged.nthreads"))
    return Advice(
        rule=NAME,
        title="the allocator's own data is a large part of what is resident",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=(Setting("narenas", str(fewer)),) if arenas > 1 else (),
        cpu="none, unless threads begin to wait for the arenas that are left: look at num_wait",
        memory=f"less: about {size // MIB * (arenas - fewer) // max(arenas, 1)} MiB, as far as it is the arenas'",
        risk="low with few busy threads",
        verify="stats.metadata in the report again",
        change="fewer threads, or caches of fewer classes (a smaller tcache_max), where it is not the arenas",
    )
