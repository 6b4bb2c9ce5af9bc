# SPDX-License-Identifier: MIT
"""Where the files of a running process are: also below another root, deleted, or in memory."""

from collections.abc import Sequence
from pathlib import Path

from hew.model.process import Area
from hew.model.profile import Mapping
from hew.sources.mapped_files import find_mapped
from hew.sources.process_memory import parse_areas
from hew.sources.processes import PROC, own_number, read_text
from hew.sources.symbols.perf_map import PerfMap
from hew.sources.symbols.symbolise import Finder


def live_finder(pid: int, folders: Sequence[Path] = (), lines: bool = True) -> Finder:
    """For a process that runs; debug files are looked for in `folders`, too."""
    root = Path(f"{PROC}/{pid}/root")
    # A program that called chroot() has written its map before, in our root.
    maps = [one / "tmp" / f"perf-{own_number(pid)}.map" for one in (root, Path("/"))]
    perf_map = PerfMap(next((one for one in maps if one.is_file()), None))
    return Finder(root, live=_Files(pid).find, folders=folders, lines=lines, perf_map=perf_map)


class _Files:
    """What the process has mapped now, to be executed."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        areas = parse_areas(read_text(f"{PROC}/{pid}/maps"))
        self._areas: dict[int, Area] = {one.start: one for one in areas if "x" in one.rights and one.inode}

    def find(self, mapping: Mapping) -> tuple[bool, Path | None]:
        """Whether it is still mapped; and its file, where we can reach that."""
        area = self._areas.get(mapping.start)
        if area is None or area.end != mapping.end:
            return False, None
        return True, find_mapped(self._pid, area)
