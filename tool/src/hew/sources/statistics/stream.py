# SPDX-License-Identifier: MIT
"""Finds the reports in a text: several processes may have written theirs into one stream, among other output."""

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from hew.model.errors import HewError
from hew.model.statistics import Reading, Snapshot
from hew.sources.statistics.json_form import from_json
from hew.sources.statistics.repair import decode
from hew.sources.statistics.text_form import BEGIN, END, from_text

BLANKS = r"\s{0,32}"
NAME = '"jemalloc"'
START = re.compile(rf"\{{{BLANKS}{NAME}{BLANKS}:{BLANKS}\{{|" + re.escape(BEGIN))
SEAM = 128  # characters: more than any beginning has
CHUNK = 1 << 20
GZIP = b"\x1f\x8b"
STDIN = "-"
WITHOUT_STATISTICS = "this allocator was built without statistics (config.stats: false): the report has settings alone"
HOW = (
    "let the program write them with MALLOC_CONF=stats_print:true,stats_print_opts:J (to stderr, at its end), "
    "or call malloc_stats_print"
)
B = r"\s*+"
ZERO = rf'"\w++"{B}:{B}0{B},?+{B}'
# A row of a JSON report that says nothing: an object in a list, every number of which is 0, the counters of its lock
# too. Objects that have a name are no rows. A report with thousands of arenas is mostly such rows.
# No part of it is tried twice (`+` behind a repetition), so the time is linear in the text.
EMPTY_ROW = re.compile(rf'(?<=[\[,]){B}\{{{B}(?:{ZERO}|"mutex"{B}:{B}\{{{B}(?:{ZERO})*+\}}{B},?+{B})*+\}}')


def read_statistics(path: str) -> Reading:
    """All reports of a file, which may be compressed with gzip; `-` is standard input."""
    source = "standard input" if path == STDIN else path
    with sys.stdin.buffer if path == STDIN else Path(path).open("rb") as file:
        try:
            reading = _reading(_decoded(cast(io.BufferedReader, file)), source)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise HewError(f"{source}: not whole as a gzip file: {error}") from error
    if not reading.snapshots:
        what = "is empty" if not reading.other_bytes else "has no statistics of jemalloc or hew in it"
        raise HewError(f"{source} {what}: {HOW}")
    return reading


def find_reports(text: str, source: str) -> Reading:
    """All reports of a text, in the order in which they begin."""
    return _reading((text[at : at + CHUNK] for at in range(0, len(text), CHUNK)), source)


def _decoded(file: io.BufferedReader) -> Iterator[str]:
    """A file's text, piece by piece."""
    plain = gzip.GzipFile(fileobj=file) if file.peek(len(GZIP)).startswith(GZIP) else file
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while block := plain.read(CHUNK):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _reading(blocks: Iterable[str], source: str) -> Reading:
    """Goes through a text once and keeps no more of it than one report."""
    found: list[Snapshot] = []
    other = 0
    for piece in _pieces(blocks):
        start = START.match(piece)
        if start is None:
            other += len(piece.strip())
            continue
        snapshot, end = (_text if start[0] == BEGIN else _json)(piece)
        if snapshot is not None:
            snapshot = snapshot if snapshot.counts else snapshot.noted(WITHOUT_STATISTICS)
            found.append(snapshot)
        other += len(piece[end:].strip())
    return Reading(source, tuple(found), other)


def _pieces(blocks: Iterable[str]) -> Iterator[str]:
    """The text cut where reports begin: a broken one may not swallow the next. The first piece may be none of them."""
    parts: list[str] = []
    in_json = False
    seam = ""  # of what is kept, the end in which a beginning may lie that the next block completes
    for block in blocks:
        text, at = seam + block, 0
        for start in _beginnings(text):
            parts.append(text[at : start.start()])
            at = start.start()
            if any(parts):
                yield _joined(parts)
            parts.clear()
            in_json = start[0] != BEGIN
        keep = max(len(text) - SEAM, at)
        parts.append(without_empty_rows(text[at:keep]) if in_json else text[at:keep])
        seam = text[keep:]
    parts.append(seam)
    if any(parts):
        yield _joined(parts)


def _beginnings(text: str) -> Iterator[re.Match[str]]:
    """Where reports begin. Nearly no block has one, and a plain search says so ten times as fast."""
    return START.finditer(text) if NAME in text or BEGIN in text else iter(())


def _joined(parts: list[str]) -> str:
    """The whole, and nothing of the parts any more: a report of 200 MB is not kept twice while it is read."""
    whole = "".join(parts)
    parts.clear()
    return whole


def _json(text: str) -> tuple[Snapshot | None, int]:
    decoded = decode(text)
    if decoded is None or not decoded.value.get("jemalloc"):  # broken, or broken off before it said anything
        return None, 1
    snapshot = from_json(decoded.value)
    if decoded.cut_in:
        note = f"the report breaks off in {decoded.cut_in}: what comes before that was read"
        snapshot = snapshot.noted(note, whole=False)
    return snapshot, decoded.end


def _text(text: str) -> tuple[Snapshot | None, int]:
    end = text.find(END)
    snapshot = from_text(text[: end if end >= 0 else len(text)])
    if end >= 0:
        return snapshot, end + len(END)
    last = snapshot.arenas[-1].where if snapshot.arenas else "its beginning"
    note = f"the report breaks off in or after {last}: what comes before that was read"
    return snapshot.noted(note, whole=False), len(text)


def without_empty_rows(text: str) -> str:
    """Any stretch of a report with 0 in the place of each such row, so that the others keep theirs: a row's place says
    which class it is of. A row that the stretch cuts is left as it is."""
    return EMPTY_ROW.sub("0", text)
