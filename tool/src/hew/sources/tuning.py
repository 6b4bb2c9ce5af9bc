# SPDX-License-Identifier: MIT
"""What tuning has done: asked of a process, or learned from a run of a command."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.known_allocators import OWN_CONF
from hew.model.tuning import Tuning, tuning_of
from hew.sources.control import Control
from hew.sources.discovery import describe_status
from hew.sources.launcher import launch
from hew.sources.measure import Place, captured, tail

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
    conf = f"tuning:on,tuning_memory:{memory},stats_print:true,stats_print_opts:{ONLY_TOTALS}"
    environment = dict(place.environment)
    environment[OWN_CONF] = ",".join(filter(None, (environment.get(OWN_CONF), conf)))
    with (
        stdin.open("rb") as given,
        captured(given) as streams,
        launch(words, environment, place.preload, streams) as launched,
    ):
        launched.open_gate()
        ending = launched.wait(timeout)
        if ending.timed_out:
            raise HewError(f"{words[0]} did not end within {timeout:g} s: give it an end, or a longer --timeout")
        if ending.status != 0:
            raise HewError(f"{words[0]}: {describe_status(ending.status)}\n{tail(streams.errors)}".rstrip())
        told = list(_reports(streams.errors))
    if not told:
        raise HewError(f"{words[0]} has told no statistics: it must end by itself, as exit() does, and be on hew")
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
