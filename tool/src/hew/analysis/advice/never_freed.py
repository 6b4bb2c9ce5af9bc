# SPDX-License-Identifier: MIT
"""Objects of one size are hardly ever freed: a leak, or data that is kept.

Speaks when one class holds 32 MiB and half of all that is allocated, and nine in ten of its objects
are still there. The program must also have requested as many objects of other sizes, of which less
than a tenth stay.

One report cannot tell a leak from a growing table, so this is *likely*, and no setting helps. `hew
watch` or two reports show whether it goes on; a heap profile shows the stacks.
"""

from hew.analysis.advice.basis import MIB
from hew.model.advice import Advice, Case, Certainty, Evidence
from hew.model.figures import Unit
from hew.model.statistics import Arena, Bin, total

NAME = "never-freed"
LEAST_BYTES = 32 * MIB
LEAST_SHARE = 0.5
STILL_THERE = 0.9
OTHERS_KEPT = 0.1


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot = case.snapshot
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or not arena.bins or not snapshot.totals.allocated:
        return None
    most = max(arena.bins, key=_held)
    held, taken = _held(most), most.nrequests or 0
    if held < LEAST_BYTES or held < LEAST_SHARE * snapshot.totals.allocated:
        return None
    if not taken or (most.curregs or 0) < STILL_THERE * taken or not _others_come_and_go(arena, most):
        return None
    where = f"{arena.where}.bins[{most.size} B]"
    return Advice(
        rule=NAME,
        title=f"objects of {most.size} bytes are taken and hardly ever freed",
        subject=snapshot.subject,
        evidence=(
            Evidence("they hold", held, Unit.BYTES, f"{where}.curregs × size"),
            Evidence("allocated in all", snapshot.totals.allocated, Unit.BYTES, "stats.allocated"),
            Evidence("objects of this size", most.curregs or 0, Unit.COUNT, f"{where}.curregs"),
            Evidence("ever asked for", taken, Unit.COUNT, f"{where}.nrequests"),
        ),
        settings=(),
        cpu="none",
        memory="what they hold, if it is a leak; a leak goes on to grow",
        risk="none: this is for looking, not for setting; a table that is meant to be kept looks the same",
        verify="hew stats FIRST SECOND, with two reports some time apart: does their number grow without end?",
        otherwise="if it is a leak: the process grows until its limit, or the machine's memory, is reached",
        change="find their stacks: a heap profile (prof:true; hew ctl PID --heap FILE of a process on hew)",
        certainty=Certainty.LIKELY,
    )


def _held(one: Bin) -> int:
    return (one.curregs or 0) * one.size


def _others_come_and_go(arena: Arena, most: Bin) -> bool:
    """Whether the program uses other sizes as often, and frees those."""
    others = [one for one in arena.bins if one is not most]
    asked = total(one.nrequests for one in others) or 0
    kept = total(one.curregs for one in others) or 0
    return asked >= (most.nrequests or 0) and kept < OTHERS_KEPT * asked
