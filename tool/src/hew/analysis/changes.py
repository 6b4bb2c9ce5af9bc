# SPDX-License-Identifier: MIT
"""What differs between two reports: memory by its parts, and the size classes that grew or shrank most."""

from collections.abc import Iterator

from hew.analysis.memory import memory_parts
from hew.model.snapshot_view import Change
from hew.model.statistics import Snapshot


def changes(before: Snapshot, after: Snapshot, classes: int) -> list[Change]:
    """Bytes of each part that both reports have, then of the classes whose objects changed most."""
    earlier = {part.label: part.bytes for part in memory_parts(before)}
    found = [
        Change(part.label, was, part.bytes)
        for part in memory_parts(after)
        if part.bytes is not None and (was := earlier.get(part.label)) is not None
    ]
    first, second = dict(_objects(before)), dict(_objects(after))
    sizes = [
        Change(f"objects of {size} B", first.get(size, 0), second.get(size, 0))
        for size in sorted({*first, *second})
        if first.get(size, 0) != second.get(size, 0)
    ]
    return found + sorted(sizes, key=lambda one: -abs(one.after - one.before))[:classes]


def _objects(snapshot: Snapshot) -> Iterator[tuple[int, int]]:
    """Bytes of the live objects of each class."""
    arena = snapshot.all_arenas
    if arena is not None:
        yield from ((one.size, one.size * (one.curregs or 0)) for one in arena.bins)
        yield from ((one.size, one.size * (one.curlextents or 0)) for one in arena.lextents)
