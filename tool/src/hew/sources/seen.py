# SPDX-License-Identifier: MIT
"""The sizes that a program was seen to use, from statistics or from a profile's recent allocations."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hew.model.declaration import Seen, SeenSize
from hew.model.errors import HewError
from hew.model.statistics import Arena, Bin, Reading
from hew.sources.statistics.place import read_place

RECENT = "recent_alloc"
SMALL_MOST = 14336  # bytes: larger objects have pages of their own


def read_seen(place: str) -> Seen:
    """What a file or a process tells; HewError when it has neither statistics nor recent allocations in it."""
    recent = _recent_document(Path(place))
    return from_reading(read_place(place)) if recent is None else from_recent(recent, place)


def from_reading(reading: Reading) -> Seen:
    """The size classes of all reports: counts that grow from the last one, objects in use the most of any."""
    found: dict[int, SeenSize] = {}
    arenas = [arena for snapshot in reading.snapshots if (arena := snapshot.all_arenas) is not None]
    for arena in arenas:
        for one in arena.bins:
            old = found.get(one.size, SeenSize(one.size, 0, 0, 0))
            found[one.size] = _with(old, one)
    if not found:
        raise HewError(f"{reading.source}: its statistics have no figures by size (bins, letter b, were left out)")
    notes = tuple(note for snapshot in reading.snapshots if not snapshot.whole for note in snapshot.notes)
    larger = max((_larger(arena) for arena in arenas), default=0)
    return Seen(reading.source, tuple(found.values()), larger, notes=tuple(dict.fromkeys(notes)))


def _with(old: SeenSize, one: Bin) -> SeenSize:
    """Room in all slabs that were ever made, or every object that was: whichever is less bounds what was in use."""
    made = one.nmalloc or 0
    room = (one.nslabs or 0) * (one.nregs or 0) or made
    live = max(old.live, one.curregs or 0)
    return SeenSize(one.size, live, max(old.ever, live, min(made, room)), max(old.requests, one.nrequests or made))


def _larger(arena: Arena) -> int:
    return arena.large.nrequests or 0


def _recent_document(path: Path) -> Mapping[str, Any] | None:
    """The document, if that is what the file is."""
    try:
        with path.open("rb") as file:
            if b'"sample_interval"' not in file.read(200):
                return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get(RECENT), list) else None


def from_recent(document: Mapping[str, Any], source: str) -> Seen:
    """Samples of allocations: each stands for as many as its size makes it likely that one is drawn."""
    interval = max(1, int(document.get("sample_interval", 1)))
    requests: dict[int, float] = defaultdict(float)
    live: dict[int, float] = defaultdict(float)
    larger = 0.0
    samples = [one for one in document[RECENT] if isinstance(one, dict)]
    for one in samples:
        size, usable = one.get("size"), one.get("usize")
        if not isinstance(size, int) or not isinstance(usable, int) or usable <= 0:
            continue
        weight = -1 / math.expm1(-usable / interval)
        if usable > SMALL_MOST:
            larger += weight
            continue
        requests[size] += weight
        live[size] += 0 if one.get("released") else weight
    sizes = tuple(
        SeenSize(size, round(live[size]), round(requests[size]), round(requests[size])) for size in sorted(requests)
    )
    note = f"{len(samples)} samples, one in {interval} bytes: the counts are estimates from them"
    return Seen(source, sizes, round(larger), exact=True, notes=(note,))
