# SPDX-License-Identifier: MIT
"""Looks as lines of the file, and a file of them as tracks: all looks at each process.

An analysis needs a few numbers of each of ten thousand looks: they are taken from the document, and only the look that
is shown becomes a record.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.history import MOST_ARENAS, Point, Record, Recording, Track
from hew.model.statistics import Reading, Snapshot
from hew.sources.history.blocks import is_recording, older, read_as
from hew.sources.history.codec import made, plain

# A process with 400 arenas or 5,000 threads has a small look, too.
MOST_THREADS, MOST_WORDS = 64, 400


def line_of(record: Record) -> bytes:
    """A look as it is written, without what `hew top` does not show."""
    moment = record.moment
    snapshot = _smaller(moment.snapshot) if moment.snapshot else None
    kept = replace(record, moment=replace(moment, snapshot=snapshot, words=moment.words[:MOST_WORDS]))
    return json.dumps(plain(kept), separators=(",", ":"), ensure_ascii=False).encode()


def _smaller(snapshot: Snapshot) -> Snapshot:
    merged = snapshot.all_arenas
    busiest = sorted(snapshot.arenas, key=lambda one: one.pactive or 0, reverse=True)[:MOST_ARENAS]
    arenas = [replace(one, bins=(), lextents=(), extents=()) for one in snapshot.arenas if one in busiest]
    threads = sorted(snapshot.threads, key=lambda one: one.requests, reverse=True)[:MOST_THREADS]
    merged = replace(merged, key="merged", name=None) if merged else None
    return replace(snapshot, merged=merged, arenas=tuple(arenas), destroyed=None, threads=tuple(threads))


@dataclass(frozen=True)
class _Line:
    """A line, and whose look it is."""

    pid: int
    born: int
    name: str
    point: Point
    told: bool
    packed: bytes

    @property
    def text(self) -> bytes:
        """As it was written."""
        return zlib.decompress(self.packed)

    @property
    def who(self) -> tuple[int, int, str]:
        return self.pid, self.born, "" if self.pid else self.name


class Looks:
    """The looks of a file in order."""

    def __init__(self, source: str, lines: Sequence[_Line], notes: Sequence[str]) -> None:
        self.source, self.notes = source, tuple(notes)
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def at(self, index: int) -> float:
        """When it was, in seconds since 1970."""
        return self._lines[index].point.at

    def pid(self, index: int) -> int:
        """At which process."""
        return self._lines[index].pid

    def who(self, index: int) -> object:
        """Equal for looks at the same process; numbers come again."""
        return self._lines[index].who

    def record(self, index: int) -> Record:
        """The whole look."""
        return made(Record, json.loads(self._lines[index].text))

    def tracks(self) -> tuple[Track, ...]:
        """By process, the one that was looked at first first."""
        found: dict[object, list[int]] = {}
        for index in range(len(self)):
            found.setdefault(self.who(index), []).append(index)
        return tuple(self._track(indices) for indices in found.values())

    def _track(self, indices: Sequence[int]) -> Track:
        points = sorted((self._lines[one].point for one in indices), key=lambda one: one.at)
        last = next((one for one in reversed(indices) if self._lines[one].told), indices[-1])
        first = self._lines[indices[0]]
        return Track(first.pid, first.born, tuple(points), self.record(last))


def read_looks(path: Path) -> Looks:
    """A file of looks. HewError for what is none."""
    found, notes = read_as(path, _line_or_none)
    lines = [one for one in takewhile(lambda one: one is not None, found) if one is not None]
    if len(lines) < len(found):
        notes = [*notes, f"line {len(lines) + 1} of {path} is no look: what comes before it was read"]
    return Looks(str(path), lines, notes)


def read_recording(path: Path) -> Recording:
    """A file of looks by process."""
    looks = read_looks(path)
    return Recording(str(path), looks.tracks(), looks.notes)


def recorded(place: str) -> Recording | None:
    """The recording that a place is; None for anything else."""
    return read_recording(Path(place)) if is_recording(Path(place)) or is_recording(older(Path(place))) else None


def last_reports(recording: Recording) -> Reading:
    """What each process said last, as if it had written it into a file."""
    found = [track.last.moment.snapshot for track in recording.tracks]
    reports = tuple(one for one in found if one is not None)
    if not reports:
        why = next((track.last.moment.why for track in recording.tracks if track.last.moment.why), "no look is whole")
        raise HewError(f"{recording.source} has no statistics, only what the kernel said: {why}")
    return Reading(recording.source, reports)


def told_last(recording: Recording) -> tuple[Reading | None, str]:
    """The same, or why there are none: the kernel's figures tell of growth without them."""
    try:
        return last_reports(recording), ""
    except HewError as error:
        return None, str(error)


def _line_or_none(text: bytes) -> _Line | None:
    """A look; None for what is none."""
    try:
        return _line(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _line(text: bytes) -> _Line:
    document = json.loads(text)
    moment = document["moment"]
    point = _point(document)
    told = "snapshot" in moment or "heap" in document
    return _Line(int(moment["pid"]), int(document["born"]), str(moment["name"]), point, told, zlib.compress(text, 1))


def _point(document: Mapping[str, Any]) -> Point:
    moment = document["moment"]
    point = Point(float(document["at"]), int(moment["outside"]["resident"]))
    snapshot = moment.get("snapshot")
    if snapshot is None:
        heap = document.get("heap")
        return replace(point, live=_live(heap)) if heap else point
    totals, merged = snapshot.get("totals", {}), snapshot.get("merged", {})
    asked = [merged[part].get("nrequests") for part in ("small", "large") if part in merged]
    known = [one for one in asked if one is not None]
    classes = {**_classes(merged.get("bins"), "curregs"), **_classes(merged.get("lextents"), "curlextents")}
    return replace(
        point,
        live=max(totals["allocated"] - (merged.get("tcache_bytes") or 0), 0) if "allocated" in totals else None,
        active=totals.get("active"),
        requests=sum(known) if known else None,
        classes=classes,
        arenas=_arenas(snapshot.get("arenas")),
    )


def _live(heap: Mapping[str, int]) -> int:
    return heap["system"] - heap["free"] - heap["cached"] + heap.get("mapped", 0)


def _classes(table: list[list[Any]] | None, count: str) -> dict[int, int]:
    """Bytes of live objects by class."""
    if not table or count not in table[0]:
        return {}
    size, number = table[0].index("size"), table[0].index(count)
    return {row[size]: row[size] * (row[number] or 0) for row in table[1:]}


def _arenas(table: list[list[Any]] | None) -> dict[str, int]:
    """Bytes of objects by arena, those in caches too."""
    if not table or not {"key", "small", "large"} <= set(table[0]):
        return {}
    key, small, large = (table[0].index(name) for name in ("key", "small", "large"))
    told = [row for row in table[1:] if "allocated" in row[small] and "allocated" in row[large]]
    return {row[key]: row[small]["allocated"] + row[large]["allocated"] for row in told}
