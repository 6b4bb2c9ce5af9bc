# SPDX-License-Identifier: MIT
"""What the kernel says of a process for its metrics: three short files, and those of its control group."""

from hew.model.metric import Kernel
from hew.sources.process_limits import read_group_memory
from hew.sources.processes import PROC, TICK, read_text, sizes_in, stat_fields

# Fields of /proc/PID/stat behind the name.
MINOR, MAJOR, USER, SYSTEM, THREADS, START = 7, 9, 11, 12, 17, 19


def boot_time() -> float:
    """When the machine was started, in seconds since 1970; 0 where it is not told."""
    for line in read_text(f"{PROC}/stat").splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def read_kernel(pid: int, boot: float) -> Kernel | None:
    """The figures of a process; None when it has ended."""
    fields = stat_fields(pid)
    if len(fields) <= START or fields[0] in "ZX":
        return None
    status = sizes_in(f"{PROC}/{pid}/status")
    limit, used = read_group_memory(pid)
    return Kernel(
        resident=status.get("VmRSS"),
        anonymous=status.get("RssAnon"),
        swapped=status.get("VmSwap"),
        cpu=(int(fields[USER]) + int(fields[SYSTEM])) / TICK,
        minor_faults=int(fields[MINOR]),
        major_faults=int(fields[MAJOR]),
        threads=int(fields[THREADS]),
        started=boot + int(fields[START]) / TICK if boot else None,
        group_limit=limit,
        group_used=used,
    )
