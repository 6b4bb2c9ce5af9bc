# SPDX-License-Identifier: MIT
"""A trace under policies of allocation: what each took of the memory, over the course of the operations."""

import math

from hew.model.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Trace:
    """The recording itself. `unknown` operations were left out; `damaged` and `missing` blocks, `cut_off` bytes."""

    operations: int
    threads: int
    thread_sampling: int
    unknown: int
    damaged: int
    missing: int
    cut_off: int
    ended: bool

    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know of it."""
        found = []
        if self.thread_sampling > 1:
            found.append(f"one thread of {self.thread_sampling} was recorded: bytes are those of the recorded threads")
        if self.damaged or self.missing:
            found.append(
                f"{self.damaged} blocks of the trace are damaged, {self.missing} missing: what they had is left out"
            )
        if self.unknown:
            found.append(f"{self.unknown} operations on objects whose making is not in the trace were left out")
        if not self.ended:
            found.append("the recorded process was killed, or had not ended yet")
        return tuple(found)


@dataclass(frozen=True)
class Moment:
    """A place in the course: operations and seconds since the start, live bytes and objects."""

    operation: int
    seconds: float
    live: int
    objects: int


@dataclass(frozen=True)
class Simulated:
    """One policy's results. `gross`: bytes of objects, rounded and with headers. `heap`: bytes from the system.
    `resident`: pages with a live byte. The lists are by moment; means are over operations."""

    name: str
    about: str
    failed: bool
    work: int
    peak_heap: int
    live_at_peak: int
    gross_at_peak: int
    peak_resident: int
    mean_gross: float
    mean_heap: float
    mean_resident: float
    heap: tuple[int, ...]
    resident: tuple[int, ...]
    gross: tuple[int, ...]

    @property
    def external(self) -> float:
        """The share of the heap that no object has, in the mean."""
        return 1 - self.mean_gross / self.mean_heap if self.mean_heap else 0.0


@dataclass(frozen=True)
class Simulation:
    """All of it. `largest` is the largest request."""

    source: str
    trace: Trace
    peak_live: int
    mean_live: float
    largest: int
    allocated: int
    reallocations: int
    left_out: int
    moments: tuple[Moment, ...]
    policies: tuple[Simulated, ...]

    def internal(self, one: Simulated) -> float:
        """Mean internal fragmentation: the part of the objects' bytes beyond the requested sizes."""
        return 1 - self.mean_live / one.mean_gross if one.mean_gross else 0.0

    @property
    def robson(self) -> float:
        """Bytes that some program with this peak and these sizes forces on any non-moving allocator (Robson 1974)."""
        sizes = max(1.0, self.largest / 16)
        return self.peak_live * (math.log2(sizes) / 2 + 1)


@dataclass(frozen=True)
class SizeUse:
    """A size (rounded up to 8) with an alignment: how often it was asked for, how many objects lived at the peak, and
    in the mean over operations."""

    size: int
    align: int
    allocations: int
    at_peak: float
    mean: float


@dataclass(frozen=True)
class SizeClass:
    """A class and the bytes of its slab."""

    size: int
    slab: int


@dataclass(frozen=True)
class Sizes:
    """What a trace, or a report with exact sizes, tells of small sizes, and the tables of classes by name."""

    source: str
    uses: tuple[SizeUse, ...]
    threads: int
    tables: dict[str, tuple[SizeClass, ...]]
    notes: tuple[str, ...] = ()
