# SPDX-License-Identifier: MIT
"""The texts and tables of `hew top` for one process."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hew.model.figures import Unit
from hew.model.live import LiveView
from hew.model.quantity import quantity, size, three_digits
from hew.model.statistics import Arena, Mutex

UNKNOWN = "—"
LABEL = 30
MOST_NAMES = 6
BAR = "█"
NOT_SHOWN = {"internal fragmentation"}  # at 0: without heap profiles it is unknown

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """One of the tables to drill into."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Callable[[LiveView], list[Row]]


def headline(view: LiveView) -> str:
    """The process's title line."""
    moment = view.moment
    count = sum(moment.threads.values())
    found = {kind: often for kind, often in (moment.snapshot.guard.found if moment.snapshot else {}).items() if often}
    misuse = "\nmisuse found by guarded objects: " + ", ".join(f"{kind} x{often}" for kind, often in found.items())
    return (
        f"{moment.pid} {moment.words[:120] or moment.name}\n"
        f"{moment.allocator}, resident {size(moment.outside.resident)}, "
        f"{count} thread{'' if count == 1 else 's'}: {counted(moment.threads)}"
        f"{misuse if found else ''}"
    )


def counted(names: Mapping[str, int]) -> str:
    """Names with how many have them: `server, worker x4`."""
    shown = [f"{name} x{count}" if count > 1 else name for name, count in list(names.items())[:MOST_NAMES]]
    return ", ".join(shown) + (" …" if len(names) > MOST_NAMES else "")


def parts_text(view: LiveView, width: int) -> str:
    """The waterfall: each part begins where the one before it ends."""
    room = max(width - LABEL - 26, 10)
    whole = max(view.moment.outside.resident, sum(max(part.bytes or 0, 0) for part in view.parts), 1)
    lines, at = [], 0
    for part in view.parts:
        amount = part.bytes or 0
        if not amount and part.label in NOT_SHOWN:
            continue
        first, last = sorted((at, at + amount))
        begin, end = round(first / whole * room), round(last / whole * room)
        bar = " " * begin + BAR * max(end - begin, 1 if amount else 0)
        share = amount / max(view.moment.outside.resident, 1)
        sign = "-" if amount < 0 else ""
        lines.append(f"{part.label:{LABEL}}{sign + size(abs(amount)):>10} {share:>6.1%}  {bar}".rstrip())
        at += amount
    extra = [
        f"{label} {size(value)}"
        for label, value in (
            ("huge pages", view.moment.outside.huge),
            ("lazily freed", view.moment.outside.lazily_freed),
            ("swapped", view.moment.outside.swapped),
        )
        if value
    ]
    return "\n".join([*lines, *([f"of it: {', '.join(extra)}"] if extra else [])])


def rates_text(view: LiveView) -> str:
    """One line of rates."""
    words = []
    for rate in view.rates:
        if rate.value is None:
            shown = UNKNOWN
        elif rate.share:
            shown = quantity(rate.value, Unit.SHARE)
        elif rate.label == "CPUs":
            shown = three_digits(rate.value)
        else:
            shown = f"{rate.value:,.0f}/s"
        words.append(f"{rate.label} {shown}")
    return "   ".join(words)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else size(value)


def _time(nanoseconds: int | None) -> str:
    return UNKNOWN if nanoseconds is None else quantity(nanoseconds / 1e9, Unit.SECONDS)


def _pages(count: int | None, page: int) -> str:
    return UNKNOWN if count is None else size(count * page)


def arena_rows(view: LiveView) -> list[Row]:
    """Each arena with its threads, the one with the most active pages first."""
    snapshot = view.moment.snapshot
    if snapshot is None:
        return []
    users = {one.key: Counter[str]() for one in snapshot.arenas}
    for thread in snapshot.threads:
        users.setdefault(thread.arena, Counter())[thread.name] += 1
    page = snapshot.page
    ordered = sorted(snapshot.arenas, key=lambda one: one.pactive or 0, reverse=True)
    return [
        (
            one.key,
            one.name or "",
            _count(one.nthreads),
            counted(dict(users[one.key].most_common())),
            _pages(one.pactive, page),
            _pages(one.pdirty, page),
            _pages(one.pmuzzy, page),
            _bytes(one.retained),
            _bytes(one.tcache_bytes),
            _count(sum(lock.num_wait or 0 for lock in one.mutexes.values())),
        )
        for one in ordered
    ]


def thread_rows(view: LiveView) -> list[Row]:
    """Each thread, the one that asks most often first."""
    snapshot, rates = view.moment.snapshot, view.thread_rates
    ordered = sorted(
        snapshot.threads if snapshot else (), key=lambda one: (rates.get(one.number, 0), one.requests), reverse=True
    )
    return [
        (
            str(one.number),
            one.name,
            one.arena,
            f"{rates[one.number]:,.0f}/s" if one.number in rates else UNKNOWN,
            _count(one.requests),
            _bytes(one.cached),
        )
        for one in ordered
    ]


def _sum(view: LiveView) -> Arena | None:
    return view.moment.snapshot.all_arenas if view.moment.snapshot else None


def bin_rows(view: LiveView) -> list[Row]:
    """The classes in use, the one with the most memory in slabs first."""
    arena = _sum(view)
    used = [one for one in arena.bins if one.curslabs or one.nrequests] if arena else []
    used.sort(key=lambda one: (one.curslabs or 0) * (one.slab_size or 0), reverse=True)
    rows: list[Row] = []
    for one in used:
        room = (one.curslabs or 0) * (one.nregs or 0)
        full = f"{(one.curregs or 0) / room:.0%}" if room else UNKNOWN
        slabs = _bytes((one.curslabs or 0) * (one.slab_size or 0))
        counts = (_count(one.nrequests), _count(one.nfills), _count(one.nflushes), _count(one.mutex.num_wait))
        rows.append((_bytes(one.size), _count(one.curregs), slabs, full, *counts))
    return rows


def mutex_rows(view: LiveView) -> list[Row]:
    """Every lock that was taken, the one that was waited for longest first."""
    snapshot, arena = view.moment.snapshot, _sum(view)
    if snapshot is None:
        return []
    found: list[tuple[str, Mutex]] = list(snapshot.mutexes.items())
    if arena is not None:
        found += [(f"arenas: {name}", lock) for name, lock in arena.mutexes.items()]
        found += [(f"bin of {one.size} B", one.mutex) for one in arena.bins]
    taken = [(name, lock) for name, lock in found if lock.num_ops]
    taken.sort(key=lambda pair: (pair[1].total_wait_ns or 0, pair[1].num_wait or 0, pair[1].num_ops or 0), reverse=True)
    return [
        (
            name,
            _count(lock.num_ops),
            _count(lock.num_wait),
            _count(lock.num_spin_acq),
            _time(lock.total_wait_ns),
            _time(lock.max_wait_ns),
            _count(lock.max_num_thds),
        )
        for name, lock in taken
    ]


def extent_rows(view: LiveView) -> list[Row]:
    """Unused extents by size."""
    arena = _sum(view)
    unused: Iterable[Row] = (
        (
            _bytes(one.size),
            _count(one.ndirty),
            _bytes(one.dirty_bytes),
            _count(one.nmuzzy),
            _bytes(one.muzzy_bytes),
            _count(one.nretained),
            _bytes(one.retained_bytes),
        )
        for one in (arena.extents if arena else ())
        if one.ndirty or one.nmuzzy or one.nretained
    )
    return list(unused)


TABLES = (
    Table(
        "arenas",
        "arenas",
        ("arena", "name", "threads", "used by", "active", "dirty", "muzzy", "retained", "caches", "lock waits"),
        arena_rows,
    ),
    Table("bins", "bins", ("size", "objects", "slabs", "full", "requests", "fills", "flushes", "waits"), bin_rows),
    Table("mutexes", "mutexes", ("lock", "taken", "waits", "spins", "waited", "longest", "most waiting"), mutex_rows),
    Table(
        "extents",
        "extents",
        ("size", "dirty", "bytes", "muzzy", "bytes", "retained", "bytes"),
        extent_rows,
    ),
    Table("threads", "threads", ("thread", "name", "arena", "rate", "requests", "at hand"), thread_rows),
)
