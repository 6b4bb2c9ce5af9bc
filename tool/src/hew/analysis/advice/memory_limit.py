# SPDX-License-Identifier: MIT
"""The process is near its memory limit.

A control group's limit is read from outside; file pages do not count as usage. hew's own limit
(`limit`, `limit_hard`, or the group's) is in its report.

Speaks at 90 % of a group's limit, or when the memory in use reaches 90 % of hew's. It also speaks
when hew returns 10,000 pages a second to stay below (2 % of a CPU).

Each part of a 16th of the limit is named with what makes it smaller: a shorter decay, `malloc_trim`
for glibc, thread caches, other processes of the group. Where objects in use are most of it, only a
higher limit or a smaller program helps; the advised limit is a quarter above what is in use. A
`limit` inside a control group must be below the group's.
"""

from collections.abc import Iterator

from hew.analysis.advice.basis import MIB, SHORTEST_SECONDS, is_hew, threads_of
from hew.analysis.advice.decay_too_long import DEFAULT_MS, LONG_MS
from hew.analysis.advice.decay_too_short import PAGES_PER_SECOND, SECONDS_A_PAGE
from hew.analysis.advice.thread_caches import smaller_caches
from hew.analysis.limit import NEAR, beyond
from hew.analysis.memory import pages
from hew.model.advice import Advice, Case, Evidence, Setting
from hew.model.figures import Unit
from hew.model.lazy_dataclass import dataclass
from hew.model.process import ProcessFacts
from hew.model.quantity import size
from hew.model.statistics import Snapshot

NAME = "memory-limit"
LOOKS_AT = "limit"
PART = 1 / 16  # of the limit: less is not worth a setting
ROOM = 1.25
SHORT_MS = 1000
USAGE = "memory.current, or memory.usage_in_bytes, without files"


@dataclass(frozen=True)
class _Limit:
    """A limit, how much of it is used, and where both stand."""

    source: str
    bytes: int
    used: int
    where: str
    used_where: str


def limits(case: Case) -> list[_Limit]:
    """Every limit that is known for the process, the nearest one first."""
    return sorted(_known(case), key=lambda one: one.bytes - one.used)


def _known(case: Case) -> Iterator[_Limit]:
    own = case.snapshot.limit if case.snapshot else None
    if own is not None and own.bytes:
        active = case.snapshot.totals.active if case.snapshot else None
        held = own.held or 0
        used, where = (held, "limit.held") if active is None or held > own.bytes else (active, "stats.active")
        yield _Limit(own.source or "limit", own.bytes, used, "limit.bytes", where)
    group = case.process.limits if case.process else None
    if group is not None and group.memory_of_group and group.memory_used_by_group is not None:
        where = "memory.max, memory.high or memory.limit_in_bytes of the group"
        yield _Limit("cgroup", group.memory_of_group, group.memory_used_by_group, where, USAGE)


def rule(case: Case) -> Advice | None:
    """The advice, or None."""
    known = limits(case)
    cost = _cost(case.snapshot)
    near = next((one for one in known if one.used >= NEAR * one.bytes), None) or (known[0] if known and cost else None)
    if near is None:
        return None
    parts = list(_parts(case, near))
    settings = _settings(case, near, parts)
    name = "hew's limit" if near.source.startswith("limit") else "the control group's limit"
    lasting = near.bytes if cost else near.used
    return Advice(
        rule=NAME,
        title=f"{size(near.used)} of {name} of {size(near.bytes)} are used",
        subject=_subject(case),
        evidence=(
            Evidence("limit", near.bytes, Unit.BYTES, near.where),
            Evidence("used of it", near.used, Unit.BYTES, near.used_where),
            *(one for _, one in parts),
            *_relief(case.snapshot, cost),
        ),
        settings=settings,
        cpu=f"less: giving back and faulting in costs {cost * SECONDS_A_PAGE:.0%} of a CPU now"
        if cost
        else "a little more where unused pages go back sooner: 2 µs for each that is needed again",
        memory=_memory(near, parts, settings),
        risk="threads that use the cached sizes all the time get slower" if _caches(settings) else "low",
        verify="the same again under load: the share of the limit that is used",
        otherwise=beyond(near.source),
        change=_change(case, near, parts, round(lasting * ROOM)),
    )


def _subject(case: Case) -> str:
    if case.snapshot is not None:
        return case.snapshot.subject
    provider = case.process.provider if case.process else None
    return provider.code.title if provider else "no known malloc"


def _cost(snapshot: Snapshot | None) -> float:
    """Pages a second that hew returns for its limit; 0 where that is little."""
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None or not snapshot.limit.returned or (arena.seconds or 0) < SHORTEST_SECONDS:
        return 0
    rate = snapshot.limit.returned / snapshot.page / (arena.seconds or 1)
    return rate if rate >= PAGES_PER_SECOND else 0


def _relief(snapshot: Snapshot | None, cost: float) -> Iterator[Evidence]:
    if snapshot is not None and snapshot.limit.relieved:
        yield Evidence("times hew gave memory back for it", snapshot.limit.relieved, Unit.COUNT, "limit.relieved")
        yield Evidence("returned for it", snapshot.limit.returned or 0, Unit.BYTES, "limit.returned")
    if cost:
        yield Evidence("pages returned", cost, Unit.PER_SECOND, "limit.returned")


def _parts(case: Case, near: _Limit) -> Iterator[tuple[str, Evidence]]:
    """What the memory is: by kind, where it is at least PART of the limit."""
    found = [*_of_report(case.snapshot), *_of_glibc(case.process), *_of_others(case.process, near)]
    yield from (one for one in found if one[1].value >= PART * near.bytes)


def _of_report(snapshot: Snapshot | None) -> Iterator[tuple[str, Evidence]]:
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None:
        return
    cached = arena.tcache_bytes or 0
    if snapshot.totals.allocated is not None:
        allocated = snapshot.totals.allocated - cached
        yield "objects", Evidence("objects in use", allocated, Unit.BYTES, "stats.allocated - tcache_bytes")
    yield "caches", Evidence("in thread caches", cached, Unit.BYTES, f"{arena.where}.tcache_bytes")
    idle = (pages(snapshot, arena.pdirty) or 0) + (pages(snapshot, arena.pmuzzy) or 0)
    yield "idle", Evidence("unused pages", idle, Unit.BYTES, f"{arena.where}.pdirty, pmuzzy")
    if snapshot.totals.active is not None and snapshot.totals.allocated is not None:
        beside = snapshot.totals.active - snapshot.totals.allocated - (arena.holes or 0)
        yield "slabs", Evidence("unused room in slabs", beside, Unit.BYTES, "stats.active - stats.allocated")
    yield "metadata", Evidence("the allocator's own data", snapshot.totals.metadata or 0, Unit.BYTES, "stats.metadata")


def _of_glibc(process: ProcessFacts | None) -> Iterator[tuple[str, Evidence]]:
    heap = process.heap if process else None
    if process is None or heap is None:
        return
    where = f"/proc/{process.pid}/mem"
    yield "objects", Evidence("objects in use", heap.system - heap.free, Unit.BYTES, f"{where}: system_mem less free")
    yield "trim", Evidence("malloc_trim(0) would return", heap.trimmable, Unit.BYTES, where)


def _of_others(process: ProcessFacts | None, near: _Limit) -> Iterator[tuple[str, Evidence]]:
    if process is not None and near.used_where == USAGE:
        others = near.used - process.memory.anonymous
        where = f"usage less Anonymous of /proc/{process.pid}/smaps_rollup"
        yield "others", Evidence("other processes of the group, and the kernel's", others, Unit.BYTES, where)


def _settings(case: Case, near: _Limit, parts: list[tuple[str, Evidence]]) -> tuple[Setting, ...]:
    kinds = {kind for kind, _ in parts}
    snapshot = case.snapshot
    found: list[Setting] = []
    arena = snapshot.all_arenas if snapshot else None
    if snapshot is None or arena is None:
        return ()
    if "idle" in kinds and (near.used_where == USAGE or not is_hew(snapshot)):
        found += _sooner(snapshot)
    if "caches" in kinds:
        found += smaller_caches(snapshot, arena, threads_of(case))
    if not found and near.source in {"limit", "limit_hard"}:
        needed = max(near.used, near.bytes if _cost(snapshot) else 0) * ROOM
        found.append(Setting(near.source, str(-(-round(needed) // MIB) * MIB)))
    return tuple(found)


def _sooner(snapshot: Snapshot) -> Iterator[Setting]:
    """Unused pages wait for their decay: jemalloc knows no limit, and hew checks its own only when it grows. This
    recommends the settings of `decay-too-long`."""
    dirty, muzzy = snapshot.layout.dirty_decay_ms, snapshot.layout.muzzy_decay_ms
    if dirty is not None and not 0 <= dirty <= SHORT_MS:
        wanted = DEFAULT_MS if dirty < 0 or dirty > LONG_MS else SHORT_MS
        yield Setting("dirty_decay_ms", str(wanted), live="arenas.dirty_decay_ms")
    if muzzy:
        yield Setting("muzzy_decay_ms", "0", live="arenas.muzzy_decay_ms")
    if snapshot.option("background_thread") is False:
        yield Setting("background_thread", "true", live="background_thread")


def _caches(settings: tuple[Setting, ...]) -> bool:
    return any("cache" in one.name for one in settings)


def _memory(near: _Limit, parts: list[tuple[str, Evidence]], settings: tuple[Setting, ...]) -> str:
    if any(one.name == near.source for one in settings):
        return "more may be used; what is used now stays"
    less = sum(int(one.value) for kind, one in parts if kind in {"idle", "caches", "trim"})
    return f"less: up to {size(less)} of what is used" if less else "as it is: nothing of it is unused"


def _change(case: Case, near: _Limit, parts: list[tuple[str, Evidence]], wanted: int) -> str | None:
    kinds = {kind: one.value for kind, one in parts}
    said = []
    if "trim" in kinds:
        said.append("call malloc_trim(0) when a peak is over")
    if kinds.get("others", 0) > near.used / 2:
        said.append("look at the other processes of the group: they use more than half")
    if "slabs" in kinds:
        said.append("see external-fragmentation")
    if kinds.get("objects", 0) >= near.used / 2 or not (said or kinds.keys() & {"idle", "caches"}):
        said.append(f"raise the limit to {size(wanted)} or more")
        if case.snapshot is not None:
            said.append("a heap profile (prof:true) shows which stacks hold the objects")
    return "; ".join(said) or None
