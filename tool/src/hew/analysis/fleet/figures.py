# SPDX-License-Identifier: MIT
"""What is asked of a source for the ranking, and the answers as figures of each service: one table.

Every query is folded by service where the samples are, so that an answer has a line a service, however many hosts.
"""

from collections.abc import Mapping, Sequence

from hew.model.fleet import HOST, PID, SERVICE, Fold, Kind, Line, Over, Query
from hew.model.lazy_dataclass import dataclass

STEPS = 4  # moments at which sizes are looked at: a fleet that is being restarted does not count twice
Figures = Mapping[str, float]


@dataclass(frozen=True)
class Ask:
    """A query for the ranking. Labels beside the service's name stand behind the key: `idle.dirty`."""

    key: str
    query: Query


def _size(key: str, series: str, *more: str, fold: Fold = Fold.SUM) -> Ask:
    return Ask(key, Query(series, Over.LAST, fold, (SERVICE, *more)))


def _rate(key: str, series: str, *more: str) -> Ask:
    return Ask(key, Query(series, Over.INCREASE, Fold.SUM, (SERVICE, *more)))


ASKS = (
    _size("processes", "hew_allocated_bytes", fold=Fold.COUNT),
    _size("allocated", "hew_allocated_bytes"),
    _size("active", "hew_active_bytes"),
    _size("metadata", "hew_metadata_bytes"),
    _size("resident", "hew_resident_bytes"),
    _size("mapped", "hew_mapped_bytes"),
    _size("retained", "hew_retained_bytes"),
    _size("idle", "hew_idle_bytes", "state"),
    _size("cached", "hew_thread_cache_bytes"),
    _size("depot", "hew_depot_bytes"),
    _size("holes", "hew_holes_bytes"),
    _size("threads", "hew_process_threads"),
    _size("rss", "hew_process_resident_bytes"),
    _size("arenas", "hew_arenas", fold=Fold.MAX),
    _size("decay", "hew_decay_seconds", "state", fold=Fold.MAX),
    _size("decay_least", "hew_decay_seconds", "state", fold=Fold.MIN),
    _rate("requests", "hew_requests_total"),
    _rate("fills", "hew_fills_total"),
    _rate("lock_operations", "hew_lock_operations_total"),
    _rate("lock_waits", "hew_lock_waits_total"),
    _rate("lock_seconds", "hew_lock_wait_seconds_total"),
    _rate("purged", "hew_purged_bytes_total", "state"),
    _rate("refaulted", "hew_holes_refaulted_bytes_total"),
    _rate("cpu", "hew_process_cpu_seconds_total"),
    _rate("faults", "hew_process_page_faults_total", "kind"),
)
# Counted apart: they have a line a host, or a version.
HOSTS = Query("hew_allocated_bytes", Over.LAST, Fold.COUNT, (SERVICE, HOST))
VERSIONS = Query("hew_process_info", Over.LAST, Fold.COUNT, (SERVICE, "allocator", "version"))
# There with hew export --per-bin only.
BINS = (
    Ask("objects", Query("hew_bin_objects", by=(SERVICE, "size_class"))),
    Ask("slabs", Query("hew_bin_slab_bytes", by=(SERVICE, "size_class"))),
    Ask("requests", Query("hew_bin_requests_total", Over.INCREASE, by=(SERVICE, "size_class"))),
    Ask("fills", Query("hew_bin_fills_total", Over.INCREASE, by=(SERVICE, "size_class"))),
)
# Where to look for the process in which something costs most.
WORST: Mapping[Kind, Query] = {
    Kind.LOCKS: Query("hew_lock_wait_seconds_total", Over.INCREASE, Fold.SUM, (HOST, PID)),
    Kind.FILLS: Query("hew_fills_total", Over.INCREASE, Fold.SUM, (HOST, PID)),
    Kind.FAULTS: Query("hew_purged_bytes_total", Over.INCREASE, Fold.SUM, (HOST, PID)),
    Kind.REFAULTS: Query("hew_holes_refaulted_bytes_total", Over.INCREASE, Fold.SUM, (HOST, PID)),
    Kind.IDLE: Query("hew_idle_bytes", Over.LAST, Fold.SUM, (HOST, PID)),
    Kind.CACHES: Query("hew_thread_cache_bytes", Over.LAST, Fold.SUM, (HOST, PID)),
    Kind.FRAGMENTATION: Query("hew_active_bytes", Over.LAST, Fold.SUM, (HOST, PID)),
}


def gathered(answers: Mapping[str, Sequence[Line]]) -> dict[str, dict[str, float]]:
    """Figures by service: sizes as means over the moments, rates a second."""
    found: dict[str, dict[str, float]] = {}
    for key, lines in answers.items():
        for line in lines:
            service, *more = line.labels
            found.setdefault(service, {})[".".join((key, *more))] = line.mean
    return found


def per_process(figures: Figures, key: str) -> float:
    """The mean of a service's processes; 0 where there is none."""
    count = figures.get("processes", 0.0)
    return figures.get(key, 0.0) / count if count else 0.0


def over_states(figures: Figures, key: str, *states: str) -> float:
    """The sum of a figure over some values of its label."""
    return sum(figures.get(f"{key}.{state}", 0.0) for state in states)
