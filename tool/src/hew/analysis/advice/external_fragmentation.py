# SPDX-License-Identifier: MIT
"""Slabs are kept alive by few objects.

Speaks when the free part of slabs is 16 MiB and 30 % of all slabs. A steady program keeps its slabs
more than 80 % full. Pages already returned (hew's holes) do not count.

Allocators cannot move objects, so no setting returns this. Fewer arenas help when the same classes
are kept by many.
"""

from hew.analysis.advice.basis import MIB
from hew.analysis.memory import slab_bytes, slab_waste
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.statistics import Snapshot

NAME = "external-fragmentation"
LEAST_BYTES = 16 * MIB
LEAST_SHARE = 0.3
WORST = 3
MANY_ARENAS = 8


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None:
        return None
    held, lost = sum(map(slab_bytes, arena.bins)), sum(map(slab_waste, arena.bins))
    lost -= arena.holes or 0
    if lost < LEAST_BYTES or lost < LEAST_SHARE * held:
        return None
    evidence = [
        Evidence(
            "unused room in slabs",
            lost,
            Unit.BYTES,
            f"{arena.where}.bins[].(curslabs × slab_size - curregs × size) - holes",
        ),
        Evidence("slabs", held, Unit.BYTES, f"{arena.where}.bins[].curslabs × slab_size"),
    ]
    for one in sorted(arena.bins, key=slab_waste, reverse=True)[:WORST]:
        if slab_waste(one) * 10 >= lost:
            full = 1 - slab_waste(one) / slab_bytes(one)
            where = f"{arena.where}.bins[{one.size} B].curregs, curslabs"
            evidence.append(Evidence(f"slabs of {one.size} B are full to", full, Unit.SHARE, where))
            evidence.append(Evidence("  unused there", slab_waste(one), Unit.BYTES, where))
    settings = _fewer(snapshot)
    return Advice(
        rule=NAME,
        title="slabs are held by few live objects",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=settings,
        cpu="threads may wait more with fewer arenas: look at num_wait" if settings else "none",
        memory=f"less: some part of {lost // MIB} MiB",
        risk="low",
        verify="curregs against curslabs in the report again, at the same point of the program's life",
        change="allocate what lives long before or apart from what lives short (an arena of its own: arenas.create); "
        "release caches as a whole; programs that can move objects do so by experimental.utilization.query",
    )


def _fewer(snapshot: Snapshot) -> tuple[Setting, ...]:
    count = len(snapshot.arenas)
    return (Setting("narenas", str(count // 4)),) if count >= MANY_ARENAS else ()
