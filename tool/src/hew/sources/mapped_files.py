# SPDX-License-Identifier: MIT
"""Where a file that a process has mapped can be opened here.

The kernel writes the path that it would have for us. Below the process's own root lies another file, or none, when it
called chroot() or was put into a container by steps; and a deleted file, or one that lives in memory (memfd), has no
path at all. The number of the file tells whether a path leads to it; /proc/PID/map_files leads to each, for root alone.
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
