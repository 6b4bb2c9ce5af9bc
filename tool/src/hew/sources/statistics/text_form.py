# SPDX-License-Identifier: MIT
"""The text report as a snapshot. Lines that are not the report's (another process wrote in between) are passed over."""

import re
from collections import Counter
from dataclasses import field
from typing import Any

from hew.model.lazy_dataclass import dataclass
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
    Scalar,
    Sizes,
    Snapshot,
    Totals,
    UnusedExtents,
)
from hew.sources.statistics.columns import NUMBER, RATE, values_of
from hew.sources.statistics.fields import OTHER_NAMES, limit, mutex, number, record

BEGIN = "___ Begin jemalloc statistics ___"
END = "--- End jemalloc statistics ---"
ARENA = re.compile(r"(?P<sum>Merged|Destroyed) arenas stats:|arenas\[(?P<index>\d+)\]:")
OPTION = re.compile(r'\s*(?P<group>config|opt)\.(?P<name>[\w.]+): (?P<value>".*?"(?=$| \()|\S+)')
LAYOUT = {
    "Arenas": "narenas",
    "Quantum size": "quantum",
    "Page size": "page",
    "Hugepage size": "hugepage",
    "Maximum thread-cached size class": "tcache_max",
}
ARENA_NAMES = {"assigned threads": "nthreads", "uptime": "uptime_ns"}
NAMED = re.compile(r"(\w+): (\d+)")
LIMIT = re.compile(r'  (source|bytes|held|looks|relieved|returned): (\d+|"\w+")$')
TOTALS = re.compile(r"Allocated: \d+, active: \d+")
PAIR = re.compile(r"(\w+): (\d+)")
DECAYING = re.compile(r"\s*(dirty|muzzy):\s*(N/A|-?\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$")
CURRENT = re.compile(r"arenas\.(dirty_decay_ms|muzzy_decay_ms): (-?\d+)")
VALUE = re.compile(r"([\w ]+?):\s+(\d+)$")
UPTIME = re.compile(r"^uptime: (\d+)", re.MULTILINE)
BACKGROUND = ("num_threads", "num_runs", "run_interval_ns")
SUMS = ("small", "large", "total")
TABLES = ("bins:", "large:", "extents:")
EXTENT_NAMES = {"dirty": "dirty_bytes", "muzzy": "muzzy_bytes", "retained": "retained_bytes"}


@dataclass
class _Draft:
    """What has been read of an arena, or of the process before the first arena."""

    numbers: dict[str, object] = field(default_factory=dict)
    name: str | None = None
    sums: dict[str, Sizes] = field(default_factory=dict)
    mutexes: dict[str, Mutex] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


class _Reader:
    """Goes through the lines once; `table` is the name of the table that rows belong to, `columns` its header line."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.options: dict[str, dict[str, Scalar]] = {"config": {}, "opt": {}}
        self.thp_mode: str | None = None
        self.layout: dict[str, object] = {}
        self.totals: dict[str, object] = {}
        self.background: dict[str, object] = {}
        self.named: dict[str, dict[str, object]] = {"Depots": {}, "Peak": {}, "Guarded objects": {}}
        self.limit: dict[str, object] = {}
        self.process = _Draft()
        self.drafts: dict[str, _Draft] = {}
        self.current = self.process
        self.table = ""
        self.columns = ""
        self.unread = 0
        self.doubtful: Counter[str] = Counter()
        self.uptime = 0  # of the first arena, by which jemalloc reckons the rates of the process's locks, too

    def line(self, line: str) -> None:
        words = line.split()
        if not words:
            return
        if self._header(line, words) or self._row(line, words):
            return
        if arena := ARENA.match(line):
            key = (arena["sum"] or "").lower() or arena["index"]
            self.current, self.table = self.drafts.setdefault(key, _Draft()), ""
        elif self.current is self.process:
            self._general(line)
        else:
            self._arena(line)

    def _header(self, line: str, words: list[str]) -> bool:
        """The first line of a table."""
        if words[0] in TABLES and words[1:2] == ["size"]:
            self.table, self.columns = words[0].rstrip(":"), line.replace(words[0], " " * len(words[0]), 1)
        elif words[0] in ("n_lock_ops", "num_ops"):
            self.table, self.columns = "mutexes", line
        elif words[0] == "allocated" and RATE in words:
            self.table, self.columns = "sums", line
        elif words[0] == "size" or line.startswith("HPA"):  # of the second page allocator: not read
            self.table, self.columns = "", ""
        else:
            return False
        return True

    def _row(self, line: str, words: list[str]) -> bool:
        """A line of the table at hand."""
        named = self.table in ("mutexes", "sums")
        figures = words[1:] if named else words
        if not self.table or not figures or not all(NUMBER.fullmatch(one) for one in figures):
            return False
        uptime = number(self.current.numbers.get("uptime_ns")) or 0
        row = values_of(line, self.columns, words[0] if named else "", uptime or self.uptime)
        names = self.columns.split()
        if row is None:
            cut_up = len(figures) > len(names) // 2
            self.unread += cut_up
            return cut_up
        self.doubtful.update(OTHER_NAMES.get(name, name) for name in row.doubtful(names))
        found = {
            OTHER_NAMES.get(name, name): int(value) if value is not None and value.isdecimal() else None
            for name, value in zip(names, row.values, strict=True)
            if name != RATE
        }
        if self.table == "mutexes":
            self.current.mutexes[words[0]] = mutex(found)
        elif self.table == "sums" and words[0].rstrip(":") in SUMS:
            self.current.sums[words[0].rstrip(":")] = record(Sizes, found)
        else:
            self.current.rows.setdefault(self.table, []).append(found)
        return True

    def _general(self, line: str) -> None:
        if option := OPTION.match(line):
            self.options[option["group"]].setdefault(option["name"], _scalar(option["value"]))
            if current := CURRENT.search(line):
                self.layout[current[1]] = int(current[2])
        elif TOTALS.match(line):
            self.totals = {name.lower(): int(value) for name, value in PAIR.findall(line)}
        elif line.startswith("Background threads:"):
            self.background = dict(zip(BACKGROUND, map(int, re.findall(r"\d+", line)), strict=False))
        elif part := LIMIT.match(line):
            self.limit[part[1]] = _scalar(part[2])
        elif (first := line.partition(": ")[0]) in self.named:
            self.named[first] = {name.lower(): int(value) for name, value in NAMED.findall(line)}
        elif line.startswith("Version: "):
            self.version = line.partition(": ")[2].strip().strip('"')
        elif "thp_mode:" in line:
            self.thp_mode = line.partition(": ")[2].strip().strip('"')
        else:
            name, _, value = line.partition(": ")
            if name in LAYOUT and value.strip().isdecimal():
                self.layout[LAYOUT[name]] = int(value)

    def _arena(self, line: str) -> None:
        if decay := DECAYING.match(line):
            kind, time, *counts = decay.groups()
            self.current.numbers[f"{kind}_decay_ms"] = None if time == "N/A" else int(time)
            names = (f"p{kind}", f"{kind}_npurge", f"{kind}_nmadvise", f"{kind}_purged")
            self.current.numbers.update(zip(names, map(int, counts), strict=True))
        elif value := VALUE.match(line):
            self.current.numbers[ARENA_NAMES.get(value[1], value[1])] = int(value[2])
        elif line.startswith("name: "):
            self.current.name = line.partition(": ")[2].strip().strip('"')

    def arena(self, key: str, draft: _Draft) -> Arena:
        """The finished arena."""
        page = self.layout.get("page", 4096)
        assert isinstance(page, int)  # noqa: S101 - only isdecimal() values are put in
        numbers = dict(draft.numbers)
        if isinstance(active := numbers.pop("active", None), int):
            numbers["pactive"] = active // page
        return record(
            Arena,
            numbers,
            key=key,
            name=draft.name,
            small=draft.sums.get("small", Sizes()),
            large=draft.sums.get("large", Sizes()),
            mutexes=draft.mutexes,
            bins=tuple(
                record(Bin, row, slab_size=row["pgs"] * page if row.get("pgs") else None, mutex=mutex(row))
                for row in draft.rows.get("bins", [])
            ),
            lextents=tuple(record(LargeClass, row) for row in draft.rows.get("large", [])),
            extents=tuple(
                record(UnusedExtents, {EXTENT_NAMES.get(name, name): value for name, value in row.items()})
                for row in draft.rows.get("extents", [])
            ),
        )


def from_text(text: str) -> Snapshot:
    """The snapshot of one text report, from its first line to its last or to where it breaks off."""
    reader = _Reader()
    if age := UPTIME.search(text):
        reader.uptime = int(age[1])
    for line in text.splitlines():
        reader.line(line)
    arenas = {key: reader.arena(key, draft) for key, draft in reader.drafts.items()}
    return Snapshot(
        form="text",
        version=reader.version,
        config=reader.options["config"],
        opt=reader.options["opt"],
        thp_mode=reader.thp_mode,
        layout=record(Layout, reader.layout),
        totals=record(Totals, reader.totals),
        background=record(BackgroundThreads, reader.background),
        depot=record(Depot, reader.named["Depots"]),
        peak=record(Peak, reader.named["Peak"]),
        guard=record(Guard, reader.named["Guarded objects"]),
        limit=limit(reader.limit),
        mutexes=reader.process.mutexes,
        merged=arenas.get("merged"),
        destroyed=arenas.get("destroyed"),
        arenas=tuple(arena for key, arena in arenas.items() if key not in ("merged", "destroyed")),
        notes=_notes(reader),
    )


def _notes(reader: _Reader) -> tuple[str, ...]:
    """What of the tables could not be read."""
    notes = []
    if reader.unread:
        lines = "line" if reader.unread == 1 else "lines"
        notes.append(f"{reader.unread} {lines} of tables could not be read: numbers run into each other")
    if reader.doubtful:
        fields = ", ".join(f"{name} ({count})" for name, count in sorted(reader.doubtful.items()))
        notes.append(f"numbers run into each other, so these are not reported: {fields}")
    return tuple(notes)


def _scalar(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text.strip('"')
