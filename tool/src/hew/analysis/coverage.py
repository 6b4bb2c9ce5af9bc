# SPDX-License-Identifier: MIT
"""How much of a process was seen, and what the rest may be."""

from collections.abc import Iterator, Sequence

from hew.analysis.advice.internal_fragmentation import LEAST_BYTES
from hew.analysis.advice.rules import looking
from hew.analysis.doctor.malloc import RUNTIMES, goes_before, is_go
from hew.analysis.live import internal_fragmentation
from hew.model.advice import Case
from hew.model.coverage import Coverage, Slack, Unseen
from hew.model.known_allocators import BY_NAME, GLIBC, JEMALLOC, MUSL
from hew.model.process import Code, ProcessFacts
from hew.model.statistics import Snapshot


def coverage(cases: Sequence[Case], spoke: int, silence: str = "") -> Coverage:
    """What `cases` showed; `silence` is why a process could not be asked."""
    process = next((case.process for case in cases if case.process is not None), None)
    reports = [case.snapshot for case in cases if case.snapshot is not None]
    snapshots = [one for one in reports if one.counts]
    rules = sum(
        max((looking(one) for one in cases if (one.snapshot is None) == bare), default=0) for bare in (True, False)
    )
    read = tuple(dict.fromkeys(f"statistics of {one.subject}" for one in snapshots))
    slack = tuple(found for one in snapshots if (found := _slack(one)) is not None)
    running = process is not None
    unsized = (one for one in snapshots if not one.tells_requests and (one.totals.allocated or 0) >= LEAST_BYTES)
    blind = tuple(dict.fromkeys(_sizes_unknown(one, running) for one in unsized))
    if process is None:
        uncounted = tuple(_uncounted(one, None) for one in reports if not one.counts)
        return Coverage(rules, spoke, read, unseen=uncounted, slack=slack, blind=blind)
    heap = process.heap
    if heap is not None:
        read = (*read, f"the heap of glibc {heap.version}")
    unseen = _unread(process, reports, silence)
    outside = max(process.memory.anonymous - _seen(process, snapshots), 0)
    return Coverage(rules, spoke, read, process.memory.resident, outside, tuple(unseen), heap, slack, blind)


def _slack(report: Snapshot) -> Slack | None:
    """What samples or a trace tell of internal fragmentation."""
    arena = report.all_arenas
    if arena is None or not report.tells_requests:
        return None
    unused, known = internal_fragmentation(arena)
    return Slack(report.subject, unused, known)


def _sizes_unknown(report: Snapshot, running: bool) -> Unseen:
    """Statistics count objects by size class; which sizes were asked for, they do not say."""
    if report.allocator == "hew":
        then = "hew advise --record 1 PID records the sizes for a second" if running else "give a trace of it: --trace"
        then += "; or start it with MALLOC_CONF=prof:true, which samples them"
    else:
        then = "start it with MALLOC_CONF=prof:true,prof_stats:true (where jemalloc is built with profiling)"
    return Unseen(f"internal fragmentation of {report.subject}", "its statistics have no requested sizes", then)


def _seen(process: ProcessFacts, snapshots: Sequence[Snapshot]) -> int:
    """Private memory that a report or the heap accounts for."""
    told = sum(one.totals.resident or one.totals.active or one.totals.allocated or 0 for one in snapshots)
    heap = process.heap
    if heap is None:
        return told
    gone = sum(one.unused.whole_pages - one.unused.resident for one in heap.arenas)
    return told + heap.system - gone + (heap.mapped or 0)


def _unread(process: ProcessFacts, reports: Sequence[Snapshot], silence: str) -> Iterator[Unseen]:
    """What the process has besides."""
    provider = process.provider
    if process.heap_unread:
        yield Unseen("glibc's heap", process.heap_unread, "malloc_info(3), called in the program, tells the same")
    elif provider is None and not is_go(process.program):
        yield Unseen("its malloc", "none was found", f"hew doctor {process.pid}")
    elif provider is not None and not reports and provider.code.kind != GLIBC:
        yield _report_wanted(provider.code, silence, "its malloc, ")
    read = _beside(process) if reports else None
    for report in reports:
        if not report.counts:
            yield _uncounted(report, read or (provider.code if provider is not None else None))
    for code in (process.program, *process.others):
        if code is None or code is read or (provider is not None and code.path == provider.code.path):
            continue
        replaced = code.serves and goes_before(process, code)  # another malloc takes its calls
        if code.kind is not None and code.kind not in {GLIBC, MUSL} and not replaced:
            yield _report_wanted(code, silence if JEMALLOC in {code.kind, *code.also} else "", "")
        if code.runtime is not None:
            why, then = RUNTIMES[code.runtime.split()[0]]
            yield Unseen(f"the heap of {code.runtime} in {code.path}", why, then)


def _uncounted(report: Snapshot, code: Code | None) -> Unseen:
    """An allocator that answered and has nothing to tell; Rust's crates build jemalloc so unless asked otherwise."""
    place = f" in {code.path}" if code is not None else ""
    prefix = f", prefixed {code.prefix}" if code is not None and code.prefix else ""
    then = "build it with them (Rust: the feature stats of tikv-jemallocator; else without --disable-stats)"
    return Unseen(f"{report.subject}{place}{prefix}", "it was built without statistics", then)


def _beside(process: ProcessFacts) -> Code | None:
    """The jemalloc that wrote the statistics although glibc serves malloc; None where another one does."""
    if process.provider is None or process.provider.code.kind != GLIBC:
        return None
    codes = (process.program, *process.others)
    return next((one for one in codes if one is not None and JEMALLOC in {one.kind, *one.also}), None)


def _report_wanted(code: Code, silence: str, role: str) -> Unseen:
    """An allocator that is not read from outside."""
    names = " and ".join((code.title, *code.also))
    prefix = f", prefixed {code.prefix}" if code.prefix else ""
    known = BY_NAME.get(code.kind or "")
    if known is None or not known.reads_conf:
        then = "hew compare -- COMMAND measures it beside others"
        return Unseen(f"{role}{names} in {code.path}{prefix}", "it has no statistics that hew reads", then)
    variable = code.variable or "its MALLOC_CONF"
    then = f"{variable}=stats_print:true makes it write its statistics at its end: hew advise reads those"
    return Unseen(f"{role}{names} in {code.path}{prefix}", silence or "it is not read while it runs", then)
