# SPDX-License-Identifier: MIT
"""What `hew watch` records of processes, and what the analysis over time starts from."""

from collections.abc import Mapping
from dataclasses import field

from hew.model.lazy_dataclass import dataclass
from hew.model.live import Moment

MOST_ARENAS = 64  # that a look keeps, the busiest


@dataclass(frozen=True)
class HeapFigures:
    """glibc's heap in bytes; `mapped`: chunks with a mapping of their own."""

    system: int
    free: int
    trimmable: int
    scattered: int
    cached: int
    mapped: int | None = None

    @property
    def live(self) -> int:
        """What the program holds."""
        return self.system - self.free - self.cached + (self.mapped or 0)


@dataclass(frozen=True)
class Record:
    """One sample. `at`: seconds since 1970. `born`: when the process started, in ticks since boot; with the process
    id it identifies the process. A dump has the id 0. `held` says how the process was stopped, where it was."""

    at: float
    born: int
    moment: Moment
    heap: HeapFigures | None = None
    held: str = ""


@dataclass(frozen=True)
class Point:
    """The analysis's part of a sample, in bytes; None where it is unknown. `live` excludes objects in thread caches.
    `requests` is a count since the start. `classes` has bytes of objects by class size, with those in caches. `arenas`
    has the same by the arena's name; of many arenas only the busiest."""

    at: float
    resident: int
    live: int | None = None
    active: int | None = None
    requests: int | None = None
    classes: Mapping[int, int] = field(default_factory=dict)
    arenas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Track:
    """All looks at one process, the oldest first, and the last one with statistics, or the last one, whole."""

    pid: int
    born: int
    points: tuple[Point, ...]
    last: Record

    @property
    def title(self) -> str:
        """How people call it."""
        who = f"process {self.pid}, " if self.pid else ""
        return f"{who}{self.last.moment.name}"


@dataclass(frozen=True)
class Recording:
    """A file of looks. `notes`: what was wrong with it."""

    source: str
    tracks: tuple[Track, ...]
    notes: tuple[str, ...] = ()
