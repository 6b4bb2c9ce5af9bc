# SPDX-License-Identifier: MIT
"""Before and after a rollout, host by host: the median of the hosts' ratios, with its interval.

Pairing by host removes differences between hosts. Hosts without the setting show what else changed meanwhile. CPU time
is per million requests too, because the load before and after is seldom the same.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from hew.analysis.ratios import paired_ratio
from hew.model.figures import Figure, Unit
from hew.model.fleet import HOST, Fold, Group, Line, Over, Query
from hew.model.report import Ratio

STEPS = 6
RSS = Figure("resident_bytes", "RSS", Unit.BYTES)
CPU = Figure("cpu_cores", "CPU (cores)", Unit.CORES)
CPU_EACH = Figure("cpu_seconds_per_million_requests", "CPU for a million requests", Unit.SECONDS)
FAULTS = Figure("page_faults_per_second", "page faults", Unit.PER_SECOND)
WAITS = Figure("lock_wait_cores", "threads that wait for locks", Unit.CORES)
REQUESTS = Figure("requests_per_second", "requests for memory (the load)", Unit.PER_SECOND)
FIGURES = (RSS, CPU, CPU_EACH, FAULTS, WAITS, REQUESTS)


def queries(match: tuple[tuple[str, str], ...]) -> dict[str, Query]:
    """What is asked of each of the two spans, by the figure's key."""

    def rate(series: str, *more: tuple[str, str]) -> Query:
        return Query(series, Over.INCREASE, Fold.SUM, (HOST,), (*match, *more))

    return {
        RSS.key: Query("hew_process_resident_bytes", Over.LAST, Fold.SUM, (HOST,), match),
        CPU.key: rate("hew_process_cpu_seconds_total"),
        FAULTS.key: rate("hew_process_page_faults_total", ("kind", "minor")),
        WAITS.key: rate("hew_lock_wait_seconds_total"),
        REQUESTS.key: rate("hew_requests_total"),
    }


def by_host(answers: Mapping[str, Sequence[Line]]) -> dict[str, dict[str, float]]:
    """Figures by key, then by host; with what follows from two of them."""
    found = {key: {line.labels[0]: line.mean for line in lines} for key, lines in answers.items()}
    requests = found.get(REQUESTS.key, {})
    cpu = found.get(CPU.key, {})
    found[CPU_EACH.key] = {host: cpu[host] / rate * 1e6 for host, rate in requests.items() if rate > 0 and host in cpu}
    return found


def group(
    title: str,
    hosts: Sequence[str],
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
) -> Group:
    """Some hosts together. A host that was not there both times is left out."""
    number = {host: at for at, host in enumerate(hosts)}
    medians: tuple[dict[str, float], dict[str, float]] = {}, {}
    ratios: dict[str, Ratio] = {}
    for figure in FIGURES:
        both = sorted(number.keys() & before.get(figure.key, {}).keys() & after.get(figure.key, {}).keys())
        if not both:
            continue
        for into, values in zip(medians, (before, after), strict=True):
            into[figure.key] = median(values[figure.key][host] for host in both)
        ours, theirs = ({number[host]: values[figure.key][host] for host in both} for values in (after, before))
        if (ratio := paired_ratio(ours, theirs, figure is REQUESTS)) is not None:
            ratios[figure.key] = ratio
    return Group(title, len(hosts), *medians, ratios)
