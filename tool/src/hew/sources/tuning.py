# SPDX-License-Identifier: MIT
"""What tuning has done: asked of a process, or learned from a run of a command or a server."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.known_allocators import OWN_CONF
from hew.model.run import ServerPlan
from hew.model.tuning import Told, Tuning, tuning_of
from hew.sources.control import Control, connect
from hew.sources.discovery import describe_status
from hew.sources.launcher import Ending, launch
from hew.sources.measure import Place, captured, tail
from hew.sources.processes import tree
from hew.sources.server import watch_server
from hew.sources.statistics.fields import number, table

ONLY_TOTALS = "Jgmdablxeh"
BEGIN = '{"jemalloc":{'
OLDER = "its library is older than tuning: update hew there"


def asked_tuning(control: Control) -> Tuning:
    """Of a running process."""
    return _asked(control).tuning


def _asked(control: Control) -> Told:
    try:
        told = _told(json.loads(control.stats(ONLY_TOTALS)))
    except (ValueError, RecursionError) as error:
        raise HewError("its statistics are not a report of hew") from error
    if told is None:
        raise HewError(OLDER)
    return told


def _told(document: object) -> Told | None:
    """What a report tells. The limit of depots is that of each of them."""
    tuning = tuning_of(document)
    if tuning is None:
        return None
    depot = table(table(table(table(document).get("jemalloc")).get("stats")).get("depot"))
    limit, depots = number(depot.get("limit")), number(depot.get("depots"))
    return Told(tuning, None if limit is None or depots is None else limit * depots)


def learn(words: Sequence[str], place: Place, memory: int, timeout: float | None, stdin: Path) -> Told:
    """Run the command to its end with tuning on. Of its processes the one that has tried most tells."""
    _, told = run_telling(words, Place(place.library, _tuning_itself(place, memory)), timeout, stdin)
    if not told:
        raise HewError(f"{words[0]} has told no statistics: it must end by itself, as exit() does, and be on hew")
    return _who_tried_most(told)


def run_telling(words: Sequence[str], place: Place, timeout: float | None, stdin: Path) -> tuple[Ending, list[Told]]:
    """Run a command whose settings make its processes write their statistics; what it took, and what they told."""
    with (
        stdin.open("rb") as given,
        captured(given) as streams,
        launch(words, place.environment, place.preload, streams) as launched,
    ):
        launched.open_gate()
        ending = launched.wait(timeout)
        if ending.timed_out:
            raise HewError(f"{words[0]} did not end within {timeout:g} s: give it an end, or a longer --timeout")
        if ending.status != 0:
            raise HewError(f"{words[0]}: {describe_status(ending.status)}\n{tail(streams.errors)}".rstrip())
        return ending, list(_reports(streams.errors))


def learn_server(plan: ServerPlan, place: Place, memory: int) -> Told:
    """Run the server with tuning on while its client loads it. It is asked before it is stopped, since the load is what
    it has learned from; one that cannot be asked tells when it ends."""
    environment = _tuning_itself(place, memory)
    environment[OWN_CONF] = f"control:auto,{environment[OWN_CONF]}"  # first: where the user has it holds
    seen = _Seen()
    watch_server(plan, Place(place.library, environment), seen)
    if not seen.told:
        raise HewError(
            f"{plan.server[0]} has told nothing of its tuning: it must be on hew, and have a control socket "
            "(control:auto) or end on SIGTERM as exit() does"
        )
    return _who_tried_most(seen.told)


class _Seen:
    """What a server's processes tell."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def loaded(self, pid: int) -> None:
        """Each that has a control socket is asked."""
        for one in tree(pid):
            with contextlib.suppress(HewError), connect(one) as control:
                self.told.append(_asked(control))

    def ended(self, errors: BinaryIO) -> None:
        """What they wrote, where none could be asked."""
        if not self.told:
            self.told = list(_reports(errors))


def _tuning_itself(place: Place, memory: int) -> dict[str, str]:
    """The environment in which hew tunes itself, and tells of it at the end."""
    conf = f"tuning:on,tuning_memory:{memory},stats_print:true,stats_print_opts:{ONLY_TOTALS}"
    environment = dict(place.environment)
    environment[OWN_CONF] = ",".join(filter(None, (environment.get(OWN_CONF), conf)))
    return environment


def _who_tried_most(told: Sequence[Told]) -> Told:
    """Of several processes the one that has worked most, if it has tried anything: small heaps have no windows."""
    return max(told, key=lambda one: (one.tuning.tells, one.tuning.windows, one.tuning.room_trials))


def _reports(errors: BinaryIO) -> Iterator[Told]:
    """The reports among what a command wrote; what only looks like one is passed over."""
    errors.seek(0)
    text = errors.read().decode(errors="replace")
    decoder = json.JSONDecoder()
    at = text.find(BEGIN)
    while at >= 0:
        try:
            document, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + len(BEGIN)
        else:
            with contextlib.suppress(HewError):
                if (told := _told(document)) is not None:
                    yield told
        at = text.find(BEGIN, end)
