# SPDX-License-Identifier: MIT
"""docs/metrics.md, from the tables of tool/src/hew/analysis/metrics."""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pages.page import Page

INTRODUCTION = """\
# What `hew export` hands out

<!-- Made by scripts/gen_pages.py from the tables of tool/src/hew/analysis/metrics; change those, then run it. -->

Each process has the labels `pid` and `service_name`: the name that OpenTelemetry has for it (`OTEL_SERVICE_NAME` in
its environment), else its systemd unit, else what it is called. Each dump has `dump`, its file's name, and
`service_name`, that name up to its first dot. What a process's allocator does not report has no sample: a series that
is not there is not 0. Counters begin anew with their process, which has another `pid` then.
[Statistics](statistics.md) says more about what the numbers mean.

How to scrape and to send: [the tool](tool.md#hew-export). [grafana.json](grafana.json) is a
dashboard, [alerts.yml](alerts.yml) are rules for Prometheus.
"""
HEAD = "| series | kind | unit | label | meaning | from |\n|---|---|---|---|---|---|"
PARTS = (
    ("Each process: memory", "process_table", "TOTALS"),
    ("Each process: work", "process_table", "WORK"),
    ("Each process: the kernel's figures", "process_table", "KERNEL"),
    ("Each arena (`--per-arena`), with the label `arena`", "detail_table", "ARENA"),
    ("Each small size class (`--per-bin`), with the label `size_class` in bytes", "detail_table", "BIN"),
)


def line(metric: Any, label: str = "", words: Iterable[str] = ()) -> str:
    """A row of a table; `metric` is a Metric."""
    label = f"`{label}`: {', '.join(words)}" if label else ""
    cells = (f"`{metric.series}`", metric.kind.value, metric.unit, label, metric.help, metric.where)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def page(root: Path) -> str:
    """The whole text."""
    sys.path.insert(0, str(root / "tool/src"))
    try:
        tables = {name: importlib.import_module(f"hew.analysis.metrics.{name}") for _, name, _ in PARTS}
        own = importlib.import_module("hew.analysis.metrics.exporter_table").OWN
    finally:
        sys.path.pop(0)
    text = [INTRODUCTION]
    for title, module, table in PARTS:
        rows = getattr(tables[module], table)
        text += [f"## {title}\n", HEAD]
        text += [line(row.metric, row.label, row.values if row.label else ()) for row in rows]
        text.append("")
    text += ["## The exporter, and facts\n", HEAD, *(line(metric) for metric in own), ""]
    return "\n".join(text)


PAGE = Page("metrics", "docs/metrics.md", page)
