# SPDX-License-Identifier: MIT
"""glibc keeps memory that nobody uses, and malloc_trim would give it back.

Read in the process's memory: the free lists of every arena, while the process goes on. Speaks when pages that hold
nothing else are free, resident, 32 MiB or more and a quarter of what is resident. glibc gives back by itself only what
lies behind the last object of the heap, and once a large block has been freed, only when that is twice the block (up
to 64 MiB): one small object at the end keeps all before it. malloc_trim(3) gives back the whole pages in between, too.

The numbers are those of malloc_info(3), and malloc_trim then gave back what had been said, on glibc 2.31, 2.36,
2.41 and 2.43 (`tool/tests/test_glibc_heap.py`). A setting is advised only when half of it lies behind the last object:
nothing else moves by a setting.
"""

from hew.analysis.advice.basis import MIB
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
        Evidence("malloc_trim(0) would give back", heap.trimmable, Unit.BYTES, f"{where}, /proc/{process.pid}/pagemap"),
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
    return Advice(
        rule=NAME,
        title=f"glibc keeps {heap.trimmable // MIB} MiB that nobody uses",
        subject=f"glibc {heap.version}",
        evidence=evidence,
        settings=settings,
        cpu="malloc_trim walks each arena's lists under its lock; what is needed again is faulted in, 2 µs a page",
        memory=f"up to {heap.trimmable // MIB} MiB less",
        risk="low, if it is called seldom: a program that soon needs the memory again gains nothing",
        verify=f"RSS (/proc/{process.pid}/status) before and after; hew advise {process.pid} is silent then",
        change=f"{call}; mallopt(M_TRIM_THRESHOLD) does so for the end of the heap alone"
        if not behind
        else f"or {call}",
    )
