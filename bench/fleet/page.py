# SPDX-License-Identifier: MIT
"""The table of docs/fleet.md, from what a run has measured."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- by make bench-fleet -->", "<!-- end -->"
NAMES = {"store": "store", "victoria-metrics": "VictoriaMetrics", "prometheus": "Prometheus"}


@dataclass(frozen=True)
class Measured:
    """One back end at one size: the best ranking, and the least processor time of one, the engine's and ours."""

    name: str
    hosts: int
    series: int
    seconds: float
    cpu: float
    findings: int


def table(found: Sequence[Measured]) -> list[str]:
    """A row a size, a column a back end; what did not run is said."""
    ends = [name for name in NAMES if any(one.name == name for one in found)]
    rows = [f"| hosts | series | {' | '.join(NAMES[name] for name in ends)} |", "|---" * (2 + len(ends)) + "|"]
    for hosts in sorted({one.hosts for one in found}):
        here = {one.name: one for one in found if one.hosts == hosts}
        series = next(iter(here.values())).series
        cells = [_cell(here[name]) if name in here else "not run" for name in ends]
        rows.append(f"| {hosts:,} | {series:,} | {' | '.join(cells)} |")
    load = f"the load of the last five minutes was {os.getloadavg()[1]:.1f}, its own included"
    return [*rows, "", f"On {os.cpu_count()} processors; {load}."]


def _cell(one: Measured) -> str:
    wrong = f", {one.findings} findings" if one.findings else ""
    return f"{one.seconds:.2f} s, CPU {one.cpu:.2f} s{wrong}"


def write(page: Path, found: Sequence[Measured]) -> None:
    """In place of what stands between the marks."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"fleet: {page} has no {BEGIN} … {END}")
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(table(found)) + f"\n{END}{after}")
