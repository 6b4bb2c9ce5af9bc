# SPDX-License-Identifier: MIT
"""Large objects cost an extra page each: cache_oblivious.

jemalloc puts each object of 16 KiB and more at a random offset within an extra page, so that equal
objects do not compete for cache lines. For 16 to 64 KiB that is 25 to 6 % of their memory. Speaks
when these pages are 10 % of what is allocated and 8 MiB. hew has no such page. The setting exists
from 5.3.1 on.
"""

from hew.analysis.advice.basis import MIB, is_hew, version
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "cache-oblivious"
LEAST_BYTES = 8 * MIB
LEAST_SHARE = 0.1
RARE_SAMPLES = 17


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or is_hew(snapshot) or not snapshot.totals.allocated:
        return None
    if snapshot.option("prof") is True and (snapshot.number_option("lg_prof_sample") or 0) < RARE_SAMPLES:
        return None  # each sampled object is a large one, so the report shows the profiler's own cost
    on = snapshot.opt.get("cache_oblivious", snapshot.config.get("cache_oblivious")) is True
    count = sum(one.curlextents or 0 for one in arena.lextents)
    extra = count * snapshot.page
    if not on or extra < LEAST_BYTES or extra < LEAST_SHARE * snapshot.totals.allocated:
        return None
    settable = version(snapshot) >= (5, 3, 1)
    return Advice(
        rule=NAME,
        title="each large object takes one page more than it needs",
        subject=snapshot.subject,
        evidence=(
            Evidence("large objects", count, Unit.COUNT, f"{arena.where}.lextents[].curlextents"),
            Evidence("pages added to them", extra, Unit.BYTES, "curlextents × arenas.page"),
            Evidence("allocated", snapshot.totals.allocated, Unit.BYTES, "stats.allocated"),
        ),
        settings=(Setting("cache_oblivious", "false"),) if settable else (),
        cpu="depends: buffers that are walked in step from their first byte on may compete for cache lines",
        memory=f"less: up to {extra // MIB} MiB",
        risk="low; measure programs that work on many equal large buffers at once",
        verify="stats.active and RSS, and CPU time under load",
        change=None if settable else "before 5.3.1 it is a choice at build time only (--disable-cache-oblivious)",
    )
