# SPDX-License-Identifier: MIT
"""Statistics that programs on jemalloc (or hew) have written into a folder: the last whole report of each file."""

import os
import stat
from collections import Counter
from pathlib import Path

from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.metric import Observed
from hew.model.statistics import Snapshot
from hew.sources.export import reasons
from hew.sources.statistics.stream import read_statistics

MOST_FILES = 1000
MOST_BYTES = 64 << 20  # of a file: some hundred reports


@dataclass(frozen=True)
class _Read:
    """A file as it was when it was read; None: there is nothing in it."""

    identity: tuple[int, int, int]
    snapshot: Snapshot | None
    reason: str


class Dumps:
    """A folder of dumps. A file that has not changed is not read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, _Read] = {}

    def read(self, errors: Counter[str]) -> list[Observed]:
        """What the files say, in the order of their names; those that cannot be read are counted."""
        known, found = {}, []
        for path, about in self._files(errors):
            identity = (about.st_ino, about.st_size, about.st_mtime_ns)
            one = self._known.get(path.name)
            if one is None or one.identity != identity:
                one = _Read(identity, *_last_report(path, about.st_size))
            known[path.name] = one
            if one.snapshot is None:
                errors[one.reason] += 1
                continue
            service = path.name.split(".")[0] or path.name
            found.append(Observed(service, one.snapshot, dump=path.name, modified=about.st_mtime_ns / 1e9))
        self._known = known
        return found

    def _files(self, errors: Counter[str]) -> list[tuple[Path, os.stat_result]]:
        """The plain files, less hidden ones; a link or a pipe could lead anywhere or wait for ever."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if not name.startswith("."))  # noqa: PTH208
        except OSError:
            errors[reasons.UNREADABLE] += 1
            return []
        found = []
        for name in names[:MOST_FILES]:
            path = self._folder / name
            try:
                about = path.lstat()
            except OSError:
                continue  # deleted meanwhile
            if stat.S_ISREG(about.st_mode):
                found.append((path, about))
        return found


def _last_report(path: Path, size: int) -> tuple[Snapshot | None, str]:
    if size > MOST_BYTES:
        return None, reasons.TOO_LARGE
    try:
        reports = read_statistics(str(path)).snapshots
    except HewError:
        return None, reasons.GARBAGE
    except OSError:
        return None, reasons.UNREADABLE
    whole = [one for one in reports if one.whole and one.totals.allocated is not None]
    return (whole[-1], "") if whole else (None, reasons.GARBAGE)
