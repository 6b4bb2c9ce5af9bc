# SPDX-License-Identifier: MIT
"""From a look at processes to families of samples: what was not reported has no sample, never a 0."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from hew.analysis.metrics import exporter_table as own
from hew.analysis.metrics.detail_table import ARENA, BIN
from hew.analysis.metrics.process_table import TABLE
from hew.analysis.metrics.row import Number, Row
from hew.model.metric import Family, Kind, Labels, Look, Metric, Observed, QueueState, Sample
from hew.model.statistics import Arena, Bin

# Labels of our own: users may not set them.
RESERVED = frozenset({"allocator", "arena", "dump", "kind", "outcome", "pid", "process", "reason", "service_name"}) | {
    "size",
    "size_class",
    "state",
    "version",
}
Subject = TypeVar("Subject")
Subjects = Sequence[tuple[Labels, Subject]]


def families(look: Look, version: str, per_arena: bool = False, per_bin: bool = False) -> tuple[Family, ...]:
    """Everything a look shows, in the order of the tables; families without a sample are left out."""
    named = [(labels_of(seen), seen) for seen in look.observed]
    found = [Family(own.INFO, tuple(Sample(_info(labels, seen), 1) for labels, seen in named))]
    found += _rows(TABLE, named)
    if per_arena:
        found += _rows(ARENA, [pair for labels, seen in named for pair in _arenas(labels, seen)])
    if per_bin:
        found += _rows(BIN, [pair for labels, seen in named for pair in _bins(labels, seen)])
    found += _own(look, version)
    return tuple(family for family in found if family.samples)


def queue_families(state: QueueState) -> tuple[Family, ...]:
    """How the queue of a remote write stands."""
    dropped = tuple(Sample((("reason", reason),), count) for reason, count in sorted(state.dropped.items()))
    return (
        _one(own.QUEUE_BYTES, state.bytes),
        _one(own.QUEUE_BATCHES, state.batches),
        _one(own.SENT, state.sent),
        _one(own.RETRIES, state.retries),
        _one(own.REPLAYED, state.replayed),
        Family(own.DROPPED, dropped),
    )


def labels_of(seen: Observed) -> Labels:
    """What tells a process, or a dump, from all others on the host."""
    if seen.pid is None:
        return (("dump", seen.dump), ("service_name", seen.service))
    return (("pid", str(seen.pid)), ("service_name", seen.service))


def _info(labels: Labels, seen: Observed) -> Labels:
    facts = {"allocator": seen.snapshot.allocator, "process": seen.process, "version": seen.snapshot.release or ""}
    return tuple(sorted({**dict(labels), **{name: text for name, text in facts.items() if text}}.items()))


def _arenas(labels: Labels, seen: Observed) -> Iterator[tuple[Labels, Arena]]:
    """Arenas that have been used, or had been when they were made."""
    for arena in seen.snapshot.arenas:
        if arena.pactive or arena.nthreads or arena.resident:
            yield _with(labels, "arena", arena.key), arena


def _bins(labels: Labels, seen: Observed) -> Iterator[tuple[Labels, Bin]]:
    arena = seen.snapshot.all_arenas
    for one in arena.bins if arena else ():
        yield _with(labels, "size_class", str(one.size)), one


def _with(labels: Labels, name: str, value: str) -> Labels:
    return tuple(sorted((*labels, (name, value))))


def _rows(table: Iterable[Row[Subject]], subjects: Subjects[Subject]) -> list[Family]:
    return [Family(row.metric, tuple(_samples(row, subjects))) for row in table]


def _samples(row: Row[Subject], subjects: Subjects[Subject]) -> Iterator[Sample]:
    for labels, subject in subjects:
        if callable(row.values):
            value = row.values(subject)
            if value is not None and _possible(row.metric, value):
                yield Sample(labels, value)
            continue
        for word, read in row.values.items():
            value = read(subject)
            if value is not None and _possible(row.metric, value):
                yield Sample(_with(labels, row.label, word), value)


def _possible(metric: Metric, value: Number) -> bool:
    """No counter is negative, and no number beyond what a double holds: a report that says so is wrong there."""
    if value is None or (metric.kind is Kind.COUNTER and value < 0):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def _own(look: Look, version: str) -> list[Family]:
    errors = tuple(Sample((("reason", reason),), count) for reason, count in sorted(look.errors.items()))
    return [
        Family(own.BUILD, (Sample((("version", version),), 1),)),
        _one(own.PROCESSES, len(look.observed)),
        _one(own.LEFT_OUT, look.left_out),
        _one(own.DURATION, look.seconds),
        Family(own.ERRORS, errors),
    ]


def _one(metric: Metric, value: float) -> Family:
    return Family(metric, (Sample((), value),))
