# SPDX-License-Identifier: MIT
"""The JSON report as a snapshot."""

from collections.abc import Mapping
from typing import Any

from hew.model.statistics import (
    Arena,
    BackgroundThreads,
    Bin,
    Depot,
    Guard,
    LargeClass,
    Layout,
    Mutex,
    Peak,
    Sizes,
    Snapshot,
    Totals,
    UnusedExtents,
)
from hew.sources.statistics.fields import limit, mutex, number, record, scalars, table
from hew.sources.statistics.misnamed import NOTE, misnamed

SUMS = ("merged", "destroyed")


def from_json(document: object) -> Snapshot:
    """The snapshot of a decoded document; what is missing in it is missing in the snapshot."""
    root = table(table(document).get("jemalloc"))
    stats, layout, arenas = table(root.get("stats")), table(root.get("arenas")), table(root.get("stats.arenas"))
    version = root.get("version") if isinstance(root.get("version"), str) else None
    wrong = misnamed(version, [table(one) for one in arenas.values()])
    made = {str(key): _arena(str(key), table(one), layout, wrong) for key, one in arenas.items()}
    mode = table(root.get("system")).get("thp_mode")
    return Snapshot(
        form="JSON",
        version=version,
        config=scalars(root.get("config")),
        opt=scalars(root.get("opt")),
        thp_mode=mode if isinstance(mode, str) else None,
        layout=record(Layout, layout),
        totals=record(Totals, stats),
        background=record(BackgroundThreads, table(stats.get("background_thread"))),
        depot=record(Depot, table(stats.get("depot"))),
        peak=record(Peak, table(stats.get("peak"))),
        guard=record(Guard, table(stats.get("guard"))),
        limit=limit(table(root.get("limit"))),
        mutexes=_mutexes(stats, wrong),
        merged=made.get("merged"),
        destroyed=made.get("destroyed"),
        arenas=tuple(arena for key, arena in made.items() if key not in SUMS),
        notes=_notes(layout, arenas, wrong),
    )


def _notes(layout: Mapping[str, Any], arenas: Mapping[str, Any], wrong: bool) -> tuple[str, ...]:
    notes = [NOTE] if wrong and any("mutexes" in table(one) for one in arenas.values()) else []
    if any("bins" in table(one) for one in arenas.values()) and not _rows(layout, "bin"):
        notes.append("the size classes are not reported (letter g leaves them out): nothing is known by class")
    return tuple(notes)


def _mutexes(holder: Mapping[str, Any], wrong: bool) -> dict[str, Mutex]:
    return {name: mutex(table(one), wrong) for name, one in table(holder.get("mutexes")).items()}


def _rows(holder: Mapping[str, Any], name: str) -> list[Any]:
    """A list of rows; 0, or whatever is no object, stands for one that says nothing."""
    rows = holder.get(name)
    return rows if isinstance(rows, list) else []


def _used(row: Any) -> bool:
    """Whether any number of a row is not 0. A report with many arenas is mostly rows that are not."""
    return isinstance(row, dict) and any(isinstance(value, int) and value for value in row.values())


def _sized(layout: Mapping[str, Any], classes: str, holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The used rows of an arena with what the layout says of each; rows without a size are left out."""
    pairs = zip(_rows(layout, classes), _rows(holder, name), strict=False)
    return [{**table(one), **row} for one, row in pairs if _used(row) and isinstance(table(one).get("size"), int)]


def _pages_class(index: int) -> int:
    """Pages of a class of extents, which the JSON has in order and without their sizes: four classes a doubling."""
    if index < 4:
        return index + 1
    doubling, step = divmod(index - 4, 4)
    return (5 + step) << doubling


def _arena(key: str, found: Mapping[str, Any], layout: Mapping[str, Any], wrong: bool) -> Arena:
    numbers = dict(found)
    if key in SUMS:  # -1 stands there for "differs", not for "never"
        numbers |= {"dirty_decay_ms": None, "muzzy_decay_ms": None}
    name = numbers.pop("name", None)
    return record(
        Arena,
        numbers,
        key=key,
        name=name if isinstance(name, str) else None,
        small=record(Sizes, table(found.get("small"))),
        large=record(Sizes, table(found.get("large"))),
        mutexes=_mutexes(found, wrong),
        bins=tuple(
            record(Bin, row, mutex=mutex(table(row.get("mutex")), wrong))
            for row in _sized(layout, "bin", found, "bins")
        ),
        lextents=tuple(record(LargeClass, row) for row in _sized(layout, "lextent", found, "lextents")),
        extents=tuple(
            record(UnusedExtents, {"size": _pages_class(at) * (number(layout.get("page")) or 4096), **row})
            for at, row in enumerate(_rows(found, "extents"))
            if _used(row)
        ),
    )
