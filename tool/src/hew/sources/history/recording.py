# SPDX-License-Identifier: MIT
"""Writes samples as lines of the file, and reads a file as tracks: all samples of each process.

An analysis needs a few numbers of each of ten thousand samples. They are read from the document directly, and only the
sample that is shown becomes a record.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from hew.model.errors import HewError
from hew.model.history import MOST_ARENAS, Point, Record, Recording, Track
from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Reading, Snapshot
from hew.sources.history.blocks import is_recording, older, read_as
from hew.sources.history.codec import LARGEST, made, plain

LATEST = 253402300800.0 - 86400  # a day before the year 10000, which begins sooner in the east
# Errors that foreign lines cause. RecursionError: deeply nested brackets.
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
# A process with 400 arenas or 5,000 threads has a small look, too.
MOST_THREADS, MOST_WORDS = 64, 400
MOST_SAID = 100  # characters of what is wrong with one


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
        """The whole look. HewError for one that is damaged where its line did not show it."""
        try:
            return made(Record, json.loads(self._lines[index].text))
        except DAMAGED as error:
            why = str(error)[:MOST_SAID]
            raise HewError(f"{self.source} is damaged: sample {index + 1} is none ({why})") from None

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
    """A file of samples. Raises HewError for any other file."""
    found, notes = read_as(path, _line_or_none)
    lines = [one for one in takewhile(lambda one: one is not None, found) if one is not None]
    if len(lines) < len(found):
        notes = [*notes, f"line {len(lines) + 1} of {path} is no sample: what comes before it was read"]
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
    """A sample; None if the line is not one."""
    try:
        return _line(text)
    except DAMAGED:
        return None


def _line(text: bytes) -> _Line:
    document = json.loads(text)
    moment = document["moment"]
    point = _point(document)
    told = "snapshot" in moment or "heap" in document
    pid, born, name = _whole(moment["pid"]), _whole(document["born"]), str(moment["name"])
    return _Line(pid, born, name, point, told, zlib.compress(text, 1))


def _point(document: Mapping[str, Any]) -> Point:
    moment = document["moment"]
    point = Point(_time(document["at"]), _whole(moment["outside"]["resident"]))
    snapshot = moment.get("snapshot")
    if snapshot is None:
        heap = document.get("heap")
        return replace(point, live=_live(heap)) if heap else point
    totals, merged = snapshot.get("totals", {}), snapshot.get("merged", {})
    cached = _whole(merged.get("tcache_bytes") or 0)
    asked = [merged[part].get("nrequests") for part in ("small", "large") if part in merged]
    known = [_whole(one) for one in asked if one is not None]
    classes = {**_classes(merged.get("bins"), "curregs"), **_classes(merged.get("lextents"), "curlextents")}
    return replace(
        point,
        live=max(_whole(totals["allocated"]) - cached, 0) if "allocated" in totals else None,
        active=_whole(totals["active"]) if "active" in totals else None,
        requests=sum(known) if known else None,
        classes=classes,
        arenas=_arenas(snapshot.get("arenas")),
    )


def _live(heap: Mapping[str, int]) -> int:
    system, free, cached = (_whole(heap[name]) for name in ("system", "free", "cached"))
    return system - free - cached + _whole(heap.get("mapped") or 0)


def _classes(table: list[list[Any]] | None, count: str) -> dict[int, int]:
    """Bytes of live objects by class."""
    if not table or count not in table[0]:
        return {}
    size, number = table[0].index("size"), table[0].index(count)
    return {_whole(row[size]): row[size] * _whole(row[number] or 0) for row in table[1:]}


def _arenas(table: list[list[Any]] | None) -> dict[str, int]:
    """Bytes of objects by arena, those in caches too."""
    if not table or not {"key", "small", "large"} <= set(table[0]):
        return {}
    key, small, large = (table[0].index(name) for name in ("key", "small", "large"))
    parts = ((str(row[key]), row[small] or {}, row[large] or {}) for row in table[1:])
    return {
        name: sum(_whole(part["allocated"]) for part in both)
        for name, *both in parts
        if all("allocated" in part for part in both)
    }


def _whole(value: Any) -> int:
    """A number of bytes or of things. ValueError for others: texts would be added, too, or said to be as long."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LARGEST:
        raise ValueError("no number of 64 bits")
    return value


def _time(value: Any) -> float:
    """Seconds since 1970. ValueError for what is no time that can be shown, such as NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LATEST:
        raise ValueError("no time")
    return float(value)
