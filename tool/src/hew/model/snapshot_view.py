# SPDX-License-Identifier: MIT
"""A snapshot with the figures that a reader wants first."""

from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Bin, Mutex, Part, Snapshot, Thread


@dataclass(frozen=True)
class SnapshotView:
    """What `hew stats` shows of one report."""

    snapshot: Snapshot
    parts: tuple[Part, ...]
    threads: int | None
    locks: tuple[tuple[str, Mutex], ...]
    bins: tuple[Bin, ...]
    busiest: tuple[Thread, ...] = ()


@dataclass(frozen=True)
class Change:
    """Bytes of something in two reports."""

    label: str
    before: int
    after: int
