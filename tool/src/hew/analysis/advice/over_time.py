# SPDX-License-Identifier: MIT
"""Advice from how a process's memory went over time: a leak is no matter of settings."""

from hew.model.advice import Advice, Certainty, Evidence
from hew.model.figures import Unit
from hew.model.growth import Growth, Trend, Verdict
from hew.model.history import Record

TAU = "Kendall's tau of the floors"


def advise_over_time(growth: Growth, last: Record) -> Advice | None:
    """What to do about a leak; None without one. Retention is told beside: settings for it are other rules' matter."""
    trend = growth.live or growth.resident
    if growth.verdict is not Verdict.LEAK:
        return None
    return Advice(
        rule="grows-steadily",
        title="Live memory grows steadily: a leak is likely",
        subject=growth.title,
        evidence=_evidence(growth, trend, _source(growth, last)),
        settings=(),
        cpu="none",
        memory="what leaks stays until the program ends; no setting of an allocator gives it back",
        risk="a cache that fills looks the same until it is full: watch longer than it takes to fill",
        verify="hew watch PID -o FILE again: the verdict is flat, plateaus or sawtooth",
        change="find which stacks allocate: compare heap profiles of two moments (on hew or jemalloc with "
        "MALLOC_CONF=prof:true; of a process on hew, hew ctl PID --heap FILE writes one)",
        certainty=Certainty.LIKELY,
    )


def _source(growth: Growth, last: Record) -> str:
    """Where live bytes come from."""
    if growth.live is None:
        return "VmRSS"
    return "stats.allocated - tcache_bytes" if last.moment.snapshot else "glibc's heap: system - free - cached + mapped"


def _evidence(growth: Growth, trend: Trend, name: str) -> tuple[Evidence, ...]:
    classes = tuple(
        Evidence(f"of it objects of {one.size:,} bytes", one.rise, Unit.BYTES, f"bins: size {one.size}")
        for one in growth.classes[:3]
    )
    return (
        Evidence("grew by", trend.last - trend.first, Unit.BYTES, name),
        *classes,
        Evidence("in an hour", trend.slope * 3600, Unit.BYTES, f"Theil and Sen's, {growth.looks} samples"),
        Evidence(TAU, trend.tau, Unit.SHARE, "100%: each is above all before"),
    )
