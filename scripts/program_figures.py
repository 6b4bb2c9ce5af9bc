# SPDX-License-Identifier: MIT
"""What a saved run of tests/programs/run.py says: ratios with their intervals, ties, means.  Pure functions.

A ratio of times is the median over rounds of one allocator's figure divided by the other's in the same round: what the
machine did in that round touches both.  Its interval is between two of the rounds' ratios (order statistics), the
narrowest that holds the median with 95 % where there are six rounds or more, else from the least to the greatest.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BASELINE = "glibc"
SUBJECT = "hew"
SURE = 0.95
ALIKE = 0.02
"""Memory and counts repeat to about so much: figures that are nearer than this are a tie."""
RESAMPLED = 2000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Ratio:
    """A ratio and the interval that it lies in; the same numbers where a figure repeats."""

    value: float
    low: float
    high: float

    @property
    def is_one(self) -> bool:
        return self.low <= 1 <= self.high


@dataclass(frozen=True)
class Figure:
    """One column: how it is read from a run, and whether it is a time."""

    key: str
    title: str
    read: Callable[[Row, Row], float | None]
    """From the program's row and a run."""
    timed: bool = False


def cpu_of(program: Row, run: Row) -> float | None:
    """Where a program runs for a fixed time, what an operation of it costs."""
    value = run["wall"] if program.get("fixed_time") else run["user"] + run["system"]
    return value or None


def wall_of(program: Row, run: Row) -> float | None:
    return None if program.get("waits") else run["wall"] or None


CPU = Figure("cpu", "CPU time", cpu_of, timed=True)
WALL = Figure("wall", "wall time", wall_of, timed=True)
FAULTS = Figure("faults", "page faults", lambda _program, run: run["faults"] or None)
CALLS = Figure("calls", "system calls", lambda _program, run: run["calls"])
PEAK = Figure("peak", "peak memory", lambda _program, run: run["peak_kb"] or None)
MEAN = Figure("mean", "mean memory", lambda _program, run: run["mean_kb"] or None)
IDLE = Figure("idle", "memory after the load", lambda _program, run: run["idle_kb"] or None)
REPEATING = (FAULTS, CALLS, PEAK, MEAN, IDLE)


def runs_of(program: Row, allocator: str, figure: Figure) -> list[float]:
    """The figure of each run that gives it, in the order of rounds; none where the allocator failed."""
    if allocator in program.get("peers", {}):
        return []
    runs = program.get("runs", {}).get(allocator, [])
    sampled = [run for run in runs if run["sampled"]]
    chosen = [run for run in runs if not run["sampled"]] if figure.timed else sampled or runs
    values = (figure.read(program, run) for run in chosen)
    return [value for value in values if value is not None]


def interval_of(values: Sequence[float]) -> tuple[float, float]:
    """Two order statistics that hold the median with SURE, or as surely as so few values can."""
    ordered = sorted(values)
    number = len(ordered)
    cut = 0
    while cut + 1 <= (number - 1) // 2 and 1 - 2 * _below(number, cut + 1) >= SURE:
        cut += 1
    return ordered[cut], ordered[number - 1 - cut]


def _below(number: int, rank: int) -> float:
    """The chance that at most `rank` of so many values lie below their median."""
    return sum(math.comb(number, count) for count in range(rank + 1)) / 2.0**number


def sureness(rounds: int) -> float:
    """What the interval of so many rounds holds the median with."""
    return 1 - 2 * _below(rounds, 0) if rounds < 6 else SURE


def ratio(program: Row, allocator: str, other: str, figure: Figure) -> Ratio | None:
    """One allocator's figure divided by the other's, None where one of them has none."""
    one, two = runs_of(program, allocator, figure), runs_of(program, other, figure)
    if not one or not two:
        return None
    if not figure.timed:
        value = statistics.median(one) / statistics.median(two)
        return Ratio(value, value, value)
    pairs = [left / right for left, right in zip(one, two, strict=False)]
    return Ratio(statistics.median(pairs), *interval_of(pairs))


def instructions(program: Row, allocator: str, where: str = "all") -> int | None:
    found = program.get("instructions", {}).get(allocator)
    return found[where] if found else None


def allocators_of(programs: Mapping[str, Row]) -> list[str]:
    """glibc, hew, then the peers by name."""
    names = {name for program in programs.values() for name in program.get("runs", {})}
    return sorted(names, key=lambda name: (name != BASELINE, name != SUBJECT, name))


def measured(programs: Mapping[str, Row]) -> dict[str, Row]:
    """Programs with figures: those that gave glibc's output under hew."""
    return {name: row for name, row in programs.items() if row.get("state") == "passed" and row.get("runs")}


def geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def mean(programs: Mapping[str, Row], allocator: str, figure: Figure) -> tuple[Ratio, int] | None:
    """The geometric mean over the programs of the ratio to glibc, and of how many; times by drawing rounds anew."""
    pairs = []
    for program in programs.values():
        one, two = runs_of(program, allocator, figure), runs_of(program, BASELINE, figure)
        if one and two:
            if not figure.timed:
                one, two = [statistics.median(one)], [statistics.median(two)]
            pairs.append([left / right for left, right in zip(one, two, strict=False)])
    if not pairs:
        return None
    value = geometric(statistics.median(rounds) for rounds in pairs)
    if not figure.timed:
        return Ratio(value, value, value), len(pairs)
    chance = random.Random(1)  # noqa: S311 - drawn rounds, the same each time
    drawn = sorted(
        geometric(statistics.median(chance.choices(rounds, k=len(rounds))) for rounds in pairs)
        for _ in range(RESAMPLED)
    )
    tail = int(RESAMPLED * (1 - SURE) / 2)
    return Ratio(value, drawn[tail], drawn[-1 - tail]), len(pairs)


@dataclass(frozen=True)
class Place:
    """Where hew stands in one figure of one program."""

    best: str
    """The allocator with the lowest figure."""
    to_best: Ratio
    """hew's figure divided by the best of all others'."""
    ties: tuple[str, ...]
    """All that cannot be told from the best, the best first."""

    @property
    def among(self) -> bool:
        return SUBJECT in self.ties


def _close(found: Ratio | None, figure: Figure) -> bool:
    if found is None:
        return False
    return found.is_one or found.value < 1 if figure.timed else found.value <= 1 + ALIKE


def place(program: Row, allocators: Sequence[str], figure: Figure) -> Place | None:
    """Who has the lowest figure, who cannot be told from it, and how far hew is from the best of the others."""
    to_glibc = {name: ratio(program, name, BASELINE, figure) for name in allocators}
    values = {name: found.value for name, found in to_glibc.items() if found is not None}
    others = [name for name in values if name != SUBJECT]
    if SUBJECT not in values or not others:
        return None
    best = min(values, key=lambda name: values[name])
    near = sorted(
        (name for name in values if name == best or _close(ratio(program, name, best, figure), figure)),
        key=lambda name: (name != best, values[name]),
    )
    rival = min(others, key=lambda name: values[name])
    to_best = ratio(program, SUBJECT, rival, figure)
    return Place(best, to_best, tuple(near)) if to_best is not None else None
