# SPDX-License-Identifier: MIT
"""What is measured: one table of figures, from which the table, the JSON and the page take names and units."""

from enum import StrEnum

from hew.model.lazy_dataclass import dataclass


class Unit(StrEnum):
    """How a figure is written. JSON always carries the base unit."""

    SECONDS = "seconds"
    BYTES = "bytes"
    BYTE_SECONDS = "byte_seconds"
    COUNT = "count"
    PER_SECOND = "per_second"
    SHARE = "share"
    CORES = "cores"


@dataclass(frozen=True)
class Figure:
    """One measured quantity. Less is better unless `more_is_better`."""

    key: str
    label: str
    unit: Unit
    more_is_better: bool = False


WALL = Figure("wall_seconds", "wall time", Unit.SECONDS)
CPU = Figure("cpu_seconds", "CPU time", Unit.SECONDS)
PEAK_RSS = Figure("peak_rss_bytes", "peak RSS", Unit.BYTES)
PAGE_FAULTS = Figure("page_faults", "page faults", Unit.COUNT)

RSS_SECONDS = Figure("rss_byte_seconds", "RSS × seconds", Unit.BYTE_SECONDS)
INSTRUCTIONS = Figure("instructions", "instructions", Unit.COUNT)

TAIL_LATENCY = Figure("tail_latency_seconds", "client's latency p99.6", Unit.SECONDS)

COMMAND_FIGURES = (WALL, CPU, PEAK_RSS, PAGE_FAULTS)
# Not every run has these: it may be over too soon, the processor may not count, it may be no server.
SOMETIMES_FIGURES = (RSS_SECONDS, INSTRUCTIONS, TAIL_LATENCY)

SERVER_RSS = Figure("server_rss_bytes", "server RSS after the load", Unit.BYTES)
SERVER_PEAK_RSS = Figure("server_peak_rss_bytes", "server peak RSS", Unit.BYTES)
SERVER_PSS = Figure("server_tree_pss_bytes", "PSS of all server processes", Unit.BYTES)
SERVER_CPU = Figure("server_cpu_seconds", "server CPU during the load", Unit.SECONDS)
CLIENT_WALL = Figure("client_wall_seconds", "client wall time", Unit.SECONDS)

SERVER_FIGURES = (SERVER_RSS, SERVER_PEAK_RSS, SERVER_CPU, CLIENT_WALL)

UNITS_NAMED = {"bytes": Unit.BYTES, "byte-seconds": Unit.BYTE_SECONDS, "seconds": Unit.SECONDS}

LATENCY_MARKS = ("p50", "p95", "p99")
TAIL_MARK = "p99_6"  # the first beyond 99.5 % that redis-benchmark tells


def server_figures(keys: set[str]) -> tuple[Figure, ...]:
    """The figures of a server; of one with several processes PSS beside the RSS of the largest."""
    return tuple(
        one
        for one in (*SERVER_FIGURES[:2], SERVER_PSS, *SERVER_FIGURES[2:])
        if one.key in keys or one in SERVER_FIGURES
    )


def client_figures(keys: set[str]) -> tuple[Figure, ...]:
    """The figures a client reported, from keys like `client.SET.p99_seconds` and `client.SET.requests_per_second`."""
    tests = sorted({key.split(".")[1] for key in keys if key.startswith("client.")})
    found = [_metric(key) for key in sorted(keys) if key.startswith("metric.")]
    for test in tests:
        prefix = f"{test} " if len(tests) > 1 else ""
        candidates = [Figure(rate_key(test), f"{prefix}requests per second", Unit.PER_SECOND, more_is_better=True)]
        candidates += [
            Figure(latency_key(test, mark), f"{prefix}latency {mark.replace('_', '.')}", Unit.SECONDS)
            for mark in (*LATENCY_MARKS, TAIL_MARK)
        ]
        found += [figure for figure in candidates if figure.key in keys]
    return tuple(found)


def _metric(key: str) -> Figure:
    """What the user asked for; its key carries name and direction, and the name's end may be the unit."""
    _, direction, label = key.split(".", 2)
    name, comma, unit = label.rpartition(", ")
    known = UNITS_NAMED.get(unit) if comma else None
    return Figure(key, name if known else label, known or Unit.COUNT, more_is_better=direction == "more")


def rate_key(test: str) -> str:
    """The key of a client's requests per second."""
    return f"client.{test.replace('.', '_')}.requests_per_second"


def latency_key(test: str, mark: str) -> str:
    """The key of a client's latency at a percentile."""
    return f"client.{test.replace('.', '_')}.{mark}_seconds"
