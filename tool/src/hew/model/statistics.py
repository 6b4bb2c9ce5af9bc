# SPDX-License-Identifier: MIT
"""One report of an allocator's statistics, typed. A value that the report lacks is None, never 0.

Names are those of jemalloc's JSON, so that readers find a number in the report. Names of times end in `_ns`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

Scalar = int | bool | str


@dataclass(frozen=True)
class Mutex:
    """A lock's counters since the start."""

    num_ops: int | None = None
    num_wait: int | None = None
    num_spin_acq: int | None = None
    num_owner_switch: int | None = None
    total_wait_ns: int | None = None
    max_wait_ns: int | None = None
    max_num_thds: int | None = None


@dataclass(frozen=True)
class Bin:
    """A small size class: its layout, and what an arena has of it."""

    size: int
    nregs: int | None = None
    slab_size: int | None = None
    nshards: int | None = None
    nmalloc: int | None = None
    ndalloc: int | None = None
    nrequests: int | None = None
    nfills: int | None = None
    nflushes: int | None = None
    nslabs: int | None = None
    nreslabs: int | None = None
    curregs: int | None = None
    curslabs: int | None = None
    nonfull_slabs: int | None = None
    prof_live_requested: int | None = None
    prof_live_count: int | None = None
    mutex: Mutex = field(default_factory=Mutex)


@dataclass(frozen=True)
class LargeClass:
    """A large size class. The counters of calls are in the text report only."""

    size: int
    curlextents: int | None = None
    nmalloc: int | None = None
    ndalloc: int | None = None
    nrequests: int | None = None
    prof_live_requested: int | None = None
    prof_live_count: int | None = None


@dataclass(frozen=True)
class UnusedExtents:
    """Unused extents of about one size."""

    size: int | None = None
    ndirty: int | None = None
    nmuzzy: int | None = None
    nretained: int | None = None
    dirty_bytes: int | None = None
    muzzy_bytes: int | None = None
    retained_bytes: int | None = None


@dataclass(frozen=True)
class Sizes:
    """What is true of all small, or of all large classes together."""

    allocated: int | None = None
    nmalloc: int | None = None
    ndalloc: int | None = None
    nrequests: int | None = None
    nfills: int | None = None
    nflushes: int | None = None


@dataclass(frozen=True)
class Arena:
    """An arena, or the sum of several (`key` is then `merged` or `destroyed`)."""

    key: str
    name: str | None = None
    nthreads: int | None = None
    uptime_ns: int | None = None
    dirty_decay_ms: int | None = None
    muzzy_decay_ms: int | None = None
    pactive: int | None = None
    pdirty: int | None = None
    pmuzzy: int | None = None
    dirty_npurge: int | None = None
    dirty_nmadvise: int | None = None
    dirty_purged: int | None = None
    muzzy_npurge: int | None = None
    muzzy_nmadvise: int | None = None
    muzzy_purged: int | None = None
    mapped: int | None = None
    retained: int | None = None
    base: int | None = None
    internal: int | None = None
    metadata_thp: int | None = None
    tcache_bytes: int | None = None
    tcache_stashed_bytes: int | None = None
    resident: int | None = None
    holes: int | None = None
    holes_purged: int | None = None
    holes_refaulted: int | None = None
    holes_nmadvise: int | None = None
    pieces_moved: int | None = None
    bytes_moved: int | None = None
    small: Sizes = field(default_factory=Sizes)
    large: Sizes = field(default_factory=Sizes)
    mutexes: Mapping[str, Mutex] = field(default_factory=dict)
    bins: tuple[Bin, ...] = ()
    lextents: tuple[LargeClass, ...] = ()
    extents: tuple[UnusedExtents, ...] = ()

    @property
    def where(self) -> str:
        """Where it stands in the JSON."""
        return f"stats.arenas.{self.key}"

    @property
    def seconds(self) -> float | None:
        """How long it has lived."""
        return self.uptime_ns / 1e9 if self.uptime_ns else None


@dataclass(frozen=True)
class Thread:
    """A thread of a process that was asked: its arena, what it asked of that, and the bytes it keeps at hand."""

    number: int
    name: str
    arena: str
    requests: int
    cached: int


@dataclass(frozen=True)
class Totals:
    """Bytes of the whole process."""

    allocated: int | None = None
    active: int | None = None
    metadata: int | None = None
    metadata_thp: int | None = None
    resident: int | None = None
    mapped: int | None = None
    retained: int | None = None


@dataclass(frozen=True)
class Layout:
    """What `arenas.*` says of the machine and of all arenas."""

    narenas: int | None = None
    dirty_decay_ms: int | None = None
    muzzy_decay_ms: int | None = None
    quantum: int | None = None
    page: int | None = None
    hugepage: int | None = None
    tcache_max: int | None = None


@dataclass(frozen=True)
class BackgroundThreads:
    """The threads that purge."""

    num_threads: int | None = None
    num_runs: int | None = None
    run_interval_ns: int | None = None


@dataclass(frozen=True)
class Depot:
    """hew's depots, the level of the cache between threads and arenas: of all CPUs together."""

    bytes: int | None = None
    limit: int | None = None
    depots: int | None = None
    takes: int | None = None
    gives: int | None = None
    misses: int | None = None
    refusals: int | None = None


@dataclass(frozen=True)
class Peak:
    """Where the memory was when hew's heaps held most, by cause: the parts add up to `resident`."""

    resident: int | None = None
    live: int | None = None
    thread_caches: int | None = None
    depots: int | None = None
    slabs: int | None = None
    kept: int | None = None
    idle: int | None = None
    metadata: int | None = None


@dataclass(frozen=True)
class Guard:
    """Guarded objects of `hardening:sample`, and the program's mistakes that met one."""

    guarded: int | None = None
    live: int | None = None
    waiting: int | None = None
    passed: int | None = None
    refused: int | None = None
    interval: int | None = None
    reported: int | None = None
    use_after_free: int | None = None
    overflow: int | None = None
    underflow: int | None = None
    double_free: int | None = None
    bad_pointer: int | None = None

    @property
    def found(self) -> dict[str, int]:
        """How often each kind of mistake was found."""
        kinds = ("use_after_free", "overflow", "underflow", "double_free", "bad_pointer")
        return {kind.replace("_", " "): getattr(self, kind) or 0 for kind in kinds}


@dataclass(frozen=True)
class MemoryLimit:
    """The limit of memory nearest to what hew holds. `source`: the setting that says so, or `cgroup`."""

    source: str | None = None
    bytes: int | None = None
    held: int | None = None  # in pages, in use and idle, at the last look
    looks: int | None = None
    relieved: int | None = None  # so often free memory went back for it
    returned: int | None = None  # bytes that went back


@dataclass(frozen=True)
class Snapshot:
    """One report, whole or in part. `notes` lists its faults, and how each was handled."""

    form: str  # "JSON" or "text"
    version: str | None = None
    config: Mapping[str, Scalar] = field(default_factory=dict)
    opt: Mapping[str, Scalar] = field(default_factory=dict)
    thp_mode: str | None = None
    layout: Layout = field(default_factory=Layout)
    totals: Totals = field(default_factory=Totals)
    background: BackgroundThreads = field(default_factory=BackgroundThreads)
    depot: Depot = field(default_factory=Depot)
    peak: Peak = field(default_factory=Peak)
    guard: Guard = field(default_factory=Guard)
    limit: MemoryLimit = field(default_factory=MemoryLimit)
    mutexes: Mapping[str, Mutex] = field(default_factory=dict)
    merged: Arena | None = None
    destroyed: Arena | None = None
    arenas: tuple[Arena, ...] = ()
    threads: tuple[Thread, ...] = ()  # not of a report: of a process that was asked
    whole: bool = True
    notes: tuple[str, ...] = ()

    @property
    def allocator(self) -> str:
        """`hew` or `jemalloc`: hew calls itself a jemalloc of a special build."""
        return "hew" if "-ghew" in (self.version or "") else "jemalloc"

    @property
    def release(self) -> str | None:
        """The version as people say it: 5.3.0; of hew its own, 0.1.0."""
        if self.version is None:
            return None
        return self.version.partition("-ghew")[2] or self.version.partition("-")[0]

    @property
    def subject(self) -> str:
        """The allocator and its version."""
        return f"{self.allocator} {self.release or '(version not reported)'}"

    @property
    def counts(self) -> bool:
        """Whether it has statistics at all: a jemalloc built without them writes a report of its settings alone."""
        return self.config.get("stats") is not False

    @property
    def page(self) -> int:
        """Bytes of a page; 4096 where the report leaves it out."""
        return self.layout.page or 4096

    @property
    def all_arenas(self) -> Arena | None:
        """The sum of all arenas; where the report leaves it out and there is one arena, that one."""
        if self.merged is not None:
            return self.merged
        return self.arenas[0] if len(self.arenas) == 1 else None

    @property
    def tells_requests(self) -> bool:
        """Whether it says of some class how much was asked for."""
        arena = self.all_arenas
        if arena is None:
            return False
        return any(one.prof_live_count for one in arena.bins) or any(one.prof_live_count for one in arena.lextents)

    def noted(self, *more: str, whole: bool | None = None) -> "Snapshot":
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *more), whole=self.whole if whole is None else whole)

    def option(self, name: str) -> Scalar | None:
        """A setting as it was in force at the start."""
        return self.opt.get(name)

    def number_option(self, name: str) -> int | None:
        """A setting that is a number."""
        value = self.opt.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Part:
    """A part of memory: its bytes, None when not reported, and where the report has it."""

    label: str
    bytes: int | None
    where: str


@dataclass(frozen=True)
class Reading:
    """All reports found in one text."""

    source: str
    snapshots: tuple[Snapshot, ...]
    other_bytes: int = 0  # text that belongs to no report
    attached: str = ""  # how the process was held for it, where it was


def total(values: Iterable[int | None]) -> int | None:
    """A sum; None when nothing of it was reported."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
