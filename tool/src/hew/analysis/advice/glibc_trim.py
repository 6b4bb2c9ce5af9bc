# SPDX-License-Identifier: MIT
"""glibc keeps free memory that malloc_trim would return.

The free lists of every arena are read in the process's memory while it runs. Speaks when whole free
pages are resident, 32 MiB and a quarter of resident memory. glibc itself returns only memory behind
the last object of the heap, so one small object keeps all before it. malloc_trim(3) returns the
pages between objects too. What it returned was what had been predicted, on glibc 2.31, 2.36, 2.41
and 2.43.

A setting is advised only when half of it lies behind the last object; no setting returns the rest.
"""

from hew.analysis.advice.basis import MIB, swap_offer
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit

NAME = "glibc-trim"
LOOKS_AT = "process"
LEAST_BYTES = 32 * MIB
LEAST_SHARE = 0.25
BEHIND = 0.5


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    process = case.process
    heap = process.heap if process else None
    if process is None or heap is None:
        return None
    resident = process.memory.resident
    if heap.trimmable < max(LEAST_BYTES, LEAST_SHARE * resident):
        return None
    main = next(one for one in heap.arenas if one.main)
    where = f"/proc/{process.pid}/mem"
    evidence = (
        Evidence("malloc_trim(0) would return", heap.trimmable, Unit.BYTES, f"{where}, /proc/{process.pid}/pagemap"),
        Evidence(
            "free in glibc's heap", heap.free, Unit.BYTES, f"{where}: bins and top of its arenas ({len(heap.arenas)})"
        ),
        Evidence("of it behind the last object of the main heap", main.unused.top, Unit.BYTES, f"{where}: top"),
        Evidence("free beside objects, in the same pages", heap.scattered, Unit.BYTES, f"{where}: bins"),
        Evidence("heap from the system", heap.system, Unit.BYTES, f"{where}: system_mem"),
        Evidence("resident memory of the process", resident, Unit.BYTES, f"/proc/{process.pid}/status"),
    )
    behind = main.unused.top >= BEHIND * heap.trimmable
    settings = (Setting("trim_threshold", "131072", variable="MALLOC_TRIM_THRESHOLD_"),) if behind else ()
    call = "call malloc_trim(0) when a peak is over"
    change = f"or {call}" if behind else f"{call}; mallopt(M_TRIM_THRESHOLD) does so for the end of the heap alone"
    return Advice(
        rule=NAME,
        title=f"glibc keeps {heap.trimmable // MIB} MiB that the program does not use",
        subject=f"glibc {heap.version}",
        evidence=evidence,
        settings=settings,
        cpu="malloc_trim walks each arena's lists under its lock; what is needed again is faulted in, 2 µs a page",
        memory=f"up to {heap.trimmable // MIB} MiB less",
        risk="low, if it is called seldom: a program that soon needs the memory again gains nothing",
        verify=f"RSS (/proc/{process.pid}/status) before and after; hew advise {process.pid} is silent then",
        change=f"{change}{swap_offer(process)}",
    )
