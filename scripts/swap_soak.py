#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Change the allocator of busy programs, back and forth, and look for wrong answers.

    python3 scripts/swap_soak.py [--swaps 1000] [--kills 500] [--only redis|nginx|...|kills|figures ...]
                                 [--results FILE] [--library FILE] [--page docs/swap.md] [--longest 0.02]

swaps       200 threads of tool/tests/programs/swaps.c, which look at every object
c++         a server with 200 threads, one for each connection of clients that compare its answers
redis       Debian's redis-server on its own jemalloc, with redis-benchmark and a client that reads all back at the end
redis-glibc the same on glibc's malloc
nginx       a worker that serves compressed files, which clients compare
postgres    one backend that answers queries, which a client compares
python      a server of the standard library with threads, node and java likewise; java checks itself
kills       SIGKILL to `hew swap` at random moments (swap_kills.py)
figures     what hew swap --trim returns of a heap of glibc that is full of holes, and how fast a swapped program is

The programs take turns, each is started anew for so many swaps. What was done is kept in a file: after an end of any
kind the script goes on where it was. What is not here is left out, and the script says that. Status 1: a program ended,
or an answer was wrong or missing. --page writes the tables. --longest: seconds after which a stop is given up. Where
threads wait for a processor for longer than the usual 20 ms, few swaps would be done.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from attach_soak import Missing
from generated import revision_of, section_of, table, version_of
from swap_figures import FIGURES, figures
from swap_kills import PATIENCE, ROOT, WORK, kills
from swap_subjects import SUBJECTS

from hew.model.errors import HewError
from hew.sources.library import find_hew
from hew.sources.swap import plans
from hew.sources.swap.swapping import swap, swap_back

SECTION = section_of("scripts/swap_soak.py", "figures")
TURN = 50  # swaps there and back of one program
KILLS_TURN = 25
TRIES = 20  # of a swap that is refused since the process is too busy
COUNT = re.compile(r"(\d+) (?:writes|answers)|rounds (\d+)")
SLOWEST = re.compile(r"took ([\d.]+) ms")


@dataclass
class Turn:
    """What came of some swaps of one program. Times in ms."""

    revision: str
    swaps: int = 0
    stops: list[float] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    said: str = ""
    busy: float = 0.0  # the load of the machine
    failure: str = ""
    longest: float = 0.02  # seconds after which a stop was given up


Results = dict[str, list[Turn]]


def read_results(file: Path) -> Results:
    """What was done before."""
    if not file.exists():
        return {}
    return {name: [Turn(**turn) for turn in turns] for name, turns in json.loads(file.read_text()).items()}


def write_results(file: Path, results: Results) -> None:
    """All of it, in one step."""
    written = file.with_suffix(".new")
    written.write_text(json.dumps({name: [asdict(turn) for turn in turns] for name, turns in results.items()}))
    written.replace(file)


def done_of(turns: list[Turn]) -> int:
    """Swaps there and back, or kills."""
    return sum(turn.swaps for turn in turns if not turn.failure)


def row(name: str, turns: list[Turn]) -> list[str]:
    """Of the table."""
    stops = sorted(one for turn in turns for one in turn.stops) or [0.0]
    loads = [one for turn in turns for one in turn.loads] or [0.0]
    figures = [statistics.median(stops), stops[-(-(len(stops) - 1) * 99 // 100)], stops[-1], max(loads)]
    above = sum(one > LIMIT for one in stops)
    refused = sum(sum(turn.refused.values()) for turn in turns)
    counted = sum(max((int(a or b) for a, b in COUNT.findall(turn.said)), default=0) for turn in turns)
    slowest = max((float(one) for turn in turns for one in SLOWEST.findall(turn.said)), default=0.0)
    cells = [name, str(done_of(turns)), str(refused), *(f"{one:.1f}" for one in figures), str(above), f"{counted:,}"]
    return [*cells, f"{slowest:.0f}" if slowest else ""]


LIMIT = 20.0
HEAD = ["program", "there and back", "refused, tried again", "stop: median ms", "99 %", "longest"]
HEAD += ["one thread loads, ms", f"stops above {LIMIT:.0f} ms", "answers, none wrong", "slowest, ms"]


def change(turn: Turn, pid: int, library: Path, swaps: int) -> None:
    """There and back. A swap that is refused, for a process that is too busy, is tried again."""
    for number in range(2 * swaps):
        for _ in range(TRIES):
            try:
                done = swap(pid, library, timeout=PATIENCE) if number % 2 == 0 else swap_back(pid, PATIENCE)
            except HewError as error:
                reason = re.sub(r"thread \d+", "thread", str(error).partition(": ")[2])
                turn.refused[reason] = turn.refused.get(reason, 0) + 1
                if not Path(f"/proc/{pid}").exists():
                    raise
            else:
                turn.stops.append(done.stop * 1000)
                turn.loads += [done.load * 1000] if done.loaded else []
                break
        else:
            raise HewError(f"refused {TRIES} times: {reason}")
        turn.swaps += number % 2


def take_turn(name: str, swaps: int, library: Path) -> Turn:
    """One start of a program."""
    turn = Turn(revision_of(ROOT), longest=plans.LONGEST_STOP)
    try:
        if name == "kills":
            kills(swaps, library)
            turn.swaps = swaps
        elif name == "figures":
            turn.said = json.dumps(figures(library))
            turn.swaps = swaps
        else:
            with SUBJECTS[name]() as subject:
                change(turn, subject.pid, library, swaps)
                turn.said = subject.ended()
    except (HewError, subprocess.SubprocessError) as error:
        turn.failure = str(error)
    turn.busy = os.getloadavg()[0]
    return turn


def soak(wanted: dict[str, int], file: Path, library: Path) -> Results:
    """All of them take turns, until each has done what is wanted, or has failed."""
    results = read_results(file)
    going = dict(wanted)
    while going:
        for name, swaps in list(going.items()):
            turns = results.setdefault(name, [])
            left = swaps - done_of(turns)
            if left <= 0 or any(turn.failure for turn in turns):
                del going[name]
                continue
            try:
                turn = take_turn(name, min(left, KILLS_TURN if name == "kills" else TURN), library)
            except Missing as missing:
                print(f"{name}: left out, {missing}", flush=True)
                del going[name]
                continue
            turns.append(turn)
            write_results(file, results)
            print(f"{name}: {done_of(turns)} of {swaps}", *turn.refused.items(), flush=True)
            if turn.failure:
                print(f"{name}: FAILED, {turn.failure}", flush=True)
    return results


def main() -> int:
    """All programs, or those that are named."""
    parser = argparse.ArgumentParser(description="Change the allocator of busy programs, back and forth.")
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--only", choices=[*SUBJECTS, "kills", "figures"], action="append")
    parser.add_argument("--results", type=Path, default=WORK / "results.json")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--page", type=Path, help="write the tables there")
    parser.add_argument("--longest", type=float, default=plans.LONGEST_STOP)
    options = parser.parse_args()
    plans.LONGEST_STOP = options.longest
    WORK.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(SUBJECTS, options.swaps) | {"figures": 1, "kills": options.kills}
    wanted = {name: counts[name] for name in options.only or counts}
    results = soak(wanted, options.results, find_hew(options.library, os.environ))
    lines = page(results)
    print("\n".join(lines))
    if options.page:
        SECTION.write(options.page, lines)
    tried = {name: done_of(results[name]) for name in wanted if results.get(name)}
    return 1 if any(done < wanted[name] for name, done in tried.items()) else 0


def page(results: Results) -> list[str]:
    """The tables."""
    turns = [turn for turns in results.values() for turn in turns]
    if not turns:
        return []
    last = ([turn for name in SUBJECTS for turn in results.get(name, [])] or turns)[-1].revision
    earlier = ", ".join(sorted({f"`{turn.revision}`" for turn in turns} - {f"`{last}`"}))
    busy = [turn.busy for turn in turns]
    text = (
        f"Measured: hew {version_of(ROOT)} at revision `{last}`. "
        f"{f'Earlier turns at {earlier}. ' if earlier else ''}"
        f"{os.cpu_count()} processors with other work (load {min(busy):.0f} to {max(busy):.0f})."
    )
    patient = [turn for turn in turns if turn.longest > LIMIT / 1000]
    if patient:
        count, most = done_of(patient), max(turn.longest for turn in patient) * 1000
        text += (
            f" In {count:,} of the swaps there and back, a stop was given up after {most:.0f} ms: there "
            "threads wait for a processor."
        )
    lines = [
        *textwrap.wrap(text, 100, break_on_hyphens=False),
        "",
        *table(HEAD, [row(name, results[name]) for name in SUBJECTS if name in results]),
    ]
    if "kills" in results:
        text = (
            f"`hew` killed at {done_of(results['kills'])} random moments of a swap: every process went on right, and "
        )
        lines += ["", *textwrap.wrap(f"{text}was swapped again.", 100)]
    if "figures" in results:
        lines += ["", *table(FIGURES, json.loads(results["figures"][-1].said))]
    return lines


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
