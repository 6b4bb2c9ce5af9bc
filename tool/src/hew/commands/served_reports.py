# SPDX-License-Identifier: MIT
"""Reports that `hew serve` keeps for comparison: of files named at the start, and of processes on request."""

import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from hew.analysis.changes import changes
from hew.model.errors import HewError
from hew.model.lazy_dataclass import dataclass
from hew.model.live import LiveView
from hew.model.serving import Comparison, Group, Kept
from hew.model.snapshot_view import Change
from hew.model.statistics import Part, Snapshot
from hew.sources.serve.words import AnswerError
from hew.sources.statistics.stream import read_statistics

MOST = 32  # of processes; the oldest goes. Files stay
CLASSES = 30  # size classes that a comparison names: those that changed most
INSIDE = "by the statistics"


@dataclass(frozen=True)
class _Report:
    kept: Kept
    snapshot: Snapshot | None
    parts: tuple[Part, ...] = ()


class Keeper:
    """Kept reports by number."""

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._lock = threading.Lock()
        self._files = {number: _of_file(number, path) for number, path in enumerate(files, 1)}
        self._live: OrderedDict[int, _Report] = OrderedDict()  # under the lock, as the number
        self._next = len(self._files) + 1

    def keep(self, view: LiveView) -> Kept:
        """What a process looks like now."""
        moment = view.moment
        with self._lock:
            title = f"{moment.name} {moment.pid}"
            kept = Kept(self._next, title, time.time(), moment.outside.resident)
            self._live[kept.number] = _Report(kept, moment.snapshot, view.parts)
            self._next += 1
            if len(self._live) > MOST:
                self._live.popitem(last=False)
        return kept

    def all(self) -> list[Kept]:
        """In the order in which they were kept."""
        with self._lock:
            return [one.kept for one in (*self._files.values(), *self._live.values())]

    def compare(self, before: int, after: int) -> Comparison:
        """Two of them."""
        first, second = self._of(before), self._of(after)
        groups = []
        if first.kept.resident is not None and second.kept.resident is not None:
            resident = Change("resident", first.kept.resident, second.kept.resident)
            groups.append(Group("resident memory", (resident, *_parts(first.parts, second.parts))))
        if first.snapshot is not None and second.snapshot is not None:
            found = changes(first.snapshot, second.snapshot, CLASSES)
            of_sizes = tuple(one for one in found if one.label.startswith("objects of "))
            groups.append(Group(INSIDE, tuple(one for one in found if one not in of_sizes)))
            groups.append(Group("size classes that changed most", of_sizes))
        return Comparison(first.kept, second.kept, tuple(one for one in groups if one.changes))

    def _of(self, number: int) -> _Report:
        with self._lock:
            found = self._files.get(number) or self._live.get(number)
        if found is None:
            raise AnswerError(404, f"there is no kept report {number} (any more)")
        return found


def has_reports(path: Path) -> bool:
    """Whether a file in a folder is one to compare. A link or a pipe could lead anywhere or wait for ever."""
    try:
        return stat.S_ISREG(path.lstat().st_mode) and bool(read_statistics(str(path)).snapshots)
    except (HewError, OSError):
        return False


def _parts(before: Sequence[Part], after: Sequence[Part]) -> tuple[Change, ...]:
    """The waterfalls of both. A part that only one has was nothing in the other."""
    first = {one.label: one.bytes or 0 for one in before}
    second = {one.label: one.bytes or 0 for one in after}
    labels = dict.fromkeys((*first, *second))
    return tuple(Change(label, first.get(label, 0), second.get(label, 0)) for label in labels)


def _of_file(number: int, path: Path) -> _Report:
    """The last whole report of a file, or what there is of it."""
    reports = read_statistics(str(path)).snapshots
    if not reports:
        raise HewError(f"{path}: no statistics in it")
    whole = [one for one in reports if one.whole] or list(reports)
    return _Report(Kept(number, path.name, path.stat().st_mtime, None), whole[-1])
