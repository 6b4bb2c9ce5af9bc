# SPDX-License-Identifier: MIT
"""The series of each process: the sums over its arenas, and the kernel's figures."""

from collections.abc import Callable

from hew.analysis.memory import locks, pages
from hew.analysis.metrics.row import Number, Row, counter, decay_seconds, gauge, scaled
from hew.model.metric import Observed
from hew.model.statistics import Arena, Mutex, Sizes, total

BYTES, SECONDS = "bytes", "seconds"
MERGED = "stats.arenas.merged"


def _arena(read: Callable[[Arena], int | None]) -> Callable[[Observed], Number]:
    def value(seen: Observed) -> Number:
        arena = seen.snapshot.all_arenas
        return None if arena is None else read(arena)

    return value


def _pages(read: Callable[[Arena], int | None]) -> Callable[[Observed], Number]:
    def value(seen: Observed) -> Number:
        arena = seen.snapshot.all_arenas
        return None if arena is None else pages(seen.snapshot, read(arena))

    return value


def _sizes(read: Callable[[Sizes], int | None]) -> dict[str, Callable[[Observed], Number]]:
    return {"small": _arena(lambda arena: read(arena.small)), "large": _arena(lambda arena: read(arena.large))}


def _locks(read: Callable[[Mutex], int | None]) -> Callable[[Observed], Number]:
    return lambda seen: total(read(lock) for lock in locks(seen.snapshot).values())


TOTALS: tuple[Row[Observed], ...] = (
    Row(
        gauge("hew_allocated_bytes", BYTES, "Objects that the program holds or thread caches keep.", "stats.allocated"),
        lambda seen: seen.snapshot.totals.allocated,
    ),
    Row(
        gauge("hew_active_bytes", BYTES, "Pages that objects lie in.", "stats.active"),
        lambda seen: seen.snapshot.totals.active,
    ),
    Row(
        gauge("hew_metadata_bytes", BYTES, "The allocator's own data.", "stats.metadata"),
        lambda seen: seen.snapshot.totals.metadata,
    ),
    Row(
        gauge("hew_resident_bytes", BYTES, "Memory in use as the allocator counts it.", "stats.resident"),
        lambda seen: seen.snapshot.totals.resident,
    ),
    Row(
        gauge("hew_mapped_bytes", BYTES, "Address space with memory behind it.", "stats.mapped"),
        lambda seen: seen.snapshot.totals.mapped,
    ),
    Row(
        gauge("hew_retained_bytes", BYTES, "Address space kept without memory.", "stats.retained"),
        lambda seen: seen.snapshot.totals.retained,
    ),
    Row(
        gauge("hew_idle_bytes", BYTES, "Free pages that the system has not got back yet.", f"{MERGED}.pdirty, pmuzzy"),
        {"dirty": _pages(lambda arena: arena.pdirty), "muzzy": _pages(lambda arena: arena.pmuzzy)},
        "state",
    ),
    Row(
        gauge("hew_thread_cache_bytes", BYTES, "Free objects at hand of threads.", f"{MERGED}.tcache_bytes"),
        _arena(lambda arena: arena.tcache_bytes),
    ),
    Row(
        gauge("hew_depot_bytes", BYTES, "Free objects in the depots of the CPUs (hew only).", "stats.depot.bytes"),
        lambda seen: seen.snapshot.depot.bytes,
    ),
    Row(
        gauge("hew_holes_bytes", BYTES, "Returned pages of slabs that hold objects (hew only).", f"{MERGED}.holes"),
        _arena(lambda arena: arena.holes),
    ),
    Row(
        gauge("hew_live_bytes", BYTES, "Objects by kind of size class.", f"{MERGED}.small.allocated, large.allocated"),
        _sizes(lambda sizes: sizes.allocated),
        "size",
    ),
    Row(
        gauge("hew_limit_bytes", BYTES, "The nearest limit of memory that hew knows of.", "limit.bytes"),
        lambda seen: seen.snapshot.limit.bytes or None,
    ),
    Row(gauge("hew_arenas", "", "Arenas there may be.", "arenas.narenas"), lambda seen: seen.snapshot.layout.narenas),
    Row(
        gauge("hew_decay_seconds", SECONDS, "Time for idle pages to go back; +Inf: never.", "arenas.dirty_decay_ms"),
        {
            "dirty": lambda seen: decay_seconds(seen.snapshot.layout.dirty_decay_ms),
            "muzzy": lambda seen: decay_seconds(seen.snapshot.layout.muzzy_decay_ms),
        },
        "state",
    ),
)

WORK: tuple[Row[Observed], ...] = (
    Row(
        counter("hew_requests", "", "Requests for memory that the arenas know of.", f"{MERGED}.*.nrequests"),
        _sizes(lambda sizes: sizes.nrequests),
        "size",
    ),
    Row(
        counter("hew_fills", "", "Thread caches filled.", f"{MERGED}.*.nfills"),
        _sizes(lambda sizes: sizes.nfills),
        "size",
    ),
    Row(
        counter("hew_flushes", "", "Thread caches emptied.", f"{MERGED}.*.nflushes"),
        _sizes(lambda sizes: sizes.nflushes),
        "size",
    ),
    Row(
        counter("hew_depot_batches", "", "Batches of objects at the depots (hew only).", "stats.depot.*"),
        {
            "taken": lambda seen: seen.snapshot.depot.takes,
            "given": lambda seen: seen.snapshot.depot.gives,
            "missed": lambda seen: seen.snapshot.depot.misses,
            "refused": lambda seen: seen.snapshot.depot.refusals,
        },
        "outcome",
    ),
    Row(
        counter(
            "hew_guarded_objects", "", "Objects that hardening:sample has guarded (hew only).", "stats.guard.guarded"
        ),
        lambda seen: seen.snapshot.guard.guarded,
    ),
    Row(
        counter(
            "hew_misuse_found", "", "The program's mistakes that met a guarded object (hew only).", "stats.guard.*"
        ),
        {
            "use after free": lambda seen: seen.snapshot.guard.use_after_free,
            "overflow": lambda seen: seen.snapshot.guard.overflow,
            "underflow": lambda seen: seen.snapshot.guard.underflow,
            "double free": lambda seen: seen.snapshot.guard.double_free,
            "bad pointer": lambda seen: seen.snapshot.guard.bad_pointer,
        },
        "kind",
    ),
    Row(
        counter("hew_lock_operations", "", "Locks taken, all locks together.", "every mutex: num_ops"),
        _locks(lambda lock: lock.num_ops),
    ),
    Row(
        counter("hew_lock_waits", "", "Locks that had to be slept for.", "every mutex: num_wait"),
        _locks(lambda lock: lock.num_wait),
    ),
    Row(
        counter("hew_lock_wait_seconds", SECONDS, "Time slept for locks.", "every mutex: total_wait_time"),
        lambda seen: scaled(_locks(lambda lock: lock.total_wait_ns)(seen), 1e-9),
    ),
    Row(
        counter("hew_purged_bytes", BYTES, "Idle memory returned to the system.", f"{MERGED}.*_purged"),
        {
            "dirty": _pages(lambda arena: arena.dirty_purged),
            "muzzy": _pages(lambda arena: arena.muzzy_purged),
            "holes": _arena(lambda arena: arena.holes_purged),
        },
        "state",
    ),
    Row(
        counter("hew_purge_calls", "", "System calls (or ranges) that returned it.", f"{MERGED}.*_nmadvise"),
        {
            "dirty": _arena(lambda arena: arena.dirty_nmadvise),
            "muzzy": _arena(lambda arena: arena.muzzy_nmadvise),
            "holes": _arena(lambda arena: arena.holes_nmadvise),
        },
        "state",
    ),
    Row(
        counter("hew_holes_refaulted_bytes", BYTES, "Holes needed again (hew only).", f"{MERGED}.holes_refaulted"),
        _arena(lambda arena: arena.holes_refaulted),
    ),
    Row(
        counter("hew_moved_bytes", BYTES, "Idle pages moved into requests (hew only).", f"{MERGED}.bytes_moved"),
        _arena(lambda arena: arena.bytes_moved),
    ),
    Row(
        counter("hew_limit_returned_bytes", BYTES, "Returned near a memory limit (hew only).", "limit.returned"),
        lambda seen: seen.snapshot.limit.returned,
    ),
)

KERNEL: tuple[Row[Observed], ...] = (
    Row(
        gauge("hew_process_resident_bytes", BYTES, "Resident memory as the kernel counts it.", "VmRSS"),
        lambda seen: seen.kernel.resident,
    ),
    Row(
        gauge("hew_process_anonymous_bytes", BYTES, "Of it, memory that is no file's.", "RssAnon"),
        lambda seen: seen.kernel.anonymous,
    ),
    Row(gauge("hew_process_swap_bytes", BYTES, "Memory that was swapped out.", "VmSwap"), lambda s: s.kernel.swapped),
    Row(
        counter("hew_process_cpu_seconds", SECONDS, "Processor time, user and system.", "/proc/PID/stat"),
        lambda seen: seen.kernel.cpu,
    ),
    Row(
        counter("hew_process_page_faults", "", "Page faults; major ones read from disk.", "/proc/PID/stat"),
        {"minor": lambda seen: seen.kernel.minor_faults, "major": lambda seen: seen.kernel.major_faults},
        "kind",
    ),
    Row(gauge("hew_process_threads", "", "Threads.", "/proc/PID/stat"), lambda seen: seen.kernel.threads),
    Row(
        gauge("hew_process_start_time_seconds", SECONDS, "Start, in seconds since 1970.", "/proc/PID/stat"),
        lambda seen: seen.kernel.started,
    ),
    Row(
        gauge("hew_group_limit_bytes", BYTES, "The nearest limit of memory of its control groups.", "memory.max, high"),
        lambda seen: seen.kernel.group_limit,
    ),
    Row(
        gauge("hew_group_used_bytes", BYTES, "Memory of its control group.", "memory.current"),
        lambda seen: seen.kernel.group_used,
    ),
    Row(
        gauge("hew_dump_modified_time_seconds", SECONDS, "When a dump was written, since 1970.", "the file's time"),
        lambda seen: seen.modified,
    ),
)

TABLE = TOTALS + WORK + KERNEL
