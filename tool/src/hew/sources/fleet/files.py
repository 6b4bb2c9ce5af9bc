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
from hew.model.fleet import HOST, possible
from hew.model.history import Record
from hew.model.metric import Labels
from hew.sources.fleet.store import NAME, StoreSource
from hew.sources.history.blocks import is_recording, older
from hew.sources.history.recording import read_looks

Rows = Iterator[tuple[Labels, float, float]]
Convert = Callable[[Record], Iterable[tuple[Labels, float]]]

LINE = re.compile(r"(hew_[a-z0-9_]+)(?:\{(.*)\})? ([^ ]+)(?: (-?[0-9.]+))?\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')
ESCAPED = re.compile(r"\\(.)")
TIME = re.compile(r"(?<!\d)(\d{10})(?!\d)")
MILLISECONDS = 1e11  # from here on: as seconds it would be the year 5138
MOST_TEXT = 256 << 20  # bytes of one scrape


def refresh(store: StoreSource, folder: Path, convert: Convert) -> list[str]:
    """Read what is new in the folder; notes on what could not be read. A file is taken whole, or not at all."""
    notes = []
    for path in _files(folder):
        name = str(path.relative_to(folder))
        state = path.stat()
        until = store.read_until(name, state.st_size, state.st_mtime)
        if until is None:
            continue
        host = path.relative_to(folder).parts[0] if path.parent != folder else path.name.partition(".")[0]
        try:
            with store.at_once():
                newest = _read(store, path, host, until, convert)
                store.mark(name, state.st_size, state.st_mtime, max(newest, until))
        except (HewError, ValueError, OSError) as error:
            notes.append(f"{path} is left out: {error}")
    return notes


def _files(folder: Path) -> list[Path]:
    """All but our own, and but the older halves of recordings, which are read with the newer ones."""
    found = {one for one in folder.rglob("*") if one.is_file() and not one.name.startswith((NAME, "."))}
    return sorted(found - {older(one) for one in found})


def _read(store: StoreSource, path: Path, host: str, until: float, convert: Convert) -> float:
    """The time of the newest sample."""
    newest = -math.inf
    rows = _looks(path, host, convert) if is_recording(path) else _scrape(path, host)
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


def _looks(path: Path, host: str, convert: Convert) -> Rows:
    looks = read_looks(path)
    for number in range(len(looks)):
        record = looks.record(number)
        for labels, value in convert(record):
            yield _with_host(labels, host), record.at, value


def _scrape(path: Path, host: str) -> Rows:
    state = path.stat()
    if state.st_size > MOST_TEXT:
        raise ValueError(f"a scrape of more than {MOST_TEXT >> 20} MiB")
    named = TIME.search(path.name)
    when = float(named[1]) if named else state.st_mtime
    found = False
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.rstrip("\n")
            if not text or text.startswith("#"):
                continue
            row = _sample(text, number)
            if row is not None:
                found = True
                labels, at, value = row
                if not possible(dict(labels)["__name__"], value):
                    continue
                yield _with_host(labels, host), when if at is None else at, value
    if not found:
        raise ValueError("neither a scrape of hew export nor a recording of hew watch")


def _sample(text: str, number: int) -> tuple[Labels, float | None, float] | None:
    """A line of a scrape; None for other series than ours."""
    match = LINE.match(text)
    if match is None:
        if text.startswith("hew_") or not re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*[ {]", text):
            raise ValueError(f"line {number} is no sample: {text[:60]!r}")
        return None
    name, labels, value, at = match.groups()
    pairs = [(one, ESCAPED.sub(_unescaped, words)) for one, words in LABEL.findall(labels or "")]
    if len(LABEL.sub("", labels or "")) > 0:
        raise ValueError(f"line {number} has labels that cannot be read: {text[:60]!r}")
    return tuple(sorted([("__name__", name), *pairs])), None if at is None else _seconds(float(at)), float(value)


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
    return StoreSource(folder / NAME if os.access(folder, os.W_OK) else None, match)
