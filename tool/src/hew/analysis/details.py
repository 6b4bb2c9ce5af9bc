# SPDX-License-Identifier: MIT
"""The tables of `hew serve`: locks by arena, size classes with their slabs, arenas with their threads."""

from collections import Counter
from collections.abc import Iterator

from hew.analysis.memory import pages, slab_bytes, slab_waste
from hew.model.live import LiveView, Moment
from hew.model.serving import ArenaRow, Details, LockCell, LockGrid, LockRow, Point, SizeRow
from hew.model.statistics import Arena, Bin, LargeClass, Mutex, Snapshot

MOST_ARENAS = 256  # rows: more than a screen can show
BINS = "bins"
NO_LOCKS = LockGrid((), (), 0)


def details(now: Moment, before: Moment | None) -> Details:
    """All tables of one look."""
    if now.snapshot is None:
        return Details(NO_LOCKS, (), ())
    seconds = now.seconds - before.seconds if before else 0.0
    earlier = before.snapshot if before else None
    return Details(
        lock_grid(now.snapshot, earlier, seconds), tuple(size_rows(now.snapshot)), tuple(arena_rows(now.snapshot))
    )


def point(view: LiveView, at: float) -> Point:
    """What of a look is kept for the history."""
    parts = {part.label: part.bytes or 0 for part in view.parts}
    return Point(at, view.moment.outside.resident, parts, {rate.label: rate.value for rate in view.rates})


def lock_grid(snapshot: Snapshot, before: Snapshot | None, seconds: float) -> LockGrid:
    """Each arena's locks; those of its bins together. Arenas whose locks no thread took are left out."""
    earlier = {one.key: _locks(one) for one in before.arenas} if before else {}
    found = {one.key: (one.name or "", _locks(one)) for one in snapshot.arenas}
    columns = list(dict.fromkeys(name for _, locks in found.values() for name in locks))
    columns.sort(key=lambda name: (name != BINS, name))
    rows = []
    for key, (name, locks) in found.items():
        if any(one.num_ops for one in locks.values()):
            past = earlier.get(key, {})
            cells = tuple(_cell(locks.get(column), past.get(column), seconds) for column in columns)
            rows.append(LockRow(key, name, cells))
    rows.sort(key=lambda row: sum(cell.wait_ns for cell in row.cells if cell), reverse=True)
    shown = sorted(rows[:MOST_ARENAS], key=lambda row: (len(row.arena), row.arena))
    return LockGrid(tuple(columns), tuple(shown), len(found) - len(shown))


def _locks(arena: Arena) -> dict[str, Mutex]:
    locks = dict(arena.mutexes)
    of_bins = [one.mutex for one in arena.bins]
    if any(one.num_ops is not None for one in of_bins):
        locks[BINS] = Mutex(
            num_ops=sum(one.num_ops or 0 for one in of_bins),
            num_wait=sum(one.num_wait or 0 for one in of_bins),
            total_wait_ns=sum(one.total_wait_ns or 0 for one in of_bins),
        )
    return locks


def _cell(lock: Mutex | None, before: Mutex | None, seconds: float) -> LockCell | None:
    if lock is None:
        return None
    waited, now = lock.total_wait_ns or 0, None
    if before is not None and seconds > 0:
        now = max(waited - (before.total_wait_ns or 0), 0) / 1e9 / seconds
    return LockCell(lock.num_ops or 0, lock.num_wait or 0, waited, now)


def size_rows(snapshot: Snapshot) -> Iterator[SizeRow]:
    """The size classes that are or were in use, the smallest first."""
    arena = snapshot.all_arenas
    if arena is None:
        return
    yield from (_small(one) for one in arena.bins if one.curslabs or one.nrequests)
    yield from (_large(one) for one in arena.lextents if one.curlextents)


def _small(one: Bin) -> SizeRow:
    objects, slabs = one.curregs or 0, one.curslabs or 0
    places = slabs * (one.nregs or 0)
    return SizeRow(
        size=one.size,
        small=True,
        objects=objects,
        bytes=objects * one.size,
        slabs=slabs,
        slab_bytes=slab_bytes(one),
        fill=min(objects / places, 1.0) if places else None,
        waste=slab_waste(one),
        requests=one.nrequests,
        fills=one.nfills,
        flushes=one.nflushes,
        waits=one.mutex.num_wait,
    )


def _large(one: LargeClass) -> SizeRow:
    objects = one.curlextents or 0
    return SizeRow(
        one.size, False, objects, objects * one.size, None, None, None, None, one.nrequests, None, None, None
    )


def arena_rows(snapshot: Snapshot) -> Iterator[ArenaRow]:
    """Each arena that has or had anything, with its threads."""
    users: dict[str, Counter[str]] = {}
    for thread in snapshot.threads:
        users.setdefault(thread.arena, Counter())[thread.name] += 1
    for one in snapshot.arenas:
        if one.pactive or one.pdirty or one.pmuzzy or one.retained or one.nthreads:
            yield ArenaRow(
                arena=one.key,
                name=one.name or "",
                threads=dict(users.get(one.key, Counter()).most_common()),
                count=one.nthreads,
                active=pages(snapshot, one.pactive),
                dirty=pages(snapshot, one.pdirty),
                muzzy=pages(snapshot, one.pmuzzy),
                retained=one.retained,
                cached=one.tcache_bytes,
                holes=one.holes,
            )
