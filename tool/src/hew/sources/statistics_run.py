# SPDX-License-Identifier: MIT
"""Runs a command once so that its malloc writes its statistics at the end, and looks at the process meanwhile."""

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from hew.model.errors import HewError
from hew.model.known_allocators import CONF, HEW, OWN_CONF
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.run import ServerPlan
from hew.model.statistics import Reading
from hew.sources.code import conf_owner, read_code
from hew.sources.control import find_socket
from hew.sources.discovery import describe_status
from hew.sources.executable import find_command, libraries_of, program_behind
from hew.sources.launcher import Launched, launch
from hew.sources.measure import Place, captured, tail
from hew.sources.patient import largest
from hew.sources.server import watch_server
from hew.sources.statistics.place import asked
from hew.sources.statistics.stream import find_reports

LOOK_EVERY = 0.25


@dataclass(frozen=True)
class Observed:
    """The statistics of one run: the reports on its stderr, and the last sample of its largest process."""

    reading: Reading
    process: ProcessFacts | None


def conf_variable(words: Sequence[str], place: Place) -> str | None:
    """The variable from which this command's malloc reads its settings; None if there is none that hew can set."""
    program = program_behind(find_command(words[0], place.environment), place.environment)
    files = [place.library] if place.library else []
    files += [program, *libraries_of(program, place.environment)]
    files += [Path(entry) for entry in (place.preload or "").split(":") if entry]
    codes = [code for file in files if file and (code := read_code(file)) is not None]
    return next((code.variable or CONF for code in codes if conf_owner(code)), None)


def observe(words: Sequence[str], place: Place, variable: str | None, timeout: float | None, stdin: Path) -> Observed:
    """One run. Raises HewError when it fails."""
    environment = _told_to_write(place, variable)
    with (
        stdin.open("rb") as given,
        captured(given) as streams,
        launch(words, environment, place.preload, streams) as launched,
    ):
        errors = streams.errors
        launched.open_gate()
        watch = _Watch(launched)
        ending = launched.wait(timeout)
        watch.join()
        if ending.timed_out:
            raise HewError(f"{words[0]} did not end within {timeout:g} s: give it an end, or a longer --timeout")
        if ending.status != 0:
            raise HewError(f"{words[0]}: {describe_status(ending.status)}\n{tail(errors)}".rstrip())
        reading = _written(errors, words[0])
    return Observed(reading, watch.last)


def observe_server(plan: ServerPlan, place: Place, variable: str | None) -> Observed:
    """One run of a server: on hew it is asked once it has been loaded, others write at their end."""
    environment = _told_to_write(place, variable)
    if variable and place.library and (code := read_code(place.library)) and code.kind == HEW:
        environment[OWN_CONF] = ",".join(filter(None, ("control:auto", environment.get(OWN_CONF))))
    seen = _Seen(plan.server[0])
    watch_server(plan, Place(place.library, environment), seen)
    return Observed(seen.reading, seen.process)


class _Seen:
    """What is seen of a server."""

    def __init__(self, name: str) -> None:
        self.process: ProcessFacts | None = None
        self.reading = Reading(name, ())

    def loaded(self, pid: int) -> None:
        """Its largest process, and what that answers."""
        self.process = largest(pid)
        if self.process and find_socket(self.process.pid):
            with contextlib.suppress(HewError):
                self.reading = asked(self.process.pid)

    def ended(self, errors: BinaryIO) -> None:
        """What it wrote, where it could not be asked."""
        if not self.reading.snapshots:
            self.reading = _written(errors, self.reading.source)


def _told_to_write(place: Place, variable: str | None) -> dict[str, str]:
    """The environment in which a malloc that reads the variable writes its statistics."""
    environment = dict(place.environment)
    if variable:
        environment[variable] = with_statistics(environment.get(variable))
    return environment


def _written(errors: BinaryIO, name: str) -> Reading:
    """The statistics in what a program has written to stderr."""
    errors.seek(0)
    return find_reports(errors.read().decode(errors="replace"), f"{name}'s stderr")


def with_statistics(conf: str | None) -> str:
    """Settings that make malloc write its statistics at its end, as text: the JSON of 5.3.0 lacks waiting times."""
    return ",".join(filter(None, (conf, "stats_print:true")))


class _Watch(threading.Thread):
    """Looks at the process now and then until it has ended; it keeps the look at the largest footprint."""

    def __init__(self, launched: Launched) -> None:
        super().__init__(name="watch", daemon=True)
        self.last: ProcessFacts | None = None
        self._launched = launched
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        """Until the process is gone."""
        while not self._over.wait(LOOK_EVERY):
            seen = largest(self._launched.pid)
            if seen and (self.last is None or seen.memory.resident >= self.last.memory.resident):
                self.last = seen

    def join(self, timeout: float | None = None) -> None:
        """End it."""
        self._over.set()
        super().join(timeout)
