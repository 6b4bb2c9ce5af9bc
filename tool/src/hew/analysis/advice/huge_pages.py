# SPDX-License-Identifier: MIT
"""Huge pages make returned memory resident again.

Needs the process and its report together. Speaks when anonymous resident memory is 32 MiB and a
quarter more than the allocator knows, and as much is in huge pages: the kernel has refilled huge
pages of which the allocator had returned a part.
"""

from hew.analysis.advice.basis import MIB
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "huge-pages"
LEAST_BYTES = 32 * MIB
LEAST_SHARE = 0.25


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    snapshot, process = case.snapshot, case.process
    if snapshot is None or process is None or process.memory.huge is None or snapshot.totals.resident is None:
        return None
    known, memory = snapshot.totals.resident, process.memory
    more = memory.anonymous - known
    if more < LEAST_BYTES or more < LEAST_SHARE * known or process.memory.huge < more:
        return None
    files = f"/proc/{process.pid}/smaps_rollup"
    evidence = [
        Evidence("resident memory of no file", memory.anonymous, Unit.BYTES, f"{files}: Anonymous"),
        Evidence("resident as the allocator counts", known, Unit.BYTES, "stats.resident"),
        Evidence("in huge pages", process.memory.huge, Unit.BYTES, f"{files}: AnonHugePages"),
    ]
    return Advice(
        rule=NAME,
        title="huge pages hold memory that the allocator has returned",
        subject=snapshot.subject,
        evidence=tuple(evidence),
        settings=(Setting("thp", "never"),),
        cpu="more where huge pages did good: address translation of dense, large heaps",
        memory=f"less: up to {more // MIB} MiB",
        risk="measure the CPU time of memory-bound work; a longer decay breaks up fewer huge pages",
        verify="AnonHugePages and Rss of the process (/proc/PID/smaps_rollup) after some hours",
        change="or the kernel: /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none lower than 511",
    )
