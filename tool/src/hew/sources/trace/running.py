# SPDX-License-Identifier: MIT
"""Whether the process that records into a file still does so."""

import os
from pathlib import Path

from hew.sources.trace.blocks import read_header


def writer_of(path: Path) -> int | None:
    """The process that a trace is of, when it runs and has the file in its memory; else None. A forked child keeps a
    mapping of its parent's file, so only the process that the header names counts."""
    with path.open("rb") as file:
        pid = read_header(file, path).pid
        inode = os.fstat(file.fileno()).st_ino
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # it has ended, or is not ours to look at
        return None
    name = path.resolve().name  # the device is another one there on some file systems
    return pid if any(_maps(line, inode, name) for line in lines) else None


def _maps(line: str, inode: int, name: str) -> bool:
    """Whether a line of /proc/PID/maps is of this file."""
    words = line.split(maxsplit=5)
    return len(words) == 6 and words[5].rpartition("/")[2] == name and int(words[4]) == inode
