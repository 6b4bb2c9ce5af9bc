# SPDX-License-Identifier: MIT
"""Large objects cost a page more than they need: cache_oblivious.

jemalloc puts each object of 16 KiB and more at a random place within one page more than its size, so that equal
objects do not compete for the same lines of the processor's cache. For objects of 16 to 64 KiB that is 25 to 6 %
of their memory. Speaks when these pages are 10 % of what is allocated and 8 MiB or more; as long as the pages are
not written, they are not resident, so the cost is address space and up to that much RSS. hew has no such page.
"""

from hew.analysis.advice.basis import MIB, is_hew, version
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "cache-oblivious"
LEAST_BYTES = 8 * MIB
LEAST_SHARE = 0.1


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or is_hew(snapshot) or not snapshot.totals.allocated:
        return None
    if "cache_oblivious" not in snapshot.opt and version(snapshot) < (5, 3, 0):
        return None  # 5.2 has it as a choice at build time only
    on = snapshot.option("cache_oblivious") is True
    count = sum(one.curlextents or 0 for one in arena.lextents)
    extra = count * snapshot.page
    if not on or extra < LEAST_BYTES or extra < LEAST_SHARE * snapshot.totals.allocated:
        return None
    return Advice(
        rule=NAME,
        title="each large object takes one page more than it needs",
        subject=snapshot.subject,
        evidence=(
            Evidence("large objects", count, Unit.COUNT, f"{arena.where}.lextents[].curlextents"),
            Evidence("pages added to them", extra, Unit.BYTES, "curlextents × arenas.page"),
            Evidence("allocated", snapshot.totals.allocated, Unit.BYTES, "stats.allocated"),
        ),
        settings=(Setting("cache_oblivious", "false"),),
        cpu="depends: buffers that are walked in step from their first byte on may compete for cache lines",
        memory=f"less: up to {extra // MIB} MiB",
        risk="low; measure programs that work on many equal large buffers at once",
        verify="stats.active and RSS, and CPU time under load",
    )
