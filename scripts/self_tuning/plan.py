# SPDX-License-Identifier: MIT
"""What is run: the cases, the settings that the search by hand tries, and what HEW_CONF says for each way."""

import os
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from self_tuning import ROOT

DEFAULT = "tuning:on"  # what a program has with nothing set; said aloud, since reading settings costs some pages
OFF = "tuning:off"
BY_DEFAULT = "by default"
SPENDING, LAVISH = "tuning_memory:25", "tuning_memory:100"  # the default, with as much memory to spend
TUNED = (BY_DEFAULT, SPENDING, LAVISH)
ROOMS = (100, 200, 400, 800)
ARENAS_A_CPU = 4

# As Python sees them: objects that are too large for its own arenas; 240 MB, then silence in which pages go back.
BURSTS = """
import sys, time
for turn in range(int(sys.argv[1])):
    if turn:
        time.sleep(float(sys.argv[2]))
    kept = [b'x' * (1000 + i % 2000) for i in range(120000)]
    print(len(kept))
    del kept
"""


@dataclass(frozen=True)
class Case:
    """A program with work for the controller, for a second or more."""

    name: str
    words: tuple[str, ...]
    several: bool = True  # threads that allocate: with one alone the number of arenas is nothing to it
    hostile: bool = False
    waits: bool = False  # most of its time, so its ways run side by side; and what counts is the time of decay
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)  # ways, with words behind the command

    @property
    def grid(self) -> tuple[str, ...]:
        """Every setting of the search by hand."""
        if self.waits:
            return tuple(f"dirty_decay_ms:{seconds}000" for seconds in (20, 40, 80))
        return grid(len(os.sched_getaffinity(0)) if self.several else 0)


def grid(cpus: int) -> tuple[str, ...]:
    """All combinations but the one where nothing is set; without numbers of arenas for no CPUs."""
    found = []
    for arenas, cache, depot in product((0, ARENAS_A_CPU * cpus) if cpus else (0,), ROOMS, ROOMS):
        parts = [("cache_room", cache if cache != 100 else 0), ("depot_room", depot if depot != 100 else 0)]
        text = ",".join(f"{name}:{value}" for name, value in [*parts, ("narenas", arenas)] if value)
        if text:
            found.append(text)
    return tuple(found)


HOT = "hot threads, 1,776"
HOT_LONG = "hot threads, 1,776, 8 s"  # long enough for verdicts on what was learned
OWN_ARENAS = "an arena of its own for each maker (code)"
MANY_ARENAS = "narenas:1024"

CASES = (
    Case("hot threads, 256", ("hot_threads", "--messages", "3000000")),
    Case(
        HOT,
        ("hot_threads", "--threads", "1776", "--hot", "80", "--messages", "60000"),
        extra={MANY_ARENAS: (), OWN_ARENAS: ("--exclusive", "1")},
    ),
    Case(HOT_LONG, ("hot_threads", "--threads", "1776", "--hot", "80", "--messages", "600000")),
    Case("batches", ("batches", "--batches", "400000"), several=False),
    Case("batches, 8 threads", ("batches", "--threads", "8", "--batches", "400000")),
    Case("hand-over (xmalloc_like)", ("xmalloc_like", "--batches", "120000")),
    Case("hand-over chain (pipeline)", ("pipeline", "--objects", "4000000")),
    Case("exchange", ("exchange", "--loops", "1000")),
    Case("phases", ("phases", "--phases", "7"), several=False),
    Case("crowd, 64 threads", ("crowd", "--threads", "64", "--pairs", "200000000")),
    Case("cache server (store)", ("store", "--ops", "6000000"), several=False),
    Case("hostile: turns of 50 batches", ("alternating", "--turn", "50", "--batches", "16000"), hostile=True),
    Case("hostile: turns of 250 batches", ("alternating", "--turn", "250", "--batches", "16000"), hostile=True),
    Case(
        "hostile: hot and asleep, 50 ms each",
        ("alternating", "--turn", "2500", "--cold-ms", "50", "--batches", "100000"),
        hostile=True,
    ),
    Case("broker, 30 million messages", ("broker", "--messages", "30000000")),
    Case("request server (serve)", ("serve", "--connections", "30000")),
    Case(
        "a build (g++)",
        ("g++", "-std=c++17", "-fsyntax-only", "{root}/build/bench/inputs/templates.cpp"),
        several=False,
    ),
    Case(
        "a JVM, 100 threads",
        (
            *("java", "-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"),
            *("-cp", "{root}/build/bench/inputs", "Threads", "8"),
        ),
    ),
    Case("bursts and silence", ("python3", "-c", BURSTS, "5", "7"), waits=True),
)


def conf(way: str) -> str:
    """What HEW_CONF says. All say something, so that none has fewer pages than the others."""
    if way == BY_DEFAULT:
        return DEFAULT
    if way in {SPENDING, LAVISH}:
        return f"{DEFAULT},{way}"
    return OFF if way in {OFF, OWN_ARENAS} else f"{OFF},{way}"


def command_of(build: Path, words: tuple[str, ...]) -> tuple[str, ...]:
    """A program of ours by its name, any other one as it stands."""
    ours = build / "bench/apps" / words[0]
    rest = (word.replace("{root}", str(ROOT)) for word in words[1:])
    return (str(ours) if ours.exists() else words[0], *rest)
