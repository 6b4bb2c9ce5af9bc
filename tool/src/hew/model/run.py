# SPDX-License-Identifier: MIT
"""What is to be run, and what one run gave."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from hew.model.lazy_dataclass import dataclass

PORT = "{port}"


@dataclass(frozen=True)
class Metric:
    """A number that a program prints, as the user describes it: a pattern with one group."""

    label: str
    pattern: str
    more_is_better: bool = True

    @property
    def key(self) -> str:
        """Under which a run has it; the direction goes with it."""
        return f"metric.{'more' if self.more_is_better else 'less'}.{self.label}"


@dataclass(frozen=True)
class CommandPlan:
    """A command to measure by itself."""

    command: tuple[str, ...]
    input: Path
    timeout: float | None
    points: bool = False  # whether to read the points that it prints
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True)
class ServerPlan:
    """A server to measure while a client loads it. `{port}` in any word stands for the port of the run."""

    server: tuple[str, ...]
    ready: tuple[str, ...] | None
    client: tuple[str, ...]
    timeout: float | None
    metrics: tuple[Metric, ...] = ()


Plan = CommandPlan | ServerPlan


@dataclass(frozen=True)
class Failure:
    """Why a run does not count, and the end of what it wrote to stderr."""

    reason: str
    stderr_tail: str = ""


@dataclass(frozen=True)
class RssPoint:
    """The resident memory of the largest process of a run, `seconds` after its start."""

    seconds: float
    bytes: int


@dataclass(frozen=True)
class Point:
    """One point of a curve that a program measures by itself: a value at a place, of a named series."""

    series: str
    at: float
    unit: str
    value: float


@dataclass(frozen=True)
class Run:
    """One run under one allocator. A failed run has no figures."""

    allocator: str
    round: int
    figures: Mapping[str, float] = field(default_factory=dict)
    rss: tuple[RssPoint, ...] = ()
    output: str | None = None
    failure: Failure | None = None
    own_allocators: frozenset[str] = frozenset()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Step:
    """One place of the schedule. Round 0 and below are the warm-up."""

    allocator: str
    round: int

    @property
    def is_warmup(self) -> bool:
        """Whether the run of this step stays out of the figures."""
        return self.round <= 0
