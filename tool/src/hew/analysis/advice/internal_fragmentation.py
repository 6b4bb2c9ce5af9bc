# SPDX-License-Identifier: MIT
"""Objects are smaller than their size class.

Needs `prof:true,prof_stats:true`. Speaks for classes whose live samples asked for 15 % less than
the class has, where that adds up to 8 MiB. Four classes a doubling waste 10 % on average, so 15 %
means sizes just above a class. A class needs 100 samples.

jemalloc writes these numbers into the sum of all arenas only, which it leaves out when one arena is
in use: use `stats_print_opts:Ja`.
"""

from hew.analysis.advice.basis import MIB
from hew.model.advice import Advice, Case, Evidence
from hew.model.figures import Unit
from hew.model.statistics import Bin

NAME = "internal-fragmentation"
LEAST_BYTES = 8 * MIB
LEAST_SHARE = 0.15
LEAST_SAMPLES = 100


def wasted(one: Bin) -> float:
    """The share of a class's live objects that nobody asked for; 0 where no profile tells."""
    if not one.prof_live_count or one.prof_live_count < LEAST_SAMPLES or one.prof_live_requested is None:
        return 0.0
    return 1 - one.prof_live_requested / (one.prof_live_count * one.size)


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None:
        return None
    found = [(one, wasted(one) * one.size * (one.curregs or 0)) for one in arena.bins if wasted(one) >= LEAST_SHARE]
    found = sorted((pair for pair in found if pair[1] >= LEAST_BYTES), key=lambda pair: -pair[1])
    if not found:
        return None
    evidence: list[Evidence] = []
    for one, lost in found:
        where = f"{arena.where}.bins[{one.size} B]"
        asked = (one.prof_live_requested or 0) / (one.prof_live_count or 1)
        evidence.append(Evidence(f"unused in objects of {one.size} B", lost, Unit.BYTES, f"{where}.curregs × share"))
        evidence.append(Evidence("  asked for, on average", asked, Unit.BYTES, f"{where}.prof_live_requested / count"))
    sizes = ", ".join(str(one.size) for one, _ in found)
    return Advice(
        rule=NAME,
        title=f"objects of {sizes} bytes hold less than they have room for",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=(),
        cpu="none",
        memory=f"less: up to {sum(lost for _, lost in found) / MIB:.0f} MiB",
        risk="none for the program's meaning; it is a change of its code",
        verify="the same report: prof_live_requested against the class's size",
        change="ask for sizes that fill a class (a heap profile names the callers): trim a structure below the next "
        "smaller class, or let buffers grow by classes (nallocx, malloc_usable_size)",
    )
