# SPDX-License-Identifier: MIT
"""A profile by function, and two profiles stack by stack."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from hew.analysis.profile.names import Names, named
from hew.model.profile import NOTHING, Kind, Location, Profile, Sample, Values, by_chance, sum_of
from hew.model.profile_view import Growth, Row


def rows(profile: Profile, by_line: bool = False) -> list[Row]:
    """Every function; one that calls itself counts once for a stack."""
    flat: dict[str, Values] = defaultdict(lambda: NOTHING)
    cum: dict[str, Values] = defaultdict(lambda: NOTHING)
    for names, values in named(profile, by_line):
        for name in set(names):
            cum[name] = sum_of(cum[name], values)
        if names:
            flat[names[0]] = sum_of(flat[names[0]], values)
    return [Row(name, flat.get(name, NOTHING), total) for name, total in cum.items()]


def ranked(found: Sequence[Row], kind: Kind, by_cum: bool) -> list[Row]:
    """The largest first; of a difference what changed most."""

    def size(one: Row) -> tuple[int, int, str]:
        first, second = (one.cum, one.flat) if by_cum else (one.flat, one.cum)
        return -abs(first[kind]), -abs(second[kind]), one.name

    return sorted(found, key=size)


def difference(newer: Profile, older: Profile) -> Profile:
    """What the newer has more; samples of the older one count with a minus. Both have their names already."""
    moved = len(newer.locations)
    taken = [Sample([place + moved for place in sample.stack], _negative(sample.values)) for sample in older.samples]
    elsewhere = [
        Location(one.address, None if one.mapping is None else one.mapping + len(newer.mappings), one.frames)
        for one in older.locations
    ]
    return replace(
        newer,
        samples=(*newer.samples, *taken),
        locations=(*newer.locations, *elsewhere),
        mappings=(*newer.mappings, *older.mappings),
        accumulated=newer.accumulated and older.accumulated,
        notes=(*newer.notes, *(f"{older.source}: {note}" for note in older.notes)),
    )


def _negative(values: Values) -> Values:
    return (-values[0], -values[1], -values[2], -values[3])


def growth(newer: Profile, older: Profile, kind: Kind, by_line: bool) -> list[Growth]:
    """Stacks by how much they grew; those that shrank last."""
    before, after = (_by_stack(one, by_line) for one in (older, newer))
    found = []
    for stack in before.keys() | after.keys():
        old, new = before.get(stack, NOTHING), after.get(stack, NOTHING)
        if old[kind] != new[kind]:
            found.append(Growth(stack, old, new, _noise(old, new, kind, max(newer.period, older.period))))
    return sorted(found, key=lambda one: (-one.change(kind), one.stack))


def _by_stack(profile: Profile, by_line: bool) -> dict[Names, Values]:
    found: dict[Names, Values] = defaultdict(lambda: NOTHING)
    for names, values in named(profile, by_line):
        found[names] = sum_of(found[names], values)
    return found


def _noise(old: Values, new: Values, kind: Kind, period: int) -> float:
    """What chance alone may do to the difference."""
    size = Kind.INUSE_SPACE if kind in {Kind.INUSE_SPACE, Kind.INUSE_OBJECTS} else Kind.ALLOC_SPACE
    both = abs(old[size]) + abs(new[size])
    of_bytes = by_chance(period, both)
    if not of_bytes:
        return 0.0
    return of_bytes if kind.in_bytes else of_bytes * (abs(old[kind]) + abs(new[kind])) / both
