# SPDX-License-Identifier: MIT
"""docs/metrics.md, from the tables of tool/src/hew/analysis/metrics."""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pages.page import Page

INTRODUCTION = """\
# Metrics of `hew export`

<!-- Made by scripts/gen_pages.py from the tables of tool/src/hew/analysis/metrics; change those, then run it. -->

Every process has the labels `pid` and `service_name`: `OTEL_SERVICE_NAME` in its environment, else its
systemd unit, else its name. Every dump has `dump`, its file's name, and `service_name`, that name up to
the first dot. What a process's allocator does not report has no sample; a missing series is not 0. Counters
start again with their process, which then has another `pid`.

[statistics.md](statistics.md) says what the numbers mean, [tool.md](tool.md#hew-export) how to scrape and
send them. [grafana.json](grafana.json) is a dashboard, [alerts.yml](alerts.yml) has rules for Prometheus.
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
