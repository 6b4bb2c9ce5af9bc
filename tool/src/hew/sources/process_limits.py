# SPDX-License-Identifier: MIT
"""What a process may use: resource limits, CPUs, its control groups (both versions), the kernel's settings."""

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

from hew.model.process import Limits, System
from hew.sources.processes import PROC, read_text, value_of

HUGE = "/sys/kernel/mm/transparent_hugepage"
UNLIMITED = 1 << 60  # version 1 writes a number near 2^63 for "no limit"
MICROSECONDS = 100_000  # the usual period of a CPU quota


def read_limits(pid: int) -> Limits:
    """The limits of a process; of nested groups the CPUs of the smallest, the memory of the one with the least left."""
    quotas = [_quota(folder) for folder in _groups(pid, "cpu")]
    memory, used = read_group_memory(pid)
    return Limits(
        address_space=_limit(pid, resource.RLIMIT_AS),
        data=_limit(pid, resource.RLIMIT_DATA),
        locked=_limit(pid, resource.RLIMIT_MEMLOCK),
        cpus_allowed=_cpus(pid),
        cpus_of_group=min((one for one in quotas if one is not None), default=None),
        memory_of_group=memory,
        memory_used_by_group=used,
    )


def read_group_memory(pid: int) -> tuple[int | None, int | None]:
    """Limit and use of that control group of a process whose memory has the least left; None for what is not known."""
    memories = [_memory(folder) for folder in _groups(pid, "memory")]
    return min(
        ((limit, used) for limit, used in memories if limit is not None),
        key=lambda pair: pair[0] - (pair[1] or 0),
        default=(None, None),
    )


def read_system(pid: int) -> System:
    """The kernel's settings, and the link that jemalloc and hew read, as the process sees it."""
    kernel = f"{PROC}/sys/vm"
    try:
        link = os.readlink(f"{PROC}/{pid}/root/etc/malloc.conf")  # noqa: PTH115 - its text, which is no path
    except OSError:
        link = None
    mode = re.search(r"\[(\w+)\]", read_text(f"{HUGE}/enabled"))
    return System(
        huge_pages=mode[1] if mode else "absent",
        huge_page_fill=_whole(read_text(f"{HUGE}/khugepaged/max_ptes_none")),
        overcommit=_whole(read_text(f"{kernel}/overcommit_memory")),
        commit_limit=_kib("CommitLimit"),
        committed=_kib("Committed_AS"),
        most_areas=_whole(read_text(f"{kernel}/max_map_count")),
        conf_link=link,
    )


def _limit(pid: int, which: int) -> int | None:
    try:
        soft, _ = resource.prlimit(pid, which)
    except OSError:
        return None
    return None if soft == resource.RLIM_INFINITY else soft


def _cpus(pid: int) -> int:
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return os.cpu_count() or 1


def _groups(pid: int, controller: str) -> Iterator[Path]:
    """The folders of a process's group and of those around it, the innermost first."""
    for line in read_text(f"{PROC}/{pid}/cgroup").splitlines():
        number, names, path = line.split(":", 2)
        if number == "0" and not names:
            mount = _mount("cgroup2", "")
        elif controller in names.split(","):
            mount = _mount("cgroup", controller)
        else:
            continue
        if mount is None:
            continue
        inner = mount / path.lstrip("/")
        # In a container the path may be the host's, while what is mounted here is the group itself.
        folder = inner if inner.is_dir() else mount
        while folder.is_relative_to(mount):
            yield folder
            folder = folder.parent


def _mount(kind: str, controller: str) -> Path | None:
    """Where a hierarchy of control groups is mounted for us."""
    for line in read_text(f"{PROC}/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields = after.split()
        if len(fields) > 2 and fields[0] == kind and (not controller or controller in fields[2].split(",")):
            return Path(before.split()[4])
    return None


def _quota(folder: Path) -> float | None:
    """CPUs that a group may use at a time."""
    two = read_text(f"{folder}/cpu.max").split()
    if len(two) == 2 and two[0].isdigit():
        return int(two[0]) / int(two[1])
    quota = _whole(read_text(f"{folder}/cpu.cfs_quota_us"))
    period = _whole(read_text(f"{folder}/cpu.cfs_period_us")) or MICROSECONDS
    return quota / period if quota is not None and quota > 0 else None


def _memory(folder: Path) -> tuple[int | None, int | None]:
    """A group's limit, and its usage less the pages of files, which the kernel takes before it ends a process."""
    limits = (_number(folder, "memory.max", "memory.limit_in_bytes"), _number(folder, "memory.high"))
    limit = min((one for one in limits if one is not None and one < UNLIMITED), default=None)
    used = _number(folder, "memory.current", "memory.usage_in_bytes")
    if limit is None or used is None:
        return limit, used
    stat = dict(line.split() for line in read_text(f"{folder}/memory.stat").splitlines() if line.count(" ") == 1)
    files = sum(int(stat.get(f"total_{name}", stat.get(name, 0))) for name in ("inactive_file", "active_file"))
    return limit, max(used - files, 0)


def _number(folder: Path, *names: str) -> int | None:
    return next((found for name in names if (found := _whole(read_text(f"{folder}/{name}"))) is not None), None)


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _kib(name: str) -> int:
    fields = value_of(f"{PROC}/meminfo", name).split()
    return int(fields[0]) << 10 if fields else 0
