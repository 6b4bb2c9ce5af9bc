# SPDX-License-Identifier: MIT
"""Heap profiles that `hew serve` shows: live ones of processes, and those kept for comparison."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from hew.analysis.profile.names import Wanted, selected
from hew.analysis.profile.pins import GROUPS, grouped, pins
from hew.analysis.profile.rows import difference, growth, rows
from hew.analysis.profile.tree import tree
from hew.model.lazy_dataclass import dataclass
from hew.model.live import ProcessRow
from hew.model.profile import Kind, Profile
from hew.model.profile_view import Shown
from hew.model.serving import KeptProfile
from hew.sources.profile.samples import placed
from hew.sources.serve.profile import FORMS, PPROF, named_bytes, named_profile, profile_of, samples_of
from hew.sources.serve.words import AnswerError
from hew.views.profile.pins_text import pins_document
from hew.views.profile.profile_proto import to_pprof
from hew.views.serve_document import flame_document

FRESH = 2.0  # seconds: all pages together have one profile
MOST_PINS = 100  # stacks
MOST = 12  # kept; the oldest goes
MOST_STACKS = 50_000  # of one that is kept
LINE = "line"
WAYS = ("", LINE, *GROUPS)
NOW = 0  # the number of what the process has now


@dataclass(frozen=True)
class _Taken:
    about: KeptProfile
    profile: Profile
    born: int | None  # when the process began: its number may be another's later


class Picturing:
    """Takes one profile at a time: naming addresses needs memory and a processor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of all that follows
        self._kept: OrderedDict[int, _Taken] = OrderedDict()
        self._last: tuple[float, _Taken] | None = None  # since when, by the monotonic clock
        self._next = 1

    def show(self, pid: int, born: int | None, of: int, base: int, by: str) -> dict[str, Any]:
        """A profile of the process, as flame.js draws it. `of`: the number of a kept profile, or NOW. `base`: a profile
        to compare with, or NOW for none. `by`: "" for functions, line, or another key of WAYS."""
        if by not in WAYS:
            raise AnswerError(400, f"by is one of {', '.join(WAYS[1:])}")
        if by in GROUPS and (of != NOW or base != NOW):
            raise AnswerError(400, f"a kept profile cannot be grouped by {by}")
        by_line = by == LINE
        with self._lock:
            newer = self._of(of, pid, born) if of != NOW else self._fresh(pid, born, by)
            older = self._of(base, pid, born) if base != NOW else None
            kept = [one.about for one in self._kept.values() if (one.about.pid, one.born) == (pid, born)]
        shown, before = newer.profile, older.profile if older else None
        both = difference(shown, before) if before else shown
        grown = growth(shown, before, Kind.INUSE_SPACE, by_line) if before else []
        name = f"{time.strftime('%H:%M:%S', time.localtime(older.about.at))}" if older else ""
        view = Shown(both, Kind.INUSE_SPACE, by_line, name, tuple(grown))
        return flame_document(newer.about, kept, view, tree(shown, before, by_line), rows(both, by_line))

    def pins(self, pid: int, sparse: int) -> dict[str, Any]:
        """Which stacks keep slabs of which at most `sparse` per cent are in use."""
        with self._lock:
            return pins_document(pins(placed(samples_of(pid), pid), sparse / 100), MOST_PINS)

    def keep(self, pid: int, born: int | None) -> KeptProfile:
        """Keep what the process has now."""
        with self._lock:
            taken = self._fresh(pid, born, "")
            if len(taken.profile.samples) > MOST_STACKS:
                raise AnswerError(
                    409, f"the profile has more than {MOST_STACKS} stacks: hew profile --pprof keeps it in a file"
                )
            about = KeptProfile(self._next, pid, taken.about.at, taken.about.bytes)
            self._kept[self._next] = _Taken(about, taken.profile, born)
            self._next += 1
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return about

    def _of(self, number: int, pid: int, born: int | None) -> _Taken:
        found = self._kept.get(number)
        if found is None or (found.about.pid, found.born) != (pid, born):
            raise AnswerError(404, f"there is no kept profile {number} of process {pid} (any more)")
        return found

    def _fresh(self, pid: int, born: int | None, by: str) -> _Taken:
        if by in GROUPS:
            profile = selected(grouped(samples_of(pid), by), Wanted())
            return _Taken(KeptProfile(NOW, pid, time.time(), profile.total(Kind.INUSE_SPACE)), profile, born)
        since, last = self._last or (float("-inf"), None)
        if last and (last.about.pid, last.born) == (pid, born) and time.monotonic() - since < FRESH:
            return last
        profile = selected(named_profile(pid), Wanted())
        about = KeptProfile(NOW, pid, time.time(), profile.total(Kind.INUSE_SPACE))
        taken = _Taken(about, profile, born)
        self._last = time.monotonic(), taken
        return taken

    def for_tools(self, pid: int, allocations: bool, form: str) -> tuple[str, bytes]:
        """Type of content, and the profile for pprof's tools; a process that writes heap_v2 gets its names here."""
        kind, body = profile_of(pid, allocations, form)
        if kind != PPROF and form == PPROF:
            with self._lock:
                body = to_pprof(named_bytes(pid, body))
        return FORMS[form], body


def the_only(rows: Sequence[ProcessRow]) -> int:
    """The process that can be asked, where there is one alone."""
    asked = [row for row in rows if row.asks]
    if len(asked) != 1:
        known = ", ".join(f"{row.pid} ({row.name})" for row in asked) or "none answers"
        raise AnswerError(400, f"say of which process, with ?pid=PID: {known}")
    return asked[0].pid
