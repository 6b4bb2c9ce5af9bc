# SPDX-License-Identifier: MIT
"""What a trace file has in it, as far as its headers and the plan of it say."""

from dataclasses import dataclass

ENDED = 1  # flags of a trace's header
FULL = 2
OBJECTS = 4  # of CPython's own allocator are in it
SAMPLED = 8  # by bytes


@dataclass(frozen=True)
class TraceSummary:
    """One trace file, by its blocks' headers."""

    path: str
    pid: int
    program: str
    operations: int
    threads: int
    seconds: float
    raw_bytes: int  # of its operations
    file_bytes: int
    ended: bool
    full: bool

    @property
    def bytes_an_operation(self) -> float:
        """Of the file as it is."""
        return self.file_bytes / self.operations if self.operations else 0.0


@dataclass(frozen=True)
class TracePlan:
    """What `hew-replay plan` counted."""

    threads: int
    operations: int
    allocations: int
    requested: int  # bytes, of all allocations together
    live_bytes: int  # most at once
    live_objects: int
    microseconds: int
    unknown: int  # operations on objects that are not in the trace
    damaged: int  # blocks
    missing: int
    cut_off: int  # bytes at the file's end that no block has
    flags: int
