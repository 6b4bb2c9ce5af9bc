# SPDX-License-Identifier: MIT
"""Recorded snapshots as samples for the store: scrapes of `hew export --once` and recordings of `hew watch`.

DIR/HOST/FILE is of that host; so is DIR/FILE of the host that its name begins with, up to the first dot. A scrape is of
the time that its samples say, else of the ten digits in its name (seconds since 1970), else of when it was written.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hew.model.errors import HewError
from hew.model.fleet import HOST, LATEST, possible
from hew.model.history import Record
from hew.model.metric import Labels
from hew.sources.fleet.store import NAME, StoreSource
from hew.sources.history.blocks import is_recording, older
from hew.sources.history.recording import read_looks

Rows = Iterator[tuple[Labels, float, float]]
Convert = Callable[[Record], Iterable[tuple[Labels, float]]]

LINE = re.compile(r"(hew_[a-z0-9_]{1,100})(?:\{(.*)\})? ([^ ]{1,64})(?: (-?[0-9.]{1,64}))?\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\]*(?:\\.[^"\\]*)*)"(?:,|\Z)')
ESCAPED = re.compile(r"\\(.)")
TIME = re.compile(r"(?<!\d)(\d{10})(?!\d)")
MILLISECONDS = 1e11  # from here on: as seconds it would be the year 5138
MOST_TEXT = 256 << 20  # bytes of one scrape
MOST_LINE = 1 << 16  # characters
# What files of others may bring about, besides what is said in one line already.
DAMAGED = (HewError, ValueError, LookupError, ArithmeticError, RecursionError, OSError)


def refresh(store: StoreSource, folder: Path, convert: Convert) -> list[str]:
    """Read new files of the folder, and return notes on failures. A file is stored whole, or not at all."""
    notes: list[str] = []
    found = _files(folder, notes)
    for path in sorted(found):
        try:
            if path.is_file() and not _is_older_half(path, found):
                _take(store, folder, path, convert)
        except DAMAGED as error:
            notes.append(f"{path} is left out: {error}")
    return notes


def _files(folder: Path, notes: list[str]) -> set[Path]:
    """All names but our own. A folder that cannot be read is a note."""

    def unread(error: OSError) -> None:
        notes.append(f"{error.filename} is left out: {error.strerror}")

    return {
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=unread)
        for name in names
        if not name.startswith((NAME, "."))
    }


def _is_older_half(path: Path, found: set[Path]) -> bool:
    """Whether it is the older half of a recording, and is read with the newer one."""
    newer = path.with_name(path.name.removesuffix(".1"))
    return path == older(newer) and newer in found and is_recording(newer) and is_recording(path)


def _take(store: StoreSource, folder: Path, path: Path, convert: Convert) -> None:
    """Read a file on from where it was read to."""
    inside = path.relative_to(folder)
    name = str(inside)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("its name is not UTF-8") from None
    state = path.stat()
    until = store.read_until(name, state.st_size, state.st_mtime)
    if until is None:
        return
    host = inside.parts[0] if len(inside.parts) > 1 else path.name.partition(".")[0]
    with store.at_once():
        newest = _read(store, path, host, until, convert)
        store.mark(name, state.st_size, state.st_mtime, max(newest, until))


def _read(store: StoreSource, path: Path, host: str, until: float, convert: Convert) -> float:
    """The time of the newest sample."""
    newest = -math.inf
    rows = _looks(path, host, until, convert) if is_recording(path) else _scrape(path, host)
    batch: list[tuple[Labels, float, float]] = []
    for row in rows:
        if row[1] <= until:
            continue
        newest = max(newest, row[1])
        batch.append(row)
        if len(batch) >= 100_000:
            store.add(batch)
            batch.clear()
    store.add(batch)
    return newest


def _looks(path: Path, host: str, until: float, convert: Convert) -> Rows:
    """Only looks later than `until` are decoded: a recording that grew has thousands of others."""
    looks = read_looks(path)
    for number in range(len(looks)):
        at = looks.at(number)
        if at <= until:
            continue
        for labels, value in convert(looks.record(number)):
            if possible(dict(labels)["__name__"], value):
                yield _with_host(labels, host), at, value


def _scrape(path: Path, host: str) -> Rows:
    state = path.stat()
    if state.st_size > MOST_TEXT:
        raise ValueError(f"a scrape of more than {MOST_TEXT >> 20} MiB")
    named = TIME.search(path.name)
    when = float(named[1]) if named else state.st_mtime
    found = False
    for number, text in enumerate(_lines(path), 1):
        if not text or text.startswith("#"):
            continue
        row = _sample(text, number)
        if row is not None:
            found = True
            labels, at, value = row
            if possible(dict(labels)["__name__"], value):
                yield _with_host(labels, host), when if at is None else at, value
    if not found:
        raise ValueError("neither a scrape of hew export nor a recording of hew watch")


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text, without their ends. ValueError for one that is none of ours by its length."""
    with path.open(encoding="utf-8", errors="replace") as file:
        number = 0
        while line := file.readline(MOST_LINE + 2):
            number += 1
            text = line.removesuffix("\n")
            if len(text) > MOST_LINE:
                raise ValueError(f"line {number} has more than {MOST_LINE} characters")
            yield text


def _sample(text: str, number: int) -> tuple[Labels, float | None, float] | None:
    """A line of a scrape; None for other series than ours."""
    match = LINE.match(text)
    if match is None:
        if text.startswith("hew_") or not re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*[ {]", text):
            raise ValueError(f"line {number} is no sample: {text[:60]!r}")
        return None
    name, labels, value, at = match.groups()
    pairs = _labels(labels or "")
    if pairs is None:
        raise ValueError(f"line {number} has labels that cannot be read: {text[:60]!r}")
    moment = None if at is None else _seconds(float(at))
    if moment is not None and not 0 <= moment <= LATEST:
        raise ValueError(f"line {number} is of a time that is none: {at}")
    return tuple(sorted([("__name__", name), *pairs])), moment, float(value)


def _labels(text: str) -> list[tuple[str, str]] | None:
    """Names and values; None if the text is malformed. Each label begins where the last one ends: a search for labels
    anywhere takes quadratic time where there is none."""
    found, place = [], 0
    while place < len(text):
        match = LABEL.match(text, place)
        if match is None:
            return None
        found.append((match[1], ESCAPED.sub(_unescaped, match[2])))
        place = match.end()
    return found


def _seconds(at: float) -> float:
    """OpenMetrics has seconds; Prometheus' older format has milliseconds."""
    return at / 1000 if at > MILLISECONDS else at


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _with_host(labels: Labels, host: str) -> Labels:
    """The host, unless a label says which one it is."""
    return labels if any(name == HOST for name, _ in labels) else tuple(sorted((*labels, (HOST, host))))


def store_of(folder: Path, match: tuple[tuple[str, str], ...] = ()) -> StoreSource:
    """The store of a folder: in it, or in memory where we may not write."""
    if not folder.is_dir():
        raise HewError(f"{folder} is no folder: --store wants one with scrapes and recordings, a folder for each host")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise HewError(f"{folder}: --store wants a folder whose name is UTF-8") from None
    return StoreSource(folder / NAME if os.access(folder, os.W_OK) else None, match)
