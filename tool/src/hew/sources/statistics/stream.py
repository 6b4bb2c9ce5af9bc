# SPDX-License-Identifier: MIT
"""Finds the reports in a text: several processes may have written theirs into one stream, among other output."""

import gzip
import re
import sys
import zlib
from pathlib import Path

from hew.model.errors import HewError
from hew.model.statistics import Reading, Snapshot
from hew.sources.statistics.json_form import from_json
from hew.sources.statistics.repair import decode
from hew.sources.statistics.text_form import BEGIN, END, from_text

START = re.compile(r'\{\s*"jemalloc"\s*:\s*\{|' + re.escape(BEGIN))
GZIP = b"\x1f\x8b"
STDIN = "-"
HOW = (
    "let the program write them with MALLOC_CONF=stats_print:true,stats_print_opts:J (to stderr, at its end), "
    "or call malloc_stats_print"
)


def read_statistics(path: str) -> Reading:
    """All reports of a file, which may be compressed with gzip; `-` is standard input."""
    data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    source = "standard input" if path == STDIN else path
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise HewError(f"{source}: not whole as a gzip file: {error}") from error
    reading = find_reports(data.decode("utf-8", errors="replace"), source)
    if not reading.snapshots:
        what = "is empty" if not data else "has no statistics of jemalloc or hew in it"
        raise HewError(f"{source} {what}: {HOW}")
    return reading


def find_reports(text: str, source: str) -> Reading:
    """All reports of a text, in the order in which they begin."""
    found: list[Snapshot] = []
    at, other = 0, 0
    while start := START.search(text, at):
        other += len(text[at : start.start()].strip())
        snapshot, at = (_text if start[0] == BEGIN else _json)(text, start.start())
        if snapshot is not None:
            found.append(snapshot)
    return Reading(source, tuple(found), other + len(text[at:].strip()))


def _json(text: str, start: int) -> tuple[Snapshot | None, int]:
    decoded = decode(text[start : _next(text, start)])
    if decoded is None:
        return None, start + 1
    snapshot = from_json(decoded.value)
    if decoded.cut_in:
        note = f"the report breaks off in {decoded.cut_in}: what comes before that was read"
        snapshot = snapshot.noted(note, whole=False)
    return snapshot, start + decoded.end


def _text(text: str, start: int) -> tuple[Snapshot | None, int]:
    stop = _next(text, start)
    end = text.find(END, start, stop)
    snapshot = from_text(text[start : end if end >= 0 else stop])
    if end >= 0:
        return snapshot, end + len(END)
    last = snapshot.arenas[-1].where if snapshot.arenas else "its beginning"
    note = f"the report breaks off in or after {last}: what comes before that was read"
    return snapshot.noted(note, whole=False), stop


def _next(text: str, start: int) -> int:
    """Where the next report begins: a broken one may not swallow it."""
    behind = START.search(text, start + 1)
    return behind.start() if behind else len(text)
