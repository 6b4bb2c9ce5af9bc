# SPDX-License-Identifier: MIT
"""The metrics of `hew export` with kind, unit and meaning, their values, and the processes in one scrape."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Snapshot

Labels = tuple[tuple[str, str], ...]


class Kind(Enum):
    """The kinds of OpenMetrics that we have."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"

    @property
    def suffix(self) -> str:
        """What the name of a sample has behind the name of its metric."""
        return {"counter": "_total", "info": "_info"}.get(self.value, "")


@dataclass(frozen=True)
class Metric:
    """A metric; `unit` is "" or what its name ends with, `where` says where the number is from."""

    name: str
    kind: Kind
    unit: str
    help: str
    where: str

    @property
    def series(self) -> str:
        """The name that its samples have."""
        return self.name + self.kind.suffix


@dataclass(frozen=True)
class Sample:
    """A value of a metric; the labels are in order."""

    labels: Labels
    value: float


@dataclass(frozen=True)
class Family:
    """A metric with its samples."""

    metric: Metric
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Kernel:
    """The kernel's figures for a process, in bytes and seconds; None where it has none."""

    resident: int | None = None
    anonymous: int | None = None
    swapped: int | None = None
    cpu: float | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    threads: int | None = None
    started: float | None = None
    group_limit: int | None = None
    group_used: int | None = None


@dataclass(frozen=True)
class Observed:
    """A process, or a dump (then `dump` is its file's name and `modified` its time), with its statistics."""

    service: str
    snapshot: Snapshot
    pid: int | None = None
    process: str = ""
    kernel: Kernel = field(default_factory=Kernel)
    dump: str = ""
    modified: float | None = None


@dataclass(frozen=True)
class Look:
    """All that was seen at one moment (seconds since 1970). `errors`: why so many were not seen, since the start."""

    at: float
    seconds: float
    observed: tuple[Observed, ...]
    errors: Mapping[str, int]
    left_out: int = 0


@dataclass(frozen=True)
class QueueState:
    """How the queue of a remote write stands; counts since the start."""

    bytes: int
    batches: int
    sent: int
    retries: int
    dropped: Mapping[str, int]
    replayed: int
