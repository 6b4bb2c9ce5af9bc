# SPDX-License-Identifier: MIT
"""The ranking of a fleet that `hew serve` shows: one thread queries it at a time, for all pages."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hew.analysis.fleet.settings import read_setting
from hew.commands.fleet_query import Wanted, fleet_of
from hew.commands.fleet_rollout import rollout_of
from hew.model.errors import HewError
from hew.model.fleet import LATEST, FleetState, Source
from hew.sources.serve.words import AnswerError
from hew.views.serve_fleet_document import ranking_page, rollout_page

FRESH = 60.0  # seconds: a ranking costs the engine work
AGAIN = 10.0  # seconds after one that failed
FIRST_LOOK = 4.0  # seconds that a request waits for the first ranking, or for its turn
SETTLE = 600.0  # seconds after a rollout that are not counted
MOST_NAME = 1000  # characters of a service's name
MOST_SETTING = 100
MOST_NOTES = 20


class Ranking:
    """A source of series, and the last ranking made from it. `refresh` reads new data, and returns notes on what it
    could not read. `_asking` protects the source and `refresh`, which are not thread-safe."""

    def __init__(self, source: Source, refresh: Callable[[], Sequence[str]]) -> None:
        self._source, self._refresh = source, refresh
        self._asking = threading.Lock()
        self._changed = threading.Condition()
        # Under the condition's lock, with what follows.
        self._works = False
        self._state: FleetState | None = None
        self._error = ""
        self._at = float("-inf")  # when the last ranking ended, well or not, on the monotonic clock

    def shown(self) -> dict[str, Any]:
        """The last ranking. If it is old, a refresh begins, and the next caller gets its result."""
        with self._changed:
            if not self._works and time.monotonic() - self._at > (AGAIN if self._error else FRESH):
                self._works = True
                threading.Thread(target=self._work, name="ranking", daemon=True).start()
            self._changed.wait_for(lambda: self._state or self._error, FIRST_LOOK)
            if self._state is None:
                raise AnswerError(503, self._error or f"{self._source.name} has not answered yet")
            return ranking_page(self._state, self._error)

    def rollout(self, service: str, at: float, setting: str | None) -> dict[str, Any]:
        """A service before and after a time. Waits for its turn only shortly: a slow engine would hold up all pages."""
        if not service or len(service) > MOST_NAME or len(setting or "") > MOST_SETTING:
            raise AnswerError(400, f"a rollout is of a service: its name has 1 to {MOST_NAME} characters")
        if not 0 <= at <= LATEST:
            raise AnswerError(400, "the rollout's time is none: seconds since 1970")
        if setting is not None:
            read_setting(setting)
        if not self._asking.acquire(timeout=FIRST_LOOK):
            raise AnswerError(503, f"{self._source.name} is being asked for the ranking: again in a moment")
        try:
            return rollout_page(rollout_of(self._source, Wanted(service=service), at, SETTLE, setting))
        finally:
            self._asking.release()

    def _work(self) -> None:
        state, error = None, ""
        try:
            with self._asking:
                notes = list(self._refresh())
                found = fleet_of(self._source, Wanted())
            left_out = [f"and {len(notes) - MOST_NOTES} more files are left out"] if len(notes) > MOST_NOTES else []
            state = replace(found, notes=(*found.notes, *notes[:MOST_NOTES], *left_out))
        except (HewError, OSError) as failed:
            error = str(failed)
        except Exception as failed:
            error = f"{self._source.name} could not be judged: {type(failed).__name__}"
        with self._changed:
            self._state, self._error = state or self._state, error
            self._at, self._works = time.monotonic(), False
            self._changed.notify_all()


def known(ranking: Ranking | None) -> Ranking:
    """It, where there is one."""
    if ranking is None:
        raise AnswerError(404, "no fleet is shown here: start hew serve with --fleet URL or --store DIR")
    return ranking
