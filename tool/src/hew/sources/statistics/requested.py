# SPDX-License-Identifier: MIT
"""What was asked for, by size class, where the report does not say so itself: from live samples, or from a trace."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from hew.model.control import RefusedError
from hew.model.lazy_dataclass import dataclass
from hew.model.profile import Profile
from hew.model.simulation import Sizes
from hew.model.statistics import Bin, LargeClass, Reading, Snapshot
from hew.sources.control import connect, find_socket
from hew.sources.profile.samples import read_samples

Row = TypeVar("Row", Bin, LargeClass)
NO_PROFILE = Profile("", (), (), (), accumulated=False)


@dataclass
class _Asked:
    """Objects of a class that were seen, and the bytes that were asked for."""

    count: float = 0
    requested: float = 0
    weight: float = 0  # of the objects in `requested`: the more live they are, the more they count

    def add(self, size: float, count: float, weight: float) -> None:
        """So many objects of a size."""
        self.count += count
        self.requested += weight * size
        self.weight += weight


def with_samples(reading: Reading, pid: int) -> Reading:
    """The same reading, with the requested sizes of live samples if the process is on hew and samples its heap."""
    if all(one.tells_requests for one in reading.snapshots) or find_socket(pid) is None:
        return reading
    try:
        with connect(pid) as control:
            if control.get("opt.prof") is not True:
                return reading
            text = control.samples()
    except RefusedError:  # an older library
        return reading
    asked: dict[int, _Asked] = defaultdict(_Asked)
    for one in read_samples(text, reading.source, NO_PROFILE, placed=False).samples:
        asked[one.usable].add(one.size, 1, 1)
    return replace(reading, snapshots=tuple(_filled(one, asked) for one in reading.snapshots))


def with_sizes(reading: Reading, sizes: Sizes) -> Reading:
    """The same reading; a trace of the same program tells which sizes the objects of a class have."""
    return replace(reading, snapshots=tuple(_from_trace(one, sizes) for one in reading.snapshots))


def _from_trace(snapshot: Snapshot, sizes: Sizes) -> Snapshot:
    """A size belongs to the smallest class that holds it and has objects: hew's fine classes may be closed."""
    arena = snapshot.all_arenas
    used = sorted(one.size for one in arena.bins if one.curregs) if arena is not None else []
    asked: dict[int, _Asked] = defaultdict(_Asked)
    for use in sizes.uses:
        home = next((size for size in used if size >= max(use.size, use.align)), None)
        if home is not None:
            asked[home].add(use.size, use.allocations, use.mean)
    return _filled(snapshot, asked)


def _filled(snapshot: Snapshot, asked: Mapping[int, _Asked]) -> Snapshot:
    arena = snapshot.all_arenas
    if arena is None or snapshot.tells_requests:
        return snapshot
    filled = replace(
        arena,
        bins=tuple(_with(one, asked) for one in arena.bins),
        lextents=tuple(_with(one, asked) for one in arena.lextents),
    )
    if snapshot.merged is not None:
        return replace(snapshot, merged=filled)
    return replace(snapshot, arenas=(filled,))


def _with(row: Row, asked: Mapping[int, _Asked]) -> Row:
    found = asked.get(row.size)
    if found is None or not found.weight:
        return row
    count = round(found.count)
    requested = round(found.count * found.requested / found.weight)
    return replace(row, prof_live_count=count, prof_live_requested=requested)
