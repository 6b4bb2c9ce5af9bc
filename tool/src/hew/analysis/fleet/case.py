# SPDX-License-Identifier: MIT
"""The mean process of a service as a report, so that the rules of `hew advise` can examine it like a process.

Values that the series lack stay unknown, and rules that need them stay silent. The series have only the sum of all
locks: it counts as one arena's, so advice from it is likely, not certain. Evidence names the series, not a report.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hew.analysis.advice.rules import advise
from hew.analysis.fleet.figures import Figures, per_process
from hew.model.advice import Advice, Case, Certainty, Evidence
from hew.model.fleet import Line
from hew.model.lazy_dataclass import dataclass
from hew.model.statistics import Arena, Bin, Depot, Layout, Mutex, Sizes, Snapshot, Totals

PAGE = 4096
CLASS = re.compile(r"[1-9][0-9]{0,14}")  # a size class as a label: others may write anything there
MOST_ARENAS = 4096
TOTALS = ("allocated", "active", "metadata", "metadata_thp", "resident", "mapped", "retained")  # as Totals has them
# By what a rule calls a number: the series that has it. The first that fits.
SERIES = (
    ("total_wait_time", "hew_lock_wait_seconds_total"),
    ("num_wait", "hew_lock_waits_total"),
    ("num_ops", "hew_lock_operations_total"),
    ("_purged", "hew_purged_bytes_total"),
    ("mapped, retained", "hew_mapped_bytes, hew_retained_bytes"),
    ("pdirty", 'hew_idle_bytes{state="dirty"}'),
    ("pmuzzy", 'hew_idle_bytes{state="muzzy"}'),
    ("dirty_decay_ms", 'hew_decay_seconds{state="dirty"}'),
    ("muzzy_decay_ms", 'hew_decay_seconds{state="muzzy"}'),
    ("tcache_bytes", "hew_thread_cache_bytes"),
    ("nfills", "hew_bin_requests_total, hew_bin_fills_total"),
    ("curregs", "hew_bin_objects, hew_bin_slab_bytes"),
    ("curslabs", "hew_bin_slab_bytes"),
    ("stats.depot", "hew_depot_batches_total"),
    ("stats.allocated", "hew_allocated_bytes"),
    ("stats.active", "hew_active_bytes"),
    ("stats.resident", "hew_resident_bytes"),
    ("stats.metadata", "hew_metadata_bytes"),
    ("nthreads", "hew_process_threads"),
    ("narenas", "hew_arenas"),
    ("stats.arenas", "hew_arenas"),
)


def advice_of(figures: Figures, bins: Figures, version: tuple[str, str], seconds: float) -> tuple[Advice, ...]:
    """What the rules say of the mean process of a service in a window of so many seconds. `bins` may be empty."""
    if not figures.get("processes"):
        return ()
    count = figures["processes"]
    found = advise(Case(snapshot_of(figures, bins, version, seconds)))
    return tuple(_of_fleet(one, count) for one in found)


@dataclass(frozen=True)
class _Mean:
    """The mean process of a service; None for figures that the series lack."""

    figures: Figures
    seconds: float

    def size(self, key: str) -> int | None:
        """Bytes, or a number of things."""
        return round(per_process(self.figures, key)) if key in self.figures else None

    def pages(self, key: str) -> int | None:
        """Pages of a size."""
        return _pages(self.size(key))

    def count(self, key: str, factor: float = 1.0) -> int | None:
        """What a counter grew by in the window."""
        return round(per_process(self.figures, key) * self.seconds * factor) if key in self.figures else None


def snapshot_of(figures: Figures, bins: Figures, version: tuple[str, str], seconds: float) -> Snapshot:
    """The mean process: sizes as they are, counters as they grew within the window."""
    mean = _Mean(figures, seconds)
    size = mean.size
    arenas, threads = round(figures.get("arenas", 0)), size("threads")
    allocator, release = version
    return Snapshot(
        form="series",
        version=f"5.3.0-0-ghew{release}" if allocator == "hew" else f"{release}-0-g0" if release else None,
        opt={"narenas": arenas} if arenas else {},
        layout=Layout(arenas or None, _decay(figures, "dirty"), _decay(figures, "muzzy"), page=PAGE),
        totals=Totals(*(size(key) for key in TOTALS)),
        depot=Depot(bytes=size("depot")),
        merged=_merged(mean, bins),
        # With as many threads as arenas each has its thread; with fewer some arenas are not in use.
        arenas=tuple(Arena(str(one)) for one in range(min(arenas, MOST_ARENAS))) if (threads or 0) >= arenas else (),
    )


def _merged(mean: _Mean, bins: Figures) -> Arena:
    """All its arenas together. The lock is one of those that rules add up, whichever it was."""
    size, count = mean.size, mean.count
    lock = Mutex(count("lock_operations"), count("lock_waits"), total_wait_ns=count("lock_seconds", 1e9))
    return Arena(
        "merged",
        nthreads=size("threads"),
        uptime_ns=round(mean.seconds * 1e9),
        pdirty=mean.pages("idle.dirty"),
        pmuzzy=mean.pages("idle.muzzy"),
        dirty_purged=_pages(count("purged.dirty")),
        muzzy_purged=_pages(count("purged.muzzy")),
        mapped=size("mapped"),
        retained=size("retained"),
        tcache_bytes=size("cached"),
        holes=size("holes"),
        small=Sizes(nrequests=count("requests"), nfills=count("fills")),
        mutexes={"large": lock},
        bins=tuple(_bins(bins, mean.figures["processes"], mean.seconds)),
    )


def _pages(count: int | None) -> int | None:
    return None if count is None else count // PAGE


def _decay(figures: Figures, state: str) -> int | None:
    seconds = figures.get(f"decay.{state}")
    if seconds is None:
        return None
    return -1 if math.isinf(seconds) else round(seconds * 1000)


def _bins(figures: Figures, processes: float, seconds: float) -> list[Bin]:
    """Classes as far as `hew export --per-bin` tells of them: bytes of slabs as one slab."""
    labels = {key.partition(".")[2] for key in figures}
    classes = sorted(int(label) for label in labels if CLASS.fullmatch(label))
    found = []
    for size in classes:
        value = {
            key: figures.get(f"{key}.{size}", 0.0) / processes for key in ("objects", "slabs", "requests", "fills")
        }
        found.append(
            Bin(
                size,
                slab_size=round(value["slabs"]),
                curslabs=1,
                curregs=round(value["objects"]),
                nrequests=round(value["requests"] * seconds),
                nfills=round(value["fills"] * seconds),
            )
        )
    return found


def _of_fleet(one: Advice, count: float) -> Advice:
    evidence = tuple(_named(item) for item in one.evidence)
    locks = any(item.where.startswith("hew_lock") for item in evidence)
    subject = f"{one.subject}, the mean of {count:,.0f} process{'es' if count > 1 else ''}"
    certainty = Certainty.LIKELY if locks else one.certainty
    return replace(one, evidence=evidence, subject=subject, certainty=certainty)


def _named(item: Evidence) -> Evidence:
    name = next((series for part, series in SERIES if part in item.where), item.where)
    return replace(item, where=name)


def versions_of(lines: Sequence[Line]) -> Mapping[str, tuple[str, str]]:
    """The most common allocator and version of each service."""
    found: dict[str, tuple[float, tuple[str, str]]] = {}
    for line in lines:
        service, allocator, version = line.labels
        found[service] = max(found.get(service, (0.0, ("", ""))), (line.mean, (allocator, version)))
    return {service: version for service, (_, version) in found.items()}
