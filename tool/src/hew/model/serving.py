# SPDX-License-Identifier: MIT
"""What `hew serve` shows of one process beyond `hew top`: its history, locks by arena, size classes, two snapshots."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field

from hew.model.advice import Advice
from hew.model.lazy_dataclass import dataclass
from hew.model.live import LiveView, Moment
from hew.model.snapshot_view import Change

POINTS = 1800  # of a process's history: half an hour


@dataclass(frozen=True)
class Point:
    """A process at one moment (seconds since 1970): bytes by part, rates by name."""

    at: float
    resident: int
    parts: Mapping[str, int]
    rates: Mapping[str, float | None]


@dataclass(frozen=True)
class LockCell:
    """The locks of one kind in one arena since the start; `now`: seconds waited a second since the look before."""

    taken: int
    waits: int
    wait_ns: int
    now: float | None


@dataclass(frozen=True)
class LockRow:
    """An arena's locks, in the order of the grid's columns."""

    arena: str
    name: str
    cells: tuple[LockCell | None, ...]


@dataclass(frozen=True)
class LockGrid:
    """Arenas x locks. `left_out`: arenas without a lock taken, and those beyond the most that are shown."""

    columns: tuple[str, ...]
    rows: tuple[LockRow, ...]
    left_out: int


@dataclass(frozen=True)
class SizeRow:
    """A size class: objects in use (those in thread caches too); of a small one its slabs and how full they are."""

    size: int
    small: bool
    objects: int
    bytes: int
    slabs: int | None
    slab_bytes: int | None
    fill: float | None  # of the places for objects; None: there is no slab
    waste: int | None  # bytes of slabs that hold no object
    requests: int | None
    fills: int | None
    flushes: int | None
    waits: int | None


@dataclass(frozen=True)
class ArenaRow:
    """An arena: how many threads of each name use it, and its bytes."""

    arena: str
    name: str
    threads: Mapping[str, int]
    count: int | None
    active: int | None
    dirty: int | None
    muzzy: int | None
    retained: int | None
    cached: int | None
    holes: int | None


@dataclass(frozen=True)
class Details:
    """What the statistics say of locks, sizes and arenas; nothing of a process that has none."""

    locks: LockGrid
    sizes: tuple[SizeRow, ...]
    arenas: tuple[ArenaRow, ...]


@dataclass(frozen=True)
class Seen:
    """One process as of the last look. `ended`: why there will be no further one."""

    pid: int
    view: LiveView
    details: Details
    points: Sequence[Point]
    ended: str = ""


@dataclass(frozen=True)
class Kept:
    """A report that was kept to be compared: of a process, or from a file."""

    number: int
    title: str
    at: float  # seconds since 1970
    resident: int | None  # by the kernel, of a process


@dataclass(frozen=True)
class KeptProfile:
    """A heap profile of a process. `number`: 0 for what was not kept; `at`: seconds since 1970; `bytes`: live."""

    number: int
    pid: int
    at: float
    bytes: int


@dataclass(frozen=True)
class Group:
    """Changes of one kind."""

    title: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Comparison:
    """Two kept reports, and what differs."""

    before: Kept
    after: Kept
    groups: tuple[Group, ...]


@dataclass
class Watched:
    """The samples of one process. `born` distinguishes it from a later process with the same id."""

    born: int | None
    points: deque[Point] = field(default_factory=lambda: deque(maxlen=POINTS))
    last: Moment | None = None
    seen: Seen | None = None
    ended: str = ""
    advice: dict[str, Advice] = field(default_factory=dict)
