# SPDX-License-Identifier: MIT
"""Queries a source of metrics for `hew fleet`, and judges the answers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hew.analysis.fleet import settings
from hew.analysis.fleet.case import advice_of, versions_of
from hew.analysis.fleet.costs import costs
from hew.analysis.fleet.figures import ASKS, BINS, HOSTS, STEPS, VERSIONS, WORST, gathered
from hew.analysis.fleet.limits import DAY, limit_day, trend_span
from hew.analysis.metrics.families import families
from hew.analysis.metrics.series import series
from hew.model.errors import HewError
from hew.model.fleet import (
    HOST,
    SERVICE,
    Cost,
    FleetState,
    Fold,
    LimitDay,
    Line,
    Mixed,
    Over,
    Query,
    ServiceState,
    Source,
    Span,
)
from hew.model.history import Record
from hew.model.lazy_dataclass import dataclass
from hew.model.metric import Kernel, Labels, Look, Observed

AHEAD = 60.0  # seconds by which clocks may differ
DRIFTING = ("dirty", "muzzy")  # settings that should be alike; the number of arenas follows from a host's CPUs
GIB = 1 << 30


@dataclass(frozen=True)
class Wanted:
    """What to query: a window of some seconds that ends at `end` (None: the newest sample), and how to rank."""

    window: float = 3600.0
    end: float | None = None
    service: str | None = None
    gib_per_core: float = 4.0
    trend: float = 3 * DAY
    horizon: float = 30 * 86400.0


def span_of(source: Source, wanted: Wanted) -> Span:
    """The window. HewError for a source without samples."""
    end = wanted.end if wanted.end is not None else source.newest()
    if end is None:
        raise HewError(
            f"{source.name} has no series of hew export (docs/metrics.md), or none of the last ten minutes: "
            "--at TIME looks further back"
        )
    return Span(end - wanted.window, end)


def fleet_of(source: Source, wanted: Wanted) -> FleetState:
    """The ranking, with everything that stands beside it."""
    begun = time.monotonic()
    span = span_of(source, wanted)
    only = ((SERVICE, wanted.service),) if wanted.service is not None else ()
    sizes = replace(span, steps=STEPS)
    figures = gathered({ask.key: asked(source, ask.query, only, sizes, span) for ask in ASKS})
    if not figures:
        who = f"service {wanted.service!r}" if wanted.service is not None else "series of hew export"
        raise HewError(f"{source.name} has no {who} in the {wanted.window:g} s until {span.end:.0f}")
    hosts = _counted(asked(source, HOSTS, only, span, span))
    versions = versions_of(asked(source, VERSIONS, only, span, span))
    bins = gathered({ask.key: asked(source, ask.query, only, sizes, span) for ask in BINS})
    limits = _limits(source, wanted, span, only)
    found = []
    for name, row in figures.items():
        paid = tuple(_with_worst(source, span, name, cost) for cost in costs(row))
        advice = advice_of(row, bins.get(name, {}), versions.get(name, ("", "")), wanted.window)
        differ = tuple(_mixed(source, span, name, row))
        state = ServiceState(
            name, row.get("processes", 0.0), hosts.get(name, 0), row.get("cpu"), row.get("rss"), paid, advice, differ,
            limits.get(name),
        )  # fmt: skip
        found.append(replace(state, score=state.cores_back + state.bytes_back / GIB / wanted.gib_per_core))
    ranked = sorted(found, key=lambda one: (-one.score, one.name))
    took = time.monotonic() - begun
    return FleetState(
        source.name, span.begin, span.end, tuple(ranked), wanted.gib_per_core, took, clock_notes(wanted, span.end)
    )


def clock_notes(wanted: Wanted, end: float) -> tuple[str, ...]:
    """What must be said of a window that ends at the newest sample, where that is of the future: one host whose clock
    is ahead moves the window past the samples of all others."""
    ahead = end - time.time()
    if wanted.end is not None or ahead <= AHEAD:
        return ()
    return (
        f"the newest sample is {ahead:,.0f} s in the future: a host's clock is ahead, and hosts whose clocks are right "
        "may be missing here; --at TIME ends the window elsewhere",
    )


def asked(source: Source, query: Query, only: tuple[tuple[str, str], ...], sizes: Span, rates: Span) -> Sequence[Line]:
    return source.ask(replace(query, match=(*query.match, *only)), sizes if query.over is Over.LAST else rates)


def _counted(lines: Sequence[Line]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        found[line.labels[0]] = found.get(line.labels[0], 0) + 1
    return found


def _with_worst(source: Source, span: Span, service: str, cost: Cost) -> Cost:
    """Where it is largest: that is where to look closer."""
    lines = source.ask(replace(WORST[cost.kind], match=((SERVICE, service),)), span)
    worst = max(lines, key=lambda line: (line.mean, line.labels), default=None)
    return cost if worst is None else replace(cost, worst=(worst.labels[0], worst.labels[1]))


def _mixed(source: Source, span: Span, service: str, figures: Mapping[str, float]) -> Iterator[Mixed]:
    """Settings that differ among the hosts of a service. Hosts are queried only for settings that differ."""
    for state in DRIFTING:
        if figures.get(f"decay.{state}") != figures.get(f"decay_least.{state}"):
            name = f"{state}_decay_ms"
            most, least = (source.ask(query, span) for query in settings.queries(name, ((SERVICE, service),)))
            if (one := settings.mixed(name, settings.values(name, most, least))) is not None:
                yield one


def _limits(source: Source, wanted: Wanted, span: Span, only: tuple[tuple[str, str], ...]) -> dict[str, LimitDay]:
    """By service the host that meets its limit first. All services are asked at once, and only those that look as if
    they would meet it host by host."""
    whole = trend_span(span.end, wanted.trend)
    used, limit = _limit_queries(SERVICE, only)
    limits = {line.labels[0]: line.mean for line in source.ask(limit, span)}
    found: dict[str, LimitDay] = {}
    for line in source.ask(used, whole) if limits else ():
        name = line.labels[0]
        if limit_day("", line, limits.get(name, 0.0), wanted.horizon) is None:
            continue
        used_by, limit_by = _limit_queries(HOST, ((SERVICE, name),))
        each = {one.labels[0]: one.mean for one in source.ask(limit_by, span)}
        days = [
            day
            for one in source.ask(used_by, whole)
            if (day := limit_day(one.labels[0], one, each.get(one.labels[0], 0.0), wanted.horizon)) is not None
        ]
        if days:
            found[name] = min(days, key=lambda day: (day.at, day.limit - day.used, day.host))
    return found


def _limit_queries(by: str, match: tuple[tuple[str, str], ...]) -> tuple[Query, Query]:
    return (
        Query("hew_group_used_bytes", Over.LAST, Fold.MAX, (by,), match),
        Query("hew_group_limit_bytes", Over.LAST, Fold.MIN, (by,), match),
    )


def samples_of(record: Record) -> Iterator[tuple[Labels, float]]:
    """A look of hew watch as the series that hew export would have given."""
    moment = record.moment
    if moment.snapshot is None:
        return
    kernel = Kernel(
        moment.outside.resident,
        moment.outside.anonymous,
        moment.outside.swapped,
        moment.cpu,
        moment.faults,
        threads=sum(moment.threads.values()) or None,
    )
    seen = Observed(moment.name, moment.snapshot, moment.pid, moment.name, kernel)
    found = families(Look(record.at, 0.0, (seen,), {}), "", per_bin=True)
    for labels, value in series(found, {}).items():
        if not dict(labels)["__name__"].startswith("hew_export_"):
            yield labels, value
