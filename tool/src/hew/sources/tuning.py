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
from hew.model.tuning import Tuning, tuning_of
from hew.sources.control import Control, connect
from hew.sources.discovery import describe_status
from hew.sources.launcher import Ending, launch
from hew.sources.measure import Place, captured, tail
from hew.sources.processes import tree
from hew.sources.server import watch_server

ONLY_TOTALS = "Jgmdablxeh"
BEGIN = '{"jemalloc":{'
OLDER = "its library is older than tuning: update hew there"


def asked_tuning(control: Control) -> Tuning:
    """Of a running process."""
    try:
        tuning = tuning_of(json.loads(control.stats(ONLY_TOTALS)))
    except (ValueError, RecursionError) as error:
        raise HewError("its statistics are not a report of hew") from error
    if tuning is None:
        raise HewError(OLDER)
    return tuning


def learn(words: Sequence[str], place: Place, memory: int, timeout: float | None, stdin: Path) -> Tuning:
    """Run the command to its end with tuning on. Of its processes the one that looked most often tells."""
    _, told = run_telling(words, Place(place.library, _tuning_itself(place, memory)), timeout, stdin)
    if not told:
        raise HewError(f"{words[0]} has told no statistics: it must end by itself, as exit() does, and be on hew")
    return _who_looked_most(told)


def run_telling(words: Sequence[str], place: Place, timeout: float | None, stdin: Path) -> tuple[Ending, list[Tuning]]:
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


def learn_server(plan: ServerPlan, place: Place, memory: int) -> Tuning:
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
    return _who_looked_most(seen.told)


class _Seen:
    """What a server's processes tell."""

    def __init__(self) -> None:
        self.told: list[Tuning] = []

    def loaded(self, pid: int) -> None:
        """Each that has a control socket is asked."""
        for one in tree(pid):
            with contextlib.suppress(HewError), connect(one) as control:
                self.told.append(asked_tuning(control))

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


def _who_looked_most(told: Sequence[Tuning]) -> Tuning:
    """Of several processes the one that has worked most."""
    return max(told, key=lambda one: one.windows)


def _reports(errors: BinaryIO) -> Iterator[Tuning]:
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
                if (tuning := tuning_of(document)) is not None:
                    yield tuning
        at = text.find(BEGIN, end)
