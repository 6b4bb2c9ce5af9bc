# SPDX-License-Identifier: MIT
"""Implements the paths of `hew serve`: samples of processes, their history, advice, and settings to apply."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from hew.analysis.details import details, point
from hew.analysis.live import live_view
from hew.commands.advising import advised_of
from hew.commands.exporting import Exporting
from hew.commands.served_fleet import Ranking, known
from hew.commands.served_profiles import Picturing, the_only
from hew.commands.served_reports import Keeper
from hew.model.advice import MALLOC_CONF, Advice
from hew.model.control import LIVE
from hew.model.errors import HewError
from hew.model.live import ProcessRow
from hew.model.serving import Seen, Watched
from hew.sources.control import apply_conf, connect, find_socket
from hew.sources.live import Processes
from hew.sources.process_facts import read_process
from hew.sources.processes import start_time
from hew.sources.serve.rounds import Rounds
from hew.sources.serve.words import AnswerError
from hew.views.advice_document import advice_document
from hew.views.serve_document import (
    applied_document,
    comparison_document,
    kept_document,
    kept_profile_document,
    processes_document,
    seen_document,
)

REMEMBERED = 64  # processes with a history; the one that was looked at longest ago goes
FIRST_LOOK = 4.0  # seconds that a request waits for the first look at a process
LIST_FRESH = 2.0  # seconds: all pages together have one list


class Serving:
    """The site of sources/serve/app.py."""

    def __init__(
        self,
        processes: Processes,
        exporting: Exporting,
        keeper: Keeper,
        named: Sequence[int],
        ranking: Ranking | None = None,
    ) -> None:
        self._processes, self._exporting, self._keeper, self._named = processes, exporting, keeper, named
        self._ranking = ranking
        self._changed = threading.Condition()
        self._watched: OrderedDict[int, Watched] = OrderedDict()  # under the condition's lock, with all that is in it
        self._rounds = Rounds(self._look)
        self._picturing = Picturing()
        self._list_lock = threading.Lock()
        self._list: tuple[float, tuple[ProcessRow, ...]] = (float("-inf"), ())  # under its lock

    def _rows(self) -> tuple[ProcessRow, ...]:
        with self._list_lock:
            if time.monotonic() - self._list[0] > LIST_FRESH:
                rows = self._processes.rows()
                self._list = time.monotonic(), rows
            return self._list[1]

    def processes(self) -> dict[str, Any]:
        """The list."""
        return processes_document(self._rows(), self._named, self._ranking is not None)

    def process(self, pid: int, since: float) -> dict[str, Any]:
        """One process, and its history after `since`."""
        watched = self._of(pid)
        with self._changed:
            assert watched.seen is not None  # noqa: S101 - _of has waited for it
            seen, ended = watched.seen, watched.ended
            points = [one for one in watched.points if one.at > since]
        return seen_document(Seen(pid, seen.view, seen.details, points, ended))

    def _of(self, pid: int) -> Watched:
        """A process that is looked at from now on, once there is something to see."""
        born = start_time(pid)
        with self._changed:
            watched = self._watched.get(pid)
            if watched is None or (born is not None and watched.born != born):
                if born is None:
                    raise AnswerError(404, f"there is no process {pid}")
                watched = self._watched[pid] = Watched(born)
            self._watched.move_to_end(pid)
            while len(self._watched) > REMEMBERED:
                self._watched.popitem(last=False)
        if born is not None:
            self._rounds.want(pid)
        with self._changed:
            self._changed.wait_for(lambda: watched.seen or watched.ended, FIRST_LOOK)
            if watched.seen is None:
                raise AnswerError(404 if watched.ended else 503, watched.ended or f"process {pid} does not answer yet")
        return watched

    def _look(self, pid: int) -> bool:
        """One look of the rounds."""
        with self._changed:
            watched = self._watched.get(pid)
        if watched is None:
            return False
        try:
            now = self._processes.moment(pid)
            ended = "" if start_time(pid) == watched.born else f"process {pid} has ended"
        except (HewError, OSError) as error:
            ended = str(error)
        with self._changed:
            watched.ended = ended
            if not ended:
                view = live_view(now, watched.last)
                watched.seen = Seen(pid, view, details(now, watched.last), ())
                watched.points.append(point(view, time.time()))
                watched.last = now
            self._changed.notify_all()
        return not ended

    def advice(self, pid: int) -> dict[str, Any]:
        """The advice for the process, and the settings that can change while it runs. The process is never stopped."""
        watched = self._of(pid)
        advised = advised_of(str(pid), read_process(pid), None, None)
        can = find_socket(pid) is not None
        live = {one.rule: _live(one) for one in advised.found if can and _live(one)}
        with self._changed:
            watched.advice = {one.rule: one for one in advised.found}
        document = advice_document(f"process {pid}", advised.found, advised.notes, advised.seen)
        return {**document, "live": live}

    def apply(self, pid: int, rule: str) -> dict[str, Any]:
        """Set what an advice says and can be set live. Nothing else can be set from a page."""
        watched = self._of(pid)
        with self._changed:
            advice = watched.advice.get(rule)
            ended = watched.ended
        if ended:
            raise AnswerError(409, ended)
        if advice is None or not _live(advice):
            raise AnswerError(409, "nothing that was advised there can be applied live: ask for the advice again")
        with connect(pid) as control:
            if start_time(pid) != watched.born:
                raise AnswerError(409, f"process {pid} has ended")
            return applied_document(rule, apply_conf(control, _live(advice)))

    def keep(self, pid: int) -> dict[str, Any]:
        """Keep its last look to be compared."""
        watched = self._of(pid)
        assert watched.seen is not None  # noqa: S101 - _of has waited for it
        return kept_document([self._keeper.keep(watched.seen.view)])

    def kept(self) -> dict[str, Any]:
        """What has been kept."""
        return kept_document(self._keeper.all())

    def compare(self, before: int, after: int) -> dict[str, Any]:
        """Two of them."""
        return comparison_document(self._keeper.compare(before, after))

    def pins(self, pid: int, sparse: int) -> dict[str, Any]:
        """Which stacks of the process keep slabs that are hardly used."""
        self._of(pid)
        return self._picturing.pins(pid, sparse)

    def fleet(self) -> dict[str, Any]:
        """The ranking of `hew fleet`."""
        return known(self._ranking).shown()

    def rollout(self, service: str, at: float, setting: str | None) -> dict[str, Any]:
        """A service before and after a time."""
        return known(self._ranking).rollout(service, at, setting)

    def metrics(self, accept: str) -> tuple[str, bytes]:
        """As `hew export` has them."""
        return self._exporting.page(accept)

    def profile(self, pid: int | None, allocations: bool, form: str) -> tuple[str, bytes]:
        """A heap profile of the process, or of the only one that there is."""
        return self._picturing.for_tools(the_only(self._rows()) if pid is None else pid, allocations, form)

    def flame(self, pid: int, of: int, base: int, by: str) -> dict[str, Any]:
        """A heap profile as a flame graph; also kept ones of a process that has ended meanwhile."""
        return self._picturing.show(pid, self._of(pid).born, of, base, by)

    def keep_profile(self, pid: int) -> dict[str, Any]:
        """Keep what is live now to be compared."""
        return kept_profile_document(self._picturing.keep(pid, self._of(pid).born))


def _live(advice: Advice) -> str:
    """What of an advice can be set in a process that runs, as MALLOC_CONF has it."""
    return ",".join(one.text for one in advice.settings if one.variable == MALLOC_CONF and one.name in LIVE)
