# SPDX-License-Identifier: MIT
"""More arenas than the container's CPUs need.

jemalloc makes four arenas for each CPU of the machine, and does not see a container's CPU limit.
Each arena keeps partly used slabs and idle pages. Speaks when more than four arenas for each usable
CPU are in use and no thread waits for locks. The CPUs are read from cgroup and affinity, or given
with `--cpus`.
"""

import math

from hew.analysis.advice.basis import arena_evidence, arena_wait, basis, is_hew
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "narenas-limit"
ARENAS_A_CPU = 4


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    base = basis(case)
    if base is None or case.cpus is None:
        return None
    enough = ARENAS_A_CPU * math.ceil(case.cpus)
    if len(base.snapshot.arenas) <= enough or arena_wait(base.arena, base.seconds).much:
        return None
    return Advice(
        rule=NAME,
        title=f"{len(base.snapshot.arenas)} arenas where {case.cpus:g} CPU{'' if case.cpus == 1 else 's'} may be used",
        subject=base.snapshot.subject,
        evidence=(
            Evidence("CPUs that the process may use", case.cpus, Unit.COUNT, "cgroup cpu.max, affinity, or --cpus"),
            *arena_evidence(base),
        ),
        settings=(Setting("narenas", str(enough)),),
        cpu="none to speak of: no more threads than CPUs can meet in an arena at a time",
        memory="less: partly used slabs and idle pages of the arenas that are left out",
        risk="low; a thread that is stopped by the CPU limit while it holds a lock makes others of its arena wait",
        verify="RSS under the usual load, and num_wait in the report",
        change=None if is_hew(base.snapshot) else "hew counts the CPUs of the cgroup by itself",
    )
