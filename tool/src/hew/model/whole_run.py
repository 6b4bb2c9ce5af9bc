# SPDX-License-Identifier: MIT
"""What a recorded run says by stack: at moments, and over time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hew.model.profile import CERTAIN, Frame, Location, by_chance
from hew.model.profile import Mapping as Mapped

COLUMNS = 7  # of a stack: its node, then count and bytes of what was made, lives, was temporary
SUMS = COLUMNS - 1


class View(StrEnum):
    """What of a run is looked at."""

    PEAK = "peak"
    LEAKS = "leaks"
    TEMPORARY = "temporary"
    AT = "at"
    BETWEEN = "between"
    COUNT = "count"
    SIZES = "sizes"


@dataclass(frozen=True)
class Sum:
    """So many objects, and their bytes."""

    count: int
    bytes: int


def off_by(sample: int, sizes: Sequence[Sum]) -> Sum:
    """By how much a sum over sizes may be off, in 95 of 100 cases. Of n objects of s bytes the number has a variance of
    n / (e^(s / sample) - 1): the smallest size of each power of two bounds it."""
    if not sample:
        return Sum(0, 0)
    least = (1 << max(0, power - 1) for power in range(len(sizes)))
    spread = sum(one.count / math.expm1(min(700, size / sample)) for one, size in zip(sizes, least, strict=True))
    return Sum(round(CERTAIN * math.sqrt(spread)), by_chance(sample, sum(one.bytes for one in sizes)))


@dataclass(frozen=True)
class Totals:
    """Totals over all stacks since the start: allocated, live and temporary objects."""

    made: Sum
    live: Sum
    temporary: Sum


@dataclass(frozen=True)
class Moment:
    """What there was after an operation. `stacks` has COLUMNS numbers a stack; `sizes` is by power of two."""

    seconds: float
    operation: int
    totals: Totals
    sizes: tuple[Sum, ...]
    stacks: Sequence[int]


@dataclass(frozen=True)
class Part:
    """The highest moment of a part of the run; the last one is its end. `stacks` has those that have changed since the
    part before. `born` is what lives by the part in which it was made."""

    number: int
    moment: Moment
    born: tuple[Sum, ...]


@dataclass(frozen=True)
class WholeRun:
    """All of it. The parents of nodes have lower numbers; node 0 is no stack."""

    source: str
    program: str
    command: str
    pid: int
    started: float
    seconds: float
    threads: int
    operations: int
    within: int
    stack_sampling: int
    sample: int  # one byte of so many was sampled; 0: every allocation was recorded
    part_seconds: float
    part_count: int
    addresses: Sequence[int]
    parents: Sequence[int]
    mappings: tuple[Mapped, ...]
    names: Mapping[int, Frame]  # of addresses that are none
    moments: Mapping[str, Moment]  # peak and end; at 0, at 1 and so on
    parts: tuple[Part, ...]
    made_by_size: tuple[Sum, ...]
    ended_by_age: tuple[Sum, ...]
    lost: Mapping[int, Sum] | None = None  # of the end, by node: objects that nothing points to; None: not known
    notes: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()  # of nodes, once they have names

    @property
    def peak(self) -> Moment:
        """The first moment when most bytes lived."""
        return self.moments["peak"]

    @property
    def end(self) -> Moment:
        """After the last operation."""
        return self.moments["end"]

    @property
    def all_lost(self) -> Sum | None:
        """What nothing pointed to at the end; None: not known."""
        if self.lost is None:
            return None
        return Sum(sum(one.count for one in self.lost.values()), sum(one.bytes for one in self.lost.values()))


@dataclass(frozen=True)
class PartOfStacks:
    """A part of the run: the stacks that have changed, each with its number and its SUMS amounts, in one row."""

    part: Part
    changed: Sequence[int]


@dataclass
class OverTime:
    """A run by stacks of names. They are leaves of a tree from the outside in: nodes have the numbers of their name and
    of their parent, -1 for an outermost one. `leaves` has the node of each stack."""

    names: list[str] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    parts: list[PartOfStacks] = field(default_factory=list)


def rows_of(stacks: Sequence[int]) -> list[Sequence[int]]:
    """The flat numbers of stacks, a row each."""
    return [stacks[at : at + COLUMNS] for at in range(0, len(stacks), COLUMNS)]


def paths(parents: Sequence[int], wanted: Sequence[int]) -> dict[int, list[int]]:
    """Of each wanted node itself and its callers, the innermost first."""
    return {node: _path(parents, node) for node in wanted}


def _path(parents: Sequence[int], node: int) -> list[int]:
    path = []
    while node:
        path.append(node)
        node = parents[node]
    return path
