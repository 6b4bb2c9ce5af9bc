# SPDX-License-Identifier: MIT
"""What `hew top` shows: processes, where one's memory is, how fast it allocates and waits."""

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Part, Snapshot


@dataclass(frozen=True)
class ProcessRow:
    """One process of the list. Sizes in bytes; `asks` says that it answers on a control socket."""

    pid: int
    name: str
    user: str
    allocator: str
    resident: int
    threads: int
    asks: bool


@dataclass(frozen=True)
class Outside:
    """A process's memory as the kernel sees it, in bytes. `heap`: glibc's main heap, `regions`: its threads' heaps."""

    resident: int
    anonymous: int
    files: int
    shared: int
    lazily_freed: int | None = None
    huge: int | None = None
    swapped: int | None = None
    heap: int | None = None
    regions: int | None = None
    region_count: int = 0


@dataclass(frozen=True)
class Moment:
    """A process at one moment: the kernel's figures, and the allocator's statistics if the process can be queried.

    `seconds` is of a monotonic clock; `faults` are the page faults so far; `why` says why there are no statistics."""

    pid: int
    name: str
    words: str
    allocator: str
    threads: Mapping[str, int]  # how many of each name
    seconds: float
    faults: int
    cpu: float
    outside: Outside
    snapshot: Snapshot | None = None
    why: str = ""


@dataclass(frozen=True)
class Rate:
    """Something that happens so often a second (`share`: that part of the time); None: not known."""

    label: str
    value: float | None
    share: bool = False


@dataclass(frozen=True)
class LiveView:
    """What is shown of one process: the parts of its resident memory add up to it. `thread_rates`: requests a second of
    a thread, by its number, where there was a look before."""

    moment: Moment
    parts: tuple[Part, ...]
    rates: tuple[Rate, ...]
    thread_rates: Mapping[int, float] = field(default_factory=dict)


class Feed(Protocol):
    """Where `hew top` gets what it shows; both may take a while, and raise HewError."""

    def processes(self) -> tuple[ProcessRow, ...]:
        """The processes that we may look at, the largest first."""
        ...

    def look(self, pid: int) -> LiveView:
        """One process now; rates are since the last look at it."""
        ...
