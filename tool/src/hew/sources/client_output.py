# SPDX-License-Identifier: MIT
"""Reads the output of load generators: requests per second and latencies, or the number that `--metric` names.

redis-benchmark has a reader of its own. The others are recognized by the form of their summary: wrk, hey,
memtier_benchmark, sysbench, pgbench. Other clients have no such figures, unless `--metric` says where the number is.
"""

import re
from collections.abc import Mapping, Sequence

from hew.model.figures import LATENCY_MARKS, latency_key, rate_key
from hew.model.run import Metric
from hew.sources.redis_benchmark import read_client_output as of_redis_benchmark

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
# What only this program prints; its requests per second; its latencies by percentile, in the unit given.
RATES = {
    "wrk": (r"^Running \S+ test @", rf"^Requests/sec:\s+{NUMBER}"),
    "hey": (r"^\s*Slowest:\s+[\d.]+ secs", rf"^\s*Requests/sec:\s+{NUMBER}"),
    "memtier": (r"^ALL STATS", rf"^Totals\s+{NUMBER}"),
    "sysbench": (r"^sysbench \d|^General statistics:", rf"^\s*transactions:\s+\d+\s+\({NUMBER} per sec\.\)"),
    "pgbench": (r"^(?:pgbench|transaction type:)", rf"^tps = {NUMBER} \((?:without|excluding)[^)]*\)"),
}
OTHER_RATES = {
    "sysbench": (rf"^\s*events per second:\s+{NUMBER}", rf"^\s*events/s \(eps\):\s+{NUMBER}"),
    "pgbench": (rf"^tps = {NUMBER}",),
}
LATENCIES = {
    "wrk": {"p50": r"^\s*50%\s+([\d.]+)(us|ms|s|m)\b", "p99": r"^\s*99%\s+([\d.]+)(us|ms|s|m)\b"},
    "hey": {f"p{mark}": rf"^\s*{mark}%+ in ([\d.]+) (s)ecs" for mark in (50, 95, 99)},
    "sysbench": {"p95": r"^\s*95th percentile:\s+([\d.]+)()"},
}


def read_client_output(text: str, metrics: Sequence[Metric] = ()) -> dict[str, float]:
    """The figures in a program's output, by their keys; empty when there are none."""
    found = of_redis_benchmark(text)
    for name, (mark, rate) in RATES.items():
        if found or not re.search(mark, text, re.MULTILINE):
            continue
        for pattern in (rate, *OTHER_RATES.get(name, ())):
            if values := re.findall(pattern, text, re.MULTILINE):
                found = {rate_key(name): float(values[-1]), **_latencies(name, text)}
                break
    return found | read_metrics(text, metrics)


def read_metrics(text: str, metrics: Sequence[Metric]) -> dict[str, float]:
    """The metrics that the user named; the last value of each, since many programs print progress before the end."""
    found: dict[str, float] = {}
    for metric in metrics:
        values = re.findall(metric.pattern, text, re.MULTILINE)
        if values:
            found[metric.key] = float(values[-1].replace(",", ""))
    return found


def _latencies(name: str, text: str) -> Mapping[str, float]:
    found = {}
    for mark, pattern in LATENCIES.get(name, {}).items():
        one = re.search(pattern, text, re.MULTILINE)
        if one and mark in LATENCY_MARKS:
            found[latency_key(name, mark)] = float(one[1]) * SECONDS.get(one[2] or "ms", 1e-3)
    return found
