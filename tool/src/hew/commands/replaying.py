# SPDX-License-Identifier: MIT
"""A recording of `hew watch` as `hew top` shows processes."""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from statistics import median

from hew.analysis.live import live_view
from hew.model.errors import HewError
from hew.model.live import LiveView, ProcessRow
from hew.sources.history.recording import Looks

GONE = 3.0  # periods without a look, and a process has ended


class ReplayFeed:
    """The looks of a file, as of a moment that is stepped through. Several threads may use it."""

    def __init__(self, looks: Looks) -> None:
        if not len(looks):
            raise HewError(f"{looks.source} has no look in it yet")
        self._looks = looks
        self._order = sorted(range(len(looks)), key=looks.at)
        self._ats = [looks.at(index) for index in self._order]
        self._times = sorted(set(self._ats))
        self._before = _before(looks, self._order)
        gaps = [later - at for at, later in zip(self._times, self._times[1:], strict=False)]
        self.period = median(gaps) if gaps else 1.0
        self._at = 0
        self._lock = threading.Lock()

    def step(self, count: int) -> bool:
        """Forward or back; whether that moved."""
        with self._lock:
            before, self._at = self._at, min(max(self._at + count, 0), len(self._times) - 1)
            return self._at != before

    def go_to_end(self) -> None:
        """The last look."""
        self.step(len(self._times))

    @property
    def title(self) -> str:
        """Where we are."""
        shown = datetime.fromtimestamp(self._times[self._at]).strftime("%Y-%m-%d %H:%M:%S")
        return f"{shown}, look {self._at + 1} of {len(self._times)}"

    def _now(self) -> dict[int, int]:
        """The last look at each process, by its number, until now."""
        now = self._times[self._at]
        begin, end = bisect_left(self._ats, now - GONE * self.period), bisect_right(self._ats, now)
        return {self._looks.pid(index): index for index in self._order[begin:end]}

    def processes(self) -> tuple[ProcessRow, ...]:
        """Those that were there, the largest first."""
        moments = [self._looks.record(index).moment for index in self._now().values()]
        rows = [
            ProcessRow(
                one.pid,
                one.name,
                "",
                one.allocator,
                one.outside.resident,
                sum(one.threads.values()),
                one.snapshot is not None,
            )
            for one in moments
        ]
        return tuple(sorted(rows, key=lambda row: -row.resident))

    def look(self, pid: int) -> LiveView:
        """One of them."""
        index = self._now().get(pid)
        if index is None:
            raise HewError(f"there was no process {pid} at that moment")
        before = self._before.get(index)
        earlier = self._looks.record(before).moment if before is not None else None
        return live_view(self._looks.record(index).moment, earlier)


def _before(looks: Looks, order: Sequence[int]) -> dict[int, int]:
    """The look before each one at the same process, where there is one."""
    last: dict[object, int] = {}
    found: dict[int, int] = {}
    for index in order:
        who = looks.who(index)
        if who in last:
            found[index] = last[who]
        last[who] = index
    return found
