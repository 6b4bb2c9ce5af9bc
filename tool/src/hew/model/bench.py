# SPDX-License-Identifier: MIT
"""A suite of workloads, and what its runs showed."""

from collections.abc import Mapping
from dataclasses import field

from hew.model.allocator import Allocator, Unusable
from hew.model.lazy_dataclass import dataclass
from hew.model.report import Machine, Ratio, Report
from hew.model.run import CommandPlan, ServerPlan

SUBJECT = "hew"
BEST_PEER = "best peer"


@dataclass(frozen=True)
class Workload:
    """One program of a suite. A curve is only read for its points: how long it runs says nothing."""

    name: str
    group: str
    plan: CommandPlan | ServerPlan
    curve: bool
    runs: int
    warmup: int


@dataclass(frozen=True)
class Suite:
    """Workloads to run, those left out and why, and the peers whose speed is not worth matching."""

    name: str
    workloads: tuple[Workload, ...]
    left_out: tuple[Unusable, ...]
    slow_peers: frozenset[str]


@dataclass(frozen=True)
class Best:
    """The peer with the lowest median of a figure, and hew's ratio to it."""

    name: str
    ratio: Ratio | None


@dataclass(frozen=True)
class CurvePoint:
    """What each allocator's median is at one place of a curve."""

    series: str
    at: float
    unit: str
    medians: Mapping[str, float]


@dataclass(frozen=True)
class CurveMean:
    """One series as a whole: geometric means of the ratios to glibc, and where hew is furthest behind the best peer."""

    series: str
    ratios: Mapping[str, float]
    to_best: float | None
    worst: float | None
    worst_at: float | None


@dataclass(frozen=True)
class WorkloadResult:
    """One workload under every allocator."""

    workload: Workload
    report: Report
    best: Mapping[str, Best]
    curve: tuple[CurvePoint, ...]
    means: tuple[CurveMean, ...]


@dataclass(frozen=True)
class BenchReport:
    """The whole run of a suite, which took `seconds`. `mean` treats it as one workload; `groups` each group of it.

    One that was interrupted has the workloads that were measured to their end.
    """

    suite: str
    started: str
    machine: Machine
    allocators: tuple[Allocator, ...]
    unusable: tuple[Unusable, ...]
    workloads: tuple[WorkloadResult, ...]
    mean: Report | None
    groups: Mapping[str, Report]
    notes: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True)
class Change:
    """How an allocator's ratio to glibc differs between two saved runs of a workload."""

    workload: str
    figure: str
    before: float
    after: float
    change: Ratio
