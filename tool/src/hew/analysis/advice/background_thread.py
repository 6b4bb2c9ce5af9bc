# SPDX-License-Identifier: MIT
"""Unused pages stay because nothing purges: no background thread, and the program is idle.

Without background threads jemalloc's decay moves only when the program allocates or frees. Speaks
when dirty pages are half of resident memory and 16 MiB or more, the arenas are older than two decay
times, no background thread runs, and less than a tenth of the decay steps have happened.

Silent where the arenas hand out as many bytes in a decay time as are dirty, or a quarter of them is
returned in it. One report cannot tell idle pages from pages freed just before it, so this is
*likely*. Use a report from the middle of the run.
"""

from hew.analysis.advice.basis import MIB, Basis, basis, is_hew
from hew.analysis.memory import pages
from hew.model.advice import Advice, Case, Certainty, Evidence, Setting
from hew.model.figures import Unit

NAME = "background-thread"
LEAST_BYTES = 16 * MIB
LEAST_SHARE = 0.5
DECAY_TIMES = 2.0
STEPS = 200.0
STEPS_SEEN = 0.1
SHARE_PURGED = 0.25
LEAST_LARGE = 16 << 10  # bytes of the smallest large class: reports do not tell of what classes large requests were


def _works(base: Basis, decay: float, idle: int) -> bool:
    """Whether dirty pages come and go all the time."""
    purged = (pages(base.snapshot, base.arena.dirty_purged) or 0) / base.seconds * decay
    small = sum(one.size * (one.nmalloc or 0) for one in base.arena.bins)
    handed_out = (small + LEAST_LARGE * (base.arena.large.nmalloc or 0)) / base.seconds * decay
    return handed_out >= idle or purged >= SHARE_PURGED * idle


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    decay = base.snapshot.layout.dirty_decay_ms if base else None
    if base is None or decay is None or decay <= 0 or base.snapshot.option("background_thread") is not False:
        return None
    idle = pages(base.snapshot, base.arena.pdirty) or 0
    resident = base.snapshot.totals.resident or 0
    if idle < LEAST_BYTES or idle < LEAST_SHARE * resident or base.seconds < DECAY_TIMES * decay / 1e3:
        return None
    steps = base.seconds / (decay / 1e3) * STEPS
    if (base.arena.dirty_npurge or 0) > STEPS_SEEN * steps or _works(base, decay / 1e3, idle):
        return None
    return Advice(
        rule=NAME,
        title="dirty pages outlive their decay time: no thread purges while the program is idle",
        subject=base.snapshot.subject,
        evidence=(
            Evidence("dirty pages", idle, Unit.BYTES, f"{base.arena.where}.pdirty"),
            Evidence("resident", resident, Unit.BYTES, "stats.resident"),
            Evidence("should be kept for", decay / 1e3, Unit.SECONDS, "arenas.dirty_decay_ms"),
            Evidence("age", base.seconds, Unit.SECONDS, f"{base.arena.where}.uptime_ns"),
            Evidence("times purged", base.arena.dirty_npurge or 0, Unit.COUNT, f"{base.arena.where}.dirty_npurge"),
            Evidence("background threads", 0, Unit.COUNT, "opt.background_thread"),
        ),
        settings=(Setting("background_thread", "true", live="background_thread"),),
        cpu="hardly any: the thread sleeps unless pages are due; purging leaves the program's threads",
        memory=f"less: up to {idle // MIB} MiB go back within {decay / 1e3:g} s",
        risk="a thread of its own in the process: fork() without exec loses it, and some sandboxes refuse it"
        + ("" if not is_hew(base.snapshot) else " (it is hew's default)"),
        verify="RSS of the idle process, before and after",
        change="with the program's threads quiet, mallctl arena.<i>.decay once has the same effect",
        certainty=Certainty.LIKELY,
    )
