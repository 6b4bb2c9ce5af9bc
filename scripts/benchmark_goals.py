# SPDX-License-Identifier: MIT
"""The goals that hew has set itself, each judged by a saved run of `hew bench`; for scripts/gen_benchmarks.py.

A goal is met, missed, or not measured by the suite that was run; which of them is computed here and typed in nowhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUBJECT, BASELINE, BEST = "hew", "glibc", "best peer"
WALL, RSS, TAIL = "wall_seconds", "peak_rss_bytes", "tail_latency_seconds"
WORST_ALLOWED = 1.10
WORST_SIZE_ALLOWED = 1.25
THREADS = (1, 2, 8, 40)
STACK_AND_ALL_KIB = 32  # what an idle thread may keep
Document = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """What is wanted, what was measured, and whether that is enough; None: not measured."""

    wanted: str
    measured: str
    met: bool | None


def goals(found: Document, golden: Path) -> list[Goal]:
    """Every goal, in the order of the page."""
    return [
        _sound(found),
        *_means(found),
        *_fast_path(golden),
        *(_sizes(found, threads) for threads in THREADS),
        *(_together(found, one) for one in TOGETHER),
        *_single_workloads(found),
        *_single_sizes(found),
        _java(found),
        _idle_threads(found),
        *(_flat(found, one) for one in GROWTHS),
    ]


def failed_runs(found: Document, name: str) -> list[str]:
    """Each run of an allocator that did not end well: the workload and what happened."""
    return [
        f"{workload['name']}: {failure['reason']}"
        for workload in found["workloads"]
        for row in workload["report"]["allocators"]
        if row["name"] == name
        for failure in row["failures"]
    ]


def _sound(found: Document) -> Goal:
    """Nothing else counts where a program ends badly."""
    failed = failed_runs(found, SUBJECT)
    runs = sum(workload["report"]["runs"] for workload in found["workloads"])
    return Goal("every run under hew ends well", "; ".join(failed) or f"{runs} of {runs}", not failed)


def ratios(report: Document | None, key: str) -> dict[str, float]:
    """Each allocator's ratio to glibc."""
    rows = report["allocators"] if report else []
    return {one["name"]: one["ratios"][key]["value"] for one in rows if key in one["ratios"]}


def _at_most(wanted: str, value: float | None, limit: float, said: str = "") -> Goal:
    if value is None:
        return Goal(wanted, "not measured", None)
    return Goal(wanted, said or f"{value:.2f}", value <= limit + 1e-9)


def _workload(found: Document, name: str) -> Document | None:
    return next((one for one in found["workloads"] if one["name"] == name), None)


def _ratio_of(found: Document, name: str, key: str) -> float | None:
    workload = _workload(found, name)
    return ratios(workload["report"], key).get(SUBJECT) if workload else None


def _means(found: Document) -> Iterator[Goal]:
    """The suite as one workload, its worst workload, and the real programs."""
    for key, what, peer in ((WALL, "wall time", "the best peer"), (RSS, "peak RSS", "the leanest fast peer")):
        values = ratios(found["mean"], key)
        ours, best = values.get(SUBJECT), values.get(BEST)
        ratio = ours / best if ours and best else None
        said = f"{ours:.3f} against {best:.3f}: {ratio:.2f}" if ratio else ""
        yield _at_most(f"{what}, geometric mean: at or under {peer} of each workload", ratio, 1.0, said)
    yield _at_most("peak RSS, geometric mean: at most glibc's", ratios(found["mean"], RSS).get(SUBJECT), 1.0)
    behind = {
        one["name"]: one["best"][WALL]["ratio"]["value"]
        for one in found["workloads"]
        if one["best"].get(WALL, {}).get("ratio")
    }
    over = sorted((name for name in behind if behind[name] > WORST_ALLOWED), key=lambda name: -behind[name])
    said = ", ".join(f"{name} {behind[name]:.2f}" for name in over) or f"at most {max(behind.values(), default=0):.2f}"
    worst = max(behind.values(), default=None)
    yield _at_most(
        f"no workload's wall time over {WORST_ALLOWED:.2f} of the best peer there", worst, WORST_ALLOWED, said
    )
    for key, what, limit in ((WALL, "wall time", 0.90), (RSS, "peak RSS", 0.97)):
        value = ratios(found["groups"].get("real programs"), key).get(SUBJECT)
        yield _at_most(f"real programs, {what}: at most {limit:.2f} of glibc's", value, limit)


def _fast_path(golden: Path) -> Iterator[Goal]:
    """What `make check` holds the library to."""
    counts = re.findall(r"^x86_64\S*\s+(malloc|free)\s+(\d+)", golden.read_text() if golden.is_file() else "", re.M)
    for name, limit in (("malloc", 18), ("free", 16)):
        most = max((int(count) for function, count in counts if function == name), default=None)
        said = f"{most}, held by tests/golden/fast_path.txt"
        yield _at_most(f"{name}: at most {limit} instructions on the common path, statistics on", most, limit, said)


def _sizes(found: Document, threads: int) -> Goal:
    """The worst place of the curves of malloc and free by size."""
    wanted = f"no size from 8 B to 64 MiB over {WORST_SIZE_ALLOWED:.2f} of the best peer, threads: {threads}"
    means = [
        mean
        for workload in found["workloads"]
        for mean in workload["curve_means"]
        if re.fullmatch(rf"malloc \w+, threads {threads}", mean["series"]) and mean["worst"]
    ]
    if not means:
        return Goal(wanted, "not measured", None)
    worst = max(means, key=lambda mean: float(mean["worst"]))
    order = worst["series"].split(",")[0].removeprefix("malloc ")
    said = f"at most {worst['worst']:.2f}, at {size(worst['worst_at'])}, {order}"
    return _at_most(wanted, worst["worst"], WORST_SIZE_ALLOWED, said)


def size(value: float) -> str:
    """A number of bytes, short."""
    for step, name in ((2**20, "MiB"), (2**10, "KiB")):
        if value >= step:
            return f"{value / step:g} {name}"
    return f"{value:g} B"


@dataclass(frozen=True)
class Together:
    """Workloads with one goal for each: a figure, beside glibc or the best peer of each."""

    what: str
    names: tuple[str, ...]
    key: str
    against: str
    limit: float


CROWDS = ("crowd of 16", "crowd of 200", "crowd of 1,000", "crowd of 64, large bursts", "crowd of 16, passed on")
EXCHANGES = ("exchange", "exchange, 16 threads")
TOGETHER = [
    Together("crowds", CROWDS, WALL, BEST, 1.00),
    Together("crowds", CROWDS, RSS, BEST, 1.00),
    Together("larson", ("larson", "larson, 40 threads"), WALL, BEST, 1.00),
    Together("exchange", EXCHANGES, WALL, BEST, WORST_ALLOWED),
    Together("exchange", EXCHANGES, RSS, BASELINE, 0.80),
    Together("batches and scratch", ("batches", "batches, 8 threads", "scratch"), WALL, BEST, WORST_ALLOWED),
    Together("large objects", ("images", "vectors, 8 threads", "large blocks"), RSS, BASELINE, 1.10),
    Together(
        "phases and hand-over", ("phases", "batches", "fan out to 8", "chain of 4", "thread churn"), RSS, BASELINE, 1.15
    ),
]


def _together(found: Document, one: Together) -> Goal:
    """Met where each of them meets it; one that was not run is left out."""
    values = {name: _beside(found, name, one.key, one.against) for name in one.names}
    known = {name: value for name, value in values.items() if value is not None}
    figure = "wall time" if one.key == WALL else "peak RSS"
    base = "glibc's" if one.against == BASELINE else f"the {'best' if one.key == WALL else 'leanest fast'} peer's"
    said = ", ".join(f"{name} {value:.2f}" for name, value in known.items())
    return _at_most(
        f"{one.what}, {figure}: each at most {one.limit:.2f} of {base}",
        max(known.values(), default=None),
        one.limit,
        said,
    )


def _beside(found: Document, name: str, key: str, against: str) -> float | None:
    """A workload's figure as a ratio to glibc's, or to that of the best peer there."""
    if against == BASELINE:
        return _ratio_of(found, name, key)
    best = (_workload(found, name) or {"best": {}})["best"].get(key, {}).get("ratio")
    return float(best["value"]) if best else None


def _single_workloads(found: Document) -> Iterator[Goal]:
    """Those of the mission."""
    value = _ratio_of(found, "tiny", RSS)
    yield _at_most("tiny program, peak RSS: at most 1.05 of glibc's", value, 1.05)
    value = _ratio_of(found, "buffer churn", WALL)
    yield _at_most("buffer churn, wall time: at most 0.75 of glibc's", value, 0.75)
    value = _ratio_of(found, "Redis SET", RSS)
    yield _at_most("Redis SET, RSS after the load: at most 0.92 of glibc's", value, 0.92)
    value = _ratio_of(found, "Redis SET", TAIL)
    yield _at_most(
        "Redis SET, latency P99.6 (the first the client tells beyond P99.5): no worse than glibc's", value, 1.0
    )


def _single_sizes(found: Document) -> Iterator[Goal]:
    for at, limit, words in ((2**18, 10 / 32, "at most 10/32 of glibc's time"), (2**21, 1.0, "no slower than glibc's")):
        at_size = _medians(found, "sizes", "malloc lifo, threads 1").get(float(at), {})
        value = at_size[SUBJECT] / at_size[BASELINE] if {SUBJECT, BASELINE} <= at_size.keys() else None
        yield _at_most(f"alloc + free of {size(at)}: {words}", value, limit)


def _medians(found: Document, name: str, series: str) -> dict[float, dict[str, float]]:
    """A series of points by place."""
    workload = _workload(found, name)
    points = workload["points"] if workload else []
    return {one["at"]: one["medians"] for one in points if one["series"] == series}


def _java(found: Document) -> Goal:
    """The heap is fully there (AlwaysPreTouch), so what lies beyond it is peak RSS less its size."""
    wanted = "JVM with 100 threads of native memory, RSS beyond the heap: at most a third of glibc's"
    workload = _workload(found, "java, 100 threads")
    if workload is None:
        return Goal(wanted, "not measured", None)
    heap = next(int(word[4:-1]) for word in workload["report"]["command"] if re.fullmatch(r"-Xmx\d+m", word)) * 2**20
    rss = {one["name"]: one["medians"].get(RSS, 0) - heap for one in workload["report"]["allocators"]}
    if rss.get(SUBJECT, -1) <= 0 or rss.get(BASELINE, -1) <= 0:
        return Goal(wanted, "not measured", None)
    value = rss[SUBJECT] / rss[BASELINE]
    said = f"{value:.2f} ({rss[SUBJECT] / 2**20:.0f} MiB against {rss[BASELINE] / 2**20:.0f} MiB)"
    return _at_most(wanted, value, 1 / 3, said)


def _idle_threads(found: Document) -> Goal:
    """The whole process's RSS is divided by its threads, so a stack's pages count too."""
    wanted = f"idle threads that once allocated: at most {STACK_AND_ALL_KIB} KiB a thread after 1 s, stacks included"
    workload = _workload(found, "idle threads")
    points = _medians(found, "idle threads", "RSS by milliseconds idle")
    later = [at for at in sorted(points) if at >= 1000 and SUBJECT in points[at]]
    if workload is None or not later:
        return Goal(wanted, "not measured", None)
    words = workload["report"]["command"]
    threads = int(words[words.index("--threads") + 1])
    value = points[later[0]][SUBJECT] / threads
    return _at_most(wanted, value, STACK_AND_ALL_KIB, f"{value:.0f} KiB, {threads} threads")


@dataclass(frozen=True)
class Growth:
    """A curve that should stay flat: its last place against its first."""

    workload: str
    series: str
    what: str
    limit: float
    by_peers: bool = False  # not flat by itself (caches of the processor end): the least growth of a peer is flat


BY_LIVE = "malloc random, threads 1, by live objects"
GROWTHS = [
    Growth("threads", "time of an operation by threads", "time of an operation as threads grow", 1.25),
    Growth("threads", "RSS of a thread by threads", "memory of a thread as threads grow", 1.0),
    Growth("live objects to 16M", BY_LIVE, "time of an operation as live objects grow", WORST_ALLOWED, by_peers=True),
]


def _flat(found: Document, one: Growth) -> Goal:
    points = _medians(found, one.workload, one.series)
    ends = sorted(points)[:: max(1, len(points) - 1)]
    of = "of the growth of the peer that grows least" if one.by_peers else "of the first place at the last"
    wanted = f"{one.what}: at most {one.limit:.2f} {of}"
    if len(ends) < 2 or SUBJECT not in points[ends[0]]:
        return Goal(wanted, "not measured", None)
    first, last = points[ends[0]], points[ends[-1]]
    grown = {name: last[name] / first[name] for name in last if first.get(name)}
    least = min((grown[name] for name in grown if name not in (SUBJECT, BASELINE)), default=1.0)
    value = grown[SUBJECT] / least if one.by_peers else grown[SUBJECT]
    said = f"{grown[SUBJECT]:.2f} from {ends[0]:,.0f} to {ends[-1]:,.0f} (glibc {grown.get(BASELINE, 0):.2f}"
    return _at_most(wanted, value, one.limit, f"{said}, least of the peers {least:.2f})")
