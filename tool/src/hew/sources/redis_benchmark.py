# SPDX-License-Identifier: MIT
"""Reads what redis-benchmark prints: its CSV, its long summary and its one-line (-q) form.

memtier_benchmark and others print in ways of their own; a client whose output is none of these forms simply has no
latency figures.
"""

import csv
import re

from hew.model.figures import LATENCY_MARKS, TAIL_MARK, latency_key, rate_key

TITLE = re.compile(r"(?:^|\r)====== (.+?) ======", re.MULTILINE)
THROUGHPUT = re.compile(r"throughput summary: ([\d.]+) requests per second")
LATENCIES = re.compile(r"^\s+avg\s+min\s+p50\s+p95\s+p99\s+max\s*\n\s+([\d.]+(?:\s+[\d.]+){5})", re.MULTILINE)
PERCENTILE = re.compile(r"^([\d.]+)% <= ([\d.]+) milliseconds \(cumulative count", re.MULTILINE)
TAIL = 99.5
QUIET = re.compile(r"^(?:.*\r)?([^:\r\n]+): ([\d.]+) requests per second(?:, p50=([\d.]+) msec)?", re.MULTILINE)
MILLISECOND = 1e-3


def read_client_output(text: str) -> dict[str, float]:
    """The figures in a client's output, by their keys; empty when there are none."""
    return _from_csv(text) or _from_summary(text) or _from_quiet(text)


def _test_name(title: str) -> str:
    """`MSET (10 keys)` and `LPUSH (needed to benchmark LRANGE)` stay tests of their own; only blanks are tidied."""
    return " ".join(title.split())


def _from_csv(text: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"test","rps"')), None)
    if start is None:
        return figures
    for row in csv.DictReader(lines[start:]):
        test = _test_name(row["test"])
        figures[rate_key(test)] = float(row["rps"])
        for mark in LATENCY_MARKS:
            if row.get(f"{mark}_latency_ms"):
                figures[latency_key(test, mark)] = float(row[f"{mark}_latency_ms"]) * MILLISECOND
    return figures


def _from_summary(text: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    titles = list(TITLE.finditer(text))
    ends = [*(following.start() for following in titles[1:]), len(text)]
    for title, end in zip(titles, ends, strict=False):
        part = text[title.end() : end]
        test = _test_name(title[1])
        rate, latencies = THROUGHPUT.search(part), LATENCIES.search(part)
        if rate:
            figures[rate_key(test)] = float(rate[1])
        if latencies:
            columns = [float(value) * MILLISECOND for value in latencies[1].split()]
            figures |= {latency_key(test, mark): columns[2 + at] for at, mark in enumerate(LATENCY_MARKS)}
        by_percentile = part.partition("Cumulative distribution")[0]
        tail = next((one[2] for one in PERCENTILE.finditer(by_percentile) if float(one[1]) >= TAIL), None)
        if tail:
            figures[latency_key(test, TAIL_MARK)] = float(tail) * MILLISECOND
    return figures


def _from_quiet(text: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for found in QUIET.finditer(text):
        test = _test_name(found[1])
        figures[rate_key(test)] = float(found[2])
        if found[3]:
            figures[latency_key(test, "p50")] = float(found[3]) * MILLISECOND
    return figures
