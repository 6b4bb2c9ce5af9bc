# SPDX-License-Identifier: MIT
"""Finds a path by which we can open a file that a process has mapped.

The kernel reports the path in our own view. In the process's root that path may name another file or none, if the
process called chroot() or is in a nested container. A deleted file, or one in memory (memfd), has no path at all. The
inode shows whether a path is right. /proc/PID/map_files has every file, but only for root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from hew.model.process import Area
from hew.sources.processes import PROC

DELETED = " (deleted)"


def find_mapped(pid: int, area: Area) -> Path | None:
    """The very file of an area; None where we cannot reach it."""
    return next((Path(path) for path in _places(pid, area) if _number(path) == area.inode), None)


def file_of(pid: int, area: Area) -> Path:
    """The same, or else a file where it should be: layers of file systems may number files otherwise than the map."""
    by_root, by_map = f"{PROC}/{pid}/root{area.path}", _by_map(pid, area)
    there = by_map if area.path.endswith(DELETED) or _number(by_root) is None else by_root
    return find_mapped(pid, area) or Path(there)


def _places(pid: int, area: Area) -> Iterator[str]:
    """What needs no rights first."""
    if not area.path.endswith(DELETED):
        yield f"{PROC}/{pid}/root{area.path}"
        yield area.path
    yield _by_map(pid, area)


def _by_map(pid: int, area: Area) -> str:
    return f"{PROC}/{pid}/map_files/{area.start:x}-{area.end:x}"


def _number(path: str) -> int | None:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - for each file of each process: no Path objects
    except OSError:
        return None
