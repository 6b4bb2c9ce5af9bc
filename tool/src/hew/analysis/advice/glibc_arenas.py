# SPDX-License-Identifier: MIT
"""glibc has many arenas, and hardly ever returns their memory.

glibc makes up to eight arenas a CPU, each with 64 MiB of address space. They are read from the
memory map. Speaks when there are more arenas than CPUs, at least four, and they hold 32 MiB and a
quarter of resident memory. `glibc-trim` says what of them is free.
"""

import math

from hew.analysis.advice.basis import MIB, swap_offer
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.known_allocators import GLIBC

NAME = "glibc-arenas"
LOOKS_AT = "process"
FEWEST = 4
LEAST_BYTES = 32 * MIB
LEAST_SHARE = 0.25
REGION = 64 * MIB


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    process = case.process
    if process is None or process.provider is None or process.provider.code.kind != GLIBC:
        return None
    cpus = math.ceil(case.cpus or process.limits.cpus_allowed)
    regions, resident = process.regions, sum(one.resident for one in process.regions)
    arenas = len({one.arena for one in regions if one.arena is not None}) or len(regions)
    if arenas < FEWEST or arenas <= cpus or resident < LEAST_BYTES or resident < LEAST_SHARE * process.memory.resident:
        return None
    maps = f"/proc/{process.pid}/smaps"
    evidence = [
        Evidence("arenas besides the main one", arenas, Unit.COUNT, f"/proc/{process.pid}/maps"),
        Evidence("address space they reserve", len(regions) * REGION, Unit.BYTES, maps),
        Evidence("of it resident", resident, Unit.BYTES, f"{maps}: Rss"),
        Evidence("resident memory of the process", process.memory.resident, Unit.BYTES, f"/proc/{process.pid}/status"),
        Evidence("threads", process.threads, Unit.COUNT, f"/proc/{process.pid}/stat"),
        Evidence("CPUs that the process may use", cpus, Unit.COUNT, "cgroup cpu.max, affinity, or --cpus"),
    ]
    wanted = max(2, cpus)
    return Advice(
        rule=NAME,
        title=f"{arenas} arenas of glibc hold {resident // MIB} MiB",
        subject="glibc",
        evidence=tuple(evidence),
        settings=(
            Setting("arena_max", str(wanted), variable="MALLOC_ARENA_MAX"),
            Setting("trim_threshold", "131072", variable="MALLOC_TRIM_THRESHOLD_"),
        ),
        cpu="more where threads allocate all the time: they share arenas, each with one lock",
        memory="less: what is free in the arenas left out; with a fixed trim threshold the main heap gets short, too",
        risk="low; a program that lives by malloc speed gets slower",
        verify="hew compare -- command, or RSS in a quiet hour",
        change=f"or another allocator: hew run -- command (hew compare shows what that does){swap_offer(process)}",
    )
