# SPDX-License-Identifier: MIT
"""More arenas than the process may use CPUs for: narenas was taken from the machine, not from the container.

jemalloc makes four arenas for each CPU that it sees, and it does not see the CPU limit of a container's cgroup.
Each arena keeps partly used slabs and idle pages of its own. Speaks when more arenas are in use than four for each
CPU (rounded up) that the process may use, and nobody is waiting for locks. The limit is read from the process's
cgroup and affinity, or given with `--cpus`; without either, this rule is silent.
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
