# SPDX-License-Identifier: MIT
"""Which reports of a stream are of one process, written one after the other (`stats_interval`, a program's own call).

A report has no process id. One follows another when version and settings are the same, its arenas are older, and no
counter of calls has gone back; what another process wrote can look like this only when it did more of everything.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence

from hew.model.statistics import Arena, Mutex, Snapshot

CALLS = ("nmalloc", "ndalloc", "nrequests", "nfills", "nflushes")
MOST_AT_ONCE = 64  # processes of the same settings that write into one stream at a time


def last_of_each(snapshots: Sequence[Snapshot]) -> tuple[list[Snapshot], list[str]]:
    """The latest report of each process: counters run from the start, so it has everything; and a note when there were
    earlier ones."""
    latest: list[Snapshot] = []
    alike: dict[Hashable, deque[int]] = defaultdict(lambda: deque(maxlen=MOST_AT_ONCE))
    for snapshot in snapshots:
        places = alike[_settings(snapshot)]
        at = next((place for place in places if _follows(snapshot, latest[place])), None)
        if at is None:
            places.append(len(latest))
            latest.append(snapshot)
        else:
            latest[at] = snapshot
    earlier = len(snapshots) - len(latest)
    notes = [f"{earlier} earlier report{'s' if earlier > 1 else ''} of the same process left out"] if earlier else []
    return latest, notes


def _settings(snapshot: Snapshot) -> Hashable:
    return (snapshot.version, snapshot.form, frozenset(snapshot.opt.items()))


def _at_exit_only(snapshot: Snapshot) -> bool:
    """Whether the allocator writes at the program's end and at no other time: two such reports are of two processes."""
    return snapshot.option("stats_print") is True and (snapshot.number_option("stats_interval") or -1) < 0


def _follows(later: Snapshot, earlier: Snapshot) -> bool:
    """Whether two reports with the same settings can be of one process."""
    new, old = later.all_arenas, earlier.all_arenas
    if new is None or old is None or not later.whole or _at_exit_only(later):
        return False
    if not new.uptime_ns or not old.uptime_ns or new.uptime_ns <= old.uptime_ns:
        return False
    pairs = list(_counters(new, old))
    return bool(pairs) and all(one >= other for one, other in pairs)


def _counters(new: Arena, old: Arena) -> Iterator[tuple[int, int]]:
    """What never goes back, of both reports: calls, by size class too, and the locks' operations."""
    yield from _both(new.small, old.small, CALLS)
    yield from _both(new.large, old.large, CALLS)
    classes = {one.size: one for one in new.bins}
    for bin_ in old.bins:
        now = classes.get(bin_.size)
        if now is not None:
            yield from _both(now, bin_, (*CALLS, "nslabs"))
    for name, lock in old.mutexes.items():
        yield from _both(new.mutexes.get(name, Mutex()), lock, ("num_ops",))


def _both(new: object, old: object, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    for name in names:
        one, other = getattr(new, name), getattr(old, name)
        if one is not None and other is not None:
            yield one, other
