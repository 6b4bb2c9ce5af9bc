# SPDX-License-Identifier: MIT
"""Which reports of a stream are of one process, written one after the other (`stats_interval`, a program's own call).

A report has no process id. One follows another when version and settings are the same, its arenas are older, and no
counter of calls has gone back; what another process wrote can look like this only when it did more of everything.
"""

from collections.abc import Sequence

from hew.model.statistics import Snapshot


def last_of_each(snapshots: Sequence[Snapshot]) -> tuple[list[Snapshot], list[str]]:
    """The latest report of each process: counters run from the start, so it has everything; and a note when there were
    earlier ones."""
    latest: list[Snapshot] = []
    for snapshot in snapshots:
        at = next((place for place, one in enumerate(latest) if _follows(snapshot, one)), None)
        if at is None:
            latest.append(snapshot)
        else:
            latest[at] = snapshot
    earlier = len(snapshots) - len(latest)
    notes = [f"{earlier} earlier report{'s' if earlier > 1 else ''} of the same process left out"] if earlier else []
    return latest, notes


def _follows(later: Snapshot, earlier: Snapshot) -> bool:
    if (later.version, later.opt, later.form) != (earlier.version, earlier.opt, earlier.form):
        return False
    new, old = later.all_arenas, earlier.all_arenas
    if new is None or old is None or not later.whole:
        return False
    pairs = (
        (new.uptime_ns, old.uptime_ns),
        (new.small.nmalloc, old.small.nmalloc),
        (new.small.ndalloc, old.small.ndalloc),
        (new.large.nmalloc, old.large.nmalloc),
    )
    return all(one is not None and other is not None and one >= other for one, other in pairs)
