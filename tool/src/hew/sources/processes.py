# SPDX-License-Identifier: MIT
"""Reads /proc: process trees, resident memory, CPU time, mapped allocator libraries. A process that is gone reads as
nothing, never as an error."""

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")
PROC = "/proc"


def read_text(path: str) -> str:
    """A whole file as text, or nothing."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - hundreds of times a second: no Path objects
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def sizes_in(path: str) -> dict[str, int]:
    """The `Name:  123 kB` lines of a file such as /proc/PID/status, in bytes."""
    return {name: int(value) << 10 for name, value in re.findall(r"^(\w+):\s+(\d+) kB", read_text(path), re.MULTILINE)}


def threads(pid: int) -> list[str]:
    """The numbers of a process's threads."""
    try:
        return os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208 - many times a second: no Path objects
    except OSError:
        return []


def name_of(pid: int, thread: str | None = None) -> str:
    """What a process, or one of its threads, is called."""
    return read_text(f"{PROC}/{pid}/comm" if thread is None else f"{PROC}/{pid}/task/{thread}/comm").strip()


def own_numbers(pid: int) -> dict[int, str]:
    """A process's threads by the numbers that it knows itself (in a PID namespace they are others than ours)."""
    found = {}
    within = len(value_of(f"{PROC}/{pid}/status", "NSpid").split()) > 1
    for thread in threads(pid):
        own = value_of(f"{PROC}/{pid}/task/{thread}/status", "NSpid").split()[-1:] if within else [thread]
        found.update({int(number): thread for number in own})
    return found


def own_number(pid: int) -> int:
    """A process's number as it knows it itself: in a PID namespace it is another than ours."""
    return int((value_of(f"{PROC}/{pid}/status", "NSpid").split() or [str(pid)])[-1])


def children(pid: int) -> list[int]:
    """The live children of every thread of a process."""
    paths = (f"{PROC}/{pid}/task/{thread}/children" for thread in threads(pid))
    return [int(child) for path in paths for child in read_text(path).split()]


def tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for parent in found:
        found.extend(children(parent))
    return found


def resident(pid: int) -> int:
    """Resident memory in bytes, from statm: one short read without the lock that smaps_rollup takes."""
    fields = read_text(f"{PROC}/{pid}/statm").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else 0


def memory_status(pid: int) -> tuple[int, int]:
    """VmRSS and VmHWM in bytes."""
    found = sizes_in(f"{PROC}/{pid}/status")
    return found.get("VmRSS", 0), found.get("VmHWM", 0)


def proportional(pids: Sequence[int]) -> int | None:
    """The sum of several processes' PSS, in bytes: shared pages count once. None if one of them cannot be read."""
    found = [sizes_in(f"{PROC}/{pid}/smaps_rollup").get("Pss") for pid in pids]
    return None if not found or None in found else sum(one or 0 for one in found)


def command_line(pid: int) -> str:
    """The words a process was started with."""
    return read_text(f"{PROC}/{pid}/cmdline")


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name: [0] is the state (field 3 of the manual page)."""
    return named_stat(pid)[1]


def named_stat(pid: int) -> tuple[str, list[str]]:
    """The name in /proc/PID/stat, and the fields behind it."""
    head, _, fields = read_text(f"{PROC}/{pid}/stat").rpartition(")")
    return head.partition("(")[2], fields.split()


def start_time(pid: int) -> int | None:
    """When a process started, in ticks since boot: with the pid, its identity."""
    fields = stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 and fields[0] != "Z" else None


def cpu_time(pid: int) -> float:
    """CPU seconds of a process and of the children it has waited for.

    Its own from its CPU clock (nanoseconds; the id is built as the kernel's MAKE_PROCESS_CPUCLOCK does), its
    children's from stat (ticks).
    """
    try:
        own = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
    fields = stat_fields(pid)
    waited = sum(int(field) for field in fields[13:15]) / TICK if len(fields) > 14 else 0.0
    return own + waited


def mapped_libraries(pid: int) -> set[Path]:
    """The files that a process has mapped, by their real paths."""
    lines = read_text(f"{PROC}/{pid}/maps").splitlines()
    return {Path(fields[5]) for fields in (line.split(maxsplit=5) for line in lines) if len(fields) == 6}


def value_of(path: str, name: str) -> str:
    """The value behind `name :` in a file such as /proc/cpuinfo, or nothing."""
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", read_text(path), re.MULTILINE)
    return found[1] if found else ""
