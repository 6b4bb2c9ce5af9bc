# SPDX-License-Identifier: MIT
"""The hew processes of this host: finds them by their sockets, asks them all, and keeps what does not change."""

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hew.model.lazy_dataclass import dataclass
from hew.model.metric import Look, Observed
from hew.model.statistics import Snapshot
from hew.sources.control import find_socket
from hew.sources.export import reasons
from hew.sources.export.ask import Answer, ask_all
from hew.sources.export.dumps import Dumps
from hew.sources.export.kernel import START, boot_time, read_kernel
from hew.sources.export.service import service_of
from hew.sources.processes import PROC, TICK, named_stat, resident, start_time
from hew.sources.statistics.json_form import from_json

# A process without a socket is checked again: in each scrape while it is young, later every AGAIN seconds.
YOUNG, AGAIN = 60.0, 60.0


@dataclass(frozen=True)
class Wanted:
    """What a scrape returns. `seconds`: the time in which all processes must answer. `folder`: only processes whose
    socket is there. `whole`: all figures of `hew top`."""

    seconds: float = 5.0
    most: int = 1000
    older_than: float = 0.0
    per_arena: bool = False
    folder: Path | None = None
    whole: bool = False

    @property
    def letters(self) -> str:
        """Of the report: no destroyed arenas, no large classes, no unused extents; single arenas on request."""
        if self.whole:
            return "Jd"
        return "Jdle" if self.per_arena else "Jdale"


@dataclass
class _Known:
    """A process, as long as it lives."""

    born: int
    path: str | None = None
    looked: float = float("-inf")
    service: str = ""
    name: str = ""


class Watch:
    """Looks again and again. Not for several threads at once."""

    def __init__(self, wanted: Wanted, dumps: Dumps | None = None) -> None:
        self._wanted = wanted
        self._dumps = dumps
        self._known: dict[int, _Known] = {}
        self._errors: Counter[str] = Counter(dict.fromkeys(reasons.ALL, 0))

    def look(self) -> Look:
        """All processes and dumps now."""
        at, begun = time.time(), time.monotonic()
        places, left_out = self._places()
        boot = boot_time()
        seen = [one for answer in self._answers(places) if (one := self._observed(answer, boot)) is not None]
        seen.sort(key=lambda one: one.pid or 0)
        if self._dumps is not None:
            seen += self._dumps.read(self._errors)
        return Look(at, time.monotonic() - begun, tuple(seen), dict(self._errors), left_out)

    def _answers(self, places: dict[int, str]) -> Sequence[Answer]:
        return tuple(ask_all(places, self._wanted.letters, self._wanted.seconds)) if places else ()

    def _places(self) -> tuple[dict[int, str], int]:
        """The sockets by process, the largest processes first, and how many were too many."""
        self._find()
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        found = {
            pid: one.path
            for pid, one in self._known.items()
            if one.path is not None and now - one.born / TICK >= self._wanted.older_than and self._lies(one.path)
        }
        most = self._wanted.most
        if len(found) <= most:
            return found, 0
        largest = sorted(found, key=resident, reverse=True)[:most]
        return {pid: found[pid] for pid in largest}, len(found) - most

    def _lies(self, path: str) -> bool:
        """Whether a socket is where we look."""
        return self._wanted.folder is None or Path(path).parent.resolve() == self._wanted.folder.resolve()

    def _find(self) -> None:
        """Bring what is known of processes up to date."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        alive: dict[int, _Known] = {}
        for pid in [int(name) for name in os.listdir(PROC) if name.isdigit()]:  # noqa: PTH208
            name, fields = named_stat(pid)
            if len(fields) <= START or fields[0] in "ZX":
                continue
            born = int(fields[START])
            known = self._known.get(pid)
            one = alive[pid] = known if known is not None and known.born == born else _Known(born)
            if one.name != name:  # after an exec it is another program, maybe with another socket
                one.name, one.path, one.service, one.looked = name, None, "", float("-inf")
            young = now - born / TICK < YOUNG
            if one.path is None and (young or now - one.looked >= AGAIN) and os.access(f"{PROC}/{pid}/fd", os.R_OK):
                one.path, one.looked = find_socket(pid), now
        self._known = alive

    def _observed(self, answer: Answer, boot: float) -> Observed | None:
        """What an answer says. None if the process has ended, or for an error, which is counted."""
        known = self._known[answer.pid]
        snapshot, reason = _decoded(answer)
        kernel = read_kernel(answer.pid, boot)
        if kernel is None or start_time(answer.pid) != known.born:
            return None
        if snapshot is None:
            self._errors[reason] += 1
            known.path = None if reason != reasons.TIMEOUT else known.path  # it may have another one by now
            known.looked = float("-inf")
            return None
        if not known.service:
            known.service = service_of(answer.pid)
        return Observed(known.service, snapshot, answer.pid, known.name, kernel)


def _decoded(answer: Answer) -> tuple[Snapshot | None, str]:
    if answer.reason:
        return None, answer.reason
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None, reasons.GARBAGE
    snapshot = from_json(document)
    return (snapshot, "") if snapshot.totals.allocated is not None else (None, reasons.GARBAGE)
