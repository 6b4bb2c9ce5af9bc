#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kill `hew swap`, and what it has started, at random moments; each process must go on right, and be swapped again.

    python3 scripts/swap_kills.py [--kills 500] [--library FILE]

The process is tool/tests/programs/swaps.c, a new one for each kill. Every other kill is on the way back. Status 1: one
ended, or found an object changed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from attach_soak import ended_well, needed, read_line, running

from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.processes import tree
from hew.sources.swap import plans
from hew.sources.swap.swapping import swap, swap_back

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "swap"
PATIENCE = 30.0  # seconds
QUIET = subprocess.DEVNULL
KILLED = [sys.executable, "-c", "from hew.cli import main; main(prog_name='hew')", "swap", "--timeout", "30"]


@dataclass
class Subject:
    """A program that runs under load. `ended` ends the load, and says what came of it; HewError when it was wrong."""

    pid: int
    ended: Callable[[], str]


def checking(words: list[str], **changes: str) -> AbstractContextManager[Subject]:
    """A program that says "ready", checks itself, and says at its end what it found."""

    @contextmanager
    def start() -> Iterator[Subject]:
        with running(words, **changes) as program:
            if read_line(program.stdout) != "ready":
                raise HewError("the program did not begin")
            yield Subject(program.pid, lambda: ended_well(program))

    return start()


def build_swaps() -> Path:
    """The program that checks its own objects."""
    program = WORK / "swaps"
    source = ROOT / "tool" / "tests" / "programs" / "swaps.c"
    words = [needed("cc"), "-O1", "-fno-builtin", "-pthread", "-o", str(program), str(source)]
    subprocess.run(words, check=True)
    return program


def killed(words: list[str], moment: float) -> bool:
    """Whether a command and all that it has started were killed after so many seconds, before the command had ended."""
    with subprocess.Popen(words, stdout=QUIET, stderr=QUIET) as one:
        with suppress(subprocess.TimeoutExpired):
            one.wait(moment)
        if one.returncode is not None:
            return False
        os.kill(one.pid, signal.SIGSTOP)  # it starts no more
        for each in reversed(tree(one.pid)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        return True


@contextmanager
def patient() -> Iterator[None]:
    """Swaps whose stop may take longer, as on a machine with too much to do."""
    usual = plans.LONGEST_STOP
    plans.LONGEST_STOP = 2.0
    try:
        yield
    finally:
        plans.LONGEST_STOP = usual


def kills(count: int, library: Path) -> str:
    """Swaps of new programs, killed at random moments: every other time on the way back. Each program must end well,
    once it has been swapped again; HewError if one does not."""
    random.seed(count)
    there, back = [*KILLED, "--lib", str(library)], [*KILLED, "--back"]
    WORK.mkdir(parents=True, exist_ok=True)
    program = build_swaps()
    longest, done, number = [1.0, 1.0], 0, 0
    while done < count:
        is_back = number % 2 == 1
        number += 1
        with patient(), checking([str(program), "8"]) as subject:
            if is_back:
                swap(subject.pid, library, timeout=PATIENCE)
            words = [*(back if is_back else there), str(subject.pid)]
            began = time.monotonic()
            if killed(words, random.uniform(0, longest[is_back])):  # noqa: S311
                done += 1
            else:
                longest[is_back] = (longest[is_back] + time.monotonic() - began) / 2
            with suppress(HewError):  # it is there already
                swap(subject.pid, library, timeout=PATIENCE)
            swap_back(subject.pid, PATIENCE)
            swap(subject.pid, library, timeout=PATIENCE)
            if not subject.ended().startswith("wrong 0 "):
                raise HewError("an object has changed")
    return f"`hew` killed at {count} random moments of a swap: every process went on right, and was swapped again"


def main() -> int:
    """So many kills."""
    parser = argparse.ArgumentParser(description="Kill hew swap at random moments.")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--library", type=Path)
    options = parser.parse_args()
    try:
        print(kills(options.kills, find_hew(options.library, os.environ)))
    except HewError as error:
        print(f"kills: FAILED, {error}")
        return 1
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
