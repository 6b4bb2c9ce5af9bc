# SPDX-License-Identifier: MIT
"""A finished comparison: what every view shows."""

from collections.abc import Mapping
from enum import StrEnum

from hew.model.allocator import BASELINE, Allocator, Unusable
from hew.model.figures import Figure
from hew.model.lazy_dataclass import dataclass
from hew.model.run import Failure, RssPoint


class Verdict(StrEnum):
    """What can honestly be said of a ratio."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    TOO_FEW_RUNS = "too few runs"


@dataclass(frozen=True)
class Ratio:
    """A figure over the baseline's, with its confidence interval."""

    value: float
    low: float
    high: float
    pairs: int
    verdict: Verdict
    per_round: tuple[float, ...]


@dataclass(frozen=True)
class FailedRun:
    """A run that did not count. Round 0 and below are the warm-up."""

    round: int
    failure: Failure


@dataclass(frozen=True)
class AllocatorResult:
    """All that was seen of one allocator."""

    allocator: Allocator
    values: Mapping[str, tuple[float, ...]]
    medians: Mapping[str, float]
    ratios: Mapping[str, Ratio]
    rss: tuple[RssPoint, ...]
    failures: tuple[FailedRun, ...]
    notes: tuple[str, ...]
    output_differs: bool

    @property
    def good_runs(self) -> int:
        """How many runs the figures rest on."""
        return max((len(values) for values in self.values.values()), default=0)


@dataclass(frozen=True)
class Machine:
    """Where the figures come from."""

    cpu: str
    cpus_usable: int
    memory_bytes: int
    kernel: str
    libc: str
    load_average: float


@dataclass(frozen=True)
class Setup:
    """What was asked for."""

    command: tuple[str, ...]
    server: tuple[str, ...] | None
    runs: int
    warmup: int
    started: str
    machine: Machine


@dataclass(frozen=True)
class Report:
    """The whole comparison."""

    setup: Setup
    figures: tuple[Figure, ...]
    results: tuple[AllocatorResult, ...]
    unusable: tuple[Unusable, ...]
    confidence: float
    notes: tuple[str, ...]
    today: str = BASELINE  # the name of the result that the command runs on without us

    @property
    def baseline(self) -> AllocatorResult:
        """The result that all ratios are taken to."""
        return next(result for result in self.results if result.allocator.name == BASELINE)


@dataclass(frozen=True)
class Choice:
    """What a comparison says to choose: one piece of advice, and a line for each axis that names its winners."""

    advice: str
    axes: tuple[str, ...] = ()
