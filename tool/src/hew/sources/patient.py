# SPDX-License-Identifier: MIT
"""Starts a command to look at it while it runs, and ends it afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hew.model.errors import HewError
from hew.model.process import ProcessFacts
from hew.sources.executable import find_command
from hew.sources.inside import with_inside
from hew.sources.process_facts import read_process
from hew.sources.processes import PROC, resident, tree

FIRST_LOOK = 0.02
MOST_BETWEEN = 0.5
GRACE = 5.0


def look_at_command(words: Sequence[str], environment: Mapping[str, str], after: float) -> ProcessFacts:
    """The facts of the command's largest process `after` seconds after its start, or of the last look before its end.

    What the command writes goes to our stderr. It is ended as a terminal's Ctrl-\\ would not: SIGTERM, then SIGKILL.
    """
    path = find_command(words[0], environment)
    child = subprocess.Popen(
        words,
        executable=path.absolute(),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )
    facts = None
    began, pause = time.monotonic(), FIRST_LOOK
    try:
        while child.poll() is None and time.monotonic() - began < after:
            time.sleep(min(pause, max(0.0, began + after - time.monotonic())))
            pause = min(2 * pause, MOST_BETWEEN)
            with _still(child.pid):
                seen = largest(child.pid, environment)
            if seen and _tells_more(seen, facts):
                facts = with_inside(seen)
    finally:
        _end(child)
    if facts is None:
        raise HewError(f"{words[0]} ended (status {child.returncode}) before it could be looked at: give it more to do")
    return facts


@contextlib.contextmanager
def _still(group: int) -> Iterator[None]:
    """Stops our command while it is examined: some commands end before a large library is read."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)


def _tells_more(seen: ProcessFacts, before: ProcessFacts | None) -> bool:
    """Whether to keep the newer facts: a process that is just ending shows no memory and no malloc."""
    if before is None or not seen.memory.resident:
        return seen.memory.resident > 0
    return seen.provider is not None or before.provider is None


def largest(pid: int, started_with: Mapping[str, str] | None = None) -> ProcessFacts | None:
    """The facts of the largest process of a tree; None when all are gone."""
    for one in sorted(tree(pid), key=resident, reverse=True):
        if Path(f"{PROC}/{one}/exe").exists():
            with contextlib.suppress(HewError, OSError):
                return read_process(one, started_with)
    return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the command and what it has started in its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
            if number is signal.SIGKILL:
                return
