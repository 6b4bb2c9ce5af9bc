# SPDX-License-Identifier: MIT
"""The heap profile that a command leaves at its end, when it is run under hew."""

import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hew.model.errors import HewError
from hew.model.known_allocators import OWN_CONF
from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Profile
from hew.model.quantity import size
from hew.sources.discovery import describe_status
from hew.sources.environment import preload_entries, prepend_preload
from hew.sources.executable import find_command, preload_obstacle
from hew.sources.library import find_hew
from hew.sources.profile.read import read_profile

SETTINGS = "control:auto,prof:true,prof_final:true,prof_format:pprof,prof_accum:true"
PREFIX = "hew"


@dataclass(frozen=True)
class Ran:
    """What a command left: the largest profile of its processes, and how it ended."""

    profile: Profile
    status: int


def profile_command(words: Sequence[str], conf: str, folder: Path, given: Mapping[str, str]) -> Ran:
    """Run a command under hew; its profiles lie in the folder. Raises HewError when there is none."""
    if "," in str(folder):
        raise HewError(f"{folder}: a setting cannot have a comma in it: choose another folder (TMPDIR)")
    environment = dict(given)
    library = find_hew(None, environment)
    path = find_command(words[0], environment)
    obstacle = preload_obstacle(path, library, environment)
    if obstacle:
        raise HewError(obstacle)
    environment["LD_PRELOAD"] = prepend_preload(library, preload_entries(environment))
    settings = (environment.get(OWN_CONF), SETTINGS, conf, f"prof_prefix:{folder.absolute()}/{PREFIX}")
    environment[OWN_CONF] = ",".join(filter(None, settings))
    before = set(folder.iterdir())
    status, pid = _run(path, words, environment)
    ended = describe_status(status) if status else "it ended with status 0"
    left = [one for one in folder.glob(f"{PREFIX}.*.f.*") if one not in before]
    profile = _largest(left, words[0], pid, ended)
    peak = f"peak resident memory: {_peak()}"
    return Ran(replace(profile, notes=(*profile.notes, peak)), status)


def _run(path: Path, words: Sequence[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Its status, and its process id. An interrupt of the terminal reaches the command, too, which may have something
    to do at its end; what asks us to end is passed on."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        with subprocess.Popen(
            words, executable=path.absolute(), env=environment, stdout=sys.stderr.fileno()
        ) as started:
            asked = signal.signal(signal.SIGTERM, lambda number, _frame: started.send_signal(number))
            status = started.wait()
            signal.signal(signal.SIGTERM, asked)
            return status, started.pid
    finally:
        signal.signal(signal.SIGINT, before)


def _largest(left: Sequence[Path], name: str, pid: int, ended: str) -> Profile:
    found = sorted(left, key=lambda one: -one.stat().st_size)
    if not found:
        raise HewError(
            f"{name} left no profile: {ended}; one is written when a program returns from main or calls exit(), not "
            "when a signal or _exit() ends it (hew profile PID looks at one that runs)"
        )
    profile = read_profile(found[0])
    notes = profile.notes
    if len(found) > 1:
        notes = (*notes, f"{len(found)} processes left profiles: this is the largest, of process {profile.pid}")
    return replace(profile, source=f"{name} ({profile.pid or pid}, at its end)", notes=notes)


def _peak() -> str:
    """Of the largest process that has ended. The kernel counts what a process was forked from as well: of a small one
    only a bound is known."""
    ours, theirs = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return f"{'at most ' if theirs <= ours else ''}{size(theirs * 1024)}"
