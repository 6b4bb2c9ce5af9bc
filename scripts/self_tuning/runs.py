# SPDX-License-Identifier: MIT
"""Interleaved rounds of several ways to run something.

A run that fails is an error that names it: ratios of what was left would hide it.

Before each run memory is touched and let go again. A virtual machine's host may have taken free memory back, and then
its next use costs several times as much, in whichever run that comes.
"""

import mmap
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hew.analysis.schedule import rotated_schedule
from hew.model.errors import HewError
from hew.model.figures import CPU, PEAK_RSS, WALL
from hew.model.run import Run, Step
from hew.sources.environment import caller_environment
from hew.sources.measure import Place
from self_tuning.plan import conf

FIGURES = (CPU, WALL, PEAK_RSS)
WARM_LEAST = 64 << 20  # bytes that are touched before a run,
WARM_MORE = 1.25  # and so much more than any run has held
APART = 1.4  # seconds between the starts of ways that run side by side: five bursts fit into 7 s and do not meet
Rounds = dict[str, list[dict[str, float]]]  # of each way the figures of each round
Measure = Callable[[Step], Run]


def places(build: Path, ways: Sequence[str]) -> dict[str, Place]:
    """Under our library, each way with its settings."""
    environment = caller_environment()
    return {way: Place(build / "libhew.so", {**environment, "HEW_CONF": conf(way)}) for way in ways}


def interleaved(name: str, ways: Sequence[str], runs: int, measure: Measure) -> Rounds:
    """One run after the other."""
    found: list[tuple[str, dict[str, float]]] = []
    most = 0.0
    for step in rotated_schedule(ways, runs, 0):
        warm(max(WARM_LEAST, int(most * WARM_MORE)))
        found.append(figures_of(name, measure(step)))
        most = max(most, found[-1][1][PEAK_RSS.key])
    return _rounds(ways, found)


def warm(size: int) -> None:
    """So many bytes of free memory have been in use a moment ago."""
    mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def side_by_side(name: str, ways: Sequence[str], runs: int, measure: Measure) -> Rounds:
    """All ways of a round at once, for programs that mostly wait."""
    found: list[tuple[str, dict[str, float]]] = []
    steps = rotated_schedule(ways, runs, 0)

    def later(place: int, step: Step) -> Run:
        time.sleep(place * APART)
        return measure(step)

    with ThreadPoolExecutor(len(ways)) as threads:
        for at in range(0, len(steps), len(ways)):
            one_round = steps[at : at + len(ways)]
            found += [figures_of(name, run) for run in threads.map(later, range(len(ways)), one_round)]
    return _rounds(ways, found)


def figures_of(name: str, run: Run) -> tuple[str, dict[str, float]]:
    """The way and what it took; HewError says what failed, and how."""
    if run.failure:
        said = run.failure.stderr_tail.strip().splitlines()[-1:]
        raise HewError(": ".join([f"{name}, {run.allocator}", run.failure.reason, *said]))
    return run.allocator, {one.key: run.figures[one.key] for one in FIGURES}


def _rounds(ways: Sequence[str], found: Sequence[tuple[str, Mapping[str, float]]]) -> Rounds:
    return {way: [dict(figures) for name, figures in found if name == way] for way in ways}
