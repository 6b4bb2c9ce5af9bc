# SPDX-License-Identifier: MIT
"""Queries about a fleet, which every back end answers alike, and the findings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from hew.model.advice import Advice
from hew.model.figures import Figure
from hew.model.lazy_dataclass import dataclass
from hew.model.report import Ratio

SERVICE, HOST, PID = "service_name", "instance", "pid"


class Over(StrEnum):
    """What becomes of one series within a step of time."""

    LAST = "last"  # its value at the end of the step, if it is not older than LOOKBACK
    INCREASE = "increase"  # of a counter, a second on average; a counter that was reset begins at 0


class Fold(StrEnum):
    """What becomes of several series with the same labels."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    COUNT = "count"


LARGEST = 2.0**63
LATEST = 253402300799.0  # seconds since 1970: the end of the year 9999
NEVER = frozenset({"hew_decay_seconds"})  # series whose infinity means something


def possible(series: str, value: float) -> bool:
    """Whether a value can be one of ours: sums of others would hide all that is beside them."""
    return abs(value) <= LARGEST or (series in NEVER and value == math.inf)


LOOKBACK = 300.0  # seconds: as Prometheus has it


@dataclass(frozen=True)
class Query:
    """One series' name, what to do with it in time, and then across series that differ in other labels than `by`."""

    series: str
    over: Over = Over.LAST
    fold: Fold = Fold.SUM
    by: tuple[str, ...] = (SERVICE,)
    match: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Span:
    """Steps of time, in seconds since 1970: the first ends at begin + step, the last at `end`."""

    begin: float
    end: float
    steps: int = 1

    @property
    def step(self) -> float:
        """Seconds of one step."""
        return (self.end - self.begin) / self.steps

    @property
    def ends(self) -> list[float]:
        """When each step ends."""
        return [self.end - self.step * (self.steps - number) for number in range(1, self.steps + 1)]


@dataclass(frozen=True)
class Line:
    """An answer: the values of `by`'s labels ("" where a series has none), and (time, value) of the steps that have
    one."""

    labels: tuple[str, ...]
    points: tuple[tuple[float, float], ...]

    @property
    def mean(self) -> float:
        """Over the steps."""
        return sum(value for _, value in self.points) / len(self.points)


class Source(Protocol):
    """A back end. `name` is for people."""

    name: str

    def ask(self, query: Query, span: Span) -> Sequence[Line]:
        """The answer, in any order. HewError when there is none."""
        ...

    def newest(self) -> float | None:
        """The time of the newest sample, in seconds since 1970; None without any."""
        ...


class Kind(StrEnum):
    """What a service can get back, or should look at."""

    LOCKS = "lock waits"
    FILLS = "fills"
    FAULTS = "page faults"
    REFAULTS = "holes faulted in again"
    IDLE = "idle pages"
    CACHES = "thread caches"
    FRAGMENTATION = "fragmentation"


@dataclass(frozen=True)
class Cost:
    """What one kind costs a service, all its processes together: cores or bytes."""

    kind: Kind
    cores: float = 0.0
    bytes: float = 0.0
    about: str = ""
    worst: tuple[str, str] = ("", "")  # the host and process where it is largest


@dataclass(frozen=True)
class Mixed:
    """A setting that has several values within a service: the most common one, and the hosts that have another."""

    setting: str
    usual: float
    others: tuple[tuple[str, float], ...]  # hosts with their values


@dataclass(frozen=True)
class LimitDay:
    """A host's control group that grows towards its limit. Times in seconds since 1970; `latest` None: maybe never.
    `days` is how much of its past was seen: under three, a rhythm or a step may look like growth."""

    host: str
    used: float
    limit: float
    a_day: float
    at: float
    earliest: float
    latest: float | None
    days: float


@dataclass(frozen=True)
class ServiceState:
    """A service: its size, what it can get back (the largest first), what to do, and what differs among its hosts."""

    name: str
    processes: float
    hosts: int
    cores: float | None
    resident: float | None
    costs: tuple[Cost, ...]
    advice: tuple[Advice, ...]
    mixed: tuple[Mixed, ...] = ()
    limit: LimitDay | None = None
    score: float = 0.0  # in cores, memory counted at its price

    @property
    def cores_back(self) -> float:
        """Cores."""
        return sum(one.cores for one in self.costs)

    @property
    def bytes_back(self) -> float:
        """Bytes."""
        return sum(one.bytes for one in self.costs)


@dataclass(frozen=True)
class FleetState:
    """All services, those that can get back most first. `seconds` is how long asking took."""

    source: str
    begin: float
    end: float
    services: tuple[ServiceState, ...]
    gib_per_core: float
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Hosts before and after a rollout: medians over hosts, and the paired ratios."""

    title: str
    hosts: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    ratios: Mapping[str, Ratio]


@dataclass(frozen=True)
class Rollout:
    """What a rollout changed. `missing`: hosts without the setting, and what they have in its place."""

    service: str
    figures: tuple[Figure, ...]
    groups: tuple[Group, ...]
    before: Span
    after: Span
    setting: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)
